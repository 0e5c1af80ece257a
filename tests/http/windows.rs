//! QC-05 and QC-07: which reservations there are, and which is under way.

use serde_json::json;

use crate::scene::{Scene, clock};
use crate::serve::{Client, Reply};

fn list(client: &mut Client, query: &str) -> Reply {
    client.get(&format!("/lockers/L1/reservations?{query}"))
}

fn range(start: &str, end: &str) -> String {
    format!("startISO={}&endISO={}", clock(start), clock(end))
}

fn active(client: &mut Client, now: &str) -> Reply {
    client.now = Some(clock(now));
    client.get("/lockers/L1/reservations/active")
}

#[test]
fn reservations_are_listed_by_their_start_with_both_bounds_included() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    for (id, window) in
        [("C", "12:00-13:00"), ("A", "10:00-11:00"), ("B", "11:00-12:00"), ("D", "13:00-14:00")]
    {
        scene.reservation("L1", id, "rita", window);
    }
    scene.locker("L2", "alice");
    scene.reservation("L2", "elsewhere", "rita", "11:00-12:00");
    let mut alice = scene.person("alice");
    for (start, end, expected) in [
        ("00:00", "23:59", &["A", "B", "C", "D"][..]),
        ("10:00", "13:00", &["A", "B", "C", "D"]),
        ("11:00", "12:00", &["B", "C"]),
        ("11:00", "11:00", &["B"]),
        ("10:59:59.999", "11:00", &["B"]),
        ("11:00:00.001", "12:00", &["C"]),
        ("11:00", "11:59:59.999", &["B"]),
        ("11:00:00.001", "11:59:59.999", &[]),
        // It is the start that counts, not the window.
        ("10:30", "10:59", &[]),
        ("14:00", "23:00", &[]),
    ] {
        let query = range(start, end);
        list(&mut alice, &query).is(200).lists("reservationId", expected, false);
        list(&mut alice, &format!("{query}&order=asc")).lists("reservationId", expected, false);
        let reversed: Vec<&str> = expected.iter().rev().copied().collect();
        list(&mut alice, &format!("{query}&order=desc")).lists("reservationId", &reversed, false);
    }
    let page = list(&mut alice, &range("10:00", "10:00")).has("latchkey-contract", "QC-05");
    assert_eq!(page.json()["items"][0], scene_a(), "all fields; {page}");
}

fn scene_a() -> serde_json::Value {
    json!({
        "reservationId": "A", "lockerId": "L1", "ownerId": "rita", "startAt": clock("10:00"),
        "endAt": clock("11:00"), "status": "ACTIVE", "createdAt": clock("09:00"),
        "updatedAt": clock("09:00"),
    })
}

#[test]
fn a_range_of_reservations_needs_both_its_bounds_the_right_way_round() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    list(&mut alice, "").blames(&["/startISO", "/endISO"]);
    list(&mut alice, &format!("startISO={}", clock("10:00"))).blames(&["/endISO"]);
    list(&mut alice, &format!("endISO={}", clock("10:00"))).blames(&["/startISO"]);
    list(&mut alice, "startISO=&endISO=").blames(&["/startISO", "/endISO"]);
    list(&mut alice, "startISO=yesterday&endISO=2026-02-25").blames(&["/startISO", "/endISO"]);
    for (start, end) in [("11:00", "10:00"), ("11:00:00.001", "11:00")] {
        list(&mut alice, &range(start, end)).refuses(400, "invalid-time-range");
    }
    list(&mut alice, &range("11:00", "11:00")).is(200);
    for order in ["up", "", "ASC", "ascending"] {
        list(&mut alice, &format!("{}&order={order}", range("10:00", "11:00"))).blames(&["/order"]);
    }
    let nowhere = format!("/lockers/L9/reservations?{}", range("10:00", "11:00"));
    alice.get(&nowhere).refuses(404, "not-found");
}

#[test]
fn the_pointer_to_the_active_reservation_is_never_listed() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    // Made while they last, so each sets the pointer.
    scene.reservation("L1", "R1", "rita", "08:30-09:30");
    let mut alice = scene.person("alice");
    active(&mut alice, "09:00").is(200).cost("rcu=4, wcu=0");
    let ages = "startISO=0000-01-01T00:00:00Z&endISO=9999-12-31T23:59:59.999Z";
    for order in ["asc", "desc"] {
        let page = list(&mut alice, &format!("{ages}&order={order}&pageSize=100"));
        let page = page.lists("reservationId", &["R1"], false);
        let item = page.json()["items"][0].clone();
        let names: Vec<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "createdAt",
            "endAt",
            "lockerId",
            "ownerId",
            "reservationId",
            "startAt",
            "status",
            "updatedAt",
        ];
        assert_eq!(names, expected, "{page}");
    }
    // A page that just fits does not find the pointer behind it either.
    let last = "startISO=2026-02-25T08:30:00Z&endISO=9999-12-31T23:59:59.999Z&pageSize=1";
    list(&mut alice, last).lists("reservationId", &["R1"], false);
}

