//! How a table differs from the one that a document needs.

use std::fmt;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, GlobalSecondaryIndexDescription, IndexStatus, KeySchemaElement,
    KeyType as SdkKeyType, Projection as SdkProjection, ProjectionType, TableDescription,
    TableStatus,
};
use latchkey_table::{Index, KeyAttribute, KeyNames, KeyType, Projection, Schema, Text, ValueType};

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
    /// A key attribute of another type.
    Type {
        /// The attribute.
        attribute: String,
        /// What its type should be.
        wanted: KeyType,
        /// Its type, as DynamoDB writes it.
        found: String,
        /// The global indexes with this key that the document does not declare: they hold the type.
        held_by: Vec<String>,
    },
    /// An attribute that a document stores as something else than an index needs that no document declares: the service
    /// refuses such items.
    Stored {
        /// The attribute.
        attribute: String,
        /// What it is stored as.
        stored: ValueType,
        /// Its type in the keys of these indexes, as DynamoDB writes it.
        found: String,
        /// The global indexes.
        global: Vec<String>,
        /// The local indexes, which cannot be removed.
        local: Vec<String>,
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
    /// An index that does not hold all that it should.
    Projection {
        /// The index.
        index: String,
        /// What it should hold.
        wanted: Projection,
        /// What it holds.
        found: Projection,
    },
    /// A local index of that name that differs: it is made with its table, and cannot be changed.
    Local {
        /// The index.
        index: String,
        /// How it differs.
        how: String,
    },
    /// A table or an index that is not active.
    NotActive(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Key { wanted, found } => {
                write!(f, "its key is {found}, not {}", named(wanted))
            }
            Mismatch::Type { attribute, wanted, found, .. } => {
                let wanted = wanted.code();
                write!(f, "its key attribute `{attribute}` is of type {found}, not {wanted}")
            }
            Mismatch::Stored { attribute, stored, found, global, local } => {
                let indexes = [&global[..], &local[..]].concat().join(", ");
                write!(
                    f,
                    "the document stores `{attribute}` as {stored}, and it is {found} in an index that the document \
                     does not declare ({indexes}): writes would be refused"
                )
            }
            Mismatch::NoIndex(index) => write!(f, "it has no index `{index}`"),
            Mismatch::IndexKey { index, wanted, found } => {
                write!(f, "the key of its index `{index}` is {found}, not {}", named(wanted))
            }
            Mismatch::Projection { index, wanted, found } => {
                let (found, wanted) = (held(found), held(wanted));
                write!(f, "its index `{index}` holds {found} of an item, not {wanted}")
            }
            Mismatch::Local { index, how } => {
                write!(f, "its local index `{index}` {how}")
            }
            Mismatch::NotActive(what) => write!(f, "{what} is not active"),
        }
    }
}

pub(super) fn differences(
    schema: &Schema,
    stored: &[(Text, ValueType)],
    table: &TableDescription,
) -> Vec<Mismatch> {
    let mut differences = stored_otherwise(schema, stored, table);
    let (same, found) = compared(&schema.key, table.key_schema());
    if !same {
        differences.push(Mismatch::Key { wanted: schema.key.clone(), found });
    }
    for KeyAttribute { name, value_type } in schema.typed_key_attributes() {
        let named = |one: &&AttributeDefinition| one.attribute_name == *name;
        let Some(found) = table.attribute_definitions().iter().find(named) else { continue };
        if found.attribute_type.as_str() != value_type.code() {
            let (attribute, found) = (name.to_string(), found.attribute_type.to_string());
            let held_by = undeclared_with(schema, table, name);
            differences.push(Mismatch::Type { attribute, wanted: *value_type, found, held_by });
        }
    }
    if let Some(status) = table.table_status.as_ref().filter(|one| **one != TableStatus::Active) {
        differences.push(Mismatch::NotActive(format!("the table ({status})")));
    }
    for index in &schema.indexes {
        let local = table.local_secondary_indexes().iter();
        let mut local = local.filter(|found| found.index_name() == Some(index.name.as_str()));
        match local.next() {
            Some(found) => {
                let found = Found { key: found.key_schema(), projection: found.projection() };
                let differs = found.differences(schema, index);
                let local = differs.into_iter().map(|one| local_one(&index.name, one));
                differences.extend(local);
            }
            None => differences.extend(of_index(schema, index, table)),
        }
    }
    differences
}

/// The attributes that are stored as something else than the key of an index needs that no document declares.
fn stored_otherwise(
    schema: &Schema,
    stored: &[(Text, ValueType)],
    table: &TableDescription,
) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for defined in table.attribute_definitions() {
        let name = defined.attribute_name.as_str();
        // The keys that the document declares are looked at by themselves.
        if schema.typed_key_attributes().iter().any(|key| key.name == *name) {
            continue;
        }
        let other = |(attribute, kind): &&(Text, ValueType)| {
            attribute == name && kind.code() != defined.attribute_type.as_str()
        };
        found.extend(stored.iter().filter(other).map(|(_, kind)| Mismatch::Stored {
            attribute: name.to_owned(),
            stored: *kind,
            found: defined.attribute_type.to_string(),
            global: undeclared_with(schema, table, name),
            local: local_with(schema, table, name),
        }));
    }
    found
}

