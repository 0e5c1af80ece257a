//! `loose-copy`: an attribute that is always copied from another entity, and that no `view` keeps up to date.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::changes::Changes;
use super::flow::lets;
use super::truth::plain;
use super::{Report, each_leg};
use crate::model::{Contract, EntityId, ExprKind, Leg, Model, Verb, Waiver};
use crate::types::Type;

/// An attribute that is written, the attribute that it is copied from if it is a copy, and where.
type Written<'a> = (&'a str, Option<(EntityId, &'a str)>, Span);

/// Where an attribute is written from: one attribute of one entity each time, or not.
enum Source<'a> {
    Copied(EntityId, &'a str, Span, &'a [Waiver]),
    Other,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    let mut sources: HashMap<(EntityId, &str), Source<'_>> = HashMap::new();
    for contract in model.bodies() {
        let lets = lets(contract);
        each_leg(contract, |leg, step| {
            let added = leg.adds.iter().map(|given| (given.attribute.as_str(), None, given.span));
            let set = leg.values.iter().map(|given| {
                let mut value = plain(&lets, &given.value);
                while let ExprKind::Member(record, _) = &value.kind {
                    value = plain(&lets, record);
                }
                let copied = match &value.kind {
                    ExprKind::Attribute(binding, name) => contract.bindings[*binding]
                        .kind
                        .item()
                        .map(|entity| (entity, name.as_str())),
                    _ => None,
                };
                let copied = copied.filter(|_| given.is_whole());
                (given.attribute.as_str(), copied, given.span)
            });
            for (attribute, copied, span) in set.chain(added).chain(taken(model, contract, leg)) {
                let copied = copied.filter(|(entity, _)| *entity != leg.entity);
                let entry = sources.entry((leg.entity, attribute));
                entry
                    .and_modify(|known| match (&known, copied) {
                        (Source::Copied(entity, name, ..), Some(copied))
                            if (*entity, *name) == copied => {}
                        _ => *known = Source::Other,
                    })
                    .or_insert_with(|| match copied {
                        Some((entity, name)) => Source::Copied(entity, name, span, &step.waivers),
                        None => Source::Other,
                    });
            }
        });
    }
    let mut found: Vec<_> = sources.into_iter().collect();
    found.sort_by_key(|(place, _)| *place);
    for ((id, attribute), source) in found {
        if let Source::Copied(from, name, span, waivers) = source
            && let Some(diagnostic) = breach(model, &changes, (id, attribute), (from, name), span)
        {
            report.raise(diagnostic, waivers);
        }
    }
}

/// The attributes that a put takes from the item it is `of`, each with its source.
fn taken<'a>(model: &'a Model, contract: &'a Contract, leg: &'a Leg) -> Vec<Written<'a>> {
    let source = leg.of.filter(|_| leg.verb == Verb::Put);
    let Some(from) = source.and_then(|id| contract.bindings[id].kind.item()) else {
        return Vec::new();
    };
    let given = |name: &str| leg.values.iter().any(|given| given.attribute == name);
    let own = model.entities[leg.entity].attributes.iter();
    own.filter(|attribute| !given(&attribute.name))
        .filter_map(|attribute| model.entities[from].attribute(&attribute.name))
        .map(|attribute| (attribute.name.as_str(), Some((from, attribute.name.as_str())), leg.span))
        .collect()
}

fn breach(
    model: &Model,
    changes: &Changes<'_>,
    (id, attribute): (EntityId, &str),
    (from, name): (EntityId, &str),
    span: Span,
) -> Option<Diagnostic> {
    let (entity, source) = (&model.entities[id], &model.entities[from]);
    let in_key = entity.key.tells(attribute);
    if entity.view_of == Some(from) || in_key || is_history(model, id, from) {
        return None;
    }
    let by = changes.updates(from, name).into_iter().find(|by| !writes(by, id))?;
    let message = format!(
        "`{attribute}` of `{}` is a copy of `{name}` that nothing keeps up to date",
        entity.name
    );
    Some(
        Diagnostic::new(Rule::LooseCopy, span, message)
            .other(by.span, format!("changes `{name}` of `{}`, and not the copy", source.name))
            .why("the copy goes on showing the old value, and no rule looks after it")
            .help(format!(
                "declare `{}` a `view of {}` that `copies {name}`, read `{name}` where it is needed, or waive this if \
                 the old value is meant",
                entity.name, source.name
            )),
    )
}

/// Whether a contract writes items of an entity, and so may keep a copy up to date by hand.
fn writes(contract: &Contract, entity: EntityId) -> bool {
    let mut found = false;
    each_leg(contract, |leg, _| found |= leg.entity == entity && leg.verb != Verb::Check);
    found
}

/// Whether the items of an entity are moments of another's history: a time or the counter of the source is in the key.
fn is_history(model: &Model, id: EntityId, from: EntityId) -> bool {
    let (entity, counter) = (&model.entities[id], model.entities[from].counter());
    let mut parts = entity.key.partition.holes().chain(entity.key.sort.holes());
    parts.any(|hole| {
        matches!(hole.kind, Type::Time | Type::Date)
            || counter.is_some_and(|counter| counter.name == hole.attribute)
    })
}
