//! Reads of a call.

use latchkey_model::model::EntityId;
use latchkey_table::{Error, Got, GotMany, Item, Page, Query};
use tokio::time::Instant;

use super::{Ended, Session, too_late};
use crate::bug::{Bug, Damage};
use crate::cursor::CursorUse;
use crate::evaluate::Bound;
use crate::pages::ItemPage;
use crate::plan::{BatchOp, GetOp, OnFailure, QueryOp};
use crate::problem::Problem;
use crate::shape::Seen;

/// How many items are read at once where some were passed over.
const PASSED_OVER_ITEMS: usize = 100;

impl Session<'_> {
    pub(super) async fn get(&mut self, op: &GetOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().get(op)?;
        let got: Result<Got, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        let there = got.item.is_some();
        let seen = got.item.map(|item| self.seen(op.entity, item)).transpose()?.flatten();
        match (seen, &op.failure) {
            (Some(seen), _) => {
                if let Some(binding) = op.binding {
                    self.frame.bind_seen(binding, seen);
                }
                Ok(at + 1)
            }
            // It would be there each time.
            (None, OnFailure::Retry) if there => {
                let entity = &self.call.system.entities[op.entity].name;
                let key = self.filler().key(&op.key)?;
                Err(self.damaged(entity, &key, &Damage::OtherType))
            }
            (None, failure) => self.nothing(failure, at),
        }
    }

    pub(super) async fn batch(&mut self, op: &BatchOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().batch(op)?;
        let got: Result<GotMany, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        let items: Vec<Item> = got.items.into_iter().flatten().collect();
        let seen = self.seen_all(op.entity, items)?;
        let items: Vec<Item> = seen.into_iter().map(|seen| seen.item).collect();
        let empty = items.is_empty();
        if let Some(binding) = op.binding {
            self.frame.bind(binding, Bound::Page(ItemPage { items, next: None }));
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Those of several items that are of an entity, as the contract sees them.
    fn seen_all(&self, entity: EntityId, items: Vec<Item>) -> Result<Vec<Seen>, Ended> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            all.extend(self.seen(entity, item)?);
        }
        Ok(all)
    }

    /// Nothing was found, which may be no failure.
    fn nothing(&self, failure: &OnFailure, at: usize) -> Result<usize, Ended> {
        match failure {
            OnFailure::Nothing => Ok(at + 1),
            failure => self.fail(failure),
        }
    }

    pub(super) async fn query(&mut self, op: &QueryOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().query(op)?;
        let size = match op.paging {
            Some(paging) => self.call.page_size.unwrap_or(paging.size).min(paging.size_max),
            None => op.items_max,
        };
        let (items, next) = match request {
            Some(request) => self.page(op.entity, request, size, op.paging.is_some()).await?,
            // A cursor of a range with nothing in it was never made.
            None if op.paging.is_some() && self.call.cursor.is_some() => return Err(bad_cursor()),
            None => (Vec::new(), None),
        };
        let empty = items.is_empty();
        let single = op.paging.is_none() && op.items_max == 1;
        if let Some(binding) = op.binding {
            match items.into_iter() {
                mut items if single => match items.next() {
                    Some(seen) => self.frame.bind_seen(binding, seen),
                    None => drop(self.frame.bind(binding, Bound::Nothing)),
                },
                items => {
                    let items = items.map(|seen| seen.item).collect();
                    self.frame.bind(binding, Bound::Page(ItemPage { items, next }));
                }
            }
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Reads until the page is full, whatever the store's own cut, and one more: a page that fits exactly
    /// is the last. Items of another type are passed over.
    async fn page(
        &mut self,
        entity: EntityId,
        mut query: Query,
        size: u32,
        paged: bool,
    ) -> Result<(Vec<Seen>, Option<String>), Ended> {
        if paged && let Some(cursor) = self.call.cursor.clone() {
            let resume = self.call.runtime.sealer.open(&self.cursor_use(&query), &cursor)?;
            query.resume = Some(resume.ok_or_else(bad_cursor)?);
        }
        let wanted = usize::try_from(size).map_err(|_| Bug::new("a page is larger than memory"))?;
        let most = wanted + usize::from(paged);
        let (mut items, mut passed_over) = (Vec::new(), false);
        loop {
            let missing = most.saturating_sub(items.len());
            let limit = if passed_over { missing.max(PASSED_OVER_ITEMS) } else { missing };
            let limit = u32::try_from(limit);
            query.limit = Some(limit.map_err(|_| Bug::new("a page is larger than any query"))?);
            let page: Result<Page, Error> = self.ask(query.clone()).await;
            let page = page.map_err(|error| self.refused(&error))?;
            let read = page.items.len();
            let seen = self.seen_all(entity, page.items)?;
            passed_over |= seen.len() < read;
            items.extend(seen);
            match page.resume {
                Some(_) if items.len() < most && Instant::now() > self.call.deadline => {
                    return Err(Ended::Refused(too_late()));
                }
                Some(resume) if items.len() < most => query.resume = Some(resume),
                _ => break,
            }
        }
        let more = items.len() > wanted;
        items.truncate(wanted);
        let last = items.last().filter(|_| more && paged);
        let resume = last.map(|last| query.behind(&last.item)).transpose();
        let resume = resume.map_err(|reason| self.refused(&reason.into()))?;
        let seal = |resume| self.call.runtime.sealer.seal(&self.cursor_use(&query), &resume);
        Ok((items, resume.map(seal).transpose()?))
    }

    fn cursor_use<'s>(&'s self, query: &'s Query) -> CursorUse<'s> {
        CursorUse {
            system: &self.call.system.name,
            contract: &self.call.contract.info.id,
            caller: &self.frame.caller.id,
            inputs: &self.call.sealed_inputs,
            query,
        }
    }
}

fn bad_cursor() -> Ended {
    let detail = "the cursor is not one that was made for this list and this caller";
    Ended::Refused(Problem::new(400, "invalid-cursor", detail))
}
