//! QC-16, QC-18 and the order of QC-02: aliases, locations and devices of lockers.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, clock};
use crate::serve::capability::{Capability::EmptyTexts, has};
use crate::serve::{Client, Reply};
use crate::verdict::one_acted;

fn patch(client: &mut Client, locker: &str, body: &Value) -> Reply {
    client.send("PATCH", &format!("/lockers/{locker}"), &[], Some(&body.to_string()))
}

#[test]
fn a_change_sets_what_is_sent_and_null_removes_it() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut locker = json!({
        "lockerId": "L1", "ownerId": "alice", "status": "AVAILABLE", "createdAt": clock("09:00"),
        "updatedAt": clock("10:00"), "version": 1,
    });
    for (version, sent, alias, location) in [
        (1, json!({"lockerAlias": "Gate", "locationId": "HALL-1"}), Some("Gate"), Some("HALL-1")),
        (2, json!({"lockerAlias": "Door"}), Some("Door"), Some("HALL-1")),
        (3, json!({"lockerAlias": null}), None, Some("HALL-1")),
        (4, json!({}), None, Some("HALL-1")),
        (5, json!({"lockerAlias": "Gate", "locationId": null}), Some("Gate"), None),
        (6, json!({"lockerAlias": null, "locationId": null}), None, None),
    ] {
        let mut body = sent;
        body["expectedVersion"] = json!(version);
        let members = locker.as_object_mut().unwrap();
        members.insert("version".to_owned(), json!(version + 1));
        for (name, value) in [("lockerAlias", alias), ("locationId", location)] {
            match value {
                Some(value) => members.insert(name.to_owned(), json!(value)),
                None => members.remove(name),
            };
        }
        let changed = patch(&mut alice, "L1", &body).is(200).has("latchkey-contract", "QC-16");
        changed.has("etag", &format!("\"{}\"", version + 1)).shows_just(&locker);
        alice.get("/lockers/L1?consistent=true").shows_just(&locker);
        let page = json!({"items": [locker], "nextCursor": null});
        alice.get("/owners/alice/lockers").shows_just(&page);
    }
}

#[test]
fn a_change_of_another_version_is_refused() {
    let scene = Scene::start();
    let before = scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for version in [2, 7, i64::MAX] {
        let body = json!({"lockerAlias": "Gate", "expectedVersion": version});
        let refused = patch(&mut alice, "L1", &body).refuses(409, "version-conflict");
        refused.shows(&json!({"currentVersion": 1})).cost("rcu=1, wcu=0");
    }
    let body = Some(r#"{"lockerAlias":"Gate"}"#);
    let path = "/lockers/L1";
    let stale = alice.send("PATCH", path, &[("if-match", "\"2\"")], body);
    stale.refuses(412, "version-conflict");
    alice.get(path).shows_just(&before);
    alice.send("PATCH", path, &[("if-match", "\"1\"")], body).is(200).has("etag", "\"2\"");
    let replies = at_once(8, |n| {
        let body = json!({"lockerAlias": format!("Gate {n}"), "expectedVersion": 2});
        patch(&mut scene.person("alice"), "L1", &body)
    });
    one_acted(&replies, 200, (409, "version-conflict"));
}

#[test]
fn what_a_locker_is_changed_with_is_looked_at() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (body, pointers) in [
        (json!({}), vec!["/expectedVersion"]),
        (json!({"expectedVersion": null}), vec!["/expectedVersion"]),
        (json!({"expectedVersion": 1, "lockerAlias": "y".repeat(81)}), vec!["/lockerAlias"]),
        (json!({"expectedVersion": 1, "locationId": "a b"}), vec!["/locationId"]),
        (json!({"expectedVersion": 1, "status": "OCCUPIED"}), vec!["/status"]),
        (json!({"expectedVersion": 1, "ownerId": "bob"}), vec!["/ownerId"]),
        (json!({"expectedVersion": 1, "deviceId": "door-7"}), vec!["/deviceId"]),
    ] {
        patch(&mut alice, "L1", &body).blames(&pointers).cost("rcu=0, wcu=0");
    }
    patch(&mut alice, "L9", &json!({"expectedVersion": 1})).refuses(404, "not-found");
}

#[test]
fn a_device_is_bound_changed_and_freed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let path = "/lockers/L1/device";
    for (body, device, version) in [
        (json!({}), None, 1),
        (json!({"deviceId": "door-7"}), Some("door-7"), 2),
        (json!({"deviceId": "door-7"}), Some("door-7"), 2),
        (json!({"deviceId": "door-8"}), Some("door-8"), 3),
        (json!({"deviceId": null}), None, 4),
        (json!({"deviceId": null}), None, 4),
        (json!({"deviceId": "door-7"}), Some("door-7"), 5),
        (json!({}), None, 6),
    ] {
        let bound = alice.put(path, &body).is(200).has("latchkey-contract", "QC-18");
        let bound = bound.has("etag", &format!("\"{version}\""));
        let locker = bound.json();
        let told = (locker.get("deviceId").and_then(Value::as_str), &locker["version"]);
        assert_eq!(told, (device, &json!(version)), "{bound}");
        alice.get("/lockers/L1?consistent=true").shows_just(&locker);
        let page = json!({"items": [locker], "nextCursor": null});
        alice.get("/owners/alice/lockers").shows_just(&page);
    }
    for bad in [json!("a b"), json!(""), json!(7), json!(["door-7"])] {
        alice.put(path, &json!({"deviceId": bad})).blames(&["/deviceId"]);
    }
    alice.put("/lockers/L9/device", &json!({})).refuses(404, "not-found");
}

