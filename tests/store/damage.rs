//! Files that are not what was written: an error, never a panic.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use latchkey_embedded::{OpenError, Options, PanicFate, Part, Store, panic_fate};
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
        assert_eq!(matches!(error, OpenError::Damaged { .. }), !bytes.is_empty(), "{error}");
        // Of an empty file without journals there is nothing to save.
        let advice = if bytes.is_empty() { "restore a backup" } else { "`latchkey store salvage" };
        assert!(error.to_string().contains(advice), "{error}");
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

/// How a process ends that the engine gives up, here.
const GIVEN_UP: i32 = 70;

/// In which rounds a process of its own looks at changed files.
const ROUNDS: &str = "LATCHKEY_TEST_DAMAGE_ROUNDS";

/// How many rounds such a process looks at.
const SHARE: usize = 250;

/// What has become of the files so far: refused, told, read; and the next round.
static FOUND: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Runs a test of this file again, in a process of its own: how it ended and what it found.
fn again(test: &str, rounds: &str) -> (Option<i32>, Vec<usize>) {
    let arguments = ["--exact", test, "--nocapture", "--include-ignored"];
    let mut command = Command::new(std::env::current_exe().unwrap());
    let done = command.args(arguments).env(ROUNDS, rounds).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let found = text.lines().find_map(|line| line.strip_prefix("found "));
    let ended = [Some(0), Some(GIVEN_UP)].contains(&done.status.code());
    assert!(ended, "{}: {text}{}", done.status, String::from_utf8_lossy(&done.stderr));
    let found = found.unwrap_or_default().split(' ').filter_map(|count| count.parse().ok());
    (done.status.code(), found.collect())
}

/// Ends the process, as the command does, where the engine panics while it cleans up after a panic.
fn give_up_on_a_second_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match panic_fate() {
        PanicFate::Foreign => usual(panic),
        PanicFate::Caught => {}
        PanicFate::Fatal => {
            tell_found();
            std::process::exit(GIVEN_UP);
        }
    }));
}

fn tell_found() {
    let found = FOUND.each_ref().map(|count| count.load(Ordering::SeqCst).to_string());
    let line = format!("\nfound {}\n", found.join(" "));
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// How many sizes of pages redb keeps a record of free regions for.
const SIZES: usize = 21;

/// Clears what redb keeps of the free regions of a map, wherever that is: how often it was found. That of single pages
/// stays, so that pages can be had, and none can be given back together with its neighbour.
fn clear_free_regions(map: &mut [u8]) -> usize {
    let mut found = 0;
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
    for at in 0..map.len() - 4 * (SIZES + 1) {
        let lengths = &map[at + 4..at + 4 * (SIZES + 1)];
        let length = number(&lengths[..4]);
        let same = lengths.chunks(4).all(|other| number(other) == length);
        let start = at + 4 * (SIZES + 1);
        if number(&map[at..at + 4]) != SIZES || !same || !(1..4096).contains(&length) {
            continue;
        }
        let end = (start + SIZES * length).min(map.len());
        map[(start + length).min(end)..end].fill(0);
        found += 1;
    }
    found
}

/// redb panics while it cleans up after a panic: no code can catch that. The process is told so before it ends, and
/// nothing is lost: the journals have what the map could not take.
#[test]
fn a_second_panic_of_the_engine_is_known_before_it_ends_the_process() {
    let table = Arc::new(Schema::new("Test").with_index("GSI1"));
    let mut parts = stored(&table);
    assert!(clear_free_regions(parts.get_mut(&Part::Map).unwrap()) > 0);
    let disk = Disk::with_parts(parts);
    let never = Options { fold_after: Duration::from_secs(3600), ..Options::default() };
    if std::env::var_os(ROUNDS).is_some() {
        give_up_on_a_second_panic();
        // Closing moves what is in the journals into the map.
        drop(Store::open_on(disk.opener(), &never).unwrap());
        panic!("the map took the changes: this test needs other damage");
    }
    let name = "damage::a_second_panic_of_the_engine_is_known_before_it_ends_the_process";
    assert_eq!(again(name, "0").0, Some(GIVEN_UP));
    let store = Store::open_on(disk.opener(), &never).unwrap();
    for n in 0..ITEMS {
        let get = Get { table: Arc::clone(&table), key: key(n), consistency: Consistency::Strong };
        let item = store.get(&get).unwrap().item.unwrap();
        assert_eq!(item.get("n"), Some(&Value::from(n)));
    }
    // It would fold when it closes.
    std::mem::forget(store);
}

/// Opens a store whose files were changed, and reads all of it: how many errors that makes, unless it is refused.
fn look(parts: Parts, table: &Arc<Schema>) -> Option<usize> {
    let Ok(store) = Store::open_on(Disk::with_parts(parts).opener(), &Options::default()) else {
        return None;
    };
    let mut errors = usize::from(store.verify(table).is_err());
    for n in 0..ITEMS {
        let (table, key) = (Arc::clone(table), key(n));
        match store.get(&Get { table, key, consistency: Consistency::Strong }) {
            Ok(got) => {
                let stored = got.item.and_then(|item| item.get("n").cloned());
                assert!(stored.is_none_or(|stored| stored == Value::from(n)), "invented");
            }
            Err(_) => errors += 1,
        }
    }
    Some(errors)
}

/// Looks at the changed files of some rounds.
fn look_at_rounds(from: usize, to: usize) {
    give_up_on_a_second_panic();
    let table = Arc::new(Schema::new("Test").with_index("GSI1"));
    let whole = stored(&table);
    for round in from..to {
        FOUND[3].store(round + 1, Ordering::SeqCst);
        let mut chance = Chance::new(77 + round as u64);
        let mut parts = whole.clone();
        let part = chance.of(&[Part::Map, Part::FirstJournal, Part::SecondJournal]);
        for _ in 0..=chance.below(4) {
            change(parts.entry(part).or_default(), &mut chance);
        }
        let looked = catch_unwind(AssertUnwindSafe(|| look(parts, &table)));
        let looked = looked.unwrap_or_else(|_| panic!("it panicked in round {round}, at {part:?}"));
        let at = looked.map_or(0, |errors| if errors > 0 { 1 } else { 2 });
        FOUND[at].fetch_add(1, Ordering::SeqCst);
    }
    tell_found();
}

#[test]
fn no_change_of_the_files_makes_the_store_panic_or_invent() {
    if let Ok(rounds) = std::env::var(ROUNDS) {
        let (from, to) = rounds.split_once(' ').unwrap();
        return look_at_rounds(from.parse().unwrap(), to.parse().unwrap());
    }
    let rounds = promise::rounds(250);
    let mut progress = Progress::new("files", rounds);
    let (mut refused, mut told, mut fine, mut ended, mut from) = (0, 0, 0, 0, 0);
    while from < rounds {
        let share = format!("{from} {}", (from + SHARE).min(rounds));
        let name = "damage::no_change_of_the_files_makes_the_store_panic_or_invent";
        let (code, found) = again(name, &share);
        let [more_refused, more_told, more_fine, next] = found[..] else { panic!("{found:?}") };
        refused += more_refused;
        told += more_told;
        fine += more_fine;
        ended += usize::from(code == Some(GIVEN_UP));
        progress.add(next - from);
        from = next;
    }
    assert!(refused > 0 && fine > 0, "{refused}, {told}, {fine}");
    assert_eq!(refused + told + fine + ended, rounds);
    println!(
        "{rounds} changed stores: {refused} refused, {told} with damage that was told, {fine} read, {ended} ended the process with \
         an error that says so; no panic got out of the store, 0 items invented, in {:?}",
        progress.spent()
    );
}
