//! QC-06: a locker changes hands.

use std::path::Path;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_table::{Delete, Key, Returning};
use serde_json::json;

use crate::scene::{Scene, clock};
use crate::serve::backend;
use crate::serve::capability::{Capability::TransactionCapacity, or};
use crate::stored::lockers;

#[test]
fn a_transfer_moves_the_locker_from_one_owners_list_to_the_others() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let mut operator = scene.operator();
    let moved = scene.person("alice").post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"}));
    let locker = json!({
        "lockerId": "L1", "ownerId": "bob", "status": "AVAILABLE", "createdAt": clock("09:00"),
        "updatedAt": clock("10:00"), "version": 2,
    });
    let moved = moved.is(200).has("latchkey-contract", "QC-06").has("etag", "\"2\"");
    moved.shows_just(&locker).cost(or(TransactionCapacity, "rcu=1, wcu=8", "rcu=1, wcu=12"));
    operator.get("/lockers/L1?consistent=true").shows_just(&locker);
    let page = json!({"items": [locker], "nextCursor": null});
    operator.get("/owners/bob/lockers").shows_just(&page);
    operator.get("/owners/alice/lockers").lists("lockerId", &["L2"], false);
}

#[test]
fn the_old_owner_has_no_rights_left_and_the_new_one_has_them_all() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let (mut alice, mut bob) = (scene.person("alice"), scene.person("bob"));
    bob.get("/lockers/L1").refuses(403, "forbidden");
    alice.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    let status = json!({"newStatus": "OCCUPIED", "expectedVersion": 2});
    alice.get("/lockers/L1").refuses(403, "forbidden");
    alice.put("/lockers/L1/status", &status).refuses(403, "forbidden");
    let back = json!({"newOwnerId": "alice"});
    alice.post("/lockers/L1/transfer", &back).refuses(403, "forbidden");
    bob.get("/lockers/L1").is(200);
    bob.put("/lockers/L1/status", &status).is(200);
    bob.post("/lockers/L1/transfer", &back).is(200).shows(&json!({"version": 4}));
    alice.get("/owners/alice/lockers").lists("lockerId", &["L1"], false);
    bob.get("/owners/bob/lockers").lists("lockerId", &[], false);
}

#[test]
fn a_transfer_to_the_same_owner_writes_nothing() {
    let scene = Scene::start();
    let before = scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for body in
        [json!({"newOwnerId": "alice"}), json!({"newOwnerId": "alice", "expectedVersion": 1})]
    {
        let reply = alice.post("/lockers/L1/transfer", &body).is(200).cost("rcu=1, wcu=0");
        reply.has("etag", "\"1\"").shows_just(&before);
    }
    alice.get("/lockers/L1?consistent=true").shows_just(&before);
    let page = json!({"items": [before], "nextCursor": null});
    alice.get("/owners/alice/lockers").shows_just(&page);
}

#[test]
fn a_transfer_may_insist_on_a_version() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut transfer = |version: i64| {
        let body = json!({"newOwnerId": "acme", "expectedVersion": version});
        alice.post("/lockers/L1/transfer", &body)
    };
    for stale in [2, 7] {
        let refused = transfer(stale).refuses(409, "version-conflict");
        refused.shows(&json!({"currentVersion": 1}));
    }
    transfer(0).blames(&["/expectedVersion"]);
    transfer(1).is(200).shows(&json!({"ownerId": "acme", "version": 2}));
}

#[test]
fn an_if_match_stands_for_the_version_of_a_transfer() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = json!({"newOwnerId": "bob"}).to_string();
    let path = "/lockers/L1/transfer";
    let refused = alice.send("POST", path, &[("if-match", "\"2\"")], Some(&body));
    assert_eq!(refused.status, 412, "{refused}");
    refused.tells_a_problem().shows(&json!({"currentVersion": 1}));
    alice.get("/lockers/L1").is(200).shows(&json!({"ownerId": "alice", "version": 1}));
    let moved = alice.send("POST", path, &[("if-match", "\"1\"")], Some(&body));
    moved.is(200).shows(&json!({"ownerId": "bob", "version": 2}));
}

