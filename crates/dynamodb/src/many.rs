//! Gets of several items, one by one or all at one instant.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::types::{
    ConsumedCapacity, Get as SdkGet, KeysAndAttributes, ReturnConsumedCapacity, TransactGetItem,
};
use latchkey_table::render::{BatchGetItem, TransactGetItems};
use latchkey_table::{BatchGet, Capacity, Error, GotMany, Item, Key, Schema, SnapshotGet, Text};
use tokio::time::Instant;

use crate::client::{DynamoDb, Patience, patiently};
use crate::convert::{Foreign, SdkItem, from_item, to_item};
use crate::error::{Effect, cancelled_by, meaning, told};
use crate::read::{foreign, read_units};

/// The answer to one request of a batch get.
struct Part {
    items: Vec<(Key, Item)>,
    /// The keys that the service did not read.
    left: Vec<Key>,
    capacity: Capacity,
}

impl DynamoDb {
    /// Reads several items, each for itself.
    ///
    /// Keys that the service leaves unread are sent again, after longer and longer waits, until the deadline.
    pub async fn batch_get(&self, request: &BatchGet, deadline: Instant) -> Result<GotMany, Error> {
        request.validate()?;
        let mut found = BTreeMap::new();
        let mut capacity = Capacity::ZERO;
        let mut asked = request.clone();
        let mut patience = Patience::until(deadline);
        loop {
            let part = patiently(deadline, Effect::None, || self.batch_get_once(&asked)).await?;
            found.extend(part.items);
            capacity += part.capacity;
            if part.left.is_empty() {
                break;
            }
            if part.left.len() < asked.keys.len() {
                // After some progress, waits are short again.
                patience = Patience::until(deadline);
            }
            asked.keys = part.left;
            if !patience.wait().await {
                return Err(Error::Throttled);
            }
        }
        let items = request.keys.iter().map(|key| found.remove(key)).collect();
        Ok(GotMany { items, capacity })
    }

    async fn batch_get_once(&self, request: &BatchGet) -> Result<Part, Error> {
        let rendered = BatchGetItem::of(request);
        let keys = KeysAndAttributes::builder()
            .set_keys(Some(rendered.keys.into_iter().map(to_item).collect()))
            .consistent_read(rendered.consistent_read)
            .build()
            .map_err(|error| Error::Unavailable { reason: told(&error) })?;
        let sent = self
            .client
            .batch_get_item()
            .request_items(rendered.table_name.as_str(), keys)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer =
            sent.await.map_err(|error| meaning(&error, &request.table.name, Effect::None))?;
        let schema = &request.table;
        let items = answer.responses.ok_or_else(|| foreign(Foreign))?.into_values().flatten();
        let items: Vec<(Key, Item)> =
            items.map(|item| keyed(schema, item)).collect::<Result<_, _>>().map_err(foreign)?;
        let left = answer.unprocessed_keys.unwrap_or_default().into_values();
        let left: Vec<Key> = left
            .flat_map(|left| left.keys)
            .map(|key| keyed(schema, key).map(|(key, _)| key))
            .collect::<Result<_, _>>()
            .map_err(foreign)?;
        let mut answered = items.iter().map(|(key, _)| key).chain(&left);
        if !answered.all(|key| request.keys.contains(key)) {
            return Err(foreign(Foreign));
        }
        let capacity = read_in_all(answer.consumed_capacity.as_deref())
            .unwrap_or_else(|| counted(request, &items, &left));
        Ok(Part { items, left, capacity })
    }

    /// Reads several items as of one instant.
    pub async fn snapshot_get(
        &self,
        request: &SnapshotGet,
        deadline: Instant,
    ) -> Result<GotMany, Error> {
        request.validate()?;
        patiently(deadline, Effect::None, || self.snapshot_get_once(request)).await
    }

    async fn snapshot_get_once(&self, request: &SnapshotGet) -> Result<GotMany, Error> {
        let TransactGetItems { table_name, keys } = TransactGetItems::of(request);
        let gets: Result<Vec<TransactGetItem>, Error> =
            keys.into_iter().map(|key| get(&table_name, key)).collect();
        let sent = self
            .client
            .transact_get_items()
            .set_transact_items(Some(gets?))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer = sent.await.map_err(|error| cancelled(&error, &table_name))?;
        let items = answer.responses.ok_or_else(|| foreign(Foreign))?.into_iter().map(|response| {
            // Some services answer a missing item with an empty one.
            let item = response.item.filter(|item| !item.is_empty());
            item.map(from_item).transpose()
        });
        let items: Vec<Option<Item>> = items.collect::<Result<_, _>>().map_err(foreign)?;
        // The answer has no keys: an item belongs to the key at the same position.
        if items.len() != request.keys.len() {
            return Err(foreign(Foreign));
        }
        let capacity = read_in_all(answer.consumed_capacity.as_deref()).unwrap_or_else(|| {
            let bytes = items.iter().map(|item| item.as_ref().map_or(0, Item::size));
            bytes.map(Capacity::snapshot_read).sum()
        });
        Ok(GotMany { items, capacity })
    }
}

/// An item of the answer, with its key.
fn keyed(schema: &Schema, item: SdkItem) -> Result<(Key, Item), Foreign> {
    let item = from_item(item)?;
    Ok((schema.key.of(&item).ok_or(Foreign)?, item))
}

/// The capacity of one request of a batch get, if the service does not say it. A missing item counts, an unread key
/// does not.
fn counted(request: &BatchGet, items: &[(Key, Item)], left: &[Key]) -> Capacity {
    let sizes: HashMap<&Key, usize> = items.iter().map(|(key, item)| (key, item.size())).collect();
    let read = request.keys.iter().filter(|key| !left.contains(key));
    read.map(|key| sizes.get(key).copied().unwrap_or_default())
        .map(|bytes| Capacity::read(bytes, request.consistency))
        .sum()
}

/// The consumed capacity, if the service says it.
fn read_in_all(consumed: Option<&[ConsumedCapacity]>) -> Option<Capacity> {
    let consumed = consumed.filter(|all| !all.is_empty())?;
    consumed.iter().map(|one| read_units(Some(one))).sum()
}

fn get(table_name: &Text, key: Item) -> Result<TransactGetItem, Error> {
    let get = SdkGet::builder().table_name(table_name.as_str()).set_key(Some(to_item(key))).build();
    let get = get.map_err(|error| Error::Unavailable { reason: told(&error) })?;
    Ok(TransactGetItem::builder().get(get).build())
}

/// Why nothing was read: the first reason, in the order of the keys, decides.
fn cancelled(error: &SdkError<TransactGetItemsError>, table: &Text) -> Error {
    let reasons = match error.as_service_error() {
        Some(TransactGetItemsError::TransactionCanceledException(cancelled)) => {
            cancelled.cancellation_reasons()
        }
        _ => return meaning(error, table, Effect::None),
    };
    let decisive = reasons.iter().find_map(cancelled_by);
    decisive.unwrap_or_else(|| Error::Unavailable { reason: told(error) })
}
