//! A table in memory. A copy is cheap, so a search goes back to a state as often as it likes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use latchkey_table::{
    Answer, Answering, Backend, Capacity, Condition, Direction, Error, Failed, Got, GotMany, Index,
    IndexScan, Invalid, Item, Key, Leg, Need, Page, PrepareError, Query, Request, Resume,
    Returning, Schema, Tables, Transacted, Wrote, holds,
};

use crate::lab::is_ours;

/// Items by their keys.
pub(crate) type Items = BTreeMap<Key, Arc<Item>>;

/// A table: what it began with, and what was changed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    base: Arc<Items>,
    changed: Changes,
}

/// Items that were written, as they are now; none where one was removed.
pub(crate) type Changes = BTreeMap<Key, Option<Arc<Item>>>;

/// A write that was carried out: what each item it changed was before.
pub(crate) type Undone = Vec<(Key, Option<Arc<Item>>)>;

impl Table {
    /// The item of a key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Item>> {
        match self.changed.get(key) {
            Some(changed) => changed.as_ref(),
            None => self.base.get(key),
        }
    }

    /// All items, in the order of their keys.
    pub(crate) fn items(&self) -> Items {
        let mut items = Items::clone(&self.base);
        for (key, item) in &self.changed {
            match item {
                Some(item) => drop(items.insert(key.clone(), Arc::clone(item))),
                None => drop(items.remove(key)),
            }
        }
        items
    }

    /// Whether it has the same items as another that began as it did.
    pub(crate) fn is_as(&self, other: &Table) -> bool {
        match Arc::ptr_eq(&self.base, &other.base) {
            true => {
                let mut changed = self.changed.keys().chain(other.changed.keys());
                changed.all(|key| self.get(key) == other.get(key))
            }
            false => self.items() == other.items(),
        }
    }

    /// The same items, as a beginning.
    #[must_use]
    pub(crate) fn settled(&self) -> Table {
        Table { base: Arc::new(self.items()), changed: BTreeMap::new() }
    }

    /// The table as it began.
    pub(crate) fn base(&self) -> Table {
        Table { base: Arc::clone(&self.base), changed: BTreeMap::new() }
    }

    /// What is otherwise than it began.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&Key, Option<&Arc<Item>>)> {
        let changed = self.changed.iter().map(|(key, item)| (key, item.as_ref()));
        changed.filter(|(key, item)| self.base.get(key) != *item)
    }

    /// All that was written, also what is as it was.
    pub(crate) fn all_changes(&self) -> &Changes {
        &self.changed
    }

    /// Whether these are all that was written, our own housekeeping aside.
    pub(crate) fn is_changed_to(&self, changes: &Changes) -> bool {
        let own = |(key, _): &(&Key, &Option<Arc<Item>>)| !is_ours(&key.partition);
        self.changed.iter().filter(own).eq(changes.iter().filter(own))
    }

    /// Sets or removes an item, and tells what was there.
    pub(crate) fn set(&mut self, key: Key, item: Option<Arc<Item>>) -> Option<Arc<Item>> {
        let before = self.get(&key).cloned();
        self.changed.insert(key, item);
        before
    }

    /// Carries a read out. A write is none.
    pub(crate) fn read(&self, request: &Request) -> Option<Result<Answer, Error>> {
        let items = |keys: &[Key]| {
            let items = keys.iter().map(|key| self.get(key).map(|item| Item::clone(item)));
            Answer::GotMany(GotMany { items: items.collect(), capacity: Capacity::ZERO })
        };
        Some(match request {
            Request::Get(get) => get.validate().map_err(Error::from).map(|()| {
                let item = self.get(&get.key).map(|item| Item::clone(item));
                Answer::Got(Got { item, capacity: Capacity::ZERO })
            }),
            Request::BatchGet(batch) => {
                batch.validate().map_err(Error::from).map(|()| items(&batch.keys))
            }
            Request::SnapshotGet(get) => {
                get.validate().map_err(Error::from).map(|()| items(&get.keys))
            }
            Request::Query(query) => self.query(query).map(Answer::Page),
            Request::IndexScan(scan) => self.scan_index(scan).map(Answer::Page),
            Request::Put(..) | Request::Update(..) | Request::Delete(..) | Request::Transact(_) => {
                return None;
            }
        })
    }

    fn query(&self, query: &Query) -> Result<Page, Error> {
        query.validate()?;
        let index = query.index.as_ref().and_then(|name| query.table.index(name));
        let mut found = self.range(query, index);
        let descending = query.direction == Direction::Descending;
        if descending {
            found.reverse();
        }
        if let Some(resume) = &query.resume {
            let at = (resume.index_key.as_ref().unwrap_or(&resume.key).sort.clone(), &resume.key);
            let behind = |sort: &str, key: &Key| match descending {
                true => (sort, key) < (at.0.as_str(), at.1),
                false => (sort, key) > (at.0.as_str(), at.1),
            };
            found.retain(|(place, key, _)| behind(&place.sort, key));
        }
        let of = (&*query.table, index);
        page(found, of, (query.limit, query.filter.as_ref()), |last| query.behind(last))
    }

    fn scan_index(&self, scan: &IndexScan) -> Result<Page, Error> {
        scan.validate()?;
        let names = scan.key_names()?;
        let placed = |(key, item): (Key, Arc<Item>)| Some((names.of(&item)?, key, item));
        let mut found: Vec<_> = self.items().into_iter().filter_map(placed).collect();
        found.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        if let Some(Resume { key, index_key: Some(place) }) = &scan.resume {
            found.retain(|other| (&other.0, &other.1) > (place, key));
        }
        let of = (&*scan.table, scan.table.index(&scan.index));
        page(found, of, (scan.limit, scan.filter.as_ref()), |last| scan.behind(last))
    }

    /// The items of a query's range in ascending order, each with its place.
    fn range(&self, query: &Query, index: Option<&Index>) -> Vec<(Key, Key, Arc<Item>)> {
        let mut found = Vec::new();
        let mut add = |key: &Key, item: &Arc<Item>| {
            let place = match index {
                None => Some(key.clone()),
                // Housekeeping that has the attributes of an index is in a table of its own, which is not told apart here.
                Some(_) if is_ours(&key.partition) => None,
                Some(index) => index.key.of(item),
            };
            let fits = |place: &Key| {
                place.partition == query.partition && query.range.contains(&place.sort)
            };
            if let Some(place) = place.filter(fits) {
                found.push((place, key.clone(), Arc::clone(item)));
            }
        };
        for (key, item) in self.base.iter().filter(|(key, _)| !self.changed.contains_key(key)) {
            // A key of another partition is not worth a copy.
            if index.is_some() || key.partition == query.partition {
                add(key, item);
            }
        }
        for (key, item) in &self.changed {
            item.iter().for_each(|item| add(key, item));
        }
        found.sort_unstable_by(|a, b| (&a.0.sort, &a.1).cmp(&(&b.0.sort, &b.1)));
        found
    }

    /// Carries a write out, and tells what it changed. A read changes nothing.
    pub(crate) fn write(&mut self, request: &Request) -> (Result<Answer, Error>, Undone) {
        match self.decide(request) {
            Ok((answer, changes)) => {
                let set = |(key, item): (Key, Option<Arc<Item>>)| {
                    let before = self.set(key.clone(), item);
                    (key, before)
                };
                (Ok(answer), changes.into_iter().map(set).collect())
            }
            Err(error) => (Err(error), Undone::new()),
        }
    }

    /// Tests every condition of a write, and says what it would change.
    fn decide(&self, request: &Request) -> Result<(Answer, Undone), Error> {
        let alone = |leg: Leg, returning: Returning| -> Result<(Answer, Undone), Error> {
            leg.validate()?;
            let changes = self.legs(&[leg], true)?;
            let item = changes.first().and_then(|(key, new)| match returning {
                Returning::Nothing => None,
                Returning::Old => self.get(key).map(|item| Item::clone(item)),
                Returning::New => new.as_ref().map(|item| Item::clone(item)),
            });
            Ok((Answer::Wrote(Wrote { item, capacity: Capacity::ZERO }), changes))
        };
        match request {
            Request::Put(put, returning) => alone(Leg::Put(put.clone()), *returning),
            Request::Update(update, returning) => alone(Leg::Update(update.clone()), *returning),
            Request::Delete(delete, returning) => alone(Leg::Delete(delete.clone()), *returning),
            Request::Transact(transact) => {
                transact.validate()?;
                let changes = self.legs(&transact.legs, false)?;
                Ok((Answer::Transacted(Transacted { capacity: Capacity::ZERO }), changes))
            }
            Request::Get(_)
            | Request::BatchGet(_)
            | Request::SnapshotGet(_)
            | Request::Query(_)
            | Request::IndexScan(_) => {
                Err(Error::Unavailable { reason: "a read was taken for a write".to_owned() })
            }
        }
    }

    fn legs(&self, legs: &[Leg], alone: bool) -> Result<Undone, Error> {
        let mut changes = Undone::new();
        for (at, leg) in legs.iter().enumerate() {
            let key = leg.key()?;
            let old = self.get(&key);
            if leg.condition().is_some_and(|condition| !holds(condition, old.map(|old| &**old))) {
                let item = old.map(|item| Item::clone(item));
                let failed = Failed { leg: at, item, capacity: Capacity::ZERO };
                return Err(Error::ConditionFailed(Box::new(failed)));
            }
            let leg_at = if alone { None } else { Some(at) };
            match after(leg, old.map(|old| &**old)) {
                Ok(Change::Nothing) => {}
                Ok(Change::To(item)) => changes.push((key, item.map(Arc::new))),
                Err(reason) => return Err(Error::Invalid { leg: leg_at, reason }),
            }
        }
        Ok(changes)
    }
}

