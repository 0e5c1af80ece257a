//! `shared-key`: two entities whose partition and sort templates can both become the same text.

use latchkey_language::Diagnostic;

use super::Report;
use crate::model::Model;

pub(super) fn check(model: &Model, report: &mut Report) {
    let languages: Vec<_> = model
        .entities
        .iter()
        .map(|entity| (entity.key.partition.language(), entity.key.sort.language()))
        .collect();
    for (at, (entity, key)) in model.entities.iter().zip(&languages).enumerate() {
        for (other, other_key) in model.entities.iter().zip(&languages).take(at) {
            if key.0.meets(&other_key.0) && key.1.meets(&other_key.1) {
                let message =
                    format!("`{}` and `{}` can have the same key", entity.name, other.name);
                let diagnostic = Diagnostic::new("shared-key", entity.key.sort.span, message)
                    .label(format!("a key of `{}`", entity.name))
                    .other(other.key.sort.span, format!("can also be one of `{}`", other.name))
                    .why("one would overwrite the other, or be read as if it were the other")
                    .help("begin one of the templates with a word of its own, such as `\"META\"` or `\"LOG#…\"`");
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
}
