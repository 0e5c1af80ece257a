//! ULIDs in the order they are made.

use std::sync::{Mutex, PoisonError};

use ulid::Ulid;

/// Makes ULIDs, each above all that it made before: two of one millisecond sort as they were made, also under a
/// clock that stands still.
#[derive(Debug, Default)]
pub(crate) struct Ulids {
    last: Mutex<u128>,
}

impl Ulids {
    /// A ULID of an instant, or of the last one's if that was later.
    pub(crate) fn next(&self, milliseconds: u64, random: [u8; 16]) -> Ulid {
        let fresh = Ulid::from_parts(milliseconds, u128::from_le_bytes(random));
        // Nothing is left half done under this lock.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = if fresh.timestamp_ms() > Ulid(*last).timestamp_ms() {
            fresh.0
        } else {
            // A random step. An overflow of the random part carries into the next millisecond.
            last.saturating_add(1 + (u128::from_le_bytes(random) & 0xffff_ffff_ffff))
        };
        *last = next;
        Ulid(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_one_instant_sort_as_they_are_made() {
        let ulids = Ulids::default();
        let made: Vec<Ulid> = [255u8, 0, 255, 9, 0].map(|byte| ulids.next(7, [byte; 16])).to_vec();
        assert!(made.is_sorted_by(|a, b| a.to_string() < b.to_string()), "{made:?}");
        assert_eq!(made[0].timestamp_ms(), 7);
        assert!(ulids.next(9, [0; 16]) > made[4]);
        assert!(
            ulids.next(8, [0; 16]).timestamp_ms() == 9,
            "a clock that goes back makes none that sorts before"
        );
    }
}
