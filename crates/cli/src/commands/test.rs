//! `latchkey test`

#[cfg(feature = "aws")]
mod own_table;

use latchkey_example::{self as example, Report, Target, TargetError};
use latchkey_language::Diagnostic;
use latchkey_race::SearchError;
use latchkey_runtime::System;

use crate::arguments::Test;
use crate::document::{self, Document};
use crate::secret::Secret;
use crate::{Failure, render};

pub(crate) fn run(arguments: &Test, colour: bool) -> Result<(), Failure> {
    if arguments.endpoint.is_some() && !arguments.dynamodb {
        return Err(Failure::unusable(
            "`--endpoint` is for DynamoDB; add `--dynamodb`, or leave it out",
        ));
    }
    let documents = document::all(&arguments.documents)?;
    let systems = document::systems(&documents, colour)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    let mut failed = false;
    for (document, system) in documents.iter().zip(systems) {
        let gaps = gaps(&system);
        let report = runtime.block_on(examples(arguments, document, system));
        let report = report.map_err(|error| match error {
            TargetError::Unusable(message) | TargetError::Request(message) => {
                Failure::Unusable(message)
            }
        })?;
        let mut report = report;
        report.failures.extend(examined(document)?);
        report.failures.sort_by_key(|failure| failure.span);
        let missing: Vec<&Gap> = gaps.iter().filter(|gap| !report.seen.contains(gap)).collect();
        failed |= tell(document, &report, &missing, arguments.complete, colour);
        failed |= arguments.complete && !missing.is_empty();
    }
    if failed { Err(Failure::Printed) } else { Ok(()) }
}

/// What is wrong with what the examples of a document leave. They run once more for that, in memory.
fn examined(document: &Document) -> Result<Vec<Diagnostic>, Failure> {
    match latchkey_race::examine(&document.text, &latchkey_race::Options::default()) {
        Ok(found) => Ok(found),
        Err(SearchError::Mistakes(mistakes)) => Ok(mistakes),
        Err(error) => Err(Failure::unusable(error)),
    }
}

/// Runs the examples of a document in memory, on DynamoDB or against a server.
async fn examples(
    arguments: &Test,
    document: &Document,
    system: System,
) -> Result<Report, TargetError> {
    let target = match &arguments.against {
        #[cfg(feature = "aws")]
        None if arguments.dynamodb => return own_table::run(arguments, document, system).await,
        #[cfg(not(feature = "aws"))]
        None if arguments.dynamodb => return Err(unusable(crate::aws::NO_DYNAMODB)),
        None => Target::in_memory(system).await?,
        Some(url) => {
            let tokens = Secret::find_made(&arguments.data)
                .and_then(|secret| secret.tokens(&arguments.trust))
                .map_err(|failure| TargetError::Unusable(failure.into_reason()))?;
            let target = Target::server(url, tokens)?;
            clock_is_ours(&target, url).await?;
            target
        }
    };
    example::run(&document.text, &target).await
}

/// A contract, and a problem it can answer.
type Gap = (String, Option<String>);

/// Every contract of a system, and every problem that it can answer.
fn gaps(system: &System) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for contract in system.contracts() {
        let id = contract.id.to_string();
        gaps.push((id.clone(), None));
        let codes = system.problems(&contract.id).into_iter();
        gaps.extend(codes.map(|code| (id.clone(), Some(code.to_string()))));
    }
    gaps
}

fn tell(
    document: &Document,
    report: &Report,
    missing: &[&Gap],
    complete: bool,
    colour: bool,
) -> bool {
    for failure in &report.failures {
        eprintln!("{}\n", render(&document.path, &document.text, failure, colour));
    }
    for (contract, problem) in missing.iter().filter(|_| complete) {
        match problem {
            Some(code) => println!("{contract}: no example is answered `{code}`"),
            None => println!("{contract}: no example has the answer of a success"),
        }
    }
    let (blocks, requests) = (report.blocks, report.requests);
    let verdict = match report.failures.len() {
        0 => "all as they say".to_owned(),
        1 => "1 is not as it says".to_owned(),
        count => format!("{count} are not as they say"),
    };
    let counted =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let (blocks, requests) = (counted(blocks, "example"), counted(requests, "request"));
    println!("{}: {blocks}, {requests}, {verdict}", document.path);
    if !missing.is_empty() && !complete {
        println!("{} answers have no example; --complete lists them", missing.len());
    }
    !report.failures.is_empty()
}

/// Refuses a server without a test clock, whose answers would depend on the time.
async fn clock_is_ours(target: &Target, url: &str) -> Result<(), TargetError> {
    let headers = [("latchkey-now".to_owned(), "no time".to_owned())];
    let reply = target.send("GET", "/ready", &headers, String::new()).await?;
    if reply.headers.contains_key("latchkey-test-clock") {
        return Ok(());
    }
    Err(unusable(&format!("{url} does not let examples set the clock; start it with --test-clock")))
}

fn unusable(message: &str) -> TargetError {
    TargetError::Unusable(message.to_owned())
}
