//! Clients that are slow, idle, loud, or speak another language: they harm nobody but themselves.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::serve::{HANG, Server};
use crate::wire::{self, Wire};
use crate::world::{Chance, lockers_of, operator, register};

#[test]
fn connections_that_idle_stop_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let idle: Vec<Wire> = (0..300).map(|_| Wire::open(&server.address)).collect();
    // Some of them have begun a request.
    let mut begun: Vec<Wire> = (0..100).map(|_| Wire::open(&server.address)).collect();
    for wire in &mut begun {
        wire.send("POST /lockers HTTP/1.1\r\nhost: te").unwrap();
    }
    for n in 0..20 {
        let mut client = server.client().with_token(&token);
        register(&mut client, &format!("L{n}"), "owner");
        assert_eq!(client.get("/ready").status, 200);
    }
    drop((idle, begun));
}

/// Sends a part now and a byte a second, and says after how long the connection ended and what was
/// answered.
fn trickle(address: &str, first: &str, rest: &str) -> (Duration, Option<u16>) {
    let mut wire = Wire::open(address);
    wire.0.get_ref().set_read_timeout(Some(Duration::from_millis(250))).unwrap();
    let started = Instant::now();
    wire.send(first).unwrap();
    let mut bytes = rest.bytes().cycle();
    let mut quarters = 0;
    loop {
        use std::io::Read as _;
        let mut answer = [0; 16];
        match wire.0.read(&mut answer) {
            Ok(0) => return (started.elapsed(), None),
            Ok(_) => {
                let text = String::from_utf8_lossy(&answer).into_owned();
                let status = text.split(' ').nth(1).unwrap().parse().unwrap();
                return (started.elapsed(), Some(status));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return (started.elapsed(), None),
        }
        quarters += 1;
        let next = if quarters % 4 == 0 { bytes.next() } else { None };
        if next.is_some_and(|byte| wire.send([byte]).is_err()) {
            return (started.elapsed(), None);
        }
        assert!(started.elapsed() < HANG, "nobody cuts it");
    }
}

#[test]
fn whoever_is_too_slow_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let whole = wire::register(&token, "slow");
    let head = whole.find("\r\n\r\n").unwrap() + 4;
    let (cut, told): (&[Option<u16>], _) = (&[None, Some(408)], &[Some(408)][..]);
    // What comes at once, what comes byte by byte, and the answers that would do.
    let cases = [
        ("nothing", "", "", cut),
        ("half a head", &whole[..20], "", cut),
        ("a head that trickles", &whole[..20], "x", cut),
        ("half a body", &whole[..head + 5], "", told),
        ("a body that trickles", &whole[..head], " ", told),
    ];
    thread::scope(|scope| {
        for (what, first, rest, fit) in cases {
            let address = &server.address;
            scope.spawn(move || {
                let (took, status) = trickle(address, first, rest);
                println!("{what}: {status:?} after {took:?}");
                assert!(took > Duration::from_secs(5), "{what}: cut after {took:?} already");
                assert!(fit.contains(&status), "{what}: {status:?}");
            });
        }
        // The others do not notice.
        let mut client = server.client().with_token(&token);
        for n in 0..20 {
            register(&mut client, &format!("L{n}"), "owner");
            thread::sleep(Duration::from_millis(300));
        }
    });
    let mut client = server.client().with_token(&token);
    assert_eq!(client.get("/lockers/slow").status, 404, "half a request does nothing");
}

