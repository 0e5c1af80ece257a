//! A limit that fills up: a number of one entity counts the items of another, a test holds it within a limit, and an item
//! goes that is not taken off.
//!
//! A number *counts* the items of an entity if it is changed by a constant wherever one is put `if absent`. It counts
//! those that there are, and not those that were made, if it is tested against a limit there, or is changed the other way
//! where one is deleted.

use std::collections::{BTreeMap, HashSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::kept::{Kept, constant, difference};
use crate::check::flow::{Group, Placed};
use crate::check::truth::{Passed, each, plain};
use crate::check::writes::Writes;
use crate::model::{EntityId, Expr, ExprKind, Leg, Model, Op, PutMode, Verb, Waiver};
use crate::types::Type;

/// A number of an entity, the entity whose items it counts, and in which direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Count<'a> {
    holder: EntityId,
    name: &'a str,
    item: EntityId,
    up: bool,
}

/// What comes of a place in the text, wherever it is done: why it is wrong, if it is.
type Outcomes<'a> = BTreeMap<(Span, Count<'a>), (&'a [Waiver], Vec<Option<Diagnostic>>)>;

/// What is told of items that go and are not taken off a limit, with the waivers for it. The statements of `steps` are
/// told only if they are wrong wherever they are done.
pub(super) fn tell<'a>(
    model: &'a Model,
    writes: &Writes<'a>,
    kept: &[Kept<'a>],
) -> Vec<(Diagnostic, &'a [Waiver])> {
    let mut outcomes = Outcomes::new();
    for (count, counted) in counts(model, writes) {
        if kept.iter().any(|kept| kept.is_of(count.holder, count.item)) {
            continue;
        }
        for (_, group, placed) in writes.on(count.item) {
            if placed.leg.verb != Verb::Delete {
                continue;
            }
            let told =
                (!is_seen(writes, group, count)).then(|| story(model, placed, count, counted));
            let key = (placed.leg.span, count);
            outcomes.entry(key).or_insert((&placed.step.waivers, Vec::new())).1.push(told);
        }
    }
    let told = outcomes.into_values().filter_map(|(waivers, found)| {
        let all: Option<Vec<Diagnostic>> = found.into_iter().collect();
        Some((all?.into_iter().next()?, waivers))
    });
    told.collect()
}

/// The numbers that count the items of another entity which there are, each with where it counts one.
fn counts<'a>(model: &'a Model, writes: &Writes<'a>) -> BTreeMap<Count<'a>, Span> {
    let (mut found, mut limited) = (BTreeMap::new(), HashSet::new());
    for (_, group) in writes.all() {
        for item in group.legs.iter().map(|placed| placed.leg) {
            let once = item.put == Some(PutMode::IfAbsent);
            let entity = &model.entities[item.entity];
            // An item that ends goes without a word.
            if !once || entity.view_of.is_some() || entity.is_expiring() {
                continue;
            }
            for (holder, name, up) in changed(model, group) {
                let count = Count { holder: holder.leg.entity, name, item: item.entity, up };
                if count.holder != count.item {
                    found.insert(count, holder.leg.span);
                    limited.extend(is_limited(group, holder, count).then_some(count));
                }
            }
        }
    }
    found.retain(|count, _| {
        let others = || writes.on(count.holder);
        let changes = |group: &Group<'a>, up: bool| {
            let mut all = changed(model, group);
            all.any(|(holder, name, way)| {
                holder.leg.entity == count.holder && name == count.name && way == up
            })
        };
        // A number that begins anew counts what happened since.
        let anew = others().any(|(_, group, placed)| {
            let set = placed.leg.values.iter().filter(|given| given.attribute == count.name);
            let mut set = set.map(|given| plain(&group.lets, &given.value));
            let by = |value: &Expr| difference(value, count.name);
            placed.leg.verb != Verb::Put && set.any(|value| by(value).is_none())
        });
        // An item that is moved to another status may be taken off there.
        let moved = || {
            writes.on(count.item).any(|(_, group, placed)| {
                matches!(placed.leg.verb, Verb::Update | Verb::Upsert) && changes(group, !count.up)
            })
        };
        let taken_off = || {
            writes.on(count.item).any(|(_, group, placed)| {
                placed.leg.verb == Verb::Delete && changes(group, !count.up)
            })
        };
        // What is counted wherever it is made, and nowhere else.
        let whole = || {
            let mut puts = writes
                .on(count.item)
                .filter(|(.., placed)| matches!(placed.leg.verb, Verb::Put | Verb::Upsert));
            puts.all(|(_, group, _)| changes(group, count.up))
        };
        !is_of_a_time(model, count.holder)
            && (limited.contains(count) || taken_off())
            && !anew
            && !moved()
            && whole()
    });
    found
}

