//! Checks that the indexes of a table agree with its items.

use std::sync::Arc;

use latchkey_table::{Error, Schema};

use crate::catalog::{Entry, damaged};
use crate::engine::{EngineError, Walk};
use crate::item_codec::{self, Damaged};
use crate::key_codec::{Space, read_item_key};
use crate::read::unavailable;
use crate::writer::Seen;

/// What a whole table was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// Items.
    pub items: u64,
    /// Index entries, each of its item.
    pub entries: u64,
}

impl Seen {
    /// Reads every item and every index entry of a table.
    pub(crate) fn verify(&self, schema: &Arc<Schema>) -> Result<Verified, Error> {
        let entry = self.catalog.find(schema)?;
        self.verify_entry(entry).map_err(unavailable)
    }

    fn verify_entry(&self, entry: &Entry) -> Result<Verified, EngineError> {
        let mut expected = vec![0u64; entry.index_spaces.len()];
        let mut verified = Verified::default();
        self.snapshot.walk(&entry.space.whole(), false, |key_bytes, bytes| {
            verified.items += 1;
            let key = read_item_key(key_bytes).ok_or_else(|| damaged(key_bytes))?;
            let item = item_codec::decode(key_bytes, bytes, &entry.schema.key, key.clone(), None)
                .map_err(|Damaged| damaged(key_bytes))?;
            for ((index, space), count) in entry.indexes().zip(&mut expected) {
                let Some(index_key) = index.key.parts(&item) else { continue };
                *count += 1;
                let entry_key = space.entry_key((&index_key.0, &index_key.1), &key);
                if self.snapshot.get(&entry_key, |_| ())?.is_none() {
                    let name = &index.name;
                    let at = key_bytes.escape_ascii();
                    return Err(EngineError(format!("index `{name}` lacks the item at {at}")));
                }
            }
            Ok(Walk::On)
        })?;
        // Every item has its entry. If there are no more entries than that, there is no other.
        for ((index, space), expected) in entry.indexes().zip(expected) {
            let found = self.count(space)?;
            verified.entries += found;
            if found != expected {
                let name = &index.name;
                let text = format!("index `{name}` has {found} entries for {expected} items");
                return Err(EngineError(text));
            }
        }
        Ok(verified)
    }

    fn count(&self, space: Space) -> Result<u64, EngineError> {
        let mut count = 0;
        self.snapshot.walk(&space.whole(), false, |key, bytes| {
            item_codec::check_entry(key, bytes).map_err(|Damaged| damaged(key))?;
            count += 1;
            Ok(Walk::On)
        })?;
        Ok(count)
    }
}