#[test]
fn requests_sent_at_once_are_answered_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut all = String::new();
    for n in 0..50 {
        all.push_str(&wire::register(&token, &format!("L{n}")));
        all.push_str(&wire::request("GET", &format!("/lockers/L{n}"), &token, ""));
    }
    let mut wire = Wire::open(&server.address);
    wire.send(&all).unwrap();
    for n in 0..50 {
        for status in [201, 200] {
            let answer = wire.answer().unwrap();
            let locker: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!((answer.status, &locker["lockerId"]), (status, &json!(format!("L{n}"))));
        }
    }
    // One that is refused does not put the next out of step.
    let long = wire::request("POST", "/lockers", "wrong", "{\"no\": \"token\"}");
    wire.send(format!("{long}{}", wire::register(&token, "after"))).unwrap();
    assert_eq!(wire.answer().unwrap().status, 401);
    if let Some(answer) = wire.answer() {
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[test]
fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    // The answer lay in the server until the next request was whole, or for ever.
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let (first, second) = (wire::register(&token, "L1"), wire::register(&token, "L2"));
    let mut wire = Wire::open(&server.address);
    let half = second.len() / 2;
    wire.send(format!("{first}{}", &second[..half])).unwrap();
    assert_eq!(wire.answer().unwrap().status, 201);
    wire.send(&second[half..]).unwrap();
    assert_eq!(wire.answer().unwrap().status, 201);
}

#[test]
fn what_cannot_be_read_is_answered_before_the_connection_ends() {
    // The connection ended, and why was never said.
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let chunked = format!(
        "POST /lockers HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{{}} !!\r\n"
    );
    for bytes in [
        "POST :s/L1 HTTP/1.1\r\nhost: t\r\ncontent-length: 3\r\n\r\nabc",
        "GET /ready HTTP/1.1\r\nho st: t\r\n\r\n",
        "GET /ready HTTP/1.1\r\nhost: t\r\ncontent-length: many\r\n\r\n",
        "no method at all\r\n\r\n",
        &chunked,
    ] {
        let mut wire = Wire::open(&server.address);
        wire.send(bytes).unwrap();
        assert_eq!(wire.answer().map(|answer| answer.status), Some(400), "{bytes}");
    }
}

#[test]
fn an_answer_after_which_the_connection_ends_says_so() {
    // A body that was refused unread ended the connection, and the next request on it was lost.
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let again = "GET /health HTTP/1.1\r\nhost: t\r\n\r\n";
    for length in [10, 10_000, 100_000, 1_000_000, 2_000_000] {
        for (path, token) in [("/lockers", "wrong"), ("/nowhere", &token), ("/lockers", &token)] {
            let mut wire = Wire::open(&server.address);
            // A connection that ends while its body is sent may take the answer with it.
            if wire.send(wire::request("POST", path, token, &" ".repeat(length))).is_err() {
                continue;
            }
            let answer = wire.answer().unwrap();
            assert!((400..500).contains(&answer.status), "{answer:?}");
            thread::sleep(Duration::from_millis(20));
            let closed = answer.head.contains("connection: close");
            let goes_on = wire.send(again).is_ok() && wire.answer().is_some();
            assert!(closed || goes_on, "{length} bytes to {path}: {}", answer.head);
        }
    }
}

