//! The store as a plain map would be: slow, in memory, obviously right.

use std::collections::BTreeMap;

use latchkey_table::{
    BatchGet, Capacity, Delete, Direction, Error, Failed, Get, Got, GotMany, Image, Item, Key, Leg,
    Page, Put, Query, Resume, Returning, Schema, SnapshotGet, Transact, Transacted, Update, Wrote,
    apply, holds, index_write,
};
use latchkey_value::limits::QUERY_BYTES_MAX;

/// One table.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    items: BTreeMap<Key, Item>,
}

impl Reference {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn index_entries(&self, schema: &Schema) -> usize {
        let belongs = |item: &Item| {
            schema.indexes.iter().filter(|index| index.key.of(item).is_some()).count()
        };
        self.items.values().map(belongs).sum()
    }

    pub(crate) fn get(&self, request: &Get) -> Result<Got, Error> {
        request.validate()?;
        let item = self.items.get(&request.key).cloned();
        let bytes = item.as_ref().map_or(0, Item::size);
        Ok(Got { item, capacity: Capacity::read(bytes, request.consistency) })
    }

    pub(crate) fn batch_get(&self, request: &BatchGet) -> Result<GotMany, Error> {
        request.validate()?;
        let items: Vec<_> = request.keys.iter().map(|key| self.items.get(key).cloned()).collect();
        let bytes = |item: &Option<Item>| item.as_ref().map_or(0, Item::size);
        let capacity =
            items.iter().map(|item| Capacity::read(bytes(item), request.consistency)).sum();
        Ok(GotMany { items, capacity })
    }

    pub(crate) fn snapshot_get(&self, request: &SnapshotGet) -> Result<GotMany, Error> {
        request.validate()?;
        let items: Vec<_> = request.keys.iter().map(|key| self.items.get(key).cloned()).collect();
        let bytes = |item: &Option<Item>| item.as_ref().map_or(0, Item::size);
        let capacity = items.iter().map(|item| Capacity::snapshot_read(bytes(item))).sum();
        Ok(GotMany { items, capacity })
    }

    pub(crate) fn query(&self, request: &Query) -> Result<Page, Error> {
        request.validate()?;
        let index = request.index.as_ref().map(|name| request.table.index(name).unwrap());
        let mut found: Vec<(Resume, &Item)> = Vec::new();
        for (key, item) in &self.items {
            let index_key = index.map(|index| index.key.of(item));
            let at = match &index_key {
                Some(None) => continue,
                Some(Some(index_key)) => index_key,
                None => key,
            };
            if at.partition == request.partition && request.range.contains(&at.sort) {
                found.push((Resume { key: key.clone(), index_key: index_key.flatten() }, item));
            }
        }
        let rank = |resume: &Resume| (resume.index_key.clone(), resume.key.clone());
        found.sort_by_key(|(resume, _)| rank(resume));
        if request.direction == Direction::Descending {
            found.reverse();
        }
        if let Some(from) = &request.resume {
            found.retain(|(resume, _)| match request.direction {
                Direction::Ascending => rank(resume) > rank(from),
                Direction::Descending => rank(resume) < rank(from),
            });
        }
        let mut page = Page { items: Vec::new(), resume: None, read: 0, capacity: Capacity::ZERO };
        let mut bytes = 0;
        let mut last = None;
        for (resume, item) in found {
            if bytes + item.size() > QUERY_BYTES_MAX && page.read > 0 {
                page.resume = last;
                break;
            }
            bytes += item.size();
            page.read += 1;
            if request.filter.as_ref().is_none_or(|filter| holds(filter, Some(item))) {
                page.items.push(item.clone());
            }
            last = Some(resume);
            if request.limit.is_some_and(|limit| page.read == limit as usize) {
                page.resume = last;
                break;
            }
        }
        page.capacity = Capacity::read(bytes, request.consistency);
        Ok(page)
    }

    pub(crate) fn put(&mut self, request: Put, returning: Returning) -> Result<Wrote, Error> {
        self.write_one(Leg::Put(request), returning)
    }

    pub(crate) fn update(&mut self, request: Update, returning: Returning) -> Result<Wrote, Error> {
        self.write_one(Leg::Update(request), returning)
    }

    pub(crate) fn delete(&mut self, request: Delete, returning: Returning) -> Result<Wrote, Error> {
        self.write_one(Leg::Delete(request), returning)
    }

    pub(crate) fn transact(&mut self, request: Transact) -> Result<Transacted, Error> {
        request.validate()?;
        let (_, capacity) = self.write(&request.legs, 2)?;
        Ok(Transacted { capacity })
    }

    fn write_one(&mut self, leg: Leg, returning: Returning) -> Result<Wrote, Error> {
        leg.validate()?;
        let old = self.items.get(&leg.key()?).cloned();
        let (new, capacity) = self.write(&[leg], 1).map_err(|error| match error {
            Error::Invalid { reason, .. } => reason.into(),
            other => other,
        })?;
        let item = match returning {
            Returning::Nothing => None,
            Returning::Old => old,
            Returning::New => new,
        };
        Ok(Wrote { item, capacity })
    }

    /// Writes all legs or none; the item the last one left, and what it cost.
    fn write(&mut self, legs: &[Leg], factor: u64) -> Result<(Option<Item>, Capacity), Error> {
        let mut new_items = Vec::new();
        for (at, leg) in legs.iter().enumerate() {
            let old = self.items.get(&leg.key()?);
            if leg.condition().is_some_and(|condition| !holds(condition, old)) {
                let units: u64 = legs
                    .iter()
                    .map(|leg| self.items.get(&leg.key().unwrap()).map_or(0, Item::size))
                    .map(|bytes| factor * bytes.div_ceil(1024).max(1) as u64)
                    .sum();
                let capacity = Capacity { read_halves: 0, write: units };
                let failed = Failed { leg: at, item: old.cloned(), capacity };
                return Err(Error::ConditionFailed(Box::new(failed)));
            }
            let invalid = |reason| Error::Invalid { leg: Some(at), reason };
            new_items.push(outcome(leg, old).map_err(invalid)?);
        }
        let mut total = Capacity::ZERO;
        let mut left = None;
        for (leg, new) in legs.iter().zip(new_items) {
            let key = leg.key()?;
            let old = self.items.get(&key).cloned();
            let size = |item: &Option<Item>| item.as_ref().map_or(0, Item::size);
            let larger = size(&old).max(size(&new));
            total.write += factor * larger.div_ceil(1024).max(1) as u64;
            total += index_write(leg.table(), old.as_ref().map(image), new.as_ref().map(image));
            match &new {
                Some(item) => self.items.insert(key, item.clone()),
                None => self.items.remove(&key),
            };
            left = new;
        }
        Ok((left, total))
    }
}

fn image(item: &Item) -> Image<'_> {
    Image { item, bytes: item.size() }
}

fn outcome(leg: &Leg, old: Option<&Item>) -> Result<Option<Item>, latchkey_table::Invalid> {
    Ok(match leg {
        Leg::Put(put) => Some(put.item.clone()),
        Leg::Delete(_) => None,
        Leg::Check(_) => old.cloned(),
        Leg::Update(update) => {
            let Key { partition, sort } = update.key.clone();
            let bare = Item::from([("PK", partition), ("SK", sort)]);
            let new = apply(&update.actions, old.unwrap_or(&bare))?;
            update.table.validate_item(&new)?;
            Some(new)
        }
    })
}
