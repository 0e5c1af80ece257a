//! Files that are not what was written: an error, never a panic.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use latchkey_embedded::{OpenError, Options, Store};
use latchkey_table::{Item, Put, Returning, Schema};

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
