//! `drift`: a call that counts, and that counts again when it is repeated.

use latchkey_language::{Diagnostic, Rule, Span};

use super::changes::Changes;
use super::flow::{Placed, groups, lets, within};
use super::not_idempotent::Around;
use super::truth::each;
use super::{Report, each_leg};
use crate::model::{Contract, EntityId, ExprKind, Leg, Model, PutMode, StepKind, Verb, each_step};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    for contract in model.contracts.iter().filter(|contract| !is_once(model, contract)) {
        for group in groups(model, contract) {
            let around = Around { model, contract, changes: &changes, group: &group };
            // A transaction that happens twice is one mistake, however much it counts.
            let found =
                group.legs.iter().find_map(|placed| Some((placed, breach(&around, placed)?)));
            if let Some((placed, diagnostic)) = found {
                let waivers = [group.step.waivers.as_slice(), &placed.step.waivers].concat();
                report.raise(diagnostic, &waivers);
            }
        }
    }
}

/// Whether a repeated call is recognised, or refused because of its version: it matches something that the contract
/// changes.
fn is_once(model: &Model, contract: &Contract) -> bool {
    let lets = lets(contract);
    let changes = |entity: EntityId, name: &str| {
        let attribute = model.entities[entity].attribute(name);
        let mut found = attribute.is_some_and(|attribute| attribute.kind == Type::Counter);
        each_leg(contract, |leg, _| {
            let mut set = leg.values.iter().chain(&leg.adds);
            found |= leg.entity == entity
                && (leg.verb == Verb::Delete
                    || set.any(|given| given.attribute == name)
                    || leg.removes.iter().any(|removed| removed == name));
        });
        found
    };
    let mut once = contract.facts.idempotent.is_some() || contract.facts.by_key.is_some();
    each_step(&contract.steps, &mut |step| {
        let StepKind::Match(test, _) = &step.kind else { return };
        each(&lets, test, &mut |part| {
            if let ExprKind::Attribute(item, name) = &part.kind
                && let Some(entity) = contract.bindings[*item].kind.item()
            {
                once |= changes(entity, name);
            }
        });
    });
    once
}

/// What a leg does again in a second call, if nothing stops it.
fn breach<'a>(around: &Around<'a, '_>, placed: &Placed<'a>) -> Option<Diagnostic> {
    let legs = || {
        let others = around.group.legs.iter();
        others.filter(|other| within(&placed.guards, &other.guards)).map(|other| other.leg)
    };
    let (span, what, help) = if let Some((span, name)) = around.counts(placed.leg) {
        // An item that is made counts for itself: the next call makes another, or none.
        let once = |leg: &'a Leg| leg.put == Some(PutMode::IfAbsent) || around.makes_new(leg);
        if legs().any(|leg| leg.verb == Verb::Put && once(leg)) {
            return None;
        }
        (span, format!("adds to `{name}` again"), COUNT)
    } else {
        let (span, name) = sets_word(around.model, placed.leg)?;
        legs().find(|leg| leg.verb == Verb::Put)?;
        (span, format!("sets `{name}` again, and makes what stands beside it again"), MOVE)
    };
    if around.is_closed(&placed.guards) {
        return None;
    }
    let why = "a caller that gets no answer tries again, and nothing here stops the second call";
    let message = format!("a call that is repeated {what}");
    Some(Diagnostic::new(Rule::Drift, span, message).why(why).help(help))
}

const COUNT: &str = "make or remove an item in the same transaction, under a condition that holds once, such as \
                     `put … if absent`; or state `idempotent by key`, so that each call has an `Idempotency-Key`";
const MOVE: &str = "write the condition under which this may happen, such as `if .status == …`";

/// The status that an update sets to one word without a condition on the old status.
fn sets_word<'a>(model: &Model, leg: &'a Leg) -> Option<(Span, &'a str)> {
    if leg.verb != Verb::Update || leg.condition.is_some() {
        return None;
    }
    let entity = &model.entities[leg.entity];
    let set = leg.values.iter().find(|given| {
        let attribute = entity.attribute(&given.attribute);
        let is_enum = attribute.is_some_and(|attribute| matches!(attribute.kind, Type::Enum(_)));
        is_enum && matches!(given.value.kind, ExprKind::Word(_))
    });
    set.map(|given| (given.span, given.attribute.as_str()))
}
