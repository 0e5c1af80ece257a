//! Stamps: places of writes in the order in which they are made.

use std::sync::Arc;

use latchkey_embedded::{Options, Pending, Stamp, Store};
use latchkey_table::{
    Consistency, Item, Leg, Put, Query, Schema, SortRange, Transact, Transacted, Value,
};

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Stamps"))
}

fn put(stamp: Stamp, name: &str) -> Leg {
    let sort = format!("{:015}#{:06}#{name}", stamp.at, stamp.seq);
    let item = Item::from([
        ("PK", Value::from("ALL")),
        ("SK", Value::from(sort.as_str())),
        ("name", Value::from(name)),
    ]);
    Leg::Put(Put { table: table(), item, condition: None })
}

fn stamped(store: &Store, now: i64, name: &str) -> Pending<Transacted> {
    let stamping = store.stamp(now);
    store.transact(Transact { legs: vec![put(stamping.stamp(), name)] })
}

fn names(store: &Store) -> Vec<String> {
    let query = Query {
        table: table(),
        index: None,
        partition: "ALL".into(),
        range: SortRange::All,
        filter: None,
        direction: latchkey_table::Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Strong,
    };
    let items = store.query(&query).unwrap().items;
    items.iter().map(|item| item.get("name").unwrap().as_text().unwrap().to_string()).collect()
}

#[test]
fn a_store_that_opens_again_goes_on_above_its_last_stamp() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path(), &Options::default()).unwrap();
    let store = open();
    store.create_table(&table()).wait().unwrap();
    let write = |store: &Store, now, name: &str| {
        stamped(store, now, name).wait().unwrap();
    };
    write(&store, 1_000, "first");
    write(&store, 1_000, "second");
    // The clock goes back.
    write(&store, 10, "third");
    assert_eq!(store.last_stamp(), Stamp { at: 1_000, seq: 2 });
    drop(store);
    let store = open();
    write(&store, 20, "fourth");
    assert_eq!(store.last_stamp(), Stamp { at: 1_001, seq: 0 });
    write(&store, 2_000, "fifth");
    assert_eq!(names(&store), ["first", "second", "third", "fourth", "fifth"]);
}

#[test]
fn what_is_seen_has_all_below_it() {
    let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
    store.create_table(&table()).wait().unwrap();
    let writers = (0..4).map(|writer| {
        let store = Arc::clone(&store);
        std::thread::spawn(move || {
            for n in 0..50 {
                let name = format!("{writer}-{n}");
                // Clocks that disagree.
                stamped(&store, writer * 3, &name).wait().unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut seen: Vec<String> = Vec::new();
    while !writers.iter().all(std::thread::JoinHandle::is_finished) {
        let now = names(&store);
        assert_eq!(now.get(..seen.len()), Some(&seen[..]), "nothing comes in between");
        seen = now;
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(names(&store).len(), 200);
}
