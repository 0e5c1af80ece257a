//! Brings messages over from the table where an earlier document kept them.
//!
//! Only partitions that can be named are looked at: a service cannot be asked for those that begin with a prefix without
//! reading the whole table. So records of an `Idempotency-Key` stay where they are, until they are over.

use std::sync::Arc;
use std::time::Duration;

use latchkey_table::{
    Check, Condition, Consistency, Delete, Direction, Error, Item, Leg, Path, PrepareError, Put,
    Query, Schema, SortRange, Tables, Text, Transact, Value,
};
use tokio::time::Instant;

use crate::client::DynamoDb;
use crate::tables::TableError;

/// How long one look or one move may take, with all that is throttled.
const WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// How many items are moved at once. Each is two legs, and has at most 400 KB.
const MOVED_MAX: usize = 5;

/// How many looks may pass without a move while others are at the same items.
const IDLE_MAX: u32 = 20;

/// How many items are asked for at once.
const PAGE_ITEMS: u32 = 100;

impl DynamoDb {
    /// Moves what lies in the known partitions of the table where an earlier document kept Latchkey's own items. Each
    /// item is taken from there in the transaction that puts it into its place, so that of several servers that start one
    /// moves it. Another transaction may be at an item: whoever has it there works on it, and it is looked for again.
    pub(crate) async fn gather(&self, tables: &Tables) -> Result<(), PrepareError> {
        let Some(before) = tables.before.as_ref().filter(|_| !tables.own_partitions.is_empty())
        else {
            return Ok(());
        };
        if before.name != tables.main.name && !self.may_be_there(&before.name).await? {
            return Ok(());
        }
        let mut moved = 0;
        for partition in &tables.own_partitions {
            let mut idle = 0;
            loop {
                let items = self.some_of(before, partition).await?;
                if items.is_empty() {
                    break;
                }
                let until_now = moved;
                for items in items.chunks(MOVED_MAX) {
                    moved += self.move_all(before, &tables.own, items).await?;
                }
                idle = if moved == until_now { idle + 1 } else { 0 };
                if idle == IDLE_MAX {
                    return Err(Error::Conflict.into());
                }
            }
        }
        if moved > 0 {
            let (from, into) = (&before.name, &tables.own.name);
            tracing::warn!(
                %from, %into, moved,
                "messages were where an earlier document kept them, and were moved; records of an Idempotency-Key were \
                 not: a call that is repeated with a key of the last day may act again"
            );
        }
        Ok(())
    }

    /// Whether a table that the document does not need may be there. A policy that does not speak of it says that it is
    /// not used.
    async fn may_be_there(&self, table: &str) -> Result<bool, TableError> {
        match self.difference(&Schema::new(table), &[]).await {
            Ok(found) => Ok(found.is_some()),
            Err(TableError::Denied { reason }) => {
                tracing::info!(%table, %reason, "whether messages wait in this table is not known");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn some_of(&self, table: &Arc<Schema>, partition: &Text) -> Result<Vec<Item>, Error> {
        let query = Query {
            table: Arc::clone(table),
            index: None,
            partition: partition.clone(),
            range: SortRange::All,
            filter: None,
            direction: Direction::Ascending,
            limit: Some(PAGE_ITEMS),
            resume: None,
            consistency: Consistency::Strong,
        };
        Ok(self.query(&query, Instant::now() + WAIT_TIME_MAX).await?.items)
    }

    /// Moves some items together, or else one by one. Returns how many this process has moved.
    async fn move_all(
        &self,
        before: &Arc<Schema>,
        own: &Arc<Schema>,
        items: &[Item],
    ) -> Result<usize, Error> {
        if self.moved(before, own, items).await? {
            return Ok(items.len());
        }
        let mut moved = 0;
        for item in items {
            let one = std::slice::from_ref(item);
            match self.moved(before, own, one).await? {
                true => moved += 1,
                // It is gone, or it is in its place already and only has to go here.
                false => self.drop_if_placed(before, own, item).await?,
            }
        }
        Ok(moved)
    }

    /// Whether items were moved; not, if one of them is gone, in its place already, or busy.
    async fn moved(
        &self,
        before: &Arc<Schema>,
        own: &Arc<Schema>,
        items: &[Item],
    ) -> Result<bool, Error> {
        let mut legs = Vec::new();
        for item in items {
            let key = before.key_of(item)?;
            let mut placed = item.clone();
            before.key.iter().for_each(|name| drop(placed.remove(&name.name)));
            own.key
                .item::<Value>(&key)
                .into_iter()
                .for_each(|(name, key)| drop(placed.insert(name, key)));
            let absent = Condition::Absent(Path::attribute(own.key.partition.name.clone()));
            let there = Condition::Exists(Path::attribute(before.key.partition.name.clone()));
            let (table, condition) = (Arc::clone(own), Some(absent));
            legs.push(Leg::Put(Put { table, item: placed, condition }));
            let (table, condition) = (Arc::clone(before), Some(there));
            legs.push(Leg::Delete(Delete { table, key, condition }));
        }
        match self.transact(&Transact { legs }, Instant::now() + WAIT_TIME_MAX).await {
            Ok(_) => Ok(true),
            Err(Error::ConditionFailed(_) | Error::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes away an item whose key has an item where it belongs: the one that is used stays.
    async fn drop_if_placed(
        &self,
        before: &Arc<Schema>,
        own: &Arc<Schema>,
        item: &Item,
    ) -> Result<(), Error> {
        let key = before.key_of(item)?;
        let placed = Condition::Exists(Path::attribute(own.key.partition.name.clone()));
        let check = Check { table: Arc::clone(own), key: key.clone(), condition: placed };
        let delete = Delete { table: Arc::clone(before), key, condition: None };
        let legs = vec![Leg::Check(check), Leg::Delete(delete)];
        match self.transact(&Transact { legs }, Instant::now() + WAIT_TIME_MAX).await {
            Ok(_) => {
                let (table, key) = (&before.name, before.key.shown(&before.key_of(item)?));
                tracing::warn!(%table, %key, "an item of this key was in its place already; this one was removed");
                Ok(())
            }
            // What is gone is not found again; what is busy is.
            Err(Error::ConditionFailed(_) | Error::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
