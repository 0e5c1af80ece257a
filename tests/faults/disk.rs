//! A disk that is full: reads go on, writes are refused with a reason, nothing acknowledged is lost, and
//! all is well when there is room again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::serve::{Client, Reply, Server, until};
use crate::world::{locker, lockers_of, operator, outcome};

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

/// A refusal for want of a disk: said plainly, and when to come back.
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

/// Registers lockers until there is no room. Those that were acknowledged, and those that are in doubt.
fn fill(server: &Server, token: &str, round: usize) -> (BTreeSet<String>, BTreeSet<String>) {
    let (told, doubt) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    let alias = "x".repeat(80);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (told, doubt, alias) = (&told, &doubt, &alias);
            scope.spawn(move || {
                let mut client = server.client().with_token(token);
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

#[test]
fn a_full_disk_refuses_writes_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::mount(directory.path(), 16 * 1024);
    let data = disk.root.join("data");
    let filler = disk.root.join("filler");
    let mut server = Server::start(&data);
    let token = operator(&server);
    let (mut told, mut doubt) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..3 {
        // As good as full: a little room is left, and used up.
        fill_file(&filler, 256 * 1024);
        let started = Instant::now();
        let (some, unsure) = fill(&server, &token, round);
        println!(
            "round {round}: {} acknowledged, {} in doubt, full after {:?}",
            some.len(),
            unsure.len(),
            started.elapsed()
        );
        told.extend(some);
        doubt.extend(unsure);
        let mut client = server.client().with_token(&token);
        until("reads go on", || client.get("/ready").status == 200);
        for _ in 0..5 {
            let reply = client.post("/lockers", &json!({ "ownerId": "nobody" }));
            assert!(reply.status == 201 || full(&reply), "{reply:?}");
            until("reads go on", || client.get("/ready").status == 200);
            all_there(&mut client, &told, &doubt);
        }
        if round == 1 {
            // Even a start on a full disk serves what there is.
            assert_eq!(server.stop().code(), Some(0));
            server = Server::start(&data);
            all_there(&mut server.client().with_token(&token), &told, &doubt);
        }
        // With room again, writes go on without a restart.
        std::fs::remove_file(&filler).unwrap();
        let mut client = server.client().with_token(&token);
        let id = format!("room-{round}");
        until("writes go on", || {
            let body = json!({ "lockerId": id, "ownerId": "owner" });
            let reply = client.post("/lockers", &body);
            assert!(reply.status == 201 || full(&reply), "{reply:?}");
            reply.status == 201
        });
        told.insert(id);
        all_there(&mut client, &told, &doubt);
    }
    assert!(told.len() > 10, "there was room for some");
    server.kill();
    let server = Server::start(&data);
    all_there(&mut server.client().with_token(&token), &told, &doubt);
}

/// Fills a disk with a file but for so many bytes.
fn fill_file(path: &Path, leave: u64) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(leave)).unwrap();
}
