//! QC-08, QC-09 and QC-10: what happened at the door.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, clock};
use crate::verdict::one_acted;

const PATH: &str = "/lockers/L1/events";

fn opened(id: &str) -> Value {
    json!({"eventId": id, "action": "OPEN", "actorId": "alice", "result": "SUCCESS"})
}

/// Opened, with this beside it.
fn with(id: &str, name: &str, value: Value) -> Value {
    let mut body = opened(id);
    body[name] = value;
    body
}

fn range(start: &str, end: &str) -> String {
    format!("{PATH}?startISO={}&endISO={}", clock(start), clock(end))
}

#[test]
fn an_event_is_answered_with_all_its_fields() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let full = json!({
        "eventId": "E1", "lockerId": "L1", "timestamp": clock("08:15"), "action": "FORCED_OPEN",
        "actorId": "door:7", "result": "FAIL", "metadata": {"force": 3.5, "by": ["crow", null, true]},
    });
    let mut body = full.clone();
    body.as_object_mut().unwrap().remove("lockerId");
    let logged = alice.post(PATH, &body).is(201).has("latchkey-contract", "QC-08").lacks("etag");
    logged.shows_just(&full);
    alice.get(&format!("{PATH}/latest")).is(200).shows_just(&full);
    let page = json!({"items": [full], "nextCursor": null});
    alice.get(&range("08:15", "08:15")).shows_just(&page);
}

#[test]
fn an_event_without_them_is_given_an_id_and_the_time() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice").at(&clock("10:00:00.123"));
    let body = json!({"action": "CLOSE", "actorId": "alice", "result": "SUCCESS"});
    let (first, second) = (alice.post(PATH, &body).is(201), alice.post(PATH, &body).is(201));
    for logged in [&first, &second] {
        let event = logged.json();
        assert_eq!(event["eventId"].as_str().map(str::len), Some(26), "a ULID; {logged}");
        assert_eq!(event["timestamp"], clock("10:00:00.123"), "{logged}");
        assert!(event.get("metadata").is_none(), "absent optionals are left out; {logged}");
    }
    assert_ne!(first.json()["eventId"], second.json()["eventId"], "{first}{second}");
    alice.get(&range("10:00", "10:01")).counts(2);
}

#[test]
fn a_device_logs_but_does_not_read() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.device("L1", "door-7");
    let mut device = scene.someone("door-7", &["device"], &[]);
    device.post(PATH, &opened("E1")).is(201);
    for path in [
        "/lockers/L1",
        "/owners/alice/lockers",
        &range("09:00", "11:00"),
        "/lockers/L1/events/latest",
        "/lockers/L1/reservations/active",
    ] {
        device.get(path).refuses(403, "forbidden");
    }
    scene.person("bob").post(PATH, &opened("E2")).refuses(403, "forbidden");
    scene.nobody().post(PATH, &opened("E2")).refuses(401, "unauthenticated");
    for (id, who, roles, orgs) in [
        ("E3", "alice", &[][..], &[][..]),
        ("E4", "mia", &[], &["alice"]),
        ("E5", "olga", &["operator"], &[]),
        ("E6", "ada", &["admin"], &[]),
    ] {
        scene.someone(who, roles, orgs).post(PATH, &opened(id)).is(201);
    }
}

#[test]
fn an_event_is_logged_once_whatever_its_timestamp() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    scene.device("L1", "door-7");
    let first = scene.event("L1", "E1", "08:00");
    let mut device = scene.someone("door-7", &["device"], &[]).at(&clock("23:00"));
    for body in [
        opened("E1"),
        with("E1", "timestamp", json!(clock("08:00"))),
        with("E1", "timestamp", json!(clock("08:00:00.001"))),
        with("E1", "timestamp", json!(clock("23:00"))),
        with("E1", "action", json!("TAMPER")),
    ] {
        let refused = device.post(PATH, &body).refuses(409, "duplicate-event");
        assert!(!refused.header("latchkey-contract").is_empty(), "{refused}");
    }
    let mut alice = scene.person("alice");
    let page = json!({"items": [first], "nextCursor": null});
    alice.get(&range("00:00", "23:59")).shows_just(&page);
    // Another door has ids of its own.
    scene.event("L2", "E1", "08:00");
    // The same instant twice is no duplicate.
    scene.event("L1", "E2", "08:00");
    alice.get(&range("00:00", "23:59")).lists("eventId", &["E2", "E1"], false);
}

#[test]
fn of_many_who_log_one_event_at_once_one_does() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.device("L1", "door-7");
    let replies = at_once(8, |n| {
        let mut device = scene.someone("door-7", &["device"], &[]).at(&clock("10:05"));
        device.post(PATH, &with("E1", "timestamp", json!(clock(&format!("10:0{n}")))))
    });
    one_acted(&replies, 201, (409, "duplicate-event"));
    scene.operator().get(&range("00:00", "23:59")).counts(1);
}

