//! A real process whose Nth call of the operating system fails: a write, a sync, a rename and so on, on its real files.
//! `failing.c` does it, loaded before the process. The first start is no obstacle to the next, and nothing that was
//! acknowledged is lost.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_table::Schema;
use latchkey_testing::promise::{self, Progress};
use tempfile::TempDir;

use crate::kill::check;

mod keeping;

const PROCESS: &str = env!("CARGO_BIN_EXE_store-process");

const CALLS: [&str; 5] = ["write", "sync", "truncate", "rename", "open"];

/// No room is left; the disk has an error.
const ERRORS: [(&str, &str); 2] = [("ENOSPC", "28"), ("EIO", "5")];

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
struct Fault {
    call: &'static str,
    nth: usize,
    error: (&'static str, &'static str),
    lasts: bool,
}

/// The faults of one number. The short run has each kind once, in turn.
fn faults(nth: usize) -> Vec<Fault> {
    let kinds = CALLS.iter().flat_map(|call| ERRORS.map(|error| (*call, error)));
    let faults = kinds
        .flat_map(|(call, error)| [false, true].map(|lasts| Fault { call, nth, error, lasts }));
    let chosen = |at: usize| promise::is_long() || at % 4 == nth % 4;
    faults.enumerate().filter(|(at, _)| chosen(*at)).map(|(_, fault)| fault).collect()
}

/// What is loaded before the process.
struct Library {
    _directory: TempDir,
    path: PathBuf,
}

impl Library {
    fn build() -> Library {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("failing.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/store/failing.c");
        let mut build = Command::new("cc");
        build.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).arg(source);
        assert!(build.status().expect("`cc`, which links Rust programs, too").success());
        Library { _directory: directory, path }
    }

    /// Has a call of a command fail on files within a directory.
    fn load(&self, command: &mut Command, inside: &Path, fault: Fault) {
        command.env("LD_PRELOAD", &self.path).env("FAIL_PATH", inside);
        command.env("FAIL_CALL", fault.call).env("FAIL_NTH", fault.nth.to_string());
        command.env("FAIL_ERRNO", fault.error.1);
        if fault.lasts {
            command.env("FAIL_LASTS", "1");
        }
    }

    fn start(&self, command: &str, data: &Path, fault: Fault) -> Child {
        let mut started = Command::new(PROCESS);
        started.arg(command).arg(data).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.load(&mut started, data, fault);
        started.spawn().unwrap()
    }
}

/// All it says on standard error, in the end.
fn said(child: &mut Child) -> thread::JoinHandle<String> {
    let mut errors = child.stderr.take().unwrap();
    thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).unwrap();
        text
    })
}

#[test]
fn a_first_start_whose_nth_call_fails_is_no_obstacle_later() {
    let (library, most) = (Library::build(), promise::rounds(12));
    let mut progress = Progress::new("failing first start", most);
    let (mut starts, mut refused) = (0, 0);
    for nth in 1..=most {
        for fault in faults(nth) {
            let directory = tempfile::tempdir().unwrap();
            let data = directory.path().join("data");
            let mut child = library.start("create", &data, fault);
            let told = said(&mut child);
            let opened = child.wait().unwrap().success();
            let told = told.join().unwrap();
            assert!(!told.contains("panicked"), "{fault:?}: {told}");
            assert_eq!(opened, told.is_empty(), "{fault:?}: {told}");
            starts += 1;
            refused += usize::from(!opened);
            drop(
                Store::open(&data, &Options::default())
                    .unwrap_or_else(|e| panic!("{fault:?}: {e}")),
            );
            assert!(!data.join("store.new").exists(), "{fault:?}");
        }
        progress.add(1);
    }
    assert!(refused > 5, "{refused}");
    println!(
        "{starts} first starts with a failing call, {refused} refused, all start later, in {:?}",
        progress.spent()
    );
}

