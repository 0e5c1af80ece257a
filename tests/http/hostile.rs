//! Nothing a client sends makes a 500, or keeps the next from being answered.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::scene::{Scene, clock};
use crate::serve::chance::Chance;
use crate::serve::{HANG, Reply};

#[track_caller]
fn survives(reply: Reply) {
    assert!(reply.status < 500, "{reply}");
    let head_alone = reply.request.starts_with("HEAD");
    if reply.status >= 400 && !head_alone {
        reply.tells_a_problem();
    }
}

const MALFORMED: (u16, &str) = (400, "malformed-request");

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const PATHS: [&str; 10] = [
    "/lockers",
    "/lockers/L1",
    "/owners/alice/lockers",
    "/lockers/L1/status",
    "/lockers/L1/reservations",
    "/lockers/L1/reservations/active",
    "/lockers/L1/reservations/R1/cancel",
    "/lockers/L1/transfer",
    "/lockers/L1/events",
    "/lockers/L1/events/latest",
];

const FIELDS: [&str; 20] = [
    "lockerId",
    "ownerId",
    "lockerAlias",
    "locationId",
    "newStatus",
    "expectedVersion",
    "reservationId",
    "startAt",
    "endAt",
    "newOwnerId",
    "eventId",
    "action",
    "actorId",
    "result",
    "metadata",
    "timestamp",
    "version",
    "PK",
    "entityType",
    "",
];

const PARAMETERS: [&str; 8] =
    ["consistent", "pageSize", "nextCursor", "startISO", "endISO", "order", "x", ""];

const TEXTS: [&str; 24] = [
    "",
    "a",
    "L1",
    "alice",
    "a#b",
    "RES#ACTIVE",
    "LATCHKEY#IDEM#x",
    "\u{0}",
    "é",
    "🔑",
    "AVAILABLE",
    "OPEN",
    "FAIL",
    "asc",
    "desc",
    "true",
    "100",
    "-1",
    "2026-02-25T10:00:00Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999Z",
    "0000-01-01T00:00:00.001Z",
    "{}",
    "%",
];

fn value(chance: &mut Chance, depth: usize) -> Value {
    match chance.below(if depth > 3 { 6 } else { 8 }) {
        0 => json!(null),
        1 => json!(chance.below(2) == 0),
        2 => json!(chance.of(&[0, 1, 2, -1, i64::MAX, i64::MIN])),
        3 => json!(chance.of(&[0.5, -0.0, 1e300, 1e-300, f64::MAX])),
        4 => json!("x".repeat(chance.below(3000))),
        5 => json!(chance.of(&TEXTS)),
        6 => (0..chance.below(4)).map(|_| value(chance, depth + 1)).collect(),
        _ => (0..chance.below(4))
            .map(|_| (chance.of(&FIELDS).to_string(), value(chance, depth + 1)))
            .collect(),
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn query(chance: &mut Chance) -> String {
    let pairs = (0..chance.below(4))
        .map(|_| format!("{}={}", chance.of(&PARAMETERS), encoded(chance.of(&TEXTS))));
    pairs.collect::<Vec<String>>().join("&")
}

#[test]
fn no_value_in_any_field_makes_a_500() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "alice", "09:30-10:30");
    let mut operator = scene.operator();
    let mut chance = Chance::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..1500 {
        let (method, path) = (chance.of(&METHODS), chance.of(&PATHS));
        let path = match chance.below(4) {
            0 => path.replace("L1", &encoded(chance.of(&TEXTS))),
            1 => path.replace("R1", &encoded(chance.of(&TEXTS))),
            _ => path.to_owned(),
        };
        let path = format!("{path}?{}", query(&mut chance));
        let body: Value = (0..chance.below(7))
            .map(|_| (chance.of(&FIELDS).to_string(), value(&mut chance, 0)))
            .collect::<serde_json::Map<String, Value>>()
            .into();
        let text = (chance.below(3) > 0).then(|| body.to_string());
        let key = format!("k{}", chance.below(50));
        let headers = [("idempotency-key", key.as_str()), ("if-match", "\"1\"")];
        let headers = headers.get(..chance.below(3)).unwrap();
        survives(operator.send(method, &path, headers, text.as_deref()));
    }
    operator.get("/lockers/L1").is(200);
}

