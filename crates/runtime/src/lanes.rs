//! Calls that lost on an item wait for their turn at it.
//!
//! A call that finds its ground changed runs again. Where many calls change one item, chance decides who is next, and some
//! lose again and again. If every writer is in this process, such a call waits in lanes instead: a lane belongs to an
//! item, those who came first go first, and a call that comes anew lets them pass. One that would not run again goes
//! through the lane once, and holds nobody up: without that, a stream of such calls would keep the others waiting. A call waits in the lanes of all items
//! that it depends on, one after the other in the order of their numbers, so that no two calls wait for each other.

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
#[derive(Debug, Clone)]
pub(crate) struct Lane(Arc<Turns>);

#[derive(Debug)]
struct Turns {
    number: usize,
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
struct Head {
    within: Within,
    _held: OwnedMutexGuard<()>,
}

/// The lanes at whose heads a call is, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Heads(Vec<Head>);

impl Lanes {
    pub(crate) fn new() -> Lanes {
        let lanes = (0..LANES).map(Lane::new).collect();
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
    fn new(number: usize) -> Lane {
        Lane(Arc::new(Turns { number, turn: Arc::default(), calls: AtomicUsize::new(0) }))
    }

    fn number(&self) -> usize {
        self.0.number
    }

    /// Whether a call is in it.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.calls.load(Ordering::Acquire) > 0
    }

    /// Waits until those who came before have gone.
    async fn head(self) -> Head {
        self.0.calls.fetch_add(1, Ordering::AcqRel);
        let turn = Arc::clone(&self.0.turn);
        let within = Within(self);
        Head { within, _held: turn.lock_owned().await }
    }

    /// Waits until those who came before have gone, and goes at once.
    pub(crate) async fn pass(self) {
        drop(self.head().await);
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        self.0.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Head {
    fn number(&self) -> usize {
        self.within.0.number()
    }
}

impl Heads {
    /// Whether the call is at the head of a lane.
    pub(crate) fn has(&self, lane: &Lane) -> bool {
        self.0.iter().any(|head| head.number() == lane.number())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until the call is at the heads of these lanes, and leaves all others.
    pub(crate) async fn join(&mut self, mut lanes: Vec<Lane>) {
        lanes.sort_unstable_by_key(Lane::number);
        lanes.dedup_by_key(|lane| lane.number());
        // Whoever is at the head of a lane waits for lanes behind it alone.
        let first_new = lanes.iter().find(|lane| !self.has(lane)).map_or(0, Lane::number);
        self.0.retain(|head| {
            let number = head.number();
            number < first_new && lanes.iter().any(|lane| lane.number() == number)
        });
        for lane in lanes {
            if !self.has(&lane) {
                self.0.push(lane.head().await);
            }
        }
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
        let mut head = Heads::default();
        head.join(vec![lane()]).await;
        assert!(lane().is_taken() && head.has(&lane()));
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
        let lane = Lane::new(0);
        let head = lane.clone().head().await;
        let waiting = tokio::spawn(lane.clone().head());
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err());
        drop(head);
        assert!(!lane.is_taken());
    }

    fn numbers(heads: &Heads) -> Vec<usize> {
        heads.0.iter().map(Head::number).collect()
    }

    #[tokio::test]
    async fn a_call_leaves_the_lanes_behind_a_new_one_before_it_waits() {
        let lanes: Vec<Lane> = (0..6).map(Lane::new).collect();
        let some =
            |numbers: &[usize]| numbers.iter().map(|number| lanes[*number].clone()).collect();
        let mut heads = Heads::default();
        heads.join(some(&[4, 1, 4])).await;
        assert_eq!(numbers(&heads), [1, 4]);
        // Another call has lane 2, and waits for lane 4.
        let mut other = Heads::default();
        other.join(some(&[2])).await;
        let wanted: Vec<Lane> = some(&[2, 4]);
        let waiting = tokio::spawn(async move {
            other.join(wanted).await;
            numbers(&other)
        });
        tokio::task::yield_now().await;
        heads.join(some(&[1, 2, 4])).await;
        assert_eq!(numbers(&heads), [1, 2, 4]);
        assert_eq!(waiting.await.expect("it came to both heads first"), [2, 4]);
        heads.join(some(&[5])).await;
        assert_eq!(numbers(&heads), [5]);
        let taken: Vec<bool> = lanes.iter().map(Lane::is_taken).collect();
        assert_eq!(taken, [false, false, false, false, false, true]);
    }

    #[test]
    fn every_key_has_a_lane() {
        let lanes = Lanes::new();
        for number in 0..10_000 {
            assert!(lanes.of(&Key::new(format!("P{number}"), "S")).is_ok());
        }
    }
}
