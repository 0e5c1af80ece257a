//! A value that one commit of a call has stored, and that a later commit of the call stores elsewhere.
//!
//! Between the two commits another call may store another value in both places. The first place then has that one, and
//! the second the older one.

use latchkey_language::{Diagnostic, Rule};

use super::Changes;
use crate::check::each_leg;
use crate::check::flow::{Group, fixes};
use crate::check::truth::plain;
use crate::model::{Contract, EntityId, Expr, ExprKind, Given, Leg, Model, PutMode, Verb};

/// One diagnostic for each write that stores a value which an earlier commit has stored, too.
pub(super) fn tell<'a>(
    model: &'a Model,
    changes: &Changes<'a>,
    group: &Group<'a>,
) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    for placed in group.legs.iter().filter(|placed| overwrites(placed.leg)) {
        let leg = placed.leg;
        let carried = leg.values.iter().find_map(|given| {
            let value = plain(&group.lets, &given.value);
            let asked = matches!(value.kind, ExprKind::Input(_));
            let in_key = model.entities[leg.entity].key.tells(&given.attribute);
            if !asked || in_key {
                return None;
            }
            let (first, stored) = stored_before(group, leg, value)?;
            let culprit = culprit(model, changes, (first.entity, &stored.attribute), leg.entity)?;
            (!is_pinned(group, first, stored, value)).then_some((given, first, stored, culprit))
        });
        let Some((given, first, stored, culprit)) = carried else { continue };
        let (one, other) = (&model.entities[first.entity].name, &model.entities[leg.entity].name);
        let message = format!(
            "this stores in `{other}` what an earlier commit has stored in `{one}`, which may have changed since"
        );
        told.push(
            Diagnostic::new(Rule::Unpinned, given.span, message)
                .other(stored.span, "stored here first")
                .why(format!(
                    "between the two commits, a call of `{}` may store another `{}` in both: `{one}` then has the newer \
                     value, and `{other}` the older one",
                    culprit.id, stored.attribute
                ))
                .help(
                    "make both writes in one `transact { … }`; or add a `check` to this, that the first item still has the value",
                ),
        );
    }
    told
}

/// Whether a leg gives an item that may be there other values.
fn overwrites(leg: &Leg) -> bool {
    match leg.verb {
        Verb::Put => leg.put != Some(PutMode::IfAbsent),
        Verb::Update | Verb::Upsert => true,
        Verb::Delete | Verb::Check => false,
    }
}

/// The earlier write that has stored a value in an item of another entity, and where.
fn stored_before<'a>(
    group: &Group<'a>,
    leg: &'a Leg,
    value: &'a Expr,
) -> Option<(&'a Leg, &'a Given)> {
    let earlier = group.way.written.iter().copied().filter(|first| {
        first.entity != leg.entity && !matches!(first.verb, Verb::Delete | Verb::Check)
    });
    earlier.into_iter().find_map(|first| {
        let mut stored = first.values.iter();
        stored.find(|given| group.alike(&given.value, value, None)).map(|given| (first, given))
    })
}

/// A contract that stores something else in an attribute, and also writes another entity.
fn culprit<'a>(
    model: &Model,
    changes: &Changes<'a>,
    (entity, attribute): (EntityId, &str),
    other: EntityId,
) -> Option<&'a Contract> {
    if model.entities[entity].key.tells(attribute) {
        return None;
    }
    changes.overwrites(entity, attribute).into_iter().find(|culprit| {
        let mut writes = false;
        each_leg(culprit, |leg, _| writes |= leg.entity == other && leg.verb != Verb::Check);
        writes
    })
}

/// Whether a leg insists that the first item still has the value.
fn is_pinned<'a>(group: &Group<'a>, first: &'a Leg, stored: &'a Given, value: &'a Expr) -> bool {
    group.legs.iter().filter(|placed| placed.leg.entity == first.entity).any(|placed| {
        group.insists(placed.leg).iter().any(|test| {
            let unchanged = matches!(test.test.kind, ExprKind::Unchanged) && test.truth;
            let fixed = fixes(test).filter(|(name, _)| *name == stored.attribute);
            unchanged || fixed.is_some_and(|(_, asked)| group.alike(asked, value, None))
        })
    })
}
