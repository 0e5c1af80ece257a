//! `item-size`: an entity whose items or keys can be larger than a table takes, or a queue whose messages can be larger than a
//! queue takes.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::limits::{
    ITEM_BYTES_MAX, MESSAGE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
};

use super::Report;
use super::size::{item_bytes_max, message_bytes_max, template_bytes_max};
use crate::model::{Entity, Model};

/// How much longer a message is as it is sent, at most: JSON writes some characters with six.
const ESCAPED: usize = 6;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        keys(entity, report);
        let bytes = item_bytes_max(model, entity);
        if bytes <= ITEM_BYTES_MAX {
            continue;
        }
        let message = format!(
            "an item of `{}` can have {bytes} bytes; the most is {ITEM_BYTES_MAX}",
            entity.name
        );
        let diagnostic = Diagnostic::new(Rule::ItemSize, entity.span, message)
            .why("each of its attributes may be as large as it is declared, and together they are refused")
            .help("lower the largest bounds, or move what is large into an item of its own");
        report.raise(diagnostic, &entity.waivers);
    }
    for queue in &model.queues {
        let bytes = message_bytes_max(queue).saturating_mul(ESCAPED);
        if bytes <= MESSAGE_BYTES_MAX {
            continue;
        }
        let message = format!(
            "a message of `{}` can have {bytes} bytes as it is sent; the most is {MESSAGE_BYTES_MAX}",
            queue.name
        );
        let diagnostic = Diagnostic::new(Rule::ItemSize, queue.span, message)
            .why("a message that no queue takes is refused once all else has happened")
            .help("store what is large in an item, and send its key");
        report.raise(diagnostic, &queue.waivers);
    }
}

/// The keys of an entity, in the table and in its indexes.
fn keys(entity: &Entity, report: &mut Report) {
    let shapes = entity.indexes.iter().map(|index| &index.key);
    for shape in std::iter::once(&entity.key).chain(shapes) {
        for (template, most, which) in [
            (&shape.partition, PARTITION_KEY_BYTES_MAX, "partition"),
            (&shape.sort, SORT_KEY_BYTES_MAX, "sort"),
        ] {
            let bytes = template_bytes_max(template);
            if bytes <= most {
                continue;
            }
            let name = &entity.name;
            let message =
                format!("this {which} key of `{name}` can have {bytes} bytes; the most is {most}");
            let diagnostic = Diagnostic::new(Rule::ItemSize, template.span, message)
                .why("each part may be as long as it is declared, and a longer key is refused in the call")
                .help("lower the bounds of its texts, or write fewer parts into it");
            report.raise(diagnostic, &entity.waivers);
        }
    }
}
