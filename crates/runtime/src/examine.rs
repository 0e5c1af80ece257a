//! Compares items with the document, one by one, for items that come from outside, such as an import.

use std::borrow::Cow;
use std::fmt;

use latchkey_table::{Item, Number, Text, Value};

use crate::bug::Bug;
use crate::draw::KEY_BYTES;
use crate::evaluate::push;
use crate::expiry::second_of;
use crate::input::read_stored;
use crate::plan::{Attribute, Entity, IndexShape, InputType, Part, System, made};

/// The prefix of the keys of Latchkey's own items.
pub(crate) const HOUSEKEEPING: &str = "LATCHKEY#";

/// Something about an item that is not as the document says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The entity; none if the item has the type of none.
    pub entity: Option<Text>,
    /// What it is about.
    pub matter: Matter,
    /// What is wrong, for people.
    pub detail: String,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// The item is of no entity. No contract sees it.
    Type,
    /// An attribute is missing, or has a value of another type.
    Attribute(Text),
    /// An attribute has a value of its type, with another bound, length or pattern than declared, or with members that are
    /// not declared. Contracts read it.
    Loose(Text),
    /// A key of the table is not what the attributes make of it. Contracts look for the item elsewhere.
    Key(Text),
    /// The item is not where it belongs in an index. Contracts that ask the index do not find it.
    Index(Text),
    /// The item has no place in an index, because it lacks what a new item has: a default that counts for it, or one that
    /// is computed when an item is put. Contracts that ask the index do not find it.
    Unlisted(Text),
    /// A store would remove the item before it has ended.
    Removal,
    /// An index holds the item, although its entity has no place there. Contracts that ask the index pass it over.
    Stray(Text),
    /// An index holds the item, and not its type; by its key, contracts that ask the index take it for one of theirs.
    Mistaken(Text),
}

impl Matter {
    /// The attribute that is missing or of another type, if it is about one.
    fn attribute(&self) -> Option<Text> {
        match self {
            Matter::Attribute(name) => Some(name.clone()),
            _ => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entity {
            Some(entity) => write!(f, "{entity}: {}", self.detail),
            None => f.write_str(&self.detail),
        }
    }
}

impl System {
    /// All that is wrong with an item by what the document says: its type, its attributes, its key and its places in
    /// indexes. Attributes that the document does not declare pass, and so does what Latchkey keeps for itself. An item
    /// that is only older than a part of an index passes, too, and so does one that contracts pass over in an index.
    pub fn examine(&self, item: &Item) -> Vec<String> {
        let found = self.findings(item).into_iter();
        let wrong =
            found.filter(|found| !matches!(found.matter, Matter::Unlisted(_) | Matter::Stray(_)));
        wrong.map(|found| found.to_string()).collect()
    }

    /// All that is not as the document says, and all indexes that do not have the item although it belongs there.
    pub fn findings(&self, item: &Item) -> Vec<Finding> {
        let of_no_entity = |detail| {
            let of = |(matter, detail)| Finding { entity: None, matter, detail };
            let strays: Vec<Finding> =
                self.examine_strays(None, item).into_iter().map(of).collect();
            // What contracts take for one of theirs is not nobody's.
            let mistaken = strays.iter().any(|stray| matches!(stray.matter, Matter::Mistaken(_)));
            let own = Finding { entity: None, matter: Matter::Type, detail };
            Some(own).filter(|_| !mistaken).into_iter().chain(strays).collect()
        };
        let Some(key) = self.table.key.of(item) else {
            return of_no_entity("it has no key".to_owned());
        };
        if key.partition.starts_with(HOUSEKEEPING) {
            return Vec::new();
        }
        let kind = &self.discriminator;
        let Some(found) = item.get(kind) else {
            return of_no_entity(format!("`{kind}`, which tells its type, is missing"));
        };
        let Some(entity) = self.entities.iter().find(|entity| entity.kind == *found) else {
            return of_no_entity(format!("`{kind}` names no entity of the document"));
        };
        // What stands in its key alone, it has.
        let stored = item;
        let mut whole = Cow::Borrowed(item);
        for attribute in entity.attributes.iter().filter(|it| item.get(&it.name).is_none()) {
            if let Some(value) = entity.read_back(item, attribute, None) {
                whole.to_mut().insert(attribute.name.clone(), value);
            }
        }
        let item = whole.as_ref();
        let mut wrong: Vec<(Matter, String)> =
            entity.attributes.iter().filter_map(|attribute| attribute.examine(item)).collect();
        // Keys are made of attributes, so these must be right.
        let unmade: Vec<Text> = wrong.iter().filter_map(|(matter, _)| matter.attribute()).collect();
        wrong.extend(self.examine_keys(entity, (stored, item), &unmade).unwrap_or_else(|bug| {
            vec![(Matter::Key(self.table.key.partition.name.clone()), bug.to_string())]
        }));
        wrong.extend(self.examine_removal(entity, item));
        wrong.extend(self.examine_strays(Some(entity), stored));
        let of = |(matter, detail)| Finding { entity: Some(entity.name.clone()), matter, detail };
        wrong.into_iter().map(of).collect()
    }

