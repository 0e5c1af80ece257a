//! When a write is answered, when it is seen, and what becomes of it when the disk fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options, Pending, Store};
use latchkey_table::{
    Condition, Consistency, Error, Get, Item, Key, Put, ReadOnly, Returning, Schema, Value, Wrote,
};

use crate::disk::Disk;

/// Options with which nothing is folded by the clock.
fn options() -> Options {
    Options { fold_after: Duration::from_secs(3600), ..Options::default() }
}

fn open(disk: &Disk, options: &Options) -> (Store, Arc<Schema>) {
    let store = Store::open_on(disk.opener(), options).unwrap();
    let table = Arc::new(Schema::new("Test").with_index("GSI1"));
    store.create_table(&table).wait().unwrap();
    (store, table)
}

fn put(store: &Store, table: &Arc<Schema>, key: &str, n: i64) -> Pending<Wrote> {
    let mut item = Item::from([("PK", "P"), ("SK", key), ("GSI1PK", "ALL"), ("GSI1SK", key)]);
    item.insert("n", n);
    store.put(Put { table: Arc::clone(table), item, condition: None }, Returning::Nothing)
}

fn read(store: &Store, table: &Arc<Schema>, key: &str) -> Result<Option<i64>, Error> {
    let key = Key::new("P", key);
    let get = Get { table: Arc::clone(table), key, consistency: Consistency::Strong };
    let item = store.get(&get)?.item;
    Ok(item.map(|item| item.get("n").and_then(Value::as_number).unwrap().to_i64().unwrap()))
}

#[test]
fn a_write_is_seen_only_once_it_is_durable_and_reads_do_not_wait_for_it() {
    let disk = Disk::default();
    let (store, table) = open(&disk, &options());
    put(&store, &table, "A", 1).wait().unwrap();
    disk.hold_syncs();
    let pending = put(&store, &table, "A", 2);
    disk.wait_for_held_sync();
    // The writer stands still in the middle of a commit.
    for _ in 0..100 {
        assert_eq!(read(&store, &table, "A"), Ok(Some(1)));
    }
    disk.release_syncs();
    pending.wait().unwrap();
    assert_eq!(read(&store, &table, "A"), Ok(Some(2)));
}

#[test]
fn a_refusal_waits_for_the_write_it_rests_on() {
    let disk = Disk::default();
    let (store, table) = open(&disk, &options());
    disk.hold_syncs();
    let first = put(&store, &table, "X", 0);
    disk.wait_for_held_sync();
    // These two come to lie in one group.
    let second = put(&store, &table, "A", 1);
    let item = Item::from([("PK", "P"), ("SK", "A")]);
    let condition = Some(Condition::Absent("PK".into()));
    let refused = store.put(Put { table: Arc::clone(&table), item, condition }, Returning::Nothing);
    disk.release_syncs();
    first.wait().unwrap();
    second.wait().unwrap();
    assert!(matches!(refused.wait(), Err(Error::ConditionFailed(_))));
}

#[test]
fn a_group_costs_one_sync_and_a_refusal_none() {
    let disk = Disk::default();
    let (store, table) = open(&disk, &options());
    for n in 0..50 {
        put(&store, &table, &format!("A{n}"), n).wait().unwrap();
    }
    let before = disk.syncs();
    for n in 0..50 {
        put(&store, &table, &format!("A{n}"), n).wait().unwrap();
    }
    assert_eq!(disk.syncs() - before, 50, "a lone writer pays one sync a write");

    disk.hold_syncs();
    let first = put(&store, &table, "X", 0);
    disk.wait_for_held_sync();
    let group: Vec<_> = (0..200).map(|n| put(&store, &table, &format!("B{n}"), n)).collect();
    let before = disk.syncs();
    disk.release_syncs();
    first.wait().unwrap();
    group.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    assert_eq!(disk.syncs() - before, 2, "the first, then all that waited together");

    let before = disk.syncs();
    let item = Item::from([("PK", "P"), ("SK", "X")]);
    let condition = Some(Condition::Absent("PK".into()));
    let put = Put { table, item, condition };
    assert!(matches!(store.put(put, Returning::Nothing).wait(), Err(Error::ConditionFailed(_))));
    assert_eq!(disk.syncs(), before);
}

