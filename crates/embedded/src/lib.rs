//! The embedded store: single-table requests, durable, on one machine.
//!
//! One writer thread commits writes in groups, one sync a group; reads run on the caller's thread
//! from the last durable commit. See [`Store`].

mod backend;
mod catalog;
mod directory;
mod engine;
mod error;
mod gather;
mod item_codec;
mod key_codec;
mod pending;
pub mod private;
mod queue;
mod read;
mod scan;
mod stamp;
mod store;
mod verify;
mod write;
mod writer;

pub use engine::panic_is_caught;
pub use error::OpenError;
pub use pending::Pending;
pub use redb::StorageBackend;
pub use stamp::{Stamp, Stamping};
pub use store::{Options, Store};
pub use verify::Verified;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
