//! `filter`: a query condition on anything but its keys.

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_read};
use crate::model::{Model, What};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            for filter in &query.filters {
                let message = "a query chooses by its keys alone";
                let diagnostic = Diagnostic::new(Rule::Filter, *filter, message)
                    .label("this would be filtered after the items were read")
                    .why(
                        "what a filter drops is paid for all the same, and leaves pages half empty",
                    )
                    .help("put the attribute into the sort key or into an index, and fix it there");
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}
