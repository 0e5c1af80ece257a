//! QC-01, QC-02, QC-03 and QC-11: lockers, and their owners' lists.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, clock};
use crate::serve::capability::Capability::{EmptyQueryCapacity, TransactionCapacity};
use crate::serve::capability::or;
use crate::verdict::one_acted;

#[test]
fn a_registered_locker_is_answered_with_all_its_fields_and_where_it_is() {
    let scene = Scene::start();
    let body = json!({
        "lockerId": "L1", "ownerId": "alice", "lockerAlias": "Front Gate", "locationId": "HALL-1",
    });
    let mut alice = scene.person("alice");
    let made = alice.post("/lockers", &body).is(201);
    let made = made.has("latchkey-contract", "QC-11").has("location", "/lockers/L1");
    let locker = json!({
        "lockerId": "L1", "ownerId": "alice", "lockerAlias": "Front Gate", "status": "AVAILABLE",
        "locationId": "HALL-1", "createdAt": clock("10:00"), "updatedAt": clock("10:00"),
        "version": 1,
    });
    made.has("etag", "\"1\"").shows_just(&locker).cost(or(
        TransactionCapacity,
        "rcu=0, wcu=9",
        "rcu=0, wcu=12",
    ));
    alice.get("/lockers/L1").is(200).has("etag", "\"1\"").shows_just(&locker);
    let page = json!({"items": [locker], "nextCursor": null});
    alice.get("/owners/alice/lockers").is(200).shows_just(&page);
    // Its calendar was made with it: it can be reserved.
    scene.reservation("L1", "R1", "rita", "11:00-12:00");
}

#[test]
fn what_a_locker_does_not_have_is_left_out() {
    let scene = Scene::start();
    let plain = json!({
        "lockerId": "L1", "ownerId": "alice", "status": "AVAILABLE", "createdAt": clock("09:00"),
        "updatedAt": clock("09:00"), "version": 1,
    });
    assert_eq!(scene.locker("L1", "alice"), plain, "what registering answers");
    let mut alice = scene.person("alice");
    alice.get("/lockers/L1").shows_just(&plain);
    let page = json!({"items": [plain], "nextCursor": null});
    alice.get("/owners/alice/lockers").shows_just(&page);
}

#[test]
fn a_locker_without_an_id_is_given_a_ulid() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let mut ids = Vec::new();
    for _ in 0..3 {
        let made = alice.post("/lockers", &json!({"ownerId": "alice"})).is(201);
        let id = made.json()["lockerId"].as_str().unwrap_or_default().to_owned();
        let digit = |c: char| c.is_ascii_digit() || (c.is_ascii_uppercase() && !"ILOU".contains(c));
        assert!(id.len() == 26 && id.chars().all(digit), "`{id}` is no ULID; {made}");
        let made = made.has("location", &format!("/lockers/{id}"));
        let found = made.header("location").to_owned();
        alice.get(&found).is(200).shows_just(&made.json());
        ids.push(id);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3, "each locker has an id of its own: {ids:?}");
}

#[test]
fn a_location_leads_to_the_locker_whatever_its_id() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let longest = "x".repeat(128);
    for id in ["a|b", "a:b@c.d_e-f", "-", "0", &longest] {
        let made = alice.post("/lockers", &json!({"lockerId": id, "ownerId": "alice"})).is(201);
        let found = made.header("location").to_owned();
        alice.get(&found).is(200).shows(&json!({"lockerId": id}));
    }
}

#[test]
fn a_locker_is_registered_once() {
    let scene = Scene::start();
    let first = scene.locker("L1", "alice");
    for (who, owner) in [("alice", "alice"), ("bob", "bob"), ("olga", "carol")] {
        let mut caller = scene.someone(who, if who == "olga" { &["operator"] } else { &[] }, &[]);
        let body = json!({"lockerId": "L1", "ownerId": owner, "lockerAlias": "Mine"});
        caller.post("/lockers", &body).refuses(409, "locker-exists");
    }
    let mut operator = scene.operator();
    operator.get("/lockers/L1").shows_just(&first);
    operator.get("/owners/bob/lockers").lists("lockerId", &[], false);
    operator.get("/owners/carol/lockers").lists("lockerId", &[], false);
}

#[test]
fn of_many_who_register_one_locker_at_once_one_does() {
    let scene = Scene::start();
    let replies = at_once(8, |n| {
        let body = json!({"lockerId": "L1", "ownerId": format!("p{n}")});
        scene.person(&format!("p{n}")).post("/lockers", &body)
    });
    one_acted(&replies, 201, (409, "locker-exists"));
    let mut operator = scene.operator();
    for (n, reply) in replies.iter().enumerate() {
        let expected = usize::from(reply.status == 201);
        operator.get(&format!("/owners/p{n}/lockers")).counts(expected);
    }
}

