//! The edge: paths and methods, tags and preconditions, what every response carries.

use serde_json::json;

use crate::scene::Scene;
use crate::serve::{Client, Reply};

const STATUS: &str = "/lockers/L1/status";

#[test]
fn an_unknown_path_is_not_found() {
    let scene = Scene::start();
    for mut client in [scene.nobody(), scene.operator()] {
        for path in [
            "/nothing",
            "/lockers/L1/nothing",
            "/lockers/L1/status/x",
            "/Lockers",
            "/owners",
            "/owners/alice",
            "//lockers",
            "/lockers//L1",
            "/lockers/L1/reservations/active/x",
        ] {
            let reply = client.get(path).refuses(404, "not-found").lacks("latchkey-contract");
            assert!(reply.json().get("contract").is_none(), "no contract answered; {reply}");
        }
        // A slash at the end is an empty id, or nothing.
        for path in ["/lockers/", "/lockers/L1/", "/owners//lockers"] {
            let reply = client.get(path);
            assert!([400, 401, 404].contains(&reply.status), "{reply}");
        }
    }
}

#[test]
fn a_method_a_path_does_not_know_is_told_those_it_does() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    for (path, allow) in [
        ("/lockers", "POST"),
        ("/lockers/L1", "DELETE, GET, HEAD, PATCH"),
        ("/lockers/L1/device", "PUT"),
        ("/lockers/L1/status", "PUT"),
        ("/lockers/L1/reservations", "GET, HEAD, POST"),
        ("/lockers/L1/reservations/active", "GET, HEAD"),
        ("/lockers/L1/reservations/R1", "GET, HEAD"),
        ("/lockers/L1/reservations/R1/cancel", "POST"),
        ("/lockers/L1/transfer", "POST"),
        ("/lockers/L1/events", "GET, HEAD, POST"),
        ("/lockers/L1/events/latest", "GET, HEAD"),
        ("/owners/alice/lockers", "GET, HEAD"),
        ("/owners/alice/reservations", "GET, HEAD"),
    ] {
        let known: Vec<&str> = allow.split(", ").collect();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
            if !known.contains(&method) {
                let reply = operator.send(method, path, &[], None);
                assert_eq!(reply.status, 405, "{reply}");
                reply.tells_a_problem().has("allow", allow).lacks("latchkey-contract");
            }
        }
        // Nobody needs to sign in to ask what a path knows.
        for mut client in [scene.nobody(), scene.operator()] {
            let reply = client.send("OPTIONS", path, &[], None).has("allow", allow);
            assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{reply}");
        }
    }
    let nowhere = operator.send("OPTIONS", "/nothing", &[], None);
    assert_eq!(nowhere.status, 404, "{nowhere}");
}

#[test]
fn head_is_get_without_its_body() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for path in
        ["/lockers/L1", "/owners/alice/lockers", "/lockers/L9", "/lockers/L1?x=1", "/nothing"]
    {
        let (get, head) = (alice.get(path), alice.send("HEAD", path, &[], None));
        assert_eq!(head.status, get.status, "{head}{get}");
        assert_eq!(head.text, "", "{head}");
        for name in
            ["content-length", "content-type", "etag", "latchkey-contract", "latchkey-capacity"]
        {
            assert_eq!(head.header(name), get.header(name), "`{name}`: {head}{get}");
        }
    }
    let head = scene.nobody().send("HEAD", "/lockers/L1", &[], None);
    assert_eq!((head.status, head.header("www-authenticate")), (401, "Bearer"), "{head}");
}

