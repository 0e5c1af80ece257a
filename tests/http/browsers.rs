//! What browsers are told: which pages may call, and what an answer must not be taken for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;

use serde_json::json;

use crate::jwt;
use crate::serve::{Client, Reply, Server, backend, latchkey};

const APP: &str = "https://app.example";
const OTHER: &str = "https://other.example";
const LOCKER: &str = "/lockers/L1";

/// A server with flags, and what signs tokens.
pub(crate) struct Flagged {
    pub(crate) server: Server,
    pub(crate) secret: String,
    _directory: tempfile::TempDir,
}

impl Flagged {
    pub(crate) fn start(flags: &[&str], documents: &[PathBuf]) -> Flagged {
        let directory = tempfile::tempdir().unwrap();
        let mut command = backend::on_backend("serve", directory.path(), documents);
        command.args(flags);
        let server = Server::start_by(command, directory.path());
        let secret = std::fs::read_to_string(directory.path().join("development-secret")).unwrap();
        Flagged { server, secret: secret.trim().to_owned(), _directory: directory }
    }

    pub(crate) fn operator(&self) -> Client {
        let token = jwt::token(&self.secret, &jwt::claims("olga", &["operator"], &[]));
        self.server.client().with_token(&token)
    }

    fn locker(&self) {
        let body = json!({"lockerId": "L1", "ownerId": "alice"});
        self.operator().post("/lockers", &body).is(201);
    }
}

/// What a browser asks before it sends a request of this method with headers of its own.
fn preflight(client: &mut Client, path: &str, origin: &str, method: &str) -> Reply {
    let asks = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type,idempotency-key"),
    ];
    client.send("OPTIONS", path, &asks, None)
}

#[track_caller]
fn is_granted(reply: &Reply, origin: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), origin, "{reply}");
    assert_eq!(reply.header("access-control-allow-credentials"), "", "{reply}");
}

#[test]
fn pages_of_listed_origins_may_read_every_answer() {
    let flagged = Flagged::start(&["--cors", APP, "--cors", "http://localhost:3000"], &[]);
    flagged.locker();
    let mut operator = flagged.operator();
    for origin in [APP, "http://localhost:3000"] {
        for (headers, path, status) in [
            (vec![("origin", origin)], LOCKER, 200),
            (vec![("origin", origin), ("if-none-match", "\"1\"")], LOCKER, 304),
            (vec![("origin", origin)], "/lockers/L9", 404),
            (vec![("origin", origin)], "/nothing", 404),
            (vec![("origin", origin), ("authorization", "x")], LOCKER, 401),
            (vec![("origin", origin)], "/health", 200),
            (vec![("origin", origin)], "/openapi.json", 200),
            (vec![("origin", origin)], "/locations/codes/x", 404),
        ] {
            let reply = operator.send("GET", path, &headers, None);
            assert_eq!(reply.status, status, "{reply}");
            is_granted(&reply, origin);
            assert!(reply.header("vary").contains("origin"), "{reply}");
            let exposed = reply.header("access-control-expose-headers");
            assert!(exposed.contains("ETag") && exposed.contains("Latchkey-Contract"), "{reply}");
        }
    }
    for origins in [&[("origin", OTHER)][..], &[("origin", "null")], &[], &[("origin", APP); 2]] {
        let reply = operator.send("GET", LOCKER, origins, None).is(200);
        is_granted(&reply, "");
        reply.has("vary", "origin");
    }
}

