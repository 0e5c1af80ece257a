//! The ordered walk through a table: every item once, in order, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Delete, Error, Invalid, Item, Key, KeyNames, Put, Returning, Scan, Scanned, Schema, Text, Value,
};
use proptest::prelude::*;

use crate::disk::Disk;

fn scan(table: &Arc<Schema>, prefix: &str, items_max: usize) -> Scan {
    Scan { table: Arc::clone(table), partition_prefix: prefix.into(), after: None, items_max }
}

fn put_all(store: &Store, table: &Arc<Schema>, items: impl IntoIterator<Item = Item>) {
    let put = |item| Put { table: Arc::clone(table), item, condition: None };
    let pending: Vec<_> =
        items.into_iter().map(|item| store.put(put(item), Returning::Nothing)).collect();
    pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
}

fn delete(store: &Store, table: &Arc<Schema>, key: &Key) {
    let delete = Delete { table: Arc::clone(table), key: key.clone(), condition: None };
    store.delete(delete, Returning::Nothing).wait().unwrap();
}

/// Scans to the end, with something done between the pages, and returns the pages.
fn pages(store: &Store, mut scan: Scan, mut between: impl FnMut(&Key)) -> Vec<Vec<Item>> {
    let mut pages = Vec::new();
    loop {
        let Scanned { items, resume } = store.scan(&scan).unwrap();
        // What a caller goes on from is the last it was given.
        if let Some(key) = &resume {
            let last = items.last().expect("a page that stops has read something");
            assert_eq!(scan.table.key_of(last).as_ref(), Ok(key));
            assert!(scan.after.as_ref() < Some(key), "a walk only goes forward");
            between(key);
        }
        pages.push(items);
        match resume {
            Some(key) => scan.after = Some(key),
            None => return pages,
        }
    }
}

fn walk(store: &Store, scan: Scan) -> Vec<Item> {
    pages(store, scan, |_| ()).concat()
}

/// A store with one table of an index, and items of the given keys in it and in the index.
fn filled(keys: &[(&str, &str)]) -> (Store, Arc<Schema>) {
    let store = Store::in_memory(&Options::default()).unwrap();
    let table = Arc::new(Schema::new("Walked").with_index("GSI1"));
    store.create_table(&table).wait().unwrap();
    put_all(&store, &table, keys.iter().map(|(partition, sort)| item(partition, sort)));
    (store, table)
}

fn item(partition: &str, sort: &str) -> Item {
    Item::from([("PK", partition), ("SK", sort), ("GSI1PK", sort), ("GSI1SK", partition)])
}

