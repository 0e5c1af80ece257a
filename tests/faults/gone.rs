//! A file of the store that is removed, replaced or cut while the server runs: noticed, told once, and no write is
//! acknowledged any more.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use crate::serve::{Client, latchkey, token, until};
use crate::world::{Own, outcome, register};

const SYSTEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/smartlocker.md");

/// A server of this machine's store, whose log goes to a file.
fn start(data: &Path, log: &Path) -> Own {
    let mut command = latchkey();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.env("LATCHKEY_LOG", "warn").stderr(File::create(log).unwrap());
    Own::start(&mut command)
}

#[test]
fn a_server_whose_file_is_gone_refuses_writes_and_says_so_once() {
    // The server went on with 201, and what it wrote was lost.
    for (name, harm) in
        [("store.redb", "removed"), ("journal-0", "cut"), ("store.redb", "replaced")]
    {
        let directory = tempfile::tempdir().unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let mut server = start(&data, &log);
        let token = token(&data, "dev", &["admin", "device"], &[]);
        let mut client = Client::new(&server.address).with_token(&token);
        for n in 0..50 {
            register(&mut client, &format!("L{n}"), "owner");
        }
        assert_eq!(client.get("/ready").status, 200);
        let file = data.join(name);
        match harm {
            "removed" => fs::remove_file(&file).unwrap(),
            "cut" => File::options().write(true).open(&file).unwrap().set_len(100).unwrap(),
            _ => {
                fs::copy(&file, directory.path().join("other")).unwrap();
                fs::rename(directory.path().join("other"), &file).unwrap();
            }
        }
        let started = Instant::now();
        until("the file is missed", || client.get("/ready").status == 503);
        println!("{name} {harm}: noticed after {:?}", started.elapsed());
        let ready = client.get("/ready");
        assert!(ready.text.starts_with("a file of the store is gone"), "{ready:?}");
        assert_eq!(client.get("/health").status, 200);
        for n in 0..100 {
            let body = json!({ "lockerId": format!("M{n}"), "ownerId": "owner" });
            let reply = client.post("/lockers", &body);
            assert_eq!(outcome(&reply), "503 store-unavailable", "{reply:?}");
            let detail = reply.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.starts_with("a file of the store is gone"), "{reply:?}");
            assert!(!reply.text.contains(name), "{reply:?}");
            assert_eq!(client.get("/lockers/L7").status, 200);
        }
        let before = fs::read(&file).ok();
        assert_eq!(server.stop().code(), Some(0));
        assert!(before == fs::read(&file).ok(), "nothing is written to {name} at the end");
        let log = fs::read_to_string(&log).unwrap();
        let told: Vec<_> = log.lines().filter(|line| line.contains("start again")).collect();
        assert_eq!(told.len(), 1, "{log}");
        assert!(told[0].contains(name) && told[0].contains(harm), "{log}");
        assert!(log.lines().count() < 5, "{log}");
        let mut command = latchkey();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
        let refused = command.stdout(Stdio::piped()).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains("restore"), "{told}");
        assert!(before == fs::read(&file).ok(), "nor at the next start");
    }
}

// The server still had the file, and `backup` and `export` said that there is no store.
#[test]
fn a_server_whose_store_was_removed_is_backed_up_exported_and_not_called_sound() {
    let directory = tempfile::tempdir().unwrap();
    let [data, log, file, again] =
        ["data", "log", "a.backup", "again"].map(|name| directory.path().join(name));
    let mut server = start(&data, &log);
    let token = token(&data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    for n in 0..50 {
        register(&mut client, &format!("L{n}"), "owner");
    }
    let ends = |code: i32, arguments: &[&str], data: &Path| {
        let output = latchkey().args(arguments).arg("--data").arg(data).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        told
    };
    fs::remove_file(data.join("store.redb")).unwrap();
    until("the file is missed", || client.get("/ready").status == 503);
    let told = ends(1, &["store", "verify"], &data);
    assert!(told.contains("`store.redb` was removed") && told.contains("make a backup"), "{told}");
    assert!(told.contains("has 1 damage"), "{told}");
    let exported = ends(0, &["export", SYSTEM, "--out", "-"], &data);
    assert!(exported.contains("L49"), "{exported}");
    ends(0, &["backup", "--out", file.to_str().unwrap()], &data);
    let mark = fs::read_to_string(data.join("lost.txt")).unwrap();
    assert!(mark.contains("make a backup before you stop"), "{mark}");
    assert_eq!(server.stop().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("make a backup before you stop"), "{log}");
    ends(0, &["restore", file.to_str().unwrap()], &again);
    let restored = ends(0, &["export", SYSTEM, "--out", "-"], &again);
    assert!(restored.contains("L49"), "{restored}");
}

// `/ready` answered 200, and the log had a line for each request, without the name of a file.
#[test]
fn a_server_whose_journals_cannot_be_made_says_so_once_and_recovers() {
    let directory = tempfile::tempdir().unwrap();
    let (data, log) = (directory.path().join("data"), directory.path().join("log"));
    let mut server = start(&data, &log);
    let token = token(&data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    let link = data.join("journal-0");
    std::os::unix::fs::symlink(directory.path().join("none/journal-0"), &link).unwrap();
    for n in 0..20 {
        let body = json!({ "lockerId": format!("M{n}"), "ownerId": "owner" });
        let reply = client.post("/lockers", &body);
        assert_eq!(outcome(&reply), "503 store-unavailable", "{reply:?}");
        assert_eq!(client.get("/ready").status, 503);
    }
    fs::remove_file(&link).unwrap();
    until("the journals are made", || client.get("/ready").status == 200);
    register(&mut client, "L1", "owner");
    assert_eq!(server.stop().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    let told: Vec<_> = log.lines().filter(|line| line.contains("journal-0")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("a journal cannot be made"), "{log}");
    assert!(log.lines().count() < 5, "{log}");
}

// The log said to make a backup, and `rm DIR/*` had removed the socket by which `latchkey backup` asks.
#[test]
fn a_server_whose_directory_was_emptied_is_backed_up_and_exported() {
    let directory = tempfile::tempdir().unwrap();
    let [data, log, file, again] =
        ["data", "log", "a.backup", "again"].map(|name| directory.path().join(name));
    let mut server = start(&data, &log);
    let token = token(&data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    for n in 0..50 {
        register(&mut client, &format!("L{n}"), "owner");
    }
    let socket = data.join("control.sock");
    // Twice: it is looked for all the time.
    for _ in 0..2 {
        for file in fs::read_dir(&data).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
        until("the socket is made again", || socket.exists());
    }
    let ends = |arguments: &[&str], data: &Path| {
        let output = latchkey().args(arguments).arg("--data").arg(data).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(ends(&["export", SYSTEM, "--out", "-"], &data).contains("L49"));
    ends(&["backup", "--out", file.to_str().unwrap()], &data);
    assert_eq!(server.stop().code(), Some(0));
    assert!(!socket.exists(), "it goes with the server");
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("the socket for other commands was gone").count(), 2, "{log}");
    ends(&["restore", file.to_str().unwrap()], &again);
    assert!(ends(&["export", SYSTEM, "--out", "-"], &again).contains("L49"));
}
