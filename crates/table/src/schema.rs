//! The shape of a table: the names of its keys and of its indexes.
//!
//! A [`Key`] is always a pair of texts. Where a key attribute is a number, its text is the one of
//! [`Number::to_key`](crate::Number::to_key), which sorts as the number does; where there is no sort key, its text is
//! empty. Only this module, and what renders requests, knows the difference.

use std::borrow::Cow;
use std::fmt;

use crate::limits::{
    INDEXES_MAX, ITEM_BYTES_MAX, KEY_NAME_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
    TABLE_NAME_BYTES,
};
use crate::{
    Datum, Invalid, Item, KeyText, Map, Number, Projection, SortRange, Text, Value, validate,
};
use latchkey_value::name::key_attributes;

/// A table's name, its key attributes and its indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The table's name.
    pub name: Text,
    /// The attributes that make an item's key.
    pub key: KeyNames,
    /// The global indexes.
    pub indexes: Vec<Index>,
}

/// The attributes that make a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyNames {
    /// The attribute whose value chooses the partition.
    pub partition: KeyAttribute,
    /// The attribute whose value orders the partition, if there is one: without it, a partition of a table has one
    /// item.
    pub sort: Option<KeyAttribute>,
}

/// An attribute that is part of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyAttribute {
    /// Its name.
    pub name: Text,
    /// Of which type its values are.
    pub value_type: KeyType,
}

/// What values of a key attribute are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyType {
    /// Texts.
    Text,
    /// Numbers.
    Number,
}

/// A global index: the items that have its attributes, partitioned and ordered by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The index's name.
    pub name: Text,
    /// The attributes that make its key.
    pub key: KeyNames,
    /// What it holds of each item.
    pub holds: Projection,
}

/// A place in a table or an index, as texts: see the module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<T = Text> {
    /// The partition.
    pub partition: T,
    /// The place within the partition.
    pub sort: T,
}

impl Key {
    /// The key of a partition and a place in it.
    pub fn new(partition: impl Into<Text>, sort: impl Into<Text>) -> Key {
        Key { partition: partition.into(), sort: sort.into() }
    }
}

impl KeyType {
    /// DynamoDB's letter for it.
    pub fn code(self) -> &'static str {
        match self {
            KeyType::Text => "S",
            KeyType::Number => "N",
        }
    }
}

impl KeyAttribute {
    /// An attribute whose values are texts.
    pub fn text(name: impl Into<Text>) -> KeyAttribute {
        KeyAttribute { name: name.into(), value_type: KeyType::Text }
    }

    /// An attribute whose values are numbers.
    pub fn number(name: impl Into<Text>) -> KeyAttribute {
        KeyAttribute { name: name.into(), value_type: KeyType::Number }
    }

    /// The text of an item's value in a key, if the item has one of the type.
    fn of<'a>(&self, item: &'a Item) -> Option<Cow<'a, str>> {
        let value = item.get(&self.name)?;
        match self.value_type {
            KeyType::Text => value.as_text().map(|text| Cow::Borrowed(text.as_str())),
            KeyType::Number => value.as_number().map(|number| number.to_key().into_string().into()),
        }
    }

    /// What a text in a key stands for.
    pub fn datum<V: Datum>(&self, text: &V::Text) -> V {
        match self.value_type {
            KeyType::Text => text.clone().into(),
            KeyType::Number => V::of_number_key(text),
        }
    }

    /// The value of a text in a key.
    pub fn value(&self, text: Text) -> Value {
        match self.value_type {
            KeyType::Text => Value::Text(text),
            KeyType::Number => Value::of_number_key(&text),
        }
    }

    /// Whether a value can be this part of a key.
    fn takes(&self, value: &Value, bytes_max: usize) -> bool {
        match (self.value_type, value) {
            (KeyType::Text, Value::Text(text)) => (1..=bytes_max).contains(&text.len()),
            (KeyType::Number, Value::Number(_)) => true,
            _ => false,
        }
    }

    /// Refuses a text that is no key of the type.
    fn validate<T: KeyText>(
        &self,
        text: &T,
        of_text: impl Fn(&T) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        match self.value_type {
            KeyType::Text => of_text(text),
            KeyType::Number if text.is_number_key() => Ok(()),
            KeyType::Number => Err(Invalid::NumberKey { name: self.name.clone() }),
        }
    }
}

