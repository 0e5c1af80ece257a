//! What keeping indexes costs, by DynamoDB's rules.

use std::borrow::Cow;

use crate::{Capacity, Index, Item, Projection, Schema};

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
/// An entry is as large as what the index holds of the item. Nothing where the entry stays the same, one write where it
/// appears, goes or changes in place, and two where its key moves.
pub fn index_write<'a>(
    schema: &Schema,
    old: Option<Image<'a>>,
    new: Option<Image<'a>>,
) -> Capacity {
    schema
        .indexes
        .iter()
        .map(|index| {
            let entry = |image: Image<'a>| {
                let bytes = entry_bytes(schema, index, image);
                index.key.parts(image.item).map(|key| (key, Image { bytes, ..image }))
            };
            entry_write(schema, index, old.and_then(entry), new.and_then(entry))
        })
        .sum()
}

/// How large an entry is: what the index holds of the item.
fn entry_bytes(schema: &Schema, index: &Index, image: Image<'_>) -> usize {
    match index.holds {
        Projection::All => image.bytes,
        Projection::Keys(_) => {
            let held = index.held(&schema.key, image.item);
            held.map(|(name, value)| name.len() + value.size()).sum()
        }
    }
}

/// Whether two items are the same as far as an index holds them.
fn is_same(schema: &Schema, index: &Index, one: &Item, other: &Item) -> bool {
    match index.holds {
        Projection::All => one == other,
        Projection::Keys(_) => index.held(&schema.key, one).eq(index.held(&schema.key, other)),
    }
}

/// The key of an index entry, the item it stands for, and how large the entry is.
type Entry<'a> = ((Cow<'a, str>, Cow<'a, str>), Image<'a>);

fn entry_write(
    schema: &Schema,
    index: &Index,
    old: Option<Entry<'_>>,
    new: Option<Entry<'_>>,
) -> Capacity {
    match (old, new) {
        (None, None) => Capacity::ZERO,
        (Some((_, image)), None) | (None, Some((_, image))) => Capacity::write(image.bytes, 0),
        (Some((old_key, old)), Some((new_key, new))) if old_key != new_key => {
            Capacity::write(old.bytes, 0) + Capacity::write(new.bytes, 0)
        }
        (Some((_, old)), Some((_, new))) if is_same(schema, index, old.item, new.item) => {
            Capacity::ZERO
        }
        (Some((_, old)), Some((_, new))) => Capacity::write(old.bytes, new.bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

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

    #[test]
    fn an_index_is_charged_for_what_it_holds() {
        let mut schema = Schema::new("Test").with_index("GSI1");
        schema.indexes[0].holds = Projection::keys(["state"]);
        let item = |sort: &str, state: &str, filler: usize| {
            let keys = [("PK", "p"), ("SK", "s"), ("GSI1PK", "p"), ("GSI1SK", sort)];
            let mut item = Item::from(keys);
            item.insert("state", state);
            item.insert("filler", "x".repeat(filler).as_str());
            item
        };
        let cost = |old: Option<&Item>, new: Option<&Item>| {
            let image = |item| Image { item, bytes: Item::size(item) };
            index_write(&schema, old.map(image), new.map(image)).write
        };
        let large = item("a", "x", 5000);
        assert_eq!(cost(None, Some(&large)), 1);
        // What the index does not hold may change as it likes.
        assert_eq!(cost(Some(&item("a", "x", 10)), Some(&large)), 0);
        assert_eq!(cost(Some(&item("a", "y", 10)), Some(&large)), 1);
        assert_eq!(cost(Some(&item("b", "x", 10)), Some(&large)), 2);
        let long = "s".repeat(1500);
        assert_eq!(cost(Some(&item("a", &long, 10)), None), 2);
    }
}
