//! What is called by a name: shards, draws, counts.

use std::cmp::Ordering;

use hmac::{Hmac, KeyInit, Mac};
use latchkey_table::{Comparator, Item, Map, Number, Text, Value};
use sha2::{Digest, Sha256};

use super::{Fault, order};

/// Into which of so many shards a text falls: the first 8 bytes of its SHA-256, big-endian, modulo their
/// number. It never changes, for what was counted in a shard stays there.
pub(super) fn shard(text: &str, shards: u64) -> u64 {
    first_bytes(&Sha256::digest(text)).checked_rem(shards).unwrap_or(0)
}

/// What a key draws for a subject, of 2^64: the first 8 bytes of their HMAC-SHA256, big-endian.
pub(super) fn draw(key: &[u8], subject: &str) -> Result<u64, Fault> {
    // It takes a key of any length.
    let mut keyed = Hmac::<Sha256>::new_from_slice(key).map_err(|_| Fault::Absent)?;
    keyed.update(subject.as_bytes());
    Ok(first_bytes(&keyed.finalize().into_bytes()))
}

fn first_bytes(hash: &[u8]) -> u64 {
    hash.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// How a draw of 2^64 lies to a number, exactly: both are compared digit by decimal digit.
pub(super) fn compare_draw(draw: u64, number: &Number) -> Ordering {
    let digits = number.coefficient().to_string();
    let places = usize::try_from(-i32::from(number.exponent()));
    match places {
        _ if number.is_negative() => Ordering::Greater,
        _ if *number == Number::ZERO => draw.cmp(&0),
        // It has a digit before the point, and the draw has none.
        Ok(places) if digits.len() <= places => {
            let zeros = std::iter::repeat_n(0, places - digits.len());
            let digits = digits.bytes().map(|digit| u128::from(digit.saturating_sub(b'0')));
            let mut rest = u128::from(draw);
            for digit in zeros.chain(digits) {
                let tenfold = rest * 10;
                match (tenfold >> 64).cmp(&digit) {
                    Ordering::Equal => rest = tenfold & u128::from(u64::MAX),
                    other => return other,
                }
            }
            rest.cmp(&0)
        }
        _ => Ordering::Less,
    }
}

/// Whether two that lie so to each other compare so.
pub(super) fn holds(found: Ordering, comparator: Comparator) -> bool {
    match comparator {
        Comparator::Equal => found.is_eq(),
        Comparator::NotEqual => found.is_ne(),
        Comparator::Less => found.is_lt(),
        Comparator::LessOrEqual => found.is_le(),
        Comparator::Greater => found.is_gt(),
        Comparator::GreaterOrEqual => found.is_ge(),
    }
}

/// The other way round.
pub(super) fn turned(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Less => Comparator::Greater,
        Comparator::LessOrEqual => Comparator::GreaterOrEqual,
        Comparator::Greater => Comparator::Less,
        Comparator::GreaterOrEqual => Comparator::LessOrEqual,
        same => same,
    }
}

/// The SHA-256 of a key, in hexadecimal.
pub(super) fn commitment(key: &[u8]) -> Text {
    hexadecimal(&Sha256::digest(key))
}

/// Bytes, two digits each.
pub(super) fn hexadecimal(bytes: &[u8]) -> Text {
    let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Of several values, the one that lies so to all others.
pub(super) fn extreme(wanted: Ordering, values: Vec<Value>) -> Result<Value, Fault> {
    let further = |best: Value, other: Value| {
        if order(&other, &best) == Some(wanted) { other } else { best }
    };
    values.into_iter().reduce(further).ok_or(Fault::Absent)
}

/// How many items have each of some values, all of these among them.
pub(super) fn count_by(items: &[Item], attribute: &Text, words: &[Text]) -> Map {
    let count = |word: &Text| {
        let having = |item: &&Item| item.get(attribute).and_then(Value::as_text) == Some(word);
        Value::from(u64_of(items.iter().filter(having).count()))
    };
    words.iter().map(|word| (word.clone(), count(word))).collect()
}

/// The sum of an attribute; an item without it counts as 0.
pub(super) fn sum(items: &[Item], attribute: &Text) -> Result<Number, Fault> {
    let numbers = items.iter().filter_map(|item| item.get(attribute).and_then(Value::as_number));
    let mut sum = Number::ZERO;
    for number in numbers {
        sum = sum.checked_add(number).map_err(|_| Fault::OutOfRange)?;
    }
    Ok(sum)
}

pub(super) fn u64_of(count: usize) -> Number {
    Number::from(u64::try_from(count).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().expect("a number")
    }

    // RFC 4231, test cases 1 and 2: the first 8 bytes of each HMAC-SHA-256.
    #[test]
    fn draws_are_known_vectors() {
        assert_eq!(draw(&[0x0b; 20], "Hi There"), Ok(0xb034_4c61_d8db_3853));
        assert_eq!(draw(b"Jefe", "what do ya want for nothing?"), Ok(0x5bdc_c146_bf60_754e));
    }

    // FIPS 180-2: the SHA-256 of "abc".
    #[test]
    fn commitments_are_known_vectors() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(commitment(b"abc"), abc);
        assert_eq!(shard("abc", 1 << 32), 0x8f01_cfea);
        assert_eq!(hexadecimal(&[0, 15, 255]), "000fff");
    }

    #[test]
    fn draws_compare_exactly() {
        let half = 1 << 63;
        let cases = [
            (0, "0", Ordering::Equal),
            (0, "-1", Ordering::Greater),
            (0, "1E-130", Ordering::Less),
            (1, "0", Ordering::Greater),
            (1, "1E-130", Ordering::Greater),
            (u64::MAX, "1", Ordering::Less),
            (u64::MAX, "1.5", Ordering::Less),
            (u64::MAX, "10", Ordering::Less),
            (u64::MAX, "0.9999999999999999999", Ordering::Greater),
            (u64::MAX, "0.99999999999999999995", Ordering::Less),
            (half, "0.5", Ordering::Equal),
            (half, "0.50000000000000000000000000000000000001", Ordering::Less),
            (half - 1, "0.5", Ordering::Less),
            (half - 1, "0.49999999999999999994", Ordering::Greater),
            (half + 1, "0.5", Ordering::Greater),
            (1 << 62, "0.25", Ordering::Equal),
            (1 << 62, "0.2", Ordering::Greater),
            (1 << 62, "0.3", Ordering::Less),
        ];
        for (draw, text, expected) in cases {
            assert_eq!(compare_draw(draw, &number(text)), expected, "{draw} and {text}");
        }
    }

    #[test]
    fn what_is_not_there_counts_as_nothing() {
        let item = |pairs: &[(&str, Value)]| -> Item {
            pairs.iter().map(|(name, value)| (*name, value.clone())).collect()
        };
        let items = [
            item(&[("n", Value::from(2)), ("state", Value::from("A"))]),
            item(&[("state", Value::from("B"))]),
            item(&[("n", Value::from(-5)), ("state", Value::from("A"))]),
        ];
        assert_eq!(sum(&items, &"n".into()), Ok(number("-3")));
        assert_eq!(sum(&[], &"n".into()), Ok(Number::ZERO));
        let counts = count_by(&items, &"state".into(), &["A".into(), "B".into(), "C".into()]);
        let expected = [("A", Value::from(2)), ("B", Value::from(1)), ("C", Value::from(0))];
        assert_eq!(counts, Map::from(expected));
    }
}
