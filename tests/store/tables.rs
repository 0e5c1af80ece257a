//! Tables beside each other in one store, and how they change.

use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Condition, Consistency, Direction, Error, Get, Invalid, Item, Key, KeyNames, Leg, Projection,
    Put, Query, Returning, Scan, Schema, SortRange, Tables, Transact,
};

fn item(sort: &str) -> Item {
    Item::from([("PK", "P"), ("SK", sort), ("GSI1PK", "ALL"), ("GSI1SK", sort)])
}

fn put(table: &Arc<Schema>, item: Item) -> Put {
    Put { table: Arc::clone(table), item, condition: None }
}

fn by_index(table: &Arc<Schema>) -> Query {
    Query {
        table: Arc::clone(table),
        index: Some("GSI1".into()),
        partition: "ALL".into(),
        range: SortRange::All,
        filter: None,
        direction: Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    }
}

#[test]
fn tables_of_one_store_do_not_meet_but_in_a_transaction() {
    let store = Store::in_memory(&Options::default()).unwrap();
    let one = Arc::new(Schema::new("One").with_index("GSI1"));
    let two = Arc::new(Schema { key: KeyNames::new("b", "a"), ..Schema::new("Two") });
    let missing = store.put(put(&one, item("A")), Returning::Nothing).wait();
    assert_eq!(missing, Err(Error::NoTable { name: "One".into() }));
    store.create_table(&one).wait().unwrap();
    store.create_table(&two).wait().unwrap();

    let other = Item::from([("b", "P"), ("a", "A")]);
    let legs = vec![Leg::Put(put(&one, item("A"))), Leg::Put(put(&two, other.clone()))];
    store.transact(Transact { legs }).wait().unwrap();
    let mut refused = put(&two, other.clone());
    refused.condition = Some(Condition::Absent("b".into()));
    let legs = vec![Leg::Put(put(&one, item("B"))), Leg::Put(refused)];
    let error = store.transact(Transact { legs }).wait().unwrap_err();
    assert!(matches!(&error, Error::ConditionFailed(failed) if failed.leg == 1), "{error}");

    let get = |table: &Arc<Schema>, key| {
        let get = Get { table: Arc::clone(table), key, consistency: Consistency::Strong };
        store.get(&get).unwrap().item
    };
    assert_eq!(get(&one, Key::new("P", "A")), Some(item("A")));
    assert_eq!(get(&one, Key::new("P", "B")), None);
    assert_eq!(get(&two, Key::new("P", "A")), Some(other));
    assert_eq!(store.verify(&one).unwrap().items, 1);
    assert_eq!(store.verify(&two).unwrap().items, 1);
}

#[test]
fn an_index_added_later_is_filled_and_one_dropped_is_gone() {
    let store = Store::in_memory(&Options::default()).unwrap();
    let bare = Arc::new(Schema::new("Grows"));
    store.create_table(&bare).wait().unwrap();
    for n in 0..2500 {
        drop(store.put(put(&bare, item(&format!("{n:05}"))), Returning::Nothing));
    }
    let indexed = Arc::new(Schema::new("Grows").with_index("GSI1"));
    assert!(matches!(store.query(&by_index(&indexed)), Err(Error::Invalid { .. })));
    store.create_table(&indexed).wait().unwrap();
    assert_eq!(store.query(&by_index(&indexed)).unwrap().items.len(), 2500);
    assert_eq!(store.verify(&indexed).unwrap().entries, 2500);

    // A writer that has not heard of the index must not leave it behind.
    let stale = store.put(put(&bare, item("later")), Returning::Nothing).wait();
    let reason = Invalid::OtherSchema { name: "Grows".into() };
    assert_eq!(stale, Err(reason.into()));

    store.create_table(&bare).wait().unwrap();
    store.put(put(&bare, item("later")), Returning::Nothing).wait().unwrap();
    store.create_table(&indexed).wait().unwrap();
    assert_eq!(store.verify(&indexed).unwrap().entries, 2501);
}

#[test]
fn what_an_index_holds_can_change_and_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let held = |holds: Projection| {
        let mut schema = Schema::new("Parts").with_index("GSI1");
        schema.indexes[0].holds = holds;
        Arc::new(schema)
    };
    let names = |store: &Store, table: &Arc<Schema>| {
        let page = store.query(&by_index(table)).unwrap();
        assert_eq!(page.items.len(), 1);
        page.items[0].iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let keys = "GSI1PK GSI1SK PK SK";
    let (whole, part) = (held(Projection::All), held(Projection::keys(["a", "none"])));
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    store.create_table(&whole).wait().unwrap();
    let more = Item::from([
        ("PK", "P"),
        ("SK", "s"),
        ("GSI1PK", "ALL"),
        ("GSI1SK", "s"),
        ("a", "1"),
        ("b", "2"),
    ]);
    store.put(put(&whole, more), Returning::Nothing).wait().unwrap();
    assert_eq!(names(&store, &whole), format!("{keys} a b"));
    store.create_table(&part).wait().unwrap();
    assert_eq!(names(&store, &part), format!("{keys} a"));
    drop(store);
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    // The table is the one that was left.
    assert_eq!(names(&store, &part), format!("{keys} a"));
    let stale = store.query(&by_index(&whole)).unwrap_err();
    assert!(stale.to_string().contains("other keys or indexes"), "{stale}");
    store.create_table(&held(Projection::keys::<&str>([]))).wait().unwrap();
    assert_eq!(names(&store, &held(Projection::keys::<&str>([]))), keys);
    store.create_table(&whole).wait().unwrap();
    assert_eq!(names(&store, &whole), format!("{keys} a b"));
    assert_eq!(store.verify(&whole).unwrap().entries, 1);
}

