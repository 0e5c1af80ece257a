//! The greatest size of items, by their declarations. An attribute without a declared bound counts with its least size.

use latchkey_value::id;
use latchkey_value::name::{INCARNATION_ATTRIBUTE, INCARNATION_BYTES_MAX};

use crate::model::{Entity, KeyShape, Kind, Model, Piece, Queue, Send, Template};
use crate::types::Type;

/// The longest decimal text of a number of DynamoDB's range.
const NUMBER_TEXT_BYTES_MAX: usize = 170;

/// The bytes DynamoDB counts for the largest item of an entity: names and values, keys and index keys among them.
pub(super) fn item_bytes_max(model: &Model, entity: &Entity) -> usize {
    let kind = model.table.discriminator.len() + entity.discriminator.len();
    let own = entity
        .attributes
        .iter()
        .map(|attribute| attribute.name.len().saturating_add(value_bytes_max(&attribute.kind)));
    let indexes = entity.indexes.iter().map(|index| {
        // The attributes of an index are `{name}PK` and `{name}SK`.
        (2 * index.name.len()).saturating_add(key_bytes_max(&index.key))
    });
    let incarnation = match entity.remade && entity.counter().is_some() {
        true => INCARNATION_ATTRIBUTE.len() + INCARNATION_BYTES_MAX,
        false => 0,
    };
    let key = (kind + incarnation).saturating_add(key_bytes_max(&entity.key));
    own.chain(indexes).fold(key, usize::saturating_add)
}

/// What the record of a send has beside the message and what is kept: its keys, when it is due, and the like.
const RECORD_OWN_BYTES: usize = 512;

/// The bytes of the largest message of a queue.
pub(super) fn message_bytes_max(queue: &Queue) -> usize {
    let fields = queue.fields.iter();
    let bytes = fields.map(|field| field.name.len().saturating_add(value_bytes_max(&field.kind)));
    bytes.fold(0, usize::saturating_add)
}

/// The bytes of the largest record of a send.
pub(super) fn record_bytes_max(queue: &Queue, send: &Send) -> usize {
    let kept = send.record.iter().map(|given| {
        let value = match &given.value.of {
            Kind::Value(kind) => value_bytes_max(kind),
            _ => 1,
        };
        given.attribute.len().saturating_add(value)
    });
    let own = message_bytes_max(queue).saturating_add(RECORD_OWN_BYTES);
    kept.fold(own, usize::saturating_add)
}

/// The longest partition and sort key, with the four letters of `PK` and `SK`.
fn key_bytes_max(key: &KeyShape) -> usize {
    let parts = template_bytes_max(&key.partition).saturating_add(template_bytes_max(&key.sort));
    parts.saturating_add(4)
}

/// The longest text of a template.
pub(super) fn template_bytes_max(template: &Template) -> usize {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => text.len(),
        Piece::Hole(hole) => text_bytes_max(&hole.kind).max(hole.width.unwrap_or(0)),
    });
    pieces.fold(0, usize::saturating_add)
}

/// The longest text a value becomes in a key or another text.
pub(crate) fn text_bytes_max(kind: &Type) -> usize {
    match kind {
        Type::Int { low, high } => {
            let longest = [*low, *high].into_iter().map(|bound| bound.unwrap_or(i64::MIN));
            longest.map(|bound| bound.to_string().len()).max().unwrap_or(0)
        }
        Type::Counter | Type::Duration => 20,
        Type::Number { .. } => NUMBER_TEXT_BYTES_MAX,
        Type::Bool => 5,
        kind => value_bytes_max(kind),
    }
}

/// The bytes DynamoDB counts for the largest value of a type.
fn value_bytes_max(kind: &Type) -> usize {
    match kind {
        Type::Id => id::ID_BYTES_MAX,
        Type::Ulid => id::ULID_BYTES,
        Type::Time => 24,
        Type::Text { max, .. } => max.map_or(0, declared),
        Type::Enum(words) => words.iter().map(String::len).max().unwrap_or(0),
        Type::Bool => 1,
        // A byte for every two digits on each side of the point, one for the exponent and one for the sign.
        Type::Int { low, high } => {
            let number = |bound: &Option<i64>| {
                let text = bound.unwrap_or(i64::MIN).to_string();
                let digits = text.trim_start_matches('-').len();
                1 + digits.div_ceil(2) + usize::from(text.starts_with('-'))
            };
            number(low).max(number(high))
        }
        Type::Counter | Type::Duration => 12,
        Type::Number { .. } => 22,
        // Its bytes are those of its JSON, where an element of a list can be a digit and a comma: two bytes for three.
        Type::Map { bytes, .. } => declared(bytes.saturating_add(bytes / 2).saturating_add(3)),
        Type::List => 3,
        Type::Key => 32,
    }
}

/// A declared size. One that no machine could hold counts for the largest.
fn declared(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