#[test]
fn what_a_locker_is_registered_with_is_looked_at() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let (fits, too_long) = ("y".repeat(80), "y".repeat(81));
    let cases = [
        (json!({}), vec!["/ownerId"]),
        (json!({"ownerId": "a#b"}), vec!["/ownerId"]),
        (json!({"ownerId": null}), vec!["/ownerId"]),
        (json!({"ownerId": 7}), vec!["/ownerId"]),
        (json!({"ownerId": "alice", "lockerId": ""}), vec!["/lockerId"]),
        (json!({"ownerId": "alice", "locationId": "x y"}), vec!["/locationId"]),
        (json!({"ownerId": "alice", "lockerAlias": too_long}), vec!["/lockerAlias"]),
        (json!({"ownerId": "alice", "lockerAlias": ["x"]}), vec!["/lockerAlias"]),
        (json!({"ownerId": "alice", "status": "OCCUPIED"}), vec!["/status"]),
        (json!({"ownerId": "alice", "version": 9}), vec!["/version"]),
        (json!({"ownerId": "alice", "createdAt": clock("10:00")}), vec!["/createdAt"]),
    ];
    for (body, pointers) in cases {
        alice.post("/lockers", &body).blames(&pointers).cost("rcu=0, wcu=0");
    }
    let body = json!({"ownerId": "alice", "lockerAlias": fits});
    alice.post("/lockers", &body).is(201).shows(&json!({"lockerAlias": fits}));
    alice.get("/owners/alice/lockers").lists("lockerAlias", &[&fits], false);
}

#[test]
fn an_eventual_read_costs_half_a_unit_and_a_strong_one_a_whole() {
    let scene = Scene::start();
    let locker = scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (query, cost) in [
        ("", "rcu=0.5, wcu=0"),
        ("?consistent=false", "rcu=0.5, wcu=0"),
        ("?consistent=true", "rcu=1, wcu=0"),
    ] {
        let reply = alice.get(&format!("/lockers/L1{query}")).is(200).cost(cost);
        reply.has("latchkey-contract", "QC-01").shows_just(&locker);
    }
    for value in ["yes", "1", "", "TRUE", "tru%65%65"] {
        alice.get(&format!("/lockers/L1?consistent={value}")).blames(&["/consistent"]);
    }
}

#[test]
fn a_locker_that_is_not_there_is_not_found() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    for path in ["/lockers/L9", "/lockers/L9?consistent=true"] {
        operator.get(path).refuses(404, "not-found").has("latchkey-contract", "QC-01");
    }
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    operator.put("/lockers/L9/status", &body).refuses(404, "not-found");
}

#[test]
fn an_owners_lockers_are_listed_by_id_with_all_their_fields() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let ids = ["b", "L_1", "9", "a", "L-1", "B", "10", "L.1", "L", "a1", "A", "L|1", "L:1", "L@1"];
    for id in ids {
        let body = json!({"lockerId": id, "ownerId": "alice", "lockerAlias": id, "locationId": id});
        operator.post("/lockers", &body).is(201);
    }
    scene.locker("other", "bob");
    // The status of one, so that not all are alike.
    let body = json!({"newStatus": "MAINTENANCE", "expectedVersion": 1});
    operator.put("/lockers/B/status", &body).is(200);
    let mut sorted = ids;
    sorted.sort_unstable();
    let page = scene.person("alice").get("/owners/alice/lockers").is(200);
    let page = page.has("latchkey-contract", "QC-02").lists("lockerId", &sorted, false);
    for item in page.json()["items"].as_array().unwrap() {
        let path = format!("/lockers/{}", item["lockerId"].as_str().unwrap_or_default());
        operator.get(&path).is(200).shows_just(item);
    }
    operator.get("/owners/bob/lockers").lists("lockerId", &["other"], false);
    let none = operator.get("/owners/nobody/lockers").lists("lockerId", &[], false);
    none.cost(or(EmptyQueryCapacity, "rcu=0.5, wcu=0", "rcu=0, wcu=0"));
}

/// Every pair of statuses: whether the one may follow the other.
const MOVES: [(&str, &str, bool); 9] = [
    ("AVAILABLE", "AVAILABLE", false),
    ("AVAILABLE", "OCCUPIED", true),
    ("AVAILABLE", "MAINTENANCE", true),
    ("OCCUPIED", "AVAILABLE", true),
    ("OCCUPIED", "OCCUPIED", false),
    ("OCCUPIED", "MAINTENANCE", true),
    ("MAINTENANCE", "AVAILABLE", true),
    ("MAINTENANCE", "OCCUPIED", false),
    ("MAINTENANCE", "MAINTENANCE", false),
];

