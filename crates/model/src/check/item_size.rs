//! `item-size`: an entity whose items can be larger than a table takes, or a queue whose messages can be larger than a
//! queue takes.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::limits::{ITEM_BYTES_MAX, MESSAGE_BYTES_MAX};

use super::Report;
use super::size::{item_bytes_max, message_bytes_max};
use crate::model::Model;

/// How much longer a message is as it is sent, at most: JSON writes some characters with six.
const ESCAPED: usize = 6;

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
