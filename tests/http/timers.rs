//! QC-13: timers point to a reservation when it starts, and let it expire when it ends.

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, booking, clock};
use crate::serve::{Reply, backend};
use crate::stored::{lockers, text};

const PATH: &str = "/lockers/L1/reservations";

/// What it costs to find the active reservation by the pointer alone.
const BY_POINTER: &str = "rcu=4, wcu=0";

/// A server with a locker.
fn scene() -> Scene {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene
}

fn active(scene: &Scene, time: &str) -> Reply {
    scene.person("alice").at(&clock(time)).get(&format!("{PATH}/active"))
}

/// Nothing is active at these times.
#[track_caller]
fn nothing_active(scene: &Scene, times: &[&str]) {
    for time in times {
        active(scene, time).refuses(404, "no-active-reservation");
    }
}

/// The active one is this, and the pointer says so.
#[track_caller]
fn pointed_to(scene: &Scene, time: &str, id: &str) {
    active(scene, time).is(200).shows(&json!({"reservationId": id})).cost(BY_POINTER);
}

/// The active one is this, though no pointer says so.
#[track_caller]
fn found(scene: &Scene, time: &str, id: &str) {
    let reply = active(scene, time).is(200).shows(&json!({"reservationId": id}));
    assert_ne!(reply.header("latchkey-capacity"), BY_POINTER, "no pointer says so; {reply}");
}

fn cancel(scene: &Scene, id: &str, time: &str) -> Reply {
    let path = format!("{PATH}/{id}/cancel");
    scene.operator().at(&clock(time)).post(&path, &json!({}))
}

/// Reserves at a time of the day.
#[track_caller]
fn reserve(scene: &Scene, id: &str, window: &str, time: &str) -> Value {
    let made = scene.person("rita").at(&clock(time)).post(PATH, &booking(id, "rita", window));
    made.is(201).json()
}

fn all(scene: &Scene) -> Vec<Value> {
    let ages = "startISO=0000-01-01T00:00:00Z&endISO=9999-12-31T23:59:59.999Z&pageSize=100";
    scene.operator().get(&format!("{PATH}?{ages}")).is(200).items()
}

fn one(scene: &Scene, id: &str) -> Value {
    let found = all(scene).into_iter().find(|item| item["reservationId"] == id);
    found.unwrap_or_else(|| panic!("{id} is not listed"))
}

/// A reservation has a status since a time of the day.
#[track_caller]
fn is(scene: &Scene, id: &str, status: &str, since: &str) {
    let shown = one(scene, id);
    let told = (shown["status"].as_str(), shown["updatedAt"].as_str());
    assert_eq!(told, (Some(status), Some(clock(since).as_str())), "{id}: {shown}");
}

/// The pointer and the slots that are stored: the reservation of each, by its sort key.
fn stored(scene: Scene) -> (Scene, Vec<(String, String)>) {
    let (scene, items) = scene.stored("smartlocker", lockers(), "LOCKER#L1");
    let kept = |key: &str| key == "RES#ACTIVE" || key.starts_with("SLOT#");
    let of = |name: &str, item| text(item, name).to_owned();
    let kept = items.iter().filter(|item| kept(text(item, "SK")));
    let kept = kept.map(|item| (of("SK", item), of("reservationId", item))).collect();
    (scene, kept)
}

fn slot(start: &str, id: &str) -> (String, String) {
    (format!("SLOT#{}", clock(start)), id.to_owned())
}

fn pointer(id: &str) -> (String, String) {
    ("RES#ACTIVE".to_owned(), id.to_owned())
}

#[test]
fn the_pointer_is_set_when_a_reservation_starts_and_not_before() {
    let scene = scene();
    let made = scene.reservation("L1", "R1", "rita", "10:00-11:00");
    scene.pass("09:59:59.999");
    nothing_active(&scene, &["09:59:59.999"]);
    found(&scene, "10:00", "R1");
    scene.pass("10:00");
    pointed_to(&scene, "10:00", "R1");
    pointed_to(&scene, "10:59:59.999", "R1");
    nothing_active(&scene, &["09:59:59.999", "11:00"]);
    // That it started is no change of it, nor of the locker.
    active(&scene, "10:30").shows_just(&made);
    assert_eq!(one(&scene, "R1"), made);
    let locker = scene.operator().get("/lockers/L1").is(200);
    locker.shows(&json!({"version": 1, "updatedAt": clock("09:00")}));
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, [pointer("R1"), slot("10:00", "R1")]);
}

