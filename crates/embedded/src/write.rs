//! Carries out a write within a group: reads the stored items, decides every leg, then makes all changes.

use latchkey_table::{
    Capacity, Error, Failed, Image, Invalid, Item, Key, Leg, Returning, Wrote, holds, index_write,
};

use crate::catalog::{Catalog, Entry, damaged};
use crate::engine::EngineError;
use crate::group::Group;
use crate::item_codec::{self, Damaged};
use crate::read::unavailable;

/// What a caller asked to be written: all legs or none.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) legs: Vec<Leg>,
    /// For a put, update or delete by itself, which image to answer with; it has one leg.
    pub(crate) alone: Option<Returning>,
}

/// An item, measured.
struct Stored {
    item: Item,
    bytes: usize,
}

impl Stored {
    fn new(item: Item) -> Stored {
        Stored { bytes: item.size(), item }
    }

    fn image(&self) -> Image<'_> {
        Image { item: &self.item, bytes: self.bytes }
    }
}

/// The item a leg is on, as it is stored.
struct Target<'a> {
    entry: &'a Entry,
    key: Key,
    key_bytes: Vec<u8>,
    old: Option<Stored>,
}

/// What a leg makes of its item.
enum Change {
    Nothing,
    Becomes(Stored),
    Goes,
}

/// Tests every condition, then makes every change. A refusal leaves the group as it was.
pub(crate) fn carry_out(
    write: Write,
    catalog: &Catalog,
    group: &mut Group<'_, '_>,
    buffer: &mut Vec<u8>,
) -> Result<Result<Wrote, Error>, EngineError> {
    let mut targets = Vec::with_capacity(write.legs.len());
    for leg in &write.legs {
        match Target::read(leg, catalog, group)? {
            Ok(target) => targets.push(target),
            Err(error) => return Ok(Err(error)),
        }
    }
    let alone = write.alone.is_some();
    let mut changes = Vec::with_capacity(targets.len());
    for (at, (leg, target)) in write.legs.into_iter().zip(&targets).enumerate() {
        let old = target.old.as_ref().map(|old| &old.item);
        if leg.condition().is_some_and(|condition| !holds(condition, old)) {
            let capacity = targets.iter().map(|target| target.capacity(None, alone)).sum();
            let failed = Failed { leg: at, item: old.cloned(), capacity };
            return Ok(Err(Error::ConditionFailed(Box::new(failed))));
        }
        match target.decide(leg) {
            Ok(change) => changes.push(change),
            Err(reason) => {
                let leg = if alone { None } else { Some(at) };
                return Ok(Err(Error::Invalid { leg, reason }));
            }
        }
    }
    let mut capacity = Capacity::ZERO;
    for (target, change) in targets.iter().zip(&changes) {
        capacity += target.capacity(Some(change), alone);
        target.make(change, group, buffer)?;
    }
    let item = match write.alone {
        None | Some(Returning::Nothing) => None,
        Some(Returning::Old) => targets.pop().and_then(|target| target.old).map(|old| old.item),
        Some(Returning::New) => changes.pop().and_then(Change::into_item),
    };
    Ok(Ok(Wrote { item, capacity }))
}

impl<'a> Target<'a> {
    fn read(
        leg: &Leg,
        catalog: &'a Catalog,
        group: &Group<'_, '_>,
    ) -> Result<Result<Target<'a>, Error>, EngineError> {
        let (entry, key) = match (catalog.find(leg.table()), leg.key()) {
            (Ok(entry), Ok(key)) => (entry, key),
            (Err(error), _) => return Ok(Err(error)),
            (_, Err(reason)) => return Ok(Err(reason.into())),
        };
        let key_bytes = entry.space.item_key(&key);
        let names = &entry.schema.key;
        let decode = |bytes: &[u8]| item_codec::decode(&key_bytes, bytes, names, key.clone(), None);
        let old = match group.get(&key_bytes, decode)?.transpose() {
            Ok(old) => old.map(Stored::new),
            // Only this write fails. The rest of the group goes on.
            Err(Damaged) => return Ok(Err(unavailable(damaged(&key_bytes)))),
        };
        Ok(Ok(Target { entry, key, key_bytes, old }))
    }

    fn decide(&self, leg: Leg) -> Result<Change, Invalid> {
        match leg {
            // Validated when it was handed in.
            Leg::Put(put) => Ok(Change::Becomes(Stored::new(put.item))),
            Leg::Update(update) => {
                let (item, bytes) = update.applied_to(self.old.as_ref().map(|old| &old.item))?;
                Ok(Change::Becomes(Stored { item, bytes }))
            }
            Leg::Delete(_) => Ok(Change::Goes),
            Leg::Check(_) => Ok(Change::Nothing),
        }
    }

    /// What a change costs, or else a refusal, which is charged by what is stored.
    fn capacity(&self, change: Option<&Change>, alone: bool) -> Capacity {
        let new = change.and_then(Change::stored);
        let bytes = |stored: Option<&Stored>| stored.map_or(0, |stored| stored.bytes);
        let (old_bytes, new_bytes) = (bytes(self.old.as_ref()), bytes(new));
        let own = if alone {
            Capacity::write(old_bytes, new_bytes)
        } else {
            Capacity::transact_write(old_bytes, new_bytes)
        };
        match change {
            None | Some(Change::Nothing) => own,
            Some(Change::Becomes(_) | Change::Goes) => {
                let old = self.old.as_ref().map(Stored::image);
                own + index_write(&self.entry.schema, old, new.map(Stored::image))
            }
        }
    }

    fn make(
        &self,
        change: &Change,
        group: &mut Group<'_, '_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        match change {
            Change::Nothing => return Ok(()),
            Change::Becomes(new) => {
                item_codec::encode(&self.key_bytes, &new.item, &self.entry.schema.key, buffer);
                group.insert(&self.key_bytes, buffer)?;
            }
            Change::Goes if self.old.is_some() => group.remove(&self.key_bytes)?,
            Change::Goes => return Ok(()),
        }
        for (index, space) in self.entry.indexes() {
            let old = self.old.as_ref().and_then(|old| index.key.parts(&old.item));
            let new = change.stored().and_then(|new| index.key.parts(&new.item));
            if old == new {
                continue;
            }
            if let Some((partition, sort)) = old {
                group.remove(&space.entry_key((&partition, &sort), &self.key))?;
            }
            if let Some((partition, sort)) = new {
                let entry = space.entry_key((&partition, &sort), &self.key);
                group.insert(&entry, &item_codec::encode_entry(&entry))?;
            }
        }
        Ok(())
    }
}

impl Change {
    fn stored(&self) -> Option<&Stored> {
        if let Change::Becomes(stored) = self { Some(stored) } else { None }
    }

    fn into_item(self) -> Option<Item> {
        if let Change::Becomes(stored) = self { Some(stored.item) } else { None }
    }
}