#[test]
fn every_response_of_a_contract_names_it_and_what_it_cost() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut send = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>| {
        let reply = alice.send(method, path, headers, body).names_its_contract();
        (reply.status, reply.header("latchkey-contract").to_owned())
    };
    let status = Some(r#"{"newStatus":"OCCUPIED"}"#);
    let owner = Some(r#"{"ownerId":"alice","lockerId":"L1"}"#);
    let answers = [
        send("GET", "/lockers/L1", &[], None),
        send("POST", "/lockers", &[], Some(r#"{"ownerId":"alice"}"#)),
        send("GET", "/lockers/L1", &[("if-none-match", "\"1\"")], None),
        send("GET", "/lockers/%23", &[], None),
        send("GET", "/owners/bob/lockers", &[], None),
        send("GET", "/lockers/L9", &[], None),
        send("POST", "/lockers", &[], owner),
        send("PUT", STATUS, &[("if-match", "\"7\"")], status),
        send("POST", "/lockers", &[("content-type", "text/plain")], owner),
        send("GET", "/owners/alice/lockers?nextCursor=x", &[], None),
        send("POST", "/lockers", &[("idempotency-key", "")], owner),
    ];
    let expected = [
        (200, "QC-01"),
        (201, "QC-11"),
        (304, "QC-01"),
        (400, "QC-01"),
        (403, "QC-02"),
        (404, "QC-01"),
        (409, "QC-11"),
        (412, "QC-03"),
        (415, "QC-11"),
        (400, "QC-02"),
        (400, "QC-11"),
    ];
    let expected = expected.map(|(status, contract)| (status, contract.to_owned()));
    assert_eq!(answers, expected);
    let refused = scene.nobody().get("/lockers/L1").refuses(401, "unauthenticated");
    refused.has("latchkey-contract", "QC-01").cost("rcu=0, wcu=0");
}

/// Changes the status with this `If-Match`.
fn change(client: &mut Client, status: &str, tag: &str) -> Reply {
    let body = json!({"newStatus": status}).to_string();
    client.send("PUT", STATUS, &[("if-match", tag)], Some(&body))
}

#[test]
fn an_if_match_stands_for_the_expected_version() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    change(&mut alice, "OCCUPIED", "\"1\"").is(200).has("etag", "\"2\"");
    let tag = alice.get("/lockers/L1").header("etag").to_owned();
    change(&mut alice, "AVAILABLE", &tag).is(200).has("etag", "\"3\"");
    change(&mut alice, "OCCUPIED", "*").is(200).has("etag", "\"4\"");
    // The hash that some answers have behind the version is not compared.
    change(&mut alice, "AVAILABLE", "\"9-4\", \"4-a_-b\"").is(200).has("etag", "\"5\"");
    change(&mut alice, "OCCUPIED", "\"5\",\"9\" ").is(200).has("etag", "\"6\"");
    let before = alice.get("/lockers/L1").json();
    // A weak tag is no match where something is changed, nor is one of another make.
    for stale in [
        "\"5\"",
        "\"7\"",
        "\"1\", \"2\", \"3\"",
        "W/\"6\"",
        "\"six\"",
        "\"\"",
        "\"06\"",
        "\"6.0\"",
        "\"-6\"",
        "\"5-6\"",
        "\"99999999999999999999999999\"",
    ] {
        let refused = change(&mut alice, "AVAILABLE", stale);
        assert_eq!(refused.status, 412, "{refused}");
        let refused = refused.tells_a_problem().has("latchkey-contract", "QC-03");
        refused.shows(&json!({"currentVersion": 6}));
    }
    for bad in ["6", "\"6", "6\"", "", "\"5\" \"6\"", "\"5\",,6", "w/6", "'6'"] {
        change(&mut alice, "AVAILABLE", bad).refuses(400, "invalid-input");
    }
    alice.get("/lockers/L1").shows_just(&before);
    // A move that is illegal is so with a tag too, and what is not there is not found.
    change(&mut alice, "OCCUPIED", "\"6\"").refuses(409, "illegal-transition");
    let body = json!({"newStatus": "OCCUPIED"}).to_string();
    for tag in ["*", "\"1\""] {
        let nowhere = alice.send("PUT", "/lockers/L9/status", &[("if-match", tag)], Some(&body));
        assert!([404, 412].contains(&nowhere.status), "{nowhere}");
    }
    scene
        .person("bob")
        .send("PUT", STATUS, &[("if-match", "*")], Some(&body))
        .refuses(403, "forbidden");
}

#[test]
fn a_version_is_given_once() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body =
        |version: i64| json!({"newStatus": "OCCUPIED", "expectedVersion": version}).to_string();
    for (tag, version) in [("\"1\"", 1), ("\"1\"", 2), ("\"2\"", 1), ("*", 1)] {
        let reply = alice.send("PUT", STATUS, &[("if-match", tag)], Some(&body(version)));
        reply.blames(&["/expectedVersion"]);
    }
    let transfer = json!({"newOwnerId": "bob", "expectedVersion": 1}).to_string();
    let reply =
        alice.send("POST", "/lockers/L1/transfer", &[("if-match", "\"1\"")], Some(&transfer));
    reply.blames(&["/expectedVersion"]);
    alice
        .get("/lockers/L1")
        .shows(&json!({"version": 1, "status": "AVAILABLE", "ownerId": "alice"}));
}

#[test]
fn who_has_the_version_already_is_told_no_more() {
    let scene = Scene::start();
    let locker = scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for tag in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"] {
        let reply = alice.send("GET", "/lockers/L1", &[("if-none-match", tag)], None);
        assert_eq!((reply.status, reply.text.as_str()), (304, ""), "{reply}");
        reply.has("etag", "\"1\"").has("latchkey-contract", "QC-01").cost("rcu=0.5, wcu=0");
    }
    for tag in ["\"2\"", "1", "", "\"\"", "garbage, more"] {
        let reply = alice.send("GET", "/lockers/L1", &[("if-none-match", tag)], None);
        reply.is(200).shows_just(&locker);
    }
    change(&mut alice, "OCCUPIED", "\"1\"").is(200);
    let changed = alice.send("GET", "/lockers/L1", &[("if-none-match", "\"1\"")], None).is(200);
    changed.shows(&json!({"version": 2}));
    let stranger =
        scene.person("bob").send("GET", "/lockers/L1", &[("if-none-match", "\"2\"")], None);
    stranger.refuses(403, "forbidden");
    let head = alice.send("HEAD", "/lockers/L1", &[("if-none-match", "\"2\"")], None);
    assert_eq!(head.status, 304, "{head}");
}

