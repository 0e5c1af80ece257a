//! `unbounded`: a query without a page or `first N`, or with one above 100.

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_read};
use crate::model::{Limit, Model, What};

const ITEMS_MAX: u64 = 100;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let (size, most) = match &read.what {
                What::Query(query) => match &query.limit {
                    None => (None, None),
                    Some(Limit::Page { size, max, .. }) => (Some(*size), Some(u64::from(*max))),
                    Some(Limit::First(count)) => (Some(*count), Some(u64::from(*count))),
                },
                What::Batch(batch) => (None, Some(batch.count())),
                What::Get(_) => return,
            };
            let message = match (size, most) {
                (_, None) => "this query has no bound".to_owned(),
                (Some(size), Some(max)) if u64::from(size) > max => {
                    format!("a page of {size} above its own maximum of {max}")
                }
                (_, Some(most)) if most > ITEMS_MAX => {
                    format!("{most} items at once; the most is {ITEMS_MAX}")
                }
                (Some(0), _) => "a page of nothing".to_owned(),
                _ => return,
            };
            let diagnostic = Diagnostic::new(Rule::Unbounded, read.span, message)
                .why("one call could read a megabyte and more, and nobody can say what it costs")
                .help("write `page 25 max 100` for a list, or `first 1` for the one that counts");
            report.raise(diagnostic, &step.waivers);
        });
    }
}
