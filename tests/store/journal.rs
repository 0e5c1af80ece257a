//! Journals that are torn, have a gap, or belong to another store; folds that fail; bits that flip.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{OpenError, Options, Part, Store};
use latchkey_table::{
    Consistency, Direction, Error, Get, Item, Key, Put, Query, Returning, Schema, SortRange, Value,
};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::disk::{Disk, Parts};

/// Where the records of a journal begin.
const START: usize = 4096;

const JOURNALS: [Part; 2] = [Part::FirstJournal, Part::SecondJournal];

/// Options with which nothing is folded unless a journal has so many bytes.
fn options(journal_bytes: u64) -> Options {
    Options { journal_bytes, fold_after: Duration::from_secs(3600), ..Options::default() }
}

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Test").with_index("GSI1"))
}

fn open(disk: &Disk, options: &Options) -> (Store, Arc<Schema>) {
    let (store, table) = (Store::open_on(disk.opener(), options).unwrap(), table());
    store.create_table(&table).wait().unwrap();
    (store, table)
}

fn try_put(store: &Store, n: i64, filler: usize) -> Result<(), Error> {
    let (sort, filler) = (format!("{n:04}"), "x".repeat(filler));
    let mut item = Item::from([("PK", "P"), ("SK", &sort), ("GSI1PK", "A"), ("GSI1SK", &sort)]);
    item.insert("n", n);
    item.insert("filler", filler.as_str());
    store.put(Put { table: table(), item, condition: None }, Returning::Nothing).wait().map(drop)
}

fn put(store: &Store, n: i64) {
    try_put(store, n, 100).unwrap();
}

fn get(store: &Store, n: i64) -> Result<Option<Item>, Error> {
    let key = Key::new("P", format!("{n:04}"));
    Ok(store.get(&Get { table: table(), key, consistency: Consistency::Strong })?.item)
}

/// All items by the table or its index, in either order.
fn all(store: &Store, index: Option<&str>, direction: Direction) -> Result<Vec<i64>, Error> {
    let query = Query {
        table: table(),
        index: index.map(Into::into),
        partition: if index.is_some() { "A" } else { "P" }.into(),
        range: SortRange::All,
        filter: None,
        direction,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    };
    let items = store.query(&query)?.items;
    let number = |item: &Item| item.get("n").and_then(Value::as_number).unwrap().to_i64().unwrap();
    Ok(items.iter().map(number).collect())
}

/// What is on the disk of a store that is killed after it was written to so often, without folds from some write on.
fn killed(writes: i64, folded: i64) -> Parts {
    let disk = Disk::default();
    let (store, _) = open(&disk, &options(1 << 20));
    (0..folded).for_each(|n| put(&store, n));
    drop(store);
    let (store, _) = open(&disk, &options(1 << 20));
    (folded..writes).for_each(|n| put(&store, n));
    disk.parts()
}

/// A store on a copy of a disk.
fn opened(parts: &Parts) -> Result<Store, OpenError> {
    Store::open_on(Disk::with_parts(parts.clone()).opener(), &options(1 << 20))
}

fn refusal(parts: &Parts) -> String {
    opened(parts).unwrap_err().to_string()
}

/// Where each record of the only journal with records begins, and where the last one ends.
fn records(parts: &Parts, journal: Part) -> Vec<usize> {
    let bytes = &parts[&journal];
    let mut at = START;
    let mut found = vec![at];
    while bytes[at..at + 8] == bytes[START..START + 8] && bytes[at..at + 8] != [0; 8] {
        let len = u32::from_be_bytes(bytes[at + 16..at + 20].try_into().unwrap());
        at += (24 + len as usize).next_multiple_of(8);
        found.push(at);
    }
    found
}

fn active(parts: &Parts) -> Part {
    let has = |part: &Part| parts[part].get(START..START + 8).is_some_and(|mark| mark != [0; 8]);
    JOURNALS.into_iter().find(has).unwrap()
}

#[test]
fn what_is_only_in_a_journal_is_there_after_a_kill() {
    for (writes, folded) in [(1, 0), (2, 1), (300, 0), (300, 299), (300, 100)] {
        let parts = killed(writes, folded);
        let store = opened(&parts).unwrap();
        let expected: Vec<i64> = (0..writes).collect();
        assert_eq!(all(&store, None, Direction::Ascending).unwrap(), expected);
        let mut backwards = all(&store, Some("GSI1"), Direction::Descending).unwrap();
        backwards.reverse();
        assert_eq!(backwards, expected);
        assert_eq!(store.verify(&table()).unwrap().items, writes as u64);
    }
}

