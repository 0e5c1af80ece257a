//! Single-table requests on DynamoDB, and on what speaks its protocol.
//!
//! Requests are those of `latchkey_table`, rendered by it; answers mean the same as the embedded store's.

mod backend;
mod batch;
mod client;
mod convert;
mod error;
mod many;
mod read;
mod scan;
mod tables;
mod write;

pub use client::{DynamoDb, Settings};
pub use tables::{Description, IndexDescription, Mismatch, Setting, TableError};
