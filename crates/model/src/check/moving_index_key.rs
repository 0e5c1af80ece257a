//! `moving-index-key`: a write of an index part that may already be set.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::changes::Changes;
use super::flow::{Group, Placed, groups, is_stored};
use crate::model::{Entity, ExprKind, IndexShape, Model, PutMode, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for placed in &group.legs {
                let entity = &model.entities[placed.leg.entity];
                for index in entity.indexes.iter().filter(|index| !index.moves) {
                    if let Some((part, span)) = moved(&group, &changes, (entity, index), placed) {
                        let diagnostic = breach(index, part, span);
                        report.raise(diagnostic, &placed.step.waivers);
                    }
                }
            }
        }
    }
}

/// The part of an index key that a leg may change, and where.
fn moved<'a>(
    group: &Group<'a>,
    changes: &Changes<'a>,
    (entity, index): (&'a Entity, &'a IndexShape),
    placed: &Placed<'a>,
) -> Option<(&'a str, Span)> {
    let leg = placed.leg;
    if matches!(leg.verb, Verb::Update | Verb::Upsert) {
        let mut set = leg.moves_in(entity, index);
        let set = set.find(|given| !was_absent(group, placed, &given.attribute));
        return set.map(|given| (given.attribute.as_str(), given.span));
    }
    if leg.put != Some(PutMode::Replace) {
        return None;
    }
    // A put may take the place of an item with another part, unless that is fixed by the key; or, in a view,
    // by there being nothing that changes it in the source.
    let fixed = |part: &&str| {
        let copied = entity.attribute(part).is_some_and(|attribute| attribute.copied);
        let source = entity.view_of.filter(|_| copied);
        entity.key.tells(part)
            || source.is_some_and(|source| changes.attribute(source, part).is_empty())
    };
    // A half that is the key of the table is as the item's own key.
    let names = group.model.indexes[index.index].key.iter();
    let halves = names.zip([&index.key.partition, &index.key.sort]);
    let halves = halves.filter(|(attribute, _)| !group.model.table.key.has(&attribute.name));
    let mut parts = halves.flat_map(|(_, half)| half.holes()).map(|hole| hole.attribute.as_str());
    parts.find(|part| !fixed(part)).map(|part| (part, leg.span))
}

fn breach(index: &IndexShape, part: &str, span: Span) -> Diagnostic {
    let message =
        format!("this moves the item in index `{}`: `{part}` is part of its key", index.name);
    Diagnostic::new(Rule::MovingIndexKey, span, message)
        .other(index.span, "the index does not say that it moves")
        .why("a caller who pages through the index meanwhile sees the item twice, or not at all")
        .help(format!(
            "set it once, with `.{part} is absent` in the `if`; or write `index {} moves` and pay two writes",
            index.name
        ))
}

/// Whether the write insists that the attribute was not there, or comes behind a test that found so. (That it still is
/// not, then, is for `unpinned` to ask.)
fn was_absent<'a>(group: &Group<'a>, placed: &Placed<'a>, attribute: &str) -> bool {
    let tests = group.insists(placed.leg).into_iter().chain(group.known(&placed.guards));
    let mut absent = tests.filter_map(|test| match (&test.test.kind, test.truth) {
        (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => Some(thing),
        _ => None,
    });
    absent.any(|thing| {
        let read = matches!(&thing.kind, ExprKind::Attribute(binding, name)
            if name == attribute && group.is_on(placed.leg, *binding));
        read || is_stored(thing, attribute)
    })
}
