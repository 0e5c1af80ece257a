//! Many callers change one locker at the same moment: one change a version, and the view follows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;

use crate::serve::{Client, Reply, Server};
use crate::world::{
    ALWAYS, CALLERS, busy, in_doubt, list, locker, lockers_of, operator, outcome, outcomes, race,
    register, too_slow, view_is_the_locker,
};

fn set_status(client: &mut Client, locker: &str, status: &str, version: u64) -> Reply {
    let body = json!({ "newStatus": status, "expectedVersion": version });
    client.put(&format!("/lockers/{locker}/status"), &body)
}

fn version(client: &mut Client, id: &str) -> u64 {
    locker(client, id)["version"].as_u64().unwrap()
}

#[test]
fn of_many_updates_of_one_version_one_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "owner");
    for round in 1..=10u64 {
        let status = if round % 2 == 1 { "OCCUPIED" } else { "AVAILABLE" };
        let replies = race(&server.address, &token, CALLERS, |caller, client| {
            // What the winner leaves is not always what the others wanted.
            let other = round % 2 == 1 && caller % 3 == 0;
            set_status(client, "L1", if other { "MAINTENANCE" } else { status }, round)
        });
        let counted = outcomes(&replies);
        assert_eq!(counted.get("200"), Some(&1), "round {round}: {counted:?}");
        assert_eq!(counted.get("409 version-conflict"), Some(&(CALLERS - 1)), "{counted:?}");
        for reply in replies.iter().filter(|reply| reply.status == 409) {
            assert_eq!(reply.json()["currentVersion"], round + 1);
        }
        let won = replies.iter().find(|reply| reply.status == 200).unwrap();
        assert_eq!(won.json()["version"], round + 1);
        assert_eq!(locker(&mut client, "L1"), won.json(), "what was answered is what is there");
        view_is_the_locker(&mut client, "L1", &["owner"]);
    }
}

#[test]
fn if_match_lets_one_of_many_through() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "owner");
    let replies = race(&server.address, &token, CALLERS, |_, client| {
        let body = json!({ "newStatus": "OCCUPIED" }).to_string();
        client.send("PUT", "/lockers/L1/status", &[("if-match", "\"1\"")], Some(&body))
    });
    let counted = outcomes(&replies);
    assert_eq!(counted.get("200"), Some(&1), "{counted:?}");
    assert_eq!(counted.get("412 version-conflict"), Some(&(CALLERS - 1)), "{counted:?}");
    assert_eq!(version(&mut client, "L1"), 2);
    view_is_the_locker(&mut client, "L1", &["owner"]);
}

/// Says so when it is over, by a failure too.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Watches both owners' lists: wherever a locker appears, it belongs there.
fn watch(server: &Server, token: &str, owners: [&str; 2], stop: &AtomicBool) -> usize {
    let mut client = server.client().with_token(token);
    let mut looked = 0;
    while !stop.load(Ordering::Relaxed) {
        for owner in owners {
            for view in lockers_of(&mut client, owner) {
                assert_eq!(view["ownerId"], owner, "a view lies with another owner");
            }
        }
        looked += 1;
    }
    looked
}

#[test]
fn a_transfer_among_updates_leaves_no_view_behind() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "ann");
    let stop = AtomicBool::new(false);
    let owners = ["ann", "bob"];
    thread::scope(|scope| {
        let done = Done(&stop);
        let watcher = scope.spawn(|| watch(&server, &token, owners, &stop));
        let (mut updates, mut waits) = (0, 0);
        for round in 0..30 {
            let (from, to) = (owners[round % 2], owners[(round + 1) % 2]);
            let before = version(&mut client, "L1");
            let replies = race(&server.address, &token, 9, |caller, client| match caller {
                0 => {
                    // With a version in mind in every third round, which then may be gone.
                    let mut body = json!({ "newOwnerId": to });
                    if round % 3 == 0 {
                        body["expectedVersion"] = json!(before);
                    }
                    client.post("/lockers/L1/transfer", &body)
                }
                _ => {
                    let now = locker(client, "L1");
                    let free = now["status"] == "AVAILABLE";
                    let next = if free { "OCCUPIED" } else { "AVAILABLE" };
                    set_status(client, "L1", next, now["version"].as_u64().unwrap())
                }
            });
            let allowed = ["200", "409 version-conflict", "409 illegal-transition"];
            let fit = |reply: &Reply| busy(reply) || allowed.contains(&outcome(reply).as_str());
            assert!(replies.iter().all(fit), "{:?}", outcomes(&replies));
            let made = replies.iter().filter(|reply| reply.status == 200).count();
            let after = version(&mut client, "L1");
            assert_eq!(after - before, u64::try_from(made).unwrap(), "one version a change");
            if replies[0].status == 200 {
                assert!(lockers_of(&mut client, from).is_empty(), "a view under the old owner");
                assert_eq!(replies[0].json()["ownerId"], to);
            }
            view_is_the_locker(&mut client, "L1", &owners);
            // Every round begins with the locker where it is expected.
            if locker(&mut client, "L1")["ownerId"] != to {
                let body = json!({ "newOwnerId": to });
                assert_eq!(client.post("/lockers/L1/transfer", &body).status, 200);
            }
            updates += made;
            waits += replies.iter().filter(|reply| busy(reply)).count();
        }
        drop(done);
        let looked = watcher.join().unwrap();
        println!("transfers among updates: {updates} changes, {waits} busy, lists read {looked}");
        assert!(updates > 30 && looked > 0, "they did race");
    });
}

