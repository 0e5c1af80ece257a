//! Items as bytes. The key attributes are left out: they stand in the key.
//!
//! ```text
//! record        80 00   checksum 4   count of attributes, and each with its name and value
//! of format 1                        count of attributes, and each with its name and value
//! index entry   checksum 4
//! of format 1   (nothing)
//! ```
//!
//! A checksum is of the key and of what follows it, and is compared at every read. A record of format 1 never begins
//! with `80 00`: it begins with a count, and of all ways to write a count the shortest was taken, which has no zero at
//! its end. Records of format 1 are read as long as they are not written again.

use std::collections::BTreeSet;

use latchkey_table::{Item, Key, KeyNames, Map, Number, Text, Value};

/// Bytes that are not an item, or not the one that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

mod tag {
    pub(super) const TEXT: u8 = 0;
    /// A whole number of up to 64 bits, without sign.
    pub(super) const WHOLE: u8 = 1;
    pub(super) const WHOLE_NEGATIVE: u8 = 2;
    /// An exponent and up to 128 bits.
    pub(super) const DECIMAL: u8 = 3;
    pub(super) const DECIMAL_NEGATIVE: u8 = 4;
    pub(super) const BYTES: u8 = 5;
    pub(super) const FALSE: u8 = 6;
    pub(super) const TRUE: u8 = 7;
    pub(super) const NULL: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const MAP: u8 = 10;
    pub(super) const TEXT_SET: u8 = 11;
    pub(super) const NUMBER_SET: u8 = 12;
    pub(super) const BYTES_SET: u8 = 13;
}

/// What a record with a checksum begins with: a zero, written longer than need be.
const SEALED: [u8; 2] = [0x80, 0];

/// Writes the record of an item under a key, in place of what `out` holds.
pub(crate) fn encode(key_bytes: &[u8], item: &Item, names: &KeyNames, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&SEALED);
    out.extend_from_slice(&[0; 4]);
    encode_plain(item, names, out);
    if let Some((head, body)) = out.split_first_chunk_mut::<6>() {
        let [a, b, c, d] = checksum(key_bytes, body).to_be_bytes();
        let [first, second] = SEALED;
        *head = [first, second, a, b, c, d];
    }
}

/// The bytes of an index entry under a key.
pub(crate) fn encode_entry(key_bytes: &[u8]) -> [u8; 4] {
    checksum(key_bytes, &[]).to_be_bytes()
}

/// Whether an index entry is the one that was stored.
pub(crate) fn check_entry(key_bytes: &[u8], bytes: &[u8]) -> Result<(), Damaged> {
    if bytes.is_empty() || bytes == encode_entry(key_bytes) { Ok(()) } else { Err(Damaged) }
}

/// Whether a record has a checksum.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(&SEALED)
}

fn checksum(key_bytes: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key_bytes);
    hasher.update(body);
    hasher.finalize()
}

/// What a record holds behind its checksum.
fn unsealed<'a>(key_bytes: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], Damaged> {
    let Some(sealed) = bytes.strip_prefix(&SEALED) else {
        let plain = has_short_count(bytes);
        return if plain { Ok(bytes) } else { Err(Damaged) };
    };
    let (sum, body) = sealed.split_first_chunk().ok_or(Damaged)?;
    if u32::from_be_bytes(*sum) == checksum(key_bytes, body) { Ok(body) } else { Err(Damaged) }
}

/// Whether the count at the beginning is written as short as it can be.
fn has_short_count(bytes: &[u8]) -> bool {
    let last = bytes.iter().position(|byte| byte & 0x80 == 0);
    last.is_some_and(|last| last == 0 || bytes.get(last) != Some(&0))
}

/// Writes an item behind what `out` holds.
fn encode_plain(item: &Item, names: &KeyNames, out: &mut Vec<u8>) {
    let stored = || item.iter().filter(|(name, _)| !names.has(name));
    push_length(out, stored().count());
    for (name, value) in stored() {
        push_bytes(out, name.as_bytes());
        push_value(out, value);
    }
}

