//! A server whose store takes long to open: it lives, it says what it is doing, and it serves once it can.

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_table::{Item, Put, Returning, Schema};

use crate::serve::{Client, HANG, latchkey};
use crate::world::{outcome, signal};

const DOCUMENT: &str = "# Doors

```contract
system doors

table Doors { type kind }

entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  SK = \"META\"
  index GSI1 { PK = \"OWNER#{ownerId}\"  SK = \"DOOR#{doorId}\" }

  doorId  id
  ownerId id
}

contract D-01 \"Get a door\" {
  GET /doors/{doorId}

  door = get Door                       else 404 not-found
  allow anyone
  return door

  consistency eventual
  expect 1 item
  rate 1/s
}
```
";

/// A store of many items, whose table has no index yet.
fn fill(data: &Path, items: usize) {
    let store = Store::open(data, &Options::default()).unwrap();
    let table = Arc::new(Schema::new("Doors"));
    store.create_table(&table).wait().unwrap();
    let put = |n: usize| {
        let (pk, owner) = (format!("DOOR#{n:06}"), format!("OWNER#{}", n % 97));
        let id = format!("{n:06}");
        let item = Item::from([
            ("PK", pk.as_str()),
            ("SK", "META"),
            ("kind", "DOOR"),
            ("doorId", &id),
            ("ownerId", "ann"),
            ("GSI1PK", &owner),
            ("GSI1SK", &pk),
        ]);
        let put = Put { table: Arc::clone(&table), item, condition: None };
        store.put(put, Returning::Nothing)
    };
    for start in (0..items).step_by(1000) {
        let pending: Vec<_> = (start..start + 1000).map(put).collect();
        pending.into_iter().for_each(|pending| drop(pending.wait().unwrap()));
    }
}

/// A port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(directory: &Path, address: &str) -> Command {
    let mut command = latchkey();
    command.arg("serve").arg(directory.join("doors.md"));
    command.args(["--no-console", "--listen", address, "--data"]).arg(directory.join("data"));
    command.env("LATCHKEY_LOG", "error");
    command
}

#[test]
fn a_server_that_opens_its_store_is_healthy_and_says_how_far_it_is() {
    // The port was closed while the store opened, so whoever watched the server could kill it for ever.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    fill(&directory.path().join("data"), 60_000);
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = serve(directory.path(), &address);
    let mut server = Killed(command.stdout(Stdio::null()).spawn().unwrap());
    let started = std::time::Instant::now();
    let mut client = Client::new(&address);
    while TcpStream::connect(&address).is_err() {
        assert!(started.elapsed() < HANG && server.0.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(1));
    }
    let (mut opening, mut turned_away) = (Vec::new(), 0);
    loop {
        assert!(started.elapsed() < HANG, "it hangs: {opening:?}");
        assert_eq!(client.get("/health").status, 200);
        let ready = client.get("/ready");
        if ready.status == 200 {
            assert_eq!(ready.text, "ready\n");
            break;
        }
        assert_eq!(ready.status, 503, "{ready:?}");
        opening.push(ready.text);
        let called = client.get("/doors/000007");
        if called.status != 200 {
            assert_eq!(outcome(&called), "503 starting", "{called:?}");
            assert_eq!(called.header("retry-after"), "1");
            turned_away += 1;
        }
    }
    opening.dedup();
    println!("ready after {:?}; {} answers before: {opening:?}", started.elapsed(), turned_away);
    assert!(turned_away > 0);
    let filling = "opening: filling index `GSI1` of table `Doors`, ";
    assert!(opening.iter().any(|text| text.starts_with(filling)), "{opening:?}");
    assert_eq!(client.get("/doors/000007").status, 200);
}

#[test]
fn a_port_that_is_taken_is_told_before_the_store_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = serve(directory.path(), &address).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("cannot listen on"), "{told}");
    assert!(!directory.path().join("data/store.redb").exists());
}

#[test]
fn a_store_that_cannot_be_opened_ends_the_server_with_its_error() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    fill(&directory.path().join("data"), 1000);
    std::fs::write(directory.path().join("data/store.redb"), "no store").unwrap();
    let refused = serve(directory.path(), "127.0.0.1:0").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("cannot be opened"), "{told}");
    // It did not say what can be done.
    let data = directory.path().canonicalize().unwrap().join("data");
    let data = data.display();
    assert!(told.contains(&format!("`latchkey store verify --data {data}`")), "{told}");
    assert!(told.contains(&format!("`latchkey store salvage --data {data} --out DIR`")), "{told}");
    assert!(refused.stdout.is_empty(), "nothing is served");
}

