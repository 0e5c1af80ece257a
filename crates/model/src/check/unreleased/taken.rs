//! A value that an owner has, and that nothing keeps unique: the write that gives it to the owner does not take it, or the
//! item that keeps it unique ends before.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Claimed;
use crate::check::flow::{Group, Placed};
use crate::check::truth::plain;
use crate::check::writes::Writes;
use crate::model::{EntityId, Expr, ExprKind, Leg, Model, Trigger, Verb, Waiver};

/// The requests that give an owner a value and take no claim of it, each with where that is and its waivers.
pub(super) fn not_taken<'a>(
    model: &Model,
    writes: &Writes<'a>,
    claim: EntityId,
    owner: &Leg,
    claimed: &Claimed<'a>,
) -> Vec<(Span, (Diagnostic, Vec<Waiver>))> {
    let (entity, name) = (&model.entities[owner.entity].name, &model.entities[claim].name);
    let mut found = Vec::new();
    for (contract, group, placed) in writes.on(owner.entity) {
        // A worker is told by a message of what was taken where it was sent.
        if contract.trigger != Trigger::Request || writes.sends_to_make(group, claim) {
            continue;
        }
        let leg = placed.leg;
        let lacks = claimed.iter().find_map(|(attribute, part)| {
            let given = leg.values.iter().find(|given| given.attribute == *attribute)?;
            let is_taken = is_kept(group, placed, attribute, &given.value)
                || takes(group, claim, part, &given.value);
            (!is_taken).then_some(given)
        });
        if let Some(given) = lacks {
            let message =
                format!("this gives a `{entity}` its `{}`, and takes no `{name}`", given.attribute);
            let diagnostic = Diagnostic::new(Rule::Unreleased, given.span, message)
                .other(owner.span, format!("here a `{name}` is put with it"))
                .why("another can have the same value: nothing looks whether it is free, and nothing keeps it")
                .help(format!("add `put {name} {{ … }} if absent` of the value to the transaction"));
            found.push((leg.span, (diagnostic, placed.step.waivers.clone())));
        }
    }
    found
}

/// Whether a transaction, or a write of its contract before it, puts the claim of a value.
fn takes<'a>(group: &Group<'a>, claim: EntityId, part: &str, value: &'a Expr) -> bool {
    let legs = group.legs.iter().map(|placed| placed.leg);
    let mut all = legs.chain(group.way.written.iter().copied());
    all.any(|leg| {
        let mut parts = leg.key.iter().filter(|given| given.attribute == part);
        leg.entity == claim
            && matches!(leg.verb, Verb::Put | Verb::Upsert)
            && parts.any(|given| group.alike(&given.value, value, None))
    })
}

/// Whether the value is the one that the owner has already, or one that nobody else can have.
fn is_kept<'a>(group: &Group<'a>, placed: &Placed<'a>, name: &str, value: &'a Expr) -> bool {
    match &plain(&group.lets, value).kind {
        ExprKind::Stored(stored) => stored == name,
        ExprKind::Attribute(item, read) => read == name && group.is_on(placed.leg, *item),
        ExprKind::New(_) | ExprKind::Unknown => true,
        _ => false,
    }
}

/// A claim that ends while its owner stays, though it is freed by hand where the owner gives the value up.
pub(super) fn ends_early<'a>(
    model: &Model,
    writes: &Writes<'a>,
    claim: &Leg,
    owners: &[(&'a Leg, Claimed<'a>)],
) -> Option<Diagnostic> {
    let stays = |owner: EntityId| !model.entities[owner].is_expiring();
    let (owner, _) = owners.iter().find(|(owner, claimed)| {
        let gives_up = |leg: &Leg| {
            let sets = |name: &str| leg.values.iter().any(|given| given.attribute == name);
            leg.verb == Verb::Delete || claimed.iter().any(|(name, _)| sets(name))
        };
        let mut freed = writes.on(owner.entity);
        stays(owner.entity)
            && freed.any(|(_, group, placed)| {
                gives_up(placed.leg) && writes.sweeps(group, claim.entity)
            })
    })?;
    let (entity, name) = (&model.entities[owner.entity].name, &model.entities[claim.entity]);
    let message = format!("this `{}` ends, and its `{entity}` keeps the value", name.name);
    Some(
        Diagnostic::new(Rule::Unreleased, claim.span, message)
            .other(owner.span, "what has the value does not end")
            .why("from then on another can take the value as well")
            .help(format!(
                "leave `expires` out of `{}`; or let the `{entity}` end with it",
                name.name
            )),
    )
}
