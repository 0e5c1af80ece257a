//! Moves items from one table to another, where a document keeps them now.

use latchkey_table::{Error, Item, KeyNames, Tables, Value};

use crate::catalog::{Catalog, Entry, damaged};
use crate::engine::{EngineError, Group, Pair};
use crate::item_codec::{self, Damaged};
use crate::key_codec::read_item_key;

/// How many items are read between writes.
const STEP: usize = 1000;

impl Catalog {
    /// Moves the items that Latchkey keeps for itself from the table where an earlier document kept them, if there are
    /// any. The table where they belong is made first. Returns the new catalog.
    pub(crate) fn gather(
        &self,
        group: &mut Group<'_>,
        tables: &Tables,
    ) -> Result<Result<Catalog, Error>, EngineError> {
        let before = tables.before.as_ref().and_then(|before| self.named(&before.name));
        let Some(before) = before.filter(|before| before.schema.key.is_of_two_texts()) else {
            return Ok(Ok(self.clone()));
        };
        let range = before.space.partitions(&tables.own_prefix);
        if group.first(&range, 1)?.is_empty() {
            return Ok(Ok(self.clone()));
        }
        let catalog = match self.ensure(group, &tables.own)? {
            Ok(catalog) => catalog,
            Err(error) => return Ok(Err(error)),
        };
        let missing = || EngineError("a table that was made is missing".to_owned());
        let own = catalog.named(&tables.own.name).ok_or_else(missing)?;
        let mut buffer = Vec::new();
        loop {
            let items = group.first(&range, STEP)?;
            if items.is_empty() {
                return Ok(Ok(catalog));
            }
            for pair in &items {
                move_one(group, before, own, pair, &mut buffer)?;
            }
        }
    }
}

/// Moves one item. Where the other table has an item of the same key, that one stays: it is the one that is used.
fn move_one(
    group: &mut Group<'_>,
    before: &Entry,
    own: &Entry,
    (key_bytes, bytes): &Pair,
    buffer: &mut Vec<u8>,
) -> Result<(), EngineError> {
    let key = read_item_key(key_bytes).ok_or_else(|| damaged(key_bytes))?;
    let item = item_codec::decode(bytes, &before.schema.key, key.clone(), None)
        .map_err(|Damaged| damaged(key_bytes))?;
    group.remove(key_bytes)?;
    for (index, space) in before.indexes() {
        if let Some((partition, sort)) = index.key.parts(&item) {
            group.remove(&space.entry_key((&partition, &sort), &key))?;
        }
    }
    let there = own.space.item_key(&key);
    if group.get(&there, |_| ())?.is_some() {
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
        EngineError(format!("the item {shown} cannot be moved to table `{name}`: {reason}"))
    })?;
    buffer.clear();
    item_codec::encode(&moved, &own.schema.key, buffer);
    group.insert(&there, buffer)?;
    for (index, space) in own.indexes() {
        if let Some((partition, sort)) = index.key.parts(&moved) {
            group.insert(&space.entry_key((&partition, &sort), &key), &[])?;
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
