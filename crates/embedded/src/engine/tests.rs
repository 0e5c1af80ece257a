//! A snapshot that is held while the store goes on.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::watch::Watch;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store in a directory whose journals turn with nearly every record.
fn open(directory: &Path) -> Engine {
    let file = directory.join("store.redb");
    if !file.exists() {
        Map::create(&file, 1 << 20).unwrap();
    }
    let limits = Limits { journal_bytes: 1, fold_after: Duration::from_secs(3600) };
    let source = Source::Files(Arc::new(Watch::new(directory.to_owned(), None)));
    let mut engine = Engine::open(source, 1 << 20, limits, &Progress::default()).unwrap();
    engine.start(Box::new(drop)).unwrap();
    engine
}

/// All that a snapshot has, by walks in both directions and by gets.
fn read(snapshot: &Snapshot) -> Pairs {
    let range = vec![1]..vec![2];
    let walk = |backwards| {
        let mut found = Vec::new();
        let visit = |key: &[u8], bytes: &[u8]| {
            found.push((key.to_vec(), bytes.to_vec()));
            Ok(Walk::On)
        };
        snapshot.walk(&range, backwards, visit).unwrap();
        found
    };
    let (forwards, mut backwards) = (walk(false), walk(true));
    backwards.reverse();
    assert_eq!(forwards, backwards);
    for (key, bytes) in &forwards {
        assert_eq!(snapshot.get(key, <[u8]>::to_vec).unwrap().as_ref(), Some(bytes));
    }
    forwards.into_iter().collect()
}

fn write(engine: &mut Engine, key: u8, value: Option<u8>) {
    let key = [1, key];
    let change = |group: &mut Group<'_, '_>| match value {
        Some(value) => group.insert(&key, &[value]),
        None => group.remove(&key),
    };
    engine.write(change, &drop).unwrap();
}

#[test]
fn a_snapshot_stays_as_it_was_over_many_folds() {
    let directory = tempfile::tempdir().unwrap();
    let mut engine = open(directory.path());
    let mut model = Pairs::new();
    let mut held = Vec::new();
    for round in 0..200u8 {
        let (key, value) = (round % 23, (round % 3 != 0).then_some(round));
        write(&mut engine, key, value);
        match value {
            Some(value) => drop(model.insert(vec![1, key], vec![value])),
            None => drop(model.remove(&vec![1, key])),
        }
        if round % 20 == 0 {
            held.push((engine.snapshot(), model.clone()));
        }
        assert_eq!(read(&engine.snapshot()), model, "{round}");
    }
    for (snapshot, model) in &held {
        assert_eq!(&read(snapshot), model);
    }
    engine.close(&drop);
    for (snapshot, model) in &held {
        // The file is closed: what is still in memory is read, and nothing else.
        for (key, bytes) in model {
            if let Ok(found) = snapshot.get(key, <[u8]>::to_vec) {
                assert_eq!(found.as_ref(), Some(bytes));
            }
        }
    }
    assert_eq!(read(&open(directory.path()).snapshot()), model);
}

#[test]
fn names_of_the_catalog_are_found_before_and_after_a_fold() {
    let directory = tempfile::tempdir().unwrap();
    let mut engine = open(directory.path());
    for round in 0..10u8 {
        engine.write(|group| group.insert_meta("stamp", &[round]), &drop).unwrap();
        engine.write(|group| group.insert_meta("stamq", &[9]), &drop).unwrap();
        assert_eq!(engine.meta("stamp").unwrap(), [("stamp".to_owned(), vec![round])]);
        assert_eq!(engine.meta("sta").unwrap().len(), 2);
    }
    engine.close(&drop);
    assert_eq!(open(directory.path()).meta("stamp").unwrap(), [("stamp".to_owned(), vec![9])]);
}

#[test]
fn a_pause_grows_with_what_is_behind() {
    assert_eq!(pause(0, 8 << 20), Duration::ZERO);
    assert!(pause(4 << 20, 8 << 20) < pause(6 << 20, 8 << 20));
    assert_eq!(pause(8 << 20, 8 << 20), PAUSE_MAX);
    assert_eq!(pause(1, 1), Duration::ZERO, "of less than a kilobyte");
}
