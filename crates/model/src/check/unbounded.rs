//! `unbounded`: a query without a page or `first N`, or with one above 100.

use latchkey_language::Diagnostic;

use super::{Report, each_read};
use crate::model::{Limit, Model, What};

const ITEMS_MAX: u64 = 100;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let limit = match &read.what {
                What::Query(query) => query.limit,
                What::Batch(batch) => Some(Limit::First(batch.count())),
                What::Get(_) => return,
            };
            let message = match limit {
                None => "this query has no bound".to_owned(),
                Some(Limit::Page(size, max)) if size > max => {
                    format!("a page of {size} above its own maximum of {max}")
                }
                Some(Limit::Page(_, most) | Limit::First(most)) if most > ITEMS_MAX => {
                    format!("{most} items at once; the most is {ITEMS_MAX}")
                }
                Some(Limit::Page(0, _) | Limit::First(0)) => "a page of nothing".to_owned(),
                Some(_) => return,
            };
            let diagnostic = Diagnostic::new("unbounded", read.span, message)
                .why("one call could read a megabyte and more, and nobody can say what it costs")
                .help("write `page 25 max 100` for a list, or `first 1` for the one that counts");
            report.raise(diagnostic, &step.waivers);
        });
    }
}
