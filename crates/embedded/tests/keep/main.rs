//! Whole stores: checked, saved from damage, backed up, made small.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod backup;
mod compact;
mod salvage;
mod verify;
