//! The functions of the language: shards, extremes, counts, stand-ins.

use std::cmp::Ordering;

use latchkey_table::{Comparator, Item, Map, Number, Text, Value};
use latchkey_value::{NumberError, Rounding};
use sha2::{Digest, Sha256};

use super::{Fault, Frame, Values, order};
use crate::draw::first_bytes;
use crate::plan::Code;

impl Frame<'_> {
    /// The first of several values of which all parts are there.
    pub(super) fn coalesced(&self, of: &[(Vec<Code>, Code)]) -> Result<Value, Fault> {
        for (parts, code) in of {
            let mut absent = false;
            // A record comes behind its members, and has none where it is absent.
            for part in parts.iter().rev() {
                absent = absent || self.value(part)?.is_none();
            }
            if let Some(value) = (!absent).then(|| self.value(code)).transpose()?.flatten() {
                return Ok(value.into_owned());
            }
        }
        Err(Fault::bug("none of several values is there"))
    }
}

/// Into which of so many shards a text falls: the first 8 bytes of its SHA-256, big-endian, modulo their
/// number. It never changes, for what was counted in a shard stays there.
pub(super) fn shard(text: &str, shards: u64) -> Result<u64, Fault> {
    let shard = first_bytes(Sha256::digest(text)).checked_rem(shards);
    shard.ok_or_else(|| Fault::bug("there are no shards"))
}

/// Whether the comparison holds for this ordering.
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

/// The comparator with its two sides exchanged.
pub(super) fn turned(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Less => Comparator::Greater,
        Comparator::LessOrEqual => Comparator::GreaterOrEqual,
        Comparator::Greater => Comparator::Less,
        Comparator::GreaterOrEqual => Comparator::LessOrEqual,
        same => same,
    }
}

/// The least or the greatest of several values: the one whose order to all others is this.
pub(super) fn extreme(wanted: Ordering, values: Vec<Value>) -> Result<Value, Fault> {
    let mut values = values.into_iter();
    let mut best = values.next().ok_or_else(|| Fault::bug("there is nothing to choose from"))?;
    for other in values {
        let found = order(&other, &best);
        if found.ok_or_else(|| Fault::bug("two values have no order"))? == wanted {
            best = other;
        }
    }
    Ok(best)
}

/// How many items have each of these words in an attribute.
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

/// A quotient, rounded to so many places.
pub(super) fn rounded(
    a: Number,
    by: Number,
    places: u8,
    rounding: Rounding,
) -> Result<Number, Fault> {
    a.divided(by, places, rounding).map_err(|error| match error {
        NumberError::ByZero => Fault::DividedByZero,
        _ => Fault::OutOfRange,
    })
}

/// How many elements a list or a set has.
pub(super) fn size(of: Option<&Value>) -> Result<Number, Fault> {
    match of {
        Some(Value::List(values)) => Ok(u64_of(values.len())),
        Some(Value::TextSet(set)) => Ok(u64_of(set.len())),
        _ => Err(Fault::bug("what has no elements is counted")),
    }
}

/// The sum of the elements of a list, or of a member of each; an element without it counts as 0.
pub(super) fn total(of: Option<&Value>, member: Option<&str>) -> Result<Number, Fault> {
    let Some(Value::List(values)) = of else { return Err(Fault::bug("no list is added up")) };
    let mut sum = Number::ZERO;
    for value in values {
        let number = match (member, value) {
            (None, value) => value.as_number(),
            (Some(name), Value::Map(map)) => map.get(name).and_then(Value::as_number),
            (Some(_), _) => None,
        };
        if let Some(number) = number {
            sum = sum.checked_add(number).map_err(|_| Fault::OutOfRange)?;
        }
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

    // FIPS 180-2: the SHA-256 of "abc".
    #[test]
    fn shards_are_known_vectors() {
        assert_eq!(shard("abc", 1 << 32), Ok(0x8f01_cfea));
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