#[test]
fn a_device_logs_at_the_locker_it_is_bound_to_and_at_no_other() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let mut device = scene.someone("door-7", &["device"], &[]);
    device.post(PATH, &opened("E1")).refuses(403, "forbidden");
    scene.device("L1", "door-7");
    device.post(PATH, &opened("E1")).is(201);
    device.post("/lockers/L2/events", &opened("E1")).refuses(403, "forbidden");
    // Its name without its role, its role without its name, and a role in other letters.
    scene.person("door-7").post(PATH, &opened("E2")).refuses(403, "forbidden");
    scene.someone("door-8", &["device"], &[]).post(PATH, &opened("E2")).refuses(403, "forbidden");
    scene.someone("door-7", &["Device"], &[]).post(PATH, &opened("E2")).refuses(403, "forbidden");
    // A name that an organisation has is not the name of a device.
    let mut posing = scene.someone("door-8", &["device"], &["door-7"]);
    posing.post(PATH, &opened("E2")).refuses(403, "forbidden");
    // Another device in its place, and then none.
    scene.device("L1", "door-8");
    device.post(PATH, &opened("E2")).refuses(403, "forbidden");
    let mut other = scene.someone("door-8", &["device"], &[]);
    other.post(PATH, &opened("E2")).is(201);
    scene.person("alice").put("/lockers/L1/device", &json!({})).is(200);
    other.post(PATH, &opened("E3")).refuses(403, "forbidden");
    scene.operator().get(&range("09:00", "11:00")).lists("eventId", &["E2", "E1"], false);
}

#[test]
fn an_event_is_never_of_the_future() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for time in ["10:05:00.001", "11:00", "23:59"] {
        let body = with("E1", "timestamp", json!(clock(time)));
        let refused = alice.post(PATH, &body).refuses(400, "future-timestamp");
        refused.has("latchkey-contract", "QC-08").cost("rcu=0, wcu=0");
    }
    for (id, time) in [("E1", "10:05"), ("E2", "10:00"), ("E3", "00:00")] {
        alice.post(PATH, &with(id, "timestamp", json!(clock(time)))).is(201);
    }
    alice.get(&format!("{PATH}/latest")).is(200).shows(&json!({"eventId": "E1"}));
}

#[test]
fn an_event_is_never_changed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.event("L1", "E1", "08:00");
    let mut operator = scene.operator();
    for method in ["PUT", "PATCH", "DELETE"] {
        for path in [PATH, "/lockers/L1/events/E1", "/lockers/L1/events/latest"] {
            let reply = operator.send(method, path, &[], Some("{}"));
            assert!([404, 405].contains(&reply.status), "{reply}");
            reply.tells_a_problem();
        }
    }
    operator.get(&format!("{PATH}/latest")).is(200).shows(&json!({"eventId": "E1"}));
}

#[test]
fn every_action_and_result_is_known_and_no_other() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for action in ["OPEN", "CLOSE", "DENIED", "FORCED_OPEN", "TAMPER", "FAULT"] {
        for result in ["SUCCESS", "FAIL"] {
            let body = json!({"action": action, "actorId": "alice", "result": result});
            alice.post(PATH, &body).is(201).shows(&json!({"action": action, "result": result}));
        }
    }
    for bad in [json!("open"), json!("EXPLODED"), json!(""), json!(null), json!(1)] {
        alice.post(PATH, &with("E", "action", bad.clone())).blames(&["/action"]);
        alice.post(PATH, &with("E", "result", bad)).blames(&["/result"]);
    }
    alice.post(PATH, &json!({})).blames(&["/action", "/actorId", "/result"]);
    alice.post(PATH, &with("E", "actorId", json!("a#b"))).blames(&["/actorId"]);
    alice.post(PATH, &with("a#b", "timestamp", json!("noon"))).blames(&["/eventId", "/timestamp"]);
    alice.post(PATH, &with("E", "lockerId", json!("L2"))).blames(&["/lockerId"]);
    alice.post("/lockers/L9/events", &opened("E")).refuses(404, "not-found");
}

/// An object of so many levels, of objects or of arrays within an object.
fn deep(levels: usize, arrays: bool) -> Value {
    let mut value = json!(1);
    for level in (0..levels).rev() {
        value = if arrays && level > 0 { json!([value]) } else { json!({"a": value}) };
    }
    value
}

