//! `left-behind`: an item is deleted, or ends; the items under its id stay, and the id can be made again: the new item has
//! the old ones.
//!
//! An item *belongs* to another if its key holds the whole key of the other, and some are put where the other is there.

mod none_left;

use std::collections::{HashMap, HashSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::{Group, Placed, within};
use super::truth::{Passed, each, plain};
use super::writes::Writes;
use super::{Report, each_read};
use crate::model::{
    BindingId, Contract, Entity, EntityId, Expr, ExprKind, Leg, Model, PutMode, Verb,
};
use none_left::Place;

pub(super) fn check(model: &Model, report: &mut Report) {
    let writes = Writes::new(model);
    let read = entities_read(model);
    let mut parents: HashMap<EntityId, Option<Parent<'_>>> = HashMap::new();
    for (_, group) in writes.all() {
        for placed in group.legs.iter().filter(|placed| placed.leg.verb == Verb::Delete) {
            let id = placed.leg.entity;
            let parent =
                parents.entry(id).or_insert_with(|| Parent::new(model, &writes, &read, id));
            let Some(parent) = parent else { continue };
            if stays_closed(model, &writes, group, placed) {
                continue;
            }
            let place = Place { model, writes: &writes, parent, group, placed };
            let left: Vec<_> =
                parent.children.iter().copied().filter(|child| !place.shows_none(*child)).collect();
            if !left.is_empty() {
                let what = format!("this deletes a `{}`", parent.entity.name);
                report.raise(
                    tell(model, (placed.leg.span, &what), parent, &left),
                    &placed.step.waivers,
                );
            }
        }
    }
    for (id, entity) in model.entities.enumerate().filter(|(_, entity)| entity.is_expiring()) {
        let parent = parents.entry(id).or_insert_with(|| Parent::new(model, &writes, &read, id));
        let Some(parent) = parent else { continue };
        let left = parent.children.iter().copied().filter(|child| {
            !makes(model, &writes, id).all(|(_, group, placed)| {
                Place { model, writes: &writes, parent, group, placed }.shows_none(*child)
            })
        });
        let left: Vec<_> = left.collect();
        if !left.is_empty() {
            let what = format!("a `{}` ends", entity.name);
            report.raise(tell(model, (entity.span, &what), parent, &left), &entity.waivers);
        }
    }
}

/// An entity whose items can be deleted and made again under the same id.
struct Parent<'a> {
    /// The entities whose items belong to its items.
    children: Vec<EntityId>,
    /// Where an item is made under an id that the caller gives.
    made: Span,
    entity: &'a Entity,
}

impl<'a> Parent<'a> {
    fn new(
        model: &'a Model,
        writes: &Writes<'a>,
        read: &HashSet<EntityId>,
        id: EntityId,
    ) -> Option<Parent<'a>> {
        let entity = &model.entities[id];
        if entity.view_of.is_some() {
            return None;
        }
        let made = makes(model, writes, id).next()?.2.leg.span;
        let keys = entity.key.attributes();
        let others = model.entities.enumerate().filter(|(other, child)| {
            *other != id
                && child.view_of.is_none()
                && !child.is_expiring()
                && keys.iter().all(|name| child.key.tells(name))
        });
        let mut open: Vec<EntityId> = others.map(|(other, _)| other).collect();
        // What is put where something that belongs to the parent is there belongs to it, too.
        let mut family = vec![id];
        while let Some(at) = open.iter().position(|child| belongs(model, writes, *child, &family)) {
            family.push(open.remove(at));
        }
        let children = family.into_iter().filter(|child| *child != id && read.contains(child));
        let children: Vec<EntityId> = children.collect();
        (!children.is_empty()).then_some(Parent { children, made, entity })
    }
}

/// The writes that make an item under an id that there may have been before.
fn makes<'a, 'w>(
    model: &'a Model,
    writes: &'w Writes<'a>,
    id: EntityId,
) -> impl Iterator<Item = (&'a Contract, &'w Group<'a>, &'w Placed<'a>)> {
    writes.on(id).filter(|(_, group, placed)| {
        matches!(placed.leg.verb, Verb::Put | Verb::Upsert)
            && is_given(group, placed.leg)
            && !is_first(model, writes, group, placed)
    })
}

/// Whether a leg makes an item under an id that any caller can give again: nothing in it is new, or the caller's own.
fn is_given<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    let owned = |value: &'a Expr| {
        let allows = group.way.allows.iter();
        let mut tests = allows.flat_map(|test| Passed::new(test, true).atoms(&group.lets));
        tests.any(|atom| match &atom.test.kind {
            ExprKind::Owns(thing) => atom.truth && group.alike(thing, value, None),
            _ => false,
        })
    };
    let mut given = false;
    for part in &leg.key {
        let value = group.origin(&part.value);
        if matches!(value.kind, ExprKind::New(_) | ExprKind::CallerId) || owned(value) {
            return false;
        }
        each(&group.lets, value, &mut |part| given |= matches!(part.kind, ExprKind::Input(_)));
    }
    given
}

/// Whether a leg makes the first item of its id: it needs another item to be absent, which is made with it and stays.
fn is_first<'a>(
    model: &'a Model,
    writes: &Writes<'a>,
    group: &Group<'a>,
    placed: &Placed<'a>,
) -> bool {
    marks(model, group, placed).any(|other| {
        other.leg.put == Some(PutMode::IfAbsent)
            && !model.entities[other.leg.entity].is_expiring()
            && !writes.on(other.leg.entity).any(|(_, _, placed)| placed.leg.verb == Verb::Delete)
    })
}

