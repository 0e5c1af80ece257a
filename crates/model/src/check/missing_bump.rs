//! `missing-bump`: a write of an entity with a counter that does not increment it, or of a guarded entity
//! that does not increment its guard's.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::Number;

use super::flow::{Group, Placed, groups, is_stored, within};
use super::{Report, each_leg};
use crate::model::{Expr, ExprKind, Given, Leg, Model, Op, PutMode, Verb};

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
    for placed in group.legs.iter().filter(|placed| placed.leg.verb != Verb::Check) {
        let entity = &model.entities[placed.leg.entity];
        let Some(id) = entity.guarded_by else { continue };
        let guard = &model.entities[id];
        let moved = group.legs.iter().any(|other| {
            // A guard that is gone is not unchanged, and one that is made again is another.
            let moves = |leg: &Leg| {
                leg.verb == Verb::Delete
                    || guard.counter().is_some_and(|counter| bumps(leg, &counter.name))
            };
            other.leg.entity == id
                && moves(other.leg)
                && within(&placed.guards, &other.guards)
                && is_its_guard(group, other.leg, placed)
        });
        if moved {
            continue;
        }
        let message = format!(
            "this writes an item of `{}` and leaves its guard `{}` as it was",
            entity.name, guard.name
        );
        let diagnostic = Diagnostic::new(Rule::MissingBump, placed.leg.span, message)
            .other(entity.span, format!("guarded by `{}`", guard.name))
            .why(format!(
                "a call that read the `{0}` and then the items of `{1}` takes them for unchanged as long as the \
                 `{0}` is",
                guard.name, entity.name
            ))
            .help(format!("`update` the `{}` in the same transaction and add 1 to its counter", guard.name));
        report.raise(diagnostic, &placed.step.waivers);
    }
}

/// Whether the guard a leg is on has the same parts in its key as what it guards.
fn is_its_guard<'a>(group: &Group<'a>, guard: &'a Leg, placed: &Placed<'a>) -> bool {
    let leg = placed.leg;
    let given = |part: &Given| {
        leg.key.iter().chain(&leg.values).find(|given| given.attribute == part.attribute)
    };
    guard.key.iter().all(|part| {
        // Without the part, nothing tells the guards apart.
        given(part).is_none_or(|given| group.equal(&placed.guards, &part.value, &given.value))
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