#[test]
fn metadata_has_two_kilobytes_and_five_levels_at_most() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    // `{"a":"…"}` is eight bytes and the text.
    let text = |bytes: usize| json!({"a": "x".repeat(bytes - 8)});
    let wide = |bytes: usize| json!({"a": "é".repeat((bytes - 8) / 2)});
    let empties: Vec<Value> = (0..682).map(|_| json!({})).collect();
    for (id, metadata) in [
        ("empty", json!({})),
        ("longest", text(2048)),
        ("widest", wide(2048)),
        ("deepest", deep(5, false)),
        ("deepest-lists", deep(5, true)),
        ("awkward", json!({" ": {"a.b": [], "#": "\u{0}\"\\", "PK": "x", "☃": "🔑"}})),
        ("numbers", json!([1, -1, 0, 1e20, 0.001]).as_array().map(|n| json!({"n": n})).unwrap()),
    ] {
        let logged = alice.post(PATH, &with(id, "metadata", metadata.clone())).is(201);
        logged.shows(&json!({"metadata": metadata}));
        let page = alice.get(&format!("{}&pageSize=1", range("00:00", "23:59")));
        assert_eq!(page.status, 200, "{page}");
    }
    for (id, metadata) in [
        ("too-long", text(2049)),
        ("too-wide", wide(2050)),
        ("too-many", json!({"a": empties})),
        ("too-deep", deep(6, false)),
        ("too-deep-lists", deep(6, true)),
        ("list", json!([])),
        ("text", json!("x")),
        ("number", json!(1)),
    ] {
        let refused = alice.post(PATH, &with(id, "metadata", metadata)).blames(&["/metadata"]);
        refused.has("latchkey-contract", "QC-08");
    }
}

#[test]
fn numbers_in_metadata_are_exact_or_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = |id: &str, number: &str| {
        format!(
            r#"{{"eventId":"{id}","action":"OPEN","actorId":"a","result":"FAIL","metadata":{{"n":{number}}}}}"#
        )
    };
    for (at, number) in [
        "9007199254740993",
        "12345678901234567890.123456789012345678",
        "-0.1",
        "99999999999999999999999999999999999999",
    ]
    .into_iter()
    .enumerate()
    {
        let logged = alice.send("POST", PATH, &[], Some(&body(&format!("E{at}"), number))).is(201);
        let shown = format!("{{\"n\":{number}}}");
        assert!(logged.text.contains(&shown), "{shown} as it was; {logged}");
        let latest = alice.get(&range("00:00", "23:59"));
        assert!(latest.text.contains(&shown), "{shown} when read; {latest}");
    }
    for number in ["999999999999999999999999999999999999999", "1e126", "1e-131", "1e999999999"] {
        let refused = alice.send("POST", PATH, &[], Some(&body("E", number)));
        refused.refuses(400, "invalid-input");
    }
}

#[test]
fn events_are_listed_newest_first_unless_asked_otherwise() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    for (id, time) in [("C", "12:00"), ("A", "10:00"), ("D", "13:00"), ("B", "11:00")] {
        scene.event("L1", id, time);
    }
    let mut alice = scene.person("alice");
    for (start, end, expected) in [
        ("00:00", "23:59", &["D", "C", "B", "A"][..]),
        ("11:00", "12:00", &["C", "B"]),
        ("11:00", "11:00", &["B"]),
        ("10:59:59.999", "11:59:59.999", &["B"]),
        ("11:00:00.001", "12:00", &["C"]),
        ("13:00:00.001", "23:00", &[]),
    ] {
        let path = range(start, end);
        let page = alice.get(&path).is(200).has("latchkey-contract", "QC-09");
        page.lists("eventId", expected, false);
        alice.get(&format!("{path}&order=desc")).lists("eventId", expected, false);
        let oldest_first: Vec<&str> = expected.iter().rev().copied().collect();
        alice.get(&format!("{path}&order=asc")).lists("eventId", &oldest_first, false);
    }
    alice.get(&range("12:00", "11:00")).refuses(400, "invalid-time-range");
    alice.get(&format!("{}&order=newest", range("11:00", "12:00"))).blames(&["/order"]);
    alice.get(&format!("{PATH}?startISO=x&endISO=y")).blames(&["/startISO", "/endISO"]);
    let nowhere = range("11:00", "12:00").replace("L1", "L9");
    alice.get(&nowhere).refuses(404, "not-found");
}

#[test]
fn the_latest_event_is_the_one_of_the_latest_time() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let mut alice = scene.person("alice");
    let none = alice.get(&format!("{PATH}/latest")).refuses(404, "no-events");
    none.has("latchkey-contract", "QC-10");
    scene.event("L2", "E0", "23:00");
    alice.get(&format!("{PATH}/latest")).refuses(404, "no-events");
    for (id, time, latest) in [
        ("E1", "10:00", "E1"),
        ("E2", "11:00", "E2"),
        // Told late, it is not the latest.
        ("E3", "10:30", "E2"),
        ("E4", "11:00:00.001", "E4"),
        // At one instant, the later id.
        ("E5", "11:00:00.001", "E5"),
        ("E0", "11:00:00.001", "E5"),
    ] {
        scene.event("L1", id, time);
        let found = alice.get(&format!("{PATH}/latest")).is(200);
        found.lacks("etag").shows(&json!({"eventId": latest, "lockerId": "L1"}));
    }
    alice.get("/lockers/L9/events/latest").refuses(404, "not-found");
}
