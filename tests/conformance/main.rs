//! What every backend must do with a table request: one list of scenarios, on the store on this machine, on the table
//! of the race search, on dynoxide-rs and on AWS's DynamoDB Local. What one of them cannot do is listed, and must be
//! what it cannot do still. Beside it, what is made of a service that fails.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod backend;
mod capability;
mod faults;
mod scenario;

use std::sync::Arc;

use crate::backend::Backend;
use crate::capability::Capability;
use crate::scenario::Scenario;
use latchkey_testing::services::Kind;

/// Runs every scenario, and tells of all that go wrong at once.
fn run(backend: Backend, lacking: &[Capability]) {
    let backend = Arc::new(backend);
    let mut wrong = Vec::new();
    let mut needed = Vec::new();
    for Scenario { name, needs, run, instead } in scenario::all() {
        let went = backend.block_on(run(Arc::clone(&backend)));
        match (went, needs.filter(|needs| lacking.contains(needs))) {
            (Ok(()), None) => {}
            (Err(reason), None) => wrong.push(format!("{name}: {reason}")),
            (Ok(()), Some(lack)) => wrong.push(format!("{name}: it can do this now: {lack:?}")),
            (Err(_), Some(lack)) => {
                let instead = instead.map(|run| backend.block_on(run(Arc::clone(&backend))));
                if let Some(Err(reason)) = instead {
                    wrong.push(format!("{name}, without {lack:?}: {reason}"));
                }
            }
        }
        needed.extend(needs);
    }
    for lack in lacking {
        assert!(needed.contains(lack), "no scenario needs {lack:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_store_on_this_machine() {
    run(Backend::embedded(), &[]);
}

#[test]
fn the_table_in_memory() {
    run(Backend::memory(), capability::MEMORY_LACKS);
}

#[test]
fn dynoxide() {
    run(Backend::service(Kind::Dynoxide), capability::DYNOXIDE_LACKS);
}

#[test]
fn dynamodb_local() {
    run(Backend::service(Kind::DynamoDbLocal), capability::DYNAMODB_LOCAL_LACKS);
}