#[test]
fn what_a_locker_is_transferred_with_is_looked_at() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (body, pointers) in [
        (json!({}), vec!["/newOwnerId"]),
        (json!({"newOwnerId": "a#b"}), vec!["/newOwnerId"]),
        (json!({"newOwnerId": ""}), vec!["/newOwnerId"]),
        (json!({"newOwnerId": "b", "expectedVersion": "1"}), vec!["/expectedVersion"]),
        (json!({"newOwnerId": 1, "expectedVersion": 0}), vec!["/newOwnerId", "/expectedVersion"]),
    ] {
        alice.post("/lockers/L1/transfer", &body).blames(&pointers);
    }
    let nowhere = alice.post("/lockers/L9/transfer", &json!({"newOwnerId": "bob"}));
    nowhere.refuses(404, "not-found");
}

#[test]
fn reservations_stay_with_those_who_made_them() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    for (id, window) in [("R1", "11:00-12:00"), ("R2", "12:00-13:00"), ("R3", "09:30-10:30")] {
        scene.reservation("L1", id, "rita", window);
    }
    let range =
        format!("/lockers/L1/reservations?startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    let (mut alice, mut bob) = (scene.person("alice"), scene.person("bob"));
    let before = alice.get(&range).lists("ownerId", &["rita"; 3], false).json();
    alice.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    bob.get(&range).shows_just(&before);
    let active = bob.get("/lockers/L1/reservations/active").is(200);
    active.shows(&json!({"reservationId": "R3", "ownerId": "rita"}));
    // Who may cancel follows: the reserver still, the new owner, the old one no more.
    let cancel = |id: &str| format!("/lockers/L1/reservations/{id}/cancel");
    alice.post(&cancel("R1"), &json!({})).refuses(403, "forbidden");
    scene.person("rita").post(&cancel("R1"), &json!({})).is(200);
    bob.post(&cancel("R2"), &json!({})).is(200).shows(&json!({"ownerId": "rita"}));
}

/// Takes a locker out of its owner's list, behind the server's back.
fn lose_view(data: &Path, owner: &str, locker: &str) {
    let (partition, sort) = (format!("OWNER#{owner}"), format!("LOCKER#{locker}"));
    if let Some(service) = backend::service() {
        let request = json!({
            "TableName": backend::table(data, "smartlocker"), "ReturnValues": "ALL_OLD",
            "Key": {"PK": {"S": partition}, "SK": {"S": sort}},
        });
        let lost = service.ask("DeleteItem", &request);
        assert!(lost.get("Attributes").is_some(), "there is a view to lose");
        return;
    }
    let store = Store::open(data, &Options::default()).unwrap();
    let table = Arc::new(lockers());
    let delete = Delete { table, key: Key::new(partition, sort), condition: None };
    let lost = store.delete(delete, Returning::Old).wait().unwrap();
    assert!(lost.item.is_some(), "there is a view to lose");
}

#[test]
fn a_view_that_is_missing_is_no_failure() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let scene = scene.restart(|data| {
        lose_view(data, "alice", "L1");
        lose_view(data, "alice", "L2");
    });
    let mut operator = scene.operator();
    operator.get("/owners/alice/lockers").lists("lockerId", &[], false);
    operator.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    operator.get("/owners/bob/lockers").lists("lockerId", &["L1"], false);
    operator.get("/owners/alice/lockers").lists("lockerId", &[], false);
    // A change of status brings it back.
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    let locker = operator.put("/lockers/L2/status", &body).is(200).json();
    let page = json!({"items": [locker], "nextCursor": null});
    operator.get("/owners/alice/lockers").shows_just(&page);
}
