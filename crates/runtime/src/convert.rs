//! Writes items of other programs as this document would have stored them: times in fixed width, also within keys, the
//! keys of indexes, defaults, and the second by which a store removes what has ended.
//!
//! Nothing is guessed and nothing is lost. A key is only rewritten if it says the same in another notation; what cannot
//! be converted is left as it is, for [`System::examine`] to refuse, and it is told why.

use latchkey_table::{Item, KeyType, Text, Value};

use crate::bug::Bug;
use crate::evaluate::{Fault, of_item};
use crate::expiry::second_of;
use crate::plan::{Attribute, Entity, InputType, System, made};
use crate::time;

/// The least number that is taken for milliseconds since 1970. A lesser one could be a number of seconds.
const MILLISECONDS_MIN: i64 = 100_000_000_000;

/// An item that was converted, as far as it could be.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The item.
    pub item: Item,
    /// What could not be converted, and why.
    pub failures: Vec<String>,
}

impl System {
    /// An item as the document stores it. An item that is of no entity stays as it is.
    pub fn convert(&self, item: Item) -> Converted {
        let kind = item.get(&self.discriminator);
        let entity = self.entities.iter().find(|entity| Some(&entity.kind) == kind);
        let Some(entity) = entity else { return Converted { item, failures: Vec::new() } };
        let mut converted = Converted { item: item.clone(), failures: Vec::new() };
        match self.convert_as(entity, &item, &mut converted) {
            Ok(()) => converted,
            Err(bug) => {
                converted.failures.push(bug.to_string());
                Converted { item, failures: converted.failures }
            }
        }
    }

    fn convert_as(
        &self,
        entity: &Entity,
        stored: &Item,
        converted: &mut Converted,
    ) -> Result<(), Bug> {
        let Converted { item, failures } = converted;
        for attribute in &entity.attributes {
            if let Some(mut value) = stored.get(&attribute.name).cloned() {
                // Other programs write this where there is nothing.
                if value == Value::Null && attribute.optional {
                    item.remove(&attribute.name);
                    continue;
                }
                retime(&attribute.kind, &mut value, &attribute.name, failures);
                item.insert(attribute.name.clone(), value);
            }
        }
        self.convert_end(entity, item, failures);
        let whole = self.complete(entity, item, failures)?;
        for (key, parts) in self.table.key.iter().zip([&entity.key.partition, &entity.key.sort]) {
            failures.extend(rewrite(item, &key.name, made(key, parts, &whole)?, false));
        }
        for index in &entity.indexes {
            if !index.has(&whole)? {
                continue;
            }
            for (key, parts, own) in index.halves() {
                // What is no attribute of the index alone may stand in the key of the table alone.
                if own || item.get(&key.name).is_none() {
                    failures.extend(rewrite(item, &key.name, made(key, parts, &whole)?, true));
                }
            }
        }
        let end = entity.end.as_ref().and_then(|end| whole.get(&end.attribute)?.as_text());
        if let Some(second) = end.and_then(|end| second_of(end)) {
            item.insert(self.ttl.clone(), Value::from(second));
        }
        Ok(())
    }

    /// Gives an item that has only the second of its removal the end that says the same.
    fn convert_end(&self, entity: &Entity, item: &mut Item, failures: &mut Vec<String>) {
        let Some(end) = entity.end.as_ref().filter(|end| item.get(&end.attribute).is_none()) else {
            return;
        };
        let Some(removed) = item.get(&self.ttl).and_then(Value::as_number) else { return };
        let end_of = |second: i64| second.checked_mul(1000).and_then(time::format);
        match removed.to_i64().and_then(end_of) {
            Some(instant) => drop(item.insert(end.attribute.clone(), Value::Text(instant))),
            None => failures.push(format!(
                "`{}` is {removed}, which is no whole number of seconds up to the year 9999",
                self.ttl
            )),
        }
    }

