//! Gets and queries.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity};
use latchkey_table::render::{GetItem, Query as RenderedQuery, Scan as RenderedScan};
use latchkey_table::{
    Capacity, Consistency, Error, Get, Got, IndexScan, Invalid, Item, Page, Query, Resume,
};
use tokio::time::Instant;

use crate::client::{DynamoDb, patiently};
use crate::convert::{Foreign, from_item, names, to_item, values};
use crate::error::{Effect, meaning};

impl DynamoDb {
    /// Reads one item.
    pub async fn get(&self, request: &Get, deadline: Instant) -> Result<Got, Error> {
        request.validate()?;
        patiently(deadline, Effect::None, || self.get_once(request)).await
    }

    async fn get_once(&self, request: &Get) -> Result<Got, Error> {
        let rendered = GetItem::of(request);
        let sent = self
            .client
            .get_item()
            .table_name(rendered.table_name.as_str())
            .set_key(Some(to_item(rendered.key)))
            .consistent_read(rendered.consistent_read)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer =
            sent.await.map_err(|error| meaning(&error, &request.table.name, Effect::None))?;
        let item = answer.item.map(from_item).transpose().map_err(foreign)?;
        let bytes = item.as_ref().map_or(0, Item::size);
        let capacity = read_units(answer.consumed_capacity.as_ref())
            .unwrap_or_else(|| Capacity::read(bytes, request.consistency));
        Ok(Got { item, capacity })
    }

    /// Reads a range of a partition of a table or of an index.
    pub async fn query(&self, request: &Query, deadline: Instant) -> Result<Page, Error> {
        request.validate()?;
        patiently(deadline, Effect::None, || self.query_once(request)).await
    }

    async fn query_once(&self, request: &Query) -> Result<Page, Error> {
        let rendered = RenderedQuery::of(request)?;
        let limit = rendered.limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let sent = self
            .client
            .query()
            .table_name(rendered.table_name.as_str())
            .set_index_name(rendered.index_name.map(|name| name.into_string()))
            .key_condition_expression(rendered.key_condition)
            .set_filter_expression(rendered.filter)
            .set_expression_attribute_names(names(&rendered.placeholders))
            .set_expression_attribute_values(values(rendered.placeholders))
            .scan_index_forward(rendered.scan_index_forward)
            .set_limit(limit)
            .set_exclusive_start_key(rendered.exclusive_start_key.map(to_item))
            .consistent_read(rendered.consistent_read)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer =
            sent.await.map_err(|error| meaning(&error, &request.table.name, Effect::None))?;
        let found = Found {
            items: answer.items,
            last: answer.last_evaluated_key,
            read: request.filter.as_ref().map(|_| answer.scanned_count),
            consumed: answer.consumed_capacity,
        };
        found.page(request.consistency, |last| request.behind(last))
    }
}

impl DynamoDb {
    /// Reads a part of an index, in an order of the service's own.
    pub async fn scan_index(&self, request: &IndexScan, deadline: Instant) -> Result<Page, Error> {
        request.validate()?;
        patiently(deadline, Effect::None, || self.scan_index_once(request)).await
    }

    async fn scan_index_once(&self, request: &IndexScan) -> Result<Page, Error> {
        let rendered = RenderedScan::of(request)?;
        let limit = rendered.limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        let sent = self
            .client
            .scan()
            .table_name(rendered.table_name.as_str())
            .index_name(rendered.index_name.as_str())
            .set_filter_expression(rendered.filter)
            .set_expression_attribute_names(names(&rendered.placeholders))
            .set_expression_attribute_values(values(rendered.placeholders))
            .set_limit(limit)
            .set_exclusive_start_key(rendered.exclusive_start_key.map(to_item))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send();
        let answer =
            sent.await.map_err(|error| meaning(&error, &request.table.name, Effect::None))?;
        let found = Found {
            items: answer.items,
            last: answer.last_evaluated_key,
            read: request.filter.as_ref().map(|_| answer.scanned_count),
            consumed: answer.consumed_capacity,
        };
        found.page(Consistency::Eventual, |last| request.behind(last))
    }
}

/// What the service found of a query or a scan.
struct Found {
    items: Option<Vec<HashMap<String, AttributeValue>>>,
    last: Option<HashMap<String, AttributeValue>>,
    /// How many items were read, where a filter dropped some: those are not in the answer.
    read: Option<i32>,
    consumed: Option<ConsumedCapacity>,
}

impl Found {
    /// The page of it, which goes on behind its last key.
    fn page(
        self,
        consistency: Consistency,
        behind: impl FnOnce(&Item) -> Result<Resume, Invalid>,
    ) -> Result<Page, Error> {
        let items = self.items.ok_or_else(|| foreign(Foreign))?.into_iter().map(from_item);
        let items: Vec<Item> = items.collect::<Result<_, _>>().map_err(foreign)?;
        let last = self.last.filter(|key| !key.is_empty());
        let last = last.map(from_item).transpose().map_err(foreign)?;
        let resume = last.map(|last| behind(&last)).transpose().map_err(|_| foreign(Foreign))?;
        let read = self.read.map_or(Ok(items.len()), usize::try_from);
        let read = read.map_err(|_| foreign(Foreign))?;
        let bytes = items.iter().map(Item::size).sum();
        let capacity = read_units(self.consumed.as_ref())
            .unwrap_or_else(|| Capacity::read(bytes, consistency));
        Ok(Page { items, resume, read, capacity })
    }
}

pub(crate) fn foreign(found: Foreign) -> Error {
    Effect::None.foreign(found)
}

/// The capacity of a read, if the service says it.
pub(crate) fn read_units(consumed: Option<&ConsumedCapacity>) -> Option<Capacity> {
    let consumed = consumed?;
    let units = consumed.read_capacity_units.or(consumed.capacity_units)?;
    Some(Capacity { read_halves: whole(units * 2.0)?, write: 0 })
}

/// The capacity of a write, if the service says it. A transaction that was done before and is sent again consumes read
/// units.
pub(crate) fn write_units(consumed: Option<&ConsumedCapacity>) -> Option<Capacity> {
    let consumed = consumed?;
    let (read, write) = match (consumed.read_capacity_units, consumed.write_capacity_units) {
        (None, None) => (0.0, consumed.capacity_units?),
        (read, write) => (read.unwrap_or_default(), write.unwrap_or_default()),
    };
    Some(Capacity { read_halves: whole(read * 2.0)?, write: whole(write)? })
}

/// Units as a whole number; a negative number counts as 0.
fn whole(units: f64) -> Option<u64> {
    format!("{:.0}", units.max(0.0)).parse().ok()
}
