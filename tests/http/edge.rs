//! HTTP as its users know it: hosts, encodings, preconditions, half-closed connections, and what a URL cannot carry.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use crate::scene::{Scene, clock};
use crate::serve::HANG;

const LOCKER: &str = "/lockers/L1";

#[test]
fn a_request_of_http_1_1_has_one_host() {
    let scene = Scene::start();
    for path in [LOCKER, "/health", "/nothing"] {
        for hosts in ["", "host: a\r\nhost: b\r\n", "host: a\r\nhost: a\r\n"] {
            let request = format!("GET {path} HTTP/1.1\r\n{hosts}\r\n");
            let reply = scene.nobody().raw(request.as_bytes(), false).unwrap();
            reply.refuses(400, "malformed-request");
        }
        let reply = scene.nobody().raw(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes(), false);
        assert_ne!(reply.unwrap().status, 400, "HTTP/1.0 needs none");
    }
}

#[test]
fn a_host_is_one_that_a_url_can_have() {
    let scene = Scene::start();
    for bad in [
        "a b", "a/b", "<a>", "a\"b", "a@b", "[zz]:80", "[::1", "a:80:80", "a:b", "a:99999", "a%zz",
        "a,b",
    ] {
        let request = format!("GET /health HTTP/1.1\r\nhost: {bad}\r\n\r\n");
        let reply = scene.nobody().raw(request.as_bytes(), false).unwrap();
        reply.refuses(400, "malformed-request");
    }
    for good in ["", "a.example", "127.0.0.1:80", "[::1]:80", "a_b"] {
        let request = format!("GET /health HTTP/1.1\r\nhost: {good}\r\n\r\n");
        assert_eq!(scene.nobody().raw(request.as_bytes(), false).unwrap().status, 200, "{good}");
    }
}

// A coding that is not known was passed over, where a proxy may read another body.
#[test]
fn a_body_has_one_length() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let mut send = |framing: &str| {
        let head = alice.head("POST", "/lockers", &[("content-type", "application/json")]);
        let request =
            format!("{head}{framing}\r\n\r\n13\r\n{{\"ownerId\":\"alice\"}}\r\n0\r\n\r\n");
        alice.raw(request.as_bytes(), false).unwrap()
    };
    for bad in [
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: foo, chunked",
        "transfer-encoding: ,chunked",
        "transfer-encoding: identity\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
    ] {
        send(bad).refuses(400, "malformed-request");
    }
    send("transfer-encoding: chunked").is(201);
}

#[test]
fn an_encoded_body_is_refused() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"ownerId": "alice"}).to_string();
    for bad in ["gzip", "br", "deflate", "identity, gzip", "x", ""] {
        let reply = alice.send("POST", "/lockers", &[("content-encoding", bad)], Some(&body));
        reply.refuses(415, "unsupported-media-type").has("accept-encoding", "identity");
    }
    for good in ["identity", "Identity"] {
        alice.send("POST", "/lockers", &[("content-encoding", good)], Some(&body)).is(201);
    }
    // Without a body nothing is encoded.
    let get = alice.send("GET", "/owners/alice/lockers", &[("content-encoding", "gzip")], None);
    get.is(200);
}

#[test]
fn a_body_that_is_no_object_is_wrong_as_a_whole() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    for bad in ["null", "[]", "1", "true", "\"x\"", "[{}]"] {
        alice.send("POST", "/lockers", &[], Some(bad)).blames(&[""]);
    }
}

#[test]
fn a_stale_if_match_of_a_get_is_a_precondition_that_failed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for method in ["GET", "HEAD"] {
        for tag in ["\"1\"", "*", "\"0\", \"1\""] {
            let reply = alice.send(method, LOCKER, &[("if-match", tag)], None);
            assert_eq!(reply.status, 200, "{reply}");
        }
        for stale in ["\"2\"", "W/\"1\"", "\"0\", \"2\"", "\"1-x\""] {
            let reply = alice.send(method, LOCKER, &[("if-match", stale)], None);
            assert_eq!(reply.status, 412, "{reply}");
        }
    }
    let refused = alice.send("GET", LOCKER, &[("if-match", "\"2\"")], None);
    refused.refuses(412, "precondition-failed").has("latchkey-contract", "QC-01");
    // It comes before `If-None-Match`, and after every other check.
    let both = [("if-match", "\"2\""), ("if-none-match", "\"1\"")];
    alice.send("GET", LOCKER, &both, None).refuses(412, "precondition-failed");
    alice.send("GET", "/lockers/L9", &[("if-match", "\"2\"")], None).refuses(404, "not-found");
    let stranger = scene.person("bob").send("GET", LOCKER, &[("if-match", "\"2\"")], None);
    stranger.refuses(403, "forbidden");
    // A list has no tag, so that no tag is the one it has.
    let list = alice.send("GET", "/owners/alice/lockers", &[("if-match", "\"1\"")], None);
    list.refuses(412, "precondition-failed");
    alice.send("GET", "/owners/alice/lockers", &[("if-match", "*")], None).is(200);
}

