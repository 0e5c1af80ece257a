//! Sweeps the embedded store for as long as it runs, at a rate that follows what there is to remove.
//!
//! A step that removes something rests for three times as long as it took, one that finds nothing for 49 times as long:
//! a sweep takes a quarter of the time of one processor at most while there is something to remove, and a fiftieth
//! while there is not. Writes of others go in between.
//!
//! What is removed does not come back. So a clock that jumps ahead is believed after an hour; until then the sweep goes
//! by the clock of before. A clock that is ahead of the last write before the start is
//! doubted in the same way. Reads and conditions believe the clock at once, and the clock again when it is set back.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use latchkey_table::Backend;

use crate::clock::{Source, SystemSource, milliseconds};
use crate::plan::System;
use crate::runtime::Runtime;
use crate::sweep::{Place, sweep};

/// How long a sweep rests once it has gone through everything.
const EVERY: Duration = Duration::from_secs(20);

/// How long a step rests at least.
const REST_MIN: Duration = Duration::from_millis(10);

/// How many times as long as it took a step rests that has removed something.
const REST_AT_WORK: u32 = 3;

/// The same of one that has removed nothing.
const REST_IDLE: u32 = 49;

/// By how much a clock may be ahead of the time that has passed.
const AHEAD_MS_MAX: i64 = 60_000;

/// For how long a clock that has jumped ahead is not believed.
const DOUBT_MS: i64 = 60 * 60 * 1_000;

/// Removes what is over from a store, for some systems.
pub struct Sweeper {
    backend: Arc<dyn Backend>,
    systems: Vec<Arc<System>>,
    source: Arc<dyn Source>,
    trusted: Trusted,
}

/// The time by a clock that is not believed at once if it jumps ahead.
#[derive(Debug, Clone, Copy)]
struct Trusted {
    /// What the clock is ahead of the steady one.
    offset: i64,
    /// Since when it has been ahead of that, by the steady clock.
    doubted_since: Option<i64>,
}

impl Trusted {
    fn new(source: &dyn Source) -> Trusted {
        let offset = source.steady().map_or(0, |steady| source.now().saturating_sub(steady));
        Trusted { offset, doubted_since: None }
    }

    /// The same, where it is known what time it was before. A clock that is ahead of it may be wrong.
    fn since(self, before: i64, source: &dyn Source) -> Trusted {
        let Some(steady) = source.steady() else { return self };
        Trusted { offset: self.offset.min(before.saturating_sub(steady)), ..self }
    }

    /// The time that is believed.
    fn now(&mut self, source: &dyn Source) -> i64 {
        let now = source.now();
        let Some(steady) = source.steady() else { return now };
        let offset = now.saturating_sub(steady);
        if offset.saturating_sub(self.offset) <= AHEAD_MS_MAX {
            *self = Trusted { offset, doubted_since: None };
            return now;
        }
        let since = *self.doubted_since.get_or_insert_with(|| {
            let by_ms = offset.saturating_sub(self.offset);
            tracing::warn!(
                by_ms,
                "the clock jumped ahead, or nothing was written for that long before the start; what is over by it is \
                 removed in an hour"
            );
            steady
        });
        if steady.saturating_sub(since) >= DOUBT_MS {
            *self = Trusted { offset, doubted_since: None };
            return now;
        }
        steady.saturating_add(self.offset)
    }
}

impl Sweeper {
    /// A sweeper of a store, by the clock of the machine.
    pub fn new(store: Arc<dyn Backend>, runtimes: &[Runtime]) -> Sweeper {
        Sweeper::by(store, runtimes, Arc::new(SystemSource))
    }

    /// The same, by another clock.
    pub fn by(backend: Arc<dyn Backend>, runtimes: &[Runtime], source: Arc<dyn Source>) -> Sweeper {
        let systems = runtimes.iter().map(|runtime| Arc::clone(&runtime.system)).collect();
        let trusted = Trusted::new(&*source);
        Sweeper { backend, systems, source, trusted }
    }

    /// The same, for a store that was written last at some time before it was opened. If the clock is ahead of that, it is
    /// believed after an hour.
    #[must_use]
    pub fn since(mut self, written_before: Option<SystemTime>) -> Sweeper {
        if let Some(before) = written_before {
            self.trusted = self.trusted.since(milliseconds(before), &*self.source);
        }
        self
    }

