//! The greatest size of items, by their declarations. An attribute without a declared bound counts with its least size.

use latchkey_value::name::{INCARNATION_ATTRIBUTE, INCARNATION_BYTES_MAX};
use latchkey_value::time::DATE_BYTES;
use latchkey_value::{Format, id};

use crate::model::{
    By, Entity, Expr, ExprKind, KeyNames, KeyShape, Kind, Model, Piece, Queue, Send, Template,
    TextPiece,
};
use crate::types::Type;

/// The longest decimal text of a number of DynamoDB's range.
const NUMBER_TEXT_BYTES_MAX: usize = 170;

/// What DynamoDB counts for a number of seconds up to the year 9999.
const EXPIRY_BYTES: usize = 7;

/// The bytes DynamoDB counts for the largest item of an entity: names and values, keys and index keys among them.
pub(super) fn item_bytes_max(model: &Model, entity: &Entity) -> usize {
    read_bytes_max(model, entity, By::Table)
}

/// The same of what a read by an index finds of the item.
pub(super) fn read_bytes_max(model: &Model, entity: &Entity, by: By) -> usize {
    let parts = parts(model, entity).into_iter().filter(|(name, _)| model.has(by, name));
    let bytes = parts.map(|(name, value)| name.len().saturating_add(value));
    bytes.fold(0, usize::saturating_add)
}

/// The bytes of what an answer shows of the largest item: these attributes, or all that are not secret.
pub(super) fn shown_bytes_max(entity: &Entity, fields: &[String]) -> usize {
    let shown = entity.attributes.iter().filter(|it| !it.secret);
    let shown = shown.filter(|it| fields.is_empty() || fields.contains(&it.name));
    let bytes = shown.map(|it| it.name.len().saturating_add(json_bytes_max(&it.kind)));
    bytes.fold(0, usize::saturating_add)
}

/// The longest text that a query asks for.
pub(super) fn asked_bytes_max(text: &Expr) -> usize {
    let of = |value: &Expr, format| match &value.of {
        Kind::Value(kind) => part_bytes_max(kind, format),
        _ => 0,
    };
    match &text.kind {
        ExprKind::Text(pieces) => {
            let pieces = pieces.iter().map(|piece| match piece {
                TextPiece::Literal(text) => text.len(),
                TextPiece::Value(value, format) => of(value, *format),
            });
            pieces.fold(0, usize::saturating_add)
        }
        _ => of(text, None),
    }
}

/// The bytes of the largest value of a type as JSON, with its quotes: some characters of a text are written with two or
/// six.
fn json_bytes_max(kind: &Type) -> usize {
    match kind {
        Type::Text { .. } => {
            let alphabet = kind.language(None).alphabet();
            let times = match alphabet {
                _ if (0..0x20).any(|byte| alphabet.contains(byte)) => 6,
                _ if alphabet.contains(b'"') || alphabet.contains(b'\\') => 2,
                _ => 1,
            };
            value_bytes_max(kind).saturating_mul(times).saturating_add(2)
        }
        Type::ListOf(list) => {
            let each = json_bytes_max(&list.of).saturating_add(1);
            each.saturating_mul(declared(list.high)).saturating_add(2)
        }
        Type::SetOf { of, most } => {
            json_bytes_max(of).saturating_add(1).saturating_mul(declared(*most)).saturating_add(2)
        }
        Type::Record(members) => members.iter().fold(2, |bytes, member| {
            let value = json_bytes_max(&member.kind);
            bytes.saturating_add(member.name.len() + 4).saturating_add(value)
        }),
        kind => text_bytes_max(kind).saturating_add(2),
    }
}

/// All that is stored of an item of an entity: the names, and how large their values can be.
fn parts<'a>(model: &'a Model, entity: &'a Entity) -> Vec<(&'a str, usize)> {
    let mut parts = vec![(model.table.discriminator.as_str(), entity.discriminator.len())];
    let own = entity.attributes.iter();
    parts.extend(own.map(|it| (it.name.as_str(), value_bytes_max(&it.kind))));
    // A key that is not its own is the attribute of that name, or another key, and counted there.
    let mut key = |names: &'a KeyNames, shape: &KeyShape, own: [bool; 2]| {
        let halves = names.iter().zip(own.into_iter().zip([&shape.partition, &shape.sort]));
        let own = halves.filter(|(_, (own, _))| *own);
        parts.extend(own.map(|(attribute, (_, template))| {
            (attribute.name.as_str(), template_bytes_max(template))
        }));
    };
    let names = &model.table.key;
    let mut apart = [true; 2];
    for (apart, attribute) in apart.iter_mut().zip(names.iter()) {
        *apart = entity.attribute(&attribute.name).is_none();
    }
    key(names, &entity.key, apart);
    for index in &entity.indexes {
        let own = [index.own_partition, index.own_sort];
        key(&model.indexes[index.index].key, &index.key, own);
    }
    if entity.remade && entity.counter().is_some() {
        parts.push((INCARNATION_ATTRIBUTE, INCARNATION_BYTES_MAX));
    }
    if entity.is_expiring() {
        parts.push((&model.table.ttl, EXPIRY_BYTES));
    }
    parts
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

/// The longest text of a template.
pub(super) fn template_bytes_max(template: &Template) -> usize {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => text.len(),
        Piece::Hole(hole) => part_bytes_max(&hole.kind, hole.format),
    });
    pieces.fold(0, usize::saturating_add)
}

/// The longest text a value becomes, in a form of its own if one is given.
pub(crate) fn part_bytes_max(kind: &Type, format: Option<Format>) -> usize {
    match format {
        Some(Format::Padded(width)) => text_bytes_max(kind).max(width),
        Some(Format::Countdown(width)) => width,
        Some(Format::Lower | Format::Upper) | None => text_bytes_max(kind),
        Some(part) => part.prefix().unwrap_or_else(|| text_bytes_max(kind)),
    }
}

/// The longest text a value becomes in a key or another text.
pub(crate) fn text_bytes_max(kind: &Type) -> usize {
    match kind {
        Type::Int { low, high } => {
            let longest = [*low, *high].into_iter().map(|bound| bound.unwrap_or(i64::MIN));
            longest.map(|bound| bound.to_string().len()).max().unwrap_or(0)
        }
        Type::Counter | Type::Duration | Type::Months => 20,
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
        Type::Date => DATE_BYTES,
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
        Type::Counter | Type::Duration | Type::Months => 12,
        Type::Number { .. } => 22,
        // Its bytes are those of its JSON, where an element of a list can be a digit and a comma: two bytes for three.
        Type::Map { bytes, .. } => declared(bytes.saturating_add(bytes / 2).saturating_add(3)),
        Type::List => 3,
        Type::Key => 32,
        // Three bytes, and one for each element.
        Type::ListOf(list) => {
            let each = value_bytes_max(&list.of).saturating_add(1);
            each.saturating_mul(declared(list.high)).saturating_add(3)
        }
        Type::SetOf { of, most } => value_bytes_max(of).saturating_mul(declared(*most)),
        Type::Record(members) => members.iter().fold(3, |bytes, member| {
            let value = value_bytes_max(&member.kind);
            bytes.saturating_add(1 + member.name.len()).saturating_add(value)
        }),
    }
}

/// A declared size. One that no machine could hold counts for the largest.
fn declared(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
