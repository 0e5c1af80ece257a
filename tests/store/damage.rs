//! Files that are not what was written: an error, never a panic.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::{OpenError, Options, Part, Store};
use latchkey_table::{Consistency, Get, Item, Key, Put, Returning, Schema, Value};
use latchkey_testing::chance::Chance;
use latchkey_testing::promise::{self, Progress};

use crate::disk::{Disk, Parts};

#[test]
fn a_file_that_is_no_store_is_refused() {
    for bytes in [b"".to_vec(), b"hello".to_vec(), vec![0; 100_000], vec![0xff; 100_000]] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("store.redb");
        std::fs::write(&file, &bytes).unwrap();
        for (path, mode) in [(directory.path(), 0o700), (&*file, 0o600)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        let error = Store::open(directory.path(), &Options::default()).unwrap_err();
        assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "left as it was");
    }
}

#[test]
fn a_damaged_file_is_opened_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let table = Arc::new(Schema::new("Test").with_index("GSI1"));
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    store.create_table(&table).wait().unwrap();
    for n in 0..200 {
        let sort = format!("{n:04}");
        let item = Item::from([("PK", "P"), ("SK", &sort), ("GSI1PK", "A"), ("GSI1SK", &sort)]);
        let put = Put { table: Arc::clone(&table), item, condition: None };
        drop(store.put(put, Returning::Nothing));
    }
    drop(store);
    let file = directory.path().join("store.redb");
    let whole = std::fs::read(&file).unwrap();
    let mut seed = 1u64;
    let mut refused = 0;
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Half of the damage to the first pages, where all the structure is.
            let region = if seed.is_multiple_of(2) { 8 * 4096 } else { bytes.len() };
            let at = (seed >> 33) as usize % region;
            bytes[at] ^= 1 << ((seed >> 20) % 8);
        }
        std::fs::write(&file, &bytes).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            match Store::open(directory.path(), &Options::default()) {
                Ok(store) => drop(store.verify(&table)),
                Err(_) => refused += 1,
            }
        }));
        assert!(outcome.is_ok(), "it panicked");
    }
    assert!(refused > 0);
}

const ITEMS: i64 = 40;

fn key(n: i64) -> Key {
    Key::new("P", format!("{n:04}"))
}

/// A store with something in its map and something in its journal.
fn stored(table: &Arc<Schema>) -> Parts {
    let disk = Disk::default();
    let fold_after = Duration::from_secs(3600);
    let write = |options: &Options, from: i64, to: i64| {
        let store = Store::open_on(disk.opener(), options).unwrap();
        store.create_table(table).wait().unwrap();
        for n in from..to {
            let Key { partition, sort } = key(n);
            let mut item = Item::from([("PK", partition), ("SK", sort.clone())]);
            item.insert("n", n);
            item.insert("GSI1PK", "A");
            item.insert("GSI1SK", sort.as_str());
            let put = Put { table: Arc::clone(table), item, condition: None };
            store.put(put, Returning::Nothing).wait().unwrap();
        }
        (disk.parts(), store)
    };
    drop(write(&Options::default(), 0, ITEMS / 2));
    // As it is while the store is open: a kill leaves this.
    write(&Options { fold_after, ..Options::default() }, ITEMS / 2, ITEMS).0
}

/// Changes some bytes of a part, cuts it, or puts some of it elsewhere.
fn change(bytes: &mut Vec<u8>, chance: &mut Chance) {
    // Half of the changes are where all the structure is.
    let region = if chance.below(2) == 0 { bytes.len().min(8 * 4096) } else { bytes.len() };
    let at = chance.below(region);
    match chance.below(8) {
        0 => bytes.truncate(at),
        1 => {
            let to = chance.below(region);
            let count = chance.below(600).min(bytes.len() - at.max(to));
            bytes.copy_within(at..at + count, to);
        }
        2 => {
            let end = (at + chance.below(5000)).min(bytes.len());
            bytes[at..end].fill(0);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
    }
}

#[test]
fn no_change_of_the_files_makes_the_store_panic_or_invent() {
    let rounds = promise::rounds(250);
    let table = Arc::new(Schema::new("Test").with_index("GSI1"));
    let (whole, mut chance) = (stored(&table), Chance::new(77));
    let mut progress = Progress::new("files", rounds);
    let (mut refused, mut told, mut fine) = (0, 0, 0);
    for round in 0..rounds {
        let mut parts = whole.clone();
        let part = chance.of(&[Part::Map, Part::FirstJournal, Part::SecondJournal]);
        for _ in 0..=chance.below(4) {
            change(parts.entry(part).or_default(), &mut chance);
        }
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let Ok(store) = Store::open_on(Disk::with_parts(parts).opener(), &Options::default())
            else {
                return None;
            };
            let mut errors = usize::from(store.verify(&table).is_err());
            for n in 0..ITEMS {
                let (table, key) = (Arc::clone(&table), key(n));
                match store.get(&Get { table, key, consistency: Consistency::Strong }) {
                    Ok(got) => {
                        let stored = got.item.and_then(|item| item.get("n").cloned());
                        assert!(stored.is_none_or(|stored| stored == Value::from(n)), "invented");
                    }
                    Err(_) => errors += 1,
                }
            }
            Some(errors)
        }));
        match looked.unwrap_or_else(|_| panic!("it panicked in round {round}, at {part:?}")) {
            None => refused += 1,
            Some(0) => fine += 1,
            Some(_) => told += 1,
        }
        progress.add(1);
    }
    assert!(refused > 0 && fine > 0, "{refused}, {told}, {fine}");
    println!(
        "{rounds} changed stores: {refused} refused, {told} with damage that was told, {fine} read; no panic got out of the store, 0 items \
         invented, in {:?}",
        progress.spent()
    );
}
