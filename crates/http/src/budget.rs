//! The memory that all requests together may take while they arrive and while they are answered, and the memory of all
//! answers together until they are sent.
//!
//! The first bytes of a head, of a body and of an answer are free: connections bound them. What is longer takes room
//! from one budget for requests, and from one for answers. If there is no room left, the connection that has been
//! sending for the longest time is closed and gives its room to the newcomer, so slow senders do not keep others out;
//! so does one that has not read its answer for a while. A request that has arrived keeps its room until it is answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;

use crate::connections::Life;

/// How many bytes of a head, of a body, and of an answer take no room.
pub(crate) const FREE_BYTES: usize = 16 * 1024;

/// The budget of a server.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    /// Closes a connection, if it is one that has to give its room.
    cut: fn(&Life) -> bool,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Who has room, the oldest first.
    holders: BTreeMap<u64, Holder>,
    next: u64,
}

#[derive(Debug)]
struct Holder {
    bytes: usize,
    /// The connection, if it may be closed.
    life: Option<Arc<Life>>,
}

/// There is no room, and no one who would have to give it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// The room of one head or body. Dropping it gives the room back.
#[derive(Debug, Default)]
pub(crate) struct Room(Option<(Arc<Budget>, u64)>);

impl Budget {
    /// The budget for requests.
    pub(crate) fn of_requests(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { bytes_max, cut: Life::cut_waiting, held: Mutex::default() })
    }

    /// The budget for answers.
    pub(crate) fn of_answers(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget { bytes_max, cut: Life::cut_not_reading, held: Mutex::default() })
    }

    /// An answer that has its room until its bytes are sent. One that is longer than the budget takes all of it.
    pub(crate) fn hold(
        self: &Arc<Budget>,
        bytes: Bytes,
        life: &Arc<Life>,
    ) -> Result<Bytes, NoRoom> {
        let mut room = Room::default();
        room.grow(self, bytes.len().min(self.bytes_max), Some(life))?;
        Ok(Bytes::from_owner(Answer { bytes, _room: room }))
    }

    /// How many bytes are taken.
    pub(crate) fn taken(&self) -> usize {
        self.lock().bytes
    }

    /// No code that holds the lock can panic half-way.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Takes as much room as so many bytes need, in place of what it has.
    pub(crate) fn grow(
        &mut self,
        budget: &Arc<Budget>,
        bytes: usize,
        life: Option<&Arc<Life>>,
    ) -> Result<(), NoRoom> {
        let Some(needed) = bytes.checked_sub(FREE_BYTES).filter(|needed| *needed > 0) else {
            return Ok(());
        };
        let mut held = budget.lock();
        let number = self.0.as_ref().map(|(_, number)| *number);
        let has = match number {
            None => 0,
            // Its connection is being closed, to make room for another.
            Some(number) => held.holders.get(&number).map(|holder| holder.bytes).ok_or(NoRoom)?,
        };
        let more = needed.saturating_sub(has);
        while budget.bytes_max.saturating_sub(held.bytes) < more {
            held.cut_oldest(number, budget.cut)?;
        }
        held.bytes += more;
        let number = number.unwrap_or_else(|| {
            held.next += 1;
            self.0 = Some((Arc::clone(budget), held.next));
            held.next
        });
        let holder = Holder { bytes: has + more, life: life.cloned() };
        held.holders.insert(number, holder);
        Ok(())
    }
}

impl Held {
    /// Closes the oldest connection that has to give its room, except this one.
    fn cut_oldest(&mut self, except: Option<u64>, cut: fn(&Life) -> bool) -> Result<(), NoRoom> {
        let oldest = self.holders.iter().find(|(number, holder)| {
            Some(**number) != except && holder.life.as_ref().is_some_and(|life| cut(life))
        });
        let number = oldest.map(|(number, _)| *number).ok_or(NoRoom)?;
        self.remove(number);
        Ok(())
    }

