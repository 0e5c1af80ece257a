//! Puts that make the first item of their key. An entity can have a counter and items that are deleted: if something
//! stays behind for each deleted item, and a `put` needs that nothing has stayed, then no item was there before.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::Span;

use super::flow::{Group, Placed, groups, within};
use crate::model::{EntityId, Leg, Model, PutMode, Verb};

/// The puts whose item is certainly the first of its key, and their entities.
pub(crate) fn first_puts(model: &Model) -> BTreeMap<Span, EntityId> {
    let counted = model
        .entities
        .enumerate()
        .filter(|(_, entity)| entity.remade && !entity.is_expiring() && entity.counter().is_some());
    let counted: Vec<EntityId> = counted.map(|(id, _)| id).collect();
    let mut found = BTreeMap::new();
    if counted.is_empty() {
        return found;
    }
    let all: Vec<Group<'_>> =
        model.bodies().into_iter().flat_map(|body| groups(model, body)).collect();
    for entity in counted {
        for stays in staying(model, &all, entity) {
            let (mut first, mut other) = (BTreeSet::new(), BTreeSet::new());
            for (group, placed) in legs_on(&all, entity).filter(|(_, it)| it.leg.verb == Verb::Put)
            {
                let once = |leg: &Leg| leg.put == Some(PutMode::IfAbsent);
                let sure = once(placed.leg) && is_beside(group, placed, stays, once);
                if sure { &mut first } else { &mut other }.insert(placed.leg.span);
            }
            // Steps that are done twice have one span.
            found.extend(first.difference(&other).map(|span| (*span, entity)));
        }
    }
    found
}

/// The entities of which an item stays behind wherever an item of an entity is deleted.
fn staying(model: &Model, all: &[Group<'_>], entity: EntityId) -> Vec<EntityId> {
    let ends = |(_, placed): &(&Group<'_>, &Placed<'_>)| {
        placed.leg.verb == Verb::Delete || placed.leg.put == Some(PutMode::Replace)
    };
    let others = model.entities.enumerate().filter(|(id, other)| {
        let deleted = legs_on(all, *id).any(|(_, placed)| placed.leg.verb == Verb::Delete);
        *id != entity && !other.is_expiring() && !deleted
    });
    let stays = others.filter(|(other, _)| {
        let makes = |leg: &Leg| matches!(leg.verb, Verb::Put | Verb::Upsert);
        legs_on(all, entity).filter(ends).all(|(group, placed)| {
            placed.leg.verb == Verb::Delete && is_beside(group, placed, *other, makes)
        })
    });
    stays.map(|(id, _)| id).collect()
}

fn legs_on<'g, 'a>(
    all: &'g [Group<'a>],
    entity: EntityId,
) -> impl Iterator<Item = (&'g Group<'a>, &'g Placed<'a>)> {
    let legs = all.iter().flat_map(|group| group.legs.iter().map(move |placed| (group, placed)));
    legs.filter(move |(_, placed)| placed.leg.entity == entity)
}

/// Whether a leg stands beside one on another entity, whose key is made of parts of its own key.
fn is_beside<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    other: EntityId,
    wanted: impl Fn(&Leg) -> bool,
) -> bool {
    group.legs.iter().any(|beside| {
        beside.leg.entity == other
            && wanted(beside.leg)
            && beside.each.is_none()
            && placed.each.is_none()
            && within(&placed.guards, &beside.guards)
            && beside.leg.key.iter().all(|part| {
                let own = placed.leg.key.iter().find(|own| own.attribute == part.attribute);
                own.is_some_and(|own| group.equal(&placed.guards, &part.value, &own.value))
            })
    })
}
