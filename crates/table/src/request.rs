//! What can be asked of a table.

mod convert;
mod scan;
mod valid;

use std::sync::Arc;

use crate::{
    Action, Condition, Consistency, Datum, Invalid, Item, Key, KeyNames, Map, Schema, SortRange,
    Text, Value, apply,
};
pub use scan::{IndexScan, Scan};

/// Any request of a contract. A [`Backend`](crate::Backend) carries out one of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<V: Datum = Value> {
    /// Reads one item.
    Get(Get<V>),
    /// Reads several items, each for itself.
    BatchGet(BatchGet<V>),
    /// Reads several items as of one instant.
    SnapshotGet(SnapshotGet<V>),
    /// Reads a range of a partition.
    Query(Query<V>),
    /// Reads a part of an index, whatever the partition.
    IndexScan(IndexScan<V>),
    /// Writes a whole item.
    Put(Put<V>, Returning),
    /// Changes an item.
    Update(Update<V>, Returning),
    /// Removes an item.
    Delete(Delete<V>, Returning),
    /// Writes several items or none.
    Transact(Transact<V>),
}

/// Reads one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Get<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The item's key.
    pub key: Key<V::Text>,
    /// How fresh the answer must be.
    pub consistency: Consistency,
}

/// Reads several items, each for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchGet<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The items' keys, no two the same.
    pub keys: Vec<Key<V::Text>>,
    /// How fresh the answers must be.
    pub consistency: Consistency,
}

/// Reads several items as of one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotGet<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The items' keys, no two the same.
    pub keys: Vec<Key<V::Text>>,
}

/// Reads a range of a partition of the table or of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The index, or else the table itself.
    pub index: Option<Text>,
    /// The partition.
    pub partition: V::Text,
    /// The sort keys to read.
    pub range: SortRange<V::Text>,
    /// What must hold of an item for it to be in the answer. The others are read all the same.
    pub filter: Option<Condition<V>>,
    /// From which end.
    pub direction: Direction,
    /// The most items to read, or else as many as one query can.
    pub limit: Option<u32>,
    /// Where an earlier query stopped.
    pub resume: Option<Resume>,
    /// How fresh the answer must be; an index is never strong.
    pub consistency: Consistency,
}

/// The end of a range a query starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The lowest sort key first.
    Ascending,
    /// The highest sort key first.
    Descending,
}

/// The last item a query read; the next query goes on behind it, whether or not it is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// Its key in the table.
    pub key: Key,
    /// Its key in the index, when that was queried.
    pub index_key: Option<Key>,
}

/// Writes a whole item, in place of any that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The item, with its key.
    pub item: Map<V>,
    /// What must hold of the item that is there.
    pub condition: Option<Condition<V>>,
}

/// Changes an item; one that is not there is created, unless the condition asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The item's key.
    pub key: Key<V::Text>,
    /// The changes.
    pub actions: Vec<Action<V>>,
    /// What must hold of the item that is there.
    pub condition: Option<Condition<V>>,
}

/// Removes an item, if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The item's key.
    pub key: Key<V::Text>,
    /// What must hold of the item that is there.
    pub condition: Option<Condition<V>>,
}

/// Requires something of an item without changing it; only within a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check<V: Datum = Value> {
    /// The table.
    pub table: Arc<Schema>,
    /// The item's key.
    pub key: Key<V::Text>,
    /// What must hold of it.
    pub condition: Condition<V>,
}

/// Writes several items or none. The first leg whose condition fails is the one reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transact<V: Datum = Value> {
    /// The legs, no two of them on one item.
    pub legs: Vec<Leg<V>>,
}

/// One part of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg<V: Datum = Value> {
    /// Writes a whole item.
    Put(Put<V>),
    /// Changes an item.
    Update(Update<V>),
    /// Removes an item.
    Delete(Delete<V>),
    /// Requires something of an item.
    Check(Check<V>),
}

/// Which image of the item a single write answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Returning {
    /// None.
    #[default]
    Nothing,
    /// The item before the write.
    Old,
    /// The item after the write.
    New,
}