#[test]
fn when_a_reservation_ends_it_expires_and_nothing_points_to_it() {
    let scene = scene();
    let mut expected = scene.reservation("L1", "R1", "rita", "10:00-11:00");
    scene.pass("10:59:59.999");
    is(&scene, "R1", "ACTIVE", "09:00");
    pointed_to(&scene, "10:59:59.999", "R1");
    scene.pass("11:00");
    expected["status"] = json!("EXPIRED");
    expected["updatedAt"] = json!(clock("11:00"));
    assert_eq!(one(&scene, "R1"), expected);
    nothing_active(&scene, &["10:00", "10:30", "11:00", "12:00"]);
    cancel(&scene, "R1", "11:00").refuses(409, "reservation-ended");
    // Whose clock is behind is told the same.
    cancel(&scene, "R1", "10:30").refuses(409, "reservation-ended");
    assert_eq!(one(&scene, "R1"), expected);
    let (scene, kept) = stored(scene);
    assert_eq!(kept, [], "neither pointer nor slot");
    // Its id stays taken, its window does not.
    let again = booking("R1", "rita", "12:00-13:00");
    scene.person("rita").post(PATH, &again).refuses(409, "duplicate-reservation");
    reserve(&scene, "R2", "10:00-11:00", "11:30");
}

#[test]
fn what_is_cancelled_before_it_starts_never_starts_nor_expires() {
    let scene = scene();
    scene.reservation("L1", "R1", "rita", "10:00-11:00");
    cancel(&scene, "R1", "09:30").is(200);
    for time in ["10:00", "10:30", "11:00", "12:00"] {
        scene.pass(time);
        nothing_active(&scene, &["10:00", "10:30", time]);
        is(&scene, "R1", "CANCELLED", "09:30");
    }
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, []);
}

#[test]
fn what_is_cancelled_while_it_lasts_is_over_and_does_not_expire() {
    let scene = scene();
    scene.reservation("L1", "R1", "rita", "10:00-11:00");
    scene.pass("10:15");
    pointed_to(&scene, "10:15", "R1");
    cancel(&scene, "R1", "10:20").is(200);
    nothing_active(&scene, &["10:15", "10:20", "10:59"]);
    scene.pass("12:00");
    nothing_active(&scene, &["10:20", "10:59", "12:00"]);
    is(&scene, "R1", "CANCELLED", "10:20");
    cancel(&scene, "R1", "12:00").is(200).shows(&json!({"updatedAt": clock("10:20")}));
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, []);
}

#[test]
fn the_active_reservation_is_right_when_timers_are_late() {
    let scene = scene();
    let windows = [("A", "10:00-11:00"), ("B", "11:00-12:00"), ("C", "13:00-14:00")];
    for (id, window) in windows {
        scene.reservation("L1", id, "rita", window);
    }
    scene.queue("reservations", "holds");
    let all_right = |scene: &Scene| {
        for (time, id) in [("10:00", "A"), ("10:59:59.999", "A"), ("11:00", "B"), ("13:30", "C")] {
            active(scene, time).is(200).shows(&json!({"reservationId": id, "status": "ACTIVE"}));
        }
        nothing_active(scene, &["09:59", "12:00", "12:30", "14:00"]);
    };
    for time in ["09:00", "10:30", "11:30", "12:30", "13:30"] {
        scene.pass(time);
        all_right(&scene);
    }
    // All at once, the first of them long over: what is under way now is pointed to.
    scene.queue("reservations", "works");
    scene.pass("13:30");
    pointed_to(&scene, "13:30", "C");
    nothing_active(&scene, &["10:30", "11:30"]);
    for (id, status, since) in
        [("A", "EXPIRED", "13:30"), ("B", "EXPIRED", "13:30"), ("C", "ACTIVE", "09:00")]
    {
        is(&scene, id, status, since);
    }
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, [pointer("C"), slot("13:00", "C")]);
}

#[test]
fn timers_later_than_everything_leave_nothing_behind() {
    let scene = scene();
    for (id, window) in [("A", "10:00-11:00"), ("B", "11:00-12:00"), ("C", "12:00-12:00:00.001")] {
        scene.reservation("L1", id, "rita", window);
    }
    scene.queue("reservations", "holds");
    scene.pass("23:00");
    cancel(&scene, "A", "23:00").refuses(409, "reservation-ended");
    scene.queue("reservations", "works");
    scene.pass("23:00");
    for id in ["A", "B", "C"] {
        is(&scene, id, "EXPIRED", "23:00");
    }
    nothing_active(&scene, &["10:30", "11:30", "12:00", "23:00"]);
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, []);
}

#[test]
fn of_windows_that_touch_the_second_is_pointed_to_from_the_instant_they_touch() {
    for ids in [["A", "B"], ["B", "A"]] {
        let scene = scene();
        // Made in either order, so that at eleven their timers come in either order.
        for id in ids {
            let window = if id == "A" { "10:00-11:00" } else { "11:00-12:00" };
            scene.reservation("L1", id, "rita", window);
        }
        scene.pass("10:59:59.999");
        pointed_to(&scene, "10:59:59.999", "A");
        found(&scene, "11:00", "B");
        scene.pass("11:00");
        pointed_to(&scene, "11:00", "B");
        is(&scene, "A", "EXPIRED", "11:00");
        is(&scene, "B", "ACTIVE", "09:00");
        scene.pass("12:00");
        nothing_active(&scene, &["10:30", "11:00", "11:30", "12:00"]);
        is(&scene, "B", "EXPIRED", "12:00");
        let (_scene, kept) = stored(scene);
        assert_eq!(kept, []);
    }
}

