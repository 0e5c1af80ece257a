//! What the log says of requests, and what it must not.

use std::fs::{self, File};

use serde_json::{Value, json};

use crate::serve::Client;
use crate::serve::backend::on_backend;
use crate::world::{ALWAYS, Own};

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

#[cfg(unix)]
#[test]
fn the_development_secret_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    drop(crate::serve::Server::start(&data));
    let mode = fs::metadata(data.join("development-secret")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}
