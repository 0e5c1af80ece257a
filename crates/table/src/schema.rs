//! The shape of a table: the names of its keys and of its indexes.

use crate::limits::{
    INDEXES_MAX, ITEM_BYTES_MAX, KEY_NAME_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
    TABLE_NAME_BYTES,
};
use crate::{Datum, Invalid, Item, KeyText, Map, Text, Value, validate};
use latchkey_value::name::key_attributes;

/// A table's name, its key attributes and its indexes. Every key is a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The table's name.
    pub name: Text,
    /// The attributes that make an item's key.
    pub key: KeyNames,
    /// The global indexes; each holds whole items.
    pub indexes: Vec<Index>,
}

/// The names of a partition and a sort attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyNames {
    /// The attribute whose value chooses the partition.
    pub partition: Text,
    /// The attribute whose value orders the partition.
    pub sort: Text,
}

/// A global index: the items that have both its attributes, partitioned and ordered by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The index's name.
    pub name: Text,
    /// The attributes that make its key.
    pub key: KeyNames,
}

/// A place in a table or an index.
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

impl<T: KeyText> Key<T> {
    /// Refuses a key that is empty or too long.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate::partition(&self.partition)?;
        validate::sort(&self.sort)
    }
}

impl KeyNames {
    /// The names that a table, or an index, has unless it says otherwise.
    fn standard(index: Option<&str>) -> KeyNames {
        let [partition, sort] = key_attributes(index);
        KeyNames::new(partition, sort)
    }

    /// The names of a partition and a sort attribute.
    pub fn new(partition: impl Into<Text>, sort: impl Into<Text>) -> KeyNames {
        KeyNames { partition: partition.into(), sort: sort.into() }
    }

    fn validate(&self) -> Result<(), Invalid> {
        for name in [&self.partition, &self.sort] {
            if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX {
                return Err(Invalid::KeyName { name: name.clone() });
            }
        }
        if self.partition == self.sort {
            return Err(Invalid::KeyName { name: self.sort.clone() });
        }
        Ok(())
    }

    /// The partition and sort text under these names, if the item has both.
    pub fn parts<'a>(&self, item: &'a Item) -> Option<(&'a Text, &'a Text)> {
        Some((item.get(&self.partition)?.as_text()?, item.get(&self.sort)?.as_text()?))
    }

    /// The key under these names, if the item has both and both are texts.
    pub fn of(&self, item: &Item) -> Option<Key> {
        let (partition, sort) = self.parts(item)?;
        Some(Key { partition: partition.clone(), sort: sort.clone() })
    }

    /// An item of a key and nothing else.
    pub fn item<V: Datum>(&self, key: &Key<V::Text>) -> Map<V> {
        let (partition, sort) = (key.partition.clone(), key.sort.clone());
        [(self.partition.clone(), partition), (self.sort.clone(), sort)].into_iter().collect()
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
        self.indexes.push(Index { name: name.into(), key });
        self
    }

    /// The index of a name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The attributes that are keys of the table or of its indexes, each once.
    pub fn key_attributes(&self) -> Vec<&str> {
        let mut names = vec![self.key.partition.as_str(), self.key.sort.as_str()];
        for index in &self.indexes {
            names.extend([index.key.partition.as_str(), index.key.sort.as_str()]);
        }
        names.sort_unstable();
        names.dedup();
        names
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
        self.indexes.iter().try_for_each(|index| index.key.validate())
    }

    /// The key of an item, which it must have.
    pub fn key_of(&self, item: &Item) -> Result<Key, Invalid> {
        let key = self.key.of(item).ok_or_else(|| Invalid::NoKey { names: self.key.clone() })?;
        key.validate()?;
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
            for name in [&index.key.partition, &index.key.sort] {
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
        let bytes_max = if *name == self.key.partition {
            PARTITION_KEY_BYTES_MAX
        } else if *name == self.key.sort {
            SORT_KEY_BYTES_MAX
        } else {
            return Ok(());
        };
        match value {
            Value::Text(text) if (1..=bytes_max).contains(&text.len()) => Ok(()),
            _ => Err(Invalid::IndexKey { index: self.name.clone(), name: name.clone() }),
        }
    }
}

#[cfg(test)]
mod tests;
