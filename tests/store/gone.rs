//! Files of a store that are removed, replaced or cut while it is open, and a disk that is nearly full.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use latchkey_embedded::{OpenError, Options, Pending, Store, private};
use latchkey_table::{
    Consistency, Error, Get, Item, Key, Put, ReadOnly, Returning, Schema, Value, Wrote,
};

const FILES: [&str; 3] = ["store.redb", "journal-0", "journal-1"];

/// What can happen to a file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Harm {
    Removed,
    MovedAway,
    Replaced,
    Cut,
    Emptied,
}

const HARMS: [Harm; 5] = [Harm::Removed, Harm::MovedAway, Harm::Replaced, Harm::Cut, Harm::Emptied];

impl Harm {
    fn happen(self, file: &Path) {
        let len = fs::metadata(file).unwrap().len();
        let aside = file.with_extension("aside");
        match self {
            Harm::Removed => fs::remove_file(file).unwrap(),
            Harm::MovedAway => fs::rename(file, aside).unwrap(),
            Harm::Replaced => {
                fs::copy(file, &aside).unwrap();
                fs::rename(aside, file).unwrap();
            }
            Harm::Cut => File::options().write(true).open(file).unwrap().set_len(len - 1).unwrap(),
            Harm::Emptied => drop(File::create(file).unwrap()),
        }
    }
}

/// Nothing is folded by the clock, so that the store has no other reason to look at its files.
fn options() -> Options {
    Options { fold_after: Duration::from_secs(3600), ..Options::default() }
}

