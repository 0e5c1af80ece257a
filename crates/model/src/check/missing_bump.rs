//! `missing-bump`: a write of an entity with a counter that does not increment it, or of a guarded entity
//! that does not increment its guard's.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::Number;

use super::flow::{Group, Placed, groups, is_stored, within};
use super::{Report, each_leg};
use crate::model::{Entity, Expr, ExprKind, Given, Leg, Model, Op, PutMode, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_leg(contract, |leg, step| {
            let entity = &model.entities[leg.entity];
            let Some(counter) = entity.counter() else { return };
            let name = &counter.name;
            let (message, help) = match leg.verb {
                Verb::Update | Verb::Upsert if !bumps(leg, name) => (
                    format!("this write of `{}` leaves `{name}` as it was", entity.name),
                    format!("add `{name} = .{name} + 1` to its `set`"),
                ),
                Verb::Put if leg.put == Some(PutMode::Replace) => (
                    format!("this put of `{}` starts `{name}` over", entity.name),
                    "write it `if absent`, or `update` it".to_owned(),
                ),
                _ => return,
            };
            let diagnostic = Diagnostic::new(Rule::MissingBump, leg.span, message)
                .other(counter.span, "counts the changes of the item")
                .why(format!(
                    "a call that read the item before would find `{name}` as it was, take the item for \
                     unchanged, and write over this"
                ))
                .help(help);
            report.raise(diagnostic, &step.waivers);
        });
        groups(model, contract).iter().for_each(|group| guards(model, group, report));
    }
}

/// Every write of a guarded entity moves its guard in the same transaction.
fn guards(model: &Model, group: &Group<'_>, report: &mut Report) {
    for (at, placed) in group.legs.iter().enumerate() {
        let entity = &model.entities[placed.leg.entity];
        let Some(id) = entity.guarded_by.filter(|_| placed.leg.verb != Verb::Check) else {
            continue;
        };
        let guard = &model.entities[id];
        let moves = |other: &&(usize, &Placed<'_>)| {
            // A guard that is gone is not unchanged, and one that is made again is another. Nobody has read one that is
            // made here.
            let leg = other.1.leg;
            let moves = leg.verb == Verb::Delete
                || leg.put == Some(PutMode::IfAbsent)
                || guard.counter().is_some_and(|counter| bumps(leg, &counter.name));
            leg.entity == id && moves && within(&placed.guards, &other.1.guards)
        };
        let legs: Vec<(usize, &Placed<'_>)> = group.legs.iter().enumerate().collect();
        let bumped: Vec<_> = legs.iter().filter(moves).collect();
        let is_bumped = bumped.iter().any(|other| is_its_guard(group, other.1.leg, placed));
        let left = left_guard(group, guard, placed.leg).filter(|name| {
            !bumped.iter().any(|(place, other)| {
                is_old_guard(group, (placed.leg, name), (other.leg, *place < at))
            })
        });
        let message = match left {
            _ if !is_bumped => format!(
                "this writes an item of `{}` and leaves its guard `{}` as it was",
                entity.name, guard.name
            ),
            Some(name) => format!(
                "this changes `{name}` of a `{}`, and leaves the guard `{}` that it comes from as it was",
                entity.name, guard.name
            ),
            None => continue,
        };
        let diagnostic = Diagnostic::new(Rule::MissingBump, placed.leg.span, message)
            .other(entity.span, format!("guarded by `{}`", guard.name))
            .why(format!(
                "a call that read the `{0}` and then the items of `{1}` takes them for unchanged as long as the \
                 `{0}` is",
                guard.name, entity.name
            ))
            .help(match is_bumped {
                false => format!(
                    "`update` the `{}` in the same transaction and add 1 to its counter",
                    guard.name
                ),
                true => format!(
                    "`update` both in the same transaction: the `{}` that the item comes from, and the one it goes to",
                    guard.name
                ),
            });
        report.raise(diagnostic, &placed.step.waivers);
    }
}

/// The attribute by which a write takes an item from one guard to another.
fn left_guard<'a>(group: &Group<'a>, guard: &Entity, leg: &'a Leg) -> Option<&'a str> {
    let parts = guard.key.attributes();
    let mut set = leg.values.iter().filter(|_| matches!(leg.verb, Verb::Update | Verb::Upsert));
    let moved = set.find(|given| {
        parts.contains(&given.attribute.as_str())
            && !is_old(group, leg, &given.attribute, &given.value)
    });
    moved.map(|given| given.attribute.as_str())
}

/// Whether a value is what an attribute of the item of a leg was before the leg.
fn is_old<'a>(group: &Group<'a>, leg: &'a Leg, name: &str, value: &'a Expr) -> bool {
    matches!(&group.origin(value).kind, ExprKind::Attribute(item, read)
        if read == name && group.is_on(leg, *item))
}

/// Whether a leg is on the guard that an item had before another leg, which gives it another. Behind that leg, the name
/// of the item means the new one, unless the guard was read before.
fn is_old_guard<'a>(
    group: &Group<'a>,
    (leg, name): (&'a Leg, &str),
    (guard, before): (&'a Leg, bool),
) -> bool {
    let Some(part) = guard.key.iter().find(|part| part.attribute == name) else { return true };
    let known = group.known(&[]).into_iter().chain(group.insists(leg));
    let mut known = known.filter_map(|test| test.equality());
    let is_it = |expr: &'a Expr| is_stored(expr, name) || is_old(group, leg, name, expr);
    (before || guard.target.is_some()) && is_old(group, leg, name, &part.value)
        || known.any(|(a, b)| {
            (is_it(a) && group.alike(b, &part.value, None))
                || (is_it(b) && group.alike(a, &part.value, None))
        })
}

/// Whether the guard a leg is on has the same parts in its key as what it guards.
fn is_its_guard<'a>(group: &Group<'a>, guard: &'a Leg, placed: &Placed<'a>) -> bool {
    let leg = placed.leg;
    let given = |part: &Given| {
        leg.key.iter().chain(&leg.values).find(|given| given.attribute == part.attribute)
    };
    let key = &group.model.entities[guard.entity].key;
    guard.key.iter().all(|part| {
        // Without the part, nothing tells the guards apart.
        let mut holes = key.holes().filter(|hole| hole.attribute == part.attribute);
        given(part).is_none_or(|given| {
            holes.all(|hole| group.equal_as(&placed.guards, hole, &part.value, &given.value))
        })
    })
}

fn bumps(leg: &Leg, counter: &str) -> bool {
    let set = leg.values.iter().find(|given| given.attribute == counter);
    set.is_some_and(|given| is_bump(&given.value, counter))
}

fn is_bump(value: &Expr, counter: &str) -> bool {
    match &value.kind {
        ExprKind::Binary(Op::Plus, a, b) => {
            is_stored(a, counter)
                && matches!(&b.kind, ExprKind::Number(one) if *one == Number::from(1i64))
        }
        _ => false,
    }
}
