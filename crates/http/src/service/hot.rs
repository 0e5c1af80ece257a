//! The partitions that calls ask for most, for pages.
//!
//! One call in [`EVERY`] is looked at, so the others pay one atomic addition, and only on a server that has pages. The
//! counts are of a fixed size: when they are full, the least of them makes room for a newcomer, which takes its count
//! over, so the most frequent ones stay (the "space saving" algorithm). All counts are halved now and then: what was hot
//! an hour ago is not hot.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latchkey_runtime::Trace;
use latchkey_table::{Leg, Request, Text};

/// One call in so many is looked at.
pub(super) const EVERY: u64 = 16;

/// The most partitions that are counted.
const PARTITIONS_MAX: usize = 512;

/// How often counts are halved.
const HALVED_EVERY: Duration = Duration::from_secs(60);

/// A partition, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotPartition {
    /// The place of its system among those of the service.
    pub system: usize,
    /// The index; none for the table itself.
    pub index: Option<Text>,
    /// The partition key.
    pub partition: Text,
    /// How often it was asked for by the calls that were looked at, older ones counted less.
    pub seen: u64,
}

type Place = (usize, Option<Text>, Text);

/// Counts the partitions that are asked for.
#[derive(Debug, Default)]
pub(super) struct Hot {
    calls: AtomicU64,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    halved: Option<Instant>,
    counts: HashMap<Place, u64>,
}

impl Hot {
    /// Whether a call is to be looked at.
    pub(super) fn is_its_turn(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY)
    }

    /// Counts the partitions of a call. Where another counts right now, this one is left out: nobody waits.
    pub(super) fn count(&self, system: usize, trace: &Trace, now: Instant) {
        let Ok(mut counted) = self.counted.try_lock() else { return };
        let since = *counted.halved.get_or_insert(now);
        if now.duration_since(since) >= HALVED_EVERY {
            counted.halved = Some(now);
            counted.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        for step in trace {
            each_partition(&step.request, |index, partition| {
                counted.add((system, index.cloned(), partition.clone()));
            });
        }
    }

    /// The partitions that were seen most.
    pub(super) fn most(&self, limit: usize) -> Vec<HotPartition> {
        // A thread that stopped while it counted left counts, no more.
        let counted = self.counted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let hot = counted.counts.iter().map(|((system, index, partition), seen)| HotPartition {
            system: *system,
            index: index.clone(),
            partition: partition.clone(),
            seen: *seen,
        });
        let mut all: Vec<HotPartition> = hot.collect();
        all.sort_by(|a, b| b.seen.cmp(&a.seen).then_with(|| a.partition.cmp(&b.partition)));
        all.truncate(limit);
        all
    }
}

impl Counted {
    fn add(&mut self, place: Place) {
        if let Some(count) = self.counts.get_mut(&place) {
            *count += 1;
            return;
        }
        let mut before = 0;
        if self.counts.len() >= PARTITIONS_MAX {
            let least = self.counts.iter().min_by_key(|(_, count)| **count);
            if let Some((least, count)) = least.map(|(place, count)| (place.clone(), *count)) {
                self.counts.remove(&least);
                before = count;
            }
        }
        self.counts.insert(place, before + 1);
    }
}

/// The partitions that a request asks for.
fn each_partition(request: &Request, mut seen: impl FnMut(Option<&Text>, &Text)) {
    match request {
        Request::Get(get) => seen(None, &get.key.partition),
        Request::BatchGet(batch) => batch.keys.iter().for_each(|key| seen(None, &key.partition)),
        Request::SnapshotGet(all) => all.keys.iter().for_each(|key| seen(None, &key.partition)),
        Request::Query(query) => seen(query.index.as_ref(), &query.partition),
        // A scan has no partition.
        Request::IndexScan(_) => {}
        Request::Put(put, _) => of_item(put, &mut seen),
        Request::Update(update, _) => seen(None, &update.key.partition),
        Request::Delete(delete, _) => seen(None, &delete.key.partition),
        Request::Transact(transact) => transact.legs.iter().for_each(|leg| match leg {
            Leg::Put(put) => of_item(put, &mut seen),
            Leg::Update(update) => seen(None, &update.key.partition),
            Leg::Delete(delete) => seen(None, &delete.key.partition),
            Leg::Check(check) => seen(None, &check.key.partition),
        }),
    }
}

fn of_item(put: &latchkey_table::Put, seen: &mut impl FnMut(Option<&Text>, &Text)) {
    if let Some(key) = put.table.key.of(&put.item) {
        seen(None, &key.partition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        (0, None, Text::from(name))
    }

    #[test]
    fn the_most_frequent_stay_when_there_are_too_many() {
        let hot = Hot::default();
        for round in 0..2_000 {
            let mut counted = hot.counted.lock().unwrap();
            counted.add(place("busy"));
            counted.add(place(&format!("once-{round}")));
        }
        let most = hot.most(3);
        assert_eq!(most[0].partition, "busy");
        assert!(most[0].seen >= 2_000, "{most:?}");
        assert_eq!(hot.counted.lock().unwrap().counts.len(), PARTITIONS_MAX);
    }

    #[test]
    fn one_call_in_so_many_is_looked_at() {
        let hot = Hot::default();
        let looked = (0..160).filter(|_| hot.is_its_turn()).count();
        assert_eq!(looked, 10);
    }
}
