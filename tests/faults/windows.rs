//! Many callers want the same locker at the same time: no two get it.

use serde_json::json;

use crate::serve::backend::rounds;
use crate::serve::{Client, Reply, Server};
use crate::world::{
    ALWAYS, CALLERS, Chance, busy, in_doubt, list, minute, no_two_overlap, operator, outcome,
    outcomes, overlap, race, register, too_slow, window,
};

/// From one minute to another.
type Minutes = (usize, usize);

/// The window each caller wants.
type Shape = fn(usize) -> Minutes;

fn reserve(client: &mut Client, locker: &str, id: &str, (start, end): Minutes) -> Reply {
    let body = json!({
        "reservationId": id, "ownerId": "renter", "startAt": minute(start), "endAt": minute(end),
    });
    client.post(&format!("/lockers/{locker}/reservations"), &body)
}

/// Lets callers race for windows of one locker, and checks all that must hold of any such race. Gives
/// how many were accepted, and how many were told to come back.
fn race_for(server: &Server, token: &str, locker: &str, windows: &[Minutes]) -> (usize, usize) {
    register(&mut server.client().with_token(token), locker, "owner");
    let replies = race(&server.address, token, windows.len(), |caller, client| {
        reserve(client, locker, &format!("R{caller}"), windows[caller])
    });
    let kept = list(
        &mut server.client().with_token(token),
        &format!("/lockers/{locker}/reservations?{ALWAYS}"),
    );
    no_two_overlap(&kept);
    let (mut accepted, mut come_back) = (0, 0);
    for (caller, reply) in replies.iter().enumerate() {
        let id = format!("R{caller}");
        let (start, end) = windows[caller];
        let wanted = (minute(start), minute(end));
        let found = kept.iter().find(|one| one["reservationId"] == id);
        if reply.status == 201 {
            accepted += 1;
            assert_eq!(found, Some(&reply.json()), "an accepted reservation is there");
            assert_eq!(window(&reply.json()), wanted);
            continue;
        }
        if in_doubt(reply) {
            come_back += usize::from(found.is_none());
            accepted += usize::from(found.is_some());
            continue;
        }
        assert_eq!(found, None, "a refused reservation is not there: {reply:?}");
        if busy(reply) || too_slow(reply) {
            come_back += 1;
            continue;
        }
        assert_eq!(outcome(reply), "409 reservation-overlap");
        let reason = kept.iter().any(|one| overlap(&window(one), &wanted));
        assert!(reason, "{wanted:?} was refused for an overlap with nothing: {kept:?}");
    }
    assert_eq!(kept.len(), accepted, "nothing is there that was not accepted");
    (accepted, come_back)
}

#[test]
fn of_many_who_want_one_window_one_gets_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let shapes: [(&str, Shape); 4] = [
        ("identical", |_| (600, 660)),
        ("staggered, all with one minute in common", |caller| (600 + caller, 664 + caller)),
        ("nested, all around one minute", |caller| (600 - caller, 601 + caller)),
        ("with one start", |caller| (600, 601 + caller)),
    ];
    for (shape, window) in shapes {
        let windows: Vec<Minutes> = (0..CALLERS).map(window).collect();
        let (mut waits, rounds) = (0, rounds(5));
        for round in 0..rounds {
            let locker = format!("one-{}-{round}", shape.split([' ', ',']).next().unwrap());
            let (accepted, come_back) = race_for(&server, &token, &locker, &windows);
            assert_eq!(accepted, 1, "{shape}, round {round}");
            waits += come_back;
        }
        println!("{shape}: {waits} of {} answers were 503 busy", rounds * CALLERS);
    }
}

#[test]
fn windows_in_a_small_range_never_overlap_and_are_never_refused_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut chance = Chance::new(1);
    let (mut accepted, mut waits) = (0, 0);
    let rounds = rounds(12);
    for round in 0..rounds {
        let longest = 1 + round * 4;
        let windows: Vec<Minutes> = (0..CALLERS)
            .map(|_| {
                let start = chance.below(120);
                (start, start + 1 + chance.below(longest))
            })
            .collect();
        let (some, come_back) = race_for(&server, &token, &format!("random-{round}"), &windows);
        assert!(some >= 1, "someone gets a window");
        accepted += some;
        waits += come_back;
    }
    println!("random windows: {accepted} accepted, {waits} busy, of {}", rounds * CALLERS);
}

#[test]
fn windows_apart_are_accepted_or_told_to_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    // They touch, which is no overlap.
    let windows: Vec<Minutes> =
        (0..CALLERS).map(|caller| (caller * 10, caller * 10 + 10)).collect();
    for round in 0..rounds(3) {
        let (accepted, waits) = race_for(&server, &token, &format!("apart-{round}"), &windows);
        println!("{CALLERS} windows apart: {accepted} accepted, {waits} busy");
        assert_eq!(accepted + waits, CALLERS, "none is refused for an overlap");
        assert!(accepted >= 1);
    }
}

