//! Whether a stored item is of an entity, and is as the document declares it.
//!
//! Every item a contract reads passes here once: one walk through its attributes, which both lists have in the order
//! of their names.

use latchkey_table::{Item, Text, Value};

use crate::bug::{Bug, Damage};
use crate::plan::{Attribute, Entity, InputType, Sight};
use crate::time;

/// How long an instant is as it is stored.
const TIME_BYTES: usize = 24;

/// An item as contracts see it.
pub(crate) struct Seen {
    pub(crate) item: Item,
    /// The attributes that are not stored, and have their declared default or stand in a key.
    pub(crate) assumed: Vec<Text>,
}

/// What an item has beside what is stored under the names of its attributes.
#[derive(Default)]
pub(crate) struct Unstored {
    /// The attributes that are left to their default.
    defaults: Vec<Text>,
    /// Those that were read back from a key.
    read_back: Vec<(Text, Value)>,
}

impl Entity {
    /// Whether an item is of this entity.
    pub(crate) fn is_type_of(&self, discriminator: &str, item: &Item) -> bool {
        item.get(discriminator) == Some(&self.kind)
    }

    /// Whether the key of an item is one that this entity makes. It tells whose an item is where its type is left out.
    pub(crate) fn is_key_of(&self, item: &Item) -> bool {
        self.fits.iter().all(|fit| fit.has(item))
    }

    /// An item of this entity as contracts see it, with what [`Entity::examine_shape`] has found beside it.
    pub(crate) fn with_unstored(&self, mut item: Item, unstored: Unstored) -> Result<Seen, Bug> {
        let Unstored { defaults: mut assumed, read_back } = unstored;
        for name in &assumed {
            let default = self.defaults.iter().find(|(other, _)| other == name);
            let (_, default) = default.ok_or_else(|| Bug::new("an assumed default is missing"))?;
            item.insert(name.clone(), default.clone());
        }
        for (name, value) in read_back {
            item.insert(name.clone(), value);
            assumed.push(name);
        }
        Ok(Seen { item, assumed })
    }

    /// Walks through the attributes of an item of this entity, and returns those that it has and that are not stored.
    pub(crate) fn examine_shape(
        &self,
        item: &Item,
        sight: Option<&Sight>,
    ) -> Result<Unstored, Damage> {
        let mut unstored = Unstored::default();
        let mut stored = item.iter().peekable();
        for attribute in &self.attributes {
            while stored.next_if(|(name, _)| **name < attribute.name).is_some() {}
            match stored.next_if(|(name, _)| **name == attribute.name) {
                Some((_, value)) if attribute.kind.is_shape_of(value) => {}
                Some(_) => return Err(Damage::Mistyped(attribute.name.clone())),
                None if let Some(value) = self.read_back(item, attribute, sight) => {
                    unstored.read_back.push((attribute.name.clone(), value));
                }
                None if attribute.optional => {}
                None if sight.is_some_and(|sight| sight.leaves_out(&attribute.name)) => {}
                None if attribute.has_default => unstored.defaults.push(attribute.name.clone()),
                None => return Err(Damage::Missing(attribute.name.clone())),
            }
        }
        Ok(unstored)
    }

    /// An attribute that an item has in a key alone.
    pub(crate) fn read_back(
        &self,
        item: &Item,
        attribute: &Attribute,
        sight: Option<&Sight>,
    ) -> Option<Value> {
        let value = match sight {
            Some(sight) => sight.read_back(item, &attribute.name),
            None if attribute.in_key => {
                self.backs.iter().find_map(|back| back.read(item, &attribute.name))
            }
            None => None,
        };
        value.filter(|value| attribute.kind.is_shape_of(value))
    }
}

impl InputType {
    /// Whether a stored value is of this type. Bounds, lengths and patterns may have been others when it was written.
    pub(crate) fn is_shape_of(&self, value: &Value) -> bool {
        match (self, value) {
            (InputType::Id | InputType::Ulid | InputType::Text { .. }, Value::Text(_)) => true,
            (InputType::Enum(words), Value::Text(word)) => words.contains(word),
            (InputType::Time, Value::Text(text)) => is_canonical(text),
            (InputType::Date, Value::Text(text)) => time::parse_date(text).is_some(),
            (InputType::Int { .. }, Value::Number(number)) => number.exponent() >= 0,
            (InputType::Number { .. }, Value::Number(_)) => true,
            (InputType::Bool, Value::Bool(_)) => true,
            (InputType::List, Value::List(_)) => true,
            (InputType::Map { .. }, Value::Map(_)) => true,
            (InputType::ListOf(list), Value::List(values)) => {
                values.iter().all(|value| list.of.is_shape_of(value))
            }
            (InputType::SetOf { of, .. }, Value::TextSet(set)) => match of.as_ref() {
                InputType::Enum(words) => set.iter().all(|word| words.contains(word)),
                _ => true,
            },
            (InputType::Record(members), Value::Map(map)) => {
                members.iter().all(|member| match map.get(&member.name) {
                    Some(value) => member.kind.is_shape_of(value),
                    None => member.optional,
                })
            }
            // A key that draws, which no caller gives.
            (InputType::Never, Value::Bytes(_)) => true,
            _ => false,
        }
    }
}

/// Whether a text is an instant as it is stored: in UTC and in fixed width, so that texts sort as instants do.
fn is_canonical(text: &str) -> bool {
    let fixed = matches!(text.as_bytes(), [_, _, _, _, _, _, _, _, _, _, b'T', .., b'Z']);
    fixed && text.len() == TIME_BYTES && time::parse(text).is_some()
}