    /// Compares the keys of an item, as it is stored and with what its key tells, with what its attributes make. Keys
    /// that are made of some of the attributes are left out.
    fn examine_keys(
        &self,
        entity: &Entity,
        (stored, item): (&Item, &Item),
        unmade: &[Text],
    ) -> Result<Vec<(Matter, String)>, Bug> {
        let is_made = |parts: &[Part]| {
            let open =
                |part: &Part| matches!(part, Part::Attribute(name, _) if unmade.contains(name));
            !parts.iter().any(open)
        };
        let mut expected = Vec::new();
        for (attribute, parts) in
            self.table.key.iter().zip([&entity.key.partition, &entity.key.sort])
        {
            if is_made(parts) {
                let matter = Matter::Key(attribute.name.clone());
                expected.push((matter, &attribute.name, made(attribute, parts, item)?));
            }
        }
        let mut wrong = Vec::new();
        for index in &entity.indexes {
            if !is_made(&index.key.partition) || !is_made(&index.key.sort) {
                continue;
            }
            let whole = index.has(item)?;
            wrong.extend(unlisted(entity, index, item).filter(|_| !whole));
            for (attribute, parts, own) in index.halves() {
                let matter = Matter::Index(index.name.clone());
                let made = made(attribute, parts, item)?.filter(|_| whole);
                // An attribute or another key is where it is, or stands in the key of the table alone.
                let alone = stored.get(&attribute.name).is_none() && made.is_some();
                if own || alone {
                    expected.push((matter, &attribute.name, made));
                }
            }
        }
        for (matter, name, made) in expected {
            match (stored.get(name), made) {
                (None, None) => {}
                (Some(found), Some(made)) if *found == made => {}
                (_, Some(made)) => {
                    let mut text = Text::default();
                    push(&mut text, &made, None)?;
                    wrong.push((matter, format!("`{name}` must be `{text}`")));
                }
                (Some(_), None) => wrong.push((matter, format!("`{name}` must not be there"))),
            }
        }
        Ok(wrong)
    }

    /// The indexes that hold an item although its entity, if it has one, has no place there.
    fn examine_strays(&self, entity: Option<&Entity>, item: &Item) -> Vec<(Matter, String)> {
        let mut strays = Vec::new();
        for index in self.table.indexes.iter().filter(|index| index.key.of(item).is_some()) {
            let name = &index.name;
            let has_place = |one: &Entity| one.indexes.iter().any(|place| place.name == *name);
            if entity.is_some_and(has_place) {
                continue;
            }
            let typed = index.has(&self.table.key, &self.discriminator);
            let takes = |one: &&Entity| !typed && has_place(one) && one.is_key_of(item);
            strays.push(match self.entities.iter().find(takes) {
                Some(other) => {
                    let detail = format!(
                        "`{name}` holds it and not its type, and it has the key of a `{}`",
                        other.name
                    );
                    (Matter::Mistaken(name.clone()), detail)
                }
                None => {
                    let keys = index.key.iter().map(|key| format!("`{}`", key.name));
                    let keys = keys.collect::<Vec<_>>().join(" and ");
                    (Matter::Stray(name.clone()), format!("`{name}` holds it: it has {keys}"))
                }
            });
        }
        strays
    }

    /// Whether a store would remove an item that has not ended.
    fn examine_removal(&self, entity: &Entity, item: &Item) -> Option<(Matter, String)> {
        let name = &self.ttl;
        let removed = item.get(name).and_then(Value::as_number)?;
        let end = entity.end.as_ref().and_then(|end| item.get(&end.attribute)?.as_text());
        let detail = match end.map(|end| second_of(end)) {
            None => format!(
                "`{name}` must not be there: a table removes items by it, and this one has no end"
            ),
            Some(Some(second)) if removed < Number::from(second) => {
                format!("`{name}` must be `{second}`: the item would be removed before its end")
            }
            // An end that is none is told as an attribute.
            Some(_) => return None,
        };
        Some((Matter::Removal, detail))
    }
}

/// That an item has no place in an index for want of attributes that every new item has.
fn unlisted(entity: &Entity, index: &IndexShape, item: &Item) -> Option<(Matter, String)> {
    let lacks = index.key.attributes().filter(|name| item.get(name).is_none());
    let lacks: Vec<&Text> = lacks.collect();
    let later = |name: &Text| {
        let attribute = entity.attributes.iter().find(|attribute| attribute.name == *name);
        attribute.is_some_and(|attribute| attribute.computed || attribute.has_default)
    };
    if lacks.is_empty() || !lacks.iter().all(|name| later(name)) {
        return None;
    }
    let names = lacks.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let name = &index.name;
    Some((Matter::Unlisted(name.clone()), format!("`{name}` does not have it: {names} is missing")))
}

impl Attribute {
    /// What is wrong with it in an item.
    pub(crate) fn examine(&self, item: &Item) -> Option<(Matter, String)> {
        let name = &self.name;
        let detail = match (item.get(name), &self.kind) {
            (None, _) if self.optional || self.has_default => return None,
            (None, _) => "is missing".to_owned(),
            (Some(Value::Bytes(key)), InputType::Never) if key.len() == KEY_BYTES => return None,
            (Some(_), InputType::Never) => format!("must be {KEY_BYTES} bytes"),
            (Some(value), kind) => match read_stored(kind, name, value) {
                Ok(read) if read.as_ref() == Some(value) => return None,
                Ok(_) if matches!(kind, InputType::Time) => {
                    "must be written in UTC and in fixed width".to_owned()
                }
                Ok(_) => "is stored in another form than it is declared with".to_owned(),
                Err(error) => match error.pointer.trim_start_matches('/') == name {
                    true => error.detail,
                    false => format!("has a mistake at {}: {}", error.pointer, error.detail),
                },
            },
        };
        let read = item.get(name).is_some_and(|value| self.kind.is_shape_of(value));
        let matter = if read { Matter::Loose } else { Matter::Attribute };
        Some((matter(name.clone()), format!("`{name}` {detail}")))
    }
}
