//! Reads of a call.

use latchkey_table::{Error, Got, GotMany, Item, Page, Query};

use super::{Ended, Session};
use crate::cursor::Scope;
use crate::evaluate::Bound;
use crate::pages::Found;
use crate::plan::{BatchOp, Failure, GetOp, QueryOp};
use crate::problem::Problem;

impl Session<'_> {
    pub(super) async fn get(&mut self, op: &GetOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().get(op)?;
        let got: Result<Got, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
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
        let got: Result<GotMany, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        let items: Vec<Item> = got.items.into_iter().flatten().collect();
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
            let page: Result<Page, Error> = self.ask(query.clone()).await;
            let page = page.map_err(|error| self.refused(&error))?;
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
