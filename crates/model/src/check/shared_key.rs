//! `shared-key`: two entities whose partition and sort templates can both become the same text, or one whose keys
//! could be Latchkey's own; or a view whose key does not tell one source from another.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use super::flow::{Group, Placed, groups};
use super::keys::Keys;
use crate::model::{By, Entity, EntityId, Leg, Model, PutMode, Verb};
use crate::regular::Language;

/// What the partitions begin with that Latchkey keeps for itself.
const RESERVED: &str = "LATCHKEY#";

pub(super) fn check(model: &Model, report: &mut Report) {
    views(model, report);
    let keys = Keys::new(model, By::Table);
    for place in keys.all() {
        let entity = &model.entities[place.entity];
        if place.partition.meets(&Language::literal(RESERVED).then_anything()) {
            let message = format!("`{}` can have a key that is Latchkey's own", entity.name);
            let diagnostic = Diagnostic::new(Rule::SharedKey, entity.key.partition.span, message)
                .why(format!(
                    "partitions that begin with `{RESERVED}` hold what makes calls idempotent"
                ))
                .help("begin the partition with a word of its own");
            // No reason makes room for two in Latchkey's own keys.
            report.raise(diagnostic, &[]);
        }
        let before =
            keys.meeting(&place.partition).into_iter().filter(|other| other.entity < place.entity);
        for other in before.filter(|other| other.sort.meets(&place.sort)) {
            let other = &model.entities[other.entity];
            let message = format!("`{}` and `{}` can have the same key", entity.name, other.name);
            let help = "begin one of the templates with a word of its own, such as `\"META\"` or `\"LOG#…\"`";
            let diagnostic = Diagnostic::new(Rule::SharedKey, entity.key.sort.span, message)
                .label(format!("a key of `{}`", entity.name))
                .other(other.key.sort.span, format!("can also be one of `{}`", other.name))
                .why("one would overwrite the other, or be read as if it were the other")
                .help(help);
            report.raise(diagnostic, &entity.waivers);
        }
    }
}

/// A view whose key lacks a part of the key of its source: two sources have one view item, and the view that is written
/// last stays.
fn views(model: &Model, report: &mut Report) {
    let shared = model.entities.enumerate().filter_map(|(id, view)| {
        let source = view.view_of?;
        Some((id, (source, missing(view, &model.entities[source])?)))
    });
    let mut shared: HashMap<EntityId, (EntityId, &str)> = shared.collect();
    if shared.is_empty() {
        return;
    }
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for placed in &group.legs {
                let id = placed.leg.entity;
                let Some((source, part)) = shared.get(&id).copied() else { continue };
                if overwrites(placed.leg) && arrives(model, &group, placed, source) {
                    shared.remove(&id);
                    report.raise(
                        overwritten(model, placed.leg, source, part),
                        &model.entities[id].waivers,
                    );
                }
            }
        }
    }
}

/// The part of the key of a source that the key of its view does not tell.
fn missing<'a>(view: &Entity, source: &'a Entity) -> Option<&'a str> {
    let of_view = || view.key.partition.holes().chain(view.key.sort.holes());
    let mut parts = source.key.partition.holes().chain(source.key.sort.holes());
    let missing = parts.find(|part| {
        !of_view().any(|own| {
            own.attribute == part.attribute && (!own.is_lossy() || own.format == part.format)
        })
    });
    missing.map(|part| part.attribute.as_str())
}

/// Whether a write of a view does not ask whether there is one. A view that is put `if absent` keeps its key unique.
fn overwrites(leg: &Leg) -> bool {
    match leg.verb {
        Verb::Put => leg.put == Some(PutMode::Replace) && leg.condition.is_none(),
        Verb::Upsert => leg.condition.is_none(),
        Verb::Update | Verb::Delete | Verb::Check => false,
    }
}

/// Whether a write of a view can come under a key that was not the view's before: its source is made in the same
/// transaction, or a part of the view's key changes.
fn arrives(model: &Model, group: &Group<'_>, view: &Placed<'_>, source: EntityId) -> bool {
    let parts = model.entities[view.leg.entity].key.attributes();
    group.legs.iter().map(|placed| placed.leg).filter(|leg| leg.entity == source).any(|leg| {
        match leg.verb {
            Verb::Put | Verb::Upsert => true,
            Verb::Update => {
                leg.values.iter().any(|given| parts.contains(&given.attribute.as_str()))
            }
            Verb::Delete | Verb::Check => false,
        }
    })
}

fn overwritten(model: &Model, leg: &Leg, source: EntityId, part: &str) -> Diagnostic {
    let (view, source) = (&model.entities[leg.entity], &model.entities[source]);
    let message = format!("two `{}`s can have one `{}`", source.name, view.name);
    Diagnostic::new(Rule::SharedKey, view.key.sort.span, message)
        .label(format!("a key of `{}`, without `{part}`", view.name))
        .other(source.key.sort.span, format!("tells one `{}` from another", source.name))
        .other(leg.span, "writes over the view of another")
        .why(format!(
            "the view that is written last stays: the other `{}` is listed no more, and the one that is deleted first \
             takes the view of the other with it",
            source.name
        ))
        .help(format!(
            "put `{{{part}}}` into the key of `{}`; or, if there is to be one at a time, write it `if absent`",
            view.name
        ))
}
