//! The embedded store: single-table requests, durable, on one machine.
//!
//! One writer thread makes writes durable in groups, one sync of a journal a group; another thread moves them into the
//! map in the background. Reads run on the caller's thread from what is durable. See [`Store`].

mod backend;
mod backup;
mod catalog;
mod compact;
mod directory;
mod engine;
mod error;
mod fold;
mod gather;
mod group;
mod guard;
mod inspect;
mod item_codec;
mod journal;
mod key_codec;
mod map;
mod overlay;
mod pages;
mod pending;
pub mod private;
mod progress;
mod queue;
mod read;
mod record;
mod recover;
mod restore;
mod salvage;
mod scan;
mod shadow;
mod stamp;
mod storage;
mod store;
mod verify;
mod view;
mod watch;
mod write;
mod writer;

pub use backup::{BackupError, Saved};
pub use compact::{Compacted, compact};
pub use error::OpenError;
pub use guard::{PanicFate, panic_fate};
pub use inspect::check_directory;
pub use pending::Pending;
pub use progress::Progress;
pub use redb::StorageBackend;
pub use restore::{RestoreError, restore};
pub use salvage::{Rescued, salvage};
pub use stamp::{Stamp, Stamping};
pub use storage::Part;
pub use store::{Options, Store};
pub use verify::{Checked, Damage, Verified, Watching};
pub use view::{ReadSoFar, View};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
