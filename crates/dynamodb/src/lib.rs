//! Single-table requests on DynamoDB, and on services with its protocol.
//!
//! Requests are those of `latchkey_table`, which also renders them. Answers mean the same as those of the embedded
//! store.

mod backend;
mod batch;
mod client;
mod convert;
mod error;
mod gather;
mod many;
mod read;
mod scan;
mod tables;
mod write;

pub use client::{DynamoDb, Settings};
pub use tables::{Description, IndexDescription, Mismatch, Setting, TableError};
