//! Holds the runtime to `docs/language.md`, sentence by sentence, with small documents of several domains.
//! The words above a test are the reference's own, or close to them.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]
#![expect(clippy::expect_used, reason = "a test that goes wrong should fail, where it went wrong")]
#![expect(clippy::panic, reason = "a test that goes wrong should fail, where it went wrong")]
#![expect(clippy::indexing_slicing, reason = "a test that goes wrong should fail")]

mod absent;
mod ahead;
mod cached;
mod collections;
mod conditions;
mod details;
mod differential;
mod draws;
mod ends;
mod expressions;
mod filters;
mod foreign;
mod fuzz;
mod images;
mod indexes;
mod inputs;
mod kept;
mod left;
mod lines;
mod older;
mod ordered;
mod outbox;
mod own;
mod paging;
mod participation;
mod presence;
mod projections;
mod queues;
mod reading;
mod refusals;
mod remade;
mod replay;
mod retries;
mod returning;
mod seam;
mod secrets;
mod shards;
mod snapshot;
mod stored;
mod support;
mod sweeps;
mod transactions;
mod types;
mod units;
mod values;
mod writing;
