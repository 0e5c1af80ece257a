//! What the embedded store promises: answers like a plain map's, durability through kills, torn
//! writes and full disks, and no lost update among many writers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod calls;
mod contention;
mod creation;
mod damage;
mod disk;
mod durability;
mod failing;
mod formats;
mod gone;
mod journal;
mod kill;
mod messages;
mod model;
mod reference;
mod scan;
mod stamps;
mod tables;
mod torn;
