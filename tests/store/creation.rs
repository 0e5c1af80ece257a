//! The first start: in use, of a newer format, killed in the middle, on a full disk.

use std::path::Path;
use std::process::Command;

use latchkey_embedded::{OpenError, Options, Store};
use redb::{Database, ReadableDatabase, TableDefinition};

const PROCESS: &str = env!("CARGO_BIN_EXE_store-process");

#[test]
fn a_second_process_gets_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &Options::default()).unwrap();
    let output = Command::new(PROCESS).arg("create").arg(directory.path()).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "the store in `{}` is in use by process {}: stop that process, or name another directory\n",
        directory.path().display(),
        std::process::id()
    );
    assert_eq!(message, expected);
    drop(store);
    let output = Command::new(PROCESS).arg("create").arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::open(directory.path(), &Options::default()).unwrap());
    let file = directory.path().join("store.redb");
    let database = Database::open(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    transaction.open_table(meta).unwrap().insert("format", 7u32.to_be_bytes().as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = Store::open(directory.path(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NewerFormat { found: 7, known: 2, .. }), "{error}");
    assert!(error.to_string().contains("has format 7"), "{error}");
    // The release that wrote it finds it as it was.
    let transaction = Database::open(&file).unwrap().begin_read().unwrap();
    let format = transaction.open_table(meta).unwrap().get("format").unwrap().unwrap();
    assert_eq!(format.value(), 7u32.to_be_bytes());
}

/// Runs a script of the shell; what it printed, both ways.
fn shell(script: &str, directory: &Path) -> (bool, String) {
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-euc", script, "sh"])
        .arg(directory)
        .arg(PROCESS)
        .output()
        .expect("`unshare`, of util-linux, gives the test a file system of its own");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn a_disk_that_is_full_at_the_first_start_is_no_obstacle_later() {
    // So much room is left on a real file system of 8 MB; then all of it.
    let script = r#"
        mount -t tmpfs -o size=8m tmpfs "$1"
        for kilobytes in 0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 68 72 80 96 128 256 1024; do
            head -c $(( (8192 - kilobytes) * 1024 )) /dev/zero > "$1/filler" || true
            if "$2" create "$1/data"; then result=opened; else result=refused; fi
            echo "with $kilobytes KB: $result"
            rm "$1/filler"
            "$2" create "$1/data"
            test ! -e "$1/data/store.new"
            rm -r "$1/data"
        done
    "#;
    let directory = tempfile::tempdir().unwrap();
    let (success, output) = shell(script, directory.path());
    assert!(success, "{output}");
    assert!(output.contains("with 0 KB: refused"), "{output}");
    assert!(output.contains("with 1024 KB: opened"), "{output}");
    assert!(output.contains("no store can be made at"), "{output}");
    assert!(!output.contains("panicked"), "{output}");
}

#[test]
fn a_first_start_that_dies_at_any_size_of_its_file_is_no_obstacle_later() {
    // Beyond its limit a file cannot grow: the process is killed by a signal in the middle of it, or,
    // where that is ignored, gets an error.
    let script = r#"
        for ignore in no yes; do
            for kilobytes in 0 4 8 12 16 20 24 28 32 36 40 44 48 52 56 60 64 72 80 128; do
                ( if [ $ignore = yes ]; then trap '' XFSZ; fi
                  ulimit -c 0; ulimit -f $kilobytes
                  exec "$2" create "$1/data" ) > /dev/null 2>&1 && echo opened || echo failed
                "$2" create "$1/data"
                rm -r "$1/data"
            done
        done
    "#;
    let directory = tempfile::tempdir().unwrap();
    let (success, output) = shell(script, directory.path());
    assert!(success, "{output}");
    assert!(output.contains("failed"), "{output}");
    assert!(!output.contains("panicked"), "{output}");
}
