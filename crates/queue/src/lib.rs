//! Queues of messages behind one type, [`Queue`]: in the embedded store or on SQS.
//!
//! Every queue delivers at least once. Whoever receives a message has it to itself for a lease, and says
//! before it is over what became of it; otherwise the message comes again. Messages that are given up are
//! kept as [dead letters](dead). For a queue outside the store, a send waits in the [outbox].

mod clock;
pub mod dead;
mod depth;
mod embedded;
mod error;
mod home;
pub mod limits;
mod message;
pub mod outbox;
mod queue;
#[cfg_attr(
    not(feature = "sqs"),
    expect(dead_code, reason = "nobody but SQS hands out messages by a receipt")
)]
mod received;
#[cfg(feature = "sqs")]
mod sqs;
#[cfg(not(feature = "sqs"))]
#[path = "no_sqs.rs"]
mod sqs;

pub use clock::Clock;
pub use depth::{Count, Depth};
pub use embedded::{Blocked, Embedded, Peeked, Sequel, Stranded, Which, leg, leg_with};
pub use error::Error;
pub use home::Home;
pub use latchkey_embedded::Stamp;
pub use message::{Message, TryFailure};
pub use queue::Queue;
pub use received::{Received, runs};
pub use sqs::Sqs;
#[cfg(feature = "sqs")]
pub use sqs::{SqsOptions, SqsService};
