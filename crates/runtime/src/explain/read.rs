//! Reads, explained.

use latchkey_model::model::{BindingId, EntityId};
use latchkey_table::{IndexScan, KeyNames, Projection, Query, Request, Schema};
use latchkey_value::limits::ENDED_ITEMS_MAX;

use super::Explainer;
use super::scope::Way;
use crate::plan::{
    BatchKeys, BatchOp, Bounds, Code, GetOp, OnFailure, PartOp, QueryOp, SnapshotOp,
};
use crate::request::Filler;

impl Explainer<'_> {
    pub(super) fn get(&mut self, op: &GetOp, number: &str) {
        self.statement(number, &format!("{}{}", self.prefix(op.binding), self.words.get(op)));
        let filler = Filler { system: self.system(), scope: &self.scope };
        let ways = self.scope.ways(|| Ok(Request::Get(filler.get(op)?)));
        self.indented(3, |page| {
            page.requests(ways);
            page.ends(op.entity);
            page.nothing(op.binding, &op.failure, number);
        });
        self.scope.bind_item(op.binding);
    }

    pub(super) fn snapshot(&mut self, op: &SnapshotOp, number: &str) {
        self.statement(number, "snapshot");
        let filler = Filler { system: self.system(), scope: &self.scope };
        let ways = self.scope.ways(|| Ok(Request::SnapshotGet(filler.snapshot(op)?.0)));
        self.indented(3, |page| {
            page.requests(ways);
            page.line(
                "all of them as they are at one instant; a key that is given twice is sent once",
            );
            for (at, get) in op.gets.iter().enumerate() {
                let number = format!("{number}{}.", at + 1);
                page.statement(
                    &number,
                    &format!("{}{}", page.prefix(get.binding), page.words.got(get)),
                );
                page.indented(3, |page| {
                    page.ends(get.entity);
                    page.nothing(get.binding, &get.failure, &number);
                });
                page.scope.bind_item(get.binding);
            }
        });
    }

    pub(super) fn batch(&mut self, op: &BatchOp, number: &str) {
        self.statement(number, &format!("{}{}", self.prefix(op.binding), self.words.batch(op)));
        if let BatchKeys::Elements(keys) = &op.keys {
            self.scope.bind_element(&keys.source);
        }
        let filler = Filler { system: self.system(), scope: &self.scope };
        let ways = self.scope.ways(|| {
            let keys = match &op.keys {
                BatchKeys::Numbers(keys, _) => filler.keys(keys)?,
                BatchKeys::Elements(keys) => vec![filler.key(&keys.key)?],
            };
            filler.batch(op, keys)
        });
        self.indented(3, |page| {
            page.requests(ways);
            if let BatchKeys::Elements(keys) = &op.keys {
                let (elements, most) = (page.words.elements(&keys.source), keys.source.most);
                page.line(&format!(
                    "one key for each {elements}, {most} at most, and none twice; without any: not asked"
                ));
            }
            page.line("those that are not there are left out");
            page.ends(op.entity);
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
        let limit = op
            .reading
            .and_then(|most| u32::try_from(most).ok())
            .map_or(limit, |most| most.min(limit));
        let ways = self.scope.ways(|| {
            if op.partition.is_none() {
                let limited = |scan| IndexScan { limit: Some(limit), ..scan };
                return Ok(filler.index_scan(op)?.map(|scan| Request::IndexScan(limited(scan))));
            }
            let limited = |query| Query { limit: Some(limit), ..query };
            Ok(filler.query(op)?.map(|query| Request::Query(limited(query))))
        });
        let (mut asked, mut never) = (Ok(Vec::new()), Vec::new());
        match ways {
            Ok(ways) => {
                for way in ways {
                    match (way.made, &mut asked) {
                        (Some(made), Ok(asked)) => asked.push(Way { when: way.when, made }),
                        _ => never.extend(way.when),
                    }
                }
            }
            Err(fault) => asked = Err(fault),
        }
        let single = op.paging.is_none() && op.items_max == 1;
        self.indented(3, |page| {
            page.requests(asked);
            for when in never {
                page.line(&format!("when {when}: not asked, no item can be kept"));
            }
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

    pub(super) fn part(&mut self, op: &PartOp, number: &str) {
        let prefix = self.prefix(Some(op.binding));
        self.statement(number, &format!("{prefix}{}", self.words.part(op)));
        self.indented(3, |page| {
            page.line("of what was read; no request");
            if op.one {
                page.nothing(Some(op.binding), &op.failure, number);
            }
            if op.one && op.paged {
                page.line("behind a cursor: not looked for");
            }
        });
        if op.one {
            self.scope.bind_item(Some(op.binding));
        }
    }

    /// What becomes of items that have ended, if the items of an entity end.
    fn ends(&mut self, entity: EntityId) {
        if let Some(end) = &self.system().entities[entity].end {
            self.line(&format!("if {} <= now: counts as absent", end.attribute));
        }
    }

    /// What an index holds of the items, if that is not all of them.
    fn held(&mut self, op: &QueryOp) {
        let table = &self.system().table;
        let index = op.index.as_ref().and_then(|name| table.index(name));
        let Some(Projection::Keys(listed)) = index.map(|index| &index.holds) else { return };
        let listed: Vec<&str> = listed.iter().map(|name| name.as_str()).collect();
        let more = if listed.is_empty() { "" } else { " and " };
        self.line(&format!("the index holds its keys{more}{}", listed.join(", ")));
        if op.sights.iter().any(|sight| !sight.is_typed) {
            self.line(
                "the type is not among them, and not looked at: no other items lie in the range",
            );
        }
    }

    fn query_notes(&mut self, op: &QueryOp) {
        self.held(op);
        if let Some(shards) = &op.shards {
            let (name, low, high) = &shards.through;
            let table = &self.system().table;
            let index = op.index.as_ref().and_then(|name| table.index(name));
            let sort = index.map_or(&table.key, |index| &index.key).sort.as_ref();
            let sort = sort.map_or("their keys", |sort| &sort.name);
            self.line(&format!(
                "once for each {name} from {low} to {high}; the items are merged by {sort}, and the first are kept"
            ));
        }
        if let Some(most) = op.reading {
            let after = match op.paging {
                Some(_) => "the page is then cut short, and has a cursor",
                None => "then 503 busy",
            };
            if op.partition.is_none() {
                self.line("all partitions of the index, in an order that is the table's own");
            }
            let dropped = match op.keep.is_empty() {
                false => "items that the filter drops are passed over; asked",
                true => "asked",
            };
            self.line(&format!("{dropped} again until {most} items are read; {after}"));
        }
        let system = self.system();
        let ends = op.entities.iter().filter_map(|entity| system.entities[*entity].end.as_ref());
        let ends: Vec<String> = ends.map(|end| format!("{} <= now", end.attribute)).collect();
        if !ends.is_empty() && op.reading.is_some() {
            let ends = ends.join(" or ");
            self.line(&format!("items with {ends} are passed over, and count among those"));
        } else if !ends.is_empty() {
            let after = match op.paging {
                Some(_) => "the page is then cut short, and has a cursor",
                None => "then 503 busy",
            };
            let ends = ends.join(" or ");
            self.line(&format!(
                "items with {ends} are passed over, at most {ENDED_ITEMS_MAX}; {after}"
            ));
        }
        if let Some(paging) = op.paging {
            let most = u64::from(paging.size_max).saturating_add(1);
            let reading = op.reading.and_then(|reading| u64::try_from(reading).ok());
            let (most, left) = match reading {
                Some(reading) if reading < most => (reading, ", but no more than may be read"),
                _ => (most, ""),
            };
            self.line(&format!(
                "Limit: one more than the page, to tell whether there are more{left}; at most {most}"
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
    let mut names = Vec::new();
    for attribute in keys.flat_map(KeyNames::iter) {
        if !names.contains(&attribute.name.to_string()) {
            names.push(attribute.name.to_string());
        }
    }
    names
}
