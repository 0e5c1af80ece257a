//! Ten thousand requests that are almost right: none is a failure of the server's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::Mutex;
use std::thread;

use serde_json::json;

use crate::serve::backend::on_backend;
use crate::serve::promise::{self, Progress};
use crate::serve::{Client, token};
use crate::wire::{Answer, Wire};
use crate::world::{Chance, Own, locker, lockers_of, register};

/// How many requests the short run makes.
const REQUESTS: usize = 10_000;
const CLIENTS: usize = 8;

/// A request in its parts.
#[derive(Clone)]
struct Parts {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Requests that are right, one or more of each contract.
fn valid(token: &str) -> Vec<Parts> {
    let ever = "startISO=2026-01-01T00:00:00Z&endISO=2027-01-01T00:00:00Z";
    let window = r#""startAt":"2026-03-01T10:00:00Z","endAt":"2026-03-01T11:00:00Z""#;
    let event = r#""actorId":"d","result":"FAIL","metadata":{"a":[1,null,{"b":1.5}]}"#;
    let lists = [
        format!("/lockers/L1/reservations?{ever}&order=desc&pageSize=5"),
        format!("/lockers/L1/events?{ever}&pageSize=100"),
    ];
    let gets = ["/lockers/L1", "/lockers/L1?consistent=true", "/owners/owner/lockers?pageSize=3"]
        .into_iter()
        .chain(["/lockers/L1/reservations/active", "/lockers/L1/events/latest"])
        .chain(lists.iter().map(String::as_str))
        .map(|path| ("GET", path, String::new()));
    let posts = [
        ("/lockers", r#"{"ownerId":"owner","lockerAlias":"ünï 🔑","locationId":"x"}"#.to_owned()),
        ("/lockers", r#"{"lockerId":"L2","ownerId":"owner"}"#.to_owned()),
        ("/lockers/L1/transfer", r#"{"newOwnerId":"owner","expectedVersion":1}"#.to_owned()),
        ("/lockers/L1/reservations", format!(r#"{{"ownerId":"o",{window}}}"#)),
        ("/lockers/L1/reservations/R1/cancel", "{}".to_owned()),
        ("/lockers/L1/events", format!(r#"{{"action":"OPEN",{event}}}"#)),
    ];
    let puts = [
        r#"{"newStatus":"OCCUPIED","expectedVersion":1}"#.to_owned(),
        // With `If-Match`, that is.
        r#"{"newStatus":"MAINTENANCE"}"#.to_owned(),
    ];
    gets.chain(posts.map(|(path, body)| ("POST", path, body)))
        .chain(puts.map(|body| ("PUT", "/lockers/L1/status", body)))
        .map(|(method, path, body)| {
            let mut headers = vec![
                ("host".to_owned(), "test".to_owned()),
                ("authorization".to_owned(), format!("Bearer {token}")),
            ];
            if !body.is_empty() {
                headers.push(("content-type".to_owned(), "application/json".to_owned()));
            }
            if method == "PUT" && !body.contains("expectedVersion") {
                headers.push(("if-match".to_owned(), "\"1\"".to_owned()));
            }
            let (method, path) = (method.to_owned(), path.to_owned());
            Parts { method, path, headers, body: body.into_bytes() }
        })
        .collect()
}

/// Things that have broken parsers before.
const SPLINTERS: [&str; 36] = [
    "",
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "-0",
    "1.0000000000000000000000000000000000000001",
    "99999999999999999999999999999999999999999",
    "NaN",
    "\"",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[[[[",
    "]",
    ",",
    ":",
    "#",
    "LOCKER#",
    "~",
    "%",
    "%00",
    "%2F",
    "%ff",
    "..",
    "//",
    "?",
    "&",
    "=",
    "é",
    "\u{202e}",
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00+14:00",
    "0000-00-00T00:00:00Z",
];

/// Splinters that may stand in a header.
const HEADERS: [(&str, &str); 16] = [
    ("if-match", "\"1\""),
    ("if-match", "*"),
    ("if-match", "W/\"1\", \"x\""),
    ("if-match", "\"99999999999999999999999999999999999999999999\""),
    ("if-none-match", "*"),
    ("idempotency-key", "k"),
    ("idempotency-key", "\"\""),
    ("idempotency-key", "k k"),
    ("x-request-id", "a\tb"),
    ("content-type", "application/json; charset=latin-1"),
    ("content-type", "text/plain"),
    ("latchkey-now", "2026-03-01T10:30:00Z"),
    ("latchkey-now", "yesterday"),
    ("accept", "text/html"),
    ("content-encoding", "gzip"),
    ("expect", "100-continue"),
];

fn mangle_text(text: &mut String, chance: &mut Chance) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (a, b) = (*chance.pick(&places), *chance.pick(&places));
    let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 12));
    let to = places.iter().copied().filter(|at| *at <= to).max().unwrap_or(from).max(from);
    match chance.below(3) {
        0 => text.replace_range(from..to, ""),
        1 => text.replace_range(from..to, chance.pick::<&str>(&SPLINTERS)),
        _ => {
            let again = text[from..to].repeat(1 + chance.below(4));
            text.insert_str(from, &again);
        }
    }
}

fn mangle_body(body: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(body.len() + 1);
    match chance.below(4) {
        0 => body.truncate(at),
        1 => drop(body.splice(at..at, chance.pick(&SPLINTERS).bytes())),
        2 if at < body.len() => body[at] = chance.next().to_le_bytes()[0],
        _ => {
            let end = body.len().min(at + chance.below(10));
            body.splice(at..end, chance.pick(&SPLINTERS).bytes());
        }
    }
}

/// Values that may stand in JSON, or almost.
const VALUES: [&str; 24] = [
    "null",
    "true",
    "0",
    "-1",
    "1",
    "2",
    "1.5",
    "1e3",
    "1e400",
    "123456789012345678901234567890123456789",
    "0.1e-130",
    "[]",
    "{}",
    "[[[[[[[[]]]]]]]]",
    "\"\"",
    "\"a b\"",
    "\"#\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"2026-03-01T10:00:00.0004Z\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"2026-03-01T24:00:00Z\"",
    "\"AVAILABLE\"",
    "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{}}}}}}",
];

/// Gives a field another value, leaves it out, says it twice, or says another.
fn mangle_field(body: &mut Vec<u8>, chance: &mut Chance) {
    let read = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body);
    let Ok(map) = read else { return mangle_body(body, chance) };
    let mut fields: Vec<(String, String)> =
        map.into_iter().map(|(name, value)| (name, value.to_string())).collect();
    let at = chance.below(fields.len() + 1);
    match (chance.below(4), fields.get(at).cloned()) {
        (0, Some(_)) => drop(fields.remove(at)),
        (1, Some(twice)) => fields.push(twice),
        (_, Some(_)) => fields[at].1 = (*chance.pick(&VALUES)).to_owned(),
        (_, None) => {
            let names = ["lockerId", "eventId", "timestamp", "expectedVersion", "pageSize", "PK"];
            fields.push(((*chance.pick(&names)).to_owned(), (*chance.pick(&VALUES)).to_owned()));
        }
    }
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    *body = format!("{{{}}}", fields.join(",")).into_bytes();
}

/// A request, mangled in one to three places, and whether one can still tell where it ends.
fn mangled(of: &[Parts], chance: &mut Chance) -> (Vec<u8>, bool) {
    let mut parts = chance.pick(of).clone();
    for _ in 0..=chance.below(3) {
        match chance.below(16) {
            0 => {
                let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"];
                parts.method = (*chance.pick(&methods)).to_owned();
            }
            1 => parts.path.clone_from(&chance.pick(of).path),
            2 | 3 => mangle_text(&mut parts.path, chance),
            4 => parts.body.clone_from(&chance.pick(of).body),
            5 | 6 => {
                let (name, value) = chance.pick(&HEADERS);
                parts.headers.push(((*name).to_owned(), (*value).to_owned()));
            }
            7 => {
                let at = chance.below(parts.headers.len());
                mangle_text(&mut parts.headers[at].1, chance);
            }
            8..=10 => mangle_body(&mut parts.body, chance),
            _ if parts.body.is_empty() => mangle_text(&mut parts.path, chance),
            _ => mangle_field(&mut parts.body, chance),
        }
    }
    // A line must stay a line, or the rest of it is another.
    parts.path.retain(|c| !c.is_whitespace());
    let mut bytes = format!("{} {} HTTP/1.1\r\n", parts.method, parts.path).into_bytes();
    for (name, value) in &parts.headers {
        bytes.extend(format!("{name}: {value}\r\n").bytes());
    }
    let framed = chance.below(20) != 0;
    let length = if framed { parts.body.len() } else { chance.below(400) };
    bytes.extend(format!("connection: close\r\ncontent-length: {length}\r\n\r\n").bytes());
    bytes.extend(&parts.body);
    if framed {
        return (bytes, true);
    }
    for _ in 0..chance.below(4) {
        let at = chance.below(bytes.len());
        bytes[at] = chance.next().to_le_bytes()[0];
    }
    (bytes, false)
}

/// What any answer must be, whatever was asked.
fn fit(answer: &Answer, asked: &[u8]) {
    let asked = || String::from_utf8_lossy(asked).into_owned();
    let busy = answer.status == 503 && answer.head.contains("retry-after: ");
    assert!(answer.status < 500 || busy, "{answer:?}\nto {}", asked());
    if answer.status >= 400 && answer.head.contains("x-request-id: ") && !answer.body.is_empty() {
        // Once, two of a million asked the console for a page in a wrong way, and got a page that said so.
        if answer.head.contains("content-type: text/html") {
            assert!(names_pages(&asked()), "a page to a program: {}", asked());
            return;
        }
        assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(problem["status"], answer.status, "{}", asked());
        assert!(problem["code"].is_string() && problem["detail"].is_string(), "{problem}");
    }
}

/// Whether a request asks for pages, as that of a browser does: a header `accept` has `text/html` among its kinds.
fn names_pages(asked: &str) -> bool {
    let head = asked.split("\r\n\r\n").next().unwrap_or_default();
    let named = |value: &str| value.split(',').any(|kind| kind.trim() == "text/html");
    head.lines().filter_map(|line| line.strip_prefix("accept:")).any(named)
}

fn send_all(
    address: &str,
    of: &[Parts],
    seed: u64,
    progress: &Mutex<Progress>,
) -> BTreeMap<String, usize> {
    let mut chance = Chance::new(seed);
    let mut counted = BTreeMap::new();
    for _ in 0..promise::rounds(REQUESTS) / CLIENTS {
        progress.lock().unwrap().add(1);
        let (bytes, framed) = mangled(of, &mut chance);
        let mut wire = Wire::open(address);
        let _ = wire.send(&bytes);
        if !framed {
            wire.end();
        }
        let method = if bytes.starts_with(b"HEAD ") { "HEAD" } else { "" };
        let mut answers = 0;
        while let Some(answer) = wire.answer_to(method) {
            // `100 Continue` announces another.
            answers += usize::from(answer.status != 100);
            fit(&answer, &bytes);
            *counted.entry(answer.status.to_string()).or_default() += 1;
        }
        assert!(answers > 0 || !framed, "no answer to {}", String::from_utf8_lossy(&bytes));
        if answers == 0 {
            *counted.entry("closed".to_owned()).or_default() += 1;
        }
    }
    counted
}

#[test]
fn nothing_a_client_sends_makes_a_500() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let data = directory.path().join("data");
    let mut command = on_backend("serve", &data, &[]);
    command.args(["--test-clock", "--listen", "127.0.0.1:0"]);
    command.env("LATCHKEY_LOG", "warn").stderr(File::create(&log).unwrap());
    let mut server = Own::start(&mut command);
    let token = token(&data, "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    register(&mut client, "L1", "owner");
    let reservation = json!({
        "reservationId": "R1", "ownerId": "o", "startAt": "2030-01-01T00:00:00Z",
        "endAt": "2030-01-02T00:00:00Z",
    });
    assert_eq!(client.post("/lockers/L1/reservations", &reservation).status, 201);
    let requests = valid(&token);
    let progress = Mutex::new(Progress::new("requests", promise::rounds(REQUESTS)));
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    thread::scope(|scope| {
        let send = |seed| {
            let (address, requests, progress) = (&server.address, &requests, &progress);
            scope.spawn(move || send_all(address, requests, seed, progress))
        };
        let threads: Vec<_> = (0..CLIENTS).map(|n| send(u64::try_from(n).unwrap())).collect();
        for thread in threads {
            for (status, count) in thread.join().unwrap() {
                *counted.entry(status).or_default() += count;
            }
        }
    });
    println!(
        "{} mangled requests, none answered 500, in {:?}: {counted:?}",
        promise::rounds(REQUESTS),
        progress.lock().unwrap().spent()
    );
    for status in ["200", "201", "400", "401", "404", "405", "409", "412", "415", "422"] {
        assert!(counted.contains_key(status), "they go everywhere, {status} too: {counted:?}");
    }
    // Whatever came of them, a locker and its view agree. A connection that has idled so long is closed.
    let mut client = Client::new(&server.address).with_token(&token);
    for view in lockers_of(&mut client, "owner") {
        assert_eq!(locker(&mut client, view["lockerId"].as_str().unwrap()), view);
    }
    assert_eq!(client.get("/ready").status, 200);
    assert_eq!(server.stop().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    assert!(!log.contains("panicked"), "{log}");
    assert!(!log.contains("ERROR"), "{log}");
}
