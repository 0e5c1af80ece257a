//! Files shrink after much was removed, and have everything else.

use std::fs;
use std::sync::Arc;

use latchkey_embedded::{OpenError, Store, compact};
use latchkey_table::{Delete, Key, Returning};

use crate::verify::{check, files, fill, served, small, table};

#[test]
fn files_shrink_after_much_was_removed() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 4000);
    let store = Store::open(directory.path(), &small()).unwrap();
    assert!(matches!(compact(directory.path(), &small()), Err(OpenError::InUse { .. })));
    let removed: Vec<_> = (0..4000)
        .filter(|n| n % 20 != 0)
        .map(|n| {
            let key = Key::new(format!("P{:02}", n % 7), format!("{n:05}"));
            let delete = Delete { table: table(), key, condition: None };
            store.delete(delete, Returning::Nothing)
        })
        .collect();
    removed.into_iter().for_each(|one| drop(one.wait().unwrap()));
    let expected = served(&store).unwrap();
    drop(store);
    let small_now = compact(directory.path(), &small()).unwrap();
    assert!(small_now.after * 3 < small_now.before, "{small_now:?}");
    assert_eq!(check(directory.path()).1, []);
    let store = Store::open(directory.path(), &small()).unwrap();
    assert!(served(&store).unwrap() == expected);
    crate::verify::put(&store, &Arc::clone(&table()), 1, 7, "again");
    drop(store);
    assert_eq!(check(directory.path()).1, []);
}

// The journals were removed although `lost.txt` said that writes may be missing, and with them what could tell of them.
#[test]
fn a_store_that_has_lost_a_file_is_not_compacted() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path(), 10);
    fs::write(directory.path().join("lost.txt"), "`journal-0` was cut\n").unwrap();
    let before = files(directory.path());
    let refused = compact(directory.path(), &small()).unwrap_err();
    assert!(matches!(refused, OpenError::Lost { .. }), "{refused}");
    assert!(before == files(directory.path()), "it was written");
}