#[test]
fn reservations_that_start_at_one_instant_are_all_within_the_bound() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    // One window, reserved and cancelled again and again; ids from all over the alphabet.
    let ids = ["-", ".0", "0", "9", ":", "@", "A", "Z", "_", "a", "z", "z|", "|"];
    let mut operator = scene.operator();
    for id in ids {
        scene.reservation("L1", id, "rita", "11:00-12:00");
        operator.post(&format!("/lockers/L1/reservations/{id}/cancel"), &json!({})).is(200);
    }
    let query = range("11:00", "11:00");
    list(&mut operator, &query).lists("reservationId", &ids, false);
    let backwards: Vec<&str> = ids.iter().rev().copied().collect();
    list(&mut operator, &format!("{query}&order=desc")).lists("reservationId", &backwards, false);
}

#[test]
fn the_active_reservation_is_one_snapshot_away_when_the_pointer_is_right() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let reservation = scene.reservation("L1", "R1", "rita", "09:00-11:00");
    let mut alice = scene.person("alice");
    for now in ["09:00", "10:00", "10:59:59.999"] {
        let found = active(&mut alice, now).is(200).cost("rcu=4, wcu=0");
        found.has("latchkey-contract", "QC-07").shows_just(&reservation);
    }
}

#[test]
fn the_active_reservation_is_found_though_nothing_set_the_pointer() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    scene.reservation("L1", "past", "rita", "01:00-02:00");
    let reservation = scene.reservation("L1", "R1", "rita", "11:00-12:00");
    scene.reservation("L1", "next", "zoe", "12:00-13:00");
    active(&mut alice, "10:59:59.999").refuses(404, "no-active-reservation");
    for now in ["11:00", "11:30", "11:59:59.999"] {
        let found = active(&mut alice, now).is(200).shows_just(&reservation);
        let costs = found.header("latchkey-capacity");
        assert!(costs != "rcu=4, wcu=0" && costs.ends_with("wcu=0"), "more is read; {found}");
    }
    active(&mut alice, "12:00").is(200).shows(&json!({"reservationId": "next", "ownerId": "zoe"}));
    active(&mut alice, "13:00").refuses(404, "no-active-reservation");
}

#[test]
fn the_active_reservation_is_found_though_the_pointer_is_over() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "first", "rita", "08:00-10:00");
    let second = scene.reservation("L1", "second", "zoe", "10:00-11:00");
    let mut alice = scene.person("alice");
    active(&mut alice, "09:59:59.999").shows(&json!({"reservationId": "first"}));
    active(&mut alice, "10:00").is(200).shows_just(&second);
    active(&mut alice, "11:00").refuses(404, "no-active-reservation");
    // A clock that runs behind sees what was then.
    active(&mut alice, "07:59:59.999").refuses(404, "no-active-reservation");
}

#[test]
fn nothing_is_active_on_a_locker_nobody_reserved_or_that_is_not_there() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let nothing = active(&mut alice, "10:00").refuses(404, "no-active-reservation");
    nothing.has("latchkey-contract", "QC-07");
    alice.get("/lockers/L9/reservations/active").refuses(404, "not-found");
}

#[test]
fn cancelling_takes_back_the_pointer_and_leaves_anothers() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let now = scene.reservation("L1", "now", "rita", "09:00-11:00");
    scene.reservation("L1", "later", "zoe", "11:00-12:00");
    scene.reservation("L1", "last", "zoe", "12:00-13:00");
    let mut alice = scene.person("alice");
    let cancel = |id: &str| {
        let path = format!("/lockers/L1/reservations/{id}/cancel");
        scene.operator().post(&path, &json!({})).is(200)
    };
    cancel("later");
    active(&mut alice, "10:00").cost("rcu=4, wcu=0").shows_just(&now);
    active(&mut alice, "11:30").refuses(404, "no-active-reservation");
    cancel("now");
    active(&mut alice, "10:00").refuses(404, "no-active-reservation");
    active(&mut alice, "12:00").shows(&json!({"reservationId": "last"}));
    // The window is free, and whoever takes it is active at once.
    let path = "/lockers/L1/reservations";
    let body = crate::scene::booking("new", "zoe", "09:30-10:30");
    let made = scene.person("zoe").post(path, &body).is(201).json();
    active(&mut alice, "10:00").cost("rcu=4, wcu=0").shows_just(&made);
}