#[test]
fn a_torn_tail_ends_the_log_and_writes_go_on_behind_it() {
    let parts = killed(5, 0);
    let journal = active(&parts);
    let ends = records(&parts, journal);
    assert_eq!(ends.len(), 6, "five records");
    for at in ends[4]..ends[5] {
        // Nothing from here on reached the disk.
        let mut torn = parts.clone();
        torn.get_mut(&journal).unwrap()[at..ends[5]].fill(0);
        let whole = torn == parts || at > ends[5] - 8;
        let disk = Disk::with_parts(torn);
        let (store, _) = open(&disk, &options(1 << 20));
        let found = all(&store, None, Direction::Ascending).unwrap();
        assert!(found == [0, 1, 2, 3] || (whole && found.len() == 5), "{at}: {found:?}");
        if at % 16 == 0 {
            put(&store, 7);
            let parts = disk.parts();
            let store = opened(&parts).unwrap();
            assert!(get(&store, 7).unwrap().is_some(), "{at}");
        }
    }
}

#[test]
fn a_record_that_is_damaged_in_the_middle_is_refused() {
    let parts = killed(5, 0);
    let journal = active(&parts);
    let ends = records(&parts, journal);
    for at in START..ends[4] {
        let mut damaged = parts.clone();
        damaged.get_mut(&journal).unwrap()[at] ^= 0x10;
        match opened(&damaged) {
            Ok(store) => {
                // Only the zeros that fill up a record mean nothing.
                assert_eq!(parts[&journal][at], 0, "{at}");
                assert_eq!(all(&store, None, Direction::Ascending).unwrap(), [0, 1, 2, 3, 4]);
            }
            Err(error) => assert!(error.to_string().contains("acknowledged"), "{error}"),
        }
    }
}

#[test]
fn a_journal_that_is_missing_or_of_another_store_is_refused() {
    let (parts, other) = (killed(5, 2), killed(5, 2));
    let journal = active(&parts);
    for part in JOURNALS {
        let mut missing = parts.clone();
        missing.remove(&part);
        let told = refusal(&missing);
        assert!(
            told.contains("is missing, and acknowledged writes may be in it: put it"),
            "{told}"
        );
        let mut foreign = parts.clone();
        foreign.insert(part, other[&part].clone());
        let told = refusal(&foreign);
        assert!(told.contains("belongs to another store: put the `store.redb` back"), "{told}");
        let mut damaged = parts.clone();
        damaged.get_mut(&part).unwrap()[5] ^= 1;
        assert!(refusal(&damaged).contains("is damaged, and acknowledged writes"), "{part:?}");
    }
    // An older copy of the map, which lacks what was folded since.
    let older = Disk::with_parts(parts.clone());
    let (store, _) = open(&older, &options(1 << 20));
    drop(store);
    let (store, _) = open(&older, &options(1 << 20));
    put(&store, 9);
    let mut mixed = older.parts();
    mixed.insert(Part::Map, parts[&Part::Map].clone());
    let told = refusal(&mixed);
    assert!(told.contains("lack the records from") && told.contains("belong together"), "{told}");
    assert!(opened(&parts).is_ok(), "{journal:?}");
    // A map that was closed before the journals were written.
    let disk = Disk::default();
    let (store, _) = open(&disk, &options(1 << 20));
    put(&store, 1);
    drop(store);
    let closed = disk.parts();
    let (store, _) = open(&disk, &options(2_000));
    for n in 2..40 {
        // The journals are written in turns.
        put(&store, n);
        let mut mixed = disk.parts();
        mixed.insert(Part::Map, closed[&Part::Map].clone());
        let told = refusal(&mixed);
        assert!(told.contains("may be an older copy"), "{n}: {told}");
    }
    let killed = disk.parts();
    drop(store);
    // However damaged one of the journals is, and whether or not it is there.
    for newer in [killed, disk.parts()] {
        for part in JOURNALS {
            for damage in 0..4 {
                let mut mixed = newer.clone();
                mixed.insert(Part::Map, closed[&Part::Map].clone());
                match damage {
                    0 => drop(mixed.remove(&part)),
                    1 => mixed.get_mut(&part).unwrap()[5] ^= 1,
                    2 => mixed.get_mut(&part).unwrap()[START + 30] ^= 1,
                    _ => {}
                }
                let told = refusal(&mixed);
                assert!(told.contains("may be an older copy"), "{part:?}, {damage}: {told}");
            }
        }
    }
    // Without its journals a store that was closed is whole.
    let alone = Parts::from([(Part::Map, closed[&Part::Map].clone())]);
    assert_eq!(all(&opened(&alone).unwrap(), None, Direction::Ascending).unwrap(), [1]);
}