impl Query {
    /// Where to go on behind an item that the query found. Refuses an item the query cannot have found: one
    /// without the key of the table, or of the index that is read.
    pub fn behind(&self, item: &Item) -> Result<Resume, Invalid> {
        let key_of = |names: &KeyNames| {
            names.of(item).ok_or_else(|| Invalid::NoKey { names: names.clone() })
        };
        let index_key = match &self.index {
            None => None,
            Some(_) => Some(key_of(self.key_names()?)?),
        };
        Ok(Resume { key: key_of(&self.table.key)?, index_key })
    }

    /// Whether nothing of the range can lie behind the place where the query goes on. In an index there may be more items
    /// of the same key.
    pub fn is_at_its_end(&self) -> bool {
        let place = self.resume.as_ref().filter(|_| self.index.is_none());
        place.is_some_and(|place| self.range.ends_at(&place.key.sort, self.direction))
    }
}

impl Request {
    /// Whether it is a read that may see an older version. No index is ever strong.
    pub fn is_eventual(&self) -> bool {
        match self {
            Request::Get(get) => get.consistency == Consistency::Eventual,
            Request::BatchGet(batch) => batch.consistency == Consistency::Eventual,
            Request::Query(query) => query.consistency == Consistency::Eventual,
            Request::IndexScan(_) => true,
            Request::SnapshotGet(_)
            | Request::Put(..)
            | Request::Update(..)
            | Request::Delete(..)
            | Request::Transact(_) => false,
        }
    }

    /// Whether it may change what is stored.
    pub fn writes(&self) -> bool {
        match self {
            Request::Get(_)
            | Request::BatchGet(_)
            | Request::SnapshotGet(_)
            | Request::Query(_)
            | Request::IndexScan(_) => false,
            Request::Put(..) | Request::Update(..) | Request::Delete(..) | Request::Transact(_) => {
                true
            }
        }
    }
}

impl<V: Datum> Leg<V> {
    /// The leg as a request of its own, which answers with an image of the item. A check is never alone: it is a
    /// transaction of one leg, and answers with no image.
    pub fn alone(self, returning: Returning) -> Request<V> {
        match self {
            Leg::Put(put) => Request::Put(put, returning),
            Leg::Update(update) => Request::Update(update, returning),
            Leg::Delete(delete) => Request::Delete(delete, returning),
            Leg::Check(_) => Request::Transact(Transact { legs: vec![self] }),
        }
    }

    /// The table the leg is on.
    pub fn table(&self) -> &Arc<Schema> {
        match self {
            Leg::Put(put) => &put.table,
            Leg::Update(update) => &update.table,
            Leg::Delete(delete) => &delete.table,
            Leg::Check(check) => &check.table,
        }
    }

    /// What must hold of the stored item.
    pub fn condition(&self) -> Option<&Condition<V>> {
        match self {
            Leg::Put(put) => put.condition.as_ref(),
            Leg::Update(update) => update.condition.as_ref(),
            Leg::Delete(delete) => delete.condition.as_ref(),
            Leg::Check(check) => Some(&check.condition),
        }
    }
}

impl Leg {
    /// The key of the item.
    pub fn key(&self) -> Result<Key, Invalid> {
        match self {
            Leg::Put(put) => put.table.key_of(&put.item),
            Leg::Update(Update { key, .. })
            | Leg::Delete(Delete { key, .. })
            | Leg::Check(Check { key, .. }) => {
                self.table().key.validate_key(key)?;
                Ok(key.clone())
            }
        }
    }
}

impl Update {
    /// The item as the update leaves it, and its bytes. An item that is not there begins as its key alone. Refuses an
    /// item that the table cannot hold.
    pub fn applied_to(&self, old: Option<&Item>) -> Result<(Item, usize), Invalid> {
        let item = match old {
            Some(old) => apply(&self.actions, old)?,
            None => apply(&self.actions, &self.table.key.item(&self.key))?,
        };
        let bytes = self.table.validate_item(&item)?;
        Ok((item, bytes))
    }
}

#[cfg(test)]
mod tests;
