//! Runs the examples of a document on the real runtime, and records what they do to its table.
//!
//! [`run`] compares answers with what examples say, on a store in memory, on a backend or against a server. [`record`]
//! runs the same steps in memory, looks at the table after each of them, and keeps what has changed. [`fill`] and
//! [`Play`] play the demo of a document: what fills its store, and what goes on.

mod blocks;
mod demo;
mod film;
mod record;
mod recording;
mod run;
mod target;
mod watch;

pub use demo::{NotFilled, Play, fill};
pub use record::record;
pub use recording::{
    Answered, Asked, Block, Change, Changed, Did, QueueChange, Read, Recording, Statement, Step,
    Waiting,
};
pub use run::{Report, run};
pub use target::{Reply, Target, TargetError};
