//! What is kept apart from callers: the address of those who watch a server; and the pages that explain problems.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::browsers::Flagged;
use crate::serve::{Client, latchkey};

/// The address at which a server is watched, by its greeting.
pub(crate) fn watched_at(flagged: &Flagged) -> String {
    let greeting = &flagged.server.greeting;
    let ready = greeting.split_whitespace().find(|word| word.ends_with("/ready")).unwrap();
    ready.strip_prefix("http://").and_then(|ready| ready.strip_suffix("/ready")).unwrap().to_owned()
}

#[test]
fn a_server_may_be_watched_at_an_address_of_its_own() {
    let mut flagged = Flagged::start(&["--admin-listen", "127.0.0.1:0"], &[]);
    let admin = watched_at(&flagged);
    assert_ne!(admin, flagged.server.address);
    let (mut public, mut watcher) = (flagged.server.client(), Client::new(&admin));
    for path in ["/metrics", "/ready"] {
        public.get(path).refuses(404, "not-found");
        let reply = public.send("HEAD", path, &[], None);
        assert_eq!(reply.status, 404, "{reply}");
        let reply = watcher.get(path);
        assert_eq!(
            (reply.status, reply.header("x-content-type-options")),
            (200, "nosniff"),
            "{reply}"
        );
    }
    for client in [&mut public, &mut watcher] {
        assert_eq!(client.get("/health").status, 200);
    }
    for path in ["/lockers/L1", "/openapi.json", "/nothing", "/problems/not-found"] {
        watcher.get(path).refuses(404, "not-found").lacks("latchkey-contract");
    }
    let passed =
        watcher.send("POST", "/test-clock/pass", &[("latchkey-now", "2026-02-25T10:00:00Z")], None);
    passed.refuses(404, "not-found");
    let reply = watcher.send("POST", "/metrics", &[], Some("{}"));
    assert_eq!((reply.status, reply.header("allow")), (405, "GET, HEAD"), "{reply}");
    let reply = watcher.raw(b"GET /metrics HTTP/1.1\r\n\r\n", false).unwrap();
    reply.refuses(400, "malformed-request");
    // Both addresses are closed once it has stopped.
    let status = flagged.server.stop();
    assert!(status.success(), "{status}");
    for address in [&admin, &flagged.server.address] {
        assert!(std::net::TcpStream::connect(address).is_err(), "{address}");
    }
}

#[test]
fn the_type_of_a_problem_leads_to_a_page_that_explains_it() {
    let flagged = Flagged::start(&[], &[]);
    let mut operator = flagged.operator();
    let mut nobody = flagged.server.client();
    let body = json!({"lockerId": "L1", "ownerId": "alice"});
    operator.post("/lockers", &body).is(201);
    for reply in [
        operator.post("/lockers", &body),
        operator.get("/lockers/L9"),
        operator.get("/nothing"),
        operator.post("/lockers", &json!({})),
        operator.send("PUT", "/lockers", &[], None),
        nobody.get("/lockers/L1"),
        nobody.raw(b"GET /a b HTTP/1.1\r\n\r\n", false).unwrap(),
    ] {
        let problem = reply.tells_a_problem().json();
        let page = problem["type"].as_str().unwrap();
        let code = problem["code"].as_str().unwrap();
        assert_eq!(page, format!("/problems/{code}"));
        let explained = flagged.server.client().get(page);
        assert_eq!((explained.status, explained.header("content-type")), (200, "application/json"));
        let explained = explained.json();
        assert_eq!(explained["code"], code, "{explained}");
        let answers = explained["answers"].as_array().unwrap();
        let told = answers.iter().find(|answer| answer["status"] == problem["status"]);
        let told = told.unwrap_or_else(|| panic!("{problem} is not explained: {explained}"));
        assert!(!told["when"].as_str().unwrap().is_empty(), "{explained}");
        if let Some(contract) = problem["contract"].as_str() {
            let own = |who: &Value| who.as_str().unwrap().starts_with(&format!("{contract} of "));
            let named = answers.iter().flat_map(|answer| answer["contracts"].as_array().unwrap());
            assert!(named.into_iter().any(own), "{explained}");
        }
        let asks = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        let seen = flagged.server.client().send("GET", page, &asks, None);
        assert_eq!(seen.header("content-type"), "text/html; charset=utf-8", "{seen}");
        assert!(seen.text.contains(code) && seen.has("vary", "accept").text.contains("<h1>"));
    }
    flagged.server.client().get("/problems/no-such-code").refuses(404, "not-found");
    flagged.server.client().get("/problems").refuses(404, "not-found");
    let head = flagged.server.client().send("HEAD", "/problems/not-found", &[], None);
    assert_eq!((head.status, head.text.as_str()), (200, ""), "{head}");
    let post = flagged.server.client().send("POST", "/problems/not-found", &[], None);
    assert_eq!((post.status, post.header("allow")), (405, "GET, HEAD"), "{post}");
}

/// A document whose contract has the path of a page.
const PROBLEMS: &str = r#"# Problems
```contract
system problems
table Problems { type kind }

entity Problem "PROBLEM" {
  PK = "PROBLEM#{problemId}"
  SK = "META"

  problemId id
}

contract P-01 "Get a problem" {
  GET /problems/{problemId}
  allow true

  problem = get Problem strong else 404 not-found
  return problem

  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

#[test]
fn the_pages_may_be_elsewhere_and_make_room_for_a_contract() {
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("problems.md");
    std::fs::write(&document, PROBLEMS).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut refused = latchkey();
    refused.arg("serve").arg(&document).args(["--listen", "127.0.0.1:0", "--data"]);
    let output = refused.arg(data.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("--problem-base"), "{told}");
    let documents: [PathBuf; 1] = [document];
    let flagged = Flagged::start(&["--problem-base", "https://docs.example/problems/"], &documents);
    let reply = flagged.operator().get("/problems/P9");
    assert_eq!((reply.status, reply.header("latchkey-contract")), (404, "P-01"), "{reply}");
    assert_eq!(reply.json()["type"], "https://docs.example/problems/not-found", "{reply}");
    let reply = flagged.server.client().raw(b"GET /a b HTTP/1.1\r\n\r\n", false).unwrap();
    assert_eq!(reply.json()["type"], "https://docs.example/problems/malformed-request", "{reply}");
}
