//! Reads. Each read uses one snapshot.

use latchkey_table::{
    BatchGet, Capacity, Condition, Consistency, Direction, Error, Get, Got, GotMany, IndexScan,
    Invalid, Item, Key, Page, Query, Resume, SnapshotGet, holds,
};
use latchkey_value::limits::{QUERY_BYTES_MAX, SNAPSHOT_BYTES_MAX};

use crate::catalog::{Entry, damaged};
use crate::engine::{EngineError, Walk};
use crate::item_codec::{self, Damaged};
use crate::key_codec::read_item_key;
use crate::writer::Seen;

/// For how many items a page makes room at once.
const PAGE_ROOM: usize = 101;

impl Seen {
    pub(crate) fn get(&self, request: &Get) -> Result<Got, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let (item, bytes) = self.item(entry, &request.key)?;
        Ok(Got { item, capacity: Capacity::read(bytes, request.consistency) })
    }

    pub(crate) fn batch_get(&self, request: &BatchGet) -> Result<GotMany, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let mut got =
            GotMany { items: Vec::with_capacity(request.keys.len()), capacity: Capacity::ZERO };
        for key in &request.keys {
            let (item, bytes) = self.item(entry, key)?;
            got.items.push(item);
            got.capacity += Capacity::read(bytes, request.consistency);
        }
        Ok(got)
    }

    pub(crate) fn snapshot_get(&self, request: &SnapshotGet) -> Result<GotMany, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let mut got =
            GotMany { items: Vec::with_capacity(request.keys.len()), capacity: Capacity::ZERO };
        let mut total = 0;
        for key in &request.keys {
            let (item, bytes) = self.item(entry, key)?;
            total += bytes;
            if total > SNAPSHOT_BYTES_MAX {
                return Err(Invalid::SnapshotSize { bytes: total }.into());
            }
            got.items.push(item);
            got.capacity += Capacity::snapshot_read(bytes);
        }
        Ok(got)
    }

    pub(crate) fn query(&self, request: &Query) -> Result<Page, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let index = match &request.index {
            None => None,
            Some(name) => {
                let missing = || Invalid::NoIndex { name: name.clone() };
                Some(entry.index(name).ok_or_else(missing)?)
            }
        };
        let space = index.map_or(entry.space, |(_, space)| space);
        let mut range = space.span(&request.partition, &request.range);
        let backwards = request.direction == Direction::Descending;
        if let Some(resume) = &request.resume {
            let at = space.resume_key(resume);
            if backwards {
                range.end = at;
            } else {
                range.start = at;
                range.start.push(0);
            }
        }
        let limit = request.limit.and_then(|limit| usize::try_from(limit).ok());
        let mut reading = Reading::new(limit.unwrap_or(usize::MAX));
        self.snapshot
            .walk(&range, backwards, |key, bytes| match index {
                None => {
                    let item = decode(entry, key, bytes, reading.items.last())?;
                    reading.add(item, request.filter.as_ref())
                }
                Some((index, _)) => {
                    let item = self.item_of_entry(entry, (key, bytes), reading.items.last())?;
                    reading.add(index.cut(&entry.schema.key, item), request.filter.as_ref())
                }
            })
            .map_err(unavailable)?;
        let last = reading.last().map(|last| request.behind(last)).transpose()?;
        Ok(reading.into_page(last, request.consistency))
    }

    pub(crate) fn scan_index(&self, request: &IndexScan) -> Result<Page, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let missing = || Invalid::NoIndex { name: request.index.clone() };
        let (index, space) = entry.index(&request.index).ok_or_else(missing)?;
        let mut range = space.whole();
        if let Some(resume) = &request.resume {
            range.start = space.resume_key(resume);
            range.start.push(0);
        }
        let limit = request.limit.and_then(|limit| usize::try_from(limit).ok());
        let mut reading = Reading::new(limit.unwrap_or(usize::MAX));
        self.snapshot
            .walk(&range, false, |key, bytes| {
                let item = self.item_of_entry(entry, (key, bytes), reading.items.last())?;
                reading.add(index.cut(&entry.schema.key, item), request.filter.as_ref())
            })
            .map_err(unavailable)?;
        let last = reading.last().map(|last| request.behind(last)).transpose()?;
        Ok(reading.into_page(last, Consistency::Eventual))
    }

    /// An item and the bytes it counts for; 0 when it is not there.
    fn item(&self, entry: &Entry, key: &Key) -> Result<(Option<Item>, usize), Error> {
        let key_bytes = entry.space.item_key(key);
        let names = &entry.schema.key;
        let read = self
            .snapshot
            .get(&key_bytes, |bytes| {
                item_codec::decode(&key_bytes, bytes, names, key.clone(), None)
            })
            .map_err(unavailable)?;
        match read {
            None => Ok((None, 0)),
            Some(Ok(item)) => {
                let bytes = item.size();
                Ok((Some(item), bytes))
            }
            Some(Err(Damaged)) => Err(unavailable(damaged(&key_bytes))),
        }
    }

    /// The item an index entry stands for; the two are written together, so it is there.
    fn item_of_entry(
        &self,
        entry: &Entry,
        (entry_key, entry_bytes): (&[u8], &[u8]),
        like: Option<&Item>,
    ) -> Result<Item, EngineError> {
        item_codec::check_entry(entry_key, entry_bytes).map_err(|Damaged| damaged(entry_key))?;
        let key_bytes = entry.space.item_of_entry(entry_key).ok_or_else(|| damaged(entry_key))?;
        let item = self.snapshot.get(&key_bytes, |bytes| decode(entry, &key_bytes, bytes, like))?;
        item.ok_or_else(|| damaged(entry_key))?
    }
}