#[test]
fn a_window_that_was_freed_belongs_to_whoever_took_it() {
    let scene = scene();
    scene.reservation("L1", "first", "rita", "10:00-12:00");
    cancel(&scene, "first", "09:30").is(200);
    reserve(&scene, "within", "10:30-11:30", "09:30");
    reserve(&scene, "before", "09:45-10:15", "09:30");
    for (time, id) in [("10:00", "before"), ("10:15", ""), ("10:30", "within"), ("11:30", "")] {
        scene.pass(time);
        match id {
            "" => nothing_active(&scene, &[time]),
            id => pointed_to(&scene, time, id),
        }
    }
    scene.pass("13:00");
    nothing_active(&scene, &["10:00", "10:30", "11:00", "12:00"]);
    is(&scene, "first", "CANCELLED", "09:30");
    is(&scene, "within", "EXPIRED", "11:30");
}

#[test]
fn the_end_of_one_leaves_anothers_pointer_alone() {
    let scene = scene();
    scene.reservation("L1", "old", "rita", "10:00-12:00");
    scene.pass("10:30");
    cancel(&scene, "old", "10:30").is(200);
    // It is under way at once, and goes on beyond the end of the old one.
    reserve(&scene, "new", "10:15-13:00", "10:45");
    pointed_to(&scene, "10:45", "new");
    scene.pass("12:00");
    pointed_to(&scene, "12:00", "new");
    is(&scene, "new", "ACTIVE", "10:45");
    scene.pass("13:00");
    nothing_active(&scene, &["12:00", "12:59", "13:00"]);
    is(&scene, "new", "EXPIRED", "13:00");
    is(&scene, "old", "CANCELLED", "10:30");
}

#[test]
fn a_late_timer_leaves_what_came_in_between_alone() {
    let scene = scene();
    scene.reservation("L1", "started", "rita", "10:00-11:00");
    scene.reservation("L1", "ended", "rita", "09:00-10:00");
    scene.queue("reservations", "holds");
    scene.pass("10:30");
    // The start of the one and the end of the other are late; another has the locker now.
    cancel(&scene, "started", "10:30").is(200);
    reserve(&scene, "new", "10:00-13:00", "10:31");
    pointed_to(&scene, "10:31", "new");
    scene.queue("reservations", "works");
    scene.pass("10:32");
    pointed_to(&scene, "10:32", "new");
    is(&scene, "started", "CANCELLED", "10:30");
    is(&scene, "new", "ACTIVE", "10:31");
    assert_eq!(one(&scene, "ended")["status"], "EXPIRED");
    scene.pass("11:00");
    pointed_to(&scene, "11:00", "new");
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, [pointer("new"), slot("10:00", "new")]);
}

#[test]
fn a_start_that_comes_when_all_is_over_points_to_nothing() {
    // At the very instant of its end, and after it. Another has begun by then.
    for time in ["11:00", "11:30"] {
        let scene = scene();
        scene.reservation("L1", "over", "rita", "10:00-11:00");
        scene.queue("reservations", "holds");
        scene.pass(time);
        reserve(&scene, "new", "11:00-12:00", time);
        pointed_to(&scene, time, "new");
        scene.queue("reservations", "works");
        scene.pass(time);
        pointed_to(&scene, time, "new");
        is(&scene, "over", "EXPIRED", time);
    }
}

#[test]
fn a_window_wholly_past_has_no_timers() {
    let scene = scene();
    let past = reserve(&scene, "past", "07:00-08:00", "10:00");
    let over = reserve(&scene, "over", "09:00-10:00", "10:00");
    reserve(&scene, "now", "10:00-11:00", "10:00");
    scene.pass("10:30");
    pointed_to(&scene, "10:30", "now");
    scene.pass("23:00");
    assert_eq!(one(&scene, "past"), past);
    assert_eq!(one(&scene, "over"), over);
    is(&scene, "now", "EXPIRED", "11:00");
    nothing_active(&scene, &["10:30", "23:00"]);
}

#[test]
fn a_window_under_way_is_pointed_to_at_once_and_ends_in_time() {
    let scene = scene();
    reserve(&scene, "R1", "09:00-11:00", "10:00");
    pointed_to(&scene, "10:00", "R1");
    scene.pass("10:59:59.999");
    pointed_to(&scene, "10:59:59.999", "R1");
    scene.pass("11:00");
    nothing_active(&scene, &["10:00", "11:00"]);
    is(&scene, "R1", "EXPIRED", "11:00");
}