/// Writes with a failing call until it ends or has written a while; what it acknowledged.
fn write(library: &Library, data: &Path, fault: Fault) -> (BTreeMap<String, i64>, String) {
    let mut child = library.start("write", data, fault);
    let told = said(&mut child);
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let mut acknowledged = BTreeMap::new();
        for line in output.lines().map_while(Result::ok) {
            // The last line may have been cut by the kill.
            if let Some((writer, n)) = line.strip_suffix(';').and_then(|line| line.split_once(' '))
            {
                acknowledged.insert(writer.to_owned(), n.parse::<i64>().unwrap());
            }
        }
        acknowledged
    });
    for _ in 0..15 {
        thread::sleep(Duration::from_millis(10));
        if child.try_wait().unwrap().is_some() {
            break;
        }
    }
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().unwrap();
    (reader.join().unwrap(), told.join().unwrap())
}

#[test]
fn a_process_whose_nth_call_fails_loses_nothing() {
    let (library, most) = (Library::build(), promise::rounds(12));
    let table = Arc::new(Schema::new("Kill").with_index("GSI1"));
    let mut progress = Progress::new("failing calls", most);
    let (mut runs, mut writes, mut failed) = (0, 0, 0);
    for nth in 1..=most {
        for fault in faults(nth) {
            let directory = tempfile::tempdir().unwrap();
            let data = directory.path().join("data");
            let (acknowledged, told) = write(&library, &data, fault);
            assert!(!told.contains("panicked"), "{fault:?}: {told}");
            failed += usize::from(!told.is_empty());
            writes += acknowledged.values().sum::<i64>();
            let store = Store::open(&data, &Options::default());
            let store = store.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            store.create_table(&table).wait().unwrap();
            check(&store, &table, &acknowledged);
            runs += 1;
        }
        progress.add(1);
    }
    assert!(failed > runs / 20, "{failed} of {runs}");
    println!(
        "{runs} processes with a failing call, {failed} ended by it: {writes} writes acknowledged, 0 lost, in {:?}",
        progress.spent()
    );
}

/// A copy of the store in `data` of a directory, in `data` of another one.
fn copy(from: &Path, to: &Path) -> PathBuf {
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(from.join("data")).arg(to);
    assert!(copy.status().unwrap().success());
    to.join("data")
}

/// A store with journals: its process was killed while it wrote.
fn written(data: &Path) -> BTreeMap<String, i64> {
    let mut child = Command::new(PROCESS);
    let mut child = child.arg("write").arg(data).stdout(Stdio::piped()).spawn().unwrap();
    let mut acknowledged = BTreeMap::new();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut note = |line: String| {
        if let Some((writer, n)) = line.strip_suffix(';').and_then(|line| line.split_once(' ')) {
            acknowledged.insert(writer.to_owned(), n.parse::<i64>().unwrap());
        }
    };
    output.by_ref().take(200).for_each(&mut note);
    child.kill().unwrap();
    child.wait().unwrap();
    output.for_each(note);
    acknowledged
}

#[test]
fn an_old_store_is_safe_from_a_failing_call_when_it_is_opened() {
    let (library, most) = (Library::build(), promise::rounds(6));
    let table = Arc::new(Schema::new("Kill").with_index("GSI1"));
    let whole = tempfile::tempdir().unwrap();
    let acknowledged = written(&whole.path().join("data"));
    let mut progress = Progress::new("failing calls on a store", most);
    let (mut runs, mut refused) = (0, 0);
    for nth in 1..=most {
        for fault in faults(nth) {
            let directory = tempfile::tempdir().unwrap();
            let data = copy(whole.path(), directory.path());
            // Moves what the journals hold into the map, and closes it.
            let mut child = library.start("create", &data, fault);
            let told = said(&mut child);
            let done = child.wait().unwrap().success();
            let told = told.join().unwrap();
            assert!(!told.contains("panicked"), "{fault:?}: {told}");
            assert_eq!(done, told.is_empty(), "{fault:?}: {told}");
            let store = Store::open(&data, &Options::default());
            let store = store.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            check(&store, &table, &acknowledged);
            (runs, refused) = (runs + 1, refused + usize::from(!done));
        }
        progress.add(1);
    }
    println!(
        "{runs} times a failing call on a store with {} writes, {refused} refused, 0 writes lost, in {:?}",
        acknowledged.values().sum::<i64>(),
        progress.spent()
    );
}
