//! Requests as DynamoDB's own operations: expressions, with a placeholder for every name and value.
//!
//! A rendering is plain data. A backend turns it into a call, and [`Rendered::to_json`] shows it as the
//! low-level API takes it. Rendering refuses what has no rendering and nothing else: it does not take
//! the place of `validate`.
//!
//! ```
//! use latchkey_table::render::Rendered;
//! use latchkey_table::{Action, Condition, Key, Request, Returning, Schema, Update};
//!
//! let rendered = Rendered::of(&Request::Update(
//!     Update {
//!         table: Schema::new("Doors").into(),
//!         key: Key::new("DOOR#1", "META"),
//!         actions: vec![Action::set("state", "OPEN"), Action::increment("version", 1)],
//!         condition: Some(Condition::equals("state", "SHUT")),
//!     },
//!     Returning::Nothing,
//! ))?;
//! let Rendered::UpdateItem(update) = rendered else { unreachable!() };
//! assert_eq!(update.update.as_deref(), Some("SET #n0 = :v0, #n1 = #n1 + :v1"));
//! assert_eq!(update.condition.as_deref(), Some("#n0 = :v2"));
//! assert_eq!(update.placeholders.names[1], ("#n1".to_owned(), "version".into()));
//! # Ok::<(), latchkey_table::Error>(())
//! ```

mod expression;
mod json;
mod scan;

use crate::request::{self, Direction};
use crate::{
    BatchGet, Check, Condition, Consistency, Datum, Delete, Error, Get, Invalid, Item, Leg, Map,
    Put, Request, Returning, SnapshotGet, Text, Transact, Update, Value, validate,
};
use expression::Expressions;
pub(crate) use expression::validate_size;
pub use scan::Scan;
use scan::start_key;

/// A request as one operation of DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered<V = Value> {
    /// A get.
    GetItem(GetItem<V>),
    /// A batch get.
    BatchGetItem(BatchGetItem<V>),
    /// A snapshot get.
    TransactGetItems(TransactGetItems<V>),
    /// A query.
    Query(Query<V>),
    /// A scan of an index.
    Scan(Scan<V>),
    /// A put by itself.
    PutItem(PutItem<V>),
    /// An update by itself.
    UpdateItem(UpdateItem<V>),
    /// A delete by itself.
    DeleteItem(DeleteItem<V>),
    /// A transaction.
    TransactWriteItems(TransactWriteItems<V>),
}

/// What the placeholders of an operation's expressions stand for. Each is used, and each used one is
/// here; DynamoDB refuses anything else, an empty map of them included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders<V = Value> {
    /// The name of an attribute or of a map's entry for each `#n0`, `#n1` …, no name twice.
    pub names: Vec<(String, Text)>,
    /// The value for each `:v0`, `:v1` ….
    pub values: Vec<(String, V)>,
}

/// Which image of an item DynamoDB answers a write with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnValues {
    /// `ALL_OLD`
    AllOld,
    /// `ALL_NEW`
    AllNew,
}

/// `GetItem`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetItem<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes.
    pub key: Map<V>,
    /// Whether the read is a strong one.
    pub consistent_read: bool,
}

/// `BatchGetItem`, on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchGetItem<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes of each item.
    pub keys: Vec<Map<V>>,
    /// Whether the reads are strong ones.
    pub consistent_read: bool,
}

/// `TransactGetItems`, on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactGetItems<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes of each item.
    pub keys: Vec<Map<V>>,
}

/// `Query`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The index, unless the table itself is queried.
    pub index_name: Option<Text>,
    /// Which keys to read.
    pub key_condition: String,
    /// What must hold of an item that is answered.
    pub filter: Option<String>,
    /// What stands in both expressions.
    pub placeholders: Placeholders<V>,
    /// Whether the lowest sort key comes first.
    pub scan_index_forward: bool,
    /// The most items to read.
    pub limit: Option<u32>,
    /// The key attributes, of the table and of the index, of the item to go on behind.
    pub exclusive_start_key: Option<Item>,
    /// Whether the read is a strong one.
    pub consistent_read: bool,
}

