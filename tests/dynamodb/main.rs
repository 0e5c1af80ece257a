//! The command on DynamoDB: its flags, its tables, and what it says when something is not as it should be.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod cloudformation;
mod examples;
mod flags;
mod impostor;
mod own_items;
mod startup;
mod tables;
mod world;

use latchkey_testing as serve;