// Of two journals of which one was a copy of the other, what only one had was lost without a word.
#[test]
fn a_journal_that_is_a_copy_of_the_other_is_refused() {
    let disk = Disk::default();
    let (store, _) = open(&disk, &options(2_000));
    // Whether the map holds the journal that is copied, or not, or the newer one is copied.
    for n in 0..60 {
        put(&store, n);
        let parts = disk.parts();
        assert!(opened(&parts).is_ok(), "{n}");
        for (from, to) in [(JOURNALS[0], JOURNALS[1]), (JOURNALS[1], JOURNALS[0])] {
            let mut copied = parts.clone();
            // Of a journal without records nothing can be told.
            if parts[&from].get(START..START + 24).is_none_or(|head| head.iter().all(|b| *b == 0)) {
                continue;
            }
            copied.insert(to, parts[&from].clone());
            let refused = opened(&copied).map(drop).unwrap_err();
            assert!(matches!(refused, OpenError::Damaged { .. }), "{n}: {refused}");
            assert!(refused.to_string().contains("is a copy of the other"), "{n}: {refused}");
        }
    }
}

/// Waits for what another thread does.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_fold_that_fails_loses_nothing_and_is_tried_again() {
    // Every point at which a fold can fail, until the folds of a run all go through.
    for changes in (0..400).step_by(3) {
        let disk = Disk::default();
        let (store, _) = open(&disk, &options(2_000));
        put(&store, 0);
        disk.fail_part_after(Part::Map, changes);
        let mut written = 1;
        let failed = (1..60).find_map(|n| {
            assert_eq!(all(&store, None, Direction::Ascending).unwrap().len() as i64, n);
            let outcome = try_put(&store, n, 100);
            written = n + i64::from(outcome.is_ok());
            outcome.err()
        });
        match failed {
            None => assert_eq!(written, 60),
            Some(error) => assert!(matches!(error, Error::Unavailable { .. }), "{error}"),
        }
        // What is there is read throughout, and is there after a kill.
        let expected: Vec<i64> = (0..written).collect();
        assert_eq!(all(&store, None, Direction::Ascending).unwrap(), expected);
        assert_eq!(
            all(&opened(&disk.parts()).unwrap(), None, Direction::Ascending).unwrap(),
            expected
        );
        disk.fail_after(None);
        until("writes go on", || try_put(&store, 60, 100).is_ok());
        assert!(get(&store, 60).unwrap().is_some());
        store.verify(&table()).unwrap();
        drop(store);
        let store = opened(&disk.parts()).unwrap();
        assert_eq!(store.verify(&table()).unwrap().items, written as u64 + 1);
    }
}

