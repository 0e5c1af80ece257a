//! `shared-key`: two entities whose partition and sort templates can both become the same text, or one whose keys
//! could be Latchkey's own.

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use super::keys::Keys;
use crate::model::{By, Model};
use crate::regular::Language;

/// What the partitions begin with that Latchkey keeps for itself.
const RESERVED: &str = "LATCHKEY#";

pub(super) fn check(model: &Model, report: &mut Report) {
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
