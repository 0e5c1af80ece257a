//! The table: the attributes that hold its keys, and its indexes.

use latchkey_language::ast::KeyPart;
use latchkey_language::{Name, Span};
use latchkey_value::name::key_attributes;

use super::{By, Model};

/// The table and the attribute that tells its entities apart.
#[derive(Debug, Default)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The attribute that tells entities apart.
    pub discriminator: String,
    /// The attribute by which a store removes items: a number of seconds.
    pub ttl: String,
    /// The attributes that hold an item's key.
    pub key: KeyNames,
}

/// An index of the table.
#[derive(Debug)]
pub struct TableIndex {
    /// Its name.
    pub name: String,
    /// The attributes that hold an item's key in it.
    pub key: KeyNames,
    /// The attributes that it holds beside keys; `None` where it holds whole items.
    pub holds: Option<Vec<Name>>,
    /// Where it is first declared.
    pub span: Span,
}

/// The attributes that hold a key.
#[derive(Debug, Clone, Default)]
pub struct KeyNames {
    /// Of the partition.
    pub partition: KeyAttribute,
    /// Of the place within the partition, if there is one.
    pub sort: Option<KeyAttribute>,
}

/// An attribute that holds a part of a key.
#[derive(Debug, Clone, Default)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Whether it holds numbers, and not texts. The key is then an attribute of every entity, and nothing else.
    pub number: bool,
}

impl Model {
    /// The attributes of the key by which a query reads.
    pub fn key_names(&self, by: By) -> Option<&KeyNames> {
        match by {
            By::Table => Some(&self.table.key),
            By::Index(id) => Some(&self.indexes[id].key),
            By::Unknown => None,
        }
    }
}

impl KeyNames {
    /// The names that a table, or an index, has unless it says otherwise.
    pub(crate) fn standard(index: Option<&str>) -> KeyNames {
        let [partition, sort] =
            key_attributes(index).map(|name| KeyAttribute { name, number: false });
        KeyNames { partition, sort: Some(sort) }
    }

    /// All that there are, the partition first.
    pub fn iter(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// The attribute of a part, if there is one.
    pub fn attribute(&self, part: KeyPart) -> Option<&KeyAttribute> {
        match part {
            KeyPart::Partition => Some(&self.partition),
            KeyPart::Sort => self.sort.as_ref(),
        }
    }

    /// Whether an attribute is one of them.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|attribute| attribute.name == name)
    }

    /// Whether a part holds numbers.
    pub(crate) fn is_number(&self, part: KeyPart) -> bool {
        self.attribute(part).is_some_and(|attribute| attribute.number)
    }
}