/// The item under a key of a table; `like` is the one before it, if there is one.
pub(crate) fn decode(
    entry: &Entry,
    key_bytes: &[u8],
    bytes: &[u8],
    like: Option<&Item>,
) -> Result<Item, EngineError> {
    let key = read_item_key(key_bytes).ok_or_else(|| damaged(key_bytes))?;
    item_codec::decode(key_bytes, bytes, &entry.schema.key, key, like)
        .map_err(|Damaged| damaged(key_bytes))
}

pub(crate) fn unavailable(error: EngineError) -> Error {
    match error.is_damage {
        true => Error::Damaged { what: error.text },
        false => Error::Unavailable { reason: error.text },
    }
}

/// A page in the making.
pub(crate) struct Reading {
    pub(crate) items: Vec<Item>,
    /// The last item that was read, if it was dropped.
    dropped: Option<Item>,
    /// How many items were read.
    read: usize,
    bytes: usize,
    limit: usize,
    /// Whether it stopped before the range ended.
    pub(crate) cut: bool,
}

impl Reading {
    /// An empty page of at most so many items.
    pub(crate) fn new(limit: usize) -> Reading {
        let items = Vec::with_capacity(limit.min(PAGE_ROOM));
        Reading { items, dropped: None, read: 0, bytes: 0, limit, cut: false }
    }

    /// Reads an item, unless it would take the page over what one query can read, and drops it if the filter does.
    pub(crate) fn add(
        &mut self,
        item: Item,
        filter: Option<&Condition>,
    ) -> Result<Walk, EngineError> {
        let bytes = item.size();
        if self.bytes + bytes > QUERY_BYTES_MAX && self.read > 0 {
            self.cut = true;
            return Ok(Walk::Stop);
        }
        self.bytes += bytes;
        self.read += 1;
        if filter.is_none_or(|filter| holds(filter, Some(&item))) {
            self.items.push(item);
            self.dropped = None;
        } else {
            self.dropped = Some(item);
        }
        self.cut = self.read >= self.limit;
        Ok(if self.cut { Walk::Stop } else { Walk::On })
    }

    /// The last item that was read, if there may be more behind it.
    fn last(&self) -> Option<&Item> {
        self.dropped.as_ref().or(self.items.last()).filter(|_| self.cut)
    }

    fn into_page(self, resume: Option<Resume>, consistency: Consistency) -> Page {
        let capacity = Capacity::read(self.bytes, consistency);
        Page { items: self.items, resume, read: self.read, capacity }
    }
}