#[test]
fn no_bytes_in_a_body_make_a_500() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut operator = scene.operator();
    let mut chance = Chance::new(7);
    let good = json!({
        "action": "OPEN", "actorId": "a", "result": "FAIL", "metadata": {"a": [1, 2.5e3, "é\n", null]},
        "timestamp": clock("10:00"),
    });
    let good = good.to_string().into_bytes();
    let headers = [("content-type", "application/json")];
    for _ in 0..800 {
        let mut bytes = good.clone();
        for _ in 0..=chance.below(3) {
            let at = chance.below(bytes.len());
            match chance.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, u8::try_from(chance.below(256)).unwrap()),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let chunked = chance.below(4) == 0;
        survives(operator.send_bytes("POST", "/lockers/L1/events", &headers, &bytes, chunked));
    }
    operator.get("/lockers/L1").is(200);
}

#[test]
fn odd_keys_in_metadata_are_kept_or_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let long = "k".repeat(2000);
    for key in
        ["", " ", ".", "#a", ":a", "a.b[0]", "PK", "SK", "entityType", "\u{0}", "☃", "$ref", &long]
    {
        let metadata = json!({key: {key: 1}});
        let small = metadata.to_string().len() <= 2048;
        let body =
            json!({"action": "OPEN", "actorId": "a", "result": "FAIL", "metadata": metadata});
        let reply = alice.post("/lockers/L1/events", &body);
        if reply.status == 201 {
            assert!(small, "{reply}");
            let event = reply.shows(&json!({"metadata": metadata})).json();
            alice.now = Some(clock("23:00"));
            let range = format!("startISO={}&endISO={}", clock("00:00"), clock("23:00"));
            let page = alice.get(&format!("/lockers/L1/events?{range}&pageSize=100")).is(200);
            let kept = page.json()["items"].as_array().unwrap().contains(&event);
            assert!(kept, "{page}");
        } else {
            reply.blames(&["/metadata"]);
        }
    }
}

