//! Works through the queues of running systems.
//!
//! [`Workers`] receives messages and has the runtime handle each, so many at once; relays what waits in
//! outboxes; and, told to stop, takes no more and finishes what it has. [`Meters`] count what it does.

mod fullness;
mod meter;
mod relay;
mod workers;

pub use meter::Meters;
pub use workers::{Settings, Workers};
