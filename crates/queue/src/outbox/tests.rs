//! Records in a store: what a sweep finds, who may take it, when it is gone.

use std::collections::BTreeMap;

use latchkey_embedded::{Options, Store};
use latchkey_table::{Error, Returning, Schema, Transact};

use super::*;

fn world() -> (Store, Home) {
    let store = Store::in_memory(&Options::default()).unwrap();
    let table = Arc::new(Schema::new("Things"));
    store.create_table(&table).wait().unwrap();
    (store, Home::new(table, "type", "orders").unwrap())
}

fn record(id: &str, sent_at: i64, due: i64) -> Record {
    let message = Message::new(id, Map::from([("n", 1)]), sent_at).unwrap();
    Record::new(message, due, "EP-01/1", Map::from([("requestId", id)]))
}

fn commit(store: &Store, home: &Home, record: &Record) {
    store.transact(Transact { legs: vec![record.leg(home)] }).wait().unwrap();
}

/// What a sweep at a time finds, shard by shard and page by page.
fn swept(store: &Store, home: &Home, now: i64, limit: usize) -> BTreeMap<Text, Record> {
    let mut found = BTreeMap::new();
    for shard in 0..OUTBOX_SHARDS {
        let mut resume = None;
        loop {
            let page = store.query(&due(home, shard, now, limit, resume)).unwrap();
            for record in page.items.into_iter().map(|item| Record::read(home, item).unwrap()) {
                assert_eq!(found.insert(record.message().id().clone(), record), None);
            }
            resume = page.resume;
            if resume.is_none() {
                break;
            }
        }
    }
    found
}

#[test]
fn what_is_due_at_once_is_left_to_whoever_commits_it_for_a_while() {
    let (store, home) = world();
    let fresh = record("A", 1_000, 1_000).relayed_at_once();
    let timer = record("B", 1_000, 5_000);
    commit(&store, &home, &fresh);
    commit(&store, &home, &timer);
    let ids = |now| swept(&store, &home, now, 10).into_keys().collect::<Vec<_>>();
    for (now, expected) in [
        (1_000, vec![]),
        (4_999, vec![]),
        (5_000, vec!["B"]),
        (999 + CLAIM_MS, vec!["B"]),
        (1_000 + CLAIM_MS, vec!["A", "B"]),
    ] {
        assert_eq!(ids(now), expected, "at {now}");
    }
    assert_eq!(swept(&store, &home, TIME_MAX - 1, 10).get("B"), Some(&timer));
    store.delete(timer.delete(&home), Returning::Nothing).wait().unwrap();
    assert_eq!(ids(TIME_MAX - 1), ["A"]);
}

#[test]
fn one_sweep_claims_a_record_until_its_claim_is_over() {
    let (store, home) = world();
    let timer = record("A", 0, 100);
    commit(&store, &home, &timer);
    let claim = |now| store.update(timer.claim(&home, now), Returning::Nothing).wait();
    assert!(claim(100).is_ok());
    assert!(matches!(claim(101), Err(Error::ConditionFailed(_))));
    let found = swept(&store, &home, 101, 10).remove("A").unwrap();
    assert!(found.is_claimed(101) && !found.is_claimed(100 + CLAIM_MS));
    assert!(claim(100 + CLAIM_MS).is_ok(), "whoever claimed it died");
    store.delete(timer.delete(&home), Returning::Nothing).wait().unwrap();
    // A claim must not bring a record back that an eventual read still showed.
    assert!(matches!(claim(TIME_MAX), Err(Error::ConditionFailed(_))));
    assert_eq!(swept(&store, &home, TIME_MAX - 1, 10), BTreeMap::new());
}

#[test]
fn a_sweep_finds_every_record_in_bounded_pages_and_shards_share_them() {
    let (store, home) = world();
    let records: BTreeMap<Text, Record> = (0..1_000)
        .map(|n| (Text::from(format!("01J{n:023}")), n))
        .map(|(id, n)| (id.clone(), record(&id, 0, 1 + n)))
        .collect();
    records.values().for_each(|record| commit(&store, &home, record));
    assert_eq!(swept(&store, &home, 1_000, 7), records);
    for shard in 0..OUTBOX_SHARDS {
        let found = store.query(&due(&home, shard, 1_000, 1_000, None)).unwrap().items.len();
        assert!((30..=PAGE_MAX).contains(&found), "{shard}: {found}");
    }
}
