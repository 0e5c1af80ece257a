//! QC-17: a locker is removed, and its id registered again.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, booking, clock};
use crate::serve::{Client, Reply};
use crate::stored::{lockers, text};

const ALL: &str = "startISO=2026-02-25T00:00:00Z&endISO=2026-02-26T00:00:00Z";

fn remove(client: &mut Client, locker: &str) -> Reply {
    client.send("DELETE", &format!("/lockers/{locker}"), &[], None)
}

/// The reservations of a locker and their statuses, by their starts.
fn reservations(scene: &Scene, locker: &str) -> Vec<(String, String)> {
    let page = scene.operator().get(&format!("/lockers/{locker}/reservations?{ALL}")).is(200);
    page.listed("reservationId").into_iter().zip(page.listed("status")).collect()
}

fn told(id: &str, status: &str) -> (String, String) {
    (id.to_owned(), status.to_owned())
}

#[test]
fn a_removed_locker_is_not_there_and_nothing_points_at_it() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    scene.device("L1", "door-7");
    scene.reservation("L1", "R1", "rita", "09:30-09:45");
    scene.event("L1", "E1", "09:40");
    scene.pass("09:50");
    let mut alice = scene.person("alice");
    let gone = remove(&mut alice, "L1").is(204).has("latchkey-contract", "QC-17").lacks("etag");
    assert!(gone.text.is_empty(), "{gone}");
    remove(&mut alice, "L1").refuses(404, "not-found");
    alice.get("/owners/alice/lockers").lists("lockerId", &["L2"], false);
    alice.get("/owners/alice/lockers?sort=alias").lists("lockerId", &["L2"], false);
    for path in [
        "/lockers/L1",
        "/lockers/L1?consistent=true",
        &format!("/lockers/L1/reservations?{ALL}"),
        "/lockers/L1/reservations/active",
        "/lockers/L1/reservations/R1",
        &format!("/lockers/L1/events?{ALL}"),
        "/lockers/L1/events/latest",
    ] {
        for mut client in [scene.person("alice"), scene.operator()] {
            client.get(path).refuses(404, "not-found");
        }
    }
    let mut device = scene.someone("door-7", &["device"], &[]);
    let event = json!({"action": "OPEN", "actorId": "bob", "result": "SUCCESS"});
    device.post("/lockers/L1/events", &event).refuses(404, "not-found");
    let body = booking("R2", "rita", "11:00-12:00");
    scene.person("rita").post("/lockers/L1/reservations", &body).refuses(404, "not-found");
    // What was reserved is still told to who reserved it.
    let own = scene.person("rita").get("/owners/rita/reservations").is(200);
    own.lists("reservationId", &["R1"], false);
    let (_scene, items) = scene.stored("smartlocker", lockers(), "LOCKER#L1");
    let mut kinds: Vec<&str> = items.iter().map(|item| text(item, "entityType")).collect();
    kinds.sort_unstable();
    let past = ["ACCESS_EVENT", "EVENT_ID", "LOCKER_CLAIM", "RESERVATION", "RESERVATION_ID"];
    assert_eq!(kinds, past, "{items:?}");
}

#[test]
fn a_locker_is_not_removed_while_a_reservation_is_live_or_ahead() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "rita", "10:30-11:00");
    scene.reservation("L1", "R2", "rita", "12:00-13:00");
    let before = scene.operator().get("/lockers/L1").json();
    for time in ["10:00", "10:45", "11:30", "12:59:59.999"] {
        scene.pass(time);
        let mut alice = scene.person("alice").at(&clock(time));
        let refused = remove(&mut alice, "L1").refuses(409, "has-reservations");
        assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{refused}");
    }
    scene.operator().get("/lockers/L1").shows_just(&before);
    let mut rita = scene.person("rita").at(&clock("12:59:59.999"));
    rita.post("/lockers/L1/reservations/R2/cancel", &json!({})).is(200);
    remove(&mut scene.person("alice").at(&clock("12:59:59.999")), "L1").is(204);
}

#[test]
fn only_the_version_that_is_meant_is_removed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut delete = |query: &str, headers: &[(&str, &str)]| {
        alice.send("DELETE", &format!("/lockers/L1{query}"), headers, None)
    };
    let refused = delete("?expectedVersion=2", &[]).refuses(409, "version-conflict");
    refused.shows(&json!({"currentVersion": 1}));
    delete("", &[("if-match", "\"2\"")]).refuses(412, "version-conflict");
    delete("?expectedVersion=0", &[]).blames(&["/expectedVersion"]);
    delete("?expectedVersion=1", &[]).is(204);
}

