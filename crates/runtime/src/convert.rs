//! Writes items of other programs as this document would have stored them: times in fixed width, also within keys, the
//! keys of indexes, defaults, and the second by which a store removes what has ended.
//!
//! Nothing is guessed and nothing is lost. A key is only rewritten if it says the same in another notation; what cannot
//! be converted is left as it is, for [`System::examine`] to refuse.

use latchkey_table::{Item, KeyType, Text, Value};

use crate::bug::Bug;
use crate::expiry::second_of;
use crate::plan::{Entity, InputType, System, made};
use crate::time;

/// The least number that is taken for milliseconds since 1970. A lesser one could be a number of seconds.
const MILLISECONDS_MIN: i64 = 100_000_000_000;

impl System {
    /// An item as the document stores it. An item that is of no entity stays as it is.
    pub fn convert(&self, item: Item) -> Item {
        let kind = item.get(&self.discriminator);
        let entity = self.entities.iter().find(|entity| Some(&entity.kind) == kind);
        match entity {
            // What is wrong with an item that cannot be converted, its examination says.
            Some(entity) => self.converted(entity, &item).unwrap_or(item),
            None => item,
        }
    }

    fn converted(&self, entity: &Entity, stored: &Item) -> Result<Item, Bug> {
        let mut item = stored.clone();
        for attribute in &entity.attributes {
            if let Some(mut value) = stored.get(&attribute.name).cloned() {
                retime(&attribute.kind, &mut value);
                item.insert(attribute.name.clone(), value);
            }
        }
        // What stands in the key alone is read back from it, and not stored a second time.
        let mut told = item.clone();
        for key in self.table.key.iter().filter(|key| key.value_type == KeyType::Text) {
            if let Some(text) = item.get(&key.name).and_then(Value::as_text) {
                told.insert(key.name.clone(), Value::Text(retimed(text)));
            }
        }
        let mut whole = item.clone();
        for attribute in entity.attributes.iter().filter(|one| stored.get(&one.name).is_none()) {
            if let Some(value) = entity.read_back(&told, attribute, None) {
                whole.insert(attribute.name.clone(), value);
            } else if let Some((_, value)) =
                entity.defaults.iter().find(|(name, _)| *name == attribute.name)
            {
                whole.insert(attribute.name.clone(), value.clone());
                item.insert(attribute.name.clone(), value.clone());
            }
        }
        for (key, parts) in self.table.key.iter().zip([&entity.key.partition, &entity.key.sort]) {
            rewrite(&mut item, &key.name, made(key, parts, &whole)?, false);
        }
        for index in &entity.indexes {
            if !index.has(&whole)? {
                continue;
            }
            for (key, parts) in index.own() {
                rewrite(&mut item, &key.name, made(key, parts, &whole)?, true);
            }
        }
        let end = entity.end.as_ref().and_then(|end| whole.get(&end.attribute)?.as_text());
        if let Some(second) = end.and_then(|end| second_of(end)) {
            item.insert(self.ttl.clone(), Value::from(second));
        }
        Ok(item)
    }
}

/// Writes a key as it is made now, if it says the same in another notation, or if it is missing and may be added.
fn rewrite(item: &mut Item, name: &Text, made: Option<Value>, add: bool) {
    let Some(made) = made else { return };
    let same = match (item.get(name), &made) {
        (None, _) => add,
        (Some(Value::Text(text)), Value::Text(made)) => retimed(text) == *made,
        (Some(_), _) => false,
    };
    if same {
        item.insert(name.clone(), made);
    }
}

/// Writes the times of a value in fixed width, wherever its type has them.
fn retime(kind: &InputType, value: &mut Value) {
    match (kind, value) {
        (InputType::Time, value) => {
            let instant = match value {
                Value::Text(text) => exact(text),
                Value::Number(number) => {
                    let instant = number.to_i64().filter(|at| at.abs() >= MILLISECONDS_MIN);
                    instant.and_then(time::format)
                }
                _ => None,
            };
            if let Some(instant) = instant {
                *value = Value::Text(instant);
            }
        }
        (InputType::ListOf(list), Value::List(values)) => {
            values.iter_mut().for_each(|value| retime(&list.of, value));
        }
        (InputType::Record(members), Value::Map(map)) => {
            for member in members {
                if let Some(value) = map.get_mut(&member.name) {
                    retime(&member.kind, value);
                }
            }
        }
        _ => {}
    }
}

/// A time in fixed width, if it is no finer than a millisecond.
fn exact(text: &str) -> Option<Text> {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let finer = fraction.bytes().take_while(u8::is_ascii_digit).skip(3).any(|digit| digit != b'0');
    if finer { None } else { time::canonical(text) }
}

/// A key with its times in fixed width.
fn retimed(key: &str) -> Text {
    let mut written = Text::default();
    let mut rest = key;
    while let Some((before, time, behind)) = next_time(rest) {
        written.push_str(before);
        written.push_str(&time);
        rest = behind;
    }
    written.push_str(rest);
    written
}

