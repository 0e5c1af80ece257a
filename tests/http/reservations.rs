//! QC-04 and QC-12: reserving a locker, and cancelling that.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, booking, clock};
use crate::verdict::one_acted;

const PATH: &str = "/lockers/L1/reservations";

fn cancel(id: &str) -> String {
    format!("{PATH}/{id}/cancel")
}

#[test]
fn a_reservation_is_answered_with_all_its_fields() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let made = scene.person("rita").post(PATH, &booking("R1", "rita", "11:00-12:00")).is(201);
    let reservation = json!({
        "reservationId": "R1", "lockerId": "L1", "ownerId": "rita", "startAt": clock("11:00"),
        "endAt": clock("12:00"), "status": "ACTIVE", "createdAt": clock("10:00"),
        "updatedAt": clock("10:00"),
    });
    // It has no version, and so no tag.
    made.has("latchkey-contract", "QC-04").lacks("etag").shows_just(&reservation);
    let range = format!("{PATH}?startISO={}&endISO={}", clock("11:00"), clock("11:00"));
    let page = json!({"items": [reservation], "nextCursor": null});
    scene.person("alice").get(&range).shows_just(&page);
}

#[test]
fn a_reservation_without_an_id_is_given_a_ulid() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut ids = Vec::new();
    for window in ["11:00-12:00", "12:00-13:00"] {
        let mut body = booking("", "rita", window);
        body.as_object_mut().unwrap().remove("reservationId");
        let made = scene.person("rita").post(PATH, &body).is(201);
        ids.push(made.json()["reservationId"].as_str().unwrap_or_default().to_owned());
        assert_eq!(ids.last().map(String::len), Some(26), "a ULID; {made}");
    }
    assert_ne!(ids[0], ids[1], "each has its own");
    scene.person("rita").post(&cancel(&ids[1]), &json!({})).is(200);
}

#[test]
fn one_reserves_for_oneself_and_an_operator_for_anyone() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let body = booking("R1", "rita", "11:00-12:00");
    for (who, roles, orgs) in [
        ("bob", &[][..], &[][..]),
        // The locker's owner reserves for nobody else.
        ("alice", &[], &[]),
        ("dora", &["device"], &[]),
        ("mia", &[], &["acme", "alice"]),
    ] {
        scene.someone(who, roles, orgs).post(PATH, &body).refuses(403, "forbidden");
    }
    scene.nobody().post(PATH, &body).refuses(401, "unauthenticated");
    scene.person("rita").post(PATH, &body).is(201).shows(&json!({"ownerId": "rita"}));
    let mut mia = scene.someone("mia", &[], &["acme"]);
    let made = mia.post(PATH, &booking("R2", "acme", "12:00-13:00")).is(201);
    made.shows(&json!({"ownerId": "acme"}));
    let mut admin = scene.someone("ada", &["admin"], &[]);
    admin
        .post(PATH, &booking("R3", "zoe", "13:00-14:00"))
        .is(201)
        .shows(&json!({"ownerId": "zoe"}));
    scene.operator().post(PATH, &booking("R4", "zoe", "14:00-15:00")).is(201);
}

#[test]
fn a_window_ends_after_it_starts() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut rita = scene.person("rita");
    for window in ["11:00-11:00", "12:00-11:00", "11:00:00.001-11:00:00.000", "09:00-08:00"] {
        let refused = rita.post(PATH, &booking("R1", "rita", window));
        refused.refuses(400, "invalid-time-range").cost("rcu=0, wcu=0");
    }
    // The same instant, told apart by what is cut off, and by an offset.
    for (start, end) in [
        ("2026-02-25T11:00:00.0001Z", "2026-02-25T11:00:00.0009Z"),
        ("2026-02-25T12:00:00+01:00", "2026-02-25T11:00:00Z"),
        ("2026-02-25T11:30:00Z", "2026-02-25T12:00:00+01:00"),
    ] {
        let body = json!({"ownerId": "rita", "startAt": start, "endAt": end});
        rita.post(PATH, &body).refuses(400, "invalid-time-range");
    }
    let body = booking("R1", "rita", "11:00:00.000-11:00:00.001");
    rita.post(PATH, &body).is(201);
}