/// `PutItem`, or the `Put` of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutItem<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The item.
    pub item: Map<V>,
    /// What must hold of the item that is there.
    pub condition: Option<String>,
    /// What stands in the condition.
    pub placeholders: Placeholders<V>,
    /// The image to answer with. A put cannot be asked for the new one, which is the item itself.
    pub return_values: Option<ReturnValues>,
    /// The image to fail with, where there is a condition to fail.
    pub return_values_on_condition_check_failure: Option<ReturnValues>,
}

/// `UpdateItem`, or the `Update` of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateItem<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes.
    pub key: Map<V>,
    /// The changes, unless there are none: the item is then made of its key alone.
    pub update: Option<String>,
    /// What must hold of the item that is there.
    pub condition: Option<String>,
    /// What stands in both expressions.
    pub placeholders: Placeholders<V>,
    /// The image to answer with.
    pub return_values: Option<ReturnValues>,
    /// The image to fail with, where there is a condition to fail.
    pub return_values_on_condition_check_failure: Option<ReturnValues>,
}

/// `DeleteItem`, or the `Delete` of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteItem<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes.
    pub key: Map<V>,
    /// What must hold of the item that is there.
    pub condition: Option<String>,
    /// What stands in the condition.
    pub placeholders: Placeholders<V>,
    /// The image to answer with. A delete leaves no new one.
    pub return_values: Option<ReturnValues>,
    /// The image to fail with, where there is a condition to fail.
    pub return_values_on_condition_check_failure: Option<ReturnValues>,
}

/// The `ConditionCheck` of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionCheck<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The key attributes.
    pub key: Map<V>,
    /// What must hold of the item.
    pub condition: String,
    /// What stands in the condition.
    pub placeholders: Placeholders<V>,
    /// The image to fail with.
    pub return_values_on_condition_check_failure: ReturnValues,
}

/// `TransactWriteItems`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactWriteItems<V = Value> {
    /// The legs, each with placeholders of its own.
    pub legs: Vec<TransactWriteItem<V>>,
}

/// One leg of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactWriteItem<V = Value> {
    /// `Put`
    Put(PutItem<V>),
    /// `Update`
    Update(UpdateItem<V>),
    /// `Delete`
    Delete(DeleteItem<V>),
    /// `ConditionCheck`
    ConditionCheck(ConditionCheck<V>),
}

impl<V: Datum> Rendered<V> {
    /// Renders any request.
    pub fn of(request: &Request<V>) -> Result<Rendered<V>, Error> {
        Ok(match request {
            Request::Get(get) => Rendered::GetItem(GetItem::of(get)),
            Request::BatchGet(get) => Rendered::BatchGetItem(BatchGetItem::of(get)),
            Request::SnapshotGet(get) => Rendered::TransactGetItems(TransactGetItems::of(get)),
            Request::Query(query) => Rendered::Query(Query::of(query)?),
            Request::IndexScan(scan) => Rendered::Scan(Scan::of(scan)?),
            Request::Put(put, returning) => Rendered::PutItem(PutItem::of(put, *returning)?),
            Request::Update(update, returning) => {
                Rendered::UpdateItem(UpdateItem::of(update, *returning)?)
            }
            Request::Delete(delete, returning) => {
                Rendered::DeleteItem(DeleteItem::of(delete, *returning)?)
            }
            Request::Transact(transact) => {
                Rendered::TransactWriteItems(TransactWriteItems::of(transact)?)
            }
        })
    }

    /// DynamoDB's name for the operation.
    pub fn operation(&self) -> &'static str {
        match self {
            Rendered::GetItem(_) => "GetItem",
            Rendered::BatchGetItem(_) => "BatchGetItem",
            Rendered::TransactGetItems(_) => "TransactGetItems",
            Rendered::Query(_) => "Query",
            Rendered::Scan(_) => "Scan",
            Rendered::PutItem(_) => "PutItem",
            Rendered::UpdateItem(_) => "UpdateItem",
            Rendered::DeleteItem(_) => "DeleteItem",
            Rendered::TransactWriteItems(_) => "TransactWriteItems",
        }
    }
}