#[test]
fn too_much_is_refused_and_the_server_lives() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let (x, many) = ("x".repeat(70 * 1024), "a: b\r\n".repeat(300));
    let bearer = format!("authorization: Bearer {token}\r\n");
    let long = format!("{{\"ownerId\":\"{}\"}}", "y".repeat(1024 * 1024));
    let cases: [(&str, String, &[u16]); 8] = [
        ("a header line", format!("GET /ready HTTP/1.1\r\nhost: t\r\nx: {x}\r\n\r\n"), &[431, 400]),
        ("a header name", format!("GET /ready HTTP/1.1\r\nhost: t\r\n{x}: x\r\n\r\n"), &[431, 400]),
        ("many headers", format!("GET /ready HTTP/1.1\r\nhost: t\r\n{many}\r\n"), &[431, 400]),
        ("a path", format!("GET /{x} HTTP/1.1\r\nhost: t\r\n\r\n"), &[414, 431, 400]),
        ("a query", format!("GET /ready?{x} HTTP/1.1\r\nhost: t\r\n\r\n"), &[414, 431, 400]),
        ("a method", format!("{x} / HTTP/1.1\r\nhost: t\r\n\r\n"), &[431, 400, 405]),
        (
            "a token",
            format!(
                "GET /lockers/L1 HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {}\r\n\r\n",
                "t".repeat(9000)
            ),
            &[401],
        ),
        ("a body", wire::request("POST", "/lockers", &token, &long), &[413]),
    ];
    let mut wrong = Vec::new();
    for (what, bytes, fit) in &cases {
        let mut wire = Wire::open(&server.address);
        // The server may hang up before it has heard all of it, but not before it has said why.
        let _ = wire.send(bytes);
        let status = wire.answer().map(|answer| answer.status);
        if status.is_none_or(|status| !fit.contains(&status)) {
            wrong.push(format!("{what}: {status:?}"));
        }
        assert_eq!(server.client().get("/ready").status, 200, "after {what}");
    }
    // A body that does not say how long it is.
    let mut wire = Wire::open(&server.address);
    let kind = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    wire.send(format!("POST /lockers HTTP/1.1\r\nhost: t\r\n{bearer}{kind}\r\n")).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let _ = (0..32).try_for_each(|_| wire.send(&chunk));
    assert_eq!(wire.answer().map(|answer| answer.status), Some(413), "chunks without end");
    assert_eq!(server.client().get("/ready").status, 200);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_http_harms_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let mut chance = Chance::new(3);
    let mut cases: Vec<Vec<u8>> = [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\0\0\0\0\0\0\0\0",
        b"\r\n\r\n\r\n\r\n",
        b"GET / HTTP/1.1\nhost: t\n\n",
        b"GET / HTTP/9.9\r\nhost: t\r\n\r\n",
        b"GET /\r\n",
        b"GET / HTTP/1.1\r\nhost: t\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: t\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"GET / HTTP/1.1\r\nhost: t\r\n folded: header\r\n\r\n",
        b"GET / HTTP/1.1\r\nho\0st: t\r\n\r\n",
        b"GET /%zz%00/../../etc HTTP/1.1\r\nhost: t\r\n\r\n",
        b"GET http://elsewhere.example/lockers/L1 HTTP/1.1\r\nhost: t\r\n\r\n",
        b"CONNECT elsewhere.example:443 HTTP/1.1\r\nhost: t\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: t\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: t\r\nexpect: 200-maybe\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: t\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    ]
    .iter()
    .map(|bytes| bytes.to_vec())
    .collect();
    for _ in 0..500 {
        let length = chance.below(400);
        cases.push((0..length).map(|_| chance.next().to_le_bytes()[0]).collect());
    }
    for bytes in &cases {
        let mut wire = Wire::open(&server.address);
        let _ = wire.send(bytes);
        wire.end();
        while let Some(answer) = wire.answer() {
            let shown = String::from_utf8_lossy(bytes);
            assert!((200..500).contains(&answer.status), "{shown:?}: {answer:?}");
        }
    }
    assert_eq!(server.client().get("/ready").status, 200);
}

#[test]
fn a_request_that_breaks_off_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let whole = wire::register(&token, "L1");
    let kind = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let chunked = format!(
        "POST /lockers HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\n{kind}\r\n\
         29\r\n{{\"lockerId\":\"L1\",\"ownerId\":\"owner\"}}      \r\n0\r\n\r\n"
    );
    for request in [&whole, &chunked] {
        let head = request.find("\r\n\r\n").unwrap() + 4;
        // Broken off at each byte of the body, gently and not.
        for at in (0..request.len()).step_by(7).chain(head..request.len() - 1) {
            for gently in [true, false] {
                let mut wire = Wire::open(&server.address);
                wire.send(&request[..at]).unwrap();
                if gently {
                    wire.end();
                    while let Some(answer) = wire.answer() {
                        assert!((400..500).contains(&answer.status), "{at}: {answer:?}");
                    }
                }
            }
        }
    }
    let mut client = server.client().with_token(&token);
    assert_eq!(client.get("/lockers/L1").status, 404);
    assert!(lockers_of(&mut client, "owner").is_empty());
    // Whole, each does what it says.
    let mut wire = Wire::open(&server.address);
    wire.send(&chunked).unwrap();
    assert_eq!(wire.answer().unwrap().status, 201);
    wire.send(&whole).unwrap();
    assert_eq!(wire.answer().unwrap().status, 409);
}
