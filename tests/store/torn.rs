//! Power lost at every sync of a run: what was not synced is gone, or torn, and nothing else is.

use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::{Options, Part, Store};
use latchkey_table::{
    Action, Condition, Consistency, Get, Item, Key, Leg, Put, Schema, Transact, Update, Value,
};

use latchkey_testing::promise::{self, Progress};

use crate::disk::{Disk, Event, Parts, apply};

const PAIRS: i64 = 12;

/// How many transactions the short run makes.
const OPERATIONS: usize = 96;

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Torn").with_index("GSI1"))
}

fn key(pair: i64, side: &str) -> Key {
    Key::new(format!("PAIR#{pair:02}"), side)
}

/// Moves both sides of a pair to round `n`, and the left side to another place in the index.
fn transaction(table: &Arc<Schema>, pair: i64, n: i64) -> Transact {
    let left = Item::from([
        ("PK", Value::Text(key(pair, "L").partition)),
        ("SK", Value::from("L")),
        ("n", Value::from(n)),
        ("GSI1PK", Value::from("ALL")),
        ("GSI1SK", Value::from(format!("{n:04}").as_str())),
        ("filler", Value::from("x".repeat(usize::try_from(n % 9).unwrap() * 400).as_str())),
    ]);
    let behind = match n {
        1 => Condition::Absent("n".into()),
        _ => Condition::equals("n", n - 1),
    };
    let right = Update {
        table: Arc::clone(table),
        key: key(pair, "R"),
        actions: vec![Action::set("n", n)],
        condition: Some(behind.clone()),
    };
    let left = Put { table: Arc::clone(table), item: left, condition: Some(behind) };
    Transact { legs: vec![Leg::Put(left), Leg::Update(right)] }
}

/// What is known to be durable from an event of the history on.
struct Acknowledged {
    from: usize,
    pair: i64,
    n: i64,
}

/// A run with several groups of writes, and when each write was acknowledged. With small journals folds happen all the
/// time, and beside the writes.
fn record(journal_bytes: u64, rounds: i64) -> (Vec<(Part, Event)>, usize, Vec<Acknowledged>) {
    let (disk, table) = (Disk::default(), table());
    let fold_after = Duration::from_secs(3600);
    let options = Options { journal_bytes, fold_after, ..Options::default() };
    let store = Store::open_on(disk.opener(), &options).unwrap();
    store.create_table(&table).wait().unwrap();
    let start = disk.events();
    let mut acknowledged = Vec::new();
    for n in 1..=rounds {
        // Some alone, some in groups.
        let alone = if n % 2 == 0 { PAIRS } else { 3 };
        let mut pending = Vec::new();
        for pair in 0..PAIRS {
            let written = store.transact(transaction(&table, pair, n));
            if pair < alone {
                written.wait().unwrap();
                acknowledged.push(Acknowledged { from: disk.events(), pair, n });
            } else {
                pending.push((pair, written));
            }
        }
        for (pair, written) in pending {
            written.wait().unwrap();
            acknowledged.push(Acknowledged { from: disk.events(), pair, n });
        }
    }
    // What the store does when it closes counts too.
    drop(store);
    (disk.history(), start, acknowledged)
}

/// How the writes after the last sync fared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fate {
    Lost,
    /// Each was kept or lost for itself.
    Some(u64),
    /// Each sector of each was kept or lost for itself.
    Torn(u64),
}

/// A stream of numbers that is the same for the same seed.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

pub(crate) fn befall(parts: &mut Parts, unsynced: &[(Part, Event)], fate: Fate) {
    match fate {
        Fate::Lost => {}
        Fate::Some(mut seed) => {
            for (part, event) in unsynced {
                if next(&mut seed).is_multiple_of(2) {
                    apply(parts.entry(*part).or_default(), event);
                }
            }
        }
        Fate::Torn(mut seed) => {
            for (part, event) in unsynced {
                let bytes = parts.entry(*part).or_default();
                let Event::Write { offset, data } = event else {
                    apply(bytes, event);
                    continue;
                };
                for (at, sector) in data.chunks(512).enumerate() {
                    if next(&mut seed).is_multiple_of(2) {
                        let offset = offset + at * 512;
                        apply(bytes, &Event::Write { offset, data: sector.to_vec() });
                    }
                }
            }
        }
    }
}

fn check(parts: Parts, synced: usize, acknowledged: &[Acknowledged], context: &str) {
    let table = table();
    let store = Store::open_on(Disk::with_parts(parts).opener(), &Options::default())
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    let round = |pair: i64, side: &str| {
        let key = key(pair, side);
        let get = Get { table: Arc::clone(&table), key, consistency: Consistency::Strong };
        let item = store.get(&get).unwrap_or_else(|error| panic!("{context}: {error}")).item;
        item.map_or(0, |item| item.get("n").unwrap().as_number().unwrap().to_i64().unwrap())
    };
    let mut live = 0;
    for pair in 0..PAIRS {
        let (left, right) = (round(pair, "L"), round(pair, "R"));
        assert_eq!(left, right, "{context}: half a transaction of pair {pair}");
        live += u64::from(left > 0);
    }
    for Acknowledged { from, pair, n } in acknowledged {
        if *from <= synced {
            assert!(round(*pair, "L") >= *n, "{context}: pair {pair} lost round {n}");
        }
    }
    let verified = store.verify(&table).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!((verified.items, verified.entries), (2 * live, live), "{context}");
}

/// Loses the power behind every sync of a run. A sync is of one part; what was done to the others is not safe by it.
fn lose_power(journal_bytes: u64) {
    let operations = promise::rounds(OPERATIONS);
    let rounds = i64::try_from(operations.div_ceil(PAIRS as usize)).unwrap();
    let (history, start, acknowledged) = record(journal_bytes, rounds);
    let syncs = |(_, event): &&(Part, Event)| matches!(event, Event::Sync);
    let points = history.iter().skip(start).filter(syncs).count();
    let mut progress = Progress::new("power loss", points);
    let mut durable = Parts::new();
    let mut unsynced: Vec<(Part, Event)> = Vec::new();
    let mut checked = 0;
    for (at, (part, event)) in history.iter().enumerate() {
        if !matches!(event, Event::Sync) {
            unsynced.push((*part, event.clone()));
            continue;
        }
        // All that was done since the last sync, to whatever part.
        if at >= start {
            for fate in fates(at as u64) {
                let mut parts = durable.clone();
                befall(&mut parts, &unsynced, fate);
                check(parts, at, &acknowledged, &format!("before sync {at} of {part:?}, {fate:?}"));
                checked += 1;
            }
            progress.add(1);
        }
        let (synced, rest) = unsynced.into_iter().partition(|(other, _)| other == part);
        unsynced = rest;
        let synced: Vec<(Part, Event)> = synced;
        synced.iter().for_each(|(part, event)| apply(durable.entry(*part).or_default(), event));
    }
    assert!(checked > 200, "{checked}");
    check(durable, history.len(), &acknowledged, "at the end");
    promise::tell(&format!(
        "{} operations, {points} syncs, {checked} images after a loss of power, 0 lost, in {:?}",
        acknowledged.len(),
        progress.spent()
    ));
}

fn fates(seed: u64) -> [Fate; 5] {
    [Fate::Lost, Fate::Some(seed), Fate::Some(!seed), Fate::Torn(seed), Fate::Torn(!seed)]
}

#[test]
fn power_lost_at_any_sync_loses_nothing_acknowledged() {
    lose_power(1 << 20);
}

#[test]
fn power_lost_while_journals_are_folded_loses_nothing_acknowledged() {
    lose_power(16 << 10);
}
