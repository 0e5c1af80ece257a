//! `item-size`: an entity whose items can be larger than a table takes.

use latchkey_language::Diagnostic;

use super::Report;
use super::size::item_bytes_max;
use crate::model::Model;

/// The largest item, names and values together.
const ITEM_BYTES_MAX: u64 = 400 * 1024;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        let bytes = item_bytes_max(model, entity);
        if bytes <= ITEM_BYTES_MAX {
            continue;
        }
        let message = format!(
            "an item of `{}` can have {bytes} bytes; the most is {ITEM_BYTES_MAX}",
            entity.name
        );
        let diagnostic = Diagnostic::new("item-size", entity.span, message)
            .why("each of its attributes may be as large as it is declared, and together they are refused")
            .help("lower the largest bounds, or move what is large into an item of its own");
        report.raise(diagnostic, &entity.waivers);
    }
}
