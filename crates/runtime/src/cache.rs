//! What calls of contracts with a `cache` have read, kept in memory for the calls after them.
//!
//! Kept are answers of the table, never answers of a contract: the contract runs for each call, with its own caller, so
//! `allow`, cursors and the ends of items are decided anew each time. An entry is all that one call has read, in order,
//! and it answers a call that makes the same requests: an answer is never put together from two entries.
//!
//! An entry is good while it is young enough and nothing was written by this process to the entities that the contract
//! reads. Each such entity has a [`Watch`]. A write counts there when it begins and when it ends. While one is under way
//! nothing is answered from memory or kept, so no answer is older than a write that anyone was told of.

mod kept;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_model::model::{EntityId, IdVec};
use latchkey_table::{Answer, Request, Text};

use crate::plan::{Cached, System};

use kept::Kept;
pub(crate) use kept::{BYTES_MAX, Entry, Key, read_bytes};
pub(crate) use watch::Change;
use watch::Watch;

/// What calls have read.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The entities that some contract with a `cache` reads.
    watches: IdVec<EntityId, Option<Watch>>,
    kept: Mutex<Kept>,
    /// How long after a write a read may still miss it, in milliseconds.
    lag_ms: i64,
    counts: Vec<Counts>,
}

/// How often a contract was answered from memory, and how often not.
#[derive(Debug)]
struct Counts {
    contract: Text,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// How often a contract with a `cache` was answered from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheCount<'a> {
    /// The contract.
    pub contract: &'a str,
    /// The calls that were answered from memory.
    pub hits: u64,
    /// The calls that asked the table. Those that a strong read keeps from the cache are not among them.
    pub misses: u64,
}

/// The entities a call is about to read, as they were before: how many writes each has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Before(Box<[u64]>);

impl Cache {
    /// A cache for the contracts of a system that have one; nothing if none has.
    pub(crate) fn of(system: &System, lag: Duration) -> Option<Cache> {
        let cached = || system.contracts.iter().filter_map(|one| Some((one, one.cache.as_ref()?)));
        let counts = cached().map(|(contract, _)| Counts {
            contract: contract.info.id.clone(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        });
        let counts: Vec<Counts> = counts.collect();
        if counts.is_empty() {
            return None;
        }
        let mut watches = system.entities.map(|_, _| None);
        for entity in cached().flat_map(|(_, cached)| &cached.reads) {
            watches[*entity] = Some(Watch::default());
        }
        let lag_ms = i64::try_from(lag.as_millis()).unwrap_or(i64::MAX);
        Some(Cache { watches, kept: Mutex::default(), lag_ms, counts })
    }

    /// How often each contract was answered from memory.
    pub(crate) fn counts(&self) -> impl Iterator<Item = CacheCount<'_>> {
        self.counts.iter().map(|counts| CacheCount {
            contract: &counts.contract,
            hits: counts.hits.load(Ordering::Relaxed),
            misses: counts.misses.load(Ordering::Relaxed),
        })
    }

    /// Counts a call that was answered from memory, or was not.
    pub(crate) fn count(&self, contract: &Cached, hit: bool) {
        if let Some(counts) = self.counts.get(contract.number) {
            let count = if hit { &counts.hits } else { &counts.misses };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while it has the lock, and what is kept is whole after each change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watched(&self, entities: &[EntityId]) -> impl Iterator<Item = &Watch> {
        entities.iter().filter_map(|entity| self.watches[*entity].as_ref())
    }

    /// What is looked at before the first read of a call; nothing if a write is under way, or may not be seen by all
    /// reads yet: what is read is then not kept.
    pub(crate) fn before(&self, contract: &Cached, now: i64) -> Option<Before> {
        let all = self.watched(&contract.reads).map(|watch| watch.settled(now));
        all.collect::<Option<Box<[u64]>>>().map(Before)
    }

    /// Whether nothing was written since, and nothing is being written.
    fn is_unchanged(&self, contract: &Cached, before: &Before) -> bool {
        let now = self.watched(&contract.reads).map(Watch::quiet);
        now.eq(before.0.iter().map(|count| Some(*count)))
    }

    /// The entry of a key, if it is good for a call of an instant.
    pub(crate) fn find(&self, contract: &Cached, key: &Key, now: i64) -> Option<Found> {
        let entry = self.kept().find(key)?;
        // One of the future has no age: the clock was set back.
        let age_ms = now.checked_sub(entry.at).and_then(|age| u64::try_from(age).ok())?;
        let lasts_ms = u64::from(contract.seconds) * 1000;
        let good = age_ms < lasts_ms && self.is_unchanged(contract, &entry.before);
        good.then_some(Found { entry, age_ms })
    }

    /// Keeps what a call has read, unless something was written meanwhile.
    pub(crate) fn keep(&self, contract: &Cached, key: Key, entry: Entry) {
        if self.is_unchanged(contract, &entry.before) {
            let until = entry.at.saturating_add(i64::from(contract.seconds) * 1000);
            self.kept().add(key, entry, until);
        }
    }
}

/// An entry that is good.
pub(crate) struct Found {
    pub(crate) entry: std::sync::Arc<Entry>,
    /// How old it is.
    pub(crate) age_ms: u64,
}

impl Entry {
    /// The answer to the request at a place, if it is this request.
    pub(crate) fn answer(&self, at: usize, request: &Request) -> Option<&Answer> {
        let (asked, answer) = self.reads.get(at)?;
        (asked == request).then_some(answer)
    }
}

#[cfg(test)]
mod tests;
