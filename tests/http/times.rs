//! Times: RFC 3339 in, fixed-width UTC milliseconds out.

use serde_json::json;

use crate::scene::{Scene, clock};

const PATH: &str = "/lockers/L1/events";

/// What may be sent, and what it is.
const GOOD: [(&str, &str); 22] = [
    ("2026-02-25T10:00:00Z", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T10:00:00.000Z", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T10:00:00.5Z", "2026-02-25T10:00:00.500Z"),
    ("2026-02-25T10:00:00.12Z", "2026-02-25T10:00:00.120Z"),
    ("2026-02-25T10:00:00.1234Z", "2026-02-25T10:00:00.123Z"),
    ("2026-02-25T10:00:00.999999999Z", "2026-02-25T10:00:00.999Z"),
    ("2026-02-25T10:00:00.0009Z", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T23:59:59.9999Z", "2026-02-25T23:59:59.999Z"),
    ("2026-02-25t10:00:00z", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T12:00:00+02:00", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T04:30:00-05:30", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T10:00:00+00:00", "2026-02-25T10:00:00.000Z"),
    ("2026-02-25T10:00:00-00:00", "2026-02-25T10:00:00.000Z"),
    ("2026-02-26T00:30:00.25+14:00", "2026-02-25T10:30:00.250Z"),
    ("2025-12-31T23:00:00-02:00", "2026-01-01T01:00:00.000Z"),
    ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
    ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
    // Before 1970 too, what is finer is cut off, not rounded.
    ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
    ("1969-12-31T23:59:59.9991+00:00", "1969-12-31T23:59:59.999Z"),
    ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
];

/// What is no time.
const BAD: [&str; 31] = [
    "",
    " ",
    "now",
    "2026-02-25",
    "10:00:00Z",
    "2026-02-25T10:00:00",
    "2026-02-25T10:00Z",
    "2026-02-25T10Z",
    "2026-02-25T10:00:00,5Z",
    "2026-02-25T10:00:00.Z",
    "2026-02-25T24:00:00Z",
    "2026-02-25T10:60:00Z",
    "2026-02-25T10:00:61Z",
    "2026-02-30T10:00:00Z",
    "2025-02-29T10:00:00Z",
    "1900-02-29T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-00-01T10:00:00Z",
    "2026-01-00T10:00:00Z",
    "2026-02-25T10:00:00+0200",
    "2026-02-25T10:00:00+02",
    "2026-02-25T10:00:00+24:00",
    "2026-02-25T10:00:00+02:60",
    "2026-02-25T10:00:00Z ",
    " 2026-02-25T10:00:00Z",
    "2026-2-25T10:00:00Z",
    "+2026-02-25T10:00:00Z",
    "12026-02-25T10:00:00Z",
    "٢026-02-25T10:00:00Z",
    // Outside the years of four digits, once in UTC.
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
];

#[test]
fn times_come_in_as_rfc_3339_has_them_and_go_out_in_fixed_width() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    // An event is never of the future.
    let mut alice = scene.person("alice").at("9999-12-31T23:59:59.999Z");
    for (at, (given, expected)) in GOOD.into_iter().enumerate() {
        let id = format!("E{at:02}");
        let body = json!({
            "eventId": id, "timestamp": given, "action": "OPEN", "actorId": "a", "result": "FAIL",
        });
        alice.post(PATH, &body).is(201).shows(&json!({"timestamp": expected}));
        // In a query, a `+` must be told from a space.
        let encoded = given.replace('+', "%2B");
        let page = alice.get(&format!("{PATH}?startISO={encoded}&endISO={encoded}")).is(200);
        assert!(page.listed("eventId").contains(&id), "{given}; {page}");
        assert!(page.listed("timestamp").iter().all(|time| time == expected), "{given}; {page}");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for given in BAD {
        let body = json!({"timestamp": given, "action": "OPEN", "actorId": "a", "result": "FAIL"});
        alice.post(PATH, &body).blames(&["/timestamp"]);
        let encoded: String = given.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("{PATH}?startISO={encoded}&endISO={}", clock("10:00"));
        alice.get(&path).blames(&["/startISO"]);
    }
    for given in [json!(1_772_013_600), json!(null), json!(true), json!(["2026-02-25T10:00:00Z"])] {
        let body = json!({"timestamp": given, "action": "OPEN", "actorId": "a", "result": "FAIL"});
        let reply = alice.post(PATH, &body);
        // Absent and null may mean the same where there is a default.
        if !(given.is_null() && reply.status == 201) {
            reply.blames(&["/timestamp"]);
        }
    }
    // A bare `+` in a query is a space.
    let path = format!("{PATH}?startISO=2026-02-25T10:00:00+00:00&endISO={}", clock("10:00"));
    alice.get(&path).blames(&["/startISO"]);
}

#[test]
fn a_leap_second_is_no_failure_of_the_server() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for given in ["2016-12-31T23:59:60Z", "2016-12-31T18:59:60-05:00", "2016-06-15T12:00:60Z"] {
        let body = json!({"timestamp": given, "action": "OPEN", "actorId": "a", "result": "FAIL"});
        let reply = alice.post(PATH, &body);
        assert!([201, 400].contains(&reply.status), "{reply}");
    }
}

#[test]
fn times_of_all_ages_sort_as_they_passed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    // An event is never of the future.
    let mut alice = scene.person("alice").at("9999-12-31T23:59:59.999Z");
    let times = [
        "0000-01-01T00:00:00Z",
        "0999-12-31T23:59:59.999Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00Z",
        "2026-02-25T10:00:00Z",
        "2026-02-25T10:00:00.5Z",
        "2026-02-25T10:00:01Z",
        "9999-12-31T23:59:59.999Z",
    ];
    // Logged in no order at all.
    for at in [5, 0, 7, 2, 4, 6, 1, 3] {
        let body = json!({
            "eventId": format!("E{at}"), "timestamp": times[at], "action": "OPEN", "actorId": "a",
            "result": "FAIL",
        });
        alice.post(PATH, &body).is(201);
    }
    let ages = "startISO=0000-01-01T00:00:00Z&endISO=9999-12-31T23:59:59.999Z&order=asc";
    let expected: Vec<String> = (0..8).map(|at| format!("E{at}")).collect();
    let page = alice.get(&format!("{PATH}?{ages}")).is(200);
    assert_eq!(page.listed("eventId"), expected, "{page}");
}