fn open(directory: &Path, options: &Options) -> (Store, Arc<Schema>) {
    let store = Store::open(directory, options).unwrap();
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

/// What a file is: its bytes, or that it is not there.
fn state(file: &Path) -> Option<Vec<u8>> {
    file.exists().then(|| fs::read(file).unwrap())
}

#[test]
fn no_write_is_acknowledged_once_a_file_is_removed_replaced_or_cut() {
    // Thousands of writes were acknowledged by a store whose file was gone.
    for file in FILES {
        for harm in HARMS {
            let directory = tempfile::tempdir().unwrap();
            let (store, table) = open(directory.path(), &options());
            put(&store, &table, "A", 1).wait().unwrap();
            let path = directory.path().join(file);
            harm.happen(&path);
            // The first may have been on its way; it is not said to be made.
            for round in 0..50 {
                let answer = put(&store, &table, "A", 2).wait();
                let refused = Err(Error::ReadOnly { why: ReadOnly::FileGone });
                let unsure = round == 0 && matches!(answer, Err(Error::OutcomeUnknown { .. }));
                assert!(unsure || answer == refused, "{file} {harm:?} {round}: {answer:?}");
            }
            let made = store.create_table(&Arc::new(Schema::new("Other"))).wait();
            assert_eq!(made, Err(Error::ReadOnly { why: ReadOnly::FileGone }), "{file} {harm:?}");
            assert_eq!(read(&store, &table, "A"), Ok(Some(1)), "{file} {harm:?}");
        }
    }
}

#[test]
fn a_file_that_is_gone_is_noticed_without_a_write_and_nothing_is_written_when_the_store_closes() {
    let mut longest = Duration::ZERO;
    for file in FILES {
        for harm in HARMS {
            let directory = tempfile::tempdir().unwrap();
            let (store, table) = open(directory.path(), &options());
            for n in 0..100 {
                put(&store, &table, &format!("A{n}"), n).wait().unwrap();
            }
            assert_eq!(store.takes_writes(), Ok(()));
            let path = directory.path().join(file);
            harm.happen(&path);
            let started = Instant::now();
            while store.takes_writes() != Err(ReadOnly::FileGone) {
                assert!(started.elapsed() < Duration::from_secs(60), "{file} {harm:?}");
                thread::sleep(Duration::from_millis(5));
            }
            longest = longest.max(started.elapsed());
            let before = FILES.map(|file| state(&directory.path().join(file)));
            drop(store);
            let after = FILES.map(|file| state(&directory.path().join(file)));
            assert!(before == after, "{file} {harm:?}");
            // A journal that was cut looks like one whose last record was being written.
            let refused = Store::open(directory.path(), &options()).unwrap_err();
            assert!(matches!(refused, OpenError::Lost { .. }), "{file} {harm:?}: {refused}");
        }
    }
    println!("noticed after at most {longest:?}");
}

#[test]
fn a_store_whose_file_is_missing_is_not_made_anew_beside_its_journals() {
    let directory = tempfile::tempdir().unwrap();
    let (store, table) = open(directory.path(), &options());
    put(&store, &table, "A", 1).wait().unwrap();
    let (file, aside) = (directory.path().join("store.redb"), directory.path().join("aside"));
    fs::rename(&file, &aside).unwrap();
    drop(store);
    fs::remove_file(directory.path().join("lost.txt")).unwrap();
    for _ in 0..2 {
        let refused = Store::open(directory.path(), &options()).unwrap_err();
        assert!(matches!(refused, OpenError::Missing { .. }), "{refused}");
        assert!(refused.to_string().contains("journal-0"), "{refused}");
        assert!(!file.exists() && !directory.path().join("store.new").exists());
    }
    // Nothing was folded into the file after it was moved, so it and the journals still belong together.
    fs::rename(&aside, &file).unwrap();
    let (store, table) = open(directory.path(), &options());
    assert_eq!(read(&store, &table, "A"), Ok(Some(1)));
    put(&store, &table, "B", 2).wait().unwrap();
    assert_eq!(store.takes_writes(), Ok(()));
}

#[test]
fn files_grow_shrink_and_are_folded_without_being_taken_for_gone() {
    let directory = tempfile::tempdir().unwrap();
    let often = Options {
        journal_bytes: 20_000,
        fold_after: Duration::from_millis(20),
        ..Options::default()
    };
    let (store, table) = open(directory.path(), &often);
    let filler = "x".repeat(3000);
    for round in 0..2000_i64 {
        let key = format!("A{}", round % 700);
        let mut item = Item::from([("PK", "P"), ("SK", key.as_str()), ("filler", filler.as_str())]);
        item.insert("n", round);
        let request = Put { table: Arc::clone(&table), item, condition: None };
        store.put(request, Returning::Nothing).wait().unwrap();
        if round == 1000 {
            // The map is given other indexes, and what it no longer needs is freed.
            store.create_table(&Arc::new(Schema::new("Second"))).wait().unwrap();
        }
        assert_eq!(store.takes_writes(), Ok(()), "{round}");
    }
    drop(store);
    let (store, table) = open(directory.path(), &often);
    assert_eq!(store.verify(&table).unwrap().items, 700);
}

#[test]
fn a_disk_with_less_room_than_is_kept_free_refuses_writes_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let (store, table) = open(directory.path(), &options());
    put(&store, &table, "A", 1).wait().unwrap();
    drop(store);
    // As a disk that is full.
    let full = Options { keep_free: Some(u64::MAX), fold_after: Duration::ZERO, ..options() };
    for _ in 0..2 {
        let (store, table) = open(directory.path(), &full);
        let refused = Err(Error::ReadOnly { why: ReadOnly::NoRoom });
        assert_eq!(store.takes_writes(), Err(ReadOnly::NoRoom));
        let before = FILES.map(|file| state(&directory.path().join(file)));
        for n in 0..50 {
            assert_eq!(put(&store, &table, "A", n).wait().map(drop), refused);
            assert_eq!(read(&store, &table, "A"), Ok(Some(1)));
        }
        assert_eq!(store.create_table(&Arc::new(Schema::new("Other"))).wait(), refused);
        let after = FILES.map(|file| state(&directory.path().join(file)));
        assert!(before == after);
    }
    let (store, table) = open(directory.path(), &options());
    put(&store, &table, "A", 2).wait().unwrap();
    assert_eq!(read(&store, &table, "A"), Ok(Some(2)));
}

#[test]
fn whoever_removes_the_lock_lets_nobody_in() {
    // Both processes acknowledged writes, and those of the first were lost.
    let directory = tempfile::tempdir().unwrap();
    let (store, table) = open(directory.path(), &options());
    put(&store, &table, "A", 1).wait().unwrap();
    fs::remove_file(directory.path().join("lock")).unwrap();
    for _ in 0..2 {
        let refused = Store::open(directory.path(), &options()).unwrap_err();
        assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    }
    let linked = directory.path().join("linked");
    latchkey_embedded::private::make_directory(&linked).unwrap();
    for file in FILES {
        fs::hard_link(directory.path().join(file), linked.join(file)).unwrap();
    }
    let refused = Store::open(&linked, &options()).unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
    put(&store, &table, "A", 2).wait().unwrap();
    drop(store);
    let (store, table) = open(directory.path(), &options());
    assert_eq!(read(&store, &table, "A"), Ok(Some(2)));
}