#[test]
fn a_window_may_be_past_or_under_way_and_the_lockers_status_does_not_matter() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut operator = scene.operator();
    let mut rita = scene.person("rita");
    rita.post(PATH, &booking("past", "rita", "01:00-02:00")).is(201);
    rita.post(PATH, &booking("over", "rita", "02:00-10:00")).is(201);
    let status =
        |status: &str, version: i64| json!({"newStatus": status, "expectedVersion": version});
    operator.put("/lockers/L1/status", &status("OCCUPIED", 1)).is(200);
    rita.post(PATH, &booking("now", "rita", "10:00-11:00")).is(201);
    operator.put("/lockers/L1/status", &status("MAINTENANCE", 2)).is(200);
    rita.post(PATH, &booking("later", "rita", "11:00-12:00")).is(201);
    let far = json!({
        "ownerId": "rita", "startAt": "9999-12-31T23:59:59.998Z", "endAt": "9999-12-31T23:59:59.999Z",
    });
    rita.post(PATH, &far).is(201);
    let long_ago = json!({
        "ownerId": "rita", "startAt": "0000-01-01T00:00:00Z", "endAt": "0000-01-01T00:00:00.001Z",
    });
    rita.post(PATH, &long_ago).is(201);
    // A reservation is no change of the locker.
    operator.get("/lockers/L1").shows(&json!({"version": 3, "status": "MAINTENANCE"}));
}

/// A window that was over when it was reserved used to stay ACTIVE for ever, and blocked its time.
#[test]
fn a_window_that_is_over_expires_as_it_is_made_and_blocks_nothing() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut rita = scene.person("rita").at(&clock("10:00"));
    let expired = json!({"status": "EXPIRED", "updatedAt": clock("10:00")});
    rita.post(PATH, &booking("R1", "rita", "07:00-09:00")).is(201).shows(&expired);
    rita.post(PATH, &booking("R2", "rita", "08:00-10:00")).is(201).shows(&expired);
    rita.post(PATH, &booking("R3", "rita", "08:00-10:00:00.001"))
        .is(201)
        .shows(&json!({"status": "ACTIVE"}));
    rita.post(PATH, &booking("R4", "rita", "08:00-11:00")).refuses(409, "reservation-overlap");
    rita.post(PATH, &booking("R1", "rita", "06:00-07:00")).refuses(409, "duplicate-reservation");
    rita.post(&cancel("R1"), &json!({})).refuses(409, "reservation-ended");
}

#[test]
fn no_two_live_windows_overlap_and_those_that_touch_do_not() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    scene.reservation("L1", "first", "rita", "10:00-12:00");
    scene.reservation("L1", "second", "rita", "14:00-16:00");
    let mut zoe = scene.person("zoe");
    for (why, window) in [
        ("the same", "10:00-12:00"),
        ("within", "10:30-11:30"),
        ("around", "09:00-13:00"),
        ("around both", "09:00-17:00"),
        ("from the left", "09:00-10:00:00.001"),
        ("from the right", "11:59:59.999-13:00"),
        ("the same start, shorter", "10:00-11:00"),
        ("the same start, longer", "10:00-13:00"),
        ("the same end, shorter", "11:00-12:00"),
        ("the same end, longer", "09:00-12:00"),
        ("from the gap into the second", "12:00-14:00:00.001"),
        ("from the first through the gap", "11:00-14:00"),
        ("within the second", "15:59:59.999-16:00"),
    ] {
        let refused = zoe.post(PATH, &booking(&why.replace([' ', ','], "-"), "zoe", window));
        let refused = refused.refuses(409, "reservation-overlap");
        assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{why}: {refused}");
    }
    for (id, window) in [
        ("before", "08:00-10:00"),
        ("the-gap", "12:00-14:00"),
        ("after", "16:00-17:00"),
        ("the-next-instant", "17:00:00.000-17:00:00.001"),
    ] {
        zoe.post(PATH, &booking(id, "zoe", window)).is(201);
    }
    let elsewhere = booking("elsewhere", "zoe", "10:00-12:00");
    zoe.post("/lockers/L2/reservations", &elsewhere).is(201);
}