/// The bytes of the longest expression of a leg: its condition, or its changes.
pub fn expression_bytes<V: Datum>(leg: &Leg<V>) -> Result<usize, Invalid> {
    let (changes, condition) = match TransactWriteItem::of(leg)? {
        TransactWriteItem::Put(put) => (None, put.condition),
        TransactWriteItem::Update(update) => (update.update, update.condition),
        TransactWriteItem::Delete(delete) => (None, delete.condition),
        TransactWriteItem::ConditionCheck(check) => (None, Some(check.condition)),
    };
    let bytes = |text: Option<String>| text.map_or(0, |text| text.len());
    Ok(bytes(changes).max(bytes(condition)))
}

impl ReturnValues {
    /// DynamoDB's word for it.
    pub fn code(self) -> &'static str {
        match self {
            ReturnValues::AllOld => "ALL_OLD",
            ReturnValues::AllNew => "ALL_NEW",
        }
    }
}

impl<V: Datum> GetItem<V> {
    /// Renders a get.
    pub fn of(get: &Get<V>) -> GetItem<V> {
        GetItem {
            table_name: get.table.name.clone(),
            key: get.table.key.item(&get.key),
            consistent_read: is_strong(get.consistency),
        }
    }
}

impl<V: Datum> BatchGetItem<V> {
    /// Renders a batch get.
    pub fn of(get: &BatchGet<V>) -> BatchGetItem<V> {
        BatchGetItem {
            table_name: get.table.name.clone(),
            keys: get.keys.iter().map(|key| get.table.key.item(key)).collect(),
            consistent_read: is_strong(get.consistency),
        }
    }
}

impl<V: Datum> TransactGetItems<V> {
    /// Renders a snapshot get.
    pub fn of(get: &SnapshotGet<V>) -> TransactGetItems<V> {
        TransactGetItems {
            table_name: get.table.name.clone(),
            keys: get.keys.iter().map(|key| get.table.key.item(key)).collect(),
        }
    }
}

impl<V: Datum> Query<V> {
    /// Renders a query. Its index must be one of the table's, and it goes on from a key of its own.
    pub fn of(query: &request::Query<V>) -> Result<Query<V>, Invalid> {
        let table = &query.table;
        let index = match &query.index {
            None => None,
            Some(name) => {
                Some(table.index(name).ok_or_else(|| Invalid::NoIndex { name: name.clone() })?)
            }
        };
        let index_key = index.map(|index| &index.key);
        let resume = query.resume.as_ref();
        let exclusive_start_key =
            resume.map(|resume| start_key(&table.key, index_key, resume)).transpose()?;
        let mut expressions = Expressions::default();
        let names = index_key.unwrap_or(&table.key);
        let key_condition = expressions.key_condition(names, &query.partition, &query.range);
        let filter = optional(&mut expressions, query.filter.as_ref())?;
        Ok(Query {
            table_name: table.name.clone(),
            index_name: query.index.clone(),
            key_condition,
            filter,
            placeholders: expressions.into_placeholders(),
            scan_index_forward: query.direction == Direction::Ascending,
            limit: query.limit,
            exclusive_start_key,
            consistent_read: is_strong(query.consistency),
        })
    }
}

impl<V: Datum> PutItem<V> {
    /// Renders a put.
    pub fn of(put: &Put<V>, returning: Returning) -> Result<PutItem<V>, Invalid> {
        put.item.iter().try_for_each(|(name, value)| {
            validate::name(name)?;
            validate::value(value)
        })?;
        let mut expressions = Expressions::default();
        let condition = optional(&mut expressions, put.condition.as_ref())?;
        Ok(PutItem {
            table_name: put.table.name.clone(),
            item: put.item.clone(),
            return_values_on_condition_check_failure: failure_image(condition.as_ref()),
            condition,
            placeholders: expressions.into_placeholders(),
            return_values: old_image(returning),
        })
    }
}

impl<V: Datum> UpdateItem<V> {
    /// Renders an update. DynamoDB computes one sum, difference or list at a time: an update that
    /// computes with such a result has no rendering.
    pub fn of(update: &Update<V>, returning: Returning) -> Result<UpdateItem<V>, Invalid> {
        let mut expressions = Expressions::default();
        let changes = expressions.update(&update.actions)?;
        let condition = optional(&mut expressions, update.condition.as_ref())?;
        Ok(UpdateItem {
            table_name: update.table.name.clone(),
            key: update.table.key.item(&update.key),
            update: changes,
            return_values_on_condition_check_failure: failure_image(condition.as_ref()),
            condition,
            placeholders: expressions.into_placeholders(),
            return_values: match returning {
                Returning::Nothing => None,
                Returning::Old => Some(ReturnValues::AllOld),
                Returning::New => Some(ReturnValues::AllNew),
            },
        })
    }
}