/// The global indexes that have an attribute in their key, and that no document declares.
fn undeclared_with(schema: &Schema, table: &TableDescription, attribute: &str) -> Vec<String> {
    let all = table.global_secondary_indexes().iter();
    let with = all.filter(|index| has(index.key_schema(), attribute));
    undeclared(schema, with.filter_map(|one| one.index_name()))
}

/// The local indexes of that kind.
fn local_with(schema: &Schema, table: &TableDescription, attribute: &str) -> Vec<String> {
    let all = table.local_secondary_indexes().iter();
    let with = all.filter(|index| has(index.key_schema(), attribute));
    undeclared(schema, with.filter_map(|one| one.index_name()))
}

fn has(key: &[KeySchemaElement], attribute: &str) -> bool {
    key.iter().any(|element| element.attribute_name == attribute)
}

/// Those of some indexes that no document declares.
fn undeclared<'a>(schema: &Schema, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let declared = |name: &str| schema.indexes.iter().any(|index| index.name == *name);
    names.filter(|name| !declared(name)).map(str::to_owned).collect()
}

/// The differences of an index that is global, or missing.
fn of_index(schema: &Schema, index: &Index, table: &TableDescription) -> Vec<Mismatch> {
    let named =
        |found: &&GlobalSecondaryIndexDescription| found.index_name() == Some(index.name.as_str());
    let Some(found) = table.global_secondary_indexes().iter().find(named) else {
        return vec![Mismatch::NoIndex(index.name.to_string())];
    };
    let described = Found { key: found.key_schema(), projection: found.projection() };
    let mut differences = described.differences(schema, index);
    if let Some(status) = found.index_status.as_ref().filter(|one| **one != IndexStatus::Active) {
        differences.push(Mismatch::NotActive(format!("its index `{}` ({status})", index.name)));
    }
    differences
}

/// An index, as the service describes it.
struct Found<'a> {
    key: &'a [KeySchemaElement],
    projection: Option<&'a SdkProjection>,
}

impl Found<'_> {
    fn differences(&self, schema: &Schema, index: &Index) -> Vec<Mismatch> {
        let mut differences = Vec::new();
        let name = index.name.to_string();
        let (same, found) = compared(&index.key, self.key);
        if !same {
            let (index, wanted) = (name.clone(), index.key.clone());
            differences.push(Mismatch::IndexKey { index, wanted, found });
        }
        // A service that does not say holds whole items. More than is needed does no harm.
        let holds = self.projection.map_or(Projection::All, projected);
        if !contains(&holds, &index.holds, |name| schema.key.has(name)) {
            let wanted = index.holds.clone();
            differences.push(Mismatch::Projection { index: name, wanted, found: holds });
        }
        differences
    }
}

/// A difference of a local index.
fn local_one(index: &str, mismatch: Mismatch) -> Mismatch {
    let how = match mismatch {
        Mismatch::IndexKey { wanted, found, .. } => {
            format!("has the key {found}, not {}", named(&wanted))
        }
        Mismatch::Projection { wanted, found, .. } => {
            format!("holds {} of an item, not {}", held(&found), held(&wanted))
        }
        other => other.to_string(),
    };
    Mismatch::Local { index: index.to_owned(), how }
}

/// What an index holds, as the service describes it.
fn projected(found: &SdkProjection) -> Projection {
    match found.projection_type() {
        None | Some(ProjectionType::All) => Projection::All,
        Some(_) => Projection::keys(found.non_key_attributes().iter().map(String::as_str)),
    }
}

/// Whether one projection has all that another has.
fn contains(found: &Projection, wanted: &Projection, is_key: impl Fn(&str) -> bool) -> bool {
    match (found, wanted) {
        (Projection::All, _) => true,
        (Projection::Keys(_), Projection::All) => false,
        (Projection::Keys(found), Projection::Keys(wanted)) => {
            wanted.iter().all(|name| found.contains(name) || is_key(name))
        }
    }
}

/// A projection, for people.
fn held(projection: &Projection) -> String {
    match projection.attributes() {
        [] => projection.code().to_owned(),
        names => {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            format!("its keys and {}", names.join(", "))
        }
    }
}

/// Whether a key has these names, and the key for people.
fn compared(wanted: &KeyNames, found: &[KeySchemaElement]) -> (bool, String) {
    let of = |kind: SdkKeyType| {
        let element = found.iter().find(|element| element.key_type == kind);
        element.map(|element| element.attribute_name.as_str())
    };
    let (partition, sort) = (of(SdkKeyType::Hash), of(SdkKeyType::Range));
    let names: Vec<&str> = [partition, sort].into_iter().flatten().collect();
    let same = wanted.iter().map(|attribute| attribute.name.as_str()).eq(names.iter().copied());
    (same && partition.is_some(), told(&names))
}

/// The names of a key, for people.
fn named(key: &KeyNames) -> String {
    told(&key.iter().map(|attribute| attribute.name.as_str()).collect::<Vec<_>>())
}

fn told(names: &[&str]) -> String {
    match names {
        [only] => format!("{only} alone"),
        names => names.join(", "),
    }
}
