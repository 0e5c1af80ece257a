//! How a table differs from the one that a document needs.

use std::fmt;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, GlobalSecondaryIndexDescription, IndexStatus, KeySchemaElement, KeyType,
    ProjectionType, ScalarAttributeType, TableDescription, TableStatus,
};
use latchkey_table::{KeyNames, Schema};

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// Another key.
    Key {
        /// What it should be.
        wanted: KeyNames,
        /// What it is.
        found: String,
    },
    /// A key attribute that is not a text.
    Type {
        /// The attribute.
        attribute: String,
        /// Its type, as DynamoDB writes it.
        found: String,
    },
    /// A missing index.
    NoIndex(String),
    /// An index with another key.
    IndexKey {
        /// The index.
        index: String,
        /// What its key should be.
        wanted: KeyNames,
        /// What it is.
        found: String,
    },
    /// An index that does not hold whole items.
    Projection {
        /// The index.
        index: String,
        /// What it holds, as DynamoDB writes it.
        found: String,
    },
    /// A table or an index that is not active.
    NotActive(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Key { wanted, found } => {
                write!(f, "its key is {found}, not {}, {}", wanted.partition, wanted.sort)
            }
            Mismatch::Type { attribute, found } => {
                write!(f, "its key attribute `{attribute}` is of type {found}, not S")
            }
            Mismatch::NoIndex(index) => write!(f, "it has no index `{index}`"),
            Mismatch::IndexKey { index, wanted, found } => write!(
                f,
                "the key of its index `{index}` is {found}, not {}, {}",
                wanted.partition, wanted.sort
            ),
            Mismatch::Projection { index, found } => {
                write!(f, "its index `{index}` holds {found} of an item, not ALL")
            }
            Mismatch::NotActive(what) => write!(f, "{what} is not active"),
        }
    }
}

pub(super) fn differences(schema: &Schema, table: &TableDescription) -> Vec<Mismatch> {
    let mut differences = Vec::new();
    let (same, found) = compared(&schema.key, table.key_schema());
    if !same {
        differences.push(Mismatch::Key { wanted: schema.key.clone(), found });
    }
    for name in schema.key_attributes() {
        let named = |one: &&AttributeDefinition| one.attribute_name == name;
        let Some(found) = table.attribute_definitions().iter().find(named) else { continue };
        if found.attribute_type != ScalarAttributeType::S {
            let (attribute, found) = (name.to_owned(), found.attribute_type.to_string());
            differences.push(Mismatch::Type { attribute, found });
        }
    }
    if let Some(status) = table.table_status.as_ref().filter(|one| **one != TableStatus::Active) {
        differences.push(Mismatch::NotActive(format!("the table ({status})")));
    }
    for index in &schema.indexes {
        let named = |found: &&GlobalSecondaryIndexDescription| {
            found.index_name() == Some(index.name.as_str())
        };
        let name = index.name.to_string();
        let Some(found) = table.global_secondary_indexes().iter().find(named) else {
            differences.push(Mismatch::NoIndex(name));
            continue;
        };
        let (same, key) = compared(&index.key, found.key_schema());
        if !same {
            let (index, wanted) = (name.clone(), index.key.clone());
            differences.push(Mismatch::IndexKey { index, wanted, found: key });
        }
        let projection = found.projection().and_then(|projection| projection.projection_type());
        if let Some(other) = projection.filter(|one| **one != ProjectionType::All) {
            let (index, found) = (name.clone(), other.to_string());
            differences.push(Mismatch::Projection { index, found });
        }
        if let Some(status) = found.index_status.as_ref().filter(|one| **one != IndexStatus::Active)
        {
            differences.push(Mismatch::NotActive(format!("its index `{name}` ({status})")));
        }
    }
    differences
}

/// Whether a key has these names, and the key for people.
fn compared(wanted: &KeyNames, found: &[KeySchemaElement]) -> (bool, String) {
    let of = |kind: KeyType| {
        let element = found.iter().find(|element| element.key_type == kind);
        element.map(|element| element.attribute_name.as_str())
    };
    let (partition, sort) = (of(KeyType::Hash), of(KeyType::Range));
    let same = partition == Some(wanted.partition.as_str()) && sort == Some(wanted.sort.as_str());
    let names: Vec<&str> = [partition, sort].into_iter().flatten().collect();
    (same, if sort.is_none() { format!("{} alone", names.join(", ")) } else { names.join(", ") })
}
