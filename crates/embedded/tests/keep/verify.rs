//! Whole stores are checked, and whatever would be served differently is told.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use latchkey_embedded::{Checked, Damage, Options, Store, check_directory, restore};
use latchkey_table::{Item, Put, Returning, Scan, Schema, Text};

const FILES: [&str; 3] = ["store.redb", "journal-0", "journal-1"];

pub(crate) fn small() -> Options {
    // Nothing is folded before the store closes.
    let fold_after = Duration::from_secs(3600);
    Options { cache_bytes: 4 << 20, fold_after, ..Options::default() }
}

pub(crate) fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Test").with_index("GSI1"))
}

pub(crate) fn put(store: &Store, table: &Arc<Schema>, partition: usize, sort: usize, text: &str) {
    let (pk, sk) = (format!("P{partition:02}"), format!("{sort:05}"));
    let item = [("PK", &*pk), ("SK", &*sk), ("GSI1PK", "A"), ("GSI1SK", &*sk), ("text", text)];
    let put = Put { table: Arc::clone(table), item: Item::from(item), condition: None };
    store.put(put, Returning::Nothing).wait().unwrap();
}

/// A store whose map has branches, and whose journals have writes.
pub(crate) fn fill(path: &Path, items: usize) {
    let (table, store) = (table(), Store::open(path, &small()).unwrap());
    store.create_table(&table).wait().unwrap();
    for n in 0..items {
        put(&store, &table, n % 7, n, &"x".repeat(100 + n % 50));
    }
    drop(store);
    let store = Store::open(path, &small()).unwrap();
    for n in 0..items / 10 {
        put(&store, &table, n % 7, n * 3, "changed");
    }
    // As a kill leaves it.
    let left = tempfile::tempdir().unwrap();
    copy(path, left.path());
    drop(store);
    copy(left.path(), path);
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for name in FILES {
        fs::copy(from.join(name), to.join(name)).unwrap();
        fs::set_permissions(to.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

pub(crate) fn check(path: &Path) -> (Checked, Vec<Damage>) {
    let mut damages = Vec::new();
    let found = &mut |damage| damages.push(damage);
    let checked = check_directory(path, &small(), &mut |_| ControlFlow::Continue(()), found);
    (checked.unwrap(), damages)
}

/// Every item that a store serves.
pub(crate) fn served(store: &Store) -> Result<Vec<Item>, latchkey_table::Error> {
    let mut items = Vec::new();
    let mut after = None;
    loop {
        let (table, partition_prefix) = (table(), Text::default());
        let page = store.scan(&Scan { table, partition_prefix, after, items_max: 1000 })?;
        items.extend(page.items);
        match page.resume {
            Some(resume) => after = Some(resume),
            None => return Ok(items),
        }
    }
}

#[test]
fn a_sound_store_is_sound_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 2000);
    let before = files(directory.path());
    let (checked, damages) = check(directory.path());
    assert_eq!(damages, []);
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap().len() as u64;
    assert_eq!((checked.tables, checked.items, checked.entries), (1, expected, expected));
    copy_back(directory.path(), &before);
    check(directory.path());
    assert!(before == files(directory.path()), "a check has written");
}

pub(crate) fn files(path: &Path) -> [Vec<u8>; 3] {
    FILES.map(|name| fs::read(path.join(name)).unwrap())
}

pub(crate) fn copy_back(path: &Path, files: &[Vec<u8>; 3]) {
    for (name, bytes) in FILES.iter().zip(files) {
        fs::write(path.join(name), bytes).unwrap();
    }
}

// redb compares no checksum when it reads a page, so a branch that leads elsewhere hid items, and nobody noticed.
#[test]
fn a_branch_that_leads_past_items_is_told() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 3000);
    // Closed in order: redb looks at nothing when it opens it again.
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    let files = files(directory.path());
    let mut otherwise = 0;
    for (to, from) in crossings(&files[0]) {
        let mut damaged = files.clone();
        damaged[0].copy_within(from..from + 8, to);
        damaged[0][from..from + 8].copy_from_slice(&files[0][to..to + 8]);
        copy_back(directory.path(), &damaged);
        let (_, offline) = check(directory.path());
        let Ok(store) = Store::open(directory.path(), &small()) else { continue };
        let now = served(&store);
        let mut online = Vec::new();
        let go_on = &mut |_| ControlFlow::Continue(());
        store.view().check(go_on, &mut |found| online.push(found));
        if !matches!(&now, Ok(items) if *items == expected) {
            let told = (offline.is_empty(), online.is_empty());
            let count = now.as_ref().map(Vec::len);
            assert_eq!(told, (false, false), "at {to}: {count:?} items are served");
        }
        otherwise += usize::from(now.is_ok_and(|items| items != expected));
    }
    eprintln!("{otherwise} times other items were served");
    assert!(otherwise > 0);
}

/// Places of pointers in branches, each with the place of the one before it.
fn crossings(map: &[u8]) -> Vec<(usize, usize)> {
    let mut crossings = Vec::new();
    for start in (0..map.len()).step_by(4096).filter(|start| map[*start] == 2) {
        let children = usize::from(u16::from_le_bytes([map[start + 2], map[start + 3]])) + 1;
        let at = |nth: usize| start + 8 + 16 * children + 8 * nth;
        for nth in (1..children).step_by(5).filter(|_| at(children) < start + 4096) {
            crossings.push((at(nth), at(nth - 1)));
        }
    }
    crossings.truncate(60);
    crossings
}