    /// An item with all that it has: what stands in its key alone, and its defaults, which are stored.
    fn complete(
        &self,
        entity: &Entity,
        item: &mut Item,
        failures: &mut Vec<String>,
    ) -> Result<Item, Bug> {
        // What stands in the key alone is read back from it, and not stored a second time.
        let mut told = item.clone();
        for key in self.table.key.iter().filter(|key| key.value_type == KeyType::Text) {
            if let Some(text) = item.get(&key.name).and_then(Value::as_text) {
                told.insert(key.name.clone(), Value::Text(retimed(text)));
            }
        }
        let mut whole = item.clone();
        let lacks = |name: &Text| told.get(name).is_none();
        for attribute in entity.attributes.iter().filter(|one| lacks(&one.name)) {
            if let Some(value) = entity.read_back(&told, attribute, None) {
                whole.insert(attribute.name.clone(), value);
            } else if let Some((_, value)) =
                entity.defaults.iter().find(|(name, _)| *name == attribute.name)
            {
                whole.insert(attribute.name.clone(), value.clone());
                item.insert(attribute.name.clone(), value.clone());
            }
        }
        // Nothing is computed from what is missing or wrong, which is told as an attribute.
        let open =
            |attribute: &Attribute| attribute.computed && whole.get(&attribute.name).is_none();
        let right = |one: &Attribute| open(one) || one.examine(&whole).is_none();
        if !entity.attributes.iter().all(right) {
            return Ok(whole);
        }
        for (name, code) in &entity.computed {
            if whole.get(name).is_some() {
                continue;
            }
            match of_item(code, &whole) {
                Ok(Some(value)) => {
                    whole.insert(name.clone(), value.clone());
                    item.insert(name.clone(), value);
                }
                Ok(None) => {}
                Err(Fault::Bug(bug)) => return Err(bug),
                Err(Fault::OutOfRange | Fault::Invalid(_)) => {
                    failures.push(format!("`{name}` cannot be computed: it does not fit"));
                }
                Err(Fault::DividedByZero) => {
                    failures.push(format!("`{name}` cannot be computed: it is divided by zero"));
                }
            }
        }
        Ok(whole)
    }
}

/// Writes a key as it is made now, if it says the same in another notation, or if it is missing and may be added.
/// Otherwise returns what is wrong with it.
fn rewrite(item: &mut Item, name: &Text, made: Option<Value>, add: bool) -> Option<String> {
    // What the key lacks is told as an attribute that is missing.
    let made = made?;
    match (item.get(name), &made) {
        (None, _) if !add => return None,
        (None, _) => {}
        (Some(Value::Text(text)), Value::Text(made)) if retimed(text) == *made => {}
        (Some(Value::Text(text)), Value::Text(made)) => {
            return Some(format!("`{name}` is `{text}`, and the attributes make `{made}` of it"));
        }
        (Some(_), Value::Text(_)) => return Some(format!("`{name}` is no text")),
        (Some(found), made) if found == made => return None,
        (Some(_), _) => return Some(format!("`{name}` is not the number of its attribute")),
    }
    item.insert(name.clone(), made);
    None
}

/// Writes the times of a value in fixed width, wherever its type has them. Tells of those that it cannot write.
fn retime(kind: &InputType, value: &mut Value, place: &str, failures: &mut Vec<String>) {
    match (kind, value) {
        (InputType::Time, value) => match instant(value) {
            Ok(instant) => *value = Value::Text(instant),
            Err(why) => failures.push(format!("`{place}` {why}")),
        },
        (InputType::ListOf(list), Value::List(values)) => {
            for (at, value) in values.iter_mut().enumerate() {
                retime(&list.of, value, &format!("{place}/{at}"), failures);
            }
        }
        (InputType::Record(members), Value::Map(map)) => {
            for member in members {
                if let Some(value) = map.get_mut(&member.name) {
                    retime(&member.kind, value, &format!("{place}/{}", member.name), failures);
                }
            }
        }
        _ => {}
    }
}