#[test]
fn a_full_queue_is_an_error_not_memory() {
    let disk = Disk::default();
    let options = Options { queue_writes_max: 10, ..options() };
    let (store, table) = open(&disk, &options);
    disk.hold_syncs();
    let first = put(&store, &table, "X", 0);
    disk.wait_for_held_sync();
    let waiting: Vec<_> = (0..10).map(|n| put(&store, &table, "A", n)).collect();
    assert_eq!(put(&store, &table, "A", 99).wait(), Err(Error::Throttled));
    disk.release_syncs();
    first.wait().unwrap();
    waiting.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    assert_eq!(read(&store, &table, "A"), Ok(Some(9)));
}

#[test]
fn a_queue_is_bounded_in_bytes_too() {
    let disk = Disk::default();
    let options = Options { queue_bytes_max: 1000, ..options() };
    let (store, table) = open(&disk, &options);
    disk.hold_syncs();
    let first = put(&store, &table, "X", 0);
    disk.wait_for_held_sync();
    let big = |key: &str| {
        let filler = "x".repeat(600);
        let item = Item::from([("PK", "P"), ("SK", key), ("filler", filler.as_str())]);
        let put = Put { table: Arc::clone(&table), item, condition: None };
        store.put(put, Returning::Nothing)
    };
    let one = big("A");
    assert_eq!(big("B").wait(), Err(Error::Throttled));
    disk.release_syncs();
    first.wait().unwrap();
    one.wait().unwrap();
}

#[test]
fn closing_finishes_what_was_handed_in() {
    let disk = Disk::default();
    let (store, table) = open(&disk, &options());
    let pending: Vec<_> = (0..500).map(|n| put(&store, &table, &format!("A{n}"), n)).collect();
    drop(store);
    pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    let (store, table) = open(&disk, &options());
    assert_eq!(store.verify(&table).unwrap().items, 500);
}

#[test]
fn a_disk_that_fails_loses_nothing_and_the_store_comes_back_with_it() {
    // Every point at which the disk can fail during one write, until the write goes through.
    for changes in 0..200 {
        let disk = Disk::default();
        let (store, table) = open(&disk, &options());
        put(&store, &table, "A", 1).wait().unwrap();
        disk.fail_after(Some(changes));
        let outcome = put(&store, &table, "A", 2).wait();
        disk.fail_after(None);
        let deadline = Instant::now() + Duration::from_secs(20);
        let seen = loop {
            match read(&store, &table, "A") {
                Ok(seen) => break seen,
                Err(Error::Unavailable { .. }) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => panic!("after {changes} changes: {error}"),
            }
        };
        match outcome {
            Ok(_) => {
                assert_eq!(seen, Some(2));
                assert!(changes > 0);
                println!("{changes} points of failure");
                return;
            }
            Err(Error::Unavailable { .. }) => assert_eq!(seen, Some(1), "after {changes} changes"),
            Err(Error::OutcomeUnknown { .. }) => {
                assert!(matches!(seen, Some(1 | 2)), "after {changes} changes");
            }
            Err(error) => panic!("after {changes} changes: {error}"),
        }
        put(&store, &table, "B", 3).wait().unwrap();
        assert_eq!(read(&store, &table, "B"), Ok(Some(3)));
        store.verify(&table).unwrap();
    }
    panic!("the write never went through");
}

// `/ready` answered 200 while every write was refused, because a journal could not be written.
#[test]
fn a_store_whose_journal_cannot_be_written_says_that_it_takes_no_writes() {
    let disk = Disk::default();
    let (store, table) = open(&disk, &options());
    put(&store, &table, "A", 1).wait().unwrap();
    assert_eq!(store.takes_writes(), Ok(()));
    disk.fail_after(Some(0));
    assert!(matches!(put(&store, &table, "A", 2).wait(), Err(Error::OutcomeUnknown { .. })));
    assert_eq!(store.takes_writes(), Err(ReadOnly::JournalFails));
    assert_eq!(read(&store, &table, "A"), Ok(Some(1)), "reads go on");
    disk.fail_after(None);
    // The record is tried again without a write.
    let deadline = Instant::now() + Duration::from_secs(60);
    while store.takes_writes().is_err() {
        assert!(Instant::now() < deadline, "the journal is not tried again");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(read(&store, &table, "A"), Ok(Some(2)));
}
