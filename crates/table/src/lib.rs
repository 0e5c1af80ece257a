//! What a request to a single table *is*: values, keys, conditions, actions, requests, answers and
//! their capacity, with DynamoDB's meaning and limits. No I/O: backends carry requests out.
//!
//! ```
//! use latchkey_table::{Action, Condition, Item, apply, holds};
//!
//! let stored = Item::from([("PK", "DOOR#1"), ("SK", "META"), ("state", "SHUT")]);
//! assert!(holds(&Condition::equals("state", "SHUT"), Some(&stored)));
//! let opened = apply(&[Action::set("state", "OPEN")], &stored)?;
//! assert_eq!(opened.get("state"), Some(&"OPEN".into()));
//! # Ok::<(), latchkey_table::Invalid>(())
//! ```

mod action;
mod answer;
#[cfg(test)]
mod arbitrary;
mod backend;
mod capacity;
mod condition;
mod datum;
mod invalid;
pub mod line;
mod path;
mod projection;
mod range;
pub mod render;
mod request;
mod schema;
mod validate;

pub use action::{Action, Expression, apply};
pub use answer::{Answer, Error, Failed, Got, GotMany, Page, ReadOnly, Scanned, Transacted, Wrote};
pub use backend::{About, Answering, Backend, Need, PrepareError, Tables};
pub use capacity::{Image, index_write};
pub use condition::{Comparator, Condition, Operand, holds};
pub use datum::{Datum, KeyText, View};
pub use invalid::Invalid;
// Requests and answers are made of these types, so whoever uses requests has them from here too. All else of `value`
// is had from `value`.
pub use latchkey_value::{Capacity, Consistency, Item, Map, Number, Text, Value, ValueType};
pub use path::{Path, Step};
pub use projection::Projection;
pub use range::{SortRange, successor};
pub use request::{
    BatchGet, Check, Delete, Direction, Get, IndexScan, Leg, Put, Query, Request, Resume,
    Returning, Scan, SnapshotGet, Transact, Update,
};
pub use schema::{Index, Key, KeyAttribute, KeyNames, KeyType, Schema};

use latchkey_value::{NumberError, limits};
