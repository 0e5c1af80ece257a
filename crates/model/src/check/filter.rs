//! `filter`: a query condition on anything but its keys.

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_read};
use crate::model::{Model, What};

const WHY: &str = "what a filter drops is paid for all the same, and leaves pages half empty";

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            // No waiver gives a condition a meaning where a key is chosen.
            for filter in &query.filters {
                let message = "a query chooses by its keys alone";
                let diagnostic = Diagnostic::new(Rule::Filter, *filter, message)
                    .label("this would be filtered after the items were read")
                    .why(WHY)
                    .help("put the attribute into the sort key or into an index, and fix it there");
                report.raise(diagnostic, &[]);
            }
            if let Some(keep) = &query.keep {
                let message = "this filters items after they were read";
                let diagnostic = Diagnostic::new(Rule::Filter, keep.span, message)
                    .why(WHY)
                    .help(
                        "put the attribute into the sort key or into an index, and fix it there; or say why few are \
                         dropped: `waive filter \"a plan has few tasks\"`",
                    );
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}
