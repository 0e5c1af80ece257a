//! Documents whose examples must hold on every backend, through the runtime and the service above it.

use std::sync::Arc;

use latchkey_example::{self as example, Target, TargetError};
use latchkey_runtime::System;

use super::Went;
use crate::backend::Backend;

/// Runs the examples of a document on tables of its own. They must show every answer.
async fn hold(backend: &Backend, text: &str) -> Went {
    let system = System::read(text).map_err(|mistakes| mistakes.to_string())?;
    let (system, tables) = backend.with_tables(system).await?;
    let mut wanted = Vec::new();
    for contract in system.contracts() {
        let id = contract.id.to_string();
        let codes = system.problems(&contract.id).into_iter();
        wanted.extend(codes.map(|code| (id.clone(), Some(code.to_owned()))));
        wanted.push((id, None));
    }
    let target = Target::on(system, tables).await.map_err(unusable)?;
    let report = example::run(text, &target).await.map_err(unusable)?;
    let line = |at: usize| text.get(..at).map_or(0, |before| before.lines().count());
    let told = report
        .failures
        .iter()
        .map(|one| format!("line {}: {} {:?}", line(one.span.start), one.message, one.help));
    same!(told.collect::<Vec<_>>(), Vec::<String>::new());
    let missing: Vec<_> = wanted.iter().filter(|gap| !report.seen.contains(gap)).collect();
    same!(missing, Vec::<&(String, Option<String>)>::new());
    same!(report.requests > 10, true, "{} requests", report.requests);
    Ok(())
}

fn unusable(error: TargetError) -> String {
    match error {
        TargetError::Unusable(message) | TargetError::Request(message) => message,
    }
}

pub(super) async fn collections(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/collections.md")).await
}

pub(super) async fn kept_collections_and_members(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/kept.md")).await
}

pub(super) async fn numbers_in_keys_of_any_name(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/number-keys.md")).await
}

pub(super) async fn answers_that_cannot_be_computed(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/not-computed.md")).await
}

pub(super) async fn shards(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/shards.md")).await
}

pub(super) async fn batches(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/batches.md")).await
}

pub(super) async fn snapshots(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../documents/snapshots.md")).await
}

pub(super) async fn lists_sets_and_records(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/documents/shop.md")).await
}

pub(super) async fn items_that_end(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/ends.md")).await?;
    hold(&backend, include_str!("../documents/ends.md")).await
}

pub(super) async fn ways_to_answer(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/answers.md")).await
}

pub(super) async fn answers_from_memory(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/documents/cached.md")).await
}

pub(super) async fn other_names_of_keys(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/tables/names.md")).await
}

pub(super) async fn keys_that_are_numbers(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/tables/numbers.md")).await
}

pub(super) async fn no_sort_key(backend: Arc<Backend>) -> Went {
    hold(&backend, include_str!("../../http/tables/sessions.md")).await
}

/// A contract whose transaction has a leg for each element of a list, and one more.
const EACH: &str = include_str!("../documents/each.md");

/// The requests of `each.md` that need more legs than 10 stand behind this line.
const BEYOND: &str = "<!-- more than 10 legs -->";

pub(super) async fn each_of_ten(backend: Arc<Backend>) -> Went {
    hold(&backend, EACH).await
}

/// Ten legs are made; of eleven none is, and the call is told so.
pub(super) async fn each_of_nine_at_most(backend: Arc<Backend>) -> Went {
    let (fits, _) = EACH.split_once(BEYOND).ok_or("`each.md` has no line between its examples")?;
    hold(&backend, fits).await?;
    let refused = include_str!("../documents/each-refused.md");
    hold(&backend, &format!("{fits}\n{refused}")).await
}
