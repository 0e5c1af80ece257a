//! Values, and what every layer knows about them: exact numbers, maps, JSON, instants, ids, names,
//! capacity, and the limits that DynamoDB sets.
//!
//! This crate is the bottom of the workspace. It does no I/O, reads no clock and knows no request. What
//! a request to a table means is in `latchkey-table`.
//!
//! ```
//! use latchkey_value::{Item, Number, json};
//!
//! let item = Item::from([("state", "OPEN")]);
//! let mut text = String::new();
//! json::write_map(&item, &mut text);
//! assert_eq!(text, r#"{"state":"OPEN"}"#);
//! assert!("0.30".parse::<Number>()? < Number::from(1i64));
//! # Ok::<(), latchkey_value::NumberError>(())
//! ```

mod capacity;
mod format;
pub mod hidden;
pub mod id;
pub mod json;
pub mod limits;
pub mod name;
mod number;
pub mod time;
mod value;

pub use capacity::{Capacity, Consistency};
pub use format::Format;
pub use number::{Number, NumberError, Rounding};
pub use value::{Item, Map, Text, Value, ValueType};
