//! A disk that is full: reads go on, writes are refused with a reason, nothing acknowledged is lost, and
//! all is well when there is room again.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options as StoreOptions, Store};
use latchkey_runtime::{Call, Caller, Options, Runtime, System};
use serde_json::json;

use crate::serve::{Client, Reply, latchkey, until};
use crate::world::{Own, locker, lockers_of, outcome, register};

const PARTICIPATION: &str = include_str!("../../systems/participation.md");

/// A small file system, which is there as long as this lives. It is seen through the process that holds
/// it, so nobody else need enter it.
struct Disk {
    holder: Child,
    root: PathBuf,
}

impl Disk {
    fn mount(at: &Path, kilobytes: usize) -> Disk {
        let script = r#"mount -t tmpfs -o size="$2"k tmpfs "$1"; echo mounted; exec sleep 600"#;
        let mut holder = Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-euc", script, "sh"])
            .arg(at)
            .arg(kilobytes.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "mounted\n", "`unshare` gives the test a file system of its own");
        let root = PathBuf::from(format!("/proc/{}/root{}", holder.id(), at.display()));
        Disk { holder, root }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A refusal for want of room: said plainly, and when to come back.
fn full(reply: &Reply) -> bool {
    let codes = ["503 store-unavailable", "503 outcome-unknown"];
    let full = codes.contains(&outcome(reply).as_str());
    if full {
        let seconds: u32 = reply.header("retry-after").parse().unwrap();
        assert!(seconds >= 1, "{reply:?}");
        assert_eq!(reply.header("latchkey-contract"), "QC-11");
        for word in ["redb", "os error", "store.redb", "No space"] {
            assert!(!reply.text.contains(word), "what is behind it stays in the log: {reply:?}");
        }
    }
    full
}

/// A server by the clock of the machine, with workers, whose log is added to a file.
fn start(data: &Path, log: &Path) -> Own {
    start_with(data, log, &[])
}

/// The same, of some documents.
fn start_with(data: &Path, log: &Path, documents: &[&str]) -> Own {
    let mut command = latchkey();
    command.arg("serve").args(documents).args(["--listen", "127.0.0.1:0", "--data"]).arg(data);
    let log = File::options().create(true).append(true).open(log).unwrap();
    // Requests are not logged; all else is.
    command.env("LATCHKEY_LOG", "info,latchkey::request=off").stderr(log);
    Own::start(&mut command)
}

/// Reads without a pause until it is told to stop: how many reads there were. Each is answered.
fn read_on(address: &str, token: &str, ids: &[String], stop: &AtomicBool) -> usize {
    let mut client = Client::new(address).with_token(token);
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = &ids[count % ids.len()];
        let reply = client.get(&format!("/lockers/{id}?consistent=true"));
        assert_eq!(reply.status, 200, "{reply:?}");
        let reply = client.get("/owners/owner/lockers?pageSize=20");
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(client.get("/health").status, 200);
        count += 2;
    }
    count
}

/// Registers lockers until there is no room. Those that were acknowledged, and those that are in doubt.
fn fill(server: &Own, token: &str, round: usize) -> (BTreeSet<String>, BTreeSet<String>) {
    let (told, doubt) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let alias = "x".repeat(80);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (told, doubt, alias) = (&told, &doubt, &alias);
            scope.spawn(move || {
                let mut client = Client::new(&server.address).with_token(token);
                for count in 0.. {
                    let id = format!("L{round}-{writer}-{count}");
                    let body = json!({ "lockerId": id, "ownerId": "owner", "lockerAlias": alias });
                    let reply = client.post("/lockers", &body);
                    if reply.status == 201 {
                        told.lock().unwrap().insert(id);
                        continue;
                    }
                    assert!(full(&reply), "{reply:?}");
                    if reply.code() == "outcome-unknown" {
                        doubt.lock().unwrap().insert(id);
                    }
                    return;
                }
            });
        }
    });
    (told.into_inner().unwrap(), doubt.into_inner().unwrap())
}

