//! A backup has one instant of an open store, and nothing but the whole of it is restored.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use latchkey_embedded::{BackupError, RestoreError, Saved, Store, View, restore};

use crate::verify::{check, fill, put, served, small, table};

fn back_up(view: &View) -> Vec<u8> {
    let mut file = Vec::new();
    view.back_up(&mut file, &mut |_| ControlFlow::Continue(())).unwrap();
    file
}

fn restored(mut file: &[u8], path: &Path) -> Result<Saved, RestoreError> {
    restore(&mut file, path, &small(), &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_restored_store_is_the_store_of_the_instant() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(from.path(), 2000);
    let store = Store::open(from.path(), &small()).unwrap();
    let stamp = {
        let stamping = store.stamp(5_000_000_000_000);
        stamping.stamp()
    };
    put(&store, &table(), 3, 5_000, "stamped");
    let view = store.view();
    let expected = served(&store).unwrap();
    put(&store, &table(), 3, 5_001, "later");
    let file = back_up(&view);
    assert!(file == back_up(&view), "the same instant is the same file");
    let to = to.path().join("new");
    let saved = restored(&file, &to).unwrap();
    assert_eq!(saved.keys, 2 * expected.len() as u64);
    assert_eq!(check(&to).1, []);
    let copy = Store::open(&to, &small()).unwrap();
    assert!(served(&copy).unwrap() == expected);
    assert!(copy.last_stamp().at >= stamp.at, "it would give stamps again");
    assert!(file == back_up(&copy.view()), "byte for byte");
    put(&copy, &table(), 3, 5_002, "its own");
    drop(copy);
    let told = restored(&file, &to).unwrap_err().to_string();
    assert!(told.contains("has a store already"), "{told}");
    // Journals of the one are not those of the other.
    let journal = |path: &Path| fs::read(path.join("journal-0")).unwrap()[..36].to_vec();
    assert_ne!(journal(from.path()), journal(&to));
}

#[test]
fn a_backup_that_is_not_whole_is_refused() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(from.path(), 300);
    let store = Store::open(from.path(), &small()).unwrap();
    let file = back_up(&store.view());
    let refused = |file: &[u8], what: &str| {
        let refused = restored(file, to.path());
        assert!(refused.is_err(), "{what}");
        assert!(!to.path().join("store.redb").exists() && !to.path().join("store.new").exists());
    };
    for at in (0..file.len()).step_by(file.len() / 40) {
        refused(&file[..at], "cut");
        let mut changed = file.clone();
        changed[at] ^= 4;
        refused(&changed, "changed");
    }
    refused(&[file.as_slice(), b"x"].concat(), "longer");
    refused(&file[..file.len() - 1], "cut at its end");
    refused(b"latchkey backup 2\n", "newer");
    restored(&file, to.path()).unwrap();
}

#[test]
fn a_backup_of_a_damaged_store_says_so_and_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 1500);
    let path = directory.path().join("store.redb");
    let mut bytes = fs::read(&path).unwrap();
    let text = b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    let mut at = 0;
    while let Some(next) = bytes[at..].windows(text.len()).position(|some| some == text) {
        bytes[at + next] = b'y';
        at += next + 4096;
    }
    fs::write(&path, bytes).unwrap();
    let store = Store::open(directory.path(), &small()).unwrap();
    let failed = store.view().back_up(&mut Vec::new(), &mut |_| ControlFlow::Continue(()));
    let told = failed.unwrap_err().to_string();
    assert!(
        told.contains("the item is damaged") && told.contains("table `Test`, key `P"),
        "{told}"
    );
    let other = tempfile::tempdir().unwrap();
    fill(other.path(), 1500);
    let store = Store::open(other.path(), &small()).unwrap();
    let stopped = store.view().back_up(&mut Vec::new(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(BackupError::Stopped)));
}
