//! `shared-key`: two entities whose partition and sort templates can both become the same text.

use latchkey_language::Diagnostic;

use super::Report;
use super::keys::Keys;
use crate::model::Model;

pub(super) fn check(model: &Model, report: &mut Report) {
    let keys = Keys::new(model, None);
    for place in keys.all() {
        let Some(entity) = model.entities.get(place.entity) else { continue };
        let before =
            keys.meeting(&place.partition).into_iter().filter(|other| other.entity < place.entity);
        for other in before.filter(|other| other.sort.meets(&place.sort)) {
            let Some(other) = model.entities.get(other.entity) else { continue };
            let message = format!("`{}` and `{}` can have the same key", entity.name, other.name);
            let help = "begin one of the templates with a word of its own, such as `\"META\"` or `\"LOG#…\"`";
            let diagnostic = Diagnostic::new("shared-key", entity.key.sort.span, message)
                .label(format!("a key of `{}`", entity.name))
                .other(other.key.sort.span, format!("can also be one of `{}`", other.name))
                .why("one would overwrite the other, or be read as if it were the other")
                .help(help);
            report.raise(diagnostic, &entity.waivers);
        }
    }
}