#[test]
fn a_call_that_may_only_make_something_changes_nothing() {
    let scene = Scene::start();
    let made = scene.locker("L1", "alice");
    let mut operator = scene.operator();
    let none = [("if-none-match", "*")];
    let alias = json!({"lockerAlias": "front", "expectedVersion": 1}).to_string();
    let status = json!({"newStatus": "OCCUPIED", "expectedVersion": 1}).to_string();
    for (method, path, body) in [
        ("PATCH", LOCKER, Some(alias.as_str())),
        ("PUT", "/lockers/L1/status", Some(status.as_str())),
        ("DELETE", "/lockers/L1?expectedVersion=1", None),
    ] {
        let refused = operator.send(method, path, &none, body);
        refused.refuses(412, "precondition-failed").names_its_contract();
        operator.get(LOCKER).shows_just(&made);
        // Where the call would be refused anyway, it is refused for that.
        let nowhere = path.replace("L1", "L9");
        operator.send(method, &nowhere, &none, body).refuses(404, "not-found");
        let tagged = operator.send(method, path, &[("if-none-match", "\"1\"")], body);
        tagged.refuses(400, "invalid-input");
    }
    // What is not there is made.
    let new = json!({"lockerId": "L2", "ownerId": "alice"}).to_string();
    operator.send("POST", "/lockers", &none, Some(&new)).is(201);
    operator.send("PATCH", LOCKER, &[], Some(&alias)).is(200);
}

#[test]
fn ids_that_no_path_can_carry_are_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut operator = scene.operator();
    for id in [".", ".."] {
        let body = json!({"lockerId": id, "ownerId": "alice"});
        let refused = operator.post("/lockers", &body).blames(&["/lockerId"]);
        assert!(refused.text.contains("no path can carry"), "{refused}");
        operator.get(&format!("/lockers/{id}")).blames(&["/lockerId"]);
        let owner = json!({"lockerId": "L2", "ownerId": id});
        operator.post("/lockers", &owner).blames(&["/ownerId"]);
    }
    for id in ["...", ".a", "a.", "a..b"] {
        let body = json!({"lockerId": id, "ownerId": "alice"});
        operator.post("/lockers", &body).is(201);
        operator.get(&format!("/lockers/{id}")).is(200);
    }
}

#[test]
fn a_plus_that_became_a_space_is_told_so() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let path = |start: &str| {
        format!("/lockers/L1/reservations?startISO={start}&endISO=2026-02-25T23:00:00Z")
    };
    let refused = alice.get(&path("2026-02-25T10:00:00+02:00")).blames(&["/startISO"]);
    assert!(refused.text.contains("%2B"), "{refused}");
    alice.get(&path("2026-02-25T10:00:00%2B02:00")).is(200);
    let refused = alice.get(&path("yesterday+noon")).blames(&["/startISO"]);
    assert!(!refused.text.contains("%2B"), "{refused}");
}

#[test]
fn a_time_may_have_any_number_of_digits() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = json!({
        "action": "OPEN", "actorId": "alice", "result": "SUCCESS",
        "timestamp": format!("2026-02-25T09:00:00.5{}Z", "0".repeat(200)),
    });
    let event = alice.post("/lockers/L1/events", &body).is(201);
    event.shows(&json!({"timestamp": clock("09:00:00.500")}));
}

#[test]
fn a_peer_that_sends_no_more_is_answered() {
    // Once, the end of what a peer sends ended a call under way, and there was no answer.
    let scene = Scene::start();
    let alice = scene.person("alice");
    for n in 0..20 {
        let body = json!({"lockerId": format!("H{n}"), "ownerId": "alice"}).to_string();
        let head = alice.head("POST", "/lockers", &[("content-type", "application/json")]);
        let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(&scene.server.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "`{answer}`");
    }
}