impl<V: Datum> DeleteItem<V> {
    /// Renders a delete.
    pub fn of(delete: &Delete<V>, returning: Returning) -> Result<DeleteItem<V>, Invalid> {
        let mut expressions = Expressions::default();
        let condition = optional(&mut expressions, delete.condition.as_ref())?;
        Ok(DeleteItem {
            table_name: delete.table.name.clone(),
            key: delete.table.key.item(&delete.key),
            return_values_on_condition_check_failure: failure_image(condition.as_ref()),
            condition,
            placeholders: expressions.into_placeholders(),
            return_values: old_image(returning),
        })
    }
}

impl<V: Datum> ConditionCheck<V> {
    /// Renders a check.
    pub fn of(check: &Check<V>) -> Result<ConditionCheck<V>, Invalid> {
        let mut expressions = Expressions::default();
        let condition = expressions.condition(&check.condition)?;
        Ok(ConditionCheck {
            table_name: check.table.name.clone(),
            key: check.table.key.item(&check.key),
            condition,
            placeholders: expressions.into_placeholders(),
            return_values_on_condition_check_failure: ReturnValues::AllOld,
        })
    }
}

impl<V: Datum> TransactWriteItems<V> {
    /// Renders a transaction.
    pub fn of(transact: &Transact<V>) -> Result<TransactWriteItems<V>, Error> {
        let leg = |(at, leg)| {
            TransactWriteItem::of(leg).map_err(|reason| Error::Invalid { leg: Some(at), reason })
        };
        let legs = transact.legs.iter().enumerate().map(leg).collect::<Result<_, _>>()?;
        Ok(TransactWriteItems { legs })
    }
}

impl<V: Datum> TransactWriteItem<V> {
    /// Renders a leg, which answers with no image.
    pub fn of(leg: &Leg<V>) -> Result<TransactWriteItem<V>, Invalid> {
        Ok(match leg {
            Leg::Put(put) => TransactWriteItem::Put(PutItem::of(put, Returning::Nothing)?),
            // A leg without its expression is no update to DynamoDB; alone, an item is made of its key.
            Leg::Update(update) if update.actions.is_empty() => return Err(Invalid::NoActions),
            Leg::Update(update) => {
                TransactWriteItem::Update(UpdateItem::of(update, Returning::Nothing)?)
            }
            Leg::Delete(delete) => {
                TransactWriteItem::Delete(DeleteItem::of(delete, Returning::Nothing)?)
            }
            Leg::Check(check) => TransactWriteItem::ConditionCheck(ConditionCheck::of(check)?),
        })
    }

    /// DynamoDB's name for the leg.
    pub fn operation(&self) -> &'static str {
        match self {
            TransactWriteItem::Put(_) => "Put",
            TransactWriteItem::Update(_) => "Update",
            TransactWriteItem::Delete(_) => "Delete",
            TransactWriteItem::ConditionCheck(_) => "ConditionCheck",
        }
    }
}

fn is_strong(consistency: Consistency) -> bool {
    consistency == Consistency::Strong
}

fn optional<V: Datum>(
    expressions: &mut Expressions<V>,
    condition: Option<&Condition<V>>,
) -> Result<Option<String>, Invalid> {
    condition.map(|condition| expressions.condition(condition)).transpose()
}

/// The image a put or a delete answers with: neither can be asked for the new one.
fn old_image(returning: Returning) -> Option<ReturnValues> {
    match returning {
        Returning::Old => Some(ReturnValues::AllOld),
        Returning::Nothing | Returning::New => None,
    }
}

/// The image a refused write fails with.
fn failure_image(condition: Option<&String>) -> Option<ReturnValues> {
    condition.map(|_| ReturnValues::AllOld)
}

#[cfg(test)]
mod tests;
