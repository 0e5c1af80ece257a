//! kill -9 of a process under load: no message is lost, none is in two places, and none is sent
//! without its effect.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use latchkey_embedded::{Options, Store};
use latchkey_queue::{Clock, Embedded, Stamp, Which, leg};
use latchkey_table::{Action, Item, Key, Leg, Put, Returning, Scan, Transact, Update, Value};

use crate::world::{failure, home, message, table};

/// Where the process under test finds its store.
const DIRECTORY: &str = "LATCHKEY_QUEUE_TEST_DIRECTORY";

const SENDERS: u64 = 4;

const WORKERS: u64 = 8;

fn open(directory: &Path) -> (Arc<Store>, Embedded) {
    let store = Arc::new(Store::open(directory, &Options::default()).unwrap());
    store.create_table(&table()).wait().unwrap();
    let clock = Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    });
    (Arc::clone(&store), Embedded::new(store, home(), 50, clock))
}

/// One call a line, so that a kill cuts at most the last.
fn say(line: &str) {
    std::io::stdout().lock().write_all(format!("{line};\n").as_bytes()).unwrap();
}

async fn send_on(store: Arc<Store>, queue: Embedded, sender: u64, round: u64) {
    for n in 0.. {
        let id = format!("{round}-{sender}-{n}");
        let item = Item::from([
            ("PK", Value::from(format!("SENT#{id}").as_str())),
            ("SK", Value::from("SENT")),
        ]);
        let effect = Leg::Put(Put { table: table(), item, condition: None });
        let send = leg(&home(), message(&id, 0), 0, Stamp::default());
        store.transact(Transact { legs: vec![send, effect] }).await.unwrap();
        queue.sent(0);
        say(&format!("sent {id}"));
        tokio::time::sleep(Duration::from_millis(n % 3)).await;
    }
}

async fn work_on(store: Arc<Store>, queue: Embedded, worker: u64) {
    for n in worker.. {
        for received in queue.receive(4, Duration::from_secs(10)).await.unwrap() {
            let id = received.message.id().clone();
            // Whoever loses the message to another here has lost nothing else.
            match (n % 5, received.tries) {
                (0, 1..=4) => drop(queue.failed(&received, 0, failure()).await),
                (1, 1..=4) => drop(queue.later(&received, 0).await),
                (2, 1..=4) => {}
                _ => {
                    let key = Key::new(format!("WORK#{id}"), "WORK");
                    let actions = vec![Action::Add("times".into(), Value::from(1))];
                    let update = Update { table: table(), key, actions, condition: None };
                    store.update(update, Returning::Nothing).await.unwrap();
                    if queue.done(&received).await.is_ok() {
                        say(&format!("done {id}"));
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "the process that is killed"]
fn process() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (store, queue) = open(Path::new(&directory));
        let round = u64::from(std::process::id());
        if round.is_multiple_of(2) {
            queue.recover().await.unwrap();
        }
        let senders = (0..SENDERS)
            .map(|sender| tokio::spawn(send_on(Arc::clone(&store), queue.clone(), sender, round)));
        let workers = (0..WORKERS)
            .map(|worker| tokio::spawn(work_on(Arc::clone(&store), queue.clone(), worker)));
        for task in senders.chain(workers).collect::<Vec<_>>() {
            task.await.unwrap();
        }
    });
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kill::process", "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the process starts")
}

/// Kills a process after a while; what it said was sent and done.
fn kill_after(mut child: Child, pause: Duration) -> BTreeMap<String, &'static str> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let mut said = BTreeMap::new();
        for line in output.lines().map_while(Result::ok) {
            match line.strip_suffix(';').and_then(|line| line.split_once(' ')) {
                Some(("sent", id)) => drop(said.entry(id.to_owned()).or_insert("sent")),
                Some(("done", id)) => drop(said.insert(id.to_owned(), "done")),
                _ => {}
            }
        }
        said
    });
    thread::sleep(pause);
    child.kill().expect("SIGKILL");
    child.wait().unwrap();
    reader.join().unwrap()
}

/// The ids of items whose partitions begin with a prefix.
fn scanned(store: &Store, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut after = None;
    loop {
        let scan = Scan { table: table(), partition_prefix: prefix.into(), after, items_max: 500 };
        let page = store.scan(&scan).unwrap();
        let partition = |item: &Item| item.get("PK").unwrap().as_text().unwrap().to_string();
        found.extend(page.items.iter().map(|item| partition(item).replacen(prefix, "", 1)));
        after = page.resume;
        if after.is_none() {
            return found;
        }
    }
}

fn listed(queue: &Embedded, which: Which) -> BTreeSet<String> {
    let (mut found, mut resume) = (BTreeSet::new(), None);
    loop {
        let (page, next) = queue.peek(which, 100, resume).unwrap();
        for peeked in page {
            assert!(found.insert(peeked.message.id().to_string()), "{peeked:?} twice");
        }
        resume = next;
        if resume.is_none() {
            return found;
        }
    }
}

#[test]
fn nothing_is_lost_by_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut said = BTreeMap::new();
    let (mut done, mut kills) = (0, 0);
    for round in 0..100_u64 {
        // On a busy machine a process may be killed before it has begun.
        if round >= 12 && done > 100 {
            break;
        }
        let pause = Duration::from_millis(200 + round * 61 % 200);
        for (id, what) in kill_after(start(directory.path()), pause) {
            let known = said.entry(id).or_insert(what);
            *known = if what == "done" { "done" } else { *known };
        }
        kills += 1;
        let (store, queue) = open(directory.path());
        let (sent, worked) = (scanned(&store, "SENT#"), scanned(&store, "WORK#"));
        let (waiting, held) = (listed(&queue, Which::Waiting), listed(&queue, Which::Held));
        assert!(waiting.is_disjoint(&held));
        let queued: BTreeSet<_> = waiting.union(&held).cloned().collect();
        assert!(queued.is_subset(&sent), "no message without its effect");
        for id in &sent {
            assert!(queued.contains(id) || worked.contains(id), "{id} is lost");
        }
        for (id, what) in &said {
            assert!(sent.contains(id), "{id} was said to be {what}");
            assert!(*what != "done" || !queued.contains(id), "{id} was done");
        }
        done = said.values().filter(|what| **what == "done").count();
    }
    println!("{kills} kills: {} messages sent or done, {done} of them done, 0 lost", said.len());
    assert!(done > 100, "the workers got something done: {done} of {}", said.len());
}
