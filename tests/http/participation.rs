//! EP-01, EP-02 and EP-05: taking part, what became of it, and the event itself.

use serde_json::json;

use crate::participants::{NO_REQUEST, counts, join};
use crate::scene::{Scene, at_once, clock};
use crate::serve::{Client, Reply};

const PATH: &str = "/events/E1/participations";

/// Takes part at a time of the day, once more or for the first time.
fn join_at(scene: &Scene, who: &str, time: &str) -> Reply {
    join(&mut scene.person(who).at(&clock(time)), "E1")
}

/// Both kinds of units were consumed.
#[track_caller]
fn costs_something(reply: &Reply) {
    let capacity = reply.header("latchkey-capacity");
    let units: Vec<f64> = capacity
        .split(", ")
        .map(|part| part.split_once('=').and_then(|(_, number)| number.parse().ok()).unwrap())
        .collect();
    assert!(units.len() == 2 && units.iter().all(|units| *units > 0.0), "what it cost; {reply}");
}

#[test]
fn the_first_call_is_202_and_every_other_200_with_the_same_request() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let first = join_at(&scene, "alice", "10:00").is(202).has("latchkey-contract", "EP-01");
    costs_something(&first);
    let id = first.request_id();
    first.shows_just(&json!({"requestId": id, "status": "QUEUED"}));
    for time in ["10:00", "10:00:01", "11:00", "09:30"] {
        let again = join_at(&scene, "alice", time).is(200).has("latchkey-contract", "EP-01");
        assert!(
            again.header("latchkey-capacity").ends_with("wcu=0"),
            "nothing is written; {again}"
        );
        again.shows_just(&json!({"requestId": id, "status": "QUEUED"}));
    }
    scene.pass("12:00");
    let again = join_at(&scene, "alice", "12:00").is(200);
    again.shows_just(&json!({"requestId": id, "status": "SUCCEEDED"}));
    scene.person("alice").get("/me/participations").lists("requestId", &[&id], false);
    assert_eq!(scene.summary("E1"), counts("SUCCEEDED 1"));
}

#[test]
fn each_user_and_each_event_has_a_request_of_its_own() {
    let scene = Scene::start();
    scene.first_come("E1", 9);
    scene.first_come("E2", 9);
    // Names that would be one if they were just put together.
    scene.first_come("E1-a", 9);
    let mut ids = vec![
        scene.joins("alice", "E1", "10:00"),
        scene.joins("bob", "E1", "10:00"),
        scene.joins("alice", "E2", "10:00"),
        scene.joins("b", "E1-a", "10:00"),
        scene.joins("a-b", "E1", "10:00"),
        scene.joins("ALICE", "E1", "10:00"),
    ];
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

#[test]
fn of_50_clicks_at_once_one_is_the_first_and_all_are_told_the_same_request() {
    let scene = Scene::start();
    scene.first_come("E1", 5);
    let replies = at_once(50, |_| join_at(&scene, "alice", "10:00"));
    let first: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 202).collect();
    assert_eq!(first.len(), 1, "how many are the first; {replies:?}");
    let id = first[0].request_id();
    for reply in &replies {
        let status = if reply.status == 202 { 202 } else { 200 };
        reply.clone().is(status).shows(&json!({"requestId": id}));
    }
    scene.pass("11:00");
    assert_eq!(scene.summary("E1"), counts("SUCCEEDED 1"));
    scene.person("bob").get("/events/E1").shows(&json!({"capacityRemaining": 4}));
    let states: Vec<String> = scene.log(&id).into_iter().map(|(status, _)| status).collect();
    assert_eq!(states, ["RECEIVED", "QUEUED", "PROCESSING", "SUCCEEDED"]);
}

#[test]
fn after_a_power_cut_the_request_is_still_the_first() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let id = scene.joins("alice", "E1", "10:00");
    let scene = scene.crash();
    join_at(&scene, "alice", "10:01").is(200).shows(&json!({"requestId": id}));
    scene.pass("10:02");
    let scene = scene.crash();
    let again = join_at(&scene, "alice", "10:03").is(200);
    again.shows_just(&json!({"requestId": id, "status": "SUCCEEDED"}));
}

