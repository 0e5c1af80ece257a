//! Of a damaged store, every item is saved as it was, or told to be lost.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use latchkey_embedded::{Rescued, Store, salvage};
use latchkey_table::{Item, Value};

use crate::verify::{copy_back, count, files, fill, flips, served, small};

struct Saved {
    items: Vec<Item>,
    uncertain: Vec<Item>,
    lost: Vec<String>,
    /// Whether it is said that it cannot be told how many are lost.
    unknown: bool,
}

fn save(path: &Path) -> Saved {
    let (mut items, mut uncertain, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let mut take = |rescued: Rescued<'_>| match rescued {
        Rescued::Item(_, item) => items.push(item),
        Rescued::Uncertain(_, item) => uncertain.push(item),
        Rescued::Lost(damage) => lost.push(damage.to_string()),
    };
    salvage(path, &small(), &mut |_| ControlFlow::Continue(()), &mut take).unwrap();
    let says = |text: &String| text.contains("cannot be told") || text.contains("there should be");
    let unknown = lost.iter().any(says);
    Saved { items, uncertain, lost, unknown }
}

fn by_key(items: &[Item]) -> BTreeMap<String, &Item> {
    let text = |item: &Item, name| item.get(name).and_then(Value::as_text).unwrap().to_string();
    items.iter().map(|item| (text(item, "PK") + "/" + &text(item, "SK"), item)).collect()
}

#[test]
fn of_a_sound_store_everything_is_saved() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 1000);
    let before = files(directory.path());
    let saved = save(directory.path());
    assert_eq!(saved.lost, Vec::<String>::new());
    assert!(before == files(directory.path()), "it was written");
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    assert!(by_key(&saved.items) == by_key(&expected) && saved.uncertain.is_empty());
}

#[test]
fn every_item_is_saved_as_it_was_or_told_to_be_lost() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 1500);
    let whole = files(directory.path());
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    let expected = by_key(&expected);
    let (mut all, mut some, mut unopened) = (0, 0, 0);
    for ((file, at), bit) in flips(&whole, count(60)) {
        let mut damaged = whole.clone();
        damaged[file][at] ^= bit;
        copy_back(directory.path(), &damaged);
        let saved = save(directory.path());
        let found = by_key(&saved.items);
        // A last record that is damaged looks like one that was being written.
        let cut = file > 0 && saved.lost.is_empty();
        for (key, item) in &found {
            let right = expected.get(key) == Some(item);
            assert!(right || saved.unknown || cut, "{file} at {at}: {key} is not as it was");
        }
        let missing = expected.keys().filter(|key| !found.contains_key(*key));
        for key in missing {
            let told = saved.lost.iter().any(|lost| lost.contains(&format!("`{key}`")));
            assert!(told || saved.unknown || cut, "{file} at {at}: {key}: {:?}", saved.lost);
        }
        match saved.items.len() {
            n if n == expected.len() => all += 1,
            0 => unopened += 1,
            _ => some += 1,
        }
    }
    eprintln!("{all} times all items, {some} times some, {unopened} times none that are certain");
}

#[test]
fn a_file_that_does_not_open_is_searched() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 800);
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    let path = directory.path().join("store.redb");
    let mut bytes = fs::read(&path).unwrap();
    bytes[..512].fill(0);
    fs::write(&path, bytes).unwrap();
    assert!(Store::open(directory.path(), &small()).is_err());
    let saved = save(directory.path());
    assert!(saved.items.is_empty() && saved.unknown, "{:?}", saved.lost);
    for item in &expected {
        assert!(saved.uncertain.contains(item), "{item:?}");
    }
}

