//! What requests cost, by DynamoDB's rounding rules.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::{Consistency, Item, Schema, Text};

const READ_UNIT_BYTES: usize = 4 * 1024;
const WRITE_UNIT_BYTES: usize = 1024;

/// Capacity consumed: read units in halves, and write units.
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

    /// A get of an item of so many bytes (0 when it is not there), or a query of so many in all.
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

    /// A write that turns one image of an item into another: by the larger, indexes apart.
    pub fn write(old_bytes: usize, new_bytes: usize) -> Capacity {
        Capacity { read_halves: 0, write: units(old_bytes.max(new_bytes), WRITE_UNIT_BYTES) }
    }

    /// A leg of a transaction: twice the write, indexes apart.
    pub fn transact_write(old_bytes: usize, new_bytes: usize) -> Capacity {
        let single = Capacity::write(old_bytes, new_bytes);
        single + single
    }
}

/// How many units so many bytes take; never less than one.
fn units(bytes: usize, unit: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit)).unwrap_or(u64::MAX).max(1)
}

/// An item on one side of a write, measured once.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    /// The item.
    pub item: &'a Item,
    /// Its size.
    pub bytes: usize,
}

/// What keeping the indexes costs when a write turns one image of an item into another. Not doubled
/// in a transaction.
///
/// Nothing where the entry stays the same, one write where it appears, goes or changes in place, and
/// two where its key moves.
pub fn index_write<'a>(
    schema: &Schema,
    old: Option<Image<'a>>,
    new: Option<Image<'a>>,
) -> Capacity {
    schema
        .indexes
        .iter()
        .map(|index| {
            let entry = |image: Image<'a>| index.key.parts(image.item).map(|key| (key, image));
            entry_write(old.and_then(entry), new.and_then(entry))
        })
        .sum()
}

/// The key of an index entry and the item it stands for.
type Entry<'a> = ((&'a Text, &'a Text), Image<'a>);

fn entry_write(old: Option<Entry<'_>>, new: Option<Entry<'_>>) -> Capacity {
    match (old, new) {
        (None, None) => Capacity::ZERO,
        (Some((_, image)), None) | (None, Some((_, image))) => Capacity::write(image.bytes, 0),
        (Some((old_key, old)), Some((new_key, new))) if old_key != new_key => {
            Capacity::write(old.bytes, 0) + Capacity::write(new.bytes, 0)
        }
        (Some((_, old)), Some((_, new))) if old.item == new.item => Capacity::ZERO,
        (Some((_, old)), Some((_, new))) => Capacity::write(old.bytes, new.bytes),
    }
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
    use crate::Value;

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

    #[test]
    fn an_index_is_charged_for_what_changes_in_it() {
        let schema = Schema::new("Test").with_index("GSI1");
        let item = |index: Option<&str>, filler: usize| {
            let mut item = Item::from([("PK", "p"), ("SK", "s")]);
            item.insert("filler", "x".repeat(filler).as_str());
            if let Some(sort) = index {
                item.insert("GSI1PK", "p");
                item.insert("GSI1SK", sort);
            }
            item
        };
        let cost = |old: Option<&Item>, new: Option<&Item>| {
            let image = |item: &'_ Item| item.size();
            let old = old.map(|item| Image { item, bytes: image(item) });
            let new = new.map(|item| Image { item, bytes: image(item) });
            index_write(&schema, old, new).write
        };
        let (out, small) = (item(None, 10), item(Some("a"), 10));
        let (large, moved) = (item(Some("a"), 1500), item(Some("b"), 1500));
        assert_eq!(cost(None, Some(&out)), 0);
        assert_eq!(cost(None, Some(&small)), 1);
        assert_eq!(cost(Some(&small), None), 1);
        assert_eq!(cost(Some(&small), Some(&small)), 0);
        assert_eq!(cost(Some(&small), Some(&large)), 2);
        assert_eq!(cost(Some(&large), Some(&moved)), 4);
        assert_eq!(cost(Some(&large), Some(&out)), 2);
        // An index attribute alone, or one that is no text, keeps the item out.
        let mut half = item(None, 10);
        half.insert("GSI1PK", Value::from("p"));
        assert_eq!(cost(None, Some(&half)), 0);
    }
}
