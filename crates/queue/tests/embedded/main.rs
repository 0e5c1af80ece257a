//! What the embedded queue promises: each message in one place, one holder at a time, at least once
//! through leases that run out and kills, and no work while nothing is due.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod behaviour;
mod clock;
mod concurrency;
mod kill;
mod limits;
mod model;
mod ordered;
mod waiting;
mod world;
