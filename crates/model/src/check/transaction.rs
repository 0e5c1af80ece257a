//! `transaction`: too many legs, or two that may hit one item.

use latchkey_language::Diagnostic;

use super::Report;
use super::flow::{Group, Passed, Placed, conjuncts, groups, same};
use crate::model::{Expr, ExprKind, Model, Op, StepKind, Verb};

const LEGS_MAX: usize = 25;
const LEGS_MAX_WAIVED: usize = 100;
const WHENS_MAX: usize = 4;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        for group in groups(contract) {
            let StepKind::Transact(steps) = &group.step.kind else { continue };
            let count = group.legs.len();
            let whens = steps.iter().filter(|step| matches!(step.kind, StepKind::When(..))).count();
            let too_many = match (count, whens) {
                (0, _) => Some("a transaction of nothing".to_owned()),
                (_, WHENS_MAX..) if whens > WHENS_MAX => {
                    Some(format!("{whens} `when` in one transaction; the most is {WHENS_MAX}"))
                }
                _ if count > LEGS_MAX => Some(format!("{count} legs; the most is {LEGS_MAX}")),
                _ => None,
            };
            if let Some(message) = too_many {
                let diagnostic = Diagnostic::new("transaction", group.step.span, message)
                    .why("large transactions conflict with each other and cost double")
                    .help("write fewer items at once");
                let waivers = if count > LEGS_MAX_WAIVED { &[] } else { &group.step.waivers[..] };
                report.raise(diagnostic, waivers);
            }
            collisions(model, &group, report);
        }
    }
}

fn collisions(model: &Model, group: &Group<'_>, report: &mut Report) {
    for (at, placed) in group.legs.iter().enumerate() {
        for (before, other) in group.legs.iter().enumerate().take(at) {
            let apart = placed.leg.entity != other.leg.entity
                || exclusive(&placed.guards, &other.guards)
                || differ(group, (at, placed), (before, other));
            if apart {
                continue;
            }
            let entity = model.entities.get(placed.leg.entity).map_or("", |entity| &entity.name);
            let message = format!("two legs of one transaction may be on the same `{entity}`");
            let diagnostic = Diagnostic::new("transaction", placed.leg.span, message)
                .other(other.leg.span, "the other leg")
                .why("the store refuses a transaction that names an item twice")
                .help("answer the case that they are the same before: `when a == b { return … }`");
            report.raise(diagnostic, &placed.step.waivers);
        }
    }
}

/// Whether two legs stand on different sides of one test.
fn exclusive(a: &[Passed<'_>], b: &[Passed<'_>]) -> bool {
    a.iter().any(|x| b.iter().any(|y| std::ptr::eq(x.test, y.test) && x.truth != y.truth))
}

/// Whether some part of the two keys is known to differ.
fn differ(group: &Group<'_>, a: (usize, &Placed<'_>), b: (usize, &Placed<'_>)) -> bool {
    a.1.leg.key.iter().zip(&b.1.leg.key).any(|(x, y)| {
        let (x, y) = (settled(group, a.0, &x.value), settled(group, b.0, &y.value));
        let literal = matches!((&x.kind, &y.kind),
            (ExprKind::Word(x), ExprKind::Word(y)) if x != y)
            || matches!((&x.kind, &y.kind), (ExprKind::Number(x), ExprKind::Number(y)) if x != y);
        literal || known_to_differ(group, x, y)
    })
}

/// What an attribute is by the time of a leg: what an earlier leg set it to, or as it was read.
fn settled<'a>(group: &'a Group<'_>, at: usize, value: &'a Expr) -> &'a Expr {
    let ExprKind::Attribute(binding, name) = &value.kind else { return value };
    let set = group.legs.iter().take(at).rev().find_map(|placed| {
        let changes = matches!(placed.leg.verb, Verb::Update | Verb::Upsert);
        let given = placed.leg.values.iter().find(|given| given.attribute == *name);
        given.filter(|_| changes && placed.leg.target == Some(*binding))
    });
    set.map_or(value, |given| &given.value)
}

fn known_to_differ(group: &Group<'_>, a: &Expr, b: &Expr) -> bool {
    group.tests.iter().any(|passed| {
        let about = |test: &Expr, op: Op| match &test.kind {
            ExprKind::Binary(found, x, y) if *found == op => {
                (same(x, a) && same(y, b)) || (same(x, b) && same(y, a))
            }
            _ => false,
        };
        match passed.truth {
            true => conjuncts(passed.test).any(|test| about(test, Op::NotEqual)),
            false => about(passed.test, Op::Equal),
        }
    })
}
