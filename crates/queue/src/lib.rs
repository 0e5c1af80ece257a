//! Queues of messages behind one type.

mod clock;
pub mod dead;
mod depth;
mod embedded;
mod error;
mod home;
pub mod limits;
mod message;
pub mod outbox;
mod received;

pub use clock::Clock;
pub use depth::{Count, Depth};
pub use embedded::{Embedded, Peeked, Which, leg};
pub use error::Error;
pub use home::Home;
pub use message::{Failure, Message};
pub use received::Received;
