//! `never-listed`: an index in which no item ever is, because no write sets one of its parts.

use std::collections::HashSet;

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_leg};
use crate::model::{EntityId, Model, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut made: HashSet<EntityId> = HashSet::new();
    let mut set: HashSet<(EntityId, &str)> = HashSet::new();
    for contract in model.bodies() {
        each_leg(contract, |leg, _| {
            if matches!(leg.verb, Verb::Put | Verb::Upsert) {
                made.insert(leg.entity);
            }
            let given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
            set.extend(given.map(|given| (leg.entity, given.attribute.as_str())));
            // A put takes the attributes that it is not given from the item it is `of`.
            let source = leg.of.and_then(|id| contract.bindings[id].kind.item());
            // An item of the same entity has no more than what was set.
            let source = source.filter(|id| *id != leg.entity);
            let source = source.into_iter().flat_map(|id| &model.entities[id].attributes);
            set.extend(source.map(|attribute| (leg.entity, attribute.name.as_str())));
        });
    }
    for (id, entity) in model.entities.enumerate() {
        // An entity that no contract makes is filled from elsewhere.
        if !made.contains(&id) {
            continue;
        }
        for index in &entity.indexes {
            let holes = index.key.partition.holes().chain(index.key.sort.holes());
            let unset = holes
                .filter_map(|hole| entity.attribute(&hole.attribute))
                .find(|part| part.optional && !set.contains(&(id, part.name.as_str())));
            let Some(part) = unset else { continue };
            let (name, entity_name) = (&part.name, &entity.name);
            let message = format!("no item of `{entity_name}` is ever in `{}`", index.name);
            let diagnostic = Diagnostic::new(Rule::NeverListed, index.span, message)
                .other(part.span, format!("no contract sets `{name}`"))
                .why("an item is in an index only while all parts of the index key are present: each query by it finds nothing")
                .help(format!("set `{name}` where the item is made or changed, or delete the index"));
            report.raise(diagnostic, &entity.waivers);
        }
    }
}