    /// Takes the room of a holder back, if it was not done before.
    fn remove(&mut self, number: u64) {
        if let Some(holder) = self.holders.remove(&number) {
            self.bytes -= holder.bytes;
        }
    }
}

/// The bytes of an answer, with their room.
struct Answer {
    bytes: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some((budget, number)) = &self.0 {
            budget.lock().remove(*number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::{Connections, Place};

    const KIB: usize = 1024;

    fn sending(connections: &Arc<Connections>) -> Place {
        let place = connections.for_test();
        place.life.begin(true).unwrap();
        place
    }

    #[test]
    fn what_is_short_is_free_and_the_rest_comes_back() {
        let budget = Budget::of_requests(64 * KIB);
        let mut room = Room::default();
        room.grow(&budget, FREE_BYTES, None).unwrap();
        assert_eq!(budget.taken(), 0);
        room.grow(&budget, FREE_BYTES + 10 * KIB, None).unwrap();
        room.grow(&budget, FREE_BYTES + 64 * KIB, None).unwrap();
        assert_eq!(budget.taken(), 64 * KIB);
        let mut other = Room::default();
        assert_eq!(
            other.grow(&budget, FREE_BYTES + 1, None),
            Err(NoRoom),
            "no one is to be closed"
        );
        other.grow(&budget, FREE_BYTES, None).unwrap();
        drop(room);
        assert_eq!(budget.taken(), 0);
        other.grow(&budget, FREE_BYTES + 1, None).unwrap();
    }

    #[test]
    fn an_answer_has_its_room_until_its_bytes_are_gone() {
        let budget = Budget::of_answers(64 * KIB);
        let connections = Connections::new(9, 9);
        let place = sending(&connections);
        let bytes = |count| Bytes::from(vec![b'x'; count]);
        let free = budget.hold(bytes(FREE_BYTES), &place.life).unwrap();
        assert_eq!((free.len(), budget.taken()), (FREE_BYTES, 0));
        // Longer than the budget, it has all of it.
        let long = budget.hold(bytes(99 * KIB), &place.life).unwrap();
        assert_eq!((long.len(), budget.taken()), (99 * KIB, 64 * KIB - FREE_BYTES));
        let part = long.slice(1..2);
        drop(long);
        assert_eq!(budget.hold(bytes(80 * KIB), &place.life), Err(NoRoom), "it is still sent");
        drop(part);
        assert_eq!(budget.taken(), 0);
        budget.hold(bytes(80 * KIB), &place.life).unwrap();
    }

    #[test]
    fn the_oldest_that_sends_gives_its_room_and_one_at_work_does_not() {
        let budget = Budget::of_requests(30 * KIB);
        let connections = Connections::new(9, 9);
        let places: Vec<Place> = (0..3).map(|_| sending(&connections)).collect();
        let mut rooms: Vec<Room> = places
            .iter()
            .map(|place| {
                let mut room = Room::default();
                room.grow(&budget, FREE_BYTES + 10 * KIB, Some(&place.life)).unwrap();
                room
            })
            .collect();
        let at_work = places.first().unwrap();
        at_work.life.begin(false).unwrap();
        let newcomer = sending(&connections);
        let mut room = Room::default();
        room.grow(&budget, FREE_BYTES + 10 * KIB, Some(&newcomer.life)).unwrap();
        let gone: Vec<bool> = places.iter().map(|place| place.life.begin(true).is_err()).collect();
        assert_eq!(gone, [false, true, false], "the first works, the second is the oldest");
        // Whoever was closed gets no more, and gives nothing back twice.
        let cut = rooms.get_mut(1).unwrap();
        assert_eq!(cut.grow(&budget, FREE_BYTES + 11 * KIB, None), Err(NoRoom));
        assert_eq!(budget.taken(), 30 * KIB);
        drop((rooms, room));
        assert_eq!(budget.taken(), 0);
    }
}
