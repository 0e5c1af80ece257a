//! A walk through a table, for upkeep and for moving it. No contract scans.

use std::sync::Arc;

use crate::limits::PARTITION_KEY_BYTES_MAX;
use crate::{Invalid, Key, Schema, Text};

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
