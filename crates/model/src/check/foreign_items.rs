//! `foreign-items`: a query whose range meets the keys of another entity in the same partition, or none of
//! its own.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule};

use super::keys::Keys;
use super::{Report, each_read};
use crate::model::{By, EntityId, KeyPart, Model, Query, Range, Read, Step, What};
use crate::regular::Language;

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut keys: HashMap<By, Keys<'_>> = HashMap::new();
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            let keys = keys.entry(query.by).or_insert_with(|| Keys::new(model, query.by));
            if query.scans() {
                scanned(model, read, keys, report, step);
            }
            let Some(partition) = &query.partition else { return };
            // The texts of numbers are not in their order: any range of them may hold any of them.
            let number = model.key_names(query.by).is_some_and(|key| key.is_number(KeyPart::Sort));
            let met: Vec<_> = keys
                .meeting(&partition.language())
                .into_iter()
                .filter(|at| number || range_meets(query, &at.sort))
                .collect();
            let name = |id: EntityId| &model.entities[id].name;
            for entity in read.entities() {
                let own = name(entity);
                let shape = model.entities[entity].place(query.by);
                let Some(shape) = shape.filter(|_| !met.iter().any(|at| at.entity == entity))
                else {
                    continue;
                };
                let message = format!("this query can find no `{own}`");
                let diagnostic = Diagnostic::new(Rule::ForeignItems, read.span, message)
                    .other(shape.partition.span, "its partition")
                    .other(shape.sort.span, "and its sort key")
                    .why("no key of the entity lies in the range: the answer would always be empty")
                    .help("write the partition and the range as the entity's keys begin");
                report.raise(diagnostic, &step.waivers);
            }
            let own: Vec<String> = read.entities().map(|id| format!("`{}`", name(id))).collect();
            let own = own.join(", ");
            for other in met.into_iter().filter(|at| !read.entities().any(|id| id == at.entity)) {
                let foreign = name(other.entity);
                let message = format!("this query of {own} can also read items of `{foreign}`");
                let diagnostic = Diagnostic::new(Rule::ForeignItems, read.span, message)
                    .other(other.shape.sort.span, "the range holds keys like this")
                    .why("they would be returned, or fail to be read, as if they were the others")
                    .help(remedy(model, read.entity, query));
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// A scan of an index meets every entity that has a place in it.
fn scanned(model: &Model, read: &Read, keys: &Keys<'_>, report: &mut Report, step: &Step) {
    let name = |id: EntityId| &model.entities[id].name;
    let others = keys.all().iter().filter(|at| !read.entities().any(|id| id == at.entity));
    for other in others {
        let (own, foreign) = (name(read.entity), name(other.entity));
        let message = format!("this scan of `{own}` can also read items of `{foreign}`");
        let diagnostic = Diagnostic::new(Rule::ForeignItems, read.span, message)
            .other(other.shape.partition.span, "they are in the index, too")
            .why("each of them would be read and paid for, and passed over")
            .help("give the entity an index of its own");
        report.raise(diagnostic, &step.waivers);
    }
}

/// Whether a range can hold a text of a language.
fn range_meets(query: &Query, sort: &Language) -> bool {
    // Above every text of UTF-8.
    let top = vec![u8::MAX];
    match &query.range {
        Range::All => true,
        Range::Equal(text) => text.language().meets(sort),
        Range::BeginsWith(prefix) => prefix.language().then_anything().meets(sort),
        Range::Between(low, high) => {
            sort.meets_range(&low.language().infimum(), &high.language().supremum())
        }
        Range::Side { below: true, bound, .. } => {
            sort.meets_range(&[], &bound.language().supremum())
        }
        Range::Side { below: false, bound, .. } => {
            sort.meets_range(&bound.language().infimum(), &top)
        }
    }
}

fn remedy(model: &Model, entity: EntityId, query: &Query) -> String {
    let template = model.entities[entity].place(query.by);
    let prefix = template.and_then(|key| key.sort.pieces.first()).and_then(|piece| match piece {
        crate::model::Piece::Literal(text) => Some(text.clone()),
        crate::model::Piece::Hole(_) => None,
    });
    match prefix {
        Some(prefix) => format!(
            "bound the range on both sides with `between \"{prefix}…\" and \"{prefix}…\"`, \
             or give one of the entities a prefix of its own"
        ),
        None => {
            "give the entity's sort key a prefix of its own, and begin the range with it".to_owned()
        }
    }
}