/// Everything acknowledged is there, with its view, and nothing else but what is in doubt.
fn all_there(client: &mut Client, told: &BTreeSet<String>, doubt: &BTreeSet<String>) {
    let views = lockers_of(client, "owner");
    let ids: BTreeSet<String> =
        views.iter().map(|view| view["lockerId"].as_str().unwrap().to_owned()).collect();
    let lost: Vec<_> = told.difference(&ids).collect();
    assert!(lost.is_empty(), "acknowledged, and lost: {lost:?}");
    let others: Vec<_> = ids.difference(told).filter(|id| !doubt.contains(*id)).collect();
    assert!(others.is_empty(), "refused, and made: {others:?}");
    for view in views.iter().step_by(7) {
        assert_eq!(&locker(client, view["lockerId"].as_str().unwrap()), view);
    }
}

/// Writes are refused and the server is not ready, for longer than it takes until a journal is old enough to be moved
/// into the store's file.
fn stays_full(client: &mut Client) {
    until("it is not ready", || client.get("/ready").status == 503);
    let full_for = Instant::now();
    while full_for.elapsed() < Duration::from_secs(7) {
        let reply = client.post("/lockers", &json!({ "ownerId": "nobody" }));
        assert_eq!(outcome(&reply), "503 store-unavailable", "{reply:?}");
        assert!(full(&reply) && reply.text.contains("nearly full"), "{reply:?}");
        let ready = client.get("/ready");
        assert_eq!(ready.status, 503);
        assert!(ready.text.contains("nearly full"), "{ready:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_full_disk_refuses_writes_and_nothing_else() {
    // Each failed write opened the store again, reads were answered 503 meanwhile, and each was a line of the log.
    let directory = tempfile::tempdir().unwrap();
    let mounted = directory.path().join("disk");
    std::fs::create_dir(&mounted).unwrap();
    let disk = Disk::mount(&mounted, 16 * 1024);
    let (data, filler) = (disk.root.join("data"), disk.root.join("filler"));
    let log = directory.path().join("log");
    let mut server = start(&data, &log);
    let token = crate::serve::token(&data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    let ids: Vec<String> = (0..10).map(|n| format!("first-{n}")).collect();
    let mut told: BTreeSet<String> = ids.iter().cloned().collect();
    ids.iter().for_each(|id| drop(register(&mut client, id, "owner")));
    let mut doubt = BTreeSet::new();
    for round in 0..3 {
        // As good as full: a little room is left, and used up.
        fill_file(&filler, 1536 * 1024);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let readers = [0, 1].map(|_| {
                let (address, token, ids, stop) = (&server.address, &token, &ids, &stop);
                scope.spawn(move || read_on(address, token, ids, stop))
            });
            let _stop = StopOnDrop(&stop);
            let started = Instant::now();
            let (some, unsure) = fill(&server, &token, round);
            let (acknowledged, in_doubt) = (some.len(), unsure.len());
            told.extend(some);
            doubt.extend(unsure);
            let taken = started.elapsed();
            let mut client = Client::new(&server.address).with_token(&token);
            stays_full(&mut client);
            all_there(&mut client, &told, &doubt);
            stop.store(true, Ordering::Relaxed);
            let reads: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
            println!(
                "round {round}: {acknowledged} acknowledged, {in_doubt} in doubt, full after {taken:?}; {reads} reads"
            );
        });
        if round == 1 {
            // Even a start on a full disk serves what there is.
            assert_eq!(server.stop().code(), Some(0));
            server = start(&data, &log);
            let mut client = Client::new(&server.address).with_token(&token);
            all_there(&mut client, &told, &doubt);
            assert_eq!(client.get("/ready").status, 503);
        }
        // With room again, writes go on without a restart.
        std::fs::remove_file(&filler).unwrap();
        let mut client = Client::new(&server.address).with_token(&token);
        let id = format!("room-{round}");
        until("writes go on", || {
            let body = json!({ "lockerId": id, "ownerId": "owner" });
            let reply = client.post("/lockers", &body);
            assert!(reply.status == 201 || full(&reply), "{reply:?}");
            reply.status == 201
        });
        until("it is ready", || client.get("/ready").status == 200);
        told.insert(id);
        all_there(&mut client, &told, &doubt);
    }
    assert!(told.len() > 20, "there was room for some");
    // Killed.
    drop(server);
    let lines = std::fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().filter(|line| line.contains("nearly full")).count(), 4, "{lines}");
    assert!(lines.lines().count() < 20, "{lines}");
    let server = start(&data, &log);
    all_there(&mut Client::new(&server.address).with_token(&token), &told, &doubt);
}