#[test]
fn a_table_keeps_its_key_and_an_index_that_cannot_be_filled_is_refused() {
    let store = Store::in_memory(&Options::default()).unwrap();
    let table = Arc::new(Schema::new("Fixed"));
    store.create_table(&table).wait().unwrap();
    let other = Arc::new(Schema { key: KeyNames::new("id", "SK"), ..Schema::new("Fixed") });
    let error = store.create_table(&other).wait().unwrap_err();
    assert!(error.to_string().contains("exists with another key: text `PK`, text `SK`"), "{error}");

    store.put(put(&table, item("A")), Returning::Nothing).wait().unwrap();
    let mut odd = item("B");
    odd.insert("GSI1SK", 7);
    store.put(put(&table, odd), Returning::Nothing).wait().unwrap();
    let indexed = Arc::new(Schema::new("Fixed").with_index("GSI1"));
    let error = store.create_table(&indexed).wait().unwrap_err();
    // It did not say which item.
    let said = "the stored item `P/B` cannot be in the table: `GSI1SK` is a key of index `GSI1`";
    assert!(error.to_string().contains(said), "{error}");
    // The table is as it was, and the space of the failed index is clean for the next.
    store.put(put(&table, item("B")), Returning::Nothing).wait().unwrap();
    store.create_table(&indexed).wait().unwrap();
    assert_eq!(store.verify(&indexed).unwrap().entries, 2);
}

// Where the other table has an item of the same key, that one stays.
#[test]
fn own_items_go_to_the_table_that_has_them_now() {
    let store = Store::in_memory(&Options::default()).unwrap();
    let names = KeyNames::new("id", "at");
    let main = Arc::new(Schema { key: names, ..Schema::new("Main") }.with_index("GSI1"));
    let own = Arc::new(Schema::new("Main-own"));
    let tables = |own: &Arc<Schema>, before: &Arc<Schema>| Tables {
        main: Arc::clone(&main),
        own: Arc::clone(own),
        before: Some(Arc::clone(before)),
        own_prefix: "OWN#".into(),
        own_partitions: Vec::new(),
        stored: Vec::new(),
    };
    let has = |table: &Arc<Schema>| {
        let table = Arc::clone(table);
        let scan = Scan { table, partition_prefix: "".into(), after: None, items_max: 10 };
        let items = store.scan(&scan).map(|scanned| scanned.items);
        items.map(|items| items.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>())
    };
    // Nothing is made where there is nothing to move.
    store.gather(&tables(&own, &main)).wait().unwrap();
    assert_eq!(has(&own), Err(Error::NoTable { name: "Main-own".into() }));
    store.create_table(&main).wait().unwrap();
    let in_main = |partition: &str, sort: &str, text: &str| {
        let item = Item::from([("id", partition), ("at", sort), ("GSI1PK", "ALL"), ("x", text)]);
        store.put(put(&main, item), Returning::Nothing).wait().unwrap();
    };
    in_main("P", "A", "other");
    in_main("OWN#1", "A", "moved");
    in_main("OWN#2", "A", "old");
    store.create_table(&own).wait().unwrap();
    let newer = Item::from([("PK", "OWN#2"), ("SK", "A"), ("x", "new")]);
    store.put(put(&own, newer.clone()), Returning::Nothing).wait().unwrap();
    store.gather(&tables(&own, &main)).wait().unwrap();
    let moved = Item::from([("PK", "OWN#1"), ("SK", "A"), ("GSI1PK", "ALL"), ("x", "moved")]);
    assert_eq!(has(&own), Ok([&moved, &newer].map(|item| format!("{item:?}")).to_vec()));
    assert_eq!(store.verify(&main).unwrap().items, 1);
    store.gather(&tables(&main, &own)).wait().unwrap();
    assert_eq!(has(&own), Ok(Vec::new()));
    assert_eq!(store.verify(&main).unwrap().items, 3);
}

#[test]
fn a_page_stops_at_one_megabyte_and_goes_on_behind_it() {
    let store = Store::in_memory(&Options::default()).unwrap();
    let table = Arc::new(Schema::new("Large").with_index("GSI1"));
    store.create_table(&table).wait().unwrap();
    for n in 0..8 {
        let mut large = item(&format!("{n}"));
        large.insert("filler", "x".repeat(300_000).as_str());
        store.put(put(&table, large), Returning::Nothing).wait().unwrap();
    }
    for index in [None, Some("GSI1".into())] {
        let mut query = Query { partition: "ALL".into(), index, ..by_index(&table) };
        if query.index.is_none() {
            query.partition = "P".into();
        }
        let mut counts = Vec::new();
        loop {
            let page = store.query(&query).unwrap();
            counts.push(page.items.len());
            query.resume = page.resume;
            if query.resume.is_none() {
                break;
            }
        }
        assert_eq!(counts, [3, 3, 2]);
    }
}
