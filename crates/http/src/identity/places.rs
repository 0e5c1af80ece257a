//! The places of requests that wait for keys: so many, and shared between addresses.
//!
//! Whoever comes when all places are taken gets one of the address that has the most, if that one has more than the
//! newcomer's would have then. So an address alone may have all of them, as a load balancer does when keys are
//! replaced, and no address keeps others out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    /// By the order in which they were taken.
    taken: HashMap<u64, Taken>,
    next: u64,
}

#[derive(Debug)]
struct Taken {
    network: u128,
    lost: Arc<Notify>,
}

/// A place. Dropping it frees it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    places: &'a Places,
    number: u64,
    lost: Arc<Notify>,
}

impl Places {
    pub(super) fn new(max: usize) -> Places {
        Places { max, all: Mutex::default() }
    }

    /// No code that holds the lock can panic half-way.
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are taken.
    pub(super) fn count(&self) -> usize {
        self.lock().taken.len()
    }

    /// A place for a request of a network; none, if others have at least as much right to theirs.
    pub(super) fn take(&self, network: u128) -> Option<Place<'_>> {
        let mut all = self.lock();
        if all.taken.len() >= self.max {
            all.make_room(network)?;
        }
        let (number, lost) = (all.next, Arc::new(Notify::new()));
        all.next += 1;
        all.taken.insert(number, Taken { network, lost: Arc::clone(&lost) });
        drop(all);
        Some(Place { places: self, number, lost })
    }
}

impl All {
    /// Takes the newest place of the network that has the most.
    fn make_room(&mut self, network: u128) -> Option<()> {
        let mut counts: HashMap<u128, (usize, u64)> = HashMap::new();
        for (number, taken) in &self.taken {
            let (count, newest) = counts.entry(taken.network).or_default();
            *count += 1;
            *newest = (*newest).max(*number);
        }
        let own = counts.get(&network).map_or(0, |(count, _)| *count);
        let (_, newest) = counts.into_values().max().filter(|(most, _)| *most > own + 1)?;
        self.taken.remove(&newest)?.lost.notify_one();
        Some(())
    }
}

impl Place<'_> {
    /// Waits until another has taken the place.
    pub(super) async fn lost(&self) {
        self.lost.notified().await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.places.lock().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_address_keeps_others_out() {
        let places = Places::new(4);
        let mut greedy: Vec<Place<'_>> = (0..4).filter_map(|_| places.take(1)).collect();
        assert_eq!((greedy.len(), places.count()), (4, 4), "alone, it may have all");
        assert!(places.take(1).is_none());
        // The newest places of the address that has the most go to others, until all have as many.
        let (two, three) = (places.take(2).unwrap(), places.take(3).unwrap());
        greedy.pop().unwrap().lost().await;
        greedy.pop().unwrap().lost().await;
        assert_eq!(places.count(), 4, "a place that was lost is not freed twice");
        assert!(places.take(2).is_none(), "none has more than it would have");
        let four = places.take(4).unwrap();
        greedy.pop().unwrap().lost().await;
        assert!(places.take(5).is_none());
        drop((two, three));
        assert_eq!(places.count(), 2);
        drop((greedy, four));
        assert_eq!(places.count(), 0);
    }
}