// Of 219 copies with flipped bits, 54 were served as if nothing had happened.
#[test]
fn what_would_be_served_differently_is_told() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 1500);
    let files = files(directory.path());
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    let (mut told, mut harmless, mut hidden) = (0, 0, 0);
    for (at, bit) in flips(&files, count(60)) {
        let mut damaged = files.clone();
        damaged[at.0][at.1] ^= bit;
        copy_back(directory.path(), &damaged);
        let (checked, damages) = check(directory.path());
        assert_eq!(checked.damages, damages.len() as u64);
        let now = Store::open(directory.path(), &small()).ok().map(|store| {
            let items = served(&store);
            // Closing it would write to the files of this copy alone.
            drop(store);
            items
        });
        match now {
            Some(Ok(items)) if items == expected => {
                harmless += usize::from(damages.is_empty());
                told += usize::from(!damages.is_empty());
            }
            other => {
                // The last record of a journal looks like one that was being written.
                let cut = at.0 > 0 && matches!(other, Some(Ok(_)));
                hidden += usize::from(matches!(other, Some(Ok(_))));
                assert!(cut || !damages.is_empty(), "{} at {}: {other:?}", FILES[at.0], at.1);
                told += 1;
            }
        }
    }
    eprintln!("{told} told, {harmless} harmless, {hidden} served differently");
    assert!(told > 0);
}

/// Places to flip a bit at: the parts that are in use, spread over each file.
pub(crate) fn flips(files: &[Vec<u8>; 3], count: usize) -> Vec<((usize, usize), u8)> {
    let mut used = Vec::new();
    for (file, bytes) in files.iter().enumerate() {
        let there = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
        used.extend(there.map(|(at, _)| (file, at)));
    }
    // The first pages of the map have its structure.
    let structure: Vec<_> = (0..2 * 4096).map(|at| (0, at)).collect();
    let mut seed = 7u64;
    let mut next = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let mut flips = Vec::new();
    for n in 0..count {
        let at = if n % 8 == 0 { structure[next(structure.len())] } else { used[next(used.len())] };
        flips.push((at, 1 << next(8)));
    }
    flips
}

#[test]
fn a_check_of_an_open_store_sees_one_instant_and_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 1000);
    let (table, store) = (table(), Store::open(directory.path(), &small()).unwrap());
    let view = store.view();
    let before = served(&store).unwrap().len() as u64;
    put(&store, &table, 1, 99_999, "later");
    let mut damages = Vec::new();
    let checked = view.check(&mut |_| ControlFlow::Continue(()), &mut |found| damages.push(found));
    assert_eq!((checked.items, damages.len(), checked.stopped), (before, 0, false));
    let checked = view.check(&mut |_| ControlFlow::Break(()), &mut |_| {});
    assert!(checked.stopped && checked.items < before);
}

#[test]
fn beside_writes_and_folds_nothing_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (table, restored) = (table(), tempfile::tempdir().unwrap());
    let (journal_bytes, fold_after) = (32 * 1024, Duration::from_millis(20));
    let store = Store::open(directory.path(), &Options { journal_bytes, fold_after, ..small() });
    let store = store.unwrap();
    store.create_table(&table).wait().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                put(&store, &table, n % 5, n % 700, &n.to_string().repeat(40));
            }
        });
        for round in 0..20 {
            let view = store.view();
            let mut damages = Vec::new();
            let mut go_on = |_| ControlFlow::Continue(());
            let checked = view.check(&mut go_on, &mut |found| damages.push(found));
            assert_eq!(damages, [], "round {round}");
            let mut file = Vec::new();
            let saved = view.back_up(&mut file, &mut go_on).unwrap();
            assert_eq!(saved.keys, checked.items + checked.entries);
            let to = restored.path().join(round.to_string());
            restore(&mut file.as_slice(), &to, &small(), &mut go_on).unwrap();
            assert_eq!(check(&to).1, [], "round {round}");
        }
        done.store(true, Ordering::Relaxed);
    });
    // As a kill after folds leaves it.
    std::thread::sleep(Duration::from_millis(300));
    let left = tempfile::tempdir().unwrap();
    copy(directory.path(), left.path());
    assert_eq!(check(left.path()).1, []);
    drop(store);
    assert_eq!(check(directory.path()).1, []);
}

/// How many copies are damaged: `LATCHKEY_FLIPS`, or a few.
pub(crate) fn count(few: usize) -> usize {
    std::env::var("LATCHKEY_FLIPS").map_or(few, |count| count.parse().unwrap())
}

// Where the table was not known, it read `, key `P`it belongs to no table`.
#[test]
fn a_damage_names_what_is_known_of_its_place() {
    let (table, index, key) = (Some("T".into()), Some("I".into()), Some("K".to_owned()));
    let what = || "it is damaged".to_owned();
    let cases = [
        (Damage { what: what(), ..Damage::default() }, "it is damaged"),
        (Damage { key: key.clone(), what: what(), ..Damage::default() }, "key `K`: it is damaged"),
        (
            Damage { table, index, key, what: what() },
            "table `T`, index `I`, key `K`: it is damaged",
        ),
    ];
    for (damage, shown) in cases {
        assert_eq!(damage.to_string(), shown);
    }
}