#[test]
fn a_link_that_leads_elsewhere_later_is_no_loss() {
    // `lost.txt` was written to the directory that the link led to by then.
    let directory = tempfile::tempdir().unwrap();
    let [one, other, link] = ["one", "other", "link"].map(|name| directory.path().join(name));
    drop(open(&other, &options()));
    drop(open(&one, &options()));
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let (store, table) = open(&link, &options());
    put(&store, &table, "A", 1).wait().unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    put(&store, &table, "A", 2).wait().unwrap();
    fs::remove_file(one.join("store.redb")).unwrap();
    assert!(put(&store, &table, "A", 3).wait().is_err());
    assert!(one.join("lost.txt").exists() && !other.join("lost.txt").exists());
}

#[test]
fn a_store_knows_when_it_was_written_before_it_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (store, table) = open(directory.path(), &options());
    assert_eq!(store.written_before(), None);
    put(&store, &table, "A", 1).wait().unwrap();
    drop(store);
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for file in FILES {
        let file = fs::File::options().write(true).open(directory.path().join(file)).unwrap();
        file.set_modified(then).unwrap();
    }
    let (store, _) = open(directory.path(), &options());
    assert_eq!(store.written_before(), Some(then));
}

// Where the disk of a linked store was not mounted, a new empty store took the place of the link.
#[test]
fn a_link_to_a_store_that_is_not_there_is_refused_and_left() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    private::make_directory(&data).unwrap();
    let (link, target) = (data.join("store.redb"), directory.path().join("disk/store.redb"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = Store::open(&data, &Options::default()).unwrap_err().to_string();
    assert!(refused.contains(&target.display().to_string()), "{refused}");
    assert_eq!(fs::read_link(&link).unwrap(), target);
}

// `/ready` answered 200 while every write was refused, because the journals could not be made.
#[test]
fn a_store_whose_journals_cannot_be_made_says_that_it_takes_no_writes_until_they_can() {
    for journal in ["journal-0", "journal-1"] {
        let directory = tempfile::tempdir().unwrap();
        let (store, table) = open(directory.path(), &options());
        let link = directory.path().join(journal);
        std::os::unix::fs::symlink(directory.path().join("none/journal"), &link).unwrap();
        assert_eq!(store.takes_writes(), Ok(()), "nobody knows before the first write");
        for n in 0..3 {
            let refused = Err(Error::ReadOnly { why: ReadOnly::JournalFails });
            assert_eq!(put(&store, &table, "A", n).wait(), refused, "{journal}");
            assert_eq!(store.takes_writes(), Err(ReadOnly::JournalFails), "{journal}");
        }
        assert_eq!(read(&store, &table, "A"), Ok(None), "reads go on");
        fs::remove_file(&link).unwrap();
        // They are tried again without a write.
        let started = Instant::now();
        while store.takes_writes().is_err() {
            assert!(started.elapsed() < Duration::from_secs(60), "{journal} is not tried again");
            thread::sleep(Duration::from_millis(5));
        }
        put(&store, &table, "A", 7).wait().unwrap();
        drop(store);
        let (store, table) = open(directory.path(), &options());
        assert_eq!(read(&store, &table, "A"), Ok(Some(7)), "{journal}");
    }
}

// A server started, and refused every write; or it made the file where the link leads.
#[test]
fn a_link_to_a_journal_or_a_lock_that_is_not_there_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    for file in ["journal-0", "journal-1", "lock"] {
        let directory = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join(file);
        let link = directory.path().join(file);
        drop(open(directory.path(), &options()));
        fs::remove_file(&link).ok();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let refused = Store::open(directory.path(), &options()).unwrap_err().to_string();
        let told = format!("`{}` is a link to `{}`", link.display(), target.display());
        assert!(refused.contains(&told), "{refused}");
        assert!(refused.contains("mount the disk that has it"), "{refused}");
        assert!(!target.exists(), "nothing is made where {file} leads");
        fs::remove_file(&link).unwrap();
        drop(open(directory.path(), &options()));
    }
}