#[test]
fn an_id_is_used_once_whatever_its_window() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let first = scene.reservation("L1", "R1", "rita", "11:00-12:00");
    let mut rita = scene.person("rita");
    for window in ["11:00-12:00", "11:00-11:30", "11:30-12:30", "14:00-15:00", "01:00-02:00"] {
        let refused = rita.post(PATH, &booking("R1", "rita", window));
        refused.refuses(409, "duplicate-reservation").has("latchkey-contract", "QC-04");
    }
    scene
        .operator()
        .post(PATH, &booking("R1", "zoe", "14:00-15:00"))
        .refuses(409, "duplicate-reservation");
    let range = format!("{PATH}?startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    let page = json!({"items": [first], "nextCursor": null});
    scene.person("alice").get(&range).shows_just(&page);
    // Cancelled, the id is still taken: the reservation is still there.
    rita.post(&cancel("R1"), &json!({})).is(200);
    rita.post(PATH, &booking("R1", "rita", "11:00-12:00")).refuses(409, "duplicate-reservation");
}

#[test]
fn what_a_reservation_is_made_with_is_looked_at() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut rita = scene.person("rita");
    let good = booking("R1", "rita", "11:00-12:00");
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    rita.post(PATH, &json!({})).blames(&["/ownerId", "/startAt", "/endAt"]);
    for (name, value) in [
        ("ownerId", json!("a#b")),
        ("reservationId", json!("a#b")),
        ("reservationId", json!("")),
        ("startAt", json!("11:00")),
        ("startAt", json!("2026-02-25")),
        ("endAt", json!(1_772_013_600)),
        ("endAt", json!(null)),
        ("status", json!("CANCELLED")),
        ("lockerId", json!("L2")),
    ] {
        rita.post(PATH, &with(name, value)).blames(&[&format!("/{name}")]);
    }
    rita.post("/lockers/L9/reservations", &good).refuses(404, "not-found");
    rita.post(PATH, &good).is(201);
}

#[test]
fn of_many_who_want_one_window_at_once_one_gets_it() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let replies = at_once(8, |n| {
        // Each window is another, and each overlaps every other.
        let (who, window) = (format!("p{n}"), format!("10:0{n}-11:0{n}"));
        scene.person(&who).post(PATH, &booking(&who, &who, &window))
    });
    one_acted(&replies, 201, (409, "reservation-overlap"));
    let range = format!("{PATH}?startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    scene.operator().get(&range).counts(1);
}

#[test]
fn cancelling_answers_the_reservation_and_frees_its_window() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut expected = scene.reservation("L1", "R1", "rita", "11:00-12:00");
    expected["status"] = json!("CANCELLED");
    expected["updatedAt"] = json!(clock("10:00"));
    let mut rita = scene.person("rita");
    let cancelled = rita.post(&cancel("R1"), &json!({})).is(200);
    cancelled.has("latchkey-contract", "QC-12").shows_just(&expected);
    rita.post(PATH, &booking("R2", "rita", "10:30-12:30")).is(201);
    let range = format!("{PATH}?startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    let page = scene.person("alice").get(&range).lists("reservationId", &["R2", "R1"], false);
    let page = page.lists("status", &["ACTIVE", "CANCELLED"], false);
    assert_eq!(page.json()["items"][1], expected, "it stays, cancelled; {page}");
}

