//! `Idempotency-Key`: a call that is made again is answered as the first time.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, booking, clock};
use crate::serve::{Client, Reply};

/// Posts with a key.
fn post(client: &mut Client, path: &str, key: &str, body: &Value) -> Reply {
    client.send("POST", path, &[("idempotency-key", key)], Some(&body.to_string()))
}

/// What must be the same of two answers to one call.
fn essence(reply: &Reply) -> (u16, String, String, String) {
    let header = |name: &str| reply.header(name).to_owned();
    (reply.status, reply.text.clone(), header("location"), header("etag"))
}

#[track_caller]
fn same(first: &Reply, again: &Reply) {
    assert_eq!(essence(first), essence(again), "a replay; {first}{again}");
    assert_eq!(first.header("latchkey-contract"), again.header("latchkey-contract"), "{again}");
}

#[test]
fn the_same_key_and_body_replay_the_first_answer() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"ownerId": "alice", "lockerAlias": "Gate"});
    let first = post(&mut alice, "/lockers", "k1", &body).is(201);
    let id = first.json()["lockerId"].as_str().unwrap_or_default().to_owned();
    // Time passes, and the locker changes.
    let status = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    alice.put(&format!("/lockers/{id}/status"), &status).is(200);
    alice.now = Some(clock("22:00"));
    for key in ["k1", "\"k1\"", " k1 ", "\"k1\" "] {
        let again = post(&mut alice, "/lockers", key, &body).is(201);
        same(&first, &again);
        assert!(again.header("latchkey-capacity").ends_with("wcu=0"), "{again}");
    }
    alice.get("/owners/alice/lockers").lists("lockerId", &[&id], false);
    // Without a key, or with another, it is another call.
    let unnamed = alice.post("/lockers", &body).is(201);
    let others = ["k2", "K1"].map(|key| post(&mut alice, "/lockers", key, &body).is(201));
    for other in others.iter().chain([&unnamed]) {
        assert_ne!(other.text, first.text, "another call; {other}");
    }
    alice.get("/owners/alice/lockers").counts(4);
}

#[test]
fn every_post_replays() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "alice", "11:00-12:00");
    let mut alice = scene.person("alice");
    let event = json!({"action": "OPEN", "actorId": "a", "result": "FAIL"});
    let named = json!({"eventId": "E1", "action": "OPEN", "actorId": "a", "result": "FAIL"});
    let window = json!({"ownerId": "alice", "startAt": clock("13:00"), "endAt": clock("14:00")});
    for (at, (path, body, status)) in [
        ("/lockers", json!({"lockerId": "L2", "ownerId": "alice"}), 201),
        ("/lockers/L1/reservations", window, 201),
        ("/lockers/L1/reservations", booking("R2", "alice", "14:00-15:00"), 201),
        ("/lockers/L1/events", event, 201),
        ("/lockers/L1/events", named, 201),
        ("/lockers/L1/reservations/R1/cancel", json!({}), 200),
        ("/lockers/L1/transfer", json!({"newOwnerId": "alice"}), 200),
        // Afterwards she may do nothing more; but this was done.
        ("/lockers/L1/transfer", json!({"newOwnerId": "bob"}), 200),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k{at}");
        let first = post(&mut alice, path, &key, &body).is(status);
        for _ in 0..2 {
            same(&first, &post(&mut alice, path, &key, &body));
        }
    }
    let range = format!("startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    let mut bob = scene.person("bob");
    bob.get("/lockers/L1").shows(&json!({"version": 2}));
    bob.get(&format!("/lockers/L1/events?{range}")).counts(2);
    bob.get(&format!("/lockers/L1/reservations?{range}")).counts(3);
}

#[test]
fn another_body_under_the_same_key_is_refused() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"lockerId": "L1", "ownerId": "alice"});
    let first = post(&mut alice, "/lockers", "k", &body).is(201);
    for other in [
        json!({"lockerId": "L2", "ownerId": "alice"}),
        json!({"lockerId": "L1", "ownerId": "alice", "lockerAlias": "x"}),
        json!({"ownerId": "alice"}),
    ] {
        let refused = post(&mut alice, "/lockers", "k", &other);
        refused.refuses(422, "idempotency-key-reused").has("latchkey-contract", "QC-11");
    }
    // What is no good body is told so.
    post(&mut alice, "/lockers", "k", &json!({})).blames(&["/ownerId"]);
    same(&first, &post(&mut alice, "/lockers", "k", &body));
    alice.get("/owners/alice/lockers").lists("lockerId", &["L1"], false);
}