/// A time in fixed width, or why it cannot be written so.
fn instant(value: &Value) -> Result<Text, String> {
    match value {
        Value::Text(text) => exact(text).ok_or_else(|| match time::canonical(text) {
            Some(_) => format!("is `{text}`, which is finer than a millisecond"),
            None => format!("is `{text}`, which is no RFC 3339 time"),
        }),
        Value::Number(number) => {
            let whole = number.to_i64();
            let whole =
                whole.ok_or_else(|| format!("is {number}, no whole number of milliseconds"))?;
            if whole.abs() < MILLISECONDS_MIN {
                return Err(format!(
                    "is {number}, which could be seconds; milliseconds are converted from {MILLISECONDS_MIN} on"
                ));
            }
            time::format(whole).ok_or_else(|| format!("is {number}, beyond the years 0 to 9999"))
        }
        _ => Err("is neither a text nor a number".to_owned()),
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
    use crate::Matter;

    const DOCUMENT: &str = r#"
```contract
system doors
table Doors { type kind }
entity Visit "VISIT" {
  PK = "DOOR#{doorId}"
  SK = "AT#{at}#{visitId}"
  doorId id, visitId id, at time, endsAt time?, state OPEN | SHUT = OPEN, note text(9)?, log list(0..3) of { at time }?
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
                ("note", Value::Null),
                ("colour", Value::from("2026-02-25T10:00:00Z")),
            ],
        );
        assert!(!system.examine(&old).is_empty());
        let new = system.convert(old).item;
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
        assert_eq!(system.convert(new.clone()), Converted { item: new, failures: Vec::new() });
    }

    #[test]
    fn what_stands_in_a_key_alone_is_read_from_a_key_of_another_notation() {
        let system = System::read(DOCUMENT).unwrap();
        let new = system.convert(visit("AT#2026-02-25T10:00:00Z#v1", &[])).item;
        assert_eq!(new.get("SK"), Some(&Value::from("AT#2026-02-25T10:00:00.000Z#v1")));
        assert_eq!(new.get("ByDaySK"), Some(&Value::from("2026-02-25T10:00:00.000Z#d1")));
        assert_eq!(new.get("at"), None);
        assert!(system.examine(&new).is_empty());
    }

    // The reason was not told, only that a time is not as it must be.
    #[test]
    fn what_would_be_guessed_or_lost_stays_and_is_refused_with_the_reason() {
        let system = System::read(DOCUMENT).unwrap();
        let (at, id) = (Value::from(AT), ("visitId", Value::from("v1")));
        let cases = [
            // Another instant, and another item.
            (
                "AT#2026-02-25T10:00:01Z#v1",
                at.clone(),
                "`SK` is `AT#2026-02-25T10:00:01Z#v1`, and the attributes make `AT#2026-02-25T10:00:00.000Z#v1` of it",
            ),
            (
                "AT#2026-02-25T10:00:00Z#v2",
                at,
                "`SK` is `AT#2026-02-25T10:00:00Z#v2`, and the attributes make `AT#2026-02-25T10:00:00.000Z#v1` of it",
            ),
            (
                "AT#2026-02-25T10:00:00Z#v1",
                Value::from("2026-02-25T10:00:00.0001Z"),
                "`at` is `2026-02-25T10:00:00.0001Z`, which is finer than a millisecond",
            ),
            (
                "AT#2026-02-25T10:00:00.0001Z#v1",
                Value::from(AT),
                "`SK` is `AT#2026-02-25T10:00:00.0001Z#v1`, and the attributes make",
            ),
            (
                "AT#2026-02-25T10:00:00Z#v1",
                Value::from(1_772_013_600),
                "`at` is 1772013600, which could be seconds; milliseconds are converted from 100000000000 on",
            ),
            (
                "AT#2026-02-25T10:00:00Z#v1",
                Value::from("10 o'clock"),
                "`at` is `10 o'clock`, which is no RFC 3339 time",
            ),
        ];
        for (sort, at, told) in cases {
            let new = system.convert(visit(sort, &[("at", at.clone()), id.clone()]));
            assert_eq!(new.item.get("SK"), Some(&Value::from(sort)), "{sort} {at:?}");
            assert!(!system.examine(&new.item).is_empty(), "{sort} {at:?}");
            assert!(new.failures.iter().any(|why| why.starts_with(told)), "{:?}", new.failures);
        }
        let other =
            item(&[("PK", Value::from("A#2026-02-25T10:00:00Z")), ("SK", Value::from("B"))]);
        assert_eq!(system.convert(other.clone()).item, other);
    }

    // A default that is computed was left out, and the item was missing from the index that is made of it.
    #[test]
    fn a_computed_default_is_added_with_its_place_in_an_index() {
        let document = DOCUMENT
            .replace(
                "log list",
                "sorts text(200)? = coalesce(\"A{note}\", \"B{visitId}\"), log list",
            )
            .replace("SK = \"{at}#{doorId}\"", "SK = \"{sorts}\"")
            .replace(
                "  expires endsAt",
                "  waive forged-key \"it is the end of the key\"\n  expires endsAt",
            );
        let system = System::read(&document).unwrap();
        let old = || {
            let others = [
                ("at", Value::from(AT)),
                ("visitId", Value::from("v1")),
                ("doorId", Value::from("d1")),
            ];
            visit("AT#2026-02-25T10:00:00.000Z#v1", &others)
        };
        let found: Vec<Matter> =
            system.findings(&old()).into_iter().map(|one| one.matter).collect();
        assert_eq!(found, [Matter::Unlisted(Text::const_new("ByDay"))]);
        assert!(system.examine(&old()).is_empty(), "it is older than the index");
        for (note, sorts) in [(None, "Bv1"), (Some("n"), "An")] {
            let mut old = old();
            note.into_iter().for_each(|note| drop(old.insert("note", Value::from(note))));
            let Converted { item: new, failures } = system.convert(old);
            assert_eq!(failures, Vec::<String>::new());
            assert_eq!(new.get("sorts"), Some(&Value::from(sorts)));
            assert_eq!(new.get("ByDaySK"), Some(&Value::from(sorts)));
            assert!(system.findings(&new).is_empty());
        }
    }

    // The item passed, and the sweep, or DynamoDB, removed an item that has no end.
    #[test]
    fn an_item_that_is_removed_and_has_no_end_is_refused_or_gets_the_end() {
        let system = System::read(DOCUMENT).unwrap();
        let old = |second: i64| {
            let others = [("at", Value::from(AT)), ("visitId", Value::from("v1"))];
            let mut old = visit("AT#2026-02-25T10:00:00.000Z#v1", &others);
            drop(old.insert("ByDayPK", Value::from("DAY#2026-02-25")));
            drop(old.insert("ByDaySK", Value::from("2026-02-25T10:00:00.000Z#d1")));
            drop(old.insert("expires", Value::from(second)));
            old
        };
        let told = "Visit: `expires` must not be there: a table removes items by it, and this one has no end";
        assert_eq!(system.examine(&old(1_772_013_601)), [told]);
        let new = system.convert(old(1_772_013_601));
        assert_eq!(new.item.get("endsAt"), Some(&Value::from("2026-02-25T10:00:01.000Z")));
        assert_eq!(new.item.get("expires"), Some(&Value::from(1_772_013_601)));
        assert!(new.failures.is_empty() && system.examine(&new.item).is_empty());
        let far = system.convert(old(i64::MAX));
        assert_eq!(system.examine(&far.item), [told]);
        assert_eq!(
            far.failures,
            [
                "`expires` is 9223372036854775807, which is no whole number of seconds up to the year 9999"
            ]
        );
        // One that is removed before its end is refused, too; a later second does no harm.
        for (second, told) in [
            (
                1_772_013_600,
                Some(
                    "Visit: `expires` must be `1772013601`: the item would be removed before its end",
                ),
            ),
            (1_772_013_601, None),
            (1_772_013_602, None),
        ] {
            let mut ending = old(second);
            drop(ending.insert("endsAt", Value::from("2026-02-25T10:00:00.500Z")));
            assert_eq!(system.examine(&ending), told.into_iter().collect::<Vec<_>>(), "{second}");
        }
    }
}
