//! A disk that fails at the Nth write, resize or sync: the store says so, loses nothing that it acknowledged, and goes
//! on once the disk does.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options, Part, Store};
use latchkey_table::{Consistency, Error, Get, Item, Key, Put, ReadOnly, Returning, Schema};
use latchkey_testing::promise::{self, Progress};

use crate::disk::{Change, Disk, Event, Fault, Parts, apply};

const HANG: Duration = Duration::from_secs(120);

/// Small journals, so that writes are folded all the time and the map is written, too.
fn options() -> Options {
    let fold_after = Duration::from_secs(3600);
    Options { journal_bytes: 4 << 10, fold_after, ..Options::default() }
}

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Failing").with_index("GSI1"))
}

/// What is known of each item: the last value that was acknowledged, and those in doubt since.
#[derive(Debug, Default)]
struct Known {
    sure: Option<i64>,
    in_doubt: Vec<i64>,
}

struct Run {
    disk: Disk,
    table: Arc<Schema>,
    known: BTreeMap<i64, Known>,
    failures: usize,
}

impl Run {
    fn put(&mut self, store: &Store, n: i64) -> bool {
        let at = n % 7;
        let name = format!("K{at}");
        let mut item =
            Item::from([("PK", "P"), ("SK", &*name), ("GSI1PK", "A"), ("GSI1SK", &*name)]);
        item.insert("n", n);
        item.insert("filler", "x".repeat(300).as_str());
        let put = Put { table: Arc::clone(&self.table), item, condition: None };
        let known = self.known.entry(at).or_default();
        match store.put(put, Returning::Nothing).wait() {
            Ok(_) => *known = Known { sure: Some(n), in_doubt: Vec::new() },
            // It was not made.
            Err(Error::Unavailable { .. } | Error::ReadOnly { why: ReadOnly::NoRoom }) => {
                self.failures += 1;
            }
            Err(Error::OutcomeUnknown { .. }) => {
                self.failures += 1;
                known.in_doubt.push(n);
            }
            Err(error) => panic!("{error}"),
        }
        known.sure == Some(n)
    }

    /// All that was acknowledged is there, and nothing else but what is in doubt.
    fn check(&self, store: &Store, context: &str) {
        let started = Instant::now();
        for (at, known) in &self.known {
            let key = Key::new("P", format!("K{at}"));
            let get = Get { table: Arc::clone(&self.table), key, consistency: Consistency::Strong };
            let item = loop {
                match store.get(&get) {
                    Ok(got) => break got.item,
                    // It comes back with the disk.
                    Err(Error::Unavailable { .. }) if started.elapsed() < HANG => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    Err(error) => panic!("{context}: {error}"),
                }
            };
            let n = item.map(|item| item.get("n").unwrap().as_number().unwrap().to_i64().unwrap());
            let known_to_be = n == known.sure || n.is_some_and(|n| known.in_doubt.contains(&n));
            assert!(known_to_be, "{context}: {at} is {n:?}, and known is {known:?}");
        }
        store.verify(&self.table).unwrap_or_else(|error| panic!("{context}: {error}"));
    }

    fn reopened(&self, parts: Parts, context: &str) {
        let store = Store::open_on(Disk::with_parts(parts).opener(), &options());
        self.check(&store.unwrap_or_else(|error| panic!("{context}: {error}")), context);
    }
}

/// What is on a disk after a loss of power, if a sync that failed keeps nothing of what was written before it.
fn durable(history: &[(Part, Event)]) -> Parts {
    let mut parts = Parts::new();
    let mut unsynced: Vec<(Part, Event)> = Vec::new();
    for (part, event) in history {
        match event {
            Event::Sync => {
                let of_part = unsynced.iter().filter(|(other, _)| other == part);
                of_part.for_each(|(_, event)| apply(parts.entry(*part).or_default(), event));
                unsynced.retain(|(other, _)| other != part);
            }
            Event::FailedSync => unsynced.retain(|(other, _)| other != part),
            change => unsynced.push((*part, change.clone())),
        }
    }
    parts
}

/// Fails once or lastingly while items are written. True if it came to that.
fn fail(fault: Fault) -> bool {
    let context = format!("{fault:?}");
    let disk = Disk::default();
    let store = Store::open_on(disk.opener(), &options()).unwrap();
    store.create_table(&table()).wait().unwrap();
    let mut run = Run { disk, table: table(), known: BTreeMap::new(), failures: 0 };
    for n in 0..10 {
        assert!(run.put(&store, n), "{context}");
    }
    run.disk.fail(Some(fault));
    let mut n = 10;
    while run.failures == 0 && n < 250 {
        run.put(&store, n);
        n += 1;
    }
    for _ in 0..3 {
        run.put(&store, n);
        n += 1;
    }
    // What nobody heard of may have failed, too: a fold.
    run.disk.fail(None);
    let failed = run.failures > 0;
    run.check(&store, &context);
    let started = Instant::now();
    while !run.put(&store, n) {
        assert!(started.elapsed() < HANG, "{context}: writes never go on");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.check(&store, &context);
    run.reopened(run.disk.parts(), &format!("{context}, killed"));
    run.reopened(durable(&run.disk.history()), &format!("{context}, and then power lost"));
    drop(store);
    run.reopened(run.disk.parts(), &format!("{context}, closed"));
    failed
}

#[test]
fn a_disk_that_fails_at_the_nth_change_loses_nothing() {
    let most = promise::rounds(8);
    let mut progress = Progress::new("failing disk", most);
    let (mut runs, mut told) = (0, 0);
    for nth in 1..=most {
        for of in [Change::Write, Change::Resize, Change::Sync] {
            for error in [ErrorKind::StorageFull, ErrorKind::Other] {
                for lasts in [false, true] {
                    // The short run has each kind once a number, in turn.
                    if !promise::is_long() && lasts == (nth % 2 == 0) {
                        continue;
                    }
                    told += usize::from(fail(Fault { of, left: nth - 1, lasts, error }));
                    runs += 1;
                }
            }
        }
        progress.add(1);
    }
    assert!(told > runs / 10, "{told} of {runs} were noticed");
    println!(
        "{runs} failures at the 1st to the {most}th change, {told} of them told to a caller, 0 writes lost, in {:?}",
        progress.spent()
    );
}
