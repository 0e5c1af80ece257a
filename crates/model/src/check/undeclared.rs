//! `undeclared`: a contract that does not state its consistency, cardinality and rate.

use latchkey_language::Diagnostic;

use super::Report;
use crate::model::Model;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
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
        let message = format!("`{}` lacks the facts {}", contract.id, words.join(", "));
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