// Without `store.redb` nothing was saved, although the journals have the last writes.
#[test]
fn of_a_store_without_its_map_the_last_writes_are_saved() {
    let whole = tempfile::tempdir().unwrap();
    fill(whole.path(), 1500);
    let journals = files(whole.path());
    let expected = served(&Store::open(whole.path(), &small()).unwrap()).unwrap();
    let changed = |item: &&Item| item.get("text").and_then(Value::as_text).unwrap() == "changed";
    let expected: Vec<Item> = expected.iter().filter(changed).cloned().collect();
    assert_eq!(expected.len(), 150);
    for (empty, says) in [(false, "`store.redb` is missing"), (true, "`store.redb` is empty")] {
        let left = tempfile::tempdir().unwrap();
        fs::set_permissions(left.path(), fs::Permissions::from_mode(0o700)).unwrap();
        copy_back(left.path(), &journals);
        fs::write(left.path().join("store.redb"), "").unwrap();
        for name in ["store.redb", "journal-0", "journal-1"] {
            let own = fs::Permissions::from_mode(0o600);
            fs::set_permissions(left.path().join(name), own).unwrap();
        }
        if !empty {
            fs::remove_file(left.path().join("store.redb")).unwrap();
        }
        let saved = save(left.path());
        assert!(saved.items.is_empty() && saved.unknown, "{:?}", saved.lost);
        assert!(saved.lost.iter().any(|lost| lost.contains(says)), "{:?}", saved.lost);
        let unnamed = saved.lost.iter().any(|lost| lost.contains("table `unnamed-1`: neither"));
        assert!(unnamed, "{:?}", saved.lost);
        let found = by_key(&saved.uncertain);
        for (key, item) in by_key(&expected) {
            assert_eq!(found.get(&key), Some(&item), "{key}");
        }
        // Each item once, as it was last.
        assert_eq!(found.len(), saved.uncertain.len());
        // A journal without its beginning is read with the name that the other one has.
        let journal = left.path().join("journal-0");
        fs::write(&journal, [&[0; 64], &journals[1][64..]].concat()).unwrap();
        assert_eq!(by_key(&save(left.path()).uncertain), found);
        fs::remove_file(left.path().join("journal-1")).unwrap();
        let saved = save(left.path());
        let told = saved.lost.iter().any(|lost| lost.contains("the beginning of `journal-0` is"));
        assert!(saved.uncertain.is_empty() && told, "{:?}", saved.lost);
    }
}

// Items of a file whose catalog was damaged, too, were passed over.
#[test]
fn a_file_whose_tables_are_not_found_is_searched_for_items() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 800);
    let expected = served(&Store::open(directory.path(), &small()).unwrap()).unwrap();
    let path = directory.path().join("store.redb");
    let mut bytes = fs::read(&path).unwrap();
    bytes[..512].fill(0);
    let name = b"table/Test";
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at] = 0xff);
    fs::write(&path, bytes).unwrap();
    let saved = save(directory.path());
    assert!(saved.items.is_empty() && saved.unknown, "{:?}", saved.lost);
    assert!(saved.lost.iter().any(|lost| lost.contains("table `unnamed-1`: neither")));
    for item in &expected {
        assert!(saved.uncertain.contains(item), "{item:?}");
    }
}

// Of a store whose `lost.txt` says that a file was cut, it was told that nothing is lost.
#[test]
fn what_lost_txt_says_is_told() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 10);
    let mark = directory.path().join("lost.txt");
    fs::write(&mark, "`journal-0` was cut while the store was open\n").unwrap();
    let told = |saved: &Saved| saved.lost.iter().filter(|lost| lost.contains("`lost.txt`")).count();
    let saved = save(directory.path());
    assert_eq!((told(&saved), saved.lost.len()), (1, 1), "{:?}", saved.lost);
    assert!(saved.lost[0].contains("writes may be missing"), "{:?}", saved.lost);
    fs::remove_file(directory.path().join("store.redb")).unwrap();
    let saved = save(directory.path());
    assert_eq!(told(&saved), 1, "{:?}", saved.lost);
    assert!(saved.lost[0].contains("is missing"), "{:?}", saved.lost);
}