#[test]
fn a_key_is_of_one_caller_one_contract_and_one_path() {
    let scene = Scene::start();
    for locker in ["L1", "L2"] {
        scene.locker(locker, "alice");
    }
    let (mut alice, mut operator) = (scene.person("alice"), scene.operator());
    let event = json!({"action": "OPEN", "actorId": "a", "result": "FAIL"});
    let mut ids = Vec::new();
    for client in [&mut alice, &mut operator] {
        for path in ["/lockers/L1/events", "/lockers/L2/events"] {
            let first = post(client, path, "k", &event).is(201);
            same(&first, &post(client, path, "k", &event));
            ids.push(first.json()["eventId"].to_string());
        }
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each acted: {ids:?}");
    let window = booking("R1", "alice", "11:00-12:00");
    post(&mut alice, "/lockers/L1/reservations", "k", &window).is(201);
    post(&mut alice, "/lockers", "k", &json!({"ownerId": "alice"})).is(201);
    // The same caller by another token is the same caller.
    let mut again = scene.someone("alice", &["device"], &["acme"]);
    let replay = post(&mut again, "/lockers/L1/reservations", "k", &window).is(201);
    replay.shows(&json!({"reservationId": "R1"}));
}

#[test]
fn refusals_are_not_recorded() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "zoe", "11:00-12:00");
    let mut rita = scene.person("rita");
    let path = "/lockers/L1/reservations";
    let body = booking("R2", "rita", "11:30-12:30");
    for _ in 0..2 {
        post(&mut rita, path, "k", &body).refuses(409, "reservation-overlap");
    }
    // Another body is no reuse, since nothing was recorded.
    let other = booking("R1", "rita", "14:00-15:00");
    post(&mut rita, path, "k", &other).refuses(409, "duplicate-reservation");
    scene.operator().post(&format!("{path}/R1/cancel"), &json!({})).is(200);
    let made = post(&mut rita, path, "k", &body).is(201);
    same(&made, &post(&mut rita, path, "k", &body));
    // 403 and 404 and 400 leave no trace either.
    let event = json!({"action": "OPEN", "actorId": "a", "result": "FAIL"});
    post(&mut rita, "/lockers/L1/events", "k", &event).refuses(403, "forbidden");
    let transfer = json!({"newOwnerId": "rita"});
    scene.operator().post("/lockers/L1/transfer", &transfer).is(200);
    post(&mut rita, "/lockers/L1/events", "k", &event).is(201);
    let cancel = "/lockers/L2/reservations/R9/cancel";
    post(&mut rita, cancel, "k", &json!({})).refuses(404, "not-found");
    scene.locker("L2", "rita");
    scene.reservation("L2", "R9", "rita", "11:00-12:00");
    post(&mut rita, cancel, "k", &json!({})).is(200);
    post(&mut rita, "/lockers", "k", &json!({"ownerId": "#"})).blames(&["/ownerId"]);
    post(&mut rita, "/lockers", "k", &json!({"ownerId": "rita"})).is(201);
}

#[test]
fn a_record_is_kept_for_24_hours() {
    let scene = Scene::start();
    let mut alice = scene.person("alice").at("2026-02-25T10:00:00Z");
    let body = json!({"ownerId": "alice"});
    let first = post(&mut alice, "/lockers", "k", &body).is(201);
    for now in ["2026-02-25T10:00:01Z", "2026-02-26T09:00:00Z", "2026-02-26T09:59:58Z"] {
        alice.now = Some(now.to_owned());
        same(&first, &post(&mut alice, "/lockers", "k", &body));
    }
    alice.now = Some("2026-02-26T10:00:01Z".to_owned());
    let second = post(&mut alice, "/lockers", "k", &body).is(201);
    assert_ne!(first.text, second.text, "it acts anew; {second}");
    same(&second, &post(&mut alice, "/lockers", "k", &body));
    // And another body is no reuse of what is over.
    alice.now = Some("2026-02-27T10:00:02Z".to_owned());
    let other = json!({"ownerId": "alice", "lockerAlias": "x"});
    post(&mut alice, "/lockers", "k", &other).is(201);
    post(&mut alice, "/lockers", "k", &body).refuses(422, "idempotency-key-reused");
    alice.get("/owners/alice/lockers").counts(3);
}

#[test]
fn a_key_has_1_to_255_characters() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"ownerId": "alice"});
    let (fits, too_long) = ("k".repeat(255), "k".repeat(256));
    let first = post(&mut alice, "/lockers", &fits, &body).is(201);
    same(&first, &post(&mut alice, "/lockers", &format!("\"{fits}\""), &body));
    for bad in [&too_long, &format!("\"{too_long}\""), "", "\"\"", " ", &"k".repeat(10_000)] {
        let refused = post(&mut alice, "/lockers", bad, &body).refuses(400, "invalid-input");
        refused.has("latchkey-contract", "QC-11").cost("rcu=0, wcu=0");
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    let reply = alice.send("POST", "/lockers", &twice, Some(&body.to_string()));
    reply.refuses(400, "invalid-input");
    for odd in ["a b", "a/b?c=d&e", "a#b", "{}", "a,b;c", "8e03978e-40d5-43e8-bc93-6894a57f9324"] {
        let first = post(&mut alice, "/lockers", odd, &body).is(201);
        same(&first, &post(&mut alice, "/lockers", odd, &body));
    }
}

