//! Quotients that may have no value: a call that divides by 0 is refused there, though no step says so.

use super::Way;
use crate::check::truth::{Lets, at_least, plain};
use crate::model::{Expr, ExprKind, Kind, Step, StepKind};
use crate::types::Type;

/// What a step divides by that may be 0, as far as the way to it tells.
pub(super) fn divisors<'a>(step: &'a Step, way: &Way<'a>, lets: &Lets<'a>) -> Vec<&'a Expr> {
    let mut found: Vec<&'a Expr> = Vec::new();
    let mut look = |expr: &'a Expr| {
        expr.walk(&mut |part| {
            if let ExprKind::Rounded(_, _, Some(by), _) = &part.kind {
                found.push(by);
            }
        });
    };
    match &step.kind {
        StepKind::Transact(_) => step.walk(&mut |inner| inner.expressions(&mut look)),
        _ => step.expressions(&mut look),
    }
    found.retain(|by| {
        let by = plain(lets, by);
        // Each name is looked at where it is given, and what no item has does not change.
        let mut reads = false;
        by.walk(&mut |part| reads |= matches!(part.kind, ExprKind::Attribute(..)));
        reads && !is_positive(by) && !is_found_positive(by, way, lets)
    });
    found
}

fn is_positive(by: &Expr) -> bool {
    matches!(&by.of, Kind::Value(Type::Int { low: Some(low), .. }) if *low > 0)
}

/// Whether a test on the way has found an attribute above 0.
fn is_found_positive<'a>(by: &'a Expr, way: &Way<'a>, lets: &Lets<'a>) -> bool {
    let ExprKind::Attribute(item, name) = &by.kind else { return false };
    let is_it = |expr: &'a Expr| {
        matches!(&plain(lets, expr).kind, ExprKind::Attribute(other, attribute)
            if other == item && attribute == name)
    };
    let mut atoms = way.tests.iter().filter(|test| !test.stale).flat_map(|test| test.atoms(lets));
    atoms.any(|atom| at_least(lets, &atom, &is_it).is_some_and(|least| least > 0))
}