#[test]
fn transfers_to_many_owners_at_once_end_with_one() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "owner");
    let replies = race(&server.address, &token, CALLERS, |caller, client| {
        client.post("/lockers/L1/transfer", &json!({ "newOwnerId": format!("owner{caller}") }))
    });
    let made = replies.iter().filter(|reply| reply.status == 200).count();
    let waits = replies.iter().filter(|reply| busy(reply) || too_slow(reply)).count();
    let doubts = replies.iter().filter(|reply| in_doubt(reply)).count();
    assert_eq!(made + waits + doubts, CALLERS, "{:?}", outcomes(&replies));
    println!("{CALLERS} transfers at once: {made} made, {waits} busy, {doubts} in doubt");
    let now = version(&mut client, "L1");
    let made = u64::try_from(made).unwrap();
    let doubts = u64::try_from(doubts).unwrap();
    assert!((1 + made..=1 + made + doubts).contains(&now), "version {now}");
    let owners: Vec<String> = (0..CALLERS).map(|caller| format!("owner{caller}")).collect();
    let owners: Vec<&str> = owners.iter().map(String::as_str).chain(["owner"]).collect();
    view_is_the_locker(&mut client, "L1", &owners);
}

#[test]
fn one_locker_is_registered_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let replies = race(&server.address, &token, CALLERS, |caller, client| {
        let body = json!({ "lockerId": "L1", "ownerId": format!("owner{caller}") });
        client.post("/lockers", &body)
    });
    let counted = outcomes(&replies);
    assert_eq!(counted.get("201"), Some(&1), "{counted:?}");
    assert_eq!(counted.get("409 locker-exists"), Some(&(CALLERS - 1)), "{counted:?}");
    let owners: Vec<String> = (0..CALLERS).map(|caller| format!("owner{caller}")).collect();
    let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
    view_is_the_locker(&mut server.client().with_token(&token), "L1", &owners);
}

#[test]
fn one_event_is_logged_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "owner");
    let replies = race(&server.address, &token, CALLERS, |caller, client| {
        let body = json!({
            "eventId": "E1", "action": "OPEN", "actorId": "door", "result": "SUCCESS",
            "timestamp": format!("2026-03-01T00:00:{:02}Z", caller % 60),
        });
        client.post("/lockers/L1/events", &body)
    });
    let counted = outcomes(&replies);
    assert_eq!(counted.get("201"), Some(&1), "{counted:?}");
    assert_eq!(counted.get("409 duplicate-event"), Some(&(CALLERS - 1)), "{counted:?}");
    let kept = list(&mut client, &format!("/lockers/L1/events?{ALWAYS}"));
    let won = replies.iter().find(|reply| reply.status == 201).unwrap();
    assert_eq!(kept, [won.json()]);
}

#[test]
fn a_call_of_one_name_is_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token);
    register(&mut client, "L1", "owner");
    let calls = [
        // None brings an id, so each that is made would make another.
        ("/lockers", json!({ "ownerId": "new" }), 201),
        (
            "/lockers/L1/events",
            json!({ "action": "OPEN", "actorId": "door", "result": "FAIL" }),
            201,
        ),
        ("/lockers/L1/transfer", json!({ "newOwnerId": "next" }), 200),
    ];
    for (path, body, status) in &calls {
        let replies = race(&server.address, &token, CALLERS, |_, client| {
            let key = [("idempotency-key", "the-one")];
            client.send("POST", path, &key, Some(&body.to_string()))
        });
        let first = &replies[0];
        for reply in &replies {
            assert_eq!((reply.status, &reply.text), (*status, &first.text), "{path}");
        }
        let acted = replies.iter().filter(|reply| reply.header("idempotency-replayed").is_empty());
        assert_eq!(acted.count(), 1, "{path}: one acts and the others replay");
    }
    assert_eq!(lockers_of(&mut client, "new").len(), 1);
    assert_eq!(list(&mut client, &format!("/lockers/L1/events?{ALWAYS}")).len(), 1);
    assert_eq!(version(&mut client, "L1"), 2, "the transfer was made once");
}
