//! The store on this machine and dynoxide-rs, asked the same: every answer must be the same. `programs` asks the same of
//! contracts, and of the other backends too.
//!
//! dynoxide-rs is asked over HTTP through `latchkey_dynamodb`, so that what renders requests and reads
//! answers is held to the same. `LATCHKEY_DIFFERENTIAL_RUNS` says how many sequences, and how many programs; a few
//! hundred without it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod normal;
mod programs;
mod steps;
mod world;

use proptest::test_runner::{Config, TestRunner};

use crate::world::World;

/// How many sequences are run where nothing else is said.
const RUNS: u32 = 300;

/// How many are run: as many as is said, or the usual number.
fn runs(usual: u32) -> u32 {
    match std::env::var("LATCHKEY_DIFFERENTIAL_RUNS") {
        Ok(runs) => runs.parse().expect("LATCHKEY_DIFFERENTIAL_RUNS is a number"),
        Err(_) => usual,
    }
}

/// Strategies of strategies are deep, and unoptimised.
const STACK_BYTES: usize = 64 * 1024 * 1024;

#[test]
fn both_answer_the_same() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(compare).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn compare() {
    let config = Config {
        cases: runs(RUNS),
        max_shrink_iters: 4000,
        failure_persistence: None,
        ..Config::default()
    };
    let world = World::start();
    let ran = TestRunner::new(config).run(&steps::sequence(), |steps| world.compare(&steps));
    ran.unwrap_or_else(|failure| panic!("{failure}"));
    world.assert_all_was_seen();
}

#[test]
fn every_normalisation_is_listed_with_its_reason() {
    let listed = include_str!("../../docs/differences.md");
    for name in normal::NAMES {
        assert!(listed.contains(&format!("`{name}`")), "docs/differences.md does not name {name}");
    }
}
