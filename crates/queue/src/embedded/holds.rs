//! The leases of a queue without an order. How long one lasts is measured by a clock that is never set, and known to
//! this process alone: a store has one process. The instant in the key of a held message is for people.
//!
//! What another process held is read once, before the first look.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use latchkey_table::{Consistency, Error as TableError, Get, Number};

use super::Shared;
use super::stored::{Part, Place, Stored};
use crate::Error;
use crate::limits::PAGE_MAX;

/// The messages that are held, or that a transaction under way will have held.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    by_lease: HashMap<Number, Hold>,
    /// Whether those of the process before are among them.
    loaded: bool,
}

#[derive(Debug)]
struct Hold {
    stored: Stored,
    /// Until when, by the steady clock.
    until: i64,
}

impl Shared {
    fn holds(&self) -> MutexGuard<'_, Holds> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Someone holds the message from here on, or will if a transaction is made.
    pub(super) fn hold(&self, stored: &Stored) {
        let until = self.clock.steady().saturating_add(self.lease_ms);
        self.hold_until(stored, until);
    }

    fn hold_until(&self, stored: &Stored, until: i64) {
        if let Some(lease) = stored.lease {
            self.holds().by_lease.insert(lease, Hold { stored: stored.clone(), until });
        }
    }

    /// Nobody holds the message by this lease any more.
    pub(super) fn let_go(&self, lease: Option<Number>) {
        lease.into_iter().for_each(|lease| drop(self.holds().by_lease.remove(&lease)));
    }

    /// A message could not be leased, for it has changed since it was read. It may still be held by the old lease:
    /// another under its id has the place that the new lease would have.
    pub(super) fn not_leased(&self, old: &Stored, new: &Stored) {
        self.let_go(new.lease);
        let get = Get {
            table: self.home.table().clone(),
            key: old.key(&self.home),
            consistency: Consistency::Strong,
        };
        let stays = self.store.get(&get).map(|got| {
            let read = got.item.and_then(|item| Stored::read(&self.home, item));
            read.is_some_and(|read| read.lease == old.lease)
        });
        if matches!(stays, Ok(false)) {
            self.let_go(old.lease);
        }
    }

    /// A transaction that leases a message failed. If it may have been made, the lease may be held.
    pub(super) fn in_doubt(&self, new: &Stored, error: &TableError) {
        if !matches!(error, TableError::OutcomeUnknown { .. }) {
            self.let_go(new.lease);
        }
    }

    /// Reads the leases that are in the store since another process had it, once. One that has longer to go than a
    /// lease lasts is of a clock that was ahead: it is over.
    pub(super) fn load_holds(&self, now: i64) -> Result<(), Error> {
        if self.holds().loaded {
            return Ok(());
        }
        let (steady, mut resume) = (self.clock.steady(), None);
        loop {
            let query = self.home.query(self.home.messages(), Part::Held.all(), PAGE_MAX, resume);
            let page = self.store.query(&query)?;
            for item in page.items {
                let Some(stored) = Stored::read(&self.home, item) else { continue };
                let Place::At(Part::Held, until) = stored.place else { continue };
                let left = until.saturating_sub(now);
                let left = if left > self.lease_ms { 0 } else { left };
                let known = stored.lease.is_some_and(|l| self.holds().by_lease.contains_key(&l));
                if !known {
                    self.hold_until(&stored, steady.saturating_add(left));
                }
            }
            resume = page.resume;
            if resume.is_none() {
                self.holds().loaded = true;
                return Ok(());
            }
        }
    }

    /// Messages whose lease is over.
    pub(super) fn lapsed(&self) -> Vec<Stored> {
        let steady = self.clock.steady();
        let holds = self.holds();
        let over = holds.by_lease.values().filter(|hold| hold.until <= steady);
        over.map(|hold| hold.stored.clone()).collect()
    }

    /// How many messages are held, how many leases are over, and since when the message of the oldest of those has
    /// been due.
    pub(super) fn count_holds(&self) -> (usize, usize, Option<i64>) {
        let steady = self.clock.steady();
        let holds = self.holds();
        let over = || holds.by_lease.values().filter(|hold| hold.until <= steady);
        let oldest = over().map(|hold| hold.stored.due_at).min();
        let lapsed = over().count();
        (holds.by_lease.len().saturating_sub(lapsed), lapsed, oldest)
    }

    /// After how many milliseconds the next lease is over.
    pub(super) fn next_lapse(&self) -> Option<i64> {
        let steady = self.clock.steady();
        let next = self.holds().by_lease.values().map(|hold| hold.until).min();
        next.map(|until| until.saturating_sub(steady))
    }
}
