//! Contracts on every backend, asked the same: documents and calls that are drawn, over collections, shards, batches,
//! lists, sets, records, items that end, filters, scans, indexes of parts and keys of every shape. Every answer must be
//! the same, its cursor too. A scan has an order of its own on every backend, and the same items.

mod calls;
mod designs;
mod kept;
mod world;

use latchkey_testing::services::Kind;
use proptest::test_runner::{Config, TestRunner};

use self::world::World;

/// How many programs are compared where nothing else is said.
const PROGRAMS: u32 = 120;

/// How often that many are drawn again while a kind of answer has been too rare: what is drawn is chance.
const DRAWS: u32 = 8;

fn compare(kinds: &[Kind], programs: u32) {
    let world = World::start(kinds);
    let program = calls::program();
    for _ in 0..DRAWS {
        let config = Config {
            cases: programs,
            max_shrink_iters: 2000,
            failure_persistence: None,
            ..Config::default()
        };
        let ran = TestRunner::new(config).run(&program, |program| world.compare(&program));
        ran.unwrap_or_else(|failure| panic!("{failure}"));
        if world.too_rare(u64::from(programs)).is_empty() {
            return;
        }
    }
    let rare = world.too_rare(u64::from(programs));
    panic!("{DRAWS} times {programs} programs, and still too rare: {rare:?}; {world}");
}

#[test]
fn contracts_answer_the_same_on_dynoxide() {
    compare(&[Kind::Dynoxide], crate::runs(PROGRAMS));
}

/// DynamoDB Local needs a good deal longer for a table and for a call.
#[test]
fn contracts_answer_the_same_on_dynamodb_local() {
    compare(&[Kind::DynamoDbLocal], crate::runs(PROGRAMS) / 3);
}
