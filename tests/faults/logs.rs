//! What the log says of requests, and what it must not.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::serve::backend::on_backend;
use crate::serve::{Client, latchkey, until};
use crate::world::{ALWAYS, Own, signal};

/// What is put where nobody but the caller should read it.
const MARK: &str = "MARK-a7f3c9";

/// The token of the greeting.
fn token_of(greeting: &str) -> String {
    let line = greeting.lines().find_map(|line| line.trim().strip_prefix("token"));
    line.unwrap().trim().to_owned()
}

/// Sends requests of every fate, with the mark in all that is the caller's own. Each has a connection of its
/// own, for some end it.
fn ask_everything(address: &str, token: &str) -> usize {
    let client = || Client::new(address).with_token(token);
    let key = ("idempotency-key", MARK);
    let alias = json!({ "lockerId": "L1", "ownerId": "owner", "lockerAlias": MARK }).to_string();
    let renter = json!({
        "reservationId": MARK, "ownerId": MARK, "startAt": "2026-03-01T10:00:00Z",
        "endAt": "2026-03-01T11:00:00Z",
    })
    .to_string();
    let event = json!({
        "eventId": "E1", "action": "OPEN", "actorId": MARK, "result": "SUCCESS",
        "metadata": { MARK: [MARK] },
    })
    .to_string();
    let large = format!("{{\"lockerAlias\":\"{}\"}}", MARK.repeat(200_000));
    let deep = format!("{}\"{MARK}\"{}", "[".repeat(200), "]".repeat(200));
    let posts: Vec<(&str, String)> = vec![
        ("/lockers", alias.clone()),
        ("/lockers", alias),
        ("/lockers", format!("{{\"{MARK}\": 1}}")),
        ("/lockers", format!("{{\"ownerId\": \"{MARK}#\", \"lockerId\": \"#{MARK}\"}}")),
        ("/lockers", format!("{{\"ownerId\": {MARK}")),
        ("/lockers", format!("\"{MARK}\"")),
        ("/lockers", deep),
        ("/lockers", large),
        ("/lockers/L1/reservations", renter.clone()),
        ("/lockers/L1/reservations", renter),
        ("/lockers/L1/events", event.clone()),
        ("/lockers/L1/events", event),
        ("/lockers/none/transfer", json!({ "newOwnerId": MARK }).to_string()),
        ("/nowhere", MARK.to_owned()),
    ];
    let mut asked = 0;
    for (path, body) in &posts {
        for headers in [&[][..], &[key][..], &[("content-type", "text/plain")][..]] {
            client().send("POST", path, headers, Some(body));
            asked += 1;
        }
    }
    let gets = [
        format!("/lockers/L1?{MARK}={MARK}"),
        format!("/lockers/L1/events?{ALWAYS}&nextCursor={MARK}"),
        format!("/lockers/L1/events?startISO={MARK}&endISO={MARK}"),
    ];
    for path in &gets {
        client().get(path);
        asked += 1;
    }
    // Tokens that are none, and one that is almost one.
    for wrong in [MARK.to_owned(), format!("{MARK}.{MARK}.{MARK}"), format!("{token}x")] {
        assert_eq!(client().with_token(&wrong).get("/lockers/L1").status, 401);
        asked += 1;
    }
    let basic = format!("Basic {MARK}");
    Client::new(address).send("GET", "/lockers/L1", &[("authorization", &basic)], None);
    asked + 1
}

#[test]
fn the_log_has_neither_tokens_nor_bodies_nor_secrets() {
    for level in ["info", "debug", "trace"] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let data = directory.path().join("data");
        let mut command = on_backend("serve", &data, &[]);
        command.args(["--listen", "127.0.0.1:0"]);
        command.env("LATCHKEY_LOG", level).stderr(File::create(&log).unwrap());
        let mut server = Own::start(&mut command);
        // The greeting goes on behind the line it was read to.
        let token = crate::serve::token(&data, "dev", &["admin", "device"], &[]);
        let asked = ask_everything(&server.address, &token);
        assert_eq!(server.stop().code(), Some(0));
        let log = fs::read_to_string(&log).unwrap();
        let secret = fs::read_to_string(data.join("development-secret")).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        for hidden in [MARK, secret.trim(), parts[1], parts[2], "Bearer"] {
            let line = log.lines().find(|line| line.contains(hidden));
            assert_eq!(line, None, "at {level}, the log has `{hidden}`");
        }
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let requests = lines.iter().filter(|line| line["target"] == "latchkey::request");
        assert_eq!(requests.count(), asked, "at {level}, one line a request");
    }
}

#[test]
fn the_greeting_shows_the_token_to_whoever_started_it_and_never_the_secret() {
    let directory = tempfile::tempdir().unwrap();
    let server = crate::serve::Server::start(directory.path());
    let secret = fs::read_to_string(directory.path().join("development-secret")).unwrap();
    assert!(!server.greeting.contains(secret.trim()));
    let token = token_of(&server.greeting);
    assert_eq!(server.client().with_token(&token).get("/lockers/L1").status, 404);
}

/// A pipe that is full and that nobody reads, for as long as the reader lives.
fn full_pipe() -> (io::PipeReader, io::PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    let mut filling = writer.try_clone().unwrap();
    thread::spawn(move || {
        // It ends when the reader does.
        let _ = filling.write_all(&vec![b'\n'; 4 * 1024 * 1024]);
    });
    (reader, writer)
}