#[test]
fn a_device_goes_with_its_locker() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.device("L1", "door-7");
    let (mut alice, mut bob) = (scene.person("alice"), scene.person("bob"));
    alice.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    bob.get("/owners/bob/lockers").is(200).lists("deviceId", &["door-7"], false);
    let event = json!({"action": "OPEN", "actorId": "bob", "result": "SUCCESS"});
    let mut device = scene.someone("door-7", &["device"], &[]);
    device.post("/lockers/L1/events", &event).is(201);
    alice.put("/lockers/L1/device", &json!({})).refuses(403, "forbidden");
    bob.put("/lockers/L1/device", &json!({})).is(200);
    device.post("/lockers/L1/events", &event).refuses(403, "forbidden");
}

/// A locker with an alias, or without.
fn named(scene: &Scene, locker: &str, alias: Option<&str>) {
    let mut body = json!({"lockerId": locker, "ownerId": "alice"});
    if let Some(alias) = alias {
        body["lockerAlias"] = json!(alias);
    }
    scene.operator().at(&clock("09:00")).post("/lockers", &body).is(201);
}

#[test]
fn lockers_are_listed_by_alias_and_those_without_one_come_last() {
    let scene = Scene::start();
    let longest = "\u{10FFFF}".repeat(20);
    for (locker, alias) in [
        ("1", None),
        ("2", Some("Gate 2")),
        ("3", Some(longest.as_str())),
        ("4", Some("Gate")),
        ("5", None),
        ("6", Some("Zoo")),
        ("7", Some("Gate#1")),
        ("8", Some("Äther")),
        ("9", Some("B")),
        ("B", None),
    ] {
        named(&scene, locker, alias);
    }
    if has(EmptyTexts) {
        named(&scene, "A", Some(""));
    } else {
        let body = json!({"lockerId": "A", "ownerId": "alice", "lockerAlias": ""});
        let refused = scene.operator().post("/lockers", &body).refuses(400, "invalid-input");
        assert!(refused.json()["detail"].to_string().contains("empty string"), "{refused}");
        named(&scene, "A", Some(" "));
    }
    scene.locker("other", "bob");
    let sorted = ["A", "9", "4", "2", "7", "6", "8", "3", "1", "5", "B"];
    let mut alice = scene.person("alice");
    let path = "/owners/alice/lockers";
    alice.get(&format!("{path}?sort=alias")).is(200).lists("lockerId", &sorted, false);
    for size in [1, 2, 4, 10] {
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        for page in sorted.chunks(size) {
            let page_of = format!("{path}?sort=alias&pageSize={size}{cursor}");
            let reply = alice.get(&page_of).is(200).has("latchkey-contract", "QC-02");
            walked.extend(reply.listed("lockerId"));
            let more = walked.len() < sorted.len();
            let reply = reply.lists("lockerId", page, more);
            cursor = format!("&nextCursor={}", reply.next().unwrap_or_default());
        }
        assert_eq!(walked, sorted, "in pages of {size}");
    }
    // A cursor of one order is none of the other.
    let next = alice.get(&format!("{path}?sort=alias&pageSize=2")).next().unwrap();
    alice.get(&format!("{path}?pageSize=2&nextCursor={next}")).refuses(400, "invalid-cursor");
    // All that a locker has, and no more.
    for item in alice.get(&format!("{path}?sort=alias")).items() {
        let id = item["lockerId"].as_str().unwrap_or_default();
        alice.get(&format!("/lockers/{id}")).is(200).shows_just(&item);
    }
    let by_id = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B"];
    alice.get(&format!("{path}?sort=lockerId")).lists("lockerId", &by_id, false);
    alice.get(&format!("{path}?sort=status")).blames(&["/sort"]);
}

#[test]
fn a_list_by_alias_follows_changes() {
    let scene = Scene::start();
    for (locker, alias) in [("1", Some("B")), ("2", Some("D")), ("3", None)] {
        named(&scene, locker, alias);
    }
    let mut alice = scene.person("alice");
    let path = "/owners/alice/lockers?sort=alias";
    alice.get(path).lists("lockerId", &["1", "2", "3"], false);
    let change = |locker: &str, alias: Value, version: u32| {
        let body = json!({"lockerAlias": alias, "expectedVersion": version});
        patch(&mut scene.person("alice"), locker, &body).is(200);
    };
    change("3", json!("C"), 1);
    alice.get(path).lists("lockerId", &["1", "3", "2"], false);
    change("1", json!(null), 1);
    alice.get(path).lists("lockerId", &["3", "2", "1"], false);
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    alice.put("/lockers/2/status", &body).is(200);
    alice.get(path).lists("lockerId", &["3", "2", "1"], false);
    alice.post("/lockers/2/transfer", &json!({"newOwnerId": "bob"})).is(200);
    alice.get(path).lists("lockerId", &["3", "1"], false);
    scene.person("bob").get("/owners/bob/lockers?sort=alias").lists("lockerId", &["2"], false);
    alice.send("DELETE", "/lockers/3", &[], None).is(204);
    alice.get(path).lists("lockerId", &["1"], false);
}