/// Someone asks for a seat, and a worker takes the message and dies with it.
fn leave_a_lease(data: &Path, document: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Arc::new(Store::open(data, &StoreOptions::default()).unwrap());
        let system = System::read(document).unwrap();
        let runtime = Runtime::start(system, store, Options::default()).await.unwrap();
        let made = Call::new("AD-04", Caller::new("ada").role("admin")).input("eventId", "e");
        let made = made.input("title", "E").input("mode", "FIRST_COME");
        let made = made.json("capacity", latchkey_value::Value::from(2));
        assert_eq!(runtime.call(made).await.status(), 201);
        let asked = Call::new("EP-01", Caller::new("ann")).input("eventId", "e");
        assert_eq!(runtime.call(asked).await.status(), 202);
        let queue = runtime.queue("participations").unwrap();
        let held = queue.queue().receive(10, Duration::from_secs(60)).await.unwrap();
        assert_eq!(held.len(), 1);
    });
}

#[test]
fn a_server_starts_on_a_full_disk_where_messages_were_leased() {
    // Every start ended with exit code 2 until the leases were over: their end could not be written.
    let directory = tempfile::tempdir().unwrap();
    let mounted = directory.path().join("disk");
    std::fs::create_dir(&mounted).unwrap();
    let disk = Disk::mount(&mounted, 16 * 1024);
    let (data, filler) = (disk.root.join("data"), disk.root.join("filler"));
    // A lease of an ordered queue is known to its process alone.
    let text = PARTICIPATION.replace("participations ordered by eventId", "participations");
    let text = text.replace("  lease 30s", "  lease 10m");
    assert_ne!(text, PARTICIPATION);
    let document = directory.path().join("participation.md");
    std::fs::write(&document, &text).unwrap();
    leave_a_lease(&data, &text);
    fill_file(&filler, 64 * 1024);
    let server = start_with(&data, &directory.path().join("log"), &[document.to_str().unwrap()]);
    let token = crate::serve::token(&data, "ann", &["admin"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    let ready = client.get("/ready");
    assert_eq!((ready.status, ready.text.contains("nearly full")), (503, true), "{ready:?}");
    assert_eq!(client.get("/events/e").status, 200);
    std::fs::remove_file(&filler).unwrap();
    // The lease of the dead process lasts on for longer than this waits; its message is worked on all the same.
    until("the message is handled", || {
        let mine = client.get("/me/participations?limit=1").json();
        mine["items"][0]["status"] == json!("SUCCEEDED")
    });
    until("it is ready", || client.get("/ready").status == 200);
    // Lines are written by a thread of their own.
    let log = || std::fs::read_to_string(directory.path().join("log")).unwrap();
    until("it is said that they are free", || log().contains("a dead process held are free"));
    let log = log();
    assert_eq!(log.matches("are not free yet").count(), 1, "{log}");
    assert!(log.contains("free space on it"), "{log}");
    assert_eq!(log.matches("a dead process held are free").count(), 1, "{log}");
}

/// Ends the readers also if the test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Fills a disk with a file but for so many bytes.
fn fill_file(path: &Path, leave: u64) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(leave)).unwrap();
}
