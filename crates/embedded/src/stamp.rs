//! Stamps: the places of writes in the order in which they are made.
//!
//! One caller at a time holds a stamp, until its write is in the writer's queue, and the writer carries out writes in
//! the order of the queue. So a reader that sees a stamped write also sees every write with a lower stamp that was
//! carried out. Every commit saves the last stamp, so that a store that opens again gives higher ones, whatever the
//! clock says.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::{Engine, EngineError};
use crate::group::Group;

/// Under which name the last instant is kept.
pub(crate) const NAME: &str = "stamp";

/// The most writes with one instant; the next is given the instant after.
const SEQ_MAX: u32 = 999_999;

/// The place of a write among all stamped writes of a store. No two are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Stamp {
    /// An instant in milliseconds, which never decreases.
    pub at: i64,
    /// Which write of that instant it is.
    pub seq: u32,
}

/// The last stamp that was given.
#[derive(Debug)]
pub(crate) struct Stamps(Mutex<Stamp>);

impl Stamps {
    /// Stamps above one that is kept.
    pub(crate) fn above(kept: Stamp) -> Stamps {
        Stamps(Mutex::new(kept))
    }

    /// The last stamp that was given.
    pub(crate) fn last(&self) -> Stamp {
        *self.lock()
    }

    /// The next stamp, by a clock.
    pub(crate) fn next(&self, now: i64) -> Stamping<'_> {
        let mut last = self.lock();
        *last = last.next(now);
        Stamping(last)
    }

    fn lock(&self) -> MutexGuard<'_, Stamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stamp for the next write. Other callers wait for their stamp until this is dropped. Drop it when the write is in
/// the queue of the store, before you await the write.
#[derive(Debug)]
pub struct Stamping<'a>(MutexGuard<'a, Stamp>);

impl Stamping<'_> {
    /// The stamp.
    pub fn stamp(&self) -> Stamp {
        *self.0
    }
}

impl Stamp {
    /// The stamp an open map has kept: the last of its instant.
    pub(crate) fn load(engine: &Engine) -> Result<Stamp, EngineError> {
        let kept = engine.meta(NAME)?.into_iter().find(|(name, _)| name == NAME);
        let at = match kept.map(|(_, bytes)| bytes.try_into()) {
            None => i64::MIN,
            Some(Ok(bytes)) => i64::from_be_bytes(bytes),
            Some(Err(_)) => return Err(EngineError::new("its last stamp is damaged".to_owned())),
        };
        Ok(Stamp { at, seq: SEQ_MAX })
    }

    /// The next stamp, by a clock that may have gone back.
    pub(crate) fn next(self, now: i64) -> Stamp {
        match self {
            Stamp { at, .. } if now > at => Stamp { at: now, seq: 0 },
            Stamp { at, seq: SEQ_MAX } => Stamp { at: at.saturating_add(1), seq: 0 },
            Stamp { at, seq } => Stamp { at, seq: seq.saturating_add(1) },
        }
    }

    /// Keeps it with a group.
    pub(crate) fn keep(self, group: &mut Group<'_, '_>) -> Result<(), EngineError> {
        group.insert_meta(NAME, &self.at.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_rise_whatever_the_clock_says() {
        let first = Stamp { at: 5, seq: 0 };
        assert_eq!(first.next(6), Stamp { at: 6, seq: 0 });
        assert_eq!(first.next(5), Stamp { at: 5, seq: 1 });
        assert_eq!(first.next(1), Stamp { at: 5, seq: 1 });
        assert_eq!(Stamp { at: 5, seq: SEQ_MAX }.next(1), Stamp { at: 6, seq: 0 });
    }
}
