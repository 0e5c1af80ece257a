//! Many writers on few items: no update is lost, no transaction is half there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, Condition, Consistency, Error, Get, Item, Key, Leg, Put, Query, Returning, Schema,
    SnapshotGet, SortRange, Transact, Update, Value,
};

const WRITERS: u64 = 64;
const HOT: u64 = 10;
const WRITES_EACH: u64 = 60;

fn key(n: u64) -> Key {
    Key::new(format!("HOT#{n}"), "META")
}

fn version(item: &Item) -> i64 {
    item.get("version").and_then(Value::as_number).unwrap().to_i64().unwrap()
}

fn setup(store: &Store) -> Arc<Schema> {
    let table = Arc::new(Schema::new("Hot").with_index("GSI1"));
    store.create_table(&table).wait().unwrap();
    for n in 0..HOT {
        let Key { partition, sort } = key(n);
        let mut item = Item::from([("PK", partition), ("SK", sort)]);
        item.insert("version", 0);
        item.insert("GSI1PK", "ALL");
        item.insert("GSI1SK", "000000");
        let put = Put { table: Arc::clone(&table), item, condition: None };
        store.put(put, Returning::Nothing).wait().unwrap();
    }
    table
}

/// Moves an item from one version to the next, and with it its place in the index.
fn step(table: &Arc<Schema>, n: u64, from: i64) -> Update {
    Update {
        table: Arc::clone(table),
        key: key(n),
        actions: vec![
            Action::increment("version", 1),
            Action::set("GSI1SK", format!("{:06}", from + 1).as_str()),
        ],
        condition: Some(Condition::equals("version", from)),
    }
}

fn read(store: &Store, table: &Arc<Schema>, n: u64) -> i64 {
    let get = Get { table: Arc::clone(table), key: key(n), consistency: Consistency::Strong };
    version(&store.get(&get).unwrap().item.unwrap())
}

/// The index lists every hot item once, under its version.
fn check_index(store: &Store, table: &Arc<Schema>) {
    let query = Query {
        table: Arc::clone(table),
        index: Some("GSI1".into()),
        partition: "ALL".into(),
        range: SortRange::All,
        filter: None,
        direction: latchkey_table::Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    };
    let items = store.query(&query).unwrap().items;
    assert_eq!(items.len() as u64, HOT);
    for item in &items {
        let place = item.get("GSI1SK").unwrap().as_text().unwrap();
        assert_eq!(*place, format!("{:06}", version(item)));
    }
}

#[test]
fn no_update_is_lost_among_64_writers_on_10_items() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    let table = setup(&store);
    // Every acknowledged move, as (item, the version it was made from).
    let moves: Vec<(u64, i64)> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (store, table) = (&store, &table);
                scope.spawn(move || {
                    let mut moves = Vec::new();
                    for round in 0..WRITES_EACH {
                        let n = (writer * 7 + round * 3) % HOT;
                        let from = read(store, table, n);
                        match store.update(step(table, n, from), Returning::New).wait() {
                            Ok(wrote) => {
                                assert_eq!(version(&wrote.item.unwrap()), from + 1);
                                // What is acknowledged is visible at once.
                                assert!(read(store, table, n) > from);
                                moves.push((n, from));
                            }
                            Err(Error::ConditionFailed(failed)) => {
                                assert!(version(&failed.item.unwrap()) > from);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                    moves
                })
            })
            .collect();
        let readers_see_the_index =
            scope.spawn(|| (0..200).for_each(|_| check_index(&store, &table)));
        readers_see_the_index.join().unwrap();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    // No version was left twice, and each item moved as often as was acknowledged.
    let distinct: BTreeSet<_> = moves.iter().collect();
    assert_eq!(distinct.len(), moves.len());
    for n in 0..HOT {
        let acknowledged = moves.iter().filter(|(item, _)| *item == n).count() as i64;
        assert_eq!(read(&store, &table, n), acknowledged);
        assert!(acknowledged > 0);
    }
    let verified = store.verify(&table).unwrap();
    assert_eq!((verified.items, verified.entries), (HOT, HOT));
    println!("{} updates acknowledged, 0 lost", moves.len());
}

#[test]
fn no_transaction_is_half_there_among_64_writers() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    let table = setup(&store);
    let acknowledged = AtomicU64::new(0);
    let sum = || -> i64 {
        let keys = (0..HOT).map(key).collect();
        let got = store.snapshot_get(&SnapshotGet { table: Arc::clone(&table), keys }).unwrap();
        got.items.iter().map(|item| version(item.as_ref().unwrap())).sum()
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (store, table, acknowledged) = (&store, &table, &acknowledged);
            scope.spawn(move || {
                for round in 0..WRITES_EACH {
                    let a = (writer + round) % HOT;
                    let b = (a + 1 + writer % (HOT - 1)) % HOT;
                    let leg = |n: u64| Leg::Update(step(table, n, read(store, table, n)));
                    match store.transact(Transact { legs: vec![leg(a), leg(b)] }).wait() {
                        Ok(_) => drop(acknowledged.fetch_add(1, Ordering::SeqCst)),
                        Err(Error::ConditionFailed(failed)) => assert!(failed.leg < 2),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        // Both legs or neither: at every instant the versions add up to an even number.
        for _ in 0..500 {
            assert_eq!(sum() % 2, 0);
        }
    });
    assert_eq!(sum(), 2 * acknowledged.load(Ordering::SeqCst) as i64);
    check_index(&store, &table);
    store.verify(&table).unwrap();
    println!("{} transactions acknowledged", acknowledged.load(Ordering::SeqCst));
}