#[test]
fn a_request_keeps_its_id_or_is_given_one() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for path in ["/lockers/L1", "/lockers/%23", "/nothing"] {
        for id in ["abc", "2026-02-25:7f@x", &"i".repeat(128)] {
            alice.send("GET", path, &[("x-request-id", id)], None).has("x-request-id", id);
        }
        let (one, other) = (alice.get(path), alice.get(path));
        let ids = (one.header("x-request-id"), other.header("x-request-id"));
        assert!(!ids.0.is_empty() && ids.0 != ids.1, "each request has its own; {one}{other}");
        // What could break a log or a header is not repeated.
        for bad in ["", "a b", "<script>", "a,b\t", "\u{e9}", &"i".repeat(5000)] {
            let reply = alice.send("GET", path, &[("x-request-id", bad)], None);
            let id = reply.header("x-request-id");
            assert!(!id.is_empty() && id != bad && id.len() <= 128, "{reply}");
        }
    }
}

#[test]
fn health_readiness_and_metrics_need_no_token() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.person("alice").get("/lockers/L1").is(200);
    let mut nobody = scene.nobody();
    for path in ["/health", "/ready"] {
        let reply = nobody.get(path);
        assert_eq!(reply.status, 200, "{reply}");
        let head = nobody.send("HEAD", path, &[], None);
        assert_eq!(head.status, 200, "{head}");
    }
    let metrics = nobody.get("/metrics");
    assert_eq!(metrics.status, 200, "{metrics}");
    assert!(metrics.header("content-type").starts_with("text/plain"), "{metrics}");
    for contract in ["QC-01", "QC-11"] {
        assert!(metrics.text.contains(contract), "it counts {contract}: {}", metrics.text);
    }
    for path in ["/health", "/ready", "/metrics"] {
        let reply = nobody.send("POST", path, &[], Some("{}"));
        assert_eq!(reply.status, 405, "{reply}");
    }
}
