//! Queries of a model as JSON.

use latchkey_model::model::{By, Expr, Keep, Limit, Order, Query, Range};
use serde_json::{Value, json};

use super::Writer;

impl Writer<'_> {
    pub(super) fn query(&self, query: &Query) -> Value {
        let range = match &query.range {
            Range::All => json!("all"),
            Range::Equal(text) => json!({ "equal": self.expr(text) }),
            Range::BeginsWith(prefix) => json!({ "beginsWith": self.expr(prefix) }),
            Range::Between(low, high) => json!({ "between": [self.expr(low), self.expr(high)] }),
            Range::Side { below, inclusive, bound } => json!({
                if *below { "below" } else { "above" }: self.expr(bound),
                "inclusive": inclusive,
            }),
        };
        json!({
            "index": match query.by {
                By::Table | By::Unknown => None,
                By::Index(id) => Some(&self.model.indexes[id].name),
            },
            "through": query.through.as_ref().map(|through| json!({
                "attribute": through.attribute,
                "low": through.low,
                "high": through.high,
            })),
            "partition": query.partition.as_ref().map(|partition| self.expr(partition)),
            "sort": range,
            "descending": match &query.order {
                Order::Ascending => json!(false),
                Order::Descending => json!(true),
                Order::DescendingWhen(test) => self.expr(test),
            },
            "keep": query.keep.as_ref().map(|keep| self.kept(keep)),
            "reading": query.reading,
            "limit": match &query.limit {
                None => Value::Null,
                Some(Limit::Page { size, max, .. }) => json!({ "page": size, "max": max }),
                Some(Limit::First(count)) => json!({ "first": count }),
            },
            "sizedBy": match &query.limit {
                Some(Limit::Page { sized_by, .. }) => json!(sized_by),
                Some(Limit::First(_)) | None => Value::Null,
            },
        })
    }

    /// What a query asks of the items that it keeps: a test, or one for each entity; null where all are kept.
    fn kept(&self, keep: &Keep) -> Value {
        let test = |test: &Option<Expr>| json!(test.as_ref().map(|test| self.expr(test)));
        match keep.tests.as_slice() {
            [(_, one)] => test(one),
            several => several
                .iter()
                .map(|(entity, asked)| {
                    json!({ "entity": self.model.entities[*entity].name, "test": test(asked) })
                })
                .collect(),
        }
    }
}
