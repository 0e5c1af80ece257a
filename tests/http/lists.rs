//! Pages: their shape, their size, and walking through all of them.

use serde_json::json;

use crate::scene::{Scene, clock};
use crate::serve::Client;

/// So many lockers of one owner, by name.
fn lockers(scene: &Scene, owner: &str, count: usize) -> Vec<String> {
    let mut operator = scene.operator();
    let ids: Vec<String> = (0..count).map(|n| format!("{owner}-{n:03}")).collect();
    for id in &ids {
        operator.post("/lockers", &json!({"lockerId": id, "ownerId": owner})).is(201);
    }
    ids
}

/// Goes through all pages of a list: each is full but the last, and together they show this.
#[track_caller]
fn walk(client: &mut Client, path: &str, size: usize, member: &str, expected: &[String]) {
    let sign = if path.contains('?') { '&' } else { '?' };
    let mut pages: Vec<&[String]> = expected.chunks(size).collect();
    if pages.is_empty() {
        pages.push(&[]);
    }
    let last = pages.len() - 1;
    let mut cursor = String::new();
    for (at, page) in pages.into_iter().enumerate() {
        let page: Vec<&str> = page.iter().map(String::as_str).collect();
        let reply = client.get(&format!("{path}{sign}pageSize={size}{cursor}")).is(200);
        let reply = reply.lists(member, &page, at < last);
        cursor = format!("&nextCursor={}", reply.next().unwrap_or_default());
    }
}

#[test]
fn a_page_has_25_items_unless_asked_otherwise_and_100_at_most() {
    let scene = Scene::start();
    let ids = lockers(&scene, "alice", 101);
    let mut alice = scene.person("alice");
    for (query, count) in
        [("", 25), ("?pageSize=1", 1), ("?pageSize=99", 99), ("?pageSize=100", 100)]
    {
        let page = alice.get(&format!("/owners/alice/lockers{query}")).is(200);
        let expected: Vec<&str> = ids.iter().take(count).map(String::as_str).collect();
        page.lists("lockerId", &expected, true);
    }
    let day = format!("startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    for path in [
        "/owners/alice/lockers?".to_owned(),
        format!("/lockers/alice-000/reservations?{day}&"),
        format!("/lockers/alice-000/events?{day}&"),
    ] {
        for bad in [
            "101",
            "0",
            "-1",
            "1000000",
            "99999999999999999999",
            "many",
            "",
            "1.5",
            "%2B5",
            "0x10",
            "%00",
            "NaN",
            "1,2",
        ] {
            alice.get(&format!("{path}pageSize={bad}")).blames(&["/pageSize"]);
        }
        alice.get(&format!("{path}pageSize=5&pageSize=5")).blames(&["/pageSize"]);
        // The name of another system's pages.
        alice.get(&format!("{path}limit=5")).blames(&["/limit"]);
    }
}

#[test]
fn an_exact_fit_ends_there() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    for (owner, count, sizes) in [
        ("none", 0, &[1, 25][..]),
        ("alice", 25, &[5, 24, 25, 26]),
        ("bob", 26, &[1, 13, 25, 26]),
        ("carol", 50, &[25, 49, 50, 100]),
    ] {
        let ids = lockers(&scene, owner, count);
        let path = format!("/owners/{owner}/lockers");
        for size in sizes {
            walk(&mut operator, &path, *size, "lockerId", &ids);
        }
    }
    // The default size fits too.
    operator.get("/owners/alice/lockers").counts(25);
}

#[test]
fn a_walk_through_all_pages_meets_each_item_once_in_both_directions() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut operator = scene.operator();
    // Some of one instant, some of their own; ids that do not sort as they were made.
    let mut expected = Vec::new();
    for n in 0..38 {
        let (id, time) = (format!("E{:02}", n * 7 % 38), format!("10:{:02}", n / 2));
        scene.event("L1", &id, &time);
        expected.push((time, id));
    }
    expected.sort_unstable();
    let mut ids: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
    let day = format!("startISO={}&endISO={}", clock("00:00"), clock("23:00"));
    for order in ["asc", "desc"] {
        let path = format!("/lockers/L1/events?{day}&order={order}");
        for size in [1, 7, 19, 37, 38, 39, 100] {
            walk(&mut operator, &path, size, "eventId", &ids);
        }
        ids.reverse();
    }
    // Without an order, newest first: the cursors of the default go on with it.
    ids.reverse();
    walk(&mut operator, &format!("/lockers/L1/events?{day}"), 9, "eventId", &ids);
}

#[test]
fn a_walk_stays_within_its_range() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    for n in 0..30 {
        scene.reservation("L1", &format!("R{n:02}"), "rita", &format!("10:{n:02}-10:{:02}", n + 1));
        scene.event("L1", &format!("E{n:02}"), &format!("10:{n:02}"));
    }
    let mut alice = scene.person("alice");
    let range = format!("startISO={}&endISO={}", clock("10:05"), clock("10:24"));
    for (list, member, letter) in
        [("reservations", "reservationId", 'R'), ("events", "eventId", 'E')]
    {
        let mut expected: Vec<String> = (5..=24).map(|n| format!("{letter}{n:02}")).collect();
        for order in ["asc", "desc"] {
            let path = format!("/lockers/L1/{list}?{range}&order={order}");
            for size in [3, 5, 20] {
                walk(&mut alice, &path, size, member, &expected);
            }
            expected.reverse();
        }
    }
}

#[test]
fn pages_are_full_of_the_largest_items() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut operator = scene.operator();
    let metadata = json!({"a": "x".repeat(2040)});
    for n in 0..101 {
        let body = json!({
            "eventId": format!("E{n:03}"), "timestamp": clock("10:00"), "action": "OPEN",
            "actorId": "x".repeat(128), "result": "FAIL", "metadata": metadata,
        });
        operator.post("/lockers/L1/events", &body).is(201);
    }
    let path = format!(
        "/lockers/L1/events?startISO={}&endISO={}&order=asc",
        clock("10:00"),
        clock("10:00")
    );
    let ids: Vec<String> = (0..101).map(|n| format!("E{n:03}")).collect();
    walk(&mut operator, &path, 100, "eventId", &ids);
}
