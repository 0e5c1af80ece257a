//! Bodies: their media type, their size, their JSON, and where there is to be none.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::scene::{Scene, clock};

const JSON: (&str, &str) = ("content-type", "application/json");
const MEGABYTES: usize = 3 * 1024 * 1024;

#[test]
fn a_body_is_sent_as_json() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"ownerId": "alice"}).to_string();
    for good in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
    ] {
        alice.send("POST", "/lockers", &[("content-type", good)], Some(&body)).is(201);
    }
    for bad in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/jsonx",
        "multipart/form-data; boundary=x",
        "json",
        "*/*",
        "",
    ] {
        let refused = alice.send("POST", "/lockers", &[("content-type", bad)], Some(&body));
        assert_eq!(refused.status, 415, "{refused}");
        refused.tells_a_problem().has("latchkey-contract", "QC-11").names_its_contract();
    }
    let untold = alice.send_bytes("POST", "/lockers", &[], body.as_bytes(), false);
    assert_eq!(untold.status, 415, "{untold}");
    untold.tells_a_problem();
    // Of two, the first was taken.
    let twice = [JSON, ("content-type", "text/plain")];
    let refused = alice.send_bytes("POST", "/lockers", &twice, body.as_bytes(), false);
    assert_eq!(refused.status, 415, "{refused}");
}

#[test]
fn whoever_asks_first_is_told_what_is_no_json() {
    let scene = Scene::start();
    let token = scene.person("alice").token.unwrap();
    for (kind, told) in [("text/plain", "HTTP/1.1 415 "), ("application/json", "HTTP/1.1 100 ")] {
        let mut stream = TcpStream::connect(&scene.server.address).unwrap();
        let head = format!(
            "POST /lockers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: {kind}\r\n\
             content-length: 2\r\nexpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut begun = [0; 13];
        stream.read_exact(&mut begun).unwrap();
        assert_eq!(String::from_utf8_lossy(&begun), told, "{kind}");
    }
}

#[test]
fn a_body_that_is_no_json_object_is_refused() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    for bad in [
        "{",
        "}",
        "{\"ownerId\":\"alice\"",
        "{\"ownerId\":\"alice\"}x",
        "{\"ownerId\":\"alice\"}{}",
        "{'ownerId':'alice'}",
        "{ownerId:\"alice\"}",
        "{\"ownerId\":\"alice\",}",
        "{\"ownerId\":alice}",
        "{\"ownerId\":\"al\nice\"}",
        "{\"ownerId\":\"\\x\"}",
        "{\"ownerId\":\"\\ud800\"}",
        "{\"ownerId\":NaN}",
        "{\"ownerId\":01}",
        "{\"ownerId\":1.}",
        "{\"ownerId\":+1}",
        "{\"ownerId\":tru}",
        "// hello\n{}",
        "\u{feff}{\"ownerId\":\"alice\"}",
        "[]",
        "\"alice\"",
        "null",
        "1",
        "true",
        "[{\"ownerId\":\"alice\"}]",
        " ",
        "\0",
    ] {
        let refused = alice.send("POST", "/lockers", &[], Some(bad)).refuses(400, "invalid-input");
        refused.has("latchkey-contract", "QC-11").cost("rcu=0, wcu=0");
    }
    for bad in [
        &b"{\"ownerId\":\"\xff\"}"[..],
        b"\xff\xfe",
        b"{\"\xc3\":1}",
        b"{\"ownerId\":\"\xed\xa0\x80\"}",
    ] {
        let refused = alice.send_bytes("POST", "/lockers", &[JSON], bad, false);
        refused.refuses(400, "invalid-input");
    }
    alice.send("POST", "/lockers", &[], Some(" \t\r\n{ \"ownerId\" : \"alice\" } \n")).is(201);
    alice.send("POST", "/lockers", &[], Some("{\"\\u006fwnerId\":\"\\u0061lice\"}")).is(201);
}

#[test]
fn a_key_stands_once_in_an_object() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for bad in [
        r#"{"ownerId":"alice","ownerId":"alice"}"#,
        r#"{"ownerId":"bob","ownerId":"alice"}"#,
        r#"{"ownerId":"alice","\u006fwnerId":"alice"}"#,
        r#"{"ownerId":"alice","x":1,"x":1}"#,
    ] {
        alice.send("POST", "/lockers", &[], Some(bad)).refuses(400, "invalid-input");
    }
    let within =
        r#"{"action":"OPEN","actorId":"a","result":"FAIL","metadata":{"a":{"b":1,"b":2}}}"#;
    let refused = alice.send("POST", "/lockers/L1/events", &[], Some(within));
    refused.refuses(400, "invalid-input");
}