#[test]
fn of_many_at_once_one_acts_and_the_others_replay() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "alice", "11:00-12:00");
    let event = json!({"action": "OPEN", "actorId": "a", "result": "FAIL"});
    let window = json!({"ownerId": "alice", "startAt": clock("13:00"), "endAt": clock("14:00")});
    for (path, body, status) in [
        ("/lockers", json!({"ownerId": "alice"}), 201),
        // With an id of its own, the losers must not be told that it exists.
        ("/lockers", json!({"lockerId": "L2", "ownerId": "bob"}), 201),
        ("/lockers/L1/reservations", window, 201),
        ("/lockers/L1/reservations", booking("R2", "bob", "14:00-15:00"), 201),
        ("/lockers/L1/events", event, 201),
        ("/lockers/L1/reservations/R1/cancel", json!({}), 200),
        ("/lockers/L1/transfer", json!({"newOwnerId": "bob"}), 200),
    ] {
        let who = if body["ownerId"] == "bob" { "bob" } else { "alice" };
        let replies = at_once(16, |_| post(&mut scene.person(who), path, "k", &body));
        for reply in &replies {
            assert_eq!(reply.status, status, "{reply}");
            same(&replies[0], reply);
        }
    }
    let mut operator = scene.operator();
    operator.get("/owners/alice/lockers").counts(1);
    operator.get("/owners/bob/lockers").lists("lockerId", &["L1", "L2"], false);
    let range = format!("startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    operator.get(&format!("/lockers/L1/events?{range}")).counts(1);
    operator.get(&format!("/lockers/L1/reservations?{range}")).counts(3);
    operator.get("/lockers/L1").shows(&json!({"version": 2}));
}

#[test]
fn of_two_bodies_at_once_one_acts_and_the_other_is_refused() {
    let scene = Scene::start();
    let replies = at_once(16, |n| {
        let body = json!({"ownerId": "alice", "lockerAlias": format!("a{}", n % 2)});
        post(&mut scene.person("alice"), "/lockers", "k", &body)
    });
    let acted = replies.iter().find(|reply| reply.status == 201).unwrap();
    for reply in &replies {
        match reply.status {
            201 => same(acted, reply),
            _ => drop(reply.clone().refuses(422, "idempotency-key-reused")),
        }
    }
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(made, 8, "those with the body that won; {replies:?}");
    scene.operator().get("/owners/alice/lockers").counts(1);
}

#[test]
fn a_call_that_writes_nothing_replays_too() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = json!({"newOwnerId": "alice"});
    let first = post(&mut alice, "/lockers/L1/transfer", "k", &body).is(200);
    let first = first.shows(&json!({"version": 1, "status": "AVAILABLE"}));
    let status = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    alice.put("/lockers/L1/status", &status).is(200);
    same(&first, &post(&mut alice, "/lockers/L1/transfer", "k", &body));
    let other = json!({"newOwnerId": "bob"});
    let refused = post(&mut alice, "/lockers/L1/transfer", "k", &other);
    refused.refuses(422, "idempotency-key-reused");
    alice.get("/lockers/L1").shows(&json!({"ownerId": "alice", "version": 2}));
}

#[test]
fn what_is_no_post_is_made_each_time() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1}).to_string();
    let key = [("idempotency-key", "k")];
    alice.send("PUT", "/lockers/L1/status", &key, Some(&body)).is(200);
    let again = alice.send("PUT", "/lockers/L1/status", &key, Some(&body));
    again.refuses(409, "version-conflict");
    alice.send("GET", "/lockers/L1", &key, None).is(200).shows(&json!({"version": 2}));
}

#[test]
fn a_record_outlives_the_process_however_it_ends() {
    let scene = Scene::start();
    let body = json!({"ownerId": "alice"});
    let first = post(&mut scene.person("alice"), "/lockers", "k", &body).is(201);
    let scene = scene.restart(|_| {});
    same(&first, &post(&mut scene.person("alice"), "/lockers", "k", &body));
    let second = post(&mut scene.person("alice"), "/lockers", "l", &body).is(201);
    let scene = scene.crash();
    same(&first, &post(&mut scene.person("alice"), "/lockers", "k", &body));
    same(&second, &post(&mut scene.person("alice"), "/lockers", "l", &body));
    scene.operator().get("/owners/alice/lockers").counts(2);
}
