//! The buckets of all limits, each for one caller or address: how much time it takes to fill it again.
//!
//! A bucket is one number, the instant at which it is full again (the generic cell rate algorithm). A full bucket needs
//! no entry. Entries are spread over shards with a lock each, so calls of different callers rarely meet.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::bug::bug;

/// The highest bits of a hash are the number of its shard.
const SHARD_BITS: u32 = 6;
const SHARDS: usize = 1 << SHARD_BITS;

/// The most buckets of a shard that are not full.
const SHARD_BUCKETS_MAX: usize = 4_096;

/// When each bucket of a shard is full again, in nanoseconds since the start.
type Shard = HashMap<u64, u64, BuildHasherDefault<Hashed>>;

/// The hash of what is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        // The highest bits are the same in a shard, and a map looks at them first.
        self.0 = hash.rotate_left(SHARD_BITS);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) struct Buckets {
    started: Instant,
    /// A bucket is found by a hash of 64 bits with a random key, so no caller can choose the bucket of another.
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
}

/// A bucket, by the hash of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bucket(u64);

/// Whether a bucket had a call left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It had, and is full again after this time.
    Taken { owed_ns: u64 },
    /// It is empty, full again after one time, and has a call after the other.
    Empty { owed_ns: u64, wait_ns: u64 },
}

impl fmt::Debug for Buckets {
    /// Leaves the callers out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").finish_non_exhaustive()
    }
}

impl Buckets {
    pub(super) fn new() -> Buckets {
        let shards = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Buckets { started: Instant::now(), hasher: RandomState::new(), shards }
    }

    /// The bucket of a name.
    pub(super) fn of(&self, name: &impl Hash) -> Bucket {
        Bucket(self.hasher.hash_one(name))
    }

    /// Takes a call, which takes so long to fill, from a bucket, which takes so long in all.
    pub(super) fn take(
        &self,
        Bucket(hash): Bucket,
        call_ns: u64,
        depth_ns: u64,
        now: Instant,
    ) -> Verdict {
        let now = self.since_start(now);
        let Some(mut shard) = self.shard(hash) else { return Verdict::Taken { owed_ns: 0 } };
        let full_at = shard.get(&hash).map_or(now, |full_at| now.max(*full_at));
        let verdict = verdict(full_at, call_ns, depth_ns, now);
        let Verdict::Taken { owed_ns } = verdict else { return verdict };
        let after = now.saturating_add(owed_ns);
        if shard.len() >= SHARD_BUCKETS_MAX && !shard.contains_key(&hash) {
            make_room(&mut shard, now);
        }
        shard.insert(hash, after);
        verdict
    }

    /// What [`Buckets::take`] would say. Takes nothing.
    pub(super) fn look(
        &self,
        bucket: Bucket,
        call_ns: u64,
        depth_ns: u64,
        now: Instant,
    ) -> Verdict {
        let full_at = self.since_start(now).saturating_add(self.owed_ns(bucket, now));
        verdict(full_at, call_ns, depth_ns, self.since_start(now))
    }

    /// After which time a bucket is full again.
    pub(super) fn owed_ns(&self, Bucket(hash): Bucket, now: Instant) -> u64 {
        let now = self.since_start(now);
        let full_at = self.shard(hash).and_then(|shard| shard.get(&hash).copied());
        full_at.map_or(0, |full_at| full_at.saturating_sub(now))
    }

    /// Gives a call back to its bucket.
    pub(super) fn give_back(&self, Bucket(hash): Bucket, call_ns: u64) {
        // A bucket that was forgotten meanwhile is full.
        if let Some(full_at) = self.shard(hash).as_mut().and_then(|shard| shard.get_mut(&hash)) {
            *full_at = full_at.saturating_sub(call_ns);
        }
    }

    fn since_start(&self, now: Instant) -> u64 {
        // 2^64 nanoseconds are 584 years.
        let since = now.saturating_duration_since(self.started).as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX)
    }

    fn shard(&self, hash: u64) -> Option<MutexGuard<'_, Shard>> {
        let shard = usize::try_from(hash >> (u64::BITS - SHARD_BITS))
            .ok()
            .and_then(|at| self.shards.get(at));
        if shard.is_none() {
            drop(bug(format!("there is no shard for {hash}")));
        }
        Some(shard?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a bucket that is full at an instant has a call left.
fn verdict(full_at: u64, call_ns: u64, depth_ns: u64, now: u64) -> Verdict {
    let owed_ns = full_at.saturating_add(call_ns).saturating_sub(now);
    match owed_ns.checked_sub(depth_ns) {
        None | Some(0) => Verdict::Taken { owed_ns },
        Some(wait_ns) => Verdict::Empty { owed_ns: full_at.saturating_sub(now), wait_ns },
    }
}

/// Forgets the buckets that are full. If that is not enough, it forgets the half that is full first: their callers have
/// the least to gain.
fn make_room(shard: &mut Shard, now: u64) {
    shard.retain(|_, full_at| *full_at > now);
    if shard.len() >= SHARD_BUCKETS_MAX {
        let mut all: Vec<u64> = shard.values().copied().collect();
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable(middle);
        let median = *median;
        shard.retain(|_, full_at| *full_at > median);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_is_emptied_at_once_and_filled_at_its_rate() {
        let buckets = Buckets::new();
        let at = |ms: u64| buckets.started + Duration::from_millis(ms);
        let alice = buckets.of(&"alice");
        let take = |ms: u64| buckets.take(alice, SECOND / 2, 3 * SECOND / 2, at(ms));
        for owed_ns in [SECOND / 2, SECOND, 3 * SECOND / 2] {
            assert_eq!(take(0), Verdict::Taken { owed_ns });
        }
        let empty = Verdict::Empty { owed_ns: 3 * SECOND / 2, wait_ns: SECOND / 2 };
        assert_eq!(take(0), empty);
        // A refused call does not count, and one that is given back can be taken again.
        assert_eq!(take(0), empty);
        buckets.give_back(alice, SECOND / 2);
        assert_eq!(take(0), Verdict::Taken { owed_ns: 3 * SECOND / 2 });
        assert!(matches!(take(499), Verdict::Empty { .. }));
        assert!(matches!(take(500), Verdict::Taken { .. }));
        assert!(matches!(take(500), Verdict::Empty { .. }));
        // After a long time the bucket is full, and not fuller.
        for _ in 0..3 {
            assert!(matches!(take(1_000_000), Verdict::Taken { .. }));
        }
        assert!(matches!(take(1_000_000), Verdict::Empty { .. }));
        let other = buckets.take(buckets.of(&"bob"), SECOND / 2, SECOND / 2, at(1_000_000));
        assert_eq!(other, Verdict::Taken { owed_ns: SECOND / 2 });
    }

    #[test]
    fn memory_is_bounded_and_those_who_owe_most_are_remembered() {
        let buckets = Buckets::new();
        let owing = buckets.of(&("owes", 0));
        let hour = 3600 * SECOND;
        assert!(matches!(buckets.take(owing, hour, hour, buckets.started), Verdict::Taken { .. }));
        for caller in 0..400_000 {
            buckets.take(buckets.of(&("caller", caller)), SECOND, SECOND, buckets.started);
        }
        let kept: usize = buckets.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= SHARDS * SHARD_BUCKETS_MAX, "{kept}");
        let again = buckets.take(owing, hour, hour, buckets.started);
        assert!(matches!(again, Verdict::Empty { .. }));
    }
}
