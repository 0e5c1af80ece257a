//! Walks through a table, for upkeep and for moving it, and through an index.

use std::sync::Arc;

use crate::limits::PARTITION_KEY_BYTES_MAX;
use crate::{Condition, Datum, Invalid, Item, Key, KeyNames, Resume, Schema, Text, Value};

/// Reads the next items of a table, at no capacity that is told.
///
/// An embedded store reads them in the order of their keys, each part from the last durable commit; DynamoDB in
/// an order of its own, strongly. An item that stays is met once; one created or removed meanwhile may be met or
/// not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The table.
    pub table: Arc<Schema>,
    /// How the partitions to read begin; all do with the empty text.
    pub partition_prefix: Text,
    /// The key an earlier scan stopped at; the item need not be there any more.
    pub after: Option<Key>,
    /// The most items to read: 1 to [`Scan::ITEMS_MAX`].
    pub items_max: usize,
}

impl Scan {
    /// The most items one scan can ask for.
    pub const ITEMS_MAX: usize = 10_000;

    /// Refuses a scan that asks for nothing or too much, or goes on where it cannot have stopped.
    pub fn validate(&self) -> Result<(), Invalid> {
        if !(1..=Scan::ITEMS_MAX).contains(&self.items_max) {
            return Err(Invalid::Limit);
        }
        let bytes = self.partition_prefix.len();
        if bytes > PARTITION_KEY_BYTES_MAX {
            return Err(Invalid::PartitionKey { bytes });
        }
        let Some(after) = &self.after else { return Ok(()) };
        self.table.key.validate_key(after)?;
        // A key before the range would make it longer than the prefix allows.
        if after.partition.starts_with(self.partition_prefix.as_str()) {
            Ok(())
        } else {
            Err(Invalid::Resume)
        }
    }
}

/// Reads the next items of an index, in all its partitions. The order is the backend's own: an embedded store goes by
/// the keys, DynamoDB by their hashes. An item that stays as it is is met once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexScan<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The index.
    pub index: Text,
    /// What must hold of an item for it to be in the answer. The others are read all the same.
    pub filter: Option<Condition<V>>,
    /// The most items to read, or else as many as one request can.
    pub limit: Option<u32>,
    /// Where an earlier scan stopped.
    pub resume: Option<Resume>,
}

impl<V: Datum> IndexScan<V> {
    /// The names of the key by which the index is ordered.
    pub fn key_names(&self) -> Result<&KeyNames, Invalid> {
        let index = self.table.index(&self.index);
        index.map(|index| &index.key).ok_or_else(|| Invalid::NoIndex { name: self.index.clone() })
    }
}

impl IndexScan {
    /// Where to go on behind an item that the scan found.
    pub fn behind(&self, item: &Item) -> Result<Resume, Invalid> {
        let key_of = |names: &KeyNames| {
            names.of(item).ok_or_else(|| Invalid::NoKey { names: names.clone() })
        };
        Ok(Resume { key: key_of(&self.table.key)?, index_key: Some(key_of(self.key_names()?)?) })
    }
}
