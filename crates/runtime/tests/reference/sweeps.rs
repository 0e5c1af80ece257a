//! How fast what is over leaves, and what does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use latchkey_embedded::Store;
use latchkey_queue::{TryFailure, dead};
use latchkey_runtime::{Options, Runtime, Sweeper, System};
use latchkey_table::{Item, Put, Returning, Schema, Value};

use crate::queues::{Moved, SHOP};
use crate::support::{NOW, call, document};

const RECORDS: usize = 20_000;

const LIVE: usize = 1_000;

fn record(table: &Arc<Schema>, number: usize, expires: i64) -> Put {
    let item: Item = [
        ("PK", Value::from(format!("LATCHKEY#IDEM#{number:05}").as_str())),
        ("SK", Value::from("IDEM")),
        ("kind", Value::from("LATCHKEY_IDEM")),
        ("given", Value::from("x")),
        ("status", Value::from(201)),
        ("body", Value::from("y".repeat(200).as_str())),
        ("expires", Value::from(expires)),
    ]
    .into_iter()
    .collect();
    Put { table: Arc::clone(table), item, condition: None }
}

async fn open(store: &Arc<Store>) -> (Runtime, Arc<Moved>) {
    let clock = Arc::new(Moved(AtomicI64::new(NOW)));
    let options = Options { source: clock.clone(), ..Options::default() };
    let system = System::read(&document(SHOP)).unwrap();
    (Runtime::start(system, Arc::clone(store), options).await.unwrap(), clock)
}

/// How many items a store has under a prefix.
fn count(store: &Store, table: &Arc<Schema>, prefix: &str) -> usize {
    let (mut count, mut after) = (0, None);
    loop {
        let scan = latchkey_table::Scan {
            table: Arc::clone(table),
            partition_prefix: prefix.into(),
            after,
            items_max: 10_000,
        };
        let scanned = store.scan(&scan).unwrap();
        count += scanned.items.len();
        after = scanned.resume;
        if after.is_none() {
            return count;
        }
    }
}

// They left at 25 a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_are_over_leave_fast_and_hold_no_call_up() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &latchkey_embedded::Options::default()).unwrap();
    let store = Arc::new(store);
    let (runtime, clock) = open(&store).await;
    let table = runtime.system().table().clone();
    let second = NOW / 1_000;
    for some in (0..RECORDS + LIVE).collect::<Vec<_>>().chunks(1_000) {
        // One in 21 is not over, or has not been for five minutes.
        let expires = |n: &usize| match n % 42 {
            0 => second + 60,
            21 => second - 299,
            _ => second - 301,
        };
        let puts: Vec<_> = some
            .iter()
            .map(|n| store.put(record(&table, *n, expires(n)), Returning::Nothing))
            .collect();
        for put in puts {
            put.await.unwrap();
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let calls = tokio::spawn({
        let (runtime, stop) = (runtime.clone(), Arc::clone(&stop));
        async move {
            let mut took = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                let made = call("ORDER", &format!(r#"{{"orderId": "o{}"}}"#, took.len()));
                let began = Instant::now();
                assert_eq!(runtime.call(made).await.status(), 202);
                took.push(began.elapsed());
            }
            took.sort_unstable();
            took
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut sweeper = Sweeper::by(store.clone(), std::slice::from_ref(&runtime), clock);
    let began = Instant::now();
    assert_eq!(sweeper.round().await, RECORDS);
    let swept_in = began.elapsed();
    stop.store(true, Ordering::SeqCst);
    let took = calls.await.unwrap();
    assert_eq!(count(&store, &table, "LATCHKEY#IDEM#"), LIVE);
    assert_eq!(sweeper.round().await, 0);
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    let rate = u128::try_from(RECORDS).unwrap() * 1_000 / swept_in.as_millis().max(1);
    println!(
        "{RECORDS} records in {swept_in:?}, {rate}/s; {} calls meanwhile: median {median:?}, longest {longest:?}",
        took.len()
    );
    assert!(rate > 250, "{rate} a second");
    assert!(longest < Duration::from_secs(2), "a call waited for {longest:?}");
}

#[tokio::test]
async fn dead_letters_are_kept_for_30_days() {
    let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
    let store = Arc::new(store);
    let (runtime, clock) = open(&store).await;
    let queue = runtime.queue("packing").unwrap().embedded().unwrap();
    let table = runtime.system().table().clone();
    for id in ["a", "b"] {
        let body = latchkey_table::Map::from([("orderId", id)]);
        let message = latchkey_queue::Message::new(id, body, NOW).unwrap();
        let failure = TryFailure::crashed();
        let mut put = dead::put(queue.home(), &message, 3, &failure, NOW);
        if id == "b" {
            // As an earlier release has written it: it stays until someone removes it.
            put.item.remove("expires").unwrap();
        }
        store.put(put, Returning::Nothing).await.unwrap();
    }
    let mut sweeper = Sweeper::by(store.clone(), std::slice::from_ref(&runtime), clock.clone());
    let days = 24 * 60 * 60 * 1_000;
    clock.0.fetch_add(30 * days, Ordering::SeqCst);
    assert_eq!(sweeper.round().await, 0);
    clock.0.fetch_add(6 * 60 * 1_000, Ordering::SeqCst);
    assert_eq!(sweeper.round().await, 1);
    assert_eq!(count(&store, &table, "LATCHKEY#DEAD#"), 1);
}
