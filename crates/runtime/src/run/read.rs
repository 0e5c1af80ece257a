//! Reads of a call.

use latchkey_model::model::EntityId;
use latchkey_table::{Condition, Error, Got, GotMany, Item, Page, Resume, holds};
use latchkey_value::limits::ENDED_ITEMS_MAX;
use tokio::time::Instant;

use super::listing::Listing;
use super::{Ended, Session, too_late};
use crate::bug::{Bug, Damage};
use crate::cursor::{CursorUse, List};
use crate::evaluate::Bound;
use crate::pages::ItemPage;
use crate::plan::{BatchKeys, BatchOp, GetOp, Keep, OnFailure, PartOp, QueryOp, Sight, SnapshotOp};
use crate::problem::Problem;
use crate::shape::Seen;

/// How many items are read at once where some were passed over.
const PASSED_OVER_ITEMS: usize = 100;

impl Session<'_> {
    pub(super) async fn get(&mut self, op: &GetOp, at: usize) -> Result<usize, Ended> {
        let request = self.filler().get(op)?;
        let got: Result<Got, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        self.take(op, got.item, at + 1)
    }

    /// Reads several items at one instant, and then takes one after the other.
    pub(super) async fn snapshot(&mut self, op: &SnapshotOp, at: usize) -> Result<usize, Ended> {
        let (request, places) = self.filler().snapshot(op)?;
        let got: Result<GotMany, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        for (get, place) in op.gets.iter().zip(places) {
            let item = got.items.get(place).cloned();
            let item = item.ok_or_else(|| Bug::new("a snapshot has fewer items than keys"))?;
            let next = self.take(get, item, at + 1)?;
            if next != at + 1 {
                return Ok(next);
            }
        }
        Ok(at + 1)
    }

    /// Takes what was found under a key, and says which operation is next: the one given, or what is done if nothing
    /// was.
    fn take(&mut self, op: &GetOp, item: Option<Item>, next: usize) -> Result<usize, Ended> {
        let (entity, discriminator) =
            (&self.call.system.entities[op.entity], &self.call.system.discriminator);
        let other = item.as_ref().is_some_and(|item| !entity.is_type_of(discriminator, item));
        let seen = item.map(|item| self.seen(op.entity, item)).transpose()?.flatten();
        match (seen, &op.failure) {
            (Some(seen), _) => {
                if let Some(binding) = op.binding {
                    self.frame.bind_seen(binding, seen);
                }
                Ok(next)
            }
            // It would be there each time.
            (None, OnFailure::Retry) if other => {
                let key = self.filler().key(&op.key)?;
                Err(self.damaged(&entity.name, &key, &Damage::OtherType))
            }
            (None, OnFailure::Nothing) => Ok(next),
            (None, failure) => self.fail(failure),
        }
    }

    pub(super) async fn batch(&mut self, op: &BatchOp, at: usize) -> Result<usize, Ended> {
        let keys = match &op.keys {
            BatchKeys::Numbers(keys, _) => self.filler().keys(keys)?,
            BatchKeys::Elements(elements) => self.element_keys(elements)?,
        };
        // A list without elements points to nothing.
        let items: Vec<Item> = match keys.is_empty() {
            true => Vec::new(),
            false => {
                let request = self.filler().batch(op, keys)?;
                let got: Result<GotMany, Error> = self.ask(request).await;
                let got = got.map_err(|error| self.refused(&error))?;
                got.items.into_iter().flatten().collect()
            }
        };
        let next = match &op.keys {
            BatchKeys::Elements(keys) => self.next_of(&keys.source),
            BatchKeys::Numbers(..) => None,
        };
        let items = self.seen_all(std::slice::from_ref(&op.entity), &[], items)?;
        let page = ItemPage::new(items, next);
        let empty = page.items.is_empty();
        if let Some(binding) = op.binding {
            self.frame.bind(binding, Bound::Page(page));
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Those of several items that are of one of some entities, as the contract sees them. Where an index does not hold
    /// whole items, there is a sight for each entity.
    fn seen_all(
        &self,
        entities: &[EntityId],
        sights: &[Sight],
        items: Vec<Item>,
    ) -> Result<Vec<Seen>, Ended> {
        let system = self.call.system;
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            let is_own =
                |id: &EntityId| system.entities[*id].is_type_of(&system.discriminator, &item);
            if sights.is_empty() {
                if let Some(entity) = entities.iter().find(|id| is_own(id)) {
                    all.extend(self.seen(*entity, item)?);
                }
                continue;
            }
            // Where the type is left out, the key of the table tells whose the item is.
            let of = |(id, sight): &(&EntityId, &Sight)| match sight.is_typed {
                true => is_own(id),
                false => system.entities[**id].is_key_of(&item),
            };
            if let Some((entity, sight)) = entities.iter().zip(sights).find(of) {
                all.extend(self.seen_part(*entity, item, sight)?);
            }
        }
        Ok(all)
    }

    /// Takes a part of what a query of several entities has found.
    pub(super) fn part(&mut self, op: &PartOp, at: usize) -> Result<usize, Ended> {
        // The one item is on the first page, and asked for there.
        if op.one && op.paged && self.call.cursor.is_some() {
            self.frame.bind(op.binding, Bound::Nothing);
            return Ok(at + 1);
        }
        let Bound::Page(whole) = &self.frame.bound[op.of] else {
            return Err(Bug::new("a part is taken of what no query has found").into());
        };
        let (system, entity) = (self.call.system, &self.call.system.entities[op.entity]);
        let is_own = |item: &Item| entity.is_type_of(&system.discriminator, item);
        if !op.one {
            let items = whole.items.iter().filter(|item| is_own(item)).cloned().collect();
            let (next, assumed) = (whole.next.clone(), Vec::new());
            self.frame.bind(op.binding, Bound::Page(ItemPage { items, next, assumed }));
            return Ok(at + 1);
        }
        let Some((place, item)) = whole.items.iter().enumerate().find(|(_, item)| is_own(item))
        else {
            self.frame.bind(op.binding, Bound::Nothing);
            return self.nothing(&op.failure, at);
        };
        let assumed = whole.assumed.iter().filter(|(other, _)| *other == place);
        let assumed = assumed.map(|(_, name)| name.clone()).collect();
        let seen = Seen { item: item.clone(), assumed };
        self.frame.bind_seen(op.binding, seen);
        Ok(at + 1)
    }

    /// Nothing was found, which may be no failure.
    fn nothing(&self, failure: &OnFailure, at: usize) -> Result<usize, Ended> {
        match failure {
            OnFailure::Nothing => Ok(at + 1),
            failure => self.fail(failure),
        }
    }

    pub(super) async fn query(&mut self, op: &QueryOp, at: usize) -> Result<usize, Ended> {
        let size = match op.paging {
            Some(paging) => self.call.page_size.unwrap_or(paging.size).min(paging.size_max),
            None => op.items_max,
        };
        let (items, next) = match &op.shards {
            Some(shards) => self.merged(op, shards, size).await?,
            None if op.partition.is_none() => match self.filler().index_scan(op)? {
                Some(request) => self.page(op, request, size).await?,
                None => self.nothing_lies_there(op)?,
            },
            None => match self.filler().query(op)? {
                Some(request) => self.page(op, request, size).await?,
                None => self.nothing_lies_there(op)?,
            },
        };
        // Behind a page that was cut short there may be more.
        let empty = items.is_empty() && next.is_none();
        let single = op.paging.is_none() && op.items_max == 1;
        if let Some(binding) = op.binding {
            match items.into_iter() {
                mut items if single => match items.next() {
                    Some(seen) => self.frame.bind_seen(binding, seen),
                    None => drop(self.frame.bind(binding, Bound::Nothing)),
                },
                items => {
                    self.frame.bind(binding, Bound::Page(ItemPage::new(items, next)));
                }
            }
        }
        if empty { self.nothing(&op.failure, at) } else { Ok(at + 1) }
    }

    /// Reads until the page is full, whatever the store's own cut, and one more: a page that fits exactly
    /// is the last. Items of another type are passed over, and so are items that have ended; those up to a bound. What
    /// the store drops by a filter counts towards the bound of the filter.
    async fn page(
        &mut self,
        op: &QueryOp,
        mut query: impl Listing,
        size: u32,
    ) -> Result<(Vec<Seen>, Option<String>), Ended> {
        let paged = op.paging.is_some();
        if paged && let Some(cursor) = self.call.cursor.clone() {
            let used = self.cursor_use(query.list());
            let resume = self.call.runtime.sealer.open(&used, &cursor)?;
            query.goes_on(resume.ok_or_else(bad_cursor)?);
        }
        let wanted = usize::try_from(size).map_err(|_| Bug::new("a page is larger than memory"))?;
        let most = wanted + usize::from(paged);
        // What is not a page is taken for all there is, so it is never cut short.
        let (mut items, cut) = self.range(op, &mut query, most, paged).await?;
        let more = items.len() > wanted;
        items.truncate(wanted);
        let last = items.last().filter(|_| more && paged);
        let resume = last.map(|last| query.behind(&last.item)).transpose();
        // The page that was cut short goes on behind the last item that was read.
        let resume = resume.map_err(|reason| self.refused(&reason.into()))?.or(cut);
        let used = self.cursor_use(query.list());
        let seal = |resume| self.call.runtime.sealer.seal(&used, &resume);
        Ok((items, resume.map(seal).transpose()?))
    }

    /// Nothing lies in a range whose lower bound is above its upper.
    pub(super) fn nothing_lies_there(
        &self,
        op: &QueryOp,
    ) -> Result<(Vec<Seen>, Option<String>), Ended> {
        // A cursor of a range with nothing in it was never made.
        match op.paging.is_some() && self.call.cursor.is_some() {
            true => Err(bad_cursor()),
            false => Ok((Vec::new(), None)),
        }
    }

    /// Reads items of some entities until there are so many, or no more. If it meets too many that have ended, or that a
    /// filter drops, it says where it stopped, or is refused.
    pub(super) async fn range(
        &mut self,
        op: &QueryOp,
        query: &mut impl Listing,
        most: usize,
        cuts: bool,
    ) -> Result<(Vec<Seen>, Option<Resume>), Ended> {
        let untold = self.untold(op)?;
        let mut room = self.room(op, most);
        let (mut items, mut passed_over) = (Vec::new(), false);
        loop {
            // Some services refuse to look behind the last key of a range.
            if query.is_at_its_end() {
                return Ok((items, None));
            }
            let missing = most.saturating_sub(items.len());
            let limit = if passed_over { missing.max(PASSED_OVER_ITEMS) } else { missing };
            let limit = u32::try_from(limit.min(room));
            query.limit(limit.map_err(|_| Bug::new("a page is larger than any query"))?);
            let page: Result<Page, Error> = self.ask(query.clone()).await;
            let page = page.map_err(|error| self.refused(&error))?;
            let mut seen = self.seen_all(&op.entities, &op.sights, page.items)?;
            seen.retain(|seen| untold.iter().all(|(keep, test)| self.is_kept(keep, test, seen)));
            passed_over |= seen.len() < page.read;
            room = room.saturating_sub(page.read);
            items.extend(seen);
            match page.resume {
                Some(_) if items.len() < most && Instant::now() > self.call.deadline => {
                    return Err(Ended::Refused(too_late()));
                }
                Some(_) if items.len() < most && room == 0 && !cuts => {
                    return Err(Ended::Refused(too_many_passed_over(op.reading)));
                }
                Some(resume) if items.len() < most && room == 0 => {
                    return Ok((items, Some(resume)));
                }
                Some(resume) if items.len() < most => query.goes_on(resume),
                _ => return Ok((items, None)),
            }
        }
    }

    /// The filters that items must pass which have what is asked for in their key alone.
    fn untold<'o>(&self, op: &'o QueryOp) -> Result<Vec<(&'o Keep, Condition)>, Ended> {
        let mut all = Vec::new();
        for keep in op.keep.iter().filter(|keep| !keep.told.is_empty()) {
            if let Some(test) = &keep.test {
                all.extend(self.filler().filter(test)?.flatten().map(|test| (keep, test)));
            }
        }
        Ok(all)
    }

    /// Whether a filter for items of its entity keeps an item. The store has tested the others.
    fn is_kept(&self, keep: &Keep, test: &Condition, seen: &Seen) -> bool {
        let system = self.call.system;
        let entity = &system.entities[keep.entity];
        // An item that does not carry its type is of the one entity that is read.
        let is_own = entity.is_type_of(&system.discriminator, &seen.item)
            || seen.item.get(&system.discriminator).is_none();
        if !is_own || !seen.assumed.iter().any(|name| keep.told.contains(name)) {
            return true;
        }
        // A default that is not stored is not tested.
        let mut item = seen.item.clone();
        for name in seen.assumed.iter().filter(|name| !keep.told.contains(name)) {
            item.remove(name);
        }
        holds(test, Some(&item))
    }

    /// How many items a query may read to find so many: any number, unless it says how many, or its items end.
    fn room(&self, op: &QueryOp, most: usize) -> usize {
        if let Some(reading) = op.reading {
            return reading;
        }
        let system = self.call.system;
        match op.entities.iter().any(|entity| system.entities[*entity].end.is_some()) {
            true => most.saturating_add(ENDED_ITEMS_MAX),
            false => usize::MAX,
        }
    }

    pub(super) fn cursor_use<'s>(&'s self, list: List<'s>) -> CursorUse<'s> {
        let contract = self.call.contract;
        CursorUse {
            system: &self.call.system.name,
            contract: &contract.info.id,
            // What anyone may list, anyone may go on with.
            caller: if contract.info.open { "" } else { &self.frame.caller.id },
            inputs: &self.call.sealed_inputs,
            list,
        }
    }
}

/// A list that must be whole, and that too many items which have ended, or which a filter drops, keep from being read.
fn too_many_passed_over(reading: Option<usize>) -> Problem {
    let detail = match reading {
        Some(most) => format!(
            "{most} items were read, the most for this call, and those asked for were not all among them"
        ),
        None => "too many items that have ended lie before those that have not; try again later"
            .to_owned(),
    };
    Problem::later("busy", &detail)
}

pub(super) fn bad_cursor() -> Ended {
    let detail = "the cursor is not one that was made for this list and this caller";
    Ended::Refused(Problem::new(400, "invalid-cursor", detail))
}