#[test]
fn a_preflight_is_answered_without_a_token_for_what_there_is() {
    let flagged = Flagged::start(&["--cors", APP], &[]);
    let mut nobody = flagged.server.client();
    for (path, method, allow) in [
        (LOCKER, "GET", "DELETE, GET, HEAD, PATCH"),
        (LOCKER, "PATCH", "DELETE, GET, HEAD, PATCH"),
        ("/lockers", "POST", "POST"),
        ("/openapi.json", "GET", "GET, HEAD"),
        ("/problems/not-found", "GET", "GET, HEAD"),
    ] {
        let reply = preflight(&mut nobody, path, APP, method);
        assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{reply}");
        is_granted(&reply, APP);
        assert_eq!(reply.header("access-control-allow-methods"), allow, "{reply}");
        let sent = reply.header("access-control-allow-headers").to_lowercase();
        for name in ["authorization", "content-type", "idempotency-key", "if-match"] {
            assert!(sent.split(", ").any(|one| one == name), "{name}: {sent}");
        }
        assert_eq!(reply.header("access-control-max-age"), "7200", "{reply}");
        // Of another origin, nothing is allowed.
        let reply = preflight(&mut nobody, path, OTHER, method);
        is_granted(&reply, "");
        for name in ["access-control-allow-methods", "access-control-allow-headers"] {
            assert_eq!(reply.header(name), "", "{reply}");
        }
    }
    for (path, method) in
        [(LOCKER, "PUT"), (LOCKER, "get"), ("/lockers", "GET"), ("/nothing", "GET")]
    {
        let reply = preflight(&mut nobody, path, APP, method);
        assert_eq!(reply.header("access-control-allow-methods"), "", "{reply}");
        assert_eq!(reply.header("access-control-allow-headers"), "", "{reply}");
        assert_eq!(reply.status == 404, path == "/nothing", "{reply}");
    }
}

#[test]
fn every_page_may_call_where_all_are_let_in() {
    let flagged = Flagged::start(&["--cors", "*"], &[]);
    flagged.locker();
    let mut operator = flagged.operator();
    for origin in [APP, "null"] {
        let reply = operator.send("GET", LOCKER, &[("origin", origin)], None).is(200);
        is_granted(&reply, "*");
        reply.lacks("vary").has("cross-origin-resource-policy", "cross-origin");
        let reply = preflight(&mut flagged.server.client(), LOCKER, origin, "PATCH");
        assert!(reply.header("access-control-allow-methods").contains("PATCH"), "{reply}");
    }
}

// A page could not read why its request was refused.
#[test]
fn a_request_that_cannot_be_read_is_answered_to_every_page_where_all_are_let_in() {
    let flagged = Flagged::start(&["--cors", "*"], &[]);
    let head = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: x\r\norigin: {APP}\r\n{more}\r\n")
    };
    let long = head(&format!("{LOCKER}?x={}", "a".repeat(66_000)), "");
    let many = head(LOCKER, &"x: a\r\n".repeat(120));
    let broken = head(LOCKER, "a: b\0c\r\n");
    for (request, status) in [(long, 414), (many, 431), (broken, 400)] {
        let reply = flagged.server.client().raw(request.as_bytes(), false).unwrap();
        assert_eq!(reply.status, status, "{reply}");
        is_granted(&reply, "*");
    }
}

#[test]
fn how_the_server_does_is_nothing_for_pages_of_others() {
    let flagged = Flagged::start(&["--cors", "*"], &[]);
    let mut nobody = flagged.server.client();
    for path in ["/metrics", "/ready"] {
        let reply = nobody.send("GET", path, &[("origin", APP)], None);
        assert_eq!(reply.status, 200, "{reply}");
        is_granted(&reply, "");
        reply.has("cross-origin-resource-policy", "same-origin");
        is_granted(&preflight(&mut nobody, path, APP, "GET"), "");
    }
    let reply = nobody.send("GET", "/openapi.json", &[("origin", APP)], None);
    is_granted(&reply, "*");
}

#[test]
fn without_the_flag_no_page_of_another_origin_may_call() {
    let flagged = Flagged::start(&[], &[]);
    flagged.locker();
    let reply = flagged.operator().send("GET", LOCKER, &[("origin", APP)], None).is(200);
    is_granted(&reply, "");
    reply.lacks("vary").lacks("access-control-expose-headers");
    let reply = preflight(&mut flagged.server.client(), LOCKER, APP, "GET");
    is_granted(&reply, "");
    assert_eq!((reply.status, reply.header("access-control-allow-methods")), (204, ""), "{reply}");
}

