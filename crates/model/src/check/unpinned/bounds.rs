//! A write that the bounds of a number, or of a set, may have refused: it answers 400, though it has no `else`.

use crate::check::flow::Group;
use crate::check::leaves::constant;
use crate::check::truth::{at_least, at_most};
use crate::model::{Expr, ExprKind, GivenPart, Leg, Model, Op};
use crate::types::Type;

/// Whether a write may leave an attribute beyond its bounds, for all that its condition tells.
pub(super) fn may_leave<'a>(model: &'a Model, group: &Group<'a>, leg: &'a Leg) -> bool {
    let added = leg.adds.iter().map(|given| (given.attribute.as_str(), &given.value, false));
    let set = leg.values.iter().filter_map(|given| {
        let (amount, less) = moved(&given.attribute, &given.value)?;
        Some((given.attribute.as_str(), amount, less))
    });
    // A set may be full.
    let mut given = leg.values.iter().chain(&leg.adds);
    if given.any(|given| given.part == GivenPart::Element) {
        return true;
    }
    added.chain(set).any(|(name, amount, less)| {
        let attribute = model.entities[leg.entity].attribute(name);
        match attribute.map(|attribute| &attribute.kind) {
            Some(Type::Int { low, high }) => {
                let amount = constant(&group.lets, amount);
                let amount = if less { amount.and_then(i64::checked_neg) } else { amount };
                leaves(group, leg, name, (*low, *high), amount)
            }
            Some(Type::Number { low, high }) => low.is_some() || high.is_some(),
            _ => false,
        }
    })
}

/// By what a value moves its own attribute, and whether down.
fn moved<'a>(name: &str, value: &'a Expr) -> Option<(&'a Expr, bool)> {
    let is_own = |expr: &Expr| matches!(&expr.kind, ExprKind::Stored(other) if other == name);
    match &value.kind {
        ExprKind::Binary(Op::Plus, a, b) if is_own(a) => Some((b, false)),
        ExprKind::Binary(Op::Plus, a, b) if is_own(b) => Some((a, false)),
        ExprKind::Binary(Op::Minus, a, b) if is_own(a) => Some((b, true)),
        _ => None,
    }
}

/// Whether a whole number that is moved may leave its bounds.
fn leaves<'a>(
    group: &Group<'a>,
    leg: &'a Leg,
    name: &str,
    (low, high): (Option<i64>, Option<i64>),
    amount: Option<i64>,
) -> bool {
    let is_it = |expr: &'a Expr| matches!(&expr.kind, ExprKind::Stored(other) if other == name);
    let insists = group.insists(leg);
    let Some(amount) = amount else { return low.is_some() || high.is_some() };
    let stays_up = || {
        let mut least = insists.iter().filter_map(|atom| at_least(&group.lets, atom, &is_it));
        least.any(|least| low.is_none_or(|low| least.saturating_add(amount) >= low))
    };
    let stays_down = || {
        let mut most = insists.iter().filter_map(|atom| at_most(&group.lets, atom, &is_it));
        most.any(|(most, is_less)| {
            let most = most.saturating_sub(i64::from(is_less));
            high.is_none_or(|high| most.saturating_add(amount) <= high)
        })
    };
    (amount < 0 && low.is_some() && !stays_up()) || (amount > 0 && high.is_some() && !stays_down())
}
