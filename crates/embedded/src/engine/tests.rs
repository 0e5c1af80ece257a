//! A snapshot that is held while the store goes on.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::storage::Part;
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

/// Storage in memory, which may be forbidden to grow: the map at all, a journal beyond 2 MiB.
#[derive(Debug, Clone)]
struct Limited {
    kept: Arc<redb::backends::InMemoryBackend>,
    part: Part,
    is_limited: Arc<AtomicBool>,
}

impl Limited {
    fn may_reach(&self, end: u64) -> io::Result<()> {
        let max = if self.part == Part::Map { 0 } else { 2 << 20 };
        match self.is_limited.load(Ordering::Relaxed) && end > max {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(()),
        }
    }
}

impl redb::StorageBackend for Limited {
    fn len(&self) -> io::Result<u64> {
        self.kept.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.kept.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.may_reach(len)?;
        self.kept.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.kept.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset + u64::try_from(data.len()).unwrap();
        self.may_reach(end)?;
        if self.kept.len()? < end {
            self.kept.set_len(end)?;
        }
        self.kept.write(offset, data)
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_told_as_one_until_files_may_grow() {
    // `/ready` answered 200 while every write was refused, for want of room on a disk that had room.
    let is_limited = Arc::new(AtomicBool::new(false));
    let parts = Part::ALL.map(|part| {
        let (kept, is_limited) = (Arc::default(), Arc::clone(&is_limited));
        Limited { kept, part, is_limited }
    });
    let make = move |part| -> Box<dyn redb::StorageBackend> {
        Box::new(parts.iter().find(|limited| limited.part == part).unwrap().clone())
    };
    // The journal turns early, and then reaches the limit.
    let limits = Limits { journal_bytes: 1 << 20, fold_after: Duration::from_secs(3600) };
    let source = Source::Custom(Box::new(make));
    let mut engine = Engine::open(source, 1 << 20, limits, &Progress::default()).unwrap();
    engine.start(Box::new(drop)).unwrap();
    let core = engine.core();
    let mut put = |key: u8| {
        let change = |group: &mut Group<'_, '_>| group.insert(&[1, key], &[key; 100_000]);
        engine.write(change, &drop)
    };
    put(0).unwrap();
    assert_eq!(core.takes_writes(), Ok(()));
    is_limited.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut key = 1;
    while core.takes_writes().is_ok() {
        assert!(Instant::now() < deadline, "it is not told");
        match put(key) {
            Ok(()) => key += 1,
            Err(failure) => {
                assert!(
                    matches!(failure, WriteFailure::Refused(ReadOnly::FileLimit)),
                    "{failure:?}"
                );
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
    assert_eq!(core.takes_writes(), Err(ReadOnly::FileLimit));
    is_limited.store(false, Ordering::Relaxed);
    while core.takes_writes().is_err() {
        assert!(Instant::now() < deadline, "it is told although files may grow");
        thread::sleep(Duration::from_millis(5));
    }
    put(0).unwrap();
}