/// The item stored under a key, of which the bytes and the texts are given.
///
/// A query passes the item before as `like`: neighbours mostly have the same names, which then are neither checked nor
/// allocated again.
pub(crate) fn decode(
    key_bytes: &[u8],
    bytes: &[u8],
    names: &KeyNames,
    key: Key,
    like: Option<&Item>,
) -> Result<Item, Damaged> {
    let rest = &mut unsealed(key_bytes, bytes)?;
    let count = take_count(rest, 2)?;
    let mut item = Item::with_capacity(count + 2);
    // The names come sorted; the key's one or two go in between wherever they belong.
    let partition = Some((&names.partition, key.partition));
    let sort = names.sort.as_ref().map(|sort| (sort, key.sort));
    let mut keys = [partition, sort];
    if names.sort.as_ref().is_some_and(|sort| sort.name < names.partition.name) {
        keys.reverse();
    }
    let mut keys = keys.into_iter().flatten().peekable();
    let mut known = like.into_iter().flat_map(Item::iter).map(|(name, _)| name);
    let mut last: &[u8] = &[];
    for nth in 0..count {
        let raw = take_bytes(rest)?;
        if nth > 0 && raw <= last {
            return Err(Damaged);
        }
        while let Some((attribute, text)) = keys.next_if(|(key, _)| key.name.as_bytes() < raw) {
            item.push_last(attribute.name.clone(), attribute.value(text));
            known.next();
        }
        if keys.peek().is_some_and(|(key, _)| key.name.as_bytes() == raw) {
            return Err(Damaged);
        }
        last = raw;
        let name = match known.next() {
            Some(name) if name.as_bytes() == raw => name.clone(),
            _ => Text::from_utf8(raw).map_err(|_| Damaged)?,
        };
        let value = take_value(rest, LEVELS_MAX)?;
        item.push_last(name, value);
    }
    for (attribute, text) in keys {
        item.push_last(attribute.name.clone(), attribute.value(text));
    }
    if rest.is_empty() { Ok(item) } else { Err(Damaged) }
}

/// Deeper than any item that the store accepts, and shallow enough for any stack.
const LEVELS_MAX: usize = latchkey_value::limits::VALUE_LEVELS_MAX + 1;

fn push_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(text) => {
            out.push(tag::TEXT);
            push_bytes(out, text.as_bytes());
        }
        Value::Number(number) => push_number(out, number),
        Value::Bytes(bytes) => {
            out.push(tag::BYTES);
            push_bytes(out, bytes);
        }
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Null => out.push(tag::NULL),
        Value::List(values) => {
            out.push(tag::LIST);
            push_length(out, values.len());
            values.iter().for_each(|value| push_value(out, value));
        }
        Value::Map(map) => {
            out.push(tag::MAP);
            push_length(out, map.len());
            for (name, value) in map.iter() {
                push_bytes(out, name.as_bytes());
                push_value(out, value);
            }
        }
        Value::TextSet(set) => {
            out.push(tag::TEXT_SET);
            push_length(out, set.len());
            set.iter().for_each(|text| push_bytes(out, text.as_bytes()));
        }
        Value::NumberSet(set) => {
            out.push(tag::NUMBER_SET);
            push_length(out, set.len());
            set.iter().for_each(|number| push_number(out, number));
        }
        Value::BytesSet(set) => {
            out.push(tag::BYTES_SET);
            push_length(out, set.len());
            set.iter().for_each(|bytes| push_bytes(out, bytes));
        }
    }
}