#[test]
fn one_takes_part_from_the_opening_until_the_closing() {
    let scene = Scene::start();
    let open = json!({
        "mode": "FIRST_COME", "capacity": 100, "opensAt": clock("10:00"), "closesAt": clock("11:00"),
    });
    scene.event_of("E1", &open);
    for time in ["00:00", "09:59:59.999", "11:00:00.001", "23:59"] {
        let refused = join_at(&scene, "alice", time).refuses(409, "event-closed");
        let refused = refused.has("latchkey-contract", "EP-01");
        assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{refused}");
    }
    // Who was refused left nothing behind, and takes part when it opens.
    let opening = join_at(&scene, "alice", "10:00").is(202).request_id();
    let last = join_at(&scene, "bob", "10:59:59.999").is(202).request_id();
    for time in ["09:00", "10:30", "11:00", "11:00:00.001", "23:59"] {
        join_at(&scene, "alice", time).is(200).shows(&json!({"requestId": opening}));
        join_at(&scene, "bob", time).is(200).shows(&json!({"requestId": last}));
    }
    scene.pass("12:00");
    // What was accepted in time is decided afterwards.
    for who in ["alice", "bob"] {
        join_at(&scene, who, "23:00").is(200).shows(&json!({"status": "SUCCEEDED"}));
    }
}

#[test]
fn an_event_may_have_only_an_opening_or_only_a_closing_or_neither() {
    let scene = Scene::start();
    let seats = |name: &str| match name {
        "" => json!({"mode": "FIRST_COME", "capacity": 9}),
        name => json!({"mode": "FIRST_COME", "capacity": 9, name: clock("10:00")}),
    };
    for (event, name) in [("opens", "opensAt"), ("closes", "closesAt"), ("always", "")] {
        scene.event_of(event, &seats(name));
    }
    for (event, time, open) in [
        ("opens", "09:59:59.999", false),
        ("opens", "10:00", true),
        ("opens", "23:00", true),
        ("closes", "00:00", true),
        ("closes", "09:59:59.999", true),
        ("closes", "10:00:00.001", false),
        ("always", "00:00", true),
        ("always", "23:00", true),
    ] {
        let reply = join(&mut scene.person(&format!("at-{time}")).at(&clock(time)), event);
        if open {
            reply.is(202);
        } else {
            reply.refuses(409, "event-closed");
        }
    }
}

#[test]
fn there_is_no_taking_part_in_nothing_or_by_nobody() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let mut alice = scene.person("alice");
    let refused = join(&mut alice, "E9").refuses(404, "not-found");
    refused.has("latchkey-contract", "EP-01").names_its_contract();
    join(&mut alice, "a%23b").blames(&["/eventId"]);
    join(&mut scene.nobody(), "E1").refuses(401, "unauthenticated");
    join(&mut scene.nobody().with_token("x.y.z"), "E1").refuses(401, "unauthenticated");
    alice.get("/me/participations").counts(0);
    assert_eq!(scene.summary("E1"), counts(""));
    // An event that comes later is there.
    scene.first_come("E9", 1);
    join(&mut alice, "E9").is(202);
}

#[test]
fn any_signed_in_user_takes_part_once_as_whoever_they_are() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    for role in ["operator", "device", "admin", "auditor"] {
        join(&mut scene.someone(role, &[role], &[]), "E1").is(202);
    }
    // The roles and organisations of a token make nobody someone else.
    let first = join(&mut scene.person("mia"), "E1").is(202).request_id();
    let again = join(&mut scene.someone("mia", &["admin"], &["acme"]), "E1").is(200);
    again.shows(&json!({"requestId": first}));
}

