//! Queues, workers and timers, in processes of their own that are killed at random moments.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod clicks;
mod drain;
mod event;
mod order;
mod outside;
mod poison;
mod race;
mod refused;
mod rounds;
mod seats;
mod steps;
mod timers;
mod world;

use latchkey_testing::{self as serve, jwt};