    /// Goes through everything, again and again, until it is dropped.
    pub async fn run(mut self) {
        loop {
            tokio::time::sleep(EVERY).await;
            // The store has said that it takes no writes.
            if self.backend.takes_writes().is_ok() {
                self.round().await;
            }
        }
    }

    /// Goes through everything once, and says how many items were removed.
    pub async fn round(&mut self) -> usize {
        let mut removed = 0;
        for system in self.systems.clone() {
            let mut from: Option<Place> = None;
            loop {
                let now = self.trusted.now(&*self.source);
                let began = Instant::now();
                let swept = match sweep(&*self.backend, &system, from.take(), now).await {
                    Ok(swept) => swept,
                    Err(error) => {
                        // The next round begins anew.
                        tracing::warn!(%error, "what is over could not be removed");
                        break;
                    }
                };
                removed += swept.removed;
                let times = if swept.removed > 0 { REST_AT_WORK } else { REST_IDLE };
                tokio::time::sleep(began.elapsed().saturating_mul(times).max(REST_MIN)).await;
                from = swept.after;
                if from.is_none() {
                    break;
                }
            }
        }
        removed
    }
}

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper").field("trusted", &self.trusted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A clock, and one that is never set.
    struct Two(AtomicI64, AtomicI64);

    impl Source for Two {
        fn now(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }

        fn steady(&self) -> Option<i64> {
            Some(self.1.load(Ordering::SeqCst))
        }

        fn random(&self, _: &mut [u8]) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Two {
        fn pass(&self, ms: i64) {
            self.0.fetch_add(ms, Ordering::SeqCst);
            self.1.fetch_add(ms, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_clock_that_jumps_ahead_is_believed_after_an_hour() {
        let day = 86_400_000;
        let clock = Two(AtomicI64::new(10 * day), AtomicI64::new(7));
        let mut trusted = Trusted::new(&clock);
        clock.pass(5_000);
        assert_eq!(trusted.now(&clock), 10 * day + 5_000);
        clock.0.fetch_add(day, Ordering::SeqCst);
        assert_eq!(trusted.now(&clock), 10 * day + 5_000);
        clock.pass(DOUBT_MS - 1);
        assert_eq!(trusted.now(&clock), 10 * day + 5_000 + DOUBT_MS - 1);
        // Set back, it is believed at once; a second jump is doubted anew.
        clock.0.fetch_sub(day, Ordering::SeqCst);
        assert_eq!(trusted.now(&clock), clock.now());
        clock.0.fetch_add(day, Ordering::SeqCst);
        assert_eq!(trusted.now(&clock), clock.now() - day);
        clock.pass(DOUBT_MS);
        assert_eq!(trusted.now(&clock), clock.now());
        // A clock that runs a little fast is followed.
        for _ in 0..100 {
            clock.pass(1_000);
            clock.0.fetch_add(30_000, Ordering::SeqCst);
            assert_eq!(trusted.now(&clock), clock.now());
        }
    }

    #[test]
    fn a_clock_that_is_ahead_at_the_start_is_believed_after_an_hour() {
        // One start three days ahead removed what had not ended: records of calls, which then acted twice.
        let day = 86_400_000;
        let clock = Two(AtomicI64::new(13 * day), AtomicI64::new(7));
        let mut trusted = Trusted::new(&clock).since(10 * day, &clock);
        clock.pass(30_000);
        assert_eq!(trusted.now(&clock), 10 * day + 30_000);
        // Set right, it is believed at once.
        clock.0.fetch_sub(3 * day, Ordering::SeqCst);
        assert_eq!(trusted.now(&clock), clock.now());
        // A store that was not used for days is swept an hour later.
        let mut trusted = Trusted::new(&clock).since(9 * day, &clock);
        assert_eq!(trusted.now(&clock), 9 * day);
        clock.pass(DOUBT_MS);
        assert_eq!(trusted.now(&clock), clock.now());
        // A store that was written just now, or by a clock that was ahead, casts no doubt.
        for before in [clock.now() - AHEAD_MS_MAX, clock.now() + day] {
            let mut trusted = Trusted::new(&clock).since(before, &clock);
            assert_eq!(trusted.now(&clock), clock.now());
        }
    }
}
