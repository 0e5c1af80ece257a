//! Reads of a call.

use latchkey_table::{Item, Query, Request};

use super::{Ended, Session};
use crate::cursor::Scope;
use crate::evaluate::Bound;
use crate::pages::Found;
use crate::plan::{BatchOp, Failure, GetOp, QueryOp};
use crate::problem::Problem;
use crate::trace::found;

impl Session<'_> {
    pub(super) async fn get(&mut self, op: &GetOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().get(op)?;
        let got = match self.runtime.backend.get(&request, self.deadline).await {
            Ok(got) => got,
            Err(error) => return Err(self.refused(&error)),
        };
        let outcome = if got.item.is_some() { "found" } else { "nothing there" };
        self.note(|| Request::Get(request), outcome, got.capacity);
        match got.item {
            Some(item) => {
                if let Some(binding) = op.binding {
                    self.frame.bind(binding, Bound::Item(item));
                }
                Ok(at + 1)
            }
            None => self.nothing(&op.failure, at),
        }
    }

    pub(super) async fn batch(&mut self, op: &BatchOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().batch(op)?;
        let backend = &self.runtime.backend;
        let got = match &request {
            Request::SnapshotGet(get) => backend.snapshot_get(get, self.deadline).await,
            Request::BatchGet(get) => backend.batch_get(get, self.deadline).await,
            _ => return Err(Ended::Again),
        };
        let got = match got {
            Ok(got) => got,
            Err(error) => return Err(self.refused(&error)),
        };
        let items: Vec<Item> = got.items.into_iter().flatten().collect();
        self.note(|| request, &found(&items), got.capacity);
        let empty = items.is_empty();
        if let Some(binding) = op.binding {
            self.frame.bind(binding, Bound::Page(Found { items, next: None }));
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Nothing was found, which may be no failure.
    fn nothing(&self, failure: &Failure, at: usize) -> Result<usize, Ended> {
        match failure {
            Failure::Nothing => Ok(at + 1),
            failure => self.fail(failure),
        }
    }

    pub(super) async fn query(&mut self, op: &QueryOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().query(op)?;
        let size = match op.paging {
            Some(paging) => self.page_size.unwrap_or(paging.size).min(paging.size_max),
            None => op.items_max,
        };
        let found = match request {
            Some(request) => self.page(request, size, op.paging.is_some()).await?,
            // A cursor of a range with nothing in it was never made.
            None if op.paging.is_some() && self.cursor.is_some() => return Err(bad_cursor()),
            None => Found::default(),
        };
        let empty = found.items.is_empty();
        let single = op.paging.is_none() && op.items_max == 1;
        if let Some(binding) = op.binding {
            let bound = if single {
                found.items.into_iter().next().map_or(Bound::Nothing, Bound::Item)
            } else {
                Bound::Page(found)
            };
            self.frame.bind(binding, bound);
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Reads until the page is full, whatever the store's own cut, and one more: a page that fits exactly
    /// is the last.
    async fn page(&mut self, mut query: Query, size: u32, paged: bool) -> Result<Found, Ended> {
        if paged && let Some(cursor) = self.cursor.clone() {
            let resume = self.runtime.sealer.open(&self.scope(&query), &cursor);
            query.resume = Some(resume.ok_or_else(bad_cursor)?);
        }
        let wanted = usize::try_from(size).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        loop {
            let missing = (wanted + usize::from(paged)).saturating_sub(items.len());
            query.limit = u32::try_from(missing).ok();
            let page = match self.runtime.backend.query(&query, self.deadline).await {
                Ok(page) => page,
                Err(error) => return Err(self.refused(&error)),
            };
            self.note(|| Request::Query(query.clone()), &found(&page.items), page.capacity);
            items.extend(page.items);
            match page.resume {
                Some(resume) if items.len() < wanted + usize::from(paged) => {
                    query.resume = Some(resume);
                }
                _ => break,
            }
        }
        let more = items.len() > wanted;
        items.truncate(wanted);
        let last = items.last().filter(|_| more && paged);
        let resume = last.map(|last| query.behind(last)).transpose();
        let resume = resume.map_err(|reason| self.refused(&reason.into()))?;
        let next = resume.map(|resume| self.runtime.sealer.seal(&self.scope(&query), &resume));
        Ok(Found { items, next })
    }

    fn scope<'s>(&'s self, query: &'s Query) -> Scope<'s> {
        Scope {
            system: &self.system.name,
            contract: &self.contract.info.id,
            caller: &self.frame.caller.id,
            inputs: &self.sealed_inputs,
            query,
        }
    }
}

fn bad_cursor() -> Ended {
    let detail = "the cursor is not one that was made for this list and this caller";
    Ended::Refused(Problem::new(400, "invalid-cursor", detail))
}
