//! The capacity that a request consumes, by DynamoDB's rounding rules.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::limits::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};

/// How fresh a read must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// May miss the latest writes; half the price.
    Eventual,
    /// Sees every write acknowledged before it.
    Strong,
}

/// Capacity consumed: read units in halves, and write units.
///
/// ```
/// use latchkey_value::{Capacity, Consistency};
///
/// let read = Capacity::read(5_000, Consistency::Eventual); // two times 4 KB, at half the price
/// let write = Capacity::write(300, 1_500);                 // by the larger image, which has two times 1 KB
/// assert_eq!((read + write).to_string(), "rcu=1, wcu=2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Half read units: an eventual read of up to 4 KB is one.
    pub read_halves: u64,
    /// Write units: a write of up to 1 KB is one.
    pub write: u64,
}

impl Capacity {
    /// Nothing consumed.
    pub const ZERO: Capacity = Capacity { read_halves: 0, write: 0 };

    /// A get of an item of so many bytes (0 if it is missing), or a query of items with so many bytes in all.
    pub fn read(bytes: usize, consistency: Consistency) -> Capacity {
        let halves = match consistency {
            Consistency::Eventual => 1,
            Consistency::Strong => 2,
        };
        Capacity { read_halves: halves * units(bytes, READ_UNIT_BYTES), write: 0 }
    }

    /// One item of a snapshot get: twice a strong read.
    pub fn snapshot_read(bytes: usize) -> Capacity {
        Capacity { read_halves: 4 * units(bytes, READ_UNIT_BYTES), write: 0 }
    }

    /// A write that turns one image of an item into another, by the larger image, without indexes.
    pub fn write(old_bytes: usize, new_bytes: usize) -> Capacity {
        Capacity { read_halves: 0, write: units(old_bytes.max(new_bytes), WRITE_UNIT_BYTES) }
    }

    /// This capacity, multiplied.
    #[must_use]
    pub fn times(self, count: u64) -> Capacity {
        Capacity {
            read_halves: self.read_halves.saturating_mul(count),
            write: self.write.saturating_mul(count),
        }
    }

    /// A leg of a transaction: twice the write, without indexes.
    pub fn transact_write(old_bytes: usize, new_bytes: usize) -> Capacity {
        Capacity::write(old_bytes, new_bytes).times(2)
    }
}

/// How many units so many bytes take; never less than one.
fn units(bytes: usize, unit: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit)).unwrap_or(u64::MAX).max(1)
}

impl Add for Capacity {
    type Output = Capacity;

    fn add(self, other: Capacity) -> Capacity {
        Capacity {
            read_halves: self.read_halves.saturating_add(other.read_halves),
            write: self.write.saturating_add(other.write),
        }
    }
}

impl AddAssign for Capacity {
    fn add_assign(&mut self, other: Capacity) {
        *self = *self + other;
    }
}

impl Sum for Capacity {
    fn sum<I: Iterator<Item = Capacity>>(capacities: I) -> Capacity {
        capacities.fold(Capacity::ZERO, Add::add)
    }
}

impl fmt::Display for Capacity {
    /// Writes `rcu=0.5, wcu=0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.read_halves.is_multiple_of(2) { "" } else { ".5" };
        write!(f, "rcu={}{half}, wcu={}", self.read_halves / 2, self.write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_round_up_to_4_kb() {
        use Consistency::{Eventual, Strong};
        let cases = [
            (0, Eventual, "rcu=0.5, wcu=0"),
            (1, Strong, "rcu=1, wcu=0"),
            (4096, Eventual, "rcu=0.5, wcu=0"),
            (4097, Eventual, "rcu=1, wcu=0"),
            (4097, Strong, "rcu=2, wcu=0"),
            (409_600, Eventual, "rcu=50, wcu=0"),
            (8193, Eventual, "rcu=1.5, wcu=0"),
        ];
        for (bytes, consistency, expected) in cases {
            assert_eq!(Capacity::read(bytes, consistency).to_string(), expected, "{bytes}");
        }
        assert_eq!(Capacity::snapshot_read(0).to_string(), "rcu=2, wcu=0");
        assert_eq!(Capacity::snapshot_read(4097).to_string(), "rcu=4, wcu=0");
    }

    #[test]
    fn writes_round_up_to_1_kb_of_the_larger_image() {
        let write = |old, new| Capacity::write(old, new).write;
        assert_eq!([write(0, 0), write(0, 1024), write(0, 1025), write(3000, 10)], [1, 1, 2, 3]);
        assert_eq!(Capacity::transact_write(3000, 10).write, 6);
    }
}
