//! An ordered walk through a table, for upkeep and export. No contract scans.

use std::sync::Arc;

use latchkey_table::limits::PARTITION_KEY_BYTES_MAX;
use latchkey_table::{Error, Invalid, Item, Key, Schema, Text};

use crate::read::{Reading, decode, unavailable};
use crate::writer::Seen;

/// Reads the items of a table in the order of their keys, partition by partition.
///
/// Each call reads the last durable commit, so one walk may see several. An item that stays is met
/// once; one created or removed meanwhile may be met or not.
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

/// The answer to a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// The items, lowest key first; together no more than one query can read.
    pub items: Vec<Item>,
    /// The last key read, when the scan stopped before the end of its range. There need not be
    /// more: items that fit exactly have one too.
    pub resume: Option<Key>,
}

impl Scan {
    /// The most items one scan can ask for.
    pub const ITEMS_MAX: usize = 10_000;

    /// Refuses a scan that asks for nothing or too much, or goes on where it cannot have stopped.
    fn validate(&self) -> Result<(), Invalid> {
        if !(1..=Scan::ITEMS_MAX).contains(&self.items_max) {
            return Err(Invalid::Limit);
        }
        let bytes = self.partition_prefix.len();
        if bytes > PARTITION_KEY_BYTES_MAX {
            return Err(Invalid::PartitionKey { bytes });
        }
        let Some(after) = &self.after else { return Ok(()) };
        after.validate()?;
        // A key before the range would make it longer than the prefix allows.
        if after.partition.starts_with(self.partition_prefix.as_str()) {
            Ok(())
        } else {
            Err(Invalid::Resume)
        }
    }
}

impl Seen {
    pub(crate) fn scan(&self, request: &Scan) -> Result<Scanned, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let mut range = entry.space.partitions(&request.partition_prefix);
        if let Some(after) = &request.after {
            range.start = entry.space.item_key(after);
            range.start.push(0);
        }
        let mut reading = Reading::new(request.items_max);
        self.snapshot
            .walk(&range, false, |key, bytes| {
                reading.add(decode(entry, key, bytes, reading.items.last())?)
            })
            .map_err(unavailable)?;
        let resume = match reading.items.last() {
            Some(last) if reading.cut => Some(request.table.key_of(last)?),
            _ => None,
        };
        Ok(Scanned { items: reading.items, resume })
    }
}
