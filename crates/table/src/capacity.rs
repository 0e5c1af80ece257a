//! What keeping indexes costs, by DynamoDB's rules.

use std::borrow::Cow;

use crate::{Capacity, Item, Schema};

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
type Entry<'a> = ((Cow<'a, str>, Cow<'a, str>), Image<'a>);

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
}
