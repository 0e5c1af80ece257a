//! Single-table requests on DynamoDB, and on what speaks its protocol.
//!
//! Requests are those of `latchkey_table`, rendered by it; answers mean the same as the embedded store's.

mod batch;
mod client;
mod convert;
mod error;
mod many;
mod read;
mod scan;
mod tables;
mod write;

pub use batch::BATCH_ITEMS_MAX;
pub use client::{DynamoDb, Settings};
pub use scan::{About, Scanned};
pub use tables::{
    Description, EXPIRY_ATTRIBUTE, IndexDescription, Mismatch, Setting, TableError, key_attributes,
};
