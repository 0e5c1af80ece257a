//! `scan`: a read without a fixed partition key.

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_read};
use crate::model::{Model, What};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            if query.scans() {
                let message = "this query reads a whole index";
                let diagnostic = Diagnostic::new(Rule::Scan, read.span, message)
                    .why("its cost grows with everything that the index holds")
                    .help(
                        "begin it with `where PK = \"…\"`; or say why the index stays small: `waive scan \"a shop \
                         features few deals\"`",
                    );
                report.raise(diagnostic, &step.waivers);
            } else if query.partition.is_none() {
                let message = "this query fixes no partition";
                let diagnostic = Diagnostic::new(Rule::Scan, read.span, message)
                    .why("it would read the whole table: its cost grows with everything that is stored")
                    .help("begin it with `where PK = \"…\"`, or add an index whose partition is known here");
                // No waiver makes a scan of the table possible.
                report.raise(diagnostic, &[]);
            }
        });
    }
}