/// The next time within a text, and what stands before and behind it.
fn next_time(text: &str) -> Option<(&str, Text, &str)> {
    text.match_indices('T').find_map(|(at, _)| {
        let start = at.checked_sub("2026-02-25".len())?;
        let (before, time) = text.split_at_checked(start)?;
        // The clock ends where no character of a fraction or an offset follows.
        let clock = "2026-02-25T10:00:00".len();
        let tail = time.get(clock..)?;
        let utc = tail.find('Z').map(|at| clock + at + 1);
        let offset = tail.find(['+', '-']).map(|at| clock + at + "+01:00".len());
        [utc, offset].into_iter().flatten().find_map(|end| {
            let (time, behind) = time.split_at_checked(end)?;
            Some((before, exact(time)?, behind))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"
```contract
system doors
table Doors { type kind }
entity Visit "VISIT" {
  PK = "DOOR#{doorId}"
  SK = "AT#{at}#{visitId}"
  doorId id, visitId id, at time, endsAt time?, state OPEN | SHUT = OPEN, log list(0..3) of { at time }?
  expires endsAt
  index ByDay { PK = "DAY#{at:day}" SK = "{at}#{doorId}" }
}
contract V-01 "Get a visit" {
  GET /doors/{doorId}/visits/{at}/{visitId}
  allow true
  visit = get Visit else 404 not-found
  return visit
  consistency eventual
  expect 1 item
  rate 1/s
}
```
"#;

    fn item(attributes: &[(&str, Value)]) -> Item {
        attributes.iter().map(|(name, value)| (Text::from(*name), value.clone())).collect()
    }

    /// A visit at this key, with other attributes.
    fn visit(sort: &str, others: &[(&str, Value)]) -> Item {
        let mut visit = item(&[
            ("PK", Value::from("DOOR#d1")),
            ("SK", Value::from(sort)),
            ("kind", Value::from("VISIT")),
        ]);
        others.iter().for_each(|(name, value)| drop(visit.insert(*name, value.clone())));
        visit
    }

    const AT: &str = "2026-02-25T10:00:00.000Z";

    #[test]
    fn an_item_is_written_as_the_document_stores_it() {
        let system = System::read(DOCUMENT).unwrap();
        let at = Value::Number("1772013600000".parse().unwrap());
        let logged = Value::Map([(Text::from("at"), at.clone())].into_iter().collect());
        let old = visit(
            "AT#2026-02-25T11:00:00+01:00#v1",
            &[
                ("at", at),
                ("visitId", Value::from("v1")),
                ("endsAt", Value::from("2026-02-25T10:00:00.5Z")),
                ("log", Value::List(vec![logged])),
                ("colour", Value::from("2026-02-25T10:00:00Z")),
            ],
        );
        assert!(!system.examine(&old).is_empty());
        let new = system.convert(old);
        let logged = Value::Map([(Text::from("at"), Value::from(AT))].into_iter().collect());
        let expected = visit(
            "AT#2026-02-25T10:00:00.000Z#v1",
            &[
                ("at", Value::from(AT)),
                ("visitId", Value::from("v1")),
                ("endsAt", Value::from("2026-02-25T10:00:00.500Z")),
                ("expires", Value::from(1_772_013_601)),
                ("state", Value::from("OPEN")),
                ("log", Value::List(vec![logged])),
                // The document does not know it.
                ("colour", Value::from("2026-02-25T10:00:00Z")),
                ("ByDayPK", Value::from("DAY#2026-02-25")),
                ("ByDaySK", Value::from("2026-02-25T10:00:00.000Z#d1")),
            ],
        );
        assert_eq!(new, expected);
        assert!(system.examine(&new).is_empty());
        assert_eq!(system.convert(new.clone()), new);
    }

    #[test]
    fn what_stands_in_a_key_alone_is_read_from_a_key_of_another_notation() {
        let system = System::read(DOCUMENT).unwrap();
        let new = system.convert(visit("AT#2026-02-25T10:00:00Z#v1", &[]));
        assert_eq!(new.get("SK"), Some(&Value::from("AT#2026-02-25T10:00:00.000Z#v1")));
        assert_eq!(new.get("ByDaySK"), Some(&Value::from("2026-02-25T10:00:00.000Z#d1")));
        assert_eq!(new.get("at"), None);
        assert!(system.examine(&new).is_empty());
    }

    #[test]
    fn what_would_be_guessed_or_lost_stays_and_is_refused() {
        let system = System::read(DOCUMENT).unwrap();
        let (at, id) = (Value::from(AT), ("visitId", Value::from("v1")));
        let cases = [
            // Another instant, and another item.
            ("AT#2026-02-25T10:00:01Z#v1", at.clone()),
            ("AT#2026-02-25T10:00:00Z#v2", at),
            // Finer than a millisecond.
            ("AT#2026-02-25T10:00:00Z#v1", Value::from("2026-02-25T10:00:00.0001Z")),
            ("AT#2026-02-25T10:00:00.0001Z#v1", Value::from(AT)),
            // Seconds, it seems.
            ("AT#2026-02-25T10:00:00Z#v1", Value::from(1_772_013_600)),
            ("AT#2026-02-25T10:00:00Z#v1", Value::from("10 o'clock")),
        ];
        for (sort, at) in cases {
            let new = system.convert(visit(sort, &[("at", at.clone()), id.clone()]));
            assert_eq!(new.get("SK"), Some(&Value::from(sort)), "{sort} {at:?}");
            assert!(!system.examine(&new).is_empty(), "{sort} {at:?}");
        }
        let other =
            item(&[("PK", Value::from("A#2026-02-25T10:00:00Z")), ("SK", Value::from("B"))]);
        assert_eq!(system.convert(other.clone()), other);
    }
}
