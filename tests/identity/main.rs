//! Who calls, seen from outside: `latchkey serve` beside an identity provider that the test runs on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

use latchkey_testing as serve;
use latchkey_testing::jwt;

mod attacks;
mod recipes;
mod refusals;
mod rotation;
mod secrets;
mod tls;
mod world;
