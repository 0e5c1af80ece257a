//! `undeclared`: a contract that does not state its consistency, cardinality and rate, or states a
//! consistency it has not.

use latchkey_language::Diagnostic;

use super::{Report, each_read};
use crate::model::{Contract, Model, Strong};

pub(super) fn check(model: &Model, report: &mut Report) {
    let workers = model.workers.iter().map(|worker| &worker.body);
    for contract in model.contracts.iter().chain(workers) {
        claims(contract, report);
        let facts = &contract.facts;
        let missing: Vec<&str> = [
            ("consistency eventual", facts.consistency.is_none()),
            ("expect 1 item", facts.expect.is_none()),
            ("rate 10/s", facts.rate.is_none()),
        ]
        .into_iter()
        .filter_map(|(fact, missing)| missing.then_some(fact))
        .collect();
        if missing.is_empty() {
            continue;
        }
        let words: Vec<&str> = missing.iter().filter_map(|fact| fact.split(' ').next()).collect();
        let message = format!("`{}` does not state its {}", contract.id, words.join(", "));
        let examples: Vec<String> = missing.iter().map(|fact| format!("`{fact}`")).collect();
        let diagnostic = Diagnostic::new("undeclared", contract.span, message)
            .why("an access pattern nobody has estimated cannot be judged, nor its cost checked")
            .help(format!(
                "add {} before the closing brace, with your own figures",
                examples.join(", ")
            ));
        let waivers = contract.steps.first().map_or(&[][..], |step| &step.waivers);
        report.raise(diagnostic, waivers);
    }
}

/// A contract that says it is strong reads nothing that may be behind.
fn claims(contract: &Contract, report: &mut Report) {
    let Some(stated) = contract.facts.consistency.as_ref().filter(|stated| stated.value) else {
        return;
    };
    each_read(contract, |read, step| {
        if matches!(read.strong, Strong::Yes) {
            return;
        }
        let message = "this read may be out of date, and the contract says it is consistent";
        let diagnostic = Diagnostic::new("undeclared", read.span, message)
            .other(stated.span, "stated here")
            .why("whoever relies on it would miss what was written a moment ago")
            .help("write `strong` behind the read, or state `consistency eventual`");
        report.raise(diagnostic, &step.waivers);
    });
}