#[test]
fn a_journal_that_cannot_be_written_leaves_a_write_in_doubt_and_no_gap() {
    for changes in 0..4 {
        for part in JOURNALS {
            let disk = Disk::default();
            let (store, _) = open(&disk, &options(1 << 20));
            put(&store, 0);
            disk.fail_part_after(part, changes);
            let mut doubt = Vec::new();
            for n in 1..5 {
                match try_put(&store, n, 100) {
                    Ok(()) => {}
                    Err(Error::OutcomeUnknown { .. }) => doubt.push(n),
                    Err(Error::Unavailable { .. }) => {
                        assert!(get(&store, n).unwrap().is_none(), "refused, and made");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(doubt.len() <= 1, "nothing is tried while a write is in doubt: {doubt:?}");
            // A kill here finds the one in doubt or not, and all that was acknowledged.
            assert!(get(&opened(&disk.parts()).unwrap(), 0).unwrap().is_some());
            disk.fail_after(None);
            put(&store, 9);
            for n in doubt {
                assert!(get(&store, n).unwrap().is_some(), "it is made, for others come behind it");
            }
            let store = opened(&disk.parts()).unwrap();
            assert!(get(&store, 9).unwrap().is_some());
            store.verify(&table()).unwrap();
        }
    }
}

#[test]
fn folds_and_turns_change_no_answer() {
    let disk = Disk::default();
    // A turn with nearly every write.
    let (store, _) = open(&disk, &options(1));
    let mut model = BTreeMap::new();
    for round in 0..400i64 {
        let n = round * 7 % 50;
        try_put(&store, n, usize::try_from(round).unwrap()).unwrap();
        model.insert(n, round);
        let expected: Vec<i64> = model.keys().copied().collect();
        assert_eq!(all(&store, None, Direction::Ascending).unwrap(), expected, "{round}");
        assert_eq!(all(&store, Some("GSI1"), Direction::Ascending).unwrap(), expected, "{round}");
        for (n, filler) in &model {
            let item = get(&store, *n).unwrap().unwrap();
            assert_eq!(item.get("filler").unwrap().as_text().unwrap().len() as i64, *filler);
        }
    }
}

/// With one bit flipped anywhere, a store refuses to open, or answers with an error or the truth for every item that it
/// has. What it cannot tell is that an item is missing for which the map has no way left: `verify` says so.
#[test]
fn a_flipped_bit_never_changes_an_item() {
    let disk = Disk::default();
    let (store, _) = open(&disk, &options(1 << 20));
    (0..20).for_each(|n| put(&store, n));
    let truth: Vec<_> = (0..20).map(|n| get(&store, n).unwrap().unwrap()).collect();
    drop(store);
    let parts = disk.parts();
    let map = &parts[&Part::Map];
    // The pages with items and index entries. In pages of redb's own, redb may abort the process when it closes.
    let has = |page: &[u8], text: &[u8]| page.windows(text.len()).any(|bytes| bytes == text);
    let pages: Vec<usize> = (0..map.len() / 4096)
        .filter(|page| has(&map[page * 4096..][..4096], b"\x00P\x00000"))
        .collect();
    assert!(!pages.is_empty());
    let bytes = pages.iter().flat_map(|page| page * 4096..(page + 1) * 4096);
    for (nth, at) in bytes.filter(|at| map[*at] != 0).step_by(3).enumerate() {
        let mut flipped = parts.clone();
        flipped.get_mut(&Part::Map).unwrap()[at] ^= 1 << (nth % 8);
        let Ok(store) = opened(&flipped) else { continue };
        for (n, truth) in truth.iter().enumerate() {
            if let Ok(Some(item)) = get(&store, n as i64) {
                assert_eq!(&item, truth, "bit {nth} at {at}");
            }
        }
        for index in [None, Some("GSI1")] {
            if let Ok(found) = all(&store, index, Direction::Ascending) {
                assert!(found.is_sorted(), "bit {nth} at {at}: {found:?}");
            }
        }
    }
}

/// Makes what this release has written in a directory what the one before journals and checksums would have written.
fn downgrade(file: &std::path::Path) {
    let items: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("items");
    let meta: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let database = Database::open(file).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let mut items = transaction.open_table(items).unwrap();
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = items
            .iter()
            .unwrap()
            .map(Result::unwrap)
            .map(|(key, bytes)| (key.value().to_vec(), bytes.value().to_vec()))
            .collect();
        for (key, bytes) in pairs {
            // An index entry has a checksum alone.
            let plain = if bytes.len() == 4 { &[] } else { &bytes[6..] };
            items.insert(key.as_slice(), plain).unwrap();
        }
        let mut meta = transaction.open_table(meta).unwrap();
        meta.insert("format", 1u32.to_be_bytes().as_slice()).unwrap();
        meta.remove("head").unwrap();
        let table = meta.get("table/Test").unwrap().unwrap().value()[6..].to_vec();
        meta.insert("table/Test", table.as_slice()).unwrap();
    }
    transaction.commit().unwrap();
}

fn format(file: &std::path::Path) -> u32 {
    let meta: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let transaction = Database::open(file).unwrap().begin_read().unwrap();
    let format = transaction.open_table(meta).unwrap().get("format").unwrap().unwrap();
    u32::from_be_bytes(format.value().try_into().unwrap())
}

#[test]
fn a_store_of_format_1_opens_and_has_format_2_from_its_first_write_on() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store.redb");
    let open = || Store::open(directory.path(), &options(1 << 20)).unwrap();
    let store = open();
    store.create_table(&table()).wait().unwrap();
    (0..20).for_each(|n| put(&store, n));
    let truth: Vec<_> = (0..20).map(|n| get(&store, n).unwrap()).collect();
    drop(store);
    downgrade(&file);
    for journal in ["journal-0", "journal-1"] {
        std::fs::remove_file(directory.path().join(journal)).unwrap();
    }
    let store = open();
    store.create_table(&table()).wait().unwrap();
    let check = |store: &Store| {
        (0..20).zip(&truth).for_each(|(n, truth)| assert_eq!(&get(store, n).unwrap(), truth));
        let expected: Vec<i64> = (0..20).collect();
        assert_eq!(all(store, Some("GSI1"), Direction::Ascending).unwrap()[..20], expected);
        store.verify(&table()).unwrap();
    };
    check(&store);
    drop(store);
    assert_eq!(format(&file), 1, "only read");
    let store = open();
    put(&store, 20);
    check(&store);
    drop(store);
    assert_eq!(format(&file), 2);
    check(&open());
}
