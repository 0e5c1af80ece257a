//! The items both sides hold: the same keys, and as many bytes under each.

use std::fmt::Write as _;

use latchkey_table::{Item, Key, Number, SortRange, Text, Value};

/// How many items a query reads.
pub(crate) const QUERY_ITEMS: u32 = 25;

/// How many items lie in each partition, or in each group of an index, that is queried.
const LIST_ITEMS: u64 = 50;

/// How many items there are: some alone in their partition, to be got and written, and some in
/// partitions of [`LIST_ITEMS`], to be queried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Items {
    pub(crate) singles: u64,
    pub(crate) lists: u64,
}

impl Items {
    /// A fifth of the items lies in lists.
    pub(crate) fn new(total: u64) -> Items {
        let lists = (total / 5 / LIST_ITEMS).max(1);
        Items { singles: total.saturating_sub(lists * LIST_ITEMS).max(LIST_ITEMS), lists }
    }

    pub(crate) fn total(self) -> u64 {
        self.singles + self.lists * LIST_ITEMS
    }

    /// The groups of the index; each has at least [`LIST_ITEMS`] items, strewn over the table.
    pub(crate) fn groups(self) -> u64 {
        (self.singles / LIST_ITEMS).max(1)
    }

    /// The key of every item.
    pub(crate) fn keys(self) -> impl Iterator<Item = Key> {
        let entries = (0..self.lists)
            .flat_map(|list| (0..LIST_ITEMS).map(move |at| Key::new(list_name(list), entry(at))));
        (0..self.singles).map(single).chain(entries)
    }

    /// What an item holds beside its key: ten attributes, about 300 bytes with their names. A single
    /// of an indexed table has two more, which put it into the index.
    pub(crate) fn item(self, key: &Key, version: i64) -> Item {
        let mut item = Item::from([
            ("PK", Value::Text(key.partition.clone())),
            ("SK", Value::Text(key.sort.clone())),
            ("amount", Value::Number(Number::from(1_999i64))),
            ("createdAt", "2026-07-21T09:30:00.000Z".into()),
            ("description", "A door of solid oak with brass fittings, hung on the left".into()),
            ("label", "Front door".into()),
            ("owner", "USER#01J3ZQ8Y7W5V4T3S2R1Q0P".into()),
            ("place", "Building 7, second floor, east wing".into()),
            ("status", "SHUT".into()),
            ("type", "door".into()),
            ("updatedAt", "2026-07-21T09:30:00.000Z".into()),
        ]);
        item.insert("version", version);
        item
    }

    /// Puts a single into the index.
    pub(crate) fn add_to_index(self, item: &mut Item, number: u64) {
        item.insert("GSI1PK", Value::Text(self.group(number % self.groups())));
        item.insert("GSI1SK", Value::Text(single(number).partition));
    }

    pub(crate) fn group(self, group: u64) -> Text {
        numbered("GROUP#", group)
    }
}

/// The key of a single.
pub(crate) fn single(number: u64) -> Key {
    Key::new(numbered("ITEM#", number), "META")
}

/// The partition of a list.
pub(crate) fn list_name(list: u64) -> Text {
    numbered("LIST#", list)
}

/// What all of a list's sort keys begin with.
pub(crate) fn list_range() -> SortRange {
    SortRange::BeginsWith("ENTRY#".into())
}

/// The bytes of a key, of the length the embedded store gives it.
pub(crate) fn key_bytes(partition: &str, sort: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + partition.len() + 1 + sort.len() + 1);
    bytes.extend_from_slice(&[0, 1]);
    bytes.extend_from_slice(partition.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(sort.as_bytes());
    bytes.push(0);
    bytes
}

/// About as many bytes as the embedded store keeps of an item.
pub(crate) fn value_bytes(items: Items) -> Vec<u8> {
    let key = single(0);
    let item = items.item(&key, 0);
    let key_bytes = key.partition.len() + key.sort.len() + "PK".len() + "SK".len();
    let marks = 3 * (item.len() - 2);
    (0u8..=255).cycle().take(item.size() - key_bytes + marks).collect()
}

fn entry(at: u64) -> Text {
    let mut text = Text::default();
    // Writing to memory does not fail.
    let _ = write!(text, "ENTRY#{at:02}");
    text
}

fn numbered(prefix: &str, number: u64) -> Text {
    let mut text = Text::from(prefix);
    // Writing to memory does not fail.
    let _ = write!(text, "{number:010}");
    text
}