#[test]
fn a_status_moves_as_declared_and_no_other_way() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    for (from, to, legal) in MOVES {
        let id = format!("{from}-{to}");
        let path = format!("/lockers/{id}/status");
        let mut before = scene.locker(&id, "alice");
        if from != "AVAILABLE" {
            let body = json!({"newStatus": from, "expectedVersion": 1});
            before = alice.put(&path, &body).is(200).json();
        }
        let version = before["version"].as_u64().unwrap();
        let body = json!({"newStatus": to, "expectedVersion": version});
        let moved = alice.put(&path, &body);
        let now = alice.get(&format!("/lockers/{id}?consistent=true")).is(200);
        if legal {
            moved.is(200).shows(&json!({"status": to, "version": version + 1}));
            now.shows(&json!({"status": to, "version": version + 1}));
        } else {
            let moved = moved.refuses(409, "illegal-transition").has("latchkey-contract", "QC-03");
            assert!(moved.header("latchkey-capacity").ends_with("wcu=0"), "{moved}");
            now.shows_just(&before);
        }
    }
}

#[test]
fn a_change_of_status_moves_the_version_and_the_owners_list_with_it() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut version = 1;
    let moves = ["OCCUPIED", "MAINTENANCE", "AVAILABLE", "MAINTENANCE", "AVAILABLE", "OCCUPIED"];
    for (hour, status) in moves.into_iter().enumerate() {
        let now = clock(&format!("1{hour}:00"));
        alice.now = Some(now.clone());
        let body = json!({"newStatus": status, "expectedVersion": version});
        version += 1;
        let cost = or(TransactionCapacity, "rcu=1, wcu=5", "rcu=1, wcu=12");
        let moved = alice.put("/lockers/L1/status", &body).is(200).cost(cost);
        let locker = json!({
            "lockerId": "L1", "ownerId": "alice", "status": status, "createdAt": clock("09:00"),
            "updatedAt": now, "version": version,
        });
        moved.has("etag", &format!("\"{version}\"")).shows_just(&locker);
        alice.get("/lockers/L1?consistent=true").shows_just(&locker);
        let page = json!({"items": [locker], "nextCursor": null});
        alice.get("/owners/alice/lockers").shows_just(&page);
    }
}

#[test]
fn a_change_of_another_version_is_refused_and_told_the_current_one() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (status, version) in [("OCCUPIED", 1), ("AVAILABLE", 2)] {
        let body = json!({"newStatus": status, "expectedVersion": version});
        alice.put("/lockers/L1/status", &body).is(200);
    }
    let before = alice.get("/lockers/L1").json();
    for stale in [1, 2, 4, 1000, 9_007_199_254_740_993_i64, i64::MAX] {
        let body = json!({"newStatus": "OCCUPIED", "expectedVersion": stale});
        let refused = alice.put("/lockers/L1/status", &body).refuses(409, "version-conflict");
        refused.shows(&json!({"currentVersion": 3})).cost("rcu=1, wcu=0");
    }
    alice.get("/lockers/L1").shows_just(&before);
    let page = json!({"items": [before], "nextCursor": null});
    alice.get("/owners/alice/lockers").shows_just(&page);
}

#[test]
fn what_a_status_is_changed_with_is_looked_at() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let with = |version: Value| json!({"newStatus": "OCCUPIED", "expectedVersion": version});
    let mut bad = |body: Value, pointers: &[&str]| {
        alice.put("/lockers/L1/status", &body).blames(pointers);
    };
    bad(json!({}), &["/newStatus", "/expectedVersion"]);
    bad(json!({"newStatus": "OCCUPIED"}), &["/expectedVersion"]);
    bad(json!({"expectedVersion": 1}), &["/newStatus"]);
    for status in [json!("BROKEN"), json!("occupied"), json!(""), json!(null), json!(["OCCUPIED"])]
    {
        bad(json!({"newStatus": status, "expectedVersion": 1}), &["/newStatus"]);
    }
    for version in [json!(0), json!(-1), json!("1"), json!(1.5), json!(null), json!(true)] {
        bad(with(version), &["/expectedVersion"]);
    }
    alice.get("/lockers/L1").shows(&json!({"status": "AVAILABLE", "version": 1}));
}

#[test]
fn of_many_who_change_one_version_at_once_one_does() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let replies = at_once(8, |_| {
        let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
        scene.person("alice").put("/lockers/L1/status", &body)
    });
    one_acted(&replies, 200, (409, "version-conflict"));
    for reply in replies {
        let name = if reply.status == 200 { "version" } else { "currentVersion" };
        reply.shows(&json!({name: 2}));
    }
}