#[test]
fn every_answer_says_what_it_must_not_be_taken_for() {
    let flagged = Flagged::start(&[], &[]);
    flagged.locker();
    let mut operator = flagged.operator();
    for (method, path) in [
        ("GET", LOCKER),
        ("HEAD", LOCKER),
        ("GET", "/lockers/L9"),
        ("GET", "/nothing"),
        ("OPTIONS", LOCKER),
        ("POST", LOCKER),
        ("GET", "/health"),
        ("GET", "/metrics"),
        ("GET", "/problems/not-found"),
        ("POST", "/test-clock/nothing"),
    ] {
        let reply = operator.send(method, path, &[], None);
        let reply = reply.has("x-content-type-options", "nosniff");
        let reply = reply.has("referrer-policy", "no-referrer");
        let reply = reply.has("cross-origin-resource-policy", "same-origin");
        let policy = reply.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{reply}");
    }
}

#[test]
fn every_header_of_an_answer_is_one_that_a_page_may_read() {
    let flagged = Flagged::start(&["--cors", APP], &[]);
    let reply = flagged.server.client().send("GET", "/openapi.json", &[("origin", APP)], None);
    let exposed = reply.header("access-control-expose-headers").to_lowercase();
    let exposed: BTreeSet<&str> = exposed.split(", ").collect();
    let document = reply.json();
    // Every page may read `Cache-Control`; the others are for the browser itself.
    let others = [
        "cache-control",
        "content-security-policy",
        "cross-origin-resource-policy",
        "referrer-policy",
        "x-content-type-options",
    ];
    for name in document["components"]["headers"].as_object().unwrap().keys() {
        let name = name.to_lowercase();
        assert!(exposed.contains(&*name) || others.contains(&&*name), "{name}: {exposed:?}");
    }
}

#[test]
fn a_flag_that_lets_nobody_in_is_refused() {
    for (flags, reason) in [
        (&["--cors", "null"][..], "without an origin"),
        (&["--cors", "https://app.example/a"], "more than an origin"),
        (&["--cors", "https://App.example:443/"], "write `https://app.example`, as browsers do"),
        (&["--cors", "http://127.1"], "write `http://127.0.0.1`, as browsers do"),
        (&["--cors", "https://a..b"], "no page comes from"),
        (&["--cors", "app.example"], "such as `https://app.example:8443`"),
        (&["--cors", "https://*.example"], "no exact origin"),
        (&["--cors", "*,https://app.example"], "leave the others out"),
        (&["--problem-base", "docs"], "write a whole URL"),
        (&["--problem-base", "https://"], "no host"),
        (&["--problem-base", "https://docs.example/?code="], "leave out `?`"),
        (&["--problem-base", "https://docs.example/a\"b"], "percent-encoded"),
        (&["--admin-listen", "9090"], "invalid"),
        (&["--listen", "127.0.0.1:9", "--admin-listen", "127.0.0.1:9"], "address of callers"),
    ] {
        let data = tempfile::tempdir().unwrap();
        let output = latchkey().args(["serve", "--data"]).arg(data.path()).args(flags).output();
        let output = output.unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {told}");
        assert!(told.contains(reason), "{flags:?}: {told}");
    }
}

#[test]
fn ten_thousand_preflights_drop_no_request() {
    const THREADS: usize = 8;
    const EACH: usize = 1_250;
    let flagged = Flagged::start(&["--cors", APP], &[]);
    flagged.locker();
    let granted: usize = thread::scope(|scope| {
        let ask = || {
            let (mut pages, mut operator) = (flagged.server.client(), flagged.operator());
            let granted = (0..EACH).filter(|at| {
                if at % 50 == 0 {
                    operator.send("GET", LOCKER, &[("origin", APP)], None).is(200);
                }
                let reply = preflight(&mut pages, LOCKER, APP, "PATCH");
                reply.status == 204 && reply.header("access-control-allow-origin") == APP
            });
            granted.count()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, THREADS * EACH);
}
