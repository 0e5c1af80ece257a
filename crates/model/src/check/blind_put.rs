//! `blind-put`: a put that does not say what becomes of an item that is there.

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_leg};
use crate::model::{Model, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_leg(contract, |leg, step| {
            if leg.verb != Verb::Put || leg.put.is_some() {
                return;
            }
            let diagnostic =
                Diagnostic::new(Rule::BlindPut, leg.span, "a put that may overwrite unseen")
                    .why("an item that is there already would be gone without a word")
                    .help("write `if absent else …`, or `replace` where overwriting is meant");
            report.raise(diagnostic, &step.waivers);
        });
    }
}
