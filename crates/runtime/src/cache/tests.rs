//! The room that entries take, and what makes them go.

use latchkey_table::{Capacity, Got, Item, Key as TableKey, Schema, Value};

use super::kept::Kept;
use super::*;

/// What a call has read: one item with a text of so many bytes.
fn entry(at: i64, bytes: usize) -> Entry {
    let table = std::sync::Arc::new(Schema::new("Table"));
    let consistency = latchkey_table::Consistency::Eventual;
    let get = latchkey_table::Get { table, key: TableKey::new("a", "b"), consistency };
    let mut item = Item::new();
    item.insert("text", Value::Text("x".repeat(bytes).as_str().into()));
    let got = Got { item: Some(item), capacity: Capacity::ZERO };
    Entry { reads: vec![(get.into(), got.into())], at, before: Before(Box::default()) }
}

fn key(number: usize) -> Key {
    number.to_le_bytes().to_vec().into()
}

#[test]
fn the_oldest_entries_make_room() {
    let mut kept = Kept::default();
    for number in 0..1_000 {
        kept.add(key(number), entry(0, 200_000), 10);
        let (_, bytes) = kept.size();
        assert!(bytes <= 64 * 1024 * 1024, "{number}: {bytes}");
    }
    let (count, _) = kept.size();
    assert!((300..340).contains(&count), "{count}");
    assert!(kept.find(&key(0)).is_none() && kept.find(&key(999)).is_some());
    assert!(kept.find(&key(1_000 - count)).is_some() && kept.find(&key(999 - count)).is_none());
}

#[test]
fn an_entry_takes_the_place_of_one_with_the_same_key() {
    let mut kept = Kept::default();
    for round in 0..10 {
        kept.add(key(1), entry(0, 1_000 * round), 10);
        kept.add(key(2), entry(0, 10), 10);
    }
    let (count, bytes) = kept.size();
    assert_eq!(count, 2);
    assert!((9_000..14_000).contains(&bytes), "{bytes}");
}

#[test]
fn entries_that_are_over_go_when_others_come() {
    let mut kept = Kept::default();
    for number in 0..100 {
        kept.add(key(number), entry(0, 10), 10_000);
    }
    kept.add(key(100), entry(9_999, 10), 19_999);
    assert_eq!(kept.size().0, 101);
    kept.add(key(101), entry(10_000, 10), 20_000);
    assert_eq!(kept.size().0, 2);
}
