//! What taking part leaves in the table: the keys of the design, and index attributes on requests alone.

use latchkey_table::Schema;

use crate::participants::join;
use crate::scene::{Scene, clock};
use crate::stored::{Texts, text};

fn stored(scene: Scene, prefix: &str) -> (Scene, Vec<Texts>) {
    let table = Schema::new("ParticipationTable").with_index("GSI1").with_index("GSI2");
    scene.stored("participation", table, prefix)
}

/// The item with these keys.
#[track_caller]
fn one<'a>(items: &'a [Texts], partition: &str, sort: &str) -> &'a Texts {
    let found = items.iter().find(|item| text(item, "PK") == partition && text(item, "SK") == sort);
    found.unwrap_or_else(|| panic!("no {partition} / {sort} among {items:?}"))
}

#[track_caller]
fn has(item: &Texts, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(text(item, name), *value, "`{name}` of {item:?}");
    }
}

#[test]
fn a_request_and_its_lock_are_stored_as_designed() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let id = scene.joins("alice", "E1", "10:00");
    scene.queue("participations", "refuses");
    let refused = scene.joins("bob", "E1", "10:01");
    scene.queue("participations", "works");
    let keys = [
        ("GSI1PK", "USER#alice".to_owned()),
        ("GSI1SK", format!("RAT#{}#REQ#{id}", clock("10:00"))),
        ("GSI2PK", "EVENT#E1".to_owned()),
        ("GSI2SK", format!("QAT#{}#REQ#{id}", clock("10:00"))),
    ];
    let keys: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (*name, key.as_str())).collect();
    let mut scene = scene;
    for status in ["QUEUED", "SUCCEEDED"] {
        let (again, items) = stored(scene, "");
        let request = one(&items, &format!("REQ#{id}"), "META");
        has(request, &[("status", status), ("userId", "alice"), ("eventId", "E1")]);
        // No index attribute moves when the status does.
        has(request, &keys);
        let lock = one(&items, "IDEMP#E1#alice", "LOCK");
        has(lock, &[("requestId", &id)]);
        one(&items, "EVENT#E1", "META");
        one(&items, "EVENT#E1", "CAPACITY");
        // What was never accepted is the user's, and not in the order of acceptance.
        let request = one(&items, &format!("REQ#{refused}"), "META");
        let order = format!("RAT#{}#REQ#{refused}", clock("10:01"));
        has(request, &[("GSI1PK", "USER#bob"), ("GSI1SK", &order), ("GSI2PK", ""), ("GSI2SK", "")]);
        has(one(&items, "IDEMP#E1#bob", "LOCK"), &[("requestId", &refused)]);
        for item in &items {
            let indexed = item.keys().any(|name| name.starts_with("GSI"));
            let request = text(item, "PK").starts_with("REQ#") && text(item, "SK") == "META";
            assert_eq!(indexed, request, "index attributes are of requests alone: {item:?}");
        }
        scene = again;
        scene.pass("11:00");
    }
}

#[test]
fn each_change_of_status_is_an_item_of_its_own_within_one_instant() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let id = scene.joins("alice", "E1", "10:00");
    scene.pass("10:00");
    for _ in 0..3 {
        join(&mut scene.person("alice"), "E1").is(200);
    }
    let (_scene, items) = stored(scene, "REQ#");
    let log: Vec<&Texts> =
        items.iter().filter(|item| text(item, "SK").starts_with("LOG#")).collect();
    assert_eq!(log.len(), 4, "{items:?}");
    let mut keys: Vec<&str> = log.iter().map(|line| text(line, "SK")).collect();
    assert!(keys.iter().all(|key| key.starts_with(&format!("LOG#{}", clock("10:00")))), "{keys:?}");
    keys.sort_unstable();
    let of = |key: &&str| text(one(&items, &format!("REQ#{id}"), key), "status").to_owned();
    let statuses: Vec<String> = keys.iter().map(of).collect();
    assert_eq!(statuses, ["RECEIVED", "QUEUED", "PROCESSING", "SUCCEEDED"], "{keys:?}");
}

#[test]
fn who_is_refused_leaves_neither_lock_nor_request() {
    let scene = Scene::start();
    scene.event_of(
        "E1",
        &serde_json::json!({"mode": "FIRST_COME", "capacity": 1, "closesAt": clock("09:30")}),
    );
    let mut alice = scene.person("alice");
    join(&mut alice, "E1").refuses(409, "event-closed");
    join(&mut alice, "E9").refuses(404, "not-found");
    let (_scene, items) = stored(scene, "");
    let left = items.iter().map(|item| text(item, "PK"));
    // The event, and its place in the list of all.
    let made = |key: &&str| key.starts_with("EVENT#E1") || key.starts_with("EVENTS#");
    let left: Vec<&str> = left.filter(|key| !made(key)).collect();
    assert_eq!(left, [""; 0], "{items:?}");
}
