//! AD-07 and AD-08: the list of events, and what can be changed of one until it closes.

use serde_json::{Value, json};

use crate::participants::{join, names};
use crate::scene::{Scene, at_once, clock};
use crate::serve::{Client, Reply};

fn patch(client: &mut Client, event: &str, body: &Value) -> Reply {
    client.send("PATCH", &format!("/admin/events/{event}"), &[], Some(&body.to_string()))
}

#[test]
fn events_are_listed_newest_first_in_full_pages() {
    let scene = Scene::start();
    let mut expected = Vec::new();
    for n in 0..33 {
        // Some of one instant: the later id comes first.
        let (id, time) = (format!("E{n:02}"), clock(&format!("09:{:02}", n / 2)));
        let body = match n % 3 {
            0 => json!({"eventId": id, "title": "Draw", "mode": "LOTTERY", "winRate": 0.5}),
            _ => json!({"eventId": id, "title": "Seats", "mode": "FIRST_COME", "capacity": n}),
        };
        scene.admin().at(&time).post("/admin/events", &body).is(201);
        expected.insert(0, id);
    }
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let mut admin = scene.admin();
    let page = admin.get("/admin/events").is(200).has("latchkey-contract", "AD-07");
    page.lists("eventId", &expected[..25], true);
    for limit in [1, 7, 32, 33, 34, 100] {
        let mut cursor = String::new();
        for (at, page) in expected.chunks(limit).enumerate() {
            let more = (at + 1) * limit < expected.len();
            let reply = admin.get(&format!("/admin/events?limit={limit}{cursor}")).is(200);
            let reply = reply.lists("eventId", page, more);
            cursor = format!("&nextCursor={}", reply.next().unwrap_or_default());
        }
    }
    for item in admin.get("/admin/events?limit=100").items() {
        let id = item["eventId"].as_str().unwrap_or_default();
        let mut event = admin.get(&format!("/events/{id}")).is(200).json();
        // The seats that are left are counted elsewhere.
        event.as_object_mut().unwrap().remove("capacityRemaining");
        assert_eq!(item, event, "all of its fields, and never the key");
    }
    for bad in ["0", "101", "x"] {
        admin.get(&format!("/admin/events?limit={bad}")).blames(&["/limit"]);
    }
    let next = admin.get("/admin/events?limit=5").next().unwrap();
    let mut other = scene.someone("eve", &["admin"], &[]);
    other.get(&format!("/admin/events?limit=5&nextCursor={next}")).refuses(400, "invalid-cursor");
    for mut client in [scene.person("alice"), scene.operator()] {
        client.get("/admin/events").refuses(403, "forbidden");
    }
    scene.nobody().get("/admin/events").refuses(401, "unauthenticated");
}

#[test]
fn an_event_that_is_made_twice_is_listed_once() {
    let scene = Scene::start();
    let replies = at_once(6, |_| {
        let body = json!({"eventId": "E1", "title": "Seats", "mode": "FIRST_COME", "capacity": 1});
        scene.admin().post("/admin/events", &body)
    });
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    scene.admin().get("/admin/events").is(200).lists("eventId", &["E1"], false);
}

#[test]
fn a_change_sets_what_is_sent_and_leaves_the_rest() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    for (id, kind) in [
        ("seats", json!({"mode": "FIRST_COME", "capacity": 3})),
        ("lots", json!({"mode": "LOTTERY", "winRate": 0.25})),
    ] {
        let mut event = scene.event_of(id, &kind);
        event.as_object_mut().unwrap().remove("capacityRemaining");
        for (sent, title, closes) in [
            (json!({}), "Opening night", None),
            (json!({"title": "Last night"}), "Last night", None),
            (json!({"closesAt": clock("12:00")}), "Last night", Some("12:00")),
            (
                json!({"title": "First night", "closesAt": clock("11:00")}),
                "First night",
                Some("11:00"),
            ),
            (json!({"closesAt": clock("10:00")}), "First night", Some("10:00")),
        ] {
            event["title"] = json!(title);
            if let Some(closes) = closes {
                event["closesAt"] = json!(clock(closes));
            }
            let mut early = scene.admin().at(&clock("09:59:59.999"));
            let changed = patch(&mut early, id, &sent).is(200).has("latchkey-contract", "AD-08");
            changed.shows_just(&event);
            let shown = admin.get(&format!("/events/{id}")).is(200);
            let mut shown = shown.json();
            shown.as_object_mut().unwrap().remove("capacityRemaining");
            assert_eq!(shown, event);
        }
    }
    let listed = admin.get("/admin/events").is(200);
    assert_eq!(listed.listed("title"), ["First night", "First night"], "{listed}");
}