impl KeyNames {
    /// The names that a table, or an index, has unless it says otherwise.
    fn standard(index: Option<&str>) -> KeyNames {
        let [partition, sort] = key_attributes(index);
        KeyNames::new(partition, sort)
    }

    /// The names of a partition and a sort attribute, both of texts.
    pub fn new(partition: impl Into<Text>, sort: impl Into<Text>) -> KeyNames {
        let (partition, sort) = (KeyAttribute::text(partition), KeyAttribute::text(sort));
        KeyNames { partition, sort: Some(sort) }
    }

    /// All that there are, the partition first.
    pub fn iter(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// Whether both parts are there and are texts.
    pub fn is_of_two_texts(&self) -> bool {
        let texts = self.iter().filter(|attribute| attribute.value_type == KeyType::Text);
        texts.count() == 2
    }

    fn validate(&self) -> Result<(), Invalid> {
        for KeyAttribute { name, .. } in self.iter() {
            if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX {
                return Err(Invalid::KeyName { name: name.clone() });
            }
        }
        match &self.sort {
            Some(sort) if self.partition.name == sort.name => {
                Err(Invalid::KeyName { name: sort.name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a key that is empty or too long, or not of the types.
    pub fn validate_key<T: KeyText>(&self, key: &Key<T>) -> Result<(), Invalid> {
        self.validate_partition(&key.partition)?;
        match &self.sort {
            Some(sort) => sort.validate(&key.sort, validate::sort),
            None if key.sort.key_bytes() == Some(0) => Ok(()),
            None => Err(Invalid::NoSortKey),
        }
    }

    /// Refuses a partition that is empty or too long, or not of the type.
    pub(crate) fn validate_partition<T: KeyText>(&self, partition: &T) -> Result<(), Invalid> {
        self.partition.validate(partition, validate::partition)
    }

    /// Refuses a range of sort keys that the key cannot have.
    pub(crate) fn validate_range<T: KeyText>(&self, range: &SortRange<T>) -> Result<(), Invalid> {
        match (&self.sort, range) {
            (_, SortRange::All) => Ok(()),
            (None, _) => Err(Invalid::NoSortKey),
            (Some(KeyAttribute { value_type: KeyType::Text, .. }), range) => range.validate(),
            (Some(sort), SortRange::BeginsWith(_)) => {
                Err(Invalid::NumberKey { name: sort.name.clone() })
            }
            (Some(sort), range) => {
                range.validate_order()?;
                let mut bounds = range.bounds().into_iter();
                bounds.try_for_each(|bound| sort.validate(bound, validate::sort))
            }
        }
    }

    /// Whether an attribute is one of them.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|attribute| attribute.name == name)
    }

    /// The partition and sort text under these names, if the item has them.
    pub fn parts<'a>(&self, item: &'a Item) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let sort = match &self.sort {
            Some(sort) => sort.of(item)?,
            None => Cow::Borrowed(""),
        };
        Some((self.partition.of(item)?, sort))
    }

    /// The key under these names, if the item has them and they are of the types.
    pub fn of(&self, item: &Item) -> Option<Key> {
        let (partition, sort) = self.parts(item)?;
        Some(Key { partition: partition.into(), sort: sort.into() })
    }

    /// An item of a key and nothing else.
    pub fn item<V: Datum>(&self, key: &Key<V::Text>) -> Map<V> {
        let parts = self.iter().zip([&key.partition, &key.sort]);
        parts
            .map(|(attribute, text)| (attribute.name.clone(), attribute.datum::<V>(text)))
            .collect()
    }

    /// A key for people.
    pub fn shown(&self, key: &Key) -> String {
        let shown = |(attribute, text): (&KeyAttribute, &Text)| match attribute.value_type {
            KeyType::Text => text.to_string(),
            KeyType::Number => {
                Number::from_key(text).map_or_else(|| text.to_string(), |number| number.to_string())
            }
        };
        let parts: Vec<String> = self.iter().zip([&key.partition, &key.sort]).map(shown).collect();
        parts.join("/")
    }
}

/// With their types: ``text `PK`, text `SK` ``.
impl fmt::Display for KeyNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attribute) in self.iter().enumerate() {
            let kind = match attribute.value_type {
                KeyType::Text => "text",
                KeyType::Number => "number",
            };
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{kind} `{}`", attribute.name)?;
        }
        Ok(())
    }
}

