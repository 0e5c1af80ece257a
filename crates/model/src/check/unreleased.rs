//! `unreleased`: an item that keeps a value unique, and that stays when its owner gives the value up.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::changes::Changes;
use super::flow::{Group, groups};
use crate::model::{Expr, ExprKind, Given, Leg, Model, PutMode, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    for contract in &model.contracts {
        for group in groups(model, contract) {
            for placed in &group.legs {
                let claim = placed.leg;
                let once = claim.verb == Verb::Put && claim.put == Some(PutMode::IfAbsent);
                // A claim that ends releases its value by itself.
                let ends = model.entities[claim.entity].is_expiring();
                if !once || ends || !changes.removal(claim.entity).is_empty() {
                    continue;
                }
                let owners = group.legs.iter().map(|other| other.leg);
                let owners = owners.filter(|owner| owner.verb == Verb::Put);
                let lost = owners
                    .filter(|owner| owner.entity != claim.entity)
                    .find_map(|owner| given_up(model, &changes, &group, claim, owner));
                if let Some((span, how)) = lost {
                    report.raise(breach(model, claim, span, &how), &placed.step.waivers);
                }
            }
        }
    }
}

fn breach(model: &Model, claim: &Leg, span: Span, how: &str) -> Diagnostic {
    let name = &model.entities[claim.entity].name;
    let message = format!("nothing ever deletes this `{name}`");
    Diagnostic::new(Rule::Unreleased, claim.span, message)
        .other(span, how.to_owned())
        .why("the value stays taken for ever: not even its former owner can have it again")
        .help(format!("add `delete {name}(…)` to the transaction that gives the value up"))
}

/// Where and how the owner of a claim gives it up, if the one leg is a claim of the other.
fn given_up<'a>(
    model: &'a Model,
    changes: &Changes<'a>,
    group: &Group<'a>,
    claim: &'a Leg,
    owner: &'a Leg,
) -> Option<(Span, String)> {
    let entity = &model.entities[owner.entity];
    let claimed = claimed(group, claim, owner)?;
    if entity.is_expiring() {
        return Some((
            entity.span,
            format!("a `{}` ends, and has the value no longer", entity.name),
        ));
    }
    if let Some(by) = changes.removal(owner.entity).first() {
        return Some((by.span, format!("deletes the `{}` that has the value", entity.name)));
    }
    let mut claimed = claimed.into_iter();
    let (span, name) = claimed
        .find_map(|name| changes.updates(owner.entity, name).first().map(|by| (by.span, name)))?;
    Some((span, format!("changes `{name}` of the `{}` that has the value", entity.name)))
}

/// The attributes of an owner that a claim keeps unique: its key is made of them, and none is in a key of the owner's.
fn claimed<'a>(group: &Group<'a>, claim: &'a Leg, owner: &'a Leg) -> Option<Vec<&'a str>> {
    let has = |all: &'a [Given], value: &'a Expr| {
        all.iter().find(|given| group.alike(&given.value, value, None))
    };
    let in_a_key = |value: &'a Expr| {
        let puts = group.legs.iter().map(|placed| placed.leg).filter(|leg| leg.verb == Verb::Put);
        puts.filter(|leg| leg.entity != claim.entity).any(|leg| has(&leg.key, value).is_some())
    };
    let mut claimed = Vec::new();
    for part in &claim.key {
        let value = group.origin(&part.value);
        match has(&owner.values, value) {
            // No other item competes for an id that is made here, or that names another item.
            Some(given) if !in_a_key(value) && !matches!(value.kind, ExprKind::New(_)) => {
                claimed.push(given.attribute.as_str());
            }
            _ if has(&owner.key, value).is_some() => {}
            _ => return None,
        }
    }
    // An item under the whole key of the other is a part of it.
    let part_of_it = owner.key.iter().all(|part| has(&claim.key, &part.value).is_some());
    // A claim knows nothing that its owner does not know.
    let knows_less = claim.values.iter().all(|given| {
        let value = group.origin(&given.value);
        let known = has(&owner.key, value).or_else(|| has(&owner.values, value)).is_some();
        known || matches!(value.kind, ExprKind::Now)
    });
    let makes_owner = owner.key.iter().any(|part| {
        matches!(group.origin(&part.value).kind, ExprKind::New(_) | ExprKind::CallerId)
    });
    let smaller = claim.values.len() < owner.values.len() || makes_owner;
    (!claimed.is_empty() && !part_of_it && knows_less && smaller).then_some(claimed)
}
