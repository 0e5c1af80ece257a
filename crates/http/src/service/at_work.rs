//! How many calls run at once. Calls beyond that are refused before anything is done for them.
//!
//! A call counts while it runs. It does not count while its body arrives: slow senders would keep others out. One caller
//! may have as many calls at work as there are places left, so it never takes them all: alone half of them, and of two
//! greedy ones each has a third.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use latchkey_runtime::{Caller, Problem};

use crate::bug::bug;
use crate::call_limits;

/// How many counters there are for all callers. Those of callers beyond that are shared.
const COUNTERS: usize = 1024;

#[derive(Debug)]
pub(super) struct AtWork {
    calls: AtomicUsize,
    calls_max: usize,
    /// How many of the calls each caller makes, at a place that follows from a hash with a random key.
    of_callers: Box<[AtomicUsize]>,
    hasher: RandomState,
}

/// The counter of a caller's calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose<'a>(&'a AtomicUsize);

/// A call that runs until this is dropped.
#[derive(Debug)]
#[must_use = "the call counts only while this lives"]
pub(super) struct Running<'a> {
    calls: &'a AtomicUsize,
    of_caller: &'a AtomicUsize,
}

impl AtWork {
    pub(super) fn new(calls_max: usize) -> AtWork {
        let of_callers = std::iter::repeat_with(AtomicUsize::default).take(COUNTERS).collect();
        let (calls, hasher) = (AtomicUsize::new(0), RandomState::new());
        AtWork { calls, calls_max, of_callers, hasher }
    }

    /// Refuses a call if as many run as may.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self.left() {
            0 => Err(Problem::later(
                "busy",
                "the server runs as many calls as it can; try again in a moment",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a call of a caller, or of an address without a token, that has its share of the places.
    pub(super) fn check_share(
        &self,
        caller: &Caller,
        address: impl FnOnce() -> IpAddr,
    ) -> Result<Whose<'_>, Problem> {
        let hash = match caller.id.is_empty() {
            true => self.hasher.hash_one(call_limits::network(address())),
            false => self.hasher.hash_one(caller.id.as_str()),
        };
        let at = usize::try_from(hash).unwrap_or(usize::MAX) % COUNTERS;
        let Some(of_caller) = self.of_callers.get(at) else {
            return Err(bug(format!("there is no counter {at} for the calls of a caller")));
        };
        if of_caller.load(Ordering::Relaxed) >= self.left() {
            let detail = "this caller has as many calls at work as the others leave it; try again in a moment";
            return Err(Problem::later("busy", detail));
        }
        Ok(Whose(of_caller))
    }

    /// Counts a call that begins. Calls whose bodies arrived meanwhile may take the count above the limit: their
    /// bodies have been read, so they run.
    pub(super) fn begin<'a>(&'a self, Whose(of_caller): Whose<'a>) -> Running<'a> {
        let calls = &self.calls;
        calls.fetch_add(1, Ordering::Relaxed);
        of_caller.fetch_add(1, Ordering::Relaxed);
        Running { calls, of_caller }
    }

    /// How many calls may begin.
    fn left(&self) -> usize {
        self.calls_max.saturating_sub(self.calls.load(Ordering::Relaxed))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.of_caller.fetch_sub(1, Ordering::Relaxed);
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address() -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    /// Begins as many calls of a caller as are taken.
    fn greedy<'a>(at_work: &'a AtWork, caller: &Caller) -> Vec<Running<'a>> {
        let mut all = Vec::new();
        while at_work.check().is_ok()
            && let Ok(whose) = at_work.check_share(caller, address)
        {
            all.push(at_work.begin(whose));
        }
        all
    }

    #[test]
    fn calls_beyond_the_limit_are_refused_until_one_ends() {
        let at_work = AtWork::new(2);
        let [alice, bob] = ["alice", "bob"].map(Caller::new);
        let one = at_work.begin(at_work.check_share(&alice, address).unwrap());
        assert!(at_work.check().is_ok());
        let other = at_work.begin(at_work.check_share(&bob, address).unwrap());
        let refusal = at_work.check().unwrap_err();
        assert_eq!((refusal.status, refusal.retry_after), (503, Some(1)));
        drop(one);
        assert!(at_work.check().is_ok());
        drop(other);
    }

    // One caller with 1,900 connections and calls that wait in line had all places, and others were told `busy`.
    #[test]
    fn no_caller_has_all_places() {
        let at_work = AtWork::new(120);
        let first = greedy(&at_work, &Caller::new("first"));
        assert_eq!(first.len(), 60);
        let refusal = at_work.check_share(&Caller::new("first"), address).map(drop).unwrap_err();
        assert_eq!((refusal.status, refusal.code.as_str()), (503, "busy"));
        let second = greedy(&at_work, &Caller::default());
        assert_eq!(second.len(), 30, "without a token its address counts");
        assert!(at_work.check().is_ok(), "there is room for others");
        drop((first, second));
        assert_eq!(greedy(&at_work, &Caller::new("second")).len(), 60);
    }
}