#[test]
fn what_has_closed_stays_closed() {
    let scene = Scene::start();
    let closing = json!({"mode": "LOTTERY", "winRate": 1, "closesAt": clock("10:00")});
    scene.event_of("E1", &closing);
    let mut admin = scene.admin();
    for body in [
        json!({"title": "Again"}),
        json!({"closesAt": clock("12:00")}),
        json!({"closesAt": null}),
        json!({}),
    ] {
        let refused = patch(&mut admin, "E1", &body).refuses(409, "event-closed");
        refused.has("latchkey-contract", "AD-08").cost("rcu=1, wcu=0");
    }
    admin.post("/admin/events/E1/reveal", &json!({})).is(200);
    patch(&mut admin, "E1", &json!({"title": "Again"})).refuses(409, "event-closed");
    // Revealed is final for a clock that is behind, too.
    let mut behind = scene.admin().at(&clock("09:30"));
    let refused = patch(&mut behind, "E1", &json!({"closesAt": clock("12:00")}));
    refused.refuses(409, "event-closed");
    admin.get("/events/E1").shows(&json!({"title": "Opening night", "closesAt": clock("10:00")}));
    patch(&mut admin, "E9", &json!({})).refuses(404, "not-found");
}

#[test]
fn an_event_closes_by_the_time_it_was_given_last() {
    let scene = Scene::start();
    scene.event_of("E1", &json!({"mode": "FIRST_COME", "capacity": 9, "closesAt": clock("11:00")}));
    let joins = |who: &str, time: &str| join(&mut scene.person(who).at(&clock(time)), "E1");
    let change = |time: &str, closes: Value| {
        let mut admin = scene.admin().at(&clock(time));
        patch(&mut admin, "E1", &json!({"closesAt": closes}))
    };
    joins("alice", "10:00").is(202);
    change("10:10", json!(clock("10:30"))).is(200);
    joins("bob", "10:29:59.999").is(202);
    joins("carol", "10:30").refuses(409, "event-closed");
    change("10:29:59.999", json!(clock("12:00"))).is(200);
    joins("carol", "11:30").is(202);
    change("11:30", json!(null)).is(200).shows(&json!({"eventId": "E1"}));
    joins("dan", "23:00").is(202);
    let event = scene.admin().get("/events/E1").json();
    assert!(!names(&event).contains(&"closesAt"), "it never closes: {event}");
    // Whoever takes part has the same answer afterwards, closed or not.
    change("23:00", json!(clock("23:30"))).is(200);
    joins("bob", "23:45").is(200);
    joins("eve", "23:45").refuses(409, "event-closed");
}

#[test]
fn an_event_does_not_close_in_the_past_nor_before_it_opens() {
    let scene = Scene::start();
    scene.event_of("E1", &json!({"mode": "FIRST_COME", "capacity": 9, "opensAt": clock("11:00")}));
    let mut admin = scene.admin();
    for closes in ["09:00", "09:59:59.999", "10:30", "11:00"] {
        let body = json!({"closesAt": clock(closes)});
        let refused = patch(&mut admin, "E1", &body).refuses(400, "invalid-time-range");
        assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{refused}");
    }
    patch(&mut admin, "E1", &json!({"closesAt": clock("11:00:00.001")})).is(200);
    for (body, pointer) in [
        (json!({"title": ""}), "/title"),
        (json!({"title": null}), "/title"),
        (json!({"closesAt": "soon"}), "/closesAt"),
        (json!({"mode": "LOTTERY"}), "/mode"),
        (json!({"capacity": 10}), "/capacity"),
        (json!({"winRate": 1}), "/winRate"),
        (json!({"opensAt": clock("12:00")}), "/opensAt"),
    ] {
        patch(&mut admin, "E1", &body).blames(&[pointer]).cost("rcu=0, wcu=0");
    }
    for mut client in [scene.person("alice"), scene.operator()] {
        patch(&mut client, "E1", &json!({"title": "Mine"})).refuses(403, "forbidden");
    }
}

#[test]
fn of_a_reveal_and_a_change_at_once_one_wins() {
    let scene = Scene::start();
    for round in 0..5 {
        let id = format!("E{round}");
        let closing = json!({"mode": "LOTTERY", "winRate": 1, "closesAt": clock("10:00")});
        scene.event_of(&id, &closing);
        // One clock says that it has closed, the other that it has not.
        let replies = at_once(2, |n| match n {
            0 => scene.admin().post(&format!("/admin/events/{id}/reveal"), &json!({})),
            _ => {
                let mut behind = scene.admin().at(&clock("09:59:59.999"));
                patch(&mut behind, &id, &json!({"closesAt": clock("12:00")}))
            }
        });
        let done: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        assert!([vec![200, 409], vec![409, 200]].contains(&done), "{done:?}");
        let event = scene.admin().get(&format!("/events/{id}")).json();
        let revealed = names(&event).contains(&"revealedKey");
        assert_eq!(revealed, event["closesAt"] == json!(clock("10:00")), "{event}");
    }
}
