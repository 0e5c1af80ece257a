//! Moves items from one table to another, where a document keeps them now.

use std::sync::Arc;

use latchkey_table::{Error, Item, KeyNames, Tables, Value};

use crate::catalog::{Catalog, Entry, damaged};
use crate::engine::{EngineError, Pair, Snapshot, Walk};
use crate::item_codec::{self, Damaged};
use crate::key_codec::read_item_key;
use crate::map::Direct;
use crate::progress::{Progress, Step};

/// How many items are read between writes.
const STEP: usize = 1000;

impl Catalog {
    /// The table where an earlier document kept the items that Latchkey keeps for itself.
    fn before(&self, tables: &Tables) -> Option<&Arc<Entry>> {
        let before = self.named(&tables.before.as_ref()?.name)?;
        before.schema.key.is_of_two_texts().then_some(before)
    }

    /// Whether [`Catalog::gather`] has something to move.
    pub(crate) fn has_to_gather(
        &self,
        snapshot: &Snapshot,
        tables: &Tables,
    ) -> Result<bool, EngineError> {
        let mut found = false;
        if let Some(before) = self.before(tables) {
            snapshot.walk(&before.space.partitions(&tables.own_prefix), false, |_, _| {
                found = true;
                Ok(Walk::Stop)
            })?;
        }
        Ok(found)
    }

    /// Moves the items that Latchkey keeps for itself from the table where an earlier document kept them, if there are
    /// any. The table where they belong is made first. Returns the new catalog.
    pub(crate) fn gather(
        &self,
        direct: &mut Direct<'_>,
        tables: &Tables,
        progress: &Progress,
    ) -> Result<Result<Catalog, Error>, EngineError> {
        let Some(before) = self.before(tables) else { return Ok(Ok(self.clone())) };
        let range = before.space.partitions(&tables.own_prefix);
        if direct.first(&range, 1)?.is_empty() {
            return Ok(Ok(self.clone()));
        }
        let catalog = match self.ensure(direct, &tables.own, progress)? {
            Ok(catalog) => catalog,
            Err(error) => return Ok(Err(error)),
        };
        let missing = || EngineError::new("a table that was made is missing".to_owned());
        let own = catalog.named(&tables.own.name).ok_or_else(missing)?;
        let mut buffer = Vec::new();
        let mut count = 0;
        loop {
            progress.tell(Step::Move { table: tables.own.name.clone(), items: count });
            let items = direct.first(&range, STEP)?;
            if items.is_empty() {
                return Ok(Ok(catalog));
            }
            for pair in &items {
                move_one(direct, before, own, pair, &mut buffer)?;
                count += 1;
            }
        }
    }
}

/// Moves one item. Where the other table has an item of the same key, that one stays: it is the one that is used.
fn move_one(
    direct: &mut Direct<'_>,
    before: &Entry,
    own: &Entry,
    (key_bytes, bytes): &Pair,
    buffer: &mut Vec<u8>,
) -> Result<(), EngineError> {
    let key = read_item_key(key_bytes).ok_or_else(|| damaged(key_bytes))?;
    let item = item_codec::decode(key_bytes, bytes, &before.schema.key, key.clone(), None)
        .map_err(|Damaged| damaged(key_bytes))?;
    direct.remove(key_bytes)?;
    for (index, space) in before.indexes() {
        if let Some((partition, sort)) = index.key.parts(&item) {
            direct.remove(&space.entry_key((&partition, &sort), &key))?;
        }
    }
    let there = own.space.item_key(&key);
    if direct.get(&there, |_| ())?.is_some() {
        return Ok(());
    }
    let mut moved = without(item, &before.schema.key);
    own.schema
        .key
        .item::<Value>(&key)
        .into_iter()
        .for_each(|(name, value)| drop(moved.insert(name, value)));
    own.schema.validate_item(&moved).map_err(|reason| {
        let (shown, name) = (own.schema.key.shown(&key), &own.schema.name);
        EngineError::new(format!("the item {shown} cannot be moved to table `{name}`: {reason}"))
    })?;
    item_codec::encode(&there, &moved, &own.schema.key, buffer);
    direct.insert(&there, buffer)?;
    for (index, space) in own.indexes() {
        if let Some((partition, sort)) = index.key.parts(&moved) {
            let entry = space.entry_key((&partition, &sort), &key);
            direct.insert(&entry, &item_codec::encode_entry(&entry))?;
        }
    }
    Ok(())
}

/// An item without its key.
fn without(mut item: Item, key: &KeyNames) -> Item {
    for attribute in key.iter() {
        item.remove(&attribute.name);
    }
    item
}
