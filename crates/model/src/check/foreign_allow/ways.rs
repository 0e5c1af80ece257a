//! The ways in which the `allow`s before a statement can have been passed.

use super::is_refused_before;
use crate::check::flow::Group;
use crate::check::truth::{Lets, PARTS_MAX, Passed, plain};
use crate::model::{ExprKind, Op};

/// How many ways are looked at. If there are more, `foreign-allow` tells of it.
pub(super) const WAYS_MAX: usize = 64;

/// The tests that were passed together on one way.
type WayThrough<'a> = Vec<Passed<'a>>;

/// The ways in which every `allow` before a statement can have been passed: one side of each `or`, taken apart. Left out
/// are the ways that a role opens, and everyone's, unless somebody was refused before. `None`: there are too many.
pub(in crate::check) fn ways<'a>(group: &Group<'a>) -> Option<Vec<WayThrough<'a>>> {
    // The rule `no-allow` reports a contract without any `allow`.
    if group.way.allows.is_empty() {
        return Some(Vec::new());
    }
    let mut left = PARTS_MAX;
    let mut ways = vec![WayThrough::new()];
    for allow in &group.way.allows {
        let sides = sides(&group.lets, Passed::new(allow, true), &mut left)?;
        ways = together(&ways, &sides)?;
    }
    // Who passes without a question needs no other way.
    if ways.iter().any(Vec::is_empty) {
        ways = is_refused_before(group).then(Vec::new).into_iter().collect();
    }
    Some(ways)
}

/// The sides of a test, taken apart; none for one that asks for a role.
fn sides<'a>(lets: &Lets<'a>, passed: Passed<'a>, left: &mut usize) -> Option<Vec<WayThrough<'a>>> {
    *left = left.checked_sub(1)?;
    let test = plain(lets, passed.test);
    let mut of = |test: &'a _, truth: bool| sides(lets, Passed { test, truth, ..passed }, left);
    match (&test.kind, passed.truth) {
        (ExprKind::Not(inner), truth) => of(inner, !truth),
        (ExprKind::Binary(Op::And, a, b), true) | (ExprKind::Binary(Op::Or, a, b), false) => {
            together(&of(a, passed.truth)?, &of(b, passed.truth)?)
        }
        (ExprKind::Binary(Op::Or, a, b), true) | (ExprKind::Binary(Op::And, a, b), false) => {
            let mut either = of(a, passed.truth)?;
            either.extend(of(b, passed.truth)?);
            (either.len() <= WAYS_MAX).then_some(either)
        }
        (ExprKind::Bool(same), truth) if *same == truth => Some(vec![Vec::new()]),
        (ExprKind::Bool(_), _) | (ExprKind::HasRole(_), true) => Some(Vec::new()),
        _ => Some(vec![vec![Passed { test, ..passed }]]),
    }
}

/// Each way of one kind with each of another.
fn together<'a>(some: &[WayThrough<'a>], others: &[WayThrough<'a>]) -> Option<Vec<WayThrough<'a>>> {
    let is_few = some.len().saturating_mul(others.len()) <= WAYS_MAX;
    is_few.then(|| {
        let pair = |one: &WayThrough<'a>| {
            let one = one.clone();
            others.iter().map(move |other| [&one[..], &other[..]].concat())
        };
        some.iter().flat_map(pair).collect()
    })
}
