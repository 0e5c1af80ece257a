//! Promises that no single answer shows: they are of many calls, in many orders, with the server gone in between.
//!
//! Each test is short here, and long by `./reliability.sh`; docs/reliability.md has the figures.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod clock;
mod histories;
mod linear;
mod seeded;
mod transfers;

use latchkey_testing as serve;
