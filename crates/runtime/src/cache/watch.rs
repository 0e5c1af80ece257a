//! How often items of an entity were written by this process.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use latchkey_model::model::EntityId;

use super::Cache;
use crate::runtime::Runtime;

/// How long nothing is kept of an entity after a write of which nobody knows whether it was done: it may still be on its
/// way.
const UNKNOWN_MS: i64 = 30_000;

/// The writes of one entity.
#[derive(Debug)]
pub(super) struct Watch {
    /// How many are over.
    over: AtomicU64,
    /// How many are under way.
    under_way: AtomicU64,
    /// From when on every read sees all that are over.
    settled_at: AtomicI64,
}

impl Default for Watch {
    fn default() -> Watch {
        let (over, under_way) = (AtomicU64::new(0), AtomicU64::new(0));
        Watch { over, under_way, settled_at: AtomicI64::new(i64::MIN) }
    }
}

impl Watch {
    /// How many writes are over, if none is under way.
    pub(super) fn quiet(&self) -> Option<u64> {
        // In this order: a write counts as over before it stops being under way.
        let quiet = self.under_way.load(Ordering::SeqCst) == 0;
        let over = self.over.load(Ordering::SeqCst);
        quiet.then_some(over)
    }

    /// The same, if every read of an instant sees all of them.
    pub(super) fn settled(&self, now: i64) -> Option<u64> {
        self.quiet().filter(|_| now >= self.settled_at.load(Ordering::SeqCst))
    }
}

/// A write under way. It is over when this is dropped: as one that may still happen, unless it was said to be known.
pub(crate) struct Change<'a> {
    cache: &'a Cache,
    entities: &'a [EntityId],
    runtime: &'a Runtime,
    /// The instant of the call, if it was given.
    at: Option<i64>,
    known: bool,
}

impl<'a> Change<'a> {
    /// Begins a write of some entities; nothing where none of them is watched.
    pub(crate) fn begin(
        runtime: &'a Runtime,
        entities: &'a [EntityId],
        at: Option<i64>,
    ) -> Option<Change<'a>> {
        let cache = runtime.cache.as_deref()?;
        cache.watched(entities).next()?;
        for watch in cache.watched(entities) {
            watch.under_way.fetch_add(1, Ordering::SeqCst);
        }
        Some(Change { cache, entities, runtime, at, known: false })
    }

    /// Ends it. What is known either happened or never will.
    pub(crate) fn end(mut self, known: bool) {
        self.known = known;
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        let wait_ms = if self.known { self.cache.lag_ms } else { UNKNOWN_MS };
        let now = self.at.unwrap_or_else(|| self.runtime.source.now());
        for watch in self.cache.watched(self.entities) {
            if wait_ms > 0 {
                watch.settled_at.fetch_max(now.saturating_add(wait_ms), Ordering::SeqCst);
            }
            watch.over.fetch_add(1, Ordering::SeqCst);
            watch.under_way.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