fn names(items: &[Item]) -> String {
    let text = |item: &Item, name| item.get(name).and_then(Value::as_text).unwrap().to_string();
    let names = items.iter().map(|item| format!("{}/{}", text(item, "PK"), text(item, "SK")));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn an_empty_table_has_nothing_and_a_missing_one_is_an_error() {
    let (store, table) = filled(&[]);
    for prefix in ["", "A", "\u{0}", "\u{10ffff}"] {
        let scanned = store.scan(&scan(&table, prefix, 10)).unwrap();
        assert_eq!(scanned, Scanned { items: Vec::new(), resume: None }, "{prefix:?}");
    }
    let missing = Arc::new(Schema::new("Missing"));
    let error = Error::NoTable { name: "Missing".into() };
    assert_eq!(store.scan(&scan(&missing, "", 10)), Err(error));
    let stale = Arc::new(Schema::new("Walked"));
    let error = Invalid::OtherSchema { name: "Walked".into() };
    assert_eq!(store.scan(&scan(&stale, "", 10)), Err(error.into()));
}

#[test]
fn a_prefix_chooses_partitions() {
    let (store, table) = filled(&[
        ("B", "1"),
        ("A#2", "1"),
        ("A#1", "2"),
        ("A", "9"),
        ("A#1", "1"),
        ("A$", "1"),
        ("Aé", "1"),
    ]);
    let cases = [
        ("", "A/9 A#1/1 A#1/2 A#2/1 A$/1 Aé/1 B/1"),
        ("A", "A/9 A#1/1 A#1/2 A#2/1 A$/1 Aé/1"),
        ("A#", "A#1/1 A#1/2 A#2/1"),
        ("A#1", "A#1/1 A#1/2"),
        ("A$", "A$/1"),
        ("Aé", "Aé/1"),
        ("B", "B/1"),
        // Before, between and behind all partitions, and longer than any.
        ("!", ""),
        ("A\"", ""),
        ("C", ""),
        ("B1", ""),
        ("A#11", ""),
    ];
    for (prefix, expected) in cases {
        for items_max in [1, 2, 3, 100] {
            let found = walk(&store, scan(&table, prefix, items_max));
            assert_eq!(names(&found), expected, "{prefix:?}, {items_max} a page");
        }
    }
}

#[test]
fn a_walk_goes_on_behind_a_key_that_is_gone() {
    let keys = [("A", "1"), ("A", "2"), ("B", "1"), ("C", "1"), ("C", "2")];
    let (store, table) = filled(&keys);
    let swept = pages(&store, scan(&table, "", 2), |last| delete(&store, &table, last));
    let swept: Vec<_> = swept.iter().map(|page| names(page)).collect();
    assert_eq!(swept, ["A/1 A/2", "B/1 C/1", "C/2"]);
    assert_eq!(names(&walk(&store, scan(&table, "", 2))), "A/1 B/1 C/2");

    // Behind a key that never was, and behind the last.
    let after = |partition, sort| {
        let after = Some(Key::new(partition, sort));
        names(&store.scan(&Scan { after, ..scan(&table, "", 10) }).unwrap().items)
    };
    assert_eq!(after("A", "0"), "A/1 B/1 C/2");
    assert_eq!(after("A", "11"), "B/1 C/2");
    assert_eq!(after("C", "2"), "");
    assert_eq!(after("Z", "9"), "");
}

#[test]
fn tables_do_not_mix_and_index_entries_never_show() {
    let store = Store::in_memory(&Options::default()).unwrap();
    // Their spaces lie side by side: items, index, items, index, items.
    let one = Arc::new(Schema::new("One").with_index("GSI1"));
    let two = Arc::new(Schema::new("Two").with_index("GSI1"));
    let three = Arc::new(Schema { key: KeyNames::new("b", "a"), ..Schema::new("Three") });
    for table in [&one, &two, &three] {
        store.create_table(table).wait().unwrap();
    }
    put_all(&store, &one, [item("P", "one"), item("\u{10ffff}", "\u{10ffff}")]);
    put_all(&store, &two, [item("P", "two"), item("\u{0}", "\u{0}")]);
    put_all(&store, &three, [Item::from([("b", "P"), ("a", "three")])]);
    for items_max in [1, 10] {
        let all = |table, prefix| walk(&store, scan(table, prefix, items_max));
        assert_eq!(names(&all(&one, "")), "P/one \u{10ffff}/\u{10ffff}");
        assert_eq!(names(&all(&two, "")), "\u{0}/\u{0} P/two");
        assert_eq!(all(&three, ""), [Item::from([("b", "P"), ("a", "three")])]);
        // Partitions of the indexes, not of the tables.
        assert_eq!(all(&one, "one"), []);
        assert_eq!(all(&two, "two"), []);
    }
}

#[test]
fn a_scan_stops_at_one_megabyte() {
    let (store, table) = filled(&[]);
    let large = |n: usize| {
        let mut large = item("P", &format!("{n}"));
        large.insert("filler", "x".repeat(300_000).as_str());
        large
    };
    put_all(&store, &table, (0..8).map(large));
    let counts = |items_max| {
        let pages = pages(&store, scan(&table, "", items_max), |_| ());
        assert_eq!(pages.concat(), (0..8).map(large).collect::<Vec<_>>());
        pages.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(counts(Scan::ITEMS_MAX), [3, 3, 2]);
    assert_eq!(counts(3), [3, 3, 2]);
    assert_eq!(counts(2), [2, 2, 2, 2, 0]);
}

#[test]
fn requests_out_of_bounds_are_refused() {
    let (store, table) = filled(&[("A#1", "1"), ("A#2", "1"), ("B", "1")]);
    let valid = scan(&table, "A#", 10);
    let long = |bytes: usize| Text::from("x".repeat(bytes));
    let after = |partition: Text, sort: Text| Scan {
        after: Some(Key { partition, sort }),
        ..valid.clone()
    };
    let cases = [
        (Scan { items_max: 0, ..valid.clone() }, Err(Invalid::Limit)),
        (Scan { items_max: 1, ..valid.clone() }, Ok(1)),
        (Scan { items_max: 10_000, ..valid.clone() }, Ok(2)),
        (Scan { items_max: 10_001, ..valid.clone() }, Err(Invalid::Limit)),
        (Scan { items_max: usize::MAX, ..valid.clone() }, Err(Invalid::Limit)),
        (Scan { partition_prefix: long(2048), ..valid.clone() }, Ok(0)),
        (
            Scan { partition_prefix: long(2049), ..valid.clone() },
            Err(Invalid::PartitionKey { bytes: 2049 }),
        ),
        (after("A#1".into(), "1".into()), Ok(1)),
        (after("A#1".into(), long(1024)), Ok(1)),
        (after("A#1".into(), long(1025)), Err(Invalid::SortKey { bytes: 1025 })),
        (after("A#1".into(), "".into()), Err(Invalid::SortKey { bytes: 0 })),
        (after("".into(), "1".into()), Err(Invalid::PartitionKey { bytes: 0 })),
        (after(long(2049), "1".into()), Err(Invalid::PartitionKey { bytes: 2049 })),
        // Before and behind the prefix.
        (after("A".into(), "1".into()), Err(Invalid::Resume)),
        (after("B".into(), "1".into()), Err(Invalid::Resume)),
    ];
    for (request, expected) in cases {
        let found = store.scan(&request).map(|scanned| scanned.items.len());
        assert_eq!(found, expected.map_err(Error::from), "{request:?}");
    }
}

#[test]
fn a_scan_sees_what_is_durable_and_waits_for_no_write() {
    let disk = Disk::default();
    let store = Store::open_on(disk.opener(), &Options::default()).unwrap();
    let table = Arc::new(Schema::new("Walked"));
    store.create_table(&table).wait().unwrap();
    put_all(&store, &table, [item("A", "1")]);
    disk.hold_syncs();
    let put = Put { table: Arc::clone(&table), item: item("A", "2"), condition: None };
    let pending = store.put(put, Returning::Nothing);
    disk.wait_for_held_sync();
    // The writer stands still in the middle of a commit.
    assert_eq!(names(&walk(&store, scan(&table, "", 10))), "A/1");
    disk.release_syncs();
    pending.wait().unwrap();
    assert_eq!(names(&walk(&store, scan(&table, "", 10))), "A/1 A/2");
}

/// Texts that share beginnings, hold the bytes that keys escape, and end high.
fn nasty() -> impl Strategy<Value = Text> {
    prop_oneof![
        "[\u{0}\u{1}\u{2}a\u{7f}ÿ\u{ffff}\u{10ffff}]{1,4}".prop_map(Text::from),
        prop::sample::select(vec!["a", "a\u{0}", "a\u{0}\u{0}", "a\u{1}", "aa", "a\u{10ffff}"])
            .prop_map(Text::from),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    (nasty(), nasty()).prop_map(|(partition, sort)| Key { partition, sort })
}

proptest! {
    #[test]
    fn a_walk_meets_what_a_sorted_map_holds(
        keys in prop::collection::btree_map(key(), prop::option::of(key()), 0..40),
        prefix in prop_oneof![1 => Just(Text::default()), 4 => nasty()],
        items_max in 1usize..7,
        sweep in any::<bool>(),
    ) {
        let (store, table) = filled(&[]);
        let mut map = BTreeMap::new();
        for (n, (key, index_key)) in keys.into_iter().enumerate() {
            let mut item = Item::from([("n", i64::try_from(n).unwrap())]);
            item.insert("PK", Value::Text(key.partition.clone()));
            item.insert("SK", Value::Text(key.sort.clone()));
            if let Some(index_key) = index_key {
                item.insert("GSI1PK", Value::Text(index_key.partition));
                item.insert("GSI1SK", Value::Text(index_key.sort));
            }
            map.insert(key, item);
        }
        put_all(&store, &table, map.values().cloned());
        let begins = |(key, _): &(&Key, &Item)| key.partition.starts_with(prefix.as_str());
        let expected: Vec<_> = map.iter().filter(begins).map(|(_, item)| item.clone()).collect();
        let found = pages(&store, scan(&table, &prefix, items_max), |last| {
            if sweep {
                delete(&store, &table, last);
            }
        });
        for page in found.iter().rev().skip(1) {
            prop_assert_eq!(page.len(), items_max);
        }
        prop_assert_eq!(found.concat(), expected);
    }
}