/// The numbers that a transaction changes by constants, and whether they grow.
fn changed<'a, 'g>(
    model: &'a Model,
    group: &'g Group<'a>,
) -> impl Iterator<Item = (&'g Placed<'a>, &'a str, bool)> {
    group.legs.iter().flat_map(|placed| {
        let leg: &'a Leg = placed.leg;
        let added =
            leg.adds.iter().map(|given| (given, constant(plain(&group.lets, &given.value))));
        let set = leg
            .values
            .iter()
            .map(|given| (given, difference(plain(&group.lets, &given.value), &given.attribute)));
        let all = added.chain(set).filter_map(|(given, by)| {
            let attribute = model.entities[leg.entity].attribute(&given.attribute)?;
            let by = by.filter(|by| *by != 0 && attribute.kind != Type::Counter)?;
            Some((given.attribute.as_str(), by > 0))
        });
        all.map(move |(name, up)| (placed, name, up)).collect::<Vec<_>>()
    })
}

/// Whether a test on the way to a write, or a condition of its transaction, holds a number within a limit.
fn is_limited<'a>(group: &Group<'a>, holder: &Placed<'a>, count: Count<'a>) -> bool {
    let names = |expr: &'a Expr| {
        let mut found = false;
        each(&group.lets, expr, &mut |part| {
            found |= match &part.kind {
                ExprKind::Stored(name) => name == count.name,
                ExprKind::Attribute(item, name) => {
                    name == count.name && group.entity_of(*item) == Some(count.holder)
                }
                _ => false,
            };
        });
        found
    };
    let of_holder = group.legs.iter().filter(|other| other.leg.entity == count.holder);
    let mut tests: Vec<Passed<'a>> = of_holder.flat_map(|other| group.insists(other.leg)).collect();
    tests.extend(group.known(&holder.guards));
    tests.iter().any(|passed| {
        let ExprKind::Binary(op, a, b) = &passed.test.kind else { return false };
        let (least, most) = match (op, passed.truth) {
            (Op::Less | Op::LessOrEqual, true) | (Op::Greater | Op::GreaterOrEqual, false) => {
                (a, b)
            }
            (Op::Greater | Op::GreaterOrEqual, true) | (Op::Less | Op::LessOrEqual, false) => {
                (b, a)
            }
            _ => return false,
        };
        if count.up { names(least) && !names(most) } else { names(most) && !names(least) }
    })
}

/// Whether an item that holds a number is one of a day or another time: what it counts is over with the time.
fn is_of_a_time(model: &Model, holder: EntityId) -> bool {
    let entity = &model.entities[holder];
    let mut holes = entity.key.holes();
    let is_time = |name: &str| {
        let attribute = entity.attribute(name);
        attribute.is_some_and(|attribute| attribute.kind == Type::Time)
    };
    entity.is_expiring() || holes.any(|hole| hole.format.is_some() || is_time(&hole.attribute))
}

/// Whether a transaction that deletes an item sees to the number: it changes the number, makes another item, or removes
/// what holds the number; or it sends to a worker that writes it.
fn is_seen<'a>(writes: &Writes<'a>, group: &Group<'a>, count: Count<'a>) -> bool {
    let legs = group.legs.iter().map(|placed| placed.leg);
    let mut all = legs.chain(group.way.written.iter().copied());
    let sees = |leg: &Leg| {
        let mut set = leg.values.iter().chain(&leg.adds);
        let makes = leg.entity == count.item && matches!(leg.verb, Verb::Put | Verb::Upsert);
        let holds = leg.entity == count.holder
            && (leg.verb == Verb::Delete || set.any(|given| given.attribute == count.name));
        makes || holds
    };
    all.any(sees)
        || writes.sends_to_change(group, count.holder)
        || writes.sends_to_sweep(group, count.holder)
}

fn story(model: &Model, placed: &Placed<'_>, count: Count<'_>, counted: Span) -> Diagnostic {
    let (holder, item) = (&model.entities[count.holder].name, &model.entities[count.item].name);
    let (name, by) = (count.name, if count.up { "-1" } else { "1" });
    let message = format!("`{name}` of `{holder}` still counts the `{item}` that goes here");
    Diagnostic::new(Rule::Tally, placed.leg.span, message)
        .other(counted, "it is counted here")
        .why("from then on the number counts an item that is not there, and a limit on it fills up for good")
        .help(format!("write `add {name} = {by}` on the `{holder}` in the same transaction"))
}
