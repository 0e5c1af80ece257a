//! Reads, explained.

use latchkey_model::model::BindingId;
use latchkey_table::{Request, Schema};

use super::Explainer;
use crate::plan::{BatchOp, Bounds, Code, GetOp, OnFailure, QueryOp};
use crate::request::Filler;

impl Explainer<'_> {
    pub(super) fn get(&mut self, op: &GetOp, number: &str) {
        self.statement(number, &format!("{}{}", self.prefix(op.binding), self.words.get(op)));
        let filler = Filler { system: self.system(), scope: &self.scope };
        let ways = self.scope.ways(|| Ok(Request::Get(filler.get(op)?)));
        self.indented(3, |page| {
            page.requests(ways);
            page.nothing(op.binding, &op.failure, number);
        });
        self.scope.bind_item(op.binding);
    }

    pub(super) fn batch(&mut self, op: &BatchOp, number: &str) {
        self.statement(number, &format!("{}{}", self.prefix(op.binding), self.words.batch(op)));
        let filler = Filler { system: self.system(), scope: &self.scope };
        let ways = self.scope.ways(|| filler.batch(op));
        self.indented(3, |page| {
            page.requests(ways);
            page.line("those that are not there are left out");
            if !op.snapshot {
                page.line("those the table leaves unread: asked again");
            }
            match &op.failure {
                OnFailure::Nothing => {}
                failure => page.nothing(op.binding, failure, number),
            }
        });
    }

    /// What a read's findings are called.
    fn prefix(&self, binding: Option<BindingId>) -> String {
        binding.map(|id| format!("{} = ", self.words.binding(id))).unwrap_or_default()
    }

    fn nothing(&mut self, binding: Option<BindingId>, failure: &OnFailure, number: &str) {
        match (failure, binding) {
            (OnFailure::Nothing, Some(id)) => {
                let name = self.words.binding(id);
                self.line(&format!("if nothing is there: goes on, {name} is absent"));
            }
            (failure, _) => self.failure("if nothing is there", failure, number),
        }
    }

    pub(super) fn query(&mut self, op: &QueryOp, number: &str) {
        self.statement(number, &format!("{}{}", self.prefix(op.binding), self.words.query(op)));
        let filler = Filler { system: self.system(), scope: &self.scope };
        // One more than the page: one that fits exactly is the last.
        let limit = op.paging.map_or(op.items_max, |paging| paging.size.saturating_add(1));
        let ways = self.scope.ways(|| {
            let query =
                filler.query(op)?.ok_or_else(|| crate::evaluate::Fault::bug("a range is empty"))?;
            Ok(Request::Query(latchkey_table::Query { limit: Some(limit), ..query }))
        });
        let single = op.paging.is_none() && op.items_max == 1;
        self.indented(3, |page| {
            page.requests(ways);
            page.query_notes(op);
            match &op.failure {
                // A page is always there.
                OnFailure::Nothing if !single => {}
                failure => page.nothing(op.binding, failure, number),
            }
        });
        if single {
            self.scope.bind_item(op.binding);
        }
    }

    fn query_notes(&mut self, op: &QueryOp) {
        if let Some(paging) = op.paging {
            let most = paging.size_max.saturating_add(1);
            self.line(&format!(
                "Limit: one more than the page, to tell whether there are more; at most {most}"
            ));
            let names = key_names(&self.system().table, op.index.as_deref()).join(", ");
            self.line(&format!(
                "with a cursor: also ExclusiveStartKey, the {names} of the last item before it"
            ));
        }
        if op.items_max > 1 {
            self.line("if the table cuts it short: asked again from there");
        }
        if let Bounds::Between(low, high) = &op.range
            && [low, high].iter().any(|bound| !matches!(bound, Code::Constant(_)))
        {
            self.line("if the lower bound is above the upper: not asked, nothing lies between");
        }
    }
}

/// The attributes of a key, of the table and of an index.
fn key_names(table: &Schema, index: Option<&str>) -> Vec<String> {
    let index = index.and_then(|name| table.index(name)).map(|index| &index.key);
    let keys = [&table.key].into_iter().chain(index);
    keys.flat_map(|key| [key.partition.to_string(), key.sort.to_string()]).collect()
}
