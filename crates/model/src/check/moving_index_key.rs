//! `moving-index-key`: an update of an index part that may already be set.

use latchkey_language::Diagnostic;

use super::flow::{conjuncts, is_stored};
use super::{Report, each_leg};
use crate::model::{ExprKind, Leg, Model, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        each_leg(contract, |leg, step| {
            if !matches!(leg.verb, Verb::Update | Verb::Upsert) {
                return;
            }
            let Some(entity) = model.entities.get(leg.entity) else { return };
            for index in entity.indexes.iter().filter(|index| !index.moves) {
                let parts = index.key.attributes();
                let set = leg.values.iter().find(|given| parts.contains(&given.attribute.as_str()));
                let Some(set) = set else { continue };
                if was_absent(leg, &set.attribute) {
                    continue;
                }
                let message = format!(
                    "this moves the item in index `{}`: `{}` is part of its key",
                    index.name, set.attribute
                );
                let diagnostic = Diagnostic::new("moving-index-key", set.span, message)
                    .other(index.span, "the index does not say that it moves")
                    .why("whoever pages through the index meanwhile sees the item twice, or not at all")
                    .help(format!(
                        "set it once, with `if .{} is absent`; or write `index {} moves` and pay two writes",
                        set.attribute, index.name
                    ));
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// Whether the write insists that the attribute was not there.
fn was_absent(leg: &Leg, attribute: &str) -> bool {
    leg.condition.as_ref().is_some_and(|condition| {
        conjuncts(condition).any(
            |test| matches!(&test.kind, ExprKind::Absent(thing) if is_stored(thing, attribute)),
        )
    })
}
