//! What pins that all items of a list of keys are there: an `each` over the same list that needs each of them.

use super::{Fact, Use};
use crate::check::flow::{Group, Placed, within};
use crate::check::truth::{Passed, plain};
use crate::model::{Batch, BatchBy, BindingId, Each, Expr, ExprKind, Given, Verb, What};

/// Whether a fact is that a `get … for` found an item for each key, and legs that happen whenever something within some
/// tests does need all of these items.
pub(super) fn holds<'a>(group: &Group<'a>, guards: &[Passed<'a>], used: &Use<'a>) -> bool {
    let Fact::Items(found, None) = used.fact else { return false };
    let Some(What::Batch(batch)) = group.read_of(found).map(|(_, read)| &read.what) else {
        return false;
    };
    let BatchBy::Elements { over, .. } = &batch.by else { return false };
    let Some(entity) = group.read_of(found).map(|(_, read)| read.entity) else { return false };
    used.test.is_some_and(|test| is_all(group, test, found, over))
        && group.legs.iter().any(|placed| {
            placed.leg.entity == entity
                && placed.each.is_some_and(|each| {
                    happens(guards, placed, each) && is_for_each(group, placed, each, batch)
                })
                && needs_item(group, placed)
        })
}

/// Whether a test found as many items as the list has elements.
fn is_all<'a>(group: &Group<'a>, test: Passed<'a>, found: BindingId, over: &'a Expr) -> bool {
    let counts = |expr: &'a Expr| matches!(plain(&group.lets, expr).kind, ExprKind::Count(id) if id == found);
    let sizes = |expr: &'a Expr| match &plain(&group.lets, expr).kind {
        ExprKind::Size(list) => group.alike(list, over, None),
        _ => false,
    };
    test.equality().is_some_and(|(a, b)| (counts(a) && sizes(b)) || (counts(b) && sizes(a)))
}

/// Whether the legs of an `each` happen for all elements whenever something within some tests does.
fn happens(guards: &[Passed<'_>], placed: &Placed<'_>, each: &Each) -> bool {
    let beside = placed.guards.iter().filter(|guard| !std::ptr::eq(guard.test, &each.over));
    within(guards, &beside.copied().collect::<Vec<_>>())
}

/// Whether the keys of a leg in an `each` are those of the batch.
fn is_for_each<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    each: &'a Each,
    batch: &'a Batch,
) -> bool {
    let BatchBy::Elements { over, element, .. } = &batch.by else { return false };
    let same =
        |a: &'a Expr, b: &'a Expr| match (element_part(a, each.element), element_part(b, *element))
        {
            (Some(a), Some(b)) => a == b,
            (None, None) => group.alike(a, b, None),
            _ => false,
        };
    let given = |part: &Given| batch.key.iter().find(|given| given.attribute == part.attribute);
    let keys = &placed.leg.key;
    group.alike(&each.over, over, None)
        && keys.len() == batch.key.len()
        && keys.iter().all(|part| given(part).is_some_and(|given| same(&part.value, &given.value)))
}

/// The names that lead from the element of a list to a value, if the value is the element or a member of it.
fn element_part(expr: &Expr, element: BindingId) -> Option<Vec<&str>> {
    match &expr.kind {
        ExprKind::Binding(id) if *id == element => Some(Vec::new()),
        ExprKind::Attribute(id, name) if *id == element => Some(vec![name]),
        ExprKind::Member(record, name) => {
            let mut names = element_part(record, element)?;
            names.push(name);
            Some(names)
        }
        _ => None,
    }
}

/// Whether a leg fails where its item is not there.
fn needs_item<'a>(group: &Group<'a>, placed: &Placed<'a>) -> bool {
    placed.leg.verb == Verb::Update
        || placed.leg.absent.is_some()
        || group.insists(placed.leg).iter().any(super::needs_item)
}
