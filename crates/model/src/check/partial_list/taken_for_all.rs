//! An `each` over the first N items, in a transaction that takes them for all: it also deletes or moves on what they
//! belong to.

use latchkey_language::{Diagnostic, Rule};

use crate::check::flow::{Group, Placed, groups};
use crate::check::truth::{at_most, plain};
use crate::check::{Report, each_step};
use crate::model::{
    BindingId, Contract, Each, EntityId, Expr, ExprKind, Leg, Limit, Model, Op, Query, Read,
    StepKind, Verb,
};
use crate::types::Type;

pub(super) fn check(model: &Model, contract: &Contract, report: &mut Report) {
    let mut goes_through = false;
    each_step(&contract.steps, &mut |step| {
        goes_through |= matches!(&step.kind, StepKind::Each(each) if each.result().is_some());
    });
    if !goes_through {
        return;
    }
    for group in groups(model, contract) {
        let mut told: Vec<BindingId> = Vec::new();
        for placed in &group.legs {
            let Some((each, result)) = placed.each.and_then(|each| Some((each, each.result()?)))
            else {
                continue;
            };
            let Some((read, query, count)) = cut(contract, result) else { continue };
            let whole = told.contains(&result)
                || is_all(&group, result, count)
                || is_bounded(model, &group, read.entity, query, count);
            if whole {
                continue;
            }
            let taken = group.legs.iter().find(|other| is_of_all(model, other, read.entity));
            if let Some(taken) = taken {
                told.push(result);
                let waivers = [&placed.step.waivers[..], &group.step.waivers[..]].concat();
                report.raise(tell(model, each, read, count, taken.leg), &waivers);
            }
        }
    }
}

/// The read of a result that may hold a part of the items, its query, and how many it reads.
fn cut(contract: &Contract, result: BindingId) -> Option<(&Read, &Query, u32)> {
    let read = contract.read_of(result)?;
    let (_, query) = contract.query_of(read)?;
    match query.limit {
        Some(Limit::First(count)) => Some((read, query, count)),
        Some(Limit::Page { .. }) | None => None,
    }
}

/// Whether a test on the way shows that there are no more than were read.
fn is_all<'a>(group: &Group<'a>, result: BindingId, count: u32) -> bool {
    let (lets, count) = (&group.lets, i64::from(count));
    let is_it =
        |expr: &'a Expr| matches!(&plain(lets, expr).kind, ExprKind::Count(id) if *id == result);
    let is_count = |expr: &'a Expr| matches!(&plain(lets, expr).kind, ExprKind::Number(it) if it.to_i64() == Some(count));
    group.known(&[]).iter().any(|atom| {
        let other = match (&atom.test.kind, atom.truth) {
            (ExprKind::Binary(Op::NotEqual, a, b), true)
            | (ExprKind::Binary(Op::Equal, a, b), false) => {
                (is_it(a) && is_count(b)) || (is_it(b) && is_count(a))
            }
            (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => {
                matches!(&plain(lets, thing).kind, ExprKind::Binding(id) if *id == result)
            }
            _ => false,
        };
        let bound = at_most(lets, atom, &is_it);
        other || bound.is_some_and(|(most, less)| most < count || (less && most == count))
    })
}

/// Whether the key leaves room for no more items than are read.
fn is_bounded<'a>(
    model: &'a Model,
    group: &Group<'a>,
    entity: EntityId,
    query: &'a Query,
    count: u32,
) -> bool {
    let key = &model.entities[entity].key;
    let holes = key.partition.holes().chain(key.sort.holes());
    let open = holes.filter(|hole| group.queried_part(entity, query, &hole.attribute).is_none());
    let room = open.map(|hole| match &hole.kind {
        Type::Int { low: Some(low), high: Some(high) } => high.abs_diff(*low).checked_add(1),
        Type::Enum(words) => u64::try_from(words.len()).ok(),
        Type::Bool => Some(2),
        _ => None,
    });
    let room = room.into_iter().try_fold(1_u64, |all, one| all.checked_mul(one?));
    room.is_some_and(|room| room <= u64::from(count))
}

/// Whether a leg deletes what items of an entity belong to, or moves it on: it has a part of their key, and gets a word
/// or a number that does not depend on what it was.
fn is_of_all(model: &Model, placed: &Placed<'_>, entity: EntityId) -> bool {
    let (leg, shape) = (placed.leg, &model.entities[placed.leg.entity].key);
    let key = model.entities[entity].key.attributes();
    let belongs = shape.attributes().iter().all(|name| key.contains(name));
    let set = || {
        leg.values.iter().any(|given| {
            matches!(given.value.kind, ExprKind::Word(_) | ExprKind::Number(_) | ExprKind::Bool(_))
        })
    };
    placed.each.is_none()
        && leg.entity != entity
        && belongs
        && match leg.verb {
            Verb::Delete => true,
            Verb::Update | Verb::Upsert => set(),
            Verb::Put | Verb::Check => false,
        }
}

fn tell(model: &Model, each: &Each, read: &Read, count: u32, taken: &Leg) -> Diagnostic {
    let (items, whole) = (&model.entities[read.entity].name, &model.entities[taken.entity].name);
    let message =
        format!("this goes through the first {count} of the `{items}` items, not through all");
    Diagnostic::new(Rule::PartialList, each.over.span, message)
        .other(read.span, "where there are more, the rest is not read")
        .other(taken.span, format!("and this `{whole}` is done with, as if none were left"))
        .why("this is right while there are few items; after that the rest stays as it was, and nothing tells of it")
        .help(format!(
            "refuse where there may be more: `require count(…) < {count} else …`; or write the `{whole}` in a later call, \
             which finds none"
        ))
}
