//! A `limit` that its contract cannot have: nobody's calls are counted by it.

use latchkey_language::{Diagnostic, Rule};

use super::super::Report;
use crate::model::{Contract, Whose};

pub(super) fn check(contract: &Contract, report: &mut Report) {
    let facts = &contract.facts;
    let Some(limit) = &facts.limit else { return };
    let diagnostic = if contract.route.is_none() {
        Diagnostic::new(Rule::Undeclared, limit.span, "a worker has no callers to limit")
            .why("the server counts the calls of its callers; a worker takes messages as fast as it can")
            .help("delete the `limit`, and write one in the contracts that send the messages")
    } else if contract.open.is_some() && limit.value.whose == Whose::Caller {
        let message = "a contract that anyone may call does not know its caller";
        Diagnostic::new(Rule::Undeclared, limit.span, message)
            .why("without a token there is no caller whose calls the server could count")
            .help("write `per address`")
    } else {
        return;
    };
    report.raise(diagnostic, &facts.waivers);
}