/// The legs that happen with another, and make an item whose key is made of parts of the key of the other.
fn marks<'a, 'g>(
    model: &'a Model,
    group: &'g Group<'a>,
    placed: &'g Placed<'a>,
) -> impl Iterator<Item = &'g Placed<'a>> {
    let names = model.entities[placed.leg.entity].key.attributes();
    group.legs.iter().filter(move |other| {
        let of_key = model.entities[other.leg.entity].key.attributes();
        matches!(other.leg.verb, Verb::Put | Verb::Upsert)
            && other.leg.entity != placed.leg.entity
            && of_key.iter().all(|name| names.contains(name))
            && within(&placed.guards, &other.guards)
    })
}

/// Whether items of an entity are put where an item of the parent, with the same id, is there, or one that belongs to the
/// parent. One put is enough where many items can lie under one parent: another put that does not look leaves no less
/// behind. Where the parent names all of the key, it may be the mark of that item, unless every put looks.
fn belongs<'a>(
    model: &'a Model,
    writes: &Writes<'a>,
    child: EntityId,
    family: &[EntityId],
) -> bool {
    let Some(parent) = family.first() else { return false };
    let names = model.entities[*parent].key.attributes();
    let of_child = model.entities[child].key.attributes();
    let many = of_child.iter().any(|name| model.entities[*parent].attribute(name).is_none());
    let puts = writes
        .on(child)
        .filter(|(_, _, placed)| matches!(placed.leg.verb, Verb::Put | Verb::Upsert));
    let looks: Vec<bool> =
        puts.map(|(_, group, placed)| looks_at(group, placed, family, &names)).collect();
    looks.contains(&true) && (many || !looks.contains(&false))
}

/// Whether an item is put where another of some entities is there, with the same values in its key.
fn looks_at<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    family: &[EntityId],
    names: &[&str],
) -> bool {
    let part = |name: &str| {
        let own = placed.leg.key.iter().find(|given| given.attribute == name);
        own.map(|given| &given.value)
    };
    let is_read = group.way.found.iter().any(|(item, there, _)| {
        let of_it = group.read_of(*item).is_some_and(|(_, read)| family.contains(&read.entity));
        *there
            && of_it
            && names.iter().all(|name| {
                let read = group.given_part(*item, name).zip(part(name));
                read.is_some_and(|(read, own)| group.equal(&placed.guards, read, own))
                    || part(name).is_some_and(|own| is_attribute(group, own, *item, name))
            })
    });
    is_read
        || group.legs.iter().any(|other| {
            family.contains(&other.leg.entity)
                && matches!(other.leg.verb, Verb::Put | Verb::Update | Verb::Check)
                && within(&placed.guards, &other.guards)
                && names.iter().all(|name| {
                    let given = other.leg.key.iter().find(|given| given.attribute == *name);
                    let given = given.map(|given| &given.value);
                    let given = given.or_else(|| group.given_part(other.leg.target?, name));
                    given
                        .zip(part(name))
                        .is_some_and(|(given, own)| group.equal(&placed.guards, given, own))
                })
        })
}

/// Whether a value is an attribute of the item of a binding.
fn is_attribute<'a>(group: &Group<'a>, value: &'a Expr, item: BindingId, name: &str) -> bool {
    matches!(&plain(&group.lets, value).kind, ExprKind::Attribute(other, read)
        if *other == item && read == name)
}

/// The entities of which a contract reads items: nobody meets those that no contract reads.
fn entities_read(model: &Model) -> HashSet<EntityId> {
    let mut found = HashSet::new();
    for contract in &model.contracts {
        each_read(contract, |read, _| found.extend(read.entities()));
    }
    found
}

/// Whether something stays behind with the deleted item that is asked for, or made, wherever an item is made again.
fn stays_closed<'a>(
    model: &'a Model,
    writes: &Writes<'a>,
    group: &Group<'a>,
    deleted: &Placed<'a>,
) -> bool {
    marks(model, group, deleted).map(|other| other.leg.entity).any(|mark| {
        writes
            .on(deleted.leg.entity)
            .filter(|(_, _, placed)| matches!(placed.leg.verb, Verb::Put | Verb::Upsert))
            .all(|(_, group, _)| {
                group.legs.iter().any(|other| other.leg.entity == mark)
                    || group.way.reads.iter().any(|(read, _)| read.entity == mark)
            })
    })
}

fn tell(
    model: &Model,
    (span, what): (Span, &str),
    parent: &Parent<'_>,
    left: &[EntityId],
) -> Diagnostic {
    let name = &parent.entity.name;
    let names: Vec<String> =
        left.iter().map(|id| format!("`{}`", model.entities[*id].name)).collect();
    let names = names.join(", ");
    let message = format!("{what} and leaves what lies under its id: {names}");
    let mut diagnostic = Diagnostic::new(Rule::LeftBehind, span, message)
        .other(parent.made, "and here the same id can be made again");
    if let Some(first) = left.first() {
        diagnostic = diagnostic.other(model.entities[*first].span, "an item of this stays");
    }
    diagnostic
        .why(format!(
            "a `{name}` that is made with the id of the old one has the old items: its owner sees them, and they are \
             counted and listed as if they were its own"
        ))
        .help(
            "delete them in the same transaction, or refuse while there are any; or make the id with `new`, so that it \
             never comes again",
        )
}