#[test]
fn one_id_is_reserved_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    register(&mut server.client().with_token(&token), "L1", "owner");
    let replies = race(&server.address, &token, CALLERS, |caller, client| {
        reserve(client, "L1", "same", (caller * 10, caller * 10 + 10))
    });
    let counted = outcomes(&replies);
    let busy = replies.iter().filter(|reply| busy(reply)).count();
    assert_eq!(counted.get("201"), Some(&1), "{counted:?}");
    let duplicates = counted.get("409 duplicate-reservation").copied().unwrap_or_default();
    assert_eq!(duplicates + busy, CALLERS - 1, "{counted:?}");
    let mut client = server.client().with_token(&token);
    assert_eq!(list(&mut client, &format!("/lockers/L1/reservations?{ALWAYS}")).len(), 1);
}

/// Half of the callers cancel a reservation that is under way, the other half want its window.
fn cancel_and_reserve(server: &Server, token: &str, locker: &str) -> (usize, usize) {
    let mut client = server.client().with_token(token).at(&minute(630));
    register(&mut client, locker, "owner");
    assert_eq!(reserve(&mut client, locker, "first", (600, 660)).status, 201);
    let replies = race(&server.address, token, CALLERS, |caller, client| {
        client.now = Some(minute(630));
        if caller % 2 == 0 {
            client.post(&format!("/lockers/{locker}/reservations/first/cancel"), &json!({}))
        } else {
            reserve(client, locker, &format!("R{caller}"), (600 + caller % 5, 660))
        }
    });
    let (mut accepted, mut waits) = (Vec::new(), 0);
    for (caller, reply) in replies.iter().enumerate() {
        match outcome(reply).as_str() {
            _ if busy(reply) => waits += 1,
            "200" if caller % 2 == 0 => assert_eq!(reply.json()["status"], "CANCELLED"),
            "201" if caller % 2 == 1 => accepted.push(reply.json()),
            "409 reservation-overlap" if caller % 2 == 1 => {}
            other => panic!("caller {caller}: {other}"),
        }
    }
    assert!(accepted.len() <= 1, "two were given one window: {accepted:?}");
    let kept = list(&mut client, &format!("/lockers/{locker}/reservations?{ALWAYS}"));
    no_two_overlap(&kept);
    assert_eq!(kept.len(), 1 + accepted.len());
    let first = kept.iter().find(|one| one["reservationId"] == "first").unwrap();
    assert_eq!(first["status"], "CANCELLED", "one of {} cancellations went through", CALLERS / 2);
    // The pointer says the same as the slots, and the window is free or it is not.
    let active = client.get(&format!("/lockers/{locker}/reservations/active"));
    let again = reserve(&mut client, locker, "last", (600, 660));
    match accepted.first() {
        Some(accepted) => {
            assert_eq!(active.status, 200, "{active:?}");
            assert_eq!(active.json()["reservationId"], accepted["reservationId"]);
            assert_eq!(outcome(&again), "409 reservation-overlap");
        }
        None => {
            assert_eq!(outcome(&active), "404 no-active-reservation");
            assert_eq!(again.status, 201, "{again:?}");
        }
    }
    (accepted.len(), waits)
}

#[test]
fn cancelling_and_reserving_at_once_leaves_one_truth() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let rounds: Vec<_> = (0..rounds(10))
        .map(|round| cancel_and_reserve(&server, &token, &format!("cancel-{round}")))
        .collect();
    println!("cancel against reserve, (accepted, busy) a round: {rounds:?}");
}

#[test]
fn a_cancelled_window_goes_to_one_of_those_who_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path());
    let token = operator(&server);
    let mut client = server.client().with_token(&token).at(&minute(0));
    register(&mut client, "L1", "owner");
    for round in 0..10 {
        // Reserve, cancel and reserve again by the same callers; only the calendar's order decides.
        let replies = race(&server.address, &token, 8, |caller, client| {
            client.now = Some(minute(0));
            let id = format!("R{round}-{caller}");
            let reserved = reserve(client, "L1", &id, (600, 660));
            if reserved.status == 201 {
                let path = format!("/lockers/L1/reservations/{id}/cancel");
                let cancelled = client.post(&path, &json!({}));
                assert!(cancelled.status == 200 || busy(&cancelled), "{cancelled:?}");
                return (id, true, cancelled.status == 200);
            }
            assert!(busy(&reserved) || outcome(&reserved) == "409 reservation-overlap");
            (id, false, false)
        });
        let kept = list(&mut client, &format!("/lockers/L1/reservations?{ALWAYS}"));
        no_two_overlap(&kept);
        for (id, reserved, cancelled) in &replies {
            let found = kept.iter().find(|one| one["reservationId"] == id.as_str());
            let status = found.map(|one| one["status"].as_str().unwrap());
            let expected = reserved.then_some(if *cancelled { "CANCELLED" } else { "ACTIVE" });
            assert_eq!(status, expected, "{id}");
        }
        // Whoever was told to come back does.
        for one in kept.iter().filter(|one| one["status"] == "ACTIVE") {
            let id = one["reservationId"].as_str().unwrap();
            let reply = client.post(&format!("/lockers/L1/reservations/{id}/cancel"), &json!({}));
            assert_eq!(reply.status, 200, "{reply:?}");
        }
    }
}