#[test]
fn timers_outlive_the_process_and_wait_however_long() {
    let scene = scene();
    scene.reservation("L1", "R1", "rita", "10:00-11:00");
    let far = json!({
        "reservationId": "far", "ownerId": "rita",
        "startAt": "9999-12-31T23:59:59.000Z", "endAt": "9999-12-31T23:59:59.500Z",
    });
    scene.person("rita").post(PATH, &far).is(201);
    let scene = scene.crash();
    scene.pass("10:00");
    pointed_to(&scene, "10:00", "R1");
    let scene = scene.restart(|_| {});
    scene.pass("11:00");
    is(&scene, "R1", "EXPIRED", "11:00");
    assert_eq!(one(&scene, "far")["status"], "ACTIVE");
    scene.pass_to("9999-12-31T23:59:59.499Z");
    assert_eq!(one(&scene, "far")["status"], "ACTIVE");
    scene.pass_to("9999-12-31T23:59:59.500Z");
    assert_eq!(one(&scene, "far")["status"], "EXPIRED");
}

#[test]
fn timers_are_of_one_locker() {
    let scene = scene();
    scene.locker("L2", "alice");
    scene.reservation("L1", "R1", "rita", "10:00-11:00");
    scene.reservation("L2", "R1", "zoe", "10:30-12:00");
    scene.pass("10:45");
    pointed_to(&scene, "10:45", "R1");
    scene.pass("11:00");
    nothing_active(&scene, &["10:45", "11:00"]);
    let mut alice = scene.person("alice").at(&clock("11:00"));
    let other = alice.get("/lockers/L2/reservations/active").is(200).cost(BY_POINTER);
    other.shows(&json!({"ownerId": "zoe", "status": "ACTIVE"}));
}

#[test]
fn who_owns_the_locker_and_what_is_wrong_with_it_stops_no_timer() {
    let scene = scene();
    scene.reservation("L1", "R1", "rita", "10:00-11:00");
    let mut operator = scene.operator();
    let status = json!({"newStatus": "MAINTENANCE", "expectedVersion": 1});
    operator.put("/lockers/L1/status", &status).is(200);
    operator.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    scene.pass("10:00");
    let mut bob = scene.person("bob").at(&clock("10:00"));
    let found = bob.get(&format!("{PATH}/active")).is(200).cost(BY_POINTER);
    found.shows(&json!({"reservationId": "R1", "ownerId": "rita"}));
    scene.pass("11:00");
    is(&scene, "R1", "EXPIRED", "11:00");
    bob.get("/lockers/L1").shows(&json!({"version": 3, "status": "MAINTENANCE"}));
}

#[test]
fn a_cancel_that_races_a_start_leaves_no_pointer() {
    let scene = scene();
    for round in 0..backend::rounds(20) {
        let (id, hour) = (format!("R{round}"), 10);
        let window = format!("{hour}:{round:02}-{hour}:{:02}", round + 1);
        let start = format!("{hour}:{round:02}");
        scene.reservation("L1", &id, "rita", &window);
        let replies = at_once(2, |n| match n {
            0 => cancel(&scene, &id, &format!("{start}:30")).is(200),
            _ => {
                scene.server.client().at(&clock(&start)).send("POST", "/test-clock/pass", &[], None)
            }
        });
        assert_eq!(replies[1].status, 200, "{}", replies[1]);
        // One that was busy is worked off now.
        scene.pass(&format!("{start}:30"));
        nothing_active(&scene, &[&start, &format!("{start}:30")]);
        is(&scene, &id, "CANCELLED", &format!("{start}:30"));
    }
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, []);
}

#[test]
fn a_cancel_that_races_an_end_wins_or_comes_too_late() {
    let scene = scene();
    for round in 0..backend::rounds(20) {
        let id = format!("R{round}");
        let (start, end) = (format!("10:{round:02}"), format!("10:{:02}", round + 1));
        scene.reservation("L1", &id, "rita", &format!("{start}-{end}"));
        scene.pass(&start);
        pointed_to(&scene, &start, &id);
        let before = format!("{start}:59.999");
        let replies = at_once(2, |n| match n {
            0 => cancel(&scene, &id, &before),
            _ => scene.server.client().at(&clock(&end)).send("POST", "/test-clock/pass", &[], None),
        });
        scene.pass(&end);
        match replies[0].status {
            200 => is(&scene, &id, "CANCELLED", &before),
            _ => {
                replies[0].clone().refuses(409, "reservation-ended");
                is(&scene, &id, "EXPIRED", &end);
            }
        }
        nothing_active(&scene, &[&start, &before]);
    }
    let (_scene, kept) = stored(scene);
    assert_eq!(kept, []);
}