#[test]
fn a_secret_that_a_killed_start_has_begun_is_no_secret_and_is_not_left_behind() {
    // `development-secret.PID.new` stayed for ever.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    let draft = data.join("development-secret.new");
    std::fs::write(&draft, "0123456789".repeat(20)).unwrap();
    std::fs::set_permissions(&draft, Permissions::from_mode(0o600)).unwrap();
    // Two at once use the same one.
    let run = |arguments: &[&str]| {
        let mut command = latchkey();
        command.args(arguments).current_dir(directory.path()).env_remove("LATCHKEY_SECRET");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let serve = ["serve", "doors.md", "--data", "data", "--listen", "127.0.0.1:0"];
    let mut servers = [(); 8].map(|()| Killed(run(&serve)));
    let read = |server: &mut Killed| {
        let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        let token = lines.find_map(|line| Some(line.unwrap().strip_prefix("  token")?.to_owned()));
        token.map(|token| token.trim().to_owned())
    };
    // One has the directory, and the others are refused.
    let tokens: Vec<_> = servers.iter_mut().filter_map(read).collect();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    let secret = std::fs::read_to_string(data.join("development-secret")).unwrap();
    assert_eq!(secret.len(), 64);
    assert!(!draft.exists());
}

#[test]
fn what_is_no_file_or_no_directory_is_named_and_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    let started = |data: &str| {
        let mut command = latchkey();
        command.args(["serve", "doors.md", "--listen", "127.0.0.1:0", "--data", data]);
        command.current_dir(directory.path()).env_remove("LATCHKEY_SECRET");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let names = ["lock", "store.redb", "journal-0", "journal-1", "development-secret"];
    for (at, name) in names.into_iter().enumerate() {
        // A pipe was opened, and the start waited for who writes to it.
        let data = directory.path().join(at.to_string());
        std::fs::create_dir(&data).unwrap();
        std::fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(data.join(name)).status();
        assert!(made.unwrap().success());
        let told = started(&at.to_string());
        assert!(
            told.contains(&format!("{name}` is there, and is not a file: move it away")),
            "{told}"
        );
    }
    let told = started("doors.md");
    assert!(told.contains("`doors.md` is there, and is not a directory"), "{told}");
}

#[test]
fn a_server_that_may_open_too_few_files_says_so() {
    // With eight it ended with code 101 and without a word.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    for files in [6, 8, 16, 63] {
        let mut command = Command::new("sh");
        let script = r#"ulimit -n $1; shift; exec "$@""#;
        command.args(["-c", script, "sh", &files.to_string()]);
        command.arg(latchkey().get_program()).args([
            "serve",
            "doors.md",
            "--listen",
            "127.0.0.1:0",
        ]);
        let refused = command.args(["--data", "data"]).current_dir(directory.path()).output();
        let refused = refused.unwrap();
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        let said = format!("this process may have {files} files open, and a server needs 64");
        assert!(told.contains(&said), "{told}");
        assert!(!directory.path().join("data").exists());
    }
}

#[test]
fn a_first_start_that_did_not_finish_is_told_once() {
    // `store.new` was removed without a word, and nobody could know that the store is new.
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    std::fs::write(data.join("store.new"), "half").unwrap();
    for told in [1, 0] {
        let mut command = serve(directory.path(), "127.0.0.1:0");
        command.env("LATCHKEY_LOG", "warn").stderr(File::create(&log).unwrap());
        let mut server = Killed(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("health") {}
        signal(server.0.id(), "-TERM");
        assert_eq!(server.0.wait().unwrap().code(), Some(0));
        let log = std::fs::read_to_string(&log).unwrap();
        assert_eq!(log.matches("`store.new` is left of a first start").count(), told, "{log}");
        assert!(!data.join("store.new").exists());
    }
}

#[test]
fn a_server_that_is_told_to_stop_while_its_store_opens_stops_in_order() {
    // The signal ended the process, so whoever had started it took that for a crash.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    fill(&directory.path().join("data"), 60_000);
    let address = format!("127.0.0.1:{}", free_port());
    let log = directory.path().join("log");
    let mut command = serve(directory.path(), &address);
    command.env("LATCHKEY_LOG", "info").stderr(File::create(&log).unwrap());
    let mut server = Killed(command.stdout(Stdio::piped()).spawn().unwrap());
    let started = std::time::Instant::now();
    while TcpStream::connect(&address).is_err() {
        assert!(started.elapsed() < HANG && server.0.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(1));
    }
    signal(server.0.id(), "-TERM");
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("finishing what was accepted").count(), 1, "{log}");
    let mut told = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    println!("stopped within {:?}, and has told: {told:?}", started.elapsed());
    assert!(told.ends_with("stopped\n"), "{told}");
}

#[test]
fn a_server_that_waits_for_its_table_stops_at_once_if_it_is_told_to() {
    // As above; the service never answers, so the server would wait for as long as it tries.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = serve(directory.path(), "127.0.0.1:0");
    command.args(["--dynamodb", "--endpoint", &format!("http://{}", silent.local_addr().unwrap())]);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env(name, "test");
    }
    command.env("AWS_REGION", "eu-west-1").stdout(Stdio::piped());
    let mut server = Killed(command.spawn().unwrap());
    let asked = silent.accept().unwrap();
    signal(server.0.id(), "-TERM");
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(told, "stopped\n");
    drop(asked);
}

// Contracts that asked the index did not find the items of before, and nobody was told.
#[test]
fn a_new_index_that_lacks_the_items_of_before_is_told_once() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    std::fs::write(directory.path().join("doors.md"), DOCUMENT).unwrap();
    let store = Store::open(&data, &Options::default()).unwrap();
    let table = Arc::new(Schema::new("Doors"));
    store.create_table(&table).wait().unwrap();
    for n in 0..7 {
        let id = format!("{n}");
        let pk = format!("DOOR#{n}");
        let mut item = Item::from([("PK", pk.as_str()), ("SK", "META"), ("kind", "DOOR")]);
        item.insert("doorId", id.as_str());
        item.insert("ownerId", "ann");
        let put = Put { table: Arc::clone(&table), item, condition: None };
        store.put(put, Returning::Nothing).wait().unwrap();
    }
    drop(store);
    for told in [1, 0] {
        let mut command = serve(directory.path(), "127.0.0.1:0");
        command.env("LATCHKEY_LOG", "warn").stderr(File::create(&log).unwrap());
        let mut server = Killed(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("health") {}
        signal(server.0.id(), "-TERM");
        assert_eq!(server.0.wait().unwrap().code(), Some(0));
        let log = std::fs::read_to_string(&log).unwrap();
        assert_eq!(log.matches("has a new index").count(), told, "{log}");
        assert_eq!(log.matches("`GSI1` holds 0").count(), told, "{log}");
    }
}
