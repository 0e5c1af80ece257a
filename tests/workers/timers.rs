//! Reservations begin and end by themselves, in real time, also across a kill.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use latchkey_value::time;
use serde_json::{Value, json};

use crate::refused::outbox;
use crate::serve::{Client, until};
use crate::world::World;

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn register(client: &mut Client, locker: &str) {
    let body = json!({"lockerId": locker, "locationId": "hall", "ownerId": "bob"});
    let reply = client.post("/lockers", &body);
    assert_eq!(reply.status, 201, "{reply:?}");
}

/// Reserves a locker from one time until another, in milliseconds from now, and gives both instants.
///
/// Time goes on meanwhile: what is true between two instants can be asserted only if the second is not over
/// after the test has looked.
fn reserve(client: &mut Client, locker: &str, id: &str, from: i64, until: i64) -> (i64, i64) {
    let now = now();
    let at = |ms: i64| time::format(ms).unwrap().to_string();
    let (start, end) = (now + from, now + until);
    let body = json!({
        "reservationId": id, "ownerId": "bob", "startAt": at(start), "endAt": at(end),
    });
    let reply = client.post(&format!("/lockers/{locker}/reservations"), &body);
    assert_eq!(reply.status, 201, "{reply:?}");
    (start, end)
}

fn active(client: &mut Client, locker: &str) -> Option<Value> {
    let reply = client.get(&format!("/lockers/{locker}/reservations/active"));
    match reply.status {
        200 => Some(reply.json()["reservationId"].clone()),
        404 => None,
        _ => panic!("{reply:?}"),
    }
}

fn status(client: &mut Client, locker: &str, id: &str) -> Value {
    let path = format!(
        "/lockers/{locker}/reservations?startISO=2000-01-01T00:00:00Z&endISO=2100-01-01T00:00:00Z"
    );
    let reply = client.get(&path);
    assert_eq!(reply.status, 200, "{reply:?}");
    let all = reply.json()["items"].as_array().unwrap().clone();
    all.iter().find(|one| one["reservationId"] == id).unwrap()["status"].clone()
}

/// The pointers that are stored, of a store that nobody has open.
fn pointers(world: &World) -> Vec<Value> {
    let items = world.exported().into_iter().map(|line| line["Item"].clone());
    items.filter(|item| item["SK"]["S"] == "RES#ACTIVE").collect()
}

#[test]
fn a_reservation_begins_and_ends_by_itself() {
    let world = World::embedded("smartlocker", &[]);
    let mut server = world.serve(&["--test-deliveries", "3"]);
    let mut client = server.admin();
    register(&mut client, "L1");
    let (start, end) = reserve(&mut client, "L1", "R1", 3_000, 9_000);
    let (before, timers) = (active(&mut client, "L1"), world.depth());
    if now() < start {
        assert_eq!((before, timers), (None, [0, 0, 2, 0]), "two timers");
    }
    until("it begins", || world.depth() == [0, 0, 1, 0] || now() >= end);
    let begun = active(&mut client, "L1");
    // The pointer is there, not only the answer that would do without.
    assert_eq!(server.stop().code(), Some(0));
    if now() < end {
        assert_eq!(begun, Some(json!("R1")));
        let found = pointers(&world);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["reservationId"]["S"], "R1");
    }

    server = world.serve(&["--test-deliveries", "3"]);
    client = server.admin();
    until("it ends", || status(&mut client, "L1", "R1") == "EXPIRED");
    assert_eq!(active(&mut client, "L1"), None);
    until("no timer is left", || world.depth() == [0; 4]);
    server.stop();
    assert_eq!(pointers(&world), Vec::<Value>::new());
}

#[test]
fn what_fell_due_while_the_server_was_down_is_done_when_it_is_back() {
    let world = World::embedded("smartlocker", &[]);
    let mut server = world.serve(&[]);
    let mut client = server.admin();
    for locker in ["L1", "L2", "L3"] {
        register(&mut client, locker);
    }
    // One begins and ends while it is down, one ends, one begins.
    let (_, end) = reserve(&mut client, "L2", "R2", 300, 3_000);
    reserve(&mut client, "L1", "R1", 2_000, 3_000);
    reserve(&mut client, "L3", "R3", 2_500, 600_000);
    until("R2 begins", || active(&mut client, "L2").is_some() || now() >= end);
    server.kill();
    thread::sleep(Duration::from_millis(3_500));
    server = world.serve(&[]);
    client = server.admin();
    until("all is caught up", || world.depth() == [0, 0, 1, 0]);
    assert_eq!(status(&mut client, "L1", "R1"), "EXPIRED");
    assert_eq!(status(&mut client, "L2", "R2"), "EXPIRED");
    let all = ["L1", "L2", "L3"].map(|locker| active(&mut client, locker));
    assert_eq!(all, [None, None, Some(json!("R3"))]);
    // One that is cancelled leaves no pointer, and its timer finds nothing to do.
    let path = "/lockers/L3/reservations/R3/cancel";
    let reply = client.post(path, &json!({}));
    assert!(reply.status < 300, "{reply:?}");
    assert_eq!(active(&mut client, "L3"), None);
    server.stop();
    assert_eq!(pointers(&world), Vec::<Value>::new());
}

#[test]
fn timers_far_off_wait_in_the_outbox() {
    let world = World::on_dynamodb("smartlocker", &[]);
    let mut server = world.serve(&[]);
    let mut client = server.admin();
    for locker in ["L1", "L2"] {
        register(&mut client, locker);
    }
    reserve(&mut client, "L2", "R2", 3_600_000, 7_200_000);
    assert_eq!((outbox(&world), world.depth()), (2, [0; 4]), "an hour off, both wait in the table");
    let (_, end) = reserve(&mut client, "L1", "R1", 1_000, 4_000);
    until("R1 begins", || active(&mut client, "L1").is_some() || now() >= end);
    server.kill();
    thread::sleep(Duration::from_millis(3_500));
    server = world.serve(&[]);
    client = server.admin();
    until("R1 has ended", || status(&mut client, "L1", "R1") == "EXPIRED");
    until("no timer is in the queue", || world.depth() == [0; 4]);
    assert_eq!(active(&mut client, "L1"), None);
    assert_eq!(outbox(&world), 2, "those of R2, and they alone");
}