#[test]
fn a_request_that_cannot_be_read_is_told_so() {
    // Once, an answer was held back as long as unread bytes lay behind the request: there was none.
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let many = format!("GET /lockers/L1 HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(1000));
    let long = format!("GET /lockers/{} HTTP/1.1\r\nhost: x\r\n\r\n", "x".repeat(100 * 1024));
    let wide = format!("GET / HTTP/1.1\r\nhost: x\r\na: {}\r\n\r\n", "x".repeat(100 * 1024));
    let endless = format!("GET / HTTP/1.1\r\nhost: x\r\na: {}", "x".repeat(300 * 1024));
    for (expected, bytes) in [
        (MALFORMED, &b"GET /lockers/a b HTTP/1.1\r\nhost: x\r\n\r\n"[..]),
        (MALFORMED, b"GET\r\n\r\n"),
        (MALFORMED, b"GET /lockers/L1 HTTP/9.9\r\nhost: x\r\n\r\n"),
        (MALFORMED, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        (MALFORMED, b"GET /lockers/L1\r\nhost: x\r\n\r\n"),
        (MALFORMED, b"GET /lockers/\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n"),
        (MALFORMED, b"POST /lockers HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n"),
        (MALFORMED, b"POST /lockers HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"),
        (
            MALFORMED,
            b"POST /lockers HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
        ),
        (MALFORMED, b"GET /lockers/L1 HTTP/1.1\r\nhost: x\r\na\0b: c\r\n\r\n"),
        (MALFORMED, b"GET /lockers/L1 HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n"),
        (
            (401, "unauthenticated"),
            b"GET /lockers/L1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \xff\r\n\r\n",
        ),
        ((431, "head-too-large"), many.as_bytes()),
        ((414, "path-too-long"), long.as_bytes()),
        ((431, "head-too-large"), wide.as_bytes()),
        ((431, "head-too-large"), endless.as_bytes()),
    ] {
        let shown: String = String::from_utf8_lossy(bytes).chars().take(100).collect();
        let reply = scene.nobody().raw(bytes, false);
        let reply = reply.unwrap_or_else(|error| panic!("`{shown}` has no answer: {error}"));
        // Once, a request that hyper cannot read was answered without a body.
        let reply = reply.refuses(expected.0, expected.1).has("x-content-type-options", "nosniff");
        assert!(!reply.header("x-request-id").is_empty(), "{reply}");
        if expected == MALFORMED {
            reply.has("connection", "close");
        }
        alice.get("/lockers/L1").is(200);
    }
    let metrics = scene.nobody().get("/metrics").text;
    let counted = "latchkey_requests_total{system=\"\",contract=\"unmatched\",status=\"400\"} 11";
    assert!(metrics.contains(counted), "they are counted: {metrics}");
}

#[test]
fn what_cannot_be_read_is_refused_behind_answers_too() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let alice = scene.person("alice");
    let good = format!("{}\r\n", alice.head("GET", "/lockers/L1", &[]));
    let all = format!("{good}{good}GET /a b HTTP/1.1\r\n\r\n{good}");
    let mut stream = TcpStream::connect(&scene.server.address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.write_all(all.as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    let statuses = answers.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3));
    assert_eq!(statuses.collect::<Vec<&str>>(), ["200", "200", "400"], "{answers}");
    assert!(answers.ends_with('}') && answers.contains("malformed-request"), "{answers}");
}

#[test]
fn what_is_no_http_ends_its_own_connection_alone() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for bytes in [
        &b"GET\r\n\r\n"[..],
        b"GET /lockers/L1 HTTP/9.9\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /lockers HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET http://elsewhere/lockers/L1 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        // An answer below 500, or none and the connection is over.
        if let Ok(reply) = scene.nobody().raw(bytes, false) {
            assert!(reply.status < 500, "{reply}");
        }
        alice.get("/lockers/L1").is(200);
    }
}

#[test]
fn an_answer_does_not_wait_for_what_comes_behind_the_request() {
    // Once, a request with anything behind it, be it an empty line, was answered after 30 seconds: by nothing.
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let alice = scene.person("alice");
    let request = format!("{}\r\n", alice.head("GET", "/lockers/L1", &[]));
    for behind in ["\r\n", "GET /lock", "GET /lockers/L1 HTTP/1.1\r\nhost: x\r\n", &request] {
        let mut stream = TcpStream::connect(&scene.server.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream.write_all(format!("{request}{behind}").as_bytes()).unwrap();
        let mut answer = [0; 15];
        let read = stream.read_exact(&mut answer);
        let told = String::from_utf8_lossy(&answer);
        assert!(read.is_ok() && told == "HTTP/1.1 200 OK", "{behind:?}: `{told}`, {read:?}");
    }
}

#[test]
fn requests_one_behind_the_other_are_answered_in_order() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let alice = scene.person("alice");
    let ask = |path: &str| format!("{}\r\n", alice.head("GET", path, &[]));
    let all: String = ["/lockers/L1", "/lockers/L2", "/lockers/L9", "/nothing"].map(ask).concat();
    let last = format!("{}connection: close\r\n\r\n", alice.head("GET", "/lockers/L1", &[]));
    let mut stream = TcpStream::connect(&scene.server.address).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.write_all(format!("{all}{last}").as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    let statuses = answers.split("HTTP/1.1 ").skip(1);
    let statuses: Vec<&str> = statuses.filter_map(|answer| answer.get(..3)).collect();
    assert_eq!(statuses, ["200", "200", "404", "404", "200"], "{answers}");
}
