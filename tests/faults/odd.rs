//! Odd surroundings: a limit on the size of files, a long path, a damaged file. Each is an error that says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::serve::{Client, Server, latchkey, until};
use crate::world::{Chance, Own, limited, lockers_of, outcome, register};

#[test]
fn a_limit_on_the_size_of_files_refuses_writes_and_kills_nobody() {
    // `ulimit -f` killed the server by SIGXFSZ.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    // The store is on this machine, wherever else the suite runs.
    let mut command = latchkey();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.env("LATCHKEY_LOG", "error");
    // 4 MiB, in the blocks of the shell.
    let mut server = Own::start(&mut limited("ulimit -f 8192", &command));
    let token = crate::serve::token(data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    let mut told = BTreeSet::new();
    let refusal = loop {
        let id = format!("L{}", told.len());
        let body = json!({ "lockerId": id, "ownerId": "owner", "lockerAlias": "x".repeat(80) });
        let reply = client.post("/lockers", &body);
        if reply.status != 201 {
            break outcome(&reply);
        }
        told.insert(id);
        assert!(told.len() < 50_000, "nothing limits it");
    };
    println!("{} acknowledged, then {refusal}", told.len());
    assert!(["503 store-unavailable", "503 outcome-unknown"].contains(&refusal.as_str()));
    until("reads go on", || client.get("/lockers/L0").status == 200);
    assert_eq!(server.stop().code(), Some(0));
    let server = Own::start(&mut command);
    let mut client = Client::new(&server.address).with_token(&token);
    let views = lockers_of(&mut client, "owner");
    let found: BTreeSet<_> = views.iter().map(|view| view["lockerId"].as_str().unwrap()).collect();
    let lost: Vec<_> = told.iter().filter(|id| !found.contains(id.as_str())).collect();
    assert!(lost.is_empty(), "acknowledged, and lost: {lost:?}");
}

#[test]
fn commands_ask_a_server_whose_directory_has_a_long_path() {
    // The address of a socket has at most 107 bytes, so a server at a longer path could not be asked.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("d".repeat(120)).join("e".repeat(120));
    let mut server = Server::start(&data);
    let ls = || {
        let mut command = latchkey();
        command.args(["queue", "ls", "--json", "--data"]).arg(&data).output().unwrap()
    };
    let output = ls();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let queues: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!queues.as_array().unwrap().is_empty(), "{queues}");
    assert_eq!(server.stop().code(), Some(0));
    assert!(!data.join("control.sock").exists(), "it goes with the server");
    assert!(ls().status.success(), "without a server the command looks for itself");
}

fn export(data: &Path) -> Output {
    let mut command = latchkey();
    command.args(["export", "--system", "smartlocker", "--out", "-", "--data"]).arg(data);
    command.output().unwrap()
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    // What redb said of damaged pages was printed as a panic, with a hint about backtraces.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut command = latchkey();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    let mut server = Own::start(command.env("LATCHKEY_LOG", "error"));
    let token = crate::serve::token(data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    for n in 0..200 {
        register(&mut client, &format!("L{n}"), "owner");
    }
    assert_eq!(server.stop().code(), Some(0));
    let file = data.join("store.redb");
    let whole = fs::read(&file).unwrap();
    assert!(export(data).status.success());
    let mut chance = Chance::new(7);
    let mut failed = 0;
    for round in 0..30 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            // Half of the damage to the first pages, where all the structure is.
            let region = if chance.below(2) == 0 { 8 * 4096 } else { bytes.len() };
            bytes[chance.below(region)] ^= 1 << chance.below(8);
        }
        fs::write(&file, &bytes).unwrap();
        let output = export(data);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("panicked") && !told.contains("RUST_BACKTRACE"), "{round}: {told}");
        match output.status.code() {
            Some(0) => {}
            Some(2) => {
                failed += 1;
                assert!(told.starts_with("error: "), "{round}: {told}");
            }
            code => panic!("{round}: {code:?}: {told}"),
        }
    }
    println!("{failed} of 30 damaged copies were refused");
    assert!(failed > 0);
}