#[test]
fn an_id_is_registered_again_by_its_last_owner_or_an_operator() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let (mut alice, mut bob) = (scene.person("alice"), scene.person("bob"));
    alice.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    remove(&mut bob, "L1").is(204);
    // Whoever has the id has its history, so it is not for everyone.
    for who in ["alice", "carol"] {
        let body = json!({"lockerId": "L1", "ownerId": who});
        scene.person(who).post("/lockers", &body).refuses(403, "forbidden");
    }
    let again = bob.post("/lockers", &json!({"lockerId": "L1", "ownerId": "bob"})).is(201);
    let locker = json!({
        "lockerId": "L1", "ownerId": "bob", "status": "AVAILABLE", "createdAt": clock("10:00"),
        "updatedAt": clock("10:00"), "version": 1,
    });
    let again = again.has("location", "/lockers/L1").shows_just(&locker);
    // Another locker of the same version has another tag, and If-Match takes it as it came.
    let tag = again.header("etag").to_owned();
    assert!(tag.starts_with("\"1-"), "{again}");
    bob.get("/lockers/L1").is(200).has("etag", &tag).shows_just(&locker);
    let body = Some(r#"{"newStatus":"OCCUPIED"}"#);
    bob.send("PUT", "/lockers/L1/status", &[("if-match", &tag)], body).is(200);
    bob.post("/lockers", &json!({"lockerId": "L1", "ownerId": "bob"}))
        .refuses(409, "locker-exists");
    // An operator gives it to anyone.
    remove(&mut bob, "L1").is(204);
    scene.locker("L1", "carol");
    scene.person("carol").get("/lockers/L1").is(200).shows(&json!({"version": 1}));
    bob.get("/lockers/L1").refuses(403, "forbidden");
    scene.person("carol").get("/owners/carol/lockers").lists("lockerId", &["L1"], false);
}

#[test]
fn timers_of_a_removed_locker_come_late_and_leave_a_new_one_alone() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.queue("reservations", "holds");
    scene.reservation("L1", "R1", "rita", "09:10-09:20");
    scene.reservation("L1", "R2", "rita", "09:30-10:00");
    scene.reservation("L1", "R3", "rita", "09:20-09:25");
    let mut alice = scene.person("alice");
    remove(&mut alice, "L1").is(204);
    alice.post("/lockers", &json!({"lockerId": "L1", "ownerId": "alice"})).is(201);
    // It begins when one of the old ones began, and is live.
    let body = booking("R4", "rolf", "09:30-11:00");
    scene.person("rolf").post("/lockers/L1/reservations", &body).is(201);
    // The ids of the past stay taken.
    let body = booking("R1", "rolf", "12:00-13:00");
    let mut rolf = scene.person("rolf");
    rolf.post("/lockers/L1/reservations", &body).refuses(409, "duplicate-reservation");
    scene.queue("reservations", "works");
    scene.pass("10:30");
    let expected = [("R1", "EXPIRED"), ("R3", "EXPIRED"), ("R2", "EXPIRED"), ("R4", "ACTIVE")];
    assert_eq!(reservations(&scene, "L1"), expected.map(|(id, status)| told(id, status)));
    let mut operator = scene.operator().at(&clock("10:30"));
    operator.get("/lockers/L1/reservations/active").shows(&json!({"reservationId": "R4"}));
    let body = booking("R5", "rolf", "10:45-11:30");
    let mut rolf = rolf.at(&clock("10:30"));
    rolf.post("/lockers/L1/reservations", &body).refuses(409, "reservation-overlap");
    remove(&mut operator, "L1").refuses(409, "has-reservations");
    scene.pass("11:00");
    remove(&mut scene.operator().at(&clock("11:00")), "L1").is(204);
}

#[test]
fn timers_of_a_removed_locker_end_its_reservations_where_nothing_is_registered() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.queue("reservations", "holds");
    scene.reservation("L1", "R1", "rita", "09:30-10:00");
    remove(&mut scene.person("alice"), "L1").is(204);
    let own = |scene: &Scene| scene.person("rita").get("/owners/rita/reservations").items();
    assert_eq!(own(&scene)[0]["status"], "ACTIVE", "{:?}", own(&scene));
    scene.queue("reservations", "works");
    scene.pass("10:30");
    assert_eq!(own(&scene)[0]["status"], "EXPIRED", "{:?}", own(&scene));
    // Registered again, the door has its history.
    scene.locker("L1", "alice");
    assert_eq!(reservations(&scene, "L1"), [told("R1", "EXPIRED")]);
}

#[test]
fn many_late_timers_put_a_removal_off() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.queue("reservations", "holds");
    for n in 0..20 {
        scene.reservation("L1", &format!("R{n:02}"), "rita", &format!("09:{n:02}-09:{:02}", n + 1));
    }
    let mut alice = scene.person("alice");
    remove(&mut alice, "L1").refuses(409, "has-reservations");
    scene.queue("reservations", "works");
    scene.pass("10:00");
    remove(&mut alice, "L1").is(204);
}

#[test]
fn a_locker_is_reserved_or_removed_but_not_both() {
    let scene = Scene::start();
    for round in 0..5 {
        let locker = format!("L{round}");
        scene.locker(&locker, "alice");
        let replies = at_once(6, |n| {
            if n == 3 {
                return remove(&mut scene.person("alice"), &locker);
            }
            let window = format!("1{n}:00-1{n}:30");
            let body: Value = booking(&format!("R{n}"), "rita", &window);
            scene.operator().post(&format!("/lockers/{locker}/reservations"), &body)
        });
        let removed = replies[3].status == 204;
        let made = replies.iter().filter(|reply| reply.status == 201).count();
        assert!(removed != (made > 0), "removed: {removed}, reserved: {made}");
        for reply in replies {
            assert!([201, 204, 404, 409].contains(&reply.status), "{reply}");
        }
    }
}
