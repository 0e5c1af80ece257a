//! Executes checked contracts: a call in, an outcome out.
//!
//! A [`System`] is a document that was checked and planned, once. A [`Runtime`] runs its contracts on a
//! [`Backend`](latchkey_table::Backend); HTTP, the command line, workers and libraries all come in through [`Runtime::call`].

mod answer;
mod bug;
mod cache;
mod call;
mod clock;
mod convert;
mod cursor;
pub mod draw;
mod evaluate;
mod examine;
mod expiry;
mod explain;
mod idempotency;
mod input;
mod lanes;
mod left;
mod pages;
mod plan;
mod problem;
mod queue_handle;
mod queues;
mod relay;
mod request;
mod run;
mod runtime;
mod shape;
mod storage;
mod sweep;
mod sweeper;
mod trace;
mod turn;
mod ulids;
mod upkeep;
mod work;

pub use answer::{Answer, Freshness, Outcome};
pub use bug::Faults;
pub use cache::CacheCount;
pub use call::{Call, Caller, IfMatch, RawInput};
pub use clock::{Source, SystemSource};
pub use convert::Converted;
pub use examine::{Finding, Matter};
pub use explain::{Asked, Explanation, explain};
pub use latchkey_model::model;
pub use latchkey_queue as queue;
pub use plan::{ContractInfo, InputInfo, Mistakes, QueueInfo, System};
pub use problem::{FieldError, PROBLEM_BASE, Problem};
pub use queue_handle::QueueHandle;
pub use queues::{Outside, Sending, Sent};
pub use relay::Relayed;
pub use runtime::{Options, Runtime};
pub use storage::{StartError, Storage};
pub use sweep::{Swept, sweep};
pub use sweeper::Sweeper;
pub use trace::{Step, Trace};
pub use upkeep::Purged;
pub use work::{Ending, Handled, Work, Worked};

use latchkey_value::{json, time};

/// The program in the guide compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/serving.md")]
struct Serving;