#[test]
fn it_takes_no_body_or_an_empty_one_and_no_field() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let post = |who: &str, body: Option<&str>| scene.person(who).send("POST", PATH, &[], body);
    for (body, pointer) in [
        (r#"{"userId": "bob"}"#, "/userId"),
        (r#"{"requestId": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#, "/requestId"),
        (r#"{"status": "SUCCEEDED"}"#, "/status"),
        (r#"{"eventId": "E1"}"#, "/eventId"),
        (r#"{"": null}"#, "/"),
    ] {
        post("alice", Some(body)).blames(&[pointer]).cost("rcu=0, wcu=0");
    }
    for body in ["[]", "null", "1", "{", r#"{"a":1,"a":1}"#] {
        post("alice", Some(body)).refuses(400, "invalid-input");
    }
    scene.person("alice").get("/me/participations").counts(0);
    post("alice", None).is(202);
    post("bob", Some("{}")).is(202);
    // A repeat with a bad body is told so too.
    post("alice", Some(r#"{"x": 1}"#)).blames(&["/x"]);
    post("alice", Some("{}")).is(200);
}

#[test]
fn an_idempotency_key_is_looked_at_and_not_needed() {
    let scene = Scene::start();
    scene.first_come("E1", 9);
    scene.first_come("E2", 9);
    let keyed = |client: &mut Client, event: &str, key: &str| {
        let path = format!("/events/{event}/participations");
        client.send("POST", &path, &[("idempotency-key", key)], None)
    };
    let (mut alice, mut bob) = (scene.person("alice"), scene.person("bob"));
    for bad in ["", "\"\"", &"k".repeat(256)] {
        keyed(&mut alice, "E1", bad).refuses(400, "invalid-input").cost("rcu=0, wcu=0");
    }
    let first = keyed(&mut alice, "E1", "k").is(202).request_id();
    // The same key: not the first answer again but a repeat; another key: no other call.
    for key in ["k", "\"k\"", "other", &"k".repeat(255)] {
        keyed(&mut alice, "E1", key).is(200).shows(&json!({"requestId": first}));
    }
    join(&mut alice, "E1").is(200).shows(&json!({"requestId": first}));
    let other = keyed(&mut alice, "E2", "k").is(202).request_id();
    let bobs = keyed(&mut bob, "E1", "k").is(202).request_id();
    assert!(first != other && first != bobs, "{first}, {other}, {bobs}");
}

#[test]
fn a_refused_send_is_the_end_of_the_request_and_the_lock_stays() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    scene.queue("participations", "refuses");
    let first = join_at(&scene, "alice", "10:00").is(202);
    let id = first.request_id();
    first.shows_just(&json!({"requestId": id, "status": "FAILED_FINAL"}));
    let ended = json!({
        "requestId": id, "eventId": "E1", "userId": "alice", "status": "FAILED_FINAL",
        "requestedAt": clock("10:00"), "finishedAt": clock("10:00"),
        "errorCode": "FAILED_INGEST_ENQUEUE",
    });
    let is_ended = |scene: &Scene| {
        let shown = scene.request(&id);
        for (name, value) in ended.as_object().unwrap() {
            assert_eq!(shown.get(name), Some(value), "`{name}` of {shown}");
        }
        for name in ["queuedAt", "startedAt", "uiResult"] {
            assert_eq!(shown.get(name), None, "`{name}` of {shown}");
        }
    };
    is_ended(&scene);
    let again = join_at(&scene, "alice", "10:01").is(200);
    again.shows_just(&json!({"requestId": id, "status": "FAILED_FINAL"}));
    // Nor is it taken up when the queue takes messages again, nor after a power cut.
    scene.queue("participations", "works");
    scene.pass("11:00");
    let again = join_at(&scene, "alice", "11:00").is(200);
    again.shows_just(&json!({"requestId": id, "status": "FAILED_FINAL"}));
    let scene = scene.crash();
    scene.pass("12:00");
    is_ended(&scene);
    let log = [("RECEIVED", clock("10:00")), ("FAILED_FINAL", clock("10:00"))];
    assert_eq!(scene.log(&id), log.map(|(status, at)| (status.to_owned(), at)));
    assert_eq!(scene.summary("E1"), counts("FAILED_FINAL 1"));
    scene.person("bob").get("/events/E1").shows(&json!({"capacityRemaining": 1}));
    scene.person("alice").get("/me/participations").lists("requestId", &[&id], false);
}

#[test]
fn a_request_is_shown_to_its_user_and_to_an_admin() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let id = scene.joins("alice", "E1", "10:00");
    let path = format!("/requests/{id}");
    let mut expected = json!({
        "requestId": id, "eventId": "E1", "userId": "alice", "status": "QUEUED",
        "requestedAt": clock("10:00"), "queuedAt": clock("10:00"),
    });
    for mut client in [scene.person("alice"), scene.admin()] {
        let shown = client.get(&path).is(200).has("latchkey-contract", "EP-02");
        shown.shows_just(&expected);
    }
    scene.pass("11:00");
    let decided = json!({
        "status": "SUCCEEDED", "uiResult": "SUCCESS", "startedAt": clock("10:00"),
        "finishedAt": clock("10:00"),
    });
    expected.as_object_mut().unwrap().extend(decided.as_object().unwrap().clone());
    for mut client in [scene.person("alice"), scene.admin()] {
        client.get(&path).is(200).shows_just(&expected);
    }
    for (who, roles) in [("bob", &[][..]), ("olga", &["operator"]), ("door", &["device", "Admin"])]
    {
        let refused = scene.someone(who, roles, &[]).get(&path).refuses(403, "forbidden");
        let refused = refused.has("latchkey-contract", "EP-02");
        assert!(!refused.text.contains("alice"), "a stranger is told nothing; {refused}");
    }
    scene.nobody().get(&path).refuses(401, "unauthenticated");
    for mut client in [scene.person("alice"), scene.admin()] {
        client.get(&format!("/requests/{NO_REQUEST}")).refuses(404, "not-found");
        client.get("/requests/E1").blames(&["/requestId"]);
    }
}

#[test]
fn an_event_is_shown_to_whoever_is_signed_in() {
    let scene = Scene::start();
    let made = scene.event_of(
        "E1",
        &json!({
            "mode": "FIRST_COME", "capacity": 2, "opensAt": clock("10:00"),
            "closesAt": "2026-02-25T13:00:00.0009+01:00",
        }),
    );
    let mut expected = json!({
        "eventId": "E1", "title": "Opening night", "mode": "FIRST_COME", "capacity": 2,
        "capacityRemaining": 2, "opensAt": clock("10:00"), "closesAt": clock("12:00"),
    });
    assert_eq!(made, expected);
    let mut alice = scene.person("alice");
    for remaining in [1, 0, 0] {
        let shown = alice.get("/events/E1").is(200).has("latchkey-contract", "EP-05");
        shown.shows_just(&expected);
        scene.joins(&format!("p{remaining}-{}", expected["capacityRemaining"]), "E1", "10:00");
        // Seats go when requests are decided, not when they are made.
        alice.get("/events/E1").is(200).shows_just(&expected);
        scene.pass("10:30");
        expected["capacityRemaining"] = json!(remaining);
    }
    alice.get("/events/E1").is(200).shows_just(&expected);
    alice.get("/events/E9").refuses(404, "not-found").has("latchkey-contract", "EP-05");
    alice.get("/events/a%23b").blames(&["/eventId"]);
    scene.nobody().get("/events/E1").refuses(401, "unauthenticated");
}

#[test]
fn exactly_as_many_win_as_there_are_seats_in_the_order_they_were_accepted() {
    let scene = Scene::start();
    for (hour, event, seats) in
        [(10, "none", 0), (11, "one", 1), (12, "three", 3), (13, "many", 99)]
    {
        let time = |n: usize| format!("{hour}:00:0{n}");
        scene.first_come(event, seats);
        let ids: Vec<String> =
            (0..6).map(|n| scene.joins(&format!("p{n}"), event, &time(n))).collect();
        scene.pass(&format!("{hour}:30"));
        for (n, id) in ids.iter().enumerate() {
            let wins = n < usize::try_from(seats).unwrap();
            let (status, result) =
                if wins { ("SUCCEEDED", "SUCCESS") } else { ("REJECTED", "REJECTED_CAPACITY") };
            let time = clock(&time(n));
            let expected = json!({
                "requestId": id, "eventId": event, "userId": format!("p{n}"), "status": status,
                "uiResult": result, "requestedAt": time, "queuedAt": time, "startedAt": time,
                "finishedAt": time,
            });
            assert_eq!(scene.request(id), expected, "request {n} for {seats} seats");
        }
        let left = seats.saturating_sub(6);
        scene.person("bob").get(&format!("/events/{event}")).shows(&json!({
            "capacity": seats, "capacityRemaining": left,
        }));
    }
}

#[test]
fn while_many_come_at_once_and_are_decided_exactly_as_many_win_as_there_are_seats() {
    let scene = Scene::start();
    scene.first_come("E1", 7);
    let replies = at_once(40, |n| {
        if n % 4 == 3 {
            scene.pass("10:00");
        }
        // Everyone comes twice, and the second may be first.
        join_at(&scene, &format!("p{}", n / 2), "10:00")
    });
    let mut ids: Vec<String> = replies.iter().map(Reply::request_id).collect();
    for pair in replies.chunks(2) {
        let mut statuses: Vec<u16> = pair.iter().map(|reply| reply.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 202], "{pair:?}");
        assert_eq!(pair[0].request_id(), pair[1].request_id(), "{pair:?}");
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20, "one request for each user");
    scene.pass("10:30");
    assert_eq!(scene.summary("E1"), counts("SUCCEEDED 7, REJECTED 13"));
    scene.person("bob").get("/events/E1").shows(&json!({"capacityRemaining": 0}));
    for id in &ids {
        let statuses: Vec<String> = scene.log(id).into_iter().map(|(status, _)| status).collect();
        let end = scene.request(id)["status"].as_str().unwrap_or_default().to_owned();
        assert_eq!(statuses, ["RECEIVED", "QUEUED", "PROCESSING", &end], "{id}");
    }
}