/// A page of what was found, in order.
fn page(
    mut found: Vec<(Key, Key, Arc<Item>)>,
    (table, index): (&Schema, Option<&Index>),
    (limit, filter): (Option<u32>, Option<&Condition>),
    behind: impl Fn(&Item) -> Result<Resume, Invalid>,
) -> Result<Page, Error> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let full = found.len() >= limit;
    found.truncate(limit);
    let resume = match found.last() {
        Some((_, _, last)) if full => Some(behind(last)?),
        _ => None,
    };
    let read = found.len();
    let kept = |item: &Item| filter.is_none_or(|filter| holds(filter, Some(item)));
    // What an index does not hold of an item is neither seen nor tested.
    let seen = |item: &Arc<Item>| match index {
        Some(index) => index.cut(&table.key, Item::clone(item)),
        None => Item::clone(item),
    };
    let items = found.iter().map(|(_, _, item)| seen(item)).filter(kept);
    Ok(Page { items: items.collect(), resume, read, capacity: Capacity::ZERO })
}

/// What a leg makes of its item.
enum Change {
    Nothing,
    To(Option<Item>),
}

fn after(leg: &Leg, old: Option<&Item>) -> Result<Change, Invalid> {
    Ok(match leg {
        Leg::Put(put) => Change::To(Some(put.item.clone())),
        Leg::Update(update) => Change::To(Some(update.applied_to(old)?.0)),
        Leg::Delete(_) => Change::To(None),
        Leg::Check(_) => Change::Nothing,
    })
}

/// A table in memory as a backend of its own: it answers at once.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Table>);

impl Memory {
    /// A table with nothing in it.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// A table with these items.
    pub(crate) fn of(table: Table) -> Memory {
        Memory(Mutex::new(table))
    }
}

impl Backend for Memory {
    fn execute(&self, request: Request, _: Instant) -> Answering<'_, Result<Answer, Error>> {
        // A write is decided before it changes anything.
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = table.read(&request);
        Answering::ready(read.unwrap_or_else(|| table.write(&request).0))
    }

    fn prepare<'a>(&'a self, _: &'a Tables, _: Need) -> Answering<'a, Result<(), PrepareError>> {
        Answering::ready(Ok(()))
    }
}