#[test]
fn cancelling_again_changes_nothing() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "rita", "11:00-12:00");
    let mut rita = scene.person("rita");
    let first = rita.send("POST", &cancel("R1"), &[], None).is(200).json();
    // Someone else has the window now, and keeps it.
    scene.reservation("L1", "R2", "zoe", "11:00-12:00");
    for now in ["10:01", "11:30", "12:00", "23:00"] {
        rita.now = Some(clock(now));
        let again = rita.post(&cancel("R1"), &json!({})).is(200).shows_just(&first);
        assert!(again.header("latchkey-capacity").ends_with("wcu=0"), "{again}");
    }
    let mut alice = scene.person("alice").at(&clock("11:30"));
    let active = alice.get(&format!("{PATH}/active")).is(200);
    active.shows(&json!({"reservationId": "R2"}));
    rita.now = Some(clock("10:30"));
    rita.post(PATH, &booking("R3", "rita", "11:00-12:00")).refuses(409, "reservation-overlap");
}

#[test]
fn the_reserver_the_owner_and_an_operator_may_cancel() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "acme");
    for (n, who) in ["rita", "acme", "rita", "rita", "rita", "rita"].into_iter().enumerate() {
        scene.reservation("L1", &format!("R{n}"), who, &format!("1{n}:00-1{n}:30"));
    }
    scene.reservation("L2", "S", "rita", "11:00-12:00");
    for (who, roles) in [("bob", &[][..]), ("dora", &["device"]), ("aude", &["auditor"])] {
        let refused = scene.someone(who, roles, &[]).post(&cancel("R0"), &json!({}));
        refused.refuses(403, "forbidden");
    }
    scene.nobody().post(&cancel("R0"), &json!({})).refuses(401, "unauthenticated");
    // The reserver of one is nobody to another.
    let mut mia = scene.someone("mia", &[], &["acme"]);
    mia.post(&cancel("R0"), &json!({})).refuses(403, "forbidden");
    for (id, who, roles, orgs) in [
        ("R0", "rita", &[][..], &[][..]),
        ("R1", "mia", &[], &["acme"]),
        ("R2", "alice", &[], &[]),
        ("R3", "olga", &["operator"], &[]),
        ("R4", "ada", &["admin"], &[]),
        ("R5", "mia", &[], &["alice"]),
    ] {
        let cancelled = scene.someone(who, roles, orgs).post(&cancel(id), &json!({}));
        cancelled.is(200).shows(&json!({"reservationId": id, "status": "CANCELLED"}));
    }
    mia.post("/lockers/L2/reservations/S/cancel", &json!({})).is(200);
}

#[test]
fn after_its_end_it_is_too_late_to_cancel() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "rita", "11:00-12:00");
    scene.reservation("L1", "R2", "rita", "12:00-13:00");
    scene.reservation("L1", "R3", "rita", "13:00-14:00");
    scene.reservation("L1", "past", "rita", "01:00-02:00");
    let at =
        |now: &str, id: &str| scene.person("rita").at(&clock(now)).post(&cancel(id), &json!({}));
    at("12:00", "R1").refuses(409, "reservation-ended").has("latchkey-contract", "QC-12");
    at("23:00", "R1").refuses(409, "reservation-ended");
    at("10:00", "past").refuses(409, "reservation-ended");
    // Up to the last instant, and once it has begun.
    at("11:59:59.999", "R1").is(200);
    at("12:00", "R2").is(200);
    at("10:00", "R3").is(200);
}

#[test]
fn what_is_not_there_cannot_be_cancelled() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    scene.reservation("L2", "R1", "rita", "11:00-12:00");
    let mut operator = scene.operator();
    operator.post(&cancel("R9"), &json!({})).refuses(404, "not-found");
    operator.post(&cancel("R1"), &json!({})).refuses(404, "not-found");
    let nowhere = "/lockers/L9/reservations/R1/cancel";
    operator.post(nowhere, &json!({})).refuses(404, "not-found");
    operator.post(&cancel("a%23b"), &json!({})).blames(&["/reservationId"]);
    operator.post("/lockers/L2/reservations/R1/cancel", &json!({})).is(200);
}

#[test]
fn of_many_who_cancel_one_reservation_at_once_all_are_told_the_same() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "rita", "11:00-12:00");
    let replies = at_once(8, |_| scene.person("rita").post(&cancel("R1"), &json!({})));
    let first = replies[0].json();
    for reply in replies {
        reply.is(200).shows_just(&first).shows(&json!({"status": "CANCELLED"}));
    }
}