impl Schema {
    /// A table keyed by `PK` and `SK`.
    pub fn new(name: impl Into<Text>) -> Schema {
        Schema { name: name.into(), key: KeyNames::standard(None), indexes: Vec::new() }
    }

    /// Adds an index keyed by `{name}PK` and `{name}SK`.
    #[must_use]
    pub fn with_index(mut self, name: &str) -> Schema {
        let key = KeyNames::standard(Some(name));
        self.indexes.push(Index::new(name, key));
        self
    }

    /// The index of a name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The attributes that are keys of the table or of its indexes, each once.
    pub fn key_attributes(&self) -> Vec<&str> {
        self.typed_key_attributes().into_iter().map(|attribute| attribute.name.as_str()).collect()
    }

    /// The same, with their types.
    pub fn typed_key_attributes(&self) -> Vec<&KeyAttribute> {
        let keys = std::iter::once(&self.key).chain(self.indexes.iter().map(|index| &index.key));
        let mut attributes: Vec<&KeyAttribute> = keys.flat_map(KeyNames::iter).collect();
        attributes.sort_unstable();
        attributes.dedup();
        attributes
    }

    /// Refuses a schema no table can have.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.indexes.len() > INDEXES_MAX {
            return Err(Invalid::TooManyIndexes { count: self.indexes.len() });
        }
        let names = || self.indexes.iter().map(|index| &index.name);
        for name in names().chain([&self.name]) {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
            if !TABLE_NAME_BYTES.contains(&name.len()) || !name.bytes().all(allowed) {
                return Err(Invalid::TableName { name: name.clone() });
            }
        }
        for (at, name) in names().enumerate() {
            if names().skip(at + 1).any(|other| other == name) {
                return Err(Invalid::TableName { name: name.clone() });
            }
        }
        self.key.validate()?;
        self.indexes.iter().try_for_each(|index| index.key.validate())?;
        self.validate_projections()?;
        // An attribute has one type.
        let names = self.key_attributes();
        let twice = names.windows(2).find(|pair| matches!(pair, [a, b] if a == b));
        match twice.and_then(<[&str]>::first) {
            Some(name) => Err(Invalid::KeyName { name: (*name).into() }),
            None => Ok(()),
        }
    }

    /// The key of an item, which it must have.
    pub fn key_of(&self, item: &Item) -> Result<Key, Invalid> {
        let key = self.key.of(item).ok_or_else(|| Invalid::NoKey { names: self.key.clone() })?;
        self.key.validate_key(&key)?;
        Ok(key)
    }

    /// Refuses an item the table cannot hold, and measures it otherwise.
    pub fn validate_item(&self, item: &Item) -> Result<usize, Invalid> {
        for (name, value) in item.iter() {
            validate::name(name)?;
            validate::value(value)?;
        }
        self.key_of(item)?;
        for index in &self.indexes {
            for KeyAttribute { name, .. } in index.key.iter() {
                item.get(name).map_or(Ok(()), |value| index.validate_key(name, value))?;
            }
        }
        match item.size() {
            bytes if bytes > ITEM_BYTES_MAX => Err(Invalid::ItemSize { bytes }),
            bytes => Ok(bytes),
        }
    }
}

impl Index {
    /// Refuses a value that is unfit for a key, if the attribute is one of the index. It may be absent.
    pub(crate) fn validate_key(&self, name: &Text, value: &Value) -> Result<(), Invalid> {
        let bytes_max = [PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX];
        let mut parts = self.key.iter().zip(bytes_max);
        match parts.find(|(attribute, _)| attribute.name == *name) {
            Some((attribute, bytes_max)) if !attribute.takes(value, bytes_max) => {
                Err(Invalid::IndexKey { index: self.name.clone(), name: name.clone() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
