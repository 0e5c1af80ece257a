//! Calls that lost on an item wait for their turn at it.
//!
//! A call that finds its ground changed runs again. Where many calls change one item, chance decides who is next, and some
//! lose again and again. If every writer is in this process, such a call waits in a lane instead: the lane belongs to
//! the item that it lost on, those who came first go first, and a call that comes anew lets them pass.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use latchkey_table::Key;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::bug::Bug;

/// How many lanes there are. Items share them: to wait behind a call on another item does no harm.
const LANES: usize = 1024;

/// The lanes of a runtime.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    hasher: RandomState,
}

/// The lane of an item.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lane(Arc<Turns>);

#[derive(Debug, Default)]
struct Turns {
    /// Whoever holds it is at the head.
    turn: Arc<Mutex<()>>,
    /// How many calls are in the lane.
    calls: AtomicUsize,
}

/// A call that is in a lane, until it goes or is given up.
#[derive(Debug)]
struct Within(Lane);

/// The head of a lane: as long as it is held, others wait.
#[derive(Debug)]
pub(crate) struct Head {
    within: Within,
    _held: OwnedMutexGuard<()>,
}

impl Lanes {
    pub(crate) fn new() -> Lanes {
        let lanes = (0..LANES).map(|_| Lane::default()).collect();
        Lanes { lanes, hasher: RandomState::new() }
    }

    /// The lane of the item with a key.
    pub(crate) fn of(&self, key: &Key) -> Result<Lane, Bug> {
        let hash = self.hasher.hash_one((&key.partition, &key.sort));
        // The upper bits are as many as number the lanes.
        let at = usize::try_from(hash >> (u64::BITS - LANES.ilog2()));
        let lane = at.ok().and_then(|at| self.lanes.get(at));
        lane.cloned().ok_or_else(|| Bug::new("an item has no lane"))
    }
}

impl Lane {
    /// Whether a call is in it.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.calls.load(Ordering::Acquire) > 0
    }

    /// Waits until those who came before have gone.
    pub(crate) async fn head(self) -> Head {
        self.0.calls.fetch_add(1, Ordering::AcqRel);
        let turn = Arc::clone(&self.0.turn);
        let within = Within(self);
        Head { within, _held: turn.lock_owned().await }
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.0.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Head {
    /// Whether it is the head of this lane.
    pub(crate) fn is_of(&self, lane: &Lane) -> bool {
        Arc::ptr_eq(&self.within.0.0, &lane.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_first_goes_first() {
        let lanes = Lanes::new();
        let lane = || lanes.of(&Key::new("A", "B")).expect("every key has a lane");
        assert!(!lane().is_taken());
        let head = lane().head().await;
        assert!(lane().is_taken() && head.is_of(&lane()));
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut waiting = Vec::new();
        for number in 0..8 {
            let (lane, sender) = (lane(), sender.clone());
            waiting.push(tokio::spawn(async move {
                let _head = lane.head().await;
                sender.send(number).expect("someone listens");
            }));
            // Until it waits.
            tokio::task::yield_now().await;
        }
        drop((head, sender));
        for number in 0..8 {
            assert_eq!(receiver.recv().await, Some(number));
        }
        for one in waiting {
            one.await.expect("it has gone through");
        }
        assert!(!lane().is_taken());
    }

    #[tokio::test]
    async fn who_gives_up_is_no_longer_in_the_lane() {
        let lane = Lane::default();
        let head = lane.clone().head().await;
        let waiting = tokio::spawn(lane.clone().head());
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err());
        drop(head);
        assert!(!lane.is_taken());
    }

    #[test]
    fn every_key_has_a_lane() {
        let lanes = Lanes::new();
        for number in 0..10_000 {
            assert!(lanes.of(&Key::new(format!("P{number}"), "S")).is_ok());
        }
    }
}