/// Dropped, the process is killed.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn output_that_nobody_reads_holds_neither_requests_nor_a_stop_up() {
    // A full standard error froze the server, and SIGTERM was ignored.
    let directory = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ((_errors, stderr), (_output, stdout)) = (full_pipe(), full_pipe());
    let mut command = on_backend("serve", directory.path(), &[]);
    command.args(["--listen", &address.to_string()]).env("LATCHKEY_LOG", "info");
    let mut server = Killed(command.stdout(stdout).stderr(stderr).spawn().unwrap());
    until("it listens", || TcpStream::connect(address).is_ok());
    let token = crate::serve::token(directory.path(), "dev", &["admin"], &[]);
    let mut client = Client::new(&address.to_string()).with_token(&token);
    until("it is ready", || client.get("/ready").status == 200);
    for _ in 0..500 {
        assert_eq!(client.get("/lockers/none").status, 404);
    }
    let metrics = client.get("/metrics").text;
    assert!(metrics.contains("\nlatchkey_log_lines_lost_total "), "{metrics}");
    signal(server.0.id(), "-TERM");
    until("it has stopped", || server.0.try_wait().unwrap().is_some());
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
}

#[test]
fn output_that_cannot_be_written_is_counted_and_stops_nothing() {
    // Lines that a full disk refused were lost without a word.
    let directory = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let mut command = on_backend("serve", directory.path(), &[]);
    command.args(["--listen", &address.to_string()]).env("LATCHKEY_LOG", "info");
    let mut server = Killed(command.stdout(full()).stderr(full()).spawn().unwrap());
    until("it listens", || TcpStream::connect(address).is_ok());
    let mut client = Client::new(&address.to_string());
    until("it is ready", || client.get("/ready").status == 200);
    assert_eq!(client.get("/lockers/none").status, 401);
    until("the line is counted", || {
        let metrics = client.get("/metrics").text;
        let lost =
            metrics.lines().find_map(|line| line.strip_prefix("latchkey_log_lines_lost_total "));
        lost.unwrap().parse::<u64>().unwrap() > 0
    });
    signal(server.0.id(), "-TERM");
    until("it has stopped", || server.0.try_wait().unwrap().is_some());
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_failure_that_nobody_reads_ends_the_process() {
    // The last words of a server waited for a reader, where no signal could end the wait.
    let directory = tempfile::tempdir().unwrap();
    let (_errors, stderr) = full_pipe();
    let mut command = latchkey();
    command.args(["serve", "missing.md", "--data"]).arg(directory.path());
    let mut server = Killed(command.stderr(stderr).spawn().unwrap());
    until("it has ended", || server.0.try_wait().unwrap().is_some());
    assert_eq!(server.0.wait().unwrap().code(), Some(2));
}

#[test]
fn mistakes_that_nobody_reads_end_the_process() {
    // The mistakes of a document were written to standard error directly, which waited for a reader for ever.
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("broken.md");
    fs::write(&document, "```contract\nsystem kennels\nentity Dog\n```\n").unwrap();
    for command in ["serve", "work", "test"] {
        let (_errors, stderr) = full_pipe();
        let mut started = latchkey();
        started.arg(command).arg(&document);
        if command != "test" {
            started.arg("--data").arg(directory.path());
        }
        let mut ended = Killed(started.stderr(stderr).spawn().unwrap());
        until("it has ended", || ended.0.try_wait().unwrap().is_some());
        assert_eq!(ended.0.wait().unwrap().code(), Some(1), "{command}");
        // Whoever reads is told all of it.
        let told = started.stderr(std::process::Stdio::piped()).output().unwrap();
        let told = String::from_utf8(told.stderr).unwrap();
        assert!(told.contains("error[") && told.ends_with("docs/rules\n"), "{command}: {told}");
    }
}

// `latchkey test … | head -1` panicked.
#[test]
fn a_command_whose_output_cannot_be_written_ends_without_a_panic() {
    // Some commands, and all help, ended as if all had been written.
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.md");
    fs::write(&broken, "```contract\nsystem kennels\nentity Dog\n```\n").unwrap();
    let data = directory.path().join("data");
    drop(crate::serve::Server::start(&data));
    let (broken, data) = (broken.to_str().unwrap(), data.to_str().unwrap());
    let run = |arguments: &[&str], out: Stdio| {
        let mut command = latchkey();
        let ended = command.args(arguments).stdout(out).stderr(Stdio::piped());
        let ended = ended.spawn().unwrap().wait_with_output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
    };
    for arguments in [
        &["explain", "QC-01"][..],
        &["check"],
        &["check", "--json", broken],
        &["model", "--json"],
        &["openapi"],
        &["table", "cloudformation"],
        &["token", "--sub", "alice", "--data", data],
        &["queue", "ls", "--data", data],
        &["queue", "ls", "--json", "--data", data],
        &["help"],
        &["serve", "--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, told) = run(arguments, full.into());
        assert_eq!(code, Some(1), "{arguments:?}: {told}");
        let last = told.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: standard output cannot be written: "), "{told}");
        assert!(!told.contains("panicked"), "{told}");
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let (code, told) = run(arguments, writer.into());
        assert_eq!(code, Some(141), "{arguments:?}: {told}");
    }
}
