//! The service under races, kills, shutdown, hostile clients and full disks.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod books;
mod crowds;
mod disk;
mod endpoint;
mod everything;
mod gone;
mod invariants;
mod kill;
mod limits;
mod logs;
mod mangled;
mod odd;
mod overload;
mod private;
mod races;
mod refusals;
mod shutdown;
mod starting;
mod windows;
mod wire;
mod world;

use latchkey_testing as serve;