#[test]
fn nesting_however_deep_is_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for levels in [33, 5_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let body = format!(
                r#"{{"action":"OPEN","actorId":"a","result":"FAIL","metadata":{{"a":{deep}}}}}"#
            );
            let refused = alice.send("POST", "/lockers/L1/events", &[], Some(&body));
            refused.refuses(400, "invalid-input");
            // Alone, and never closed.
            let bare = open.repeat(levels);
            let refused = alice.send("POST", "/lockers/L1/events", &[], Some(&bare));
            refused.refuses(400, "invalid-input");
        }
    }
    alice.get("/lockers/L1").is(200);
}

#[test]
fn a_body_of_megabytes_is_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let body = json!({"ownerId": "alice", "lockerAlias": "x".repeat(MEGABYTES)}).to_string();
    for chunked in [false, true] {
        for (method, path) in [
            ("POST", "/lockers"),
            ("PUT", "/lockers/L1/status"),
            ("POST", "/lockers/L1/events"),
            ("GET", "/lockers/L1"),
        ] {
            let mut alice = scene.person("alice");
            let refused = alice.send_bytes(method, path, &[JSON], body.as_bytes(), chunked);
            assert_eq!(refused.status, 413, "{refused}");
            refused.tells_a_problem().names_its_contract();
        }
    }
    let mut alice = scene.person("alice");
    alice.get("/owners/alice/lockers").lists("lockerId", &["L1"], false);
    // Whoever asks first is told before having sent anything.
    let length = MEGABYTES.to_string();
    let headers = [JSON, ("expect", "100-continue"), ("content-length", &length)];
    let head = format!("{}\r\n", alice.head("POST", "/lockers", &headers));
    let refused = alice.raw(head.as_bytes(), false).unwrap();
    assert_eq!(refused.status, 413, "{refused}");
}

// Most clients send all they have before they read. A connection that was closed on them would be reset, and
// the answer lost with it.
#[test]
fn whoever_sends_all_of_it_first_reads_the_answer_all_the_same() {
    let scene = Scene::start();
    let body = vec![b'x'; MEGABYTES];
    for (who, status) in [("authorization: Bearer none\r\n", 401), ("", 401)] {
        let mut stream = TcpStream::connect(&scene.server.address).unwrap();
        let head = format!(
            "POST /lockers HTTP/1.1\r\nhost: x\r\n{who}content-type: application/json\r\n\
             content-length: {MEGABYTES}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        for part in body.chunks(64 * 1024) {
            stream.write_all(part).unwrap();
            // Slower than the server refuses it.
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn a_body_in_chunks_is_as_good() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"lockerId": "L1", "ownerId": "alice"}).to_string();
    let made = alice.send_bytes("POST", "/lockers", &[JSON], body.as_bytes(), true).is(201);
    made.has("location", "/lockers/L1");
    // An empty body in chunks is none.
    alice.send_bytes("GET", "/lockers/L1", &[], b"", true).is(200);
    alice.send_bytes("POST", "/lockers", &[JSON], b"", true).blames(&["/ownerId"]);
}

#[test]
fn where_there_is_no_body_to_send_none_or_an_empty_object_is_fine() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "alice", "09:30-10:30");
    scene.event("L1", "E1", "09:45");
    let mut alice = scene.person("alice");
    let range = format!("startISO={}&endISO={}", clock("09:00"), clock("11:00"));
    for (method, path) in [
        ("GET", "/lockers/L1".to_owned()),
        ("GET", "/owners/alice/lockers".to_owned()),
        ("GET", format!("/lockers/L1/reservations?{range}")),
        ("GET", "/lockers/L1/reservations/active".to_owned()),
        ("GET", format!("/lockers/L1/events?{range}")),
        ("GET", "/lockers/L1/events/latest".to_owned()),
        ("POST", "/lockers/L1/reservations/R1/cancel".to_owned()),
    ] {
        for bad in ["[]", "null", "1", "\"\"", "{", "{}{}", "{\"a\":1}", "{\"lockerId\":\"L1\"}"] {
            let refused = alice.send(method, &path, &[], Some(bad));
            refused.refuses(400, "invalid-input");
        }
        for good in [None, Some("{}"), Some(" { } "), Some("")] {
            alice.send(method, &path, &[], good).is(200);
        }
        alice.send(method, &path, &[("content-length", "0")], None).is(200);
    }
}

#[test]
fn an_empty_body_lacks_every_field_that_is_needed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (method, path, fields) in [
        ("POST", "/lockers", &["/ownerId"][..]),
        ("PUT", "/lockers/L1/status", &["/newStatus", "/expectedVersion"]),
        ("POST", "/lockers/L1/reservations", &["/ownerId", "/startAt", "/endAt"]),
        ("POST", "/lockers/L1/transfer", &["/newOwnerId"]),
        ("POST", "/lockers/L1/events", &["/action", "/actorId", "/result"]),
    ] {
        for body in [None, Some(""), Some("{}")] {
            alice.send(method, path, &[], body).blames(fields);
        }
    }
}