fn push_number(out: &mut Vec<u8>, number: &Number) {
    let (coefficient, negative) = (number.coefficient(), number.is_negative());
    match u64::try_from(coefficient) {
        Ok(whole) if number.exponent() == 0 => {
            out.push(if negative { tag::WHOLE_NEGATIVE } else { tag::WHOLE });
            push_varint(out, u128::from(whole));
        }
        _ => {
            out.push(if negative { tag::DECIMAL_NEGATIVE } else { tag::DECIMAL });
            out.extend_from_slice(&number.exponent().to_be_bytes());
            push_varint(out, coefficient);
        }
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    push_varint(out, u128::try_from(length).unwrap_or(u128::MAX));
}

/// Seven bits a byte, the lowest first, the top bit set on all but the last.
fn push_varint(out: &mut Vec<u8>, mut value: u128) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, Damaged> {
    let (first, tail) = rest.split_first().ok_or(Damaged)?;
    *rest = tail;
    Ok(*first)
}

fn take_varint(rest: &mut &[u8]) -> Result<u128, Damaged> {
    let mut value = 0u128;
    for shift in (0..u128::BITS).step_by(7) {
        let byte = take_byte(rest)?;
        let bits = u128::from(byte & 0x7f);
        let shifted = bits << shift;
        if shifted >> shift != bits {
            return Err(Damaged);
        }
        value |= shifted;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

fn take_length(rest: &mut &[u8]) -> Result<usize, Damaged> {
    // Nearly every length is below 128.
    if let Some((first, tail)) = rest.split_first()
        && *first < 0x80
    {
        *rest = tail;
        return Ok(usize::from(*first));
    }
    usize::try_from(take_varint(rest)?).map_err(|_| Damaged)
}

/// A count of elements of at least so many bytes each, which must fit in what is left: a damaged
/// count cannot ask for memory that the bytes do not back.
fn take_count(rest: &mut &[u8], bytes_min: usize) -> Result<usize, Damaged> {
    let count = take_length(rest)?;
    if count > rest.len() / bytes_min { Err(Damaged) } else { Ok(count) }
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Damaged> {
    let length = take_length(rest)?;
    let (bytes, tail) = rest.split_at_checked(length).ok_or(Damaged)?;
    *rest = tail;
    Ok(bytes)
}

fn take_text(rest: &mut &[u8]) -> Result<Text, Damaged> {
    Text::from_utf8(take_bytes(rest)?).map_err(|_| Damaged)
}

fn take_value(rest: &mut &[u8], levels: usize) -> Result<Value, Damaged> {
    let value = match take_byte(rest)? {
        tag::TEXT => Value::Text(take_text(rest)?),
        tag::BYTES => Value::Bytes(take_bytes(rest)?.to_vec()),
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::NULL => Value::Null,
        tag::LIST => {
            let levels = levels.checked_sub(1).ok_or(Damaged)?;
            let count = take_count(rest, 1)?;
            Value::List((0..count).map(|_| take_value(rest, levels)).collect::<Result<_, _>>()?)
        }
        tag::MAP => {
            let levels = levels.checked_sub(1).ok_or(Damaged)?;
            let count = take_count(rest, 2)?;
            let mut map = Map::with_capacity(count);
            let mut last: &[u8] = &[];
            for nth in 0..count {
                let raw = take_bytes(rest)?;
                if nth > 0 && raw <= last {
                    return Err(Damaged);
                }
                last = raw;
                let name = Text::from_utf8(raw).map_err(|_| Damaged)?;
                map.push_last(name, take_value(rest, levels)?);
            }
            Value::Map(map)
        }
        tag::TEXT_SET => Value::TextSet(take_set(rest, take_text)?),
        tag::NUMBER_SET => Value::NumberSet(take_set(rest, |rest| {
            let tag = take_byte(rest)?;
            take_number(rest, tag)
        })?),
        tag::BYTES_SET => {
            Value::BytesSet(take_set(rest, |rest| take_bytes(rest).map(<[u8]>::to_vec))?)
        }
        other => Value::Number(take_number(rest, other)?),
    };
    Ok(value)
}

fn take_number(rest: &mut &[u8], tag: u8) -> Result<Number, Damaged> {
    let (negative, exponent) = match tag {
        tag::WHOLE => (false, 0),
        tag::WHOLE_NEGATIVE => (true, 0),
        tag::DECIMAL | tag::DECIMAL_NEGATIVE => {
            let exponent = i16::from_be_bytes([take_byte(rest)?, take_byte(rest)?]);
            (tag == tag::DECIMAL_NEGATIVE, i32::from(exponent))
        }
        _ => return Err(Damaged),
    };
    Number::from_parts(negative, take_varint(rest)?, exponent).map_err(|_| Damaged)
}

fn take_set<T: Ord>(
    rest: &mut &[u8],
    take: impl Fn(&mut &[u8]) -> Result<T, Damaged>,
) -> Result<BTreeSet<T>, Damaged> {
    let count = take_count(rest, 1)?;
    (0..count).map(|_| take(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latchkey_table::KeyAttribute;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Number> {
        prop_oneof![
            any::<i64>().prop_map(Number::from),
            (any::<bool>(), any::<u128>(), -160i32..130).prop_filter_map(
                "in range",
                |(negative, coefficient, exponent)| Number::from_parts(
                    negative,
                    coefficient % 10u128.pow(38),
                    exponent
                )
                .ok()
            ),
        ]
    }

    fn text() -> impl Strategy<Value = Text> {
        ".{0,40}".prop_map(Text::from)
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            text().prop_map(Value::Text),
            number().prop_map(Value::Number),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
            any::<bool>().prop_map(Value::Bool),
            Just(Value::Null),
            prop::collection::btree_set(text(), 1..4).prop_map(Value::TextSet),
            prop::collection::btree_set(number(), 1..4).prop_map(Value::NumberSet),
            prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..9), 1..4)
                .prop_map(Value::BytesSet),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
                prop::collection::vec((text(), inner), 0..5)
                    .prop_map(|pairs| Value::Map(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn items_round_trip(
            pairs in prop::collection::vec((text(), value()), 0..12),
            reversed in any::<bool>(),
            partition in text(),
            // A text, a number, or no sort key at all.
            sort in prop_oneof![
                text().prop_map(Ok),
                number().prop_map(|number| Err(Some(number))),
                Just(Err(None)),
            ],
            others in prop::collection::vec((text(), value()), 0..4),
        ) {
            let other: Item = others.into_iter().collect();
            let mut names =
                if reversed { KeyNames::new("b", "a") } else { KeyNames::new("PK", "SK") };
            let sort = match (sort, names.sort.take()) {
                (Ok(text), Some(named)) => Some((named, Value::Text(text))),
                (Err(Some(number)), _) => Some((KeyAttribute::number("n"), Value::Number(number))),
                _ => None,
            };
            names.sort = sort.as_ref().map(|(attribute, _)| attribute.clone());
            let mut item: Item = pairs.into_iter().collect();
            item.insert(names.partition.name.clone(), partition);
            if let Some((attribute, value)) = sort {
                item.insert(attribute.name, value);
            }
            let mut bytes = Vec::new();
            encode(b"k", &item, &names, &mut bytes);
            let key = names.of(&item).unwrap();
            // What format 1 stored is read as well, and cannot pass for a record with a checksum.
            let mut plain = Vec::new();
            encode_plain(&item, &names, &mut plain);
            prop_assert!(!plain.starts_with(&SEALED));
            prop_assert_eq!(decode(b"k", &plain, &names, key.clone(), None), Ok(item.clone()));
            // The item before makes no difference.
            for like in [None, Some(&item), Some(&Item::from([("a", 1)])), Some(&other)] {
                prop_assert_eq!(decode(b"k", &bytes, &names, key.clone(), like), Ok(item.clone()));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(b"k", &bytes, &KeyNames::new("PK", "SK"), Key::new("p", "s"), None);
        }

        #[test]
        fn a_damaged_item_is_refused(
            value in value(), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let names = KeyNames::new("PK", "SK");
            let mut bytes = Vec::new();
            let item = Item::from([("a", value)]);
            encode(b"k", &item, &names, &mut bytes);
            let key = || Key::new("p", "s");
            prop_assert_eq!(decode(b"l", &bytes, &names, key(), None), Err(Damaged));
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(decode(b"k", &bytes, &names, key(), None), Err(Damaged));
            bytes.truncate(at);
            prop_assert_eq!(decode(b"k", &bytes, &names, key(), None), Err(Damaged));
            // Without a checksum it is read or refused, and never a panic.
            let mut bytes = Vec::new();
            encode_plain(&item, &names, &mut bytes);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let _ = decode(b"k", &bytes, &names, key(), None);
        }
    }

    #[test]
    fn an_index_entry_is_checked() {
        let bytes = encode_entry(b"key");
        assert_eq!(check_entry(b"key", &bytes), Ok(()));
        assert_eq!(check_entry(b"key", &[]), Ok(()), "one of format 1");
        assert_eq!(check_entry(b"kez", &bytes), Err(Damaged));
        assert_eq!(check_entry(b"key", &bytes[..3]), Err(Damaged));
    }

    #[test]
    fn bytes_that_nest_without_end_are_refused() {
        let mut bytes = vec![1, 1, b'a'];
        bytes.extend(std::iter::repeat_n([tag::LIST, 1], 10_000).flatten());
        bytes.push(tag::NULL);
        assert_eq!(
            decode(b"k", &bytes, &KeyNames::new("PK", "SK"), Key::new("p", "s"), None),
            Err(Damaged)
        );
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused() {
        let bytes = [1, 1, b'a', tag::LIST, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(
            decode(b"k", &bytes, &KeyNames::new("PK", "SK"), Key::new("p", "s"), None),
            Err(Damaged)
        );
    }
}
