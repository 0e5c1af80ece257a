//! kill -9 of a process that writes: what it was told is durable must be there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Consistency, Direction, Get, Item, Key, Query, Schema, SortRange, Text, Value,
};

const PROCESS: &str = env!("CARGO_BIN_EXE_store-process");

/// As in `process.rs`.
const WRITERS: usize = 8;

/// As in `process.rs`: how many items a writer keeps behind its head.
const KEPT: i64 = 50;

/// How long the process may write nothing before it is taken to hang.
const HANG: Duration = Duration::from_secs(300);

fn start(directory: &std::path::Path) -> Child {
    Command::new(PROCESS)
        .arg("write")
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writing process starts")
}

/// Kills a writing process after so many acknowledged writes and a while; for each writer, the last write it
/// was told is durable.
fn kill_after(mut child: Child, writes: usize, pause: Duration) -> BTreeMap<String, i64> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (enough, reached) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut acknowledged = BTreeMap::new();
        for (at, line) in output.lines().map_while(Result::ok).enumerate() {
            if at == writes {
                enough.send(()).unwrap();
            }
            // The last line may have been cut by the kill.
            if let Some((writer, n)) = line.strip_suffix(';').and_then(|line| line.split_once(' '))
            {
                acknowledged.insert(writer.to_owned(), n.parse::<i64>().unwrap());
            }
        }
        acknowledged
    });
    if writes > 0 {
        reached.recv_timeout(HANG).expect("it writes");
    }
    thread::sleep(pause);
    child.kill().expect("SIGKILL");
    child.wait().unwrap();
    reader.join().unwrap()
}

fn number(item: &Item, name: &str) -> i64 {
    item.get(name).and_then(Value::as_number).unwrap().to_i64().unwrap()
}

/// Every acknowledged write of every writer, and nothing half done. Says what the last write of each is.
pub(crate) fn check(
    store: &Store,
    table: &Arc<Schema>,
    acknowledged: &BTreeMap<String, i64>,
) -> BTreeMap<String, i64> {
    let (mut heads, mut listed, mut last) = (0, 0, BTreeMap::new());
    for writer in 0..WRITERS {
        let acknowledged = acknowledged.get(&writer.to_string()).copied().unwrap_or(0);
        let partition = Text::from(format!("W#{writer}"));
        let key = Key::new(partition.clone(), "HEAD");
        let get = Get { table: Arc::clone(table), key, consistency: Consistency::Strong };
        let head = store.get(&get).unwrap().item;
        heads += usize::from(head.is_some());
        let n = head.map_or(0, |head| number(&head, "n"));
        // One write of each writer may have been under way, and durable before it could say so.
        assert!((acknowledged..=acknowledged + 1).contains(&n), "{writer}: {n} {acknowledged}");
        last.insert(writer.to_string(), n);
        let query = Query {
            table: Arc::clone(table),
            index: None,
            partition,
            range: SortRange::BeginsWith("ITEM#".into()),
            filter: None,
            direction: Direction::Ascending,
            limit: None,
            resume: None,
            consistency: Consistency::Strong,
        };
        let items = store.query(&query).unwrap().items;
        let found: Vec<i64> = items.iter().map(|item| number(item, "n")).collect();
        let expected: Vec<i64> = ((n - KEPT + 1).max(1)..=n).collect();
        assert_eq!(found, expected, "the items of {writer} are those of its head's transaction");
        listed += found.len();
    }
    let verified = store.verify(table).unwrap();
    assert_eq!(verified.items as usize, listed + heads);
    assert_eq!(verified.entries as usize, listed);
    last
}

#[test]
fn every_acknowledged_write_survives_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let table = Arc::new(Schema::new("Kill").with_index("GSI1"));
    let mut acknowledged = BTreeMap::new();
    for round in 0..20u64 {
        let pause = Duration::from_millis(round * 37 % 200);
        acknowledged.extend(kill_after(start(directory.path()), 50, pause));
        let store = Store::open(directory.path(), &Options::default()).unwrap();
        // A writer may come to no second write before the next kill: what it left in doubt is no longer in doubt then.
        acknowledged = check(&store, &table, &acknowledged);
    }
    println!("20 kills: {} writes acknowledged, 0 lost", acknowledged.values().sum::<i64>());
}

#[test]
fn a_first_start_that_was_killed_is_no_obstacle() {
    for round in 0..20u64 {
        let directory = tempfile::tempdir().unwrap();
        let acknowledged =
            kill_after(start(directory.path()), 0, Duration::from_micros(round * round * 100));
        let store = Store::open(directory.path(), &Options::default()).unwrap();
        if !acknowledged.is_empty() {
            check(&store, &Arc::new(Schema::new("Kill").with_index("GSI1")), &acknowledged);
        }
    }
}
