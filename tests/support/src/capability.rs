//! What the services of the suites do otherwise than DynamoDB, and why that is theirs and not ours. A test
//! that meets such a thing asserts what is done instead; none is left out for it.

use crate::backend;
use crate::services::Kind;

/// Something that DynamoDB does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Says what a transaction consumed: for each leg twice what it would alone, and its index writes.
    TransactionCapacity,
    /// Says that a query which finds nothing consumed half a unit, or one.
    EmptyQueryCapacity,
    /// Keeps an empty text, where it is no key.
    EmptyTexts,
    /// What it acknowledged is still there when it was killed. The test of that is `tests/faults/endpoint.rs`.
    Durability,
}

/// Who lacks what.
const LACKS: &[(Kind, Capability, &str)] = &[
    (
        Kind::DynamoDbLocal,
        Capability::TransactionCapacity,
        "it says 4 units for any transaction of small items on a table without indexes, and more on one with",
    ),
    (Kind::DynamoDbLocal, Capability::EmptyQueryCapacity, "it says 0"),
    (Kind::DynamoDbLocal, Capability::EmptyTexts, "it refuses them, as DynamoDB did until 2020"),
    (
        Kind::DynamoDbLocal,
        Capability::Durability,
        "it answers a transaction before it has committed it to its file",
    ),
];

/// Whether the backend of this run has it.
pub fn has(capability: Capability) -> bool {
    let Some(service) = backend::service() else { return true };
    !LACKS.iter().any(|(kind, lack, _)| (*kind, *lack) == (service.kind(), capability))
}

/// What is expected of a backend that has it, or of one that lacks it.
pub fn or<T>(capability: Capability, has_it: T, lacks_it: T) -> T {
    if has(capability) { has_it } else { lacks_it }
}
