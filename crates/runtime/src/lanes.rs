//! Calls that lost on an item wait for their turn at it.
//!
//! A call that finds its ground changed runs again. Where many calls change one item, chance decides who is next, and some
//! lose again and again. If every writer is in this process, such a call waits in a lane instead: the lane belongs to
//! the item that it lost on, those who came first go first, and a call that comes anew lets them pass.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use latchkey_table::Key;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// How many lanes there are. Items share them: to wait behind a call on another item does no harm.
const LANES: usize = 1024;

/// The lanes of a runtime.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Arc<Mutex<()>>>,
    hasher: RandomState,
}

/// The lane of an item.
#[derive(Debug, Clone)]
pub(crate) struct Lane(Arc<Mutex<()>>);

/// The head of a lane: as long as it is held, others wait.
#[derive(Debug)]
pub(crate) struct Head {
    lane: Lane,
    _held: OwnedMutexGuard<()>,
}

impl Lanes {
    pub(crate) fn new() -> Lanes {
        let lanes = (0..LANES).map(|_| Arc::default()).collect();
        Lanes { lanes, hasher: RandomState::new() }
    }

    /// The lane of the item with a key.
    pub(crate) fn of(&self, key: &Key) -> Option<Lane> {
        let hash = self.hasher.hash_one((&key.partition, &key.sort));
        let at = usize::try_from(hash % u64::try_from(LANES).ok()?).ok()?;
        self.lanes.get(at).cloned().map(Lane)
    }
}

impl Lane {
    /// Whether someone is at its head.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.try_lock().is_err()
    }

    /// Waits until those who came before have gone.
    pub(crate) async fn head(self) -> Head {
        let held = Arc::clone(&self.0).lock_owned().await;
        Head { lane: self, _held: held }
    }

    fn is(&self, other: &Lane) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Head {
    /// Whether it is the head of this lane.
    pub(crate) fn is_of(&self, lane: &Lane) -> bool {
        self.lane.is(lane)
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
}
