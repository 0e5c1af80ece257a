//! AD-02 to AD-06: what an admin makes, sees and counts; and who is one.

use serde_json::{Value, json};

use crate::participants::{NO_REQUEST, STATUSES, counts, join, names};
use crate::scene::{Scene, at_once, clock};
use crate::serve::{Client, Reply, backend};
use crate::verdict::one_acted;

/// What an event is made of, with members changed, or taken out by null.
fn event(changes: &Value) -> Value {
    let mut body = json!({"eventId": "E1", "title": "Opening night"});
    let members = body.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
    body
}

fn make(client: &mut Client, changes: &Value) -> Reply {
    client.post("/admin/events", &event(changes))
}

/// Both kinds of events, each with what it needs.
fn both() -> [Value; 2] {
    [json!({"mode": "FIRST_COME", "capacity": 3}), json!({"mode": "LOTTERY", "winRate": 0.25})]
}

fn hex64(text: &Value) -> bool {
    text.as_str()
        .is_some_and(|text| text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()))
}

#[test]
fn an_event_is_answered_with_all_its_fields_and_where_it_is() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    let times = json!({"opensAt": "2026-02-25T11:00:00+01:00", "closesAt": clock("12:00")});
    for (id, kind) in [("first", &both()[0]), ("lots", &both()[1])] {
        let mut body = kind.clone();
        let members = body.as_object_mut().unwrap();
        members.extend(times.as_object().unwrap().clone());
        members.insert("eventId".to_owned(), json!(id));
        let made = make(&mut admin, &body).is(201).has("latchkey-contract", "AD-04");
        let made = made.has("location", &format!("/events/{id}"));
        let mut expected = event(&body);
        expected["opensAt"] = json!(clock("10:00"));
        if id == "first" {
            expected["capacityRemaining"] = json!(3);
        } else {
            let commitment = made.json()["commitment"].clone();
            assert!(hex64(&commitment), "a commitment is published; {made}");
            expected["commitment"] = commitment;
        }
        made.shows_just(&expected);
        admin.get(&format!("/events/{id}")).is(200).shows_just(&expected);
    }
}

#[test]
fn an_event_without_an_id_is_given_a_ulid() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    let mut ids = Vec::new();
    for mut kind in both() {
        kind["eventId"] = json!(null);
        let made = make(&mut admin, &kind).is(201);
        let id = made.json()["eventId"].as_str().unwrap_or_default().to_owned();
        assert_eq!(id.len(), 26, "a ULID; {made}");
        let made = made.has("location", &format!("/events/{id}"));
        admin.get(&format!("/events/{id}")).is(200).shows_just(&made.json());
        scene.joins("alice", &id, "10:00");
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1], "each has its own");
}

#[test]
fn an_id_is_used_once() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    let first = make(&mut admin, &both()[0]).is(201).json();
    scene.joins("alice", "E1", "10:00");
    for kind in both() {
        let refused = make(&mut admin, &kind).refuses(409, "event-exists");
        refused.has("latchkey-contract", "AD-04");
    }
    make(&mut scene.someone("eve", &["admin"], &[]), &both()[1]).refuses(409, "event-exists");
    scene.pass("11:00");
    make(&mut admin, &both()[0]).refuses(409, "event-exists");
    let mut now = first;
    now["capacityRemaining"] = json!(2);
    admin.get("/events/E1").is(200).shows_just(&now);
    let replies = at_once(8, |n| {
        let mut kind = both()[n % 2].clone();
        kind["eventId"] = json!("wanted");
        make(&mut scene.admin(), &kind)
    });
    one_acted(&replies, 201, (409, "event-exists"));
    let winner = replies.iter().find(|reply| reply.status == 201).unwrap();
    admin.get("/events/wanted").is(200).shows_just(&winner.json());
}

#[test]
fn seats_are_for_who_comes_first_and_a_rate_for_a_lottery() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    for mode in ["FIRST_COME", "LOTTERY"] {
        for capacity in [json!(null), json!(0), json!(5)] {
            for rate in [json!(null), json!(0), json!(0.5)] {
                let body = json!({"mode": mode, "capacity": capacity, "winRate": rate});
                let first = mode == "FIRST_COME";
                let (needed, other) = if first { (&capacity, &rate) } else { (&rate, &capacity) };
                if needed.is_null() || !other.is_null() {
                    let refused = make(&mut admin, &body);
                    assert_eq!(refused.status, 400, "{refused}");
                    // Both are named: what is needed, and what is not taken.
                    let detail = refused.json()["detail"].to_string();
                    let named = ["capacity", "winRate"].iter().all(|name| detail.contains(name));
                    assert!(named && detail.contains(mode), "{refused}");
                    let refused = refused.tells_a_problem().has("latchkey-contract", "AD-04");
                    assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{refused}");
                    admin.get("/events/E1").refuses(404, "not-found");
                } else {
                    let mut body = body;
                    body["eventId"] = json!(format!("{mode}-{capacity}-{rate}").replace('"', ""));
                    make(&mut admin, &body).is(201);
                }
            }
        }
    }
}

#[test]
fn what_an_event_is_made_of_is_looked_at() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    admin.post("/admin/events", &json!({})).blames(&["/mode", "/title"]).cost("rcu=0, wcu=0");
    let first = |name: &str, value: Value| {
        let mut body = both()[0].clone();
        body[name] = value;
        body
    };
    for (name, value) in [
        ("eventId", json!("a#b")),
        ("eventId", json!("")),
        ("eventId", json!(7)),
        ("eventId", json!("x".repeat(129))),
        ("title", json!(7)),
        ("title", json!("x".repeat(100_000))),
        ("mode", json!("first_come")),
        ("mode", json!("")),
        ("mode", json!(["LOTTERY"])),
        ("capacity", json!(-1)),
        ("capacity", json!(0.5)),
        ("capacity", json!("3")),
        ("capacity", json!(true)),
        ("capacity", json!(u64::MAX)),
        ("opensAt", json!("10:00")),
        ("closesAt", json!(1_772_013_600)),
        ("capacityRemaining", json!(3)),
        ("commitment", json!("0".repeat(64))),
        ("revealedKey", json!("0".repeat(64))),
        ("drawKey", json!("0".repeat(64))),
        ("more", json!(1)),
    ] {
        let refused = make(&mut admin, &first(name, value)).blames(&[&format!("/{name}")]);
        refused.has("latchkey-contract", "AD-04").cost("rcu=0, wcu=0");
    }
    for number in
        ["-1", "-0.000000001", "1.000000000000000000000000000000001", "2", "\"0.5\"", "[]"]
    {
        let body = format!(r#"{{"eventId":"E1","title":"x","mode":"LOTTERY","winRate":{number}}}"#);
        admin.send("POST", "/admin/events", &[], Some(&body)).blames(&["/winRate"]);
    }
    admin.get("/events/E1").refuses(404, "not-found");
    let longest = "x".repeat(128);
    make(&mut admin, &first("eventId", json!(longest))).is(201);
}

#[test]
fn a_rate_is_kept_digit_for_digit() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    for (n, (rate, shown)) in [
        ("0", "0"),
        ("1", "1"),
        ("1.0", "1"),
        ("1e-7", "0.0000001"),
        ("0.12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"),
        ("0.99999999999999999999999999999999999999", "0.99999999999999999999999999999999999999"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = format!(r#"{{"eventId":"E{n}","title":"x","mode":"LOTTERY","winRate":{rate}}}"#);
        let made = admin.send("POST", "/admin/events", &[], Some(&body)).is(201);
        for reply in [made, admin.get(&format!("/events/E{n}")).is(200)] {
            assert!(reply.text.contains(&format!("\"winRate\":{shown},")), "{shown}; {reply}");
        }
    }
}

#[test]
fn an_event_made_again_under_its_key_is_the_same_event() {
    let scene = Scene::start();
    let mut admin = scene.admin();
    let mut keyed = |body: &Value| {
        let headers = [("idempotency-key", "k")];
        admin.send("POST", "/admin/events", &headers, Some(&body.to_string()))
    };
    let body = json!({"title": "x", "mode": "LOTTERY", "winRate": 0.5});
    let first = keyed(&body).is(201);
    // The same id and the same commitment: no other key was drawn.
    let again = keyed(&body).is(201).has("location", first.header("location"));
    again.shows_just(&first.json());
    keyed(&json!({"title": "y", "mode": "LOTTERY", "winRate": 0.5}))
        .refuses(422, "idempotency-key-reused");
}

#[test]
fn an_admin_finds_a_request_by_its_id() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let id = scene.joins("alice", "E1", "10:00");
    let mut admin = scene.admin();
    let path = format!("/admin/requests/{id}");
    for _ in 0..2 {
        let seen = scene.person("alice").get(&format!("/requests/{id}")).is(200).json();
        let shown = admin.get(&path).is(200).has("latchkey-contract", "AD-02").shows_just(&seen);
        assert_eq!(shown.json()["requestId"], id);
        scene.pass("11:00");
    }
    let nowhere = format!("/admin/requests/{NO_REQUEST}");
    admin.get(&nowhere).refuses(404, "not-found").has("latchkey-contract", "AD-02");
    admin.get("/admin/requests/nope").blames(&["/requestId"]);
}

#[test]
fn every_change_of_status_is_logged_oldest_first() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    let won = scene.joins("alice", "E1", "10:00");
    let lost = scene.joins("bob", "E1", "10:00");
    let logged = |id: &str, expected: &[(&str, &str)]| {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(status, at)| ((*status).to_owned(), clock(at))).collect();
        assert_eq!(scene.log(id), expected, "the log of {id}");
    };
    let accepted = [("RECEIVED", "10:00"), ("QUEUED", "10:00")];
    logged(&won, &accepted);
    scene.queue("participations", "holds");
    scene.pass("10:07");
    logged(&won, &accepted);
    scene.queue("participations", "works");
    scene.pass("10:08");
    let [received, queued] = accepted;
    let processing = ("PROCESSING", "10:07");
    // One of them has the seat. Several changes fall on one instant, and each is there.
    let (won, lost) =
        if scene.request(&won)["status"] == "SUCCEEDED" { (won, lost) } else { (lost, won) };
    logged(&won, &[received, queued, processing, ("SUCCEEDED", "10:07")]);
    logged(&lost, &[received, queued, processing, ("REJECTED", "10:07")]);
    let request = scene.request(&won);
    for (name, at) in [
        ("requestedAt", "10:00"),
        ("queuedAt", "10:00"),
        ("startedAt", "10:07"),
        ("finishedAt", "10:07"),
    ] {
        assert_eq!(request[name], clock(at), "`{name}` of {request}");
    }
    let mut admin = scene.admin();
    let path = format!("/admin/requests/{won}/logs");
    let page = admin.get(&path).is(200).has("latchkey-contract", "AD-03");
    for line in page.items() {
        assert_eq!(names(&line), ["occurredAt", "status"], "a line of the log; {page}");
    }
    let nowhere = format!("/admin/requests/{NO_REQUEST}/logs");
    admin.get(&nowhere).refuses(404, "not-found").has("latchkey-contract", "AD-03");
    // A repeat is no change.
    join(&mut scene.person("alice").at(&clock("12:00")), "E1").is(200);
    assert_eq!(scene.log(&won).len(), 4);
}

#[test]
fn times_never_run_backwards_within_a_request() {
    let scene = Scene::start();
    scene.first_come("E1", 3);
    // The clock of whoever decides stands before, at and after the time the request was made.
    for (n, clock_at) in ["09:00", "10:00", "11:00"].into_iter().enumerate() {
        scene.pass(clock_at);
        let id = scene.joins(&format!("p{n}"), "E1", "10:00");
        scene.pass("12:00");
        let request = scene.request(&id);
        let mut times: Vec<&str> = ["requestedAt", "queuedAt", "startedAt", "finishedAt"]
            .iter()
            .map(|name| request[name].as_str().unwrap_or_default())
            .collect();
        assert!(times.is_sorted() && times[0] == clock("10:00"), "{request}");
        let log = scene.log(&id);
        assert!(log.iter().map(|(_, at)| at).is_sorted(), "{log:?}");
        times.dedup();
        let mut logged: Vec<&str> = log.iter().map(|(_, at)| at.as_str()).collect();
        logged.dedup();
        assert_eq!(logged, times, "the log tells the times of the request");
    }
}

#[test]
fn the_summary_counts_each_request_once_at_every_stage() {
    let scene = Scene::start();
    scene.first_come("E1", 3);
    scene.first_come("E2", 3);
    let mut joined = 0;
    let mut join_some = |count: u32, time: &str| {
        for _ in 0..count {
            joined += 1;
            scene.joins(&format!("p{joined}"), "E1", time);
        }
    };
    let counted = |words: &str| {
        let reply = scene.admin().get("/admin/events/E1/summary").is(200);
        let by_status = counts(words);
        assert_eq!(names(&by_status).len(), STATUSES.len());
        reply.has("latchkey-contract", "AD-06").shows(&json!({"byStatus": by_status}));
    };
    counted("");
    join_some(20, "10:00");
    counted("QUEUED 20");
    // Repeats are counted once.
    for n in 1..=20 {
        join(&mut scene.person(&format!("p{n}")), "E1").is(200);
    }
    counted("QUEUED 20");
    scene.queue("participations", "refuses");
    join_some(4, "10:01");
    counted("QUEUED 20, FAILED_FINAL 4");
    scene.queue("participations", "holds");
    join_some(6, "10:02");
    scene.pass("10:10");
    counted("QUEUED 26, FAILED_FINAL 4");
    scene.queue("participations", "works");
    scene.pass("10:11");
    counted("SUCCEEDED 3, REJECTED 23, FAILED_FINAL 4");
    join_some(1, "10:12");
    counted("QUEUED 1, SUCCEEDED 3, REJECTED 23, FAILED_FINAL 4");
    assert_eq!(scene.summary("E2"), counts(""), "another event's are its own");
    let nowhere = scene.admin().get("/admin/events/E9/summary").refuses(404, "not-found");
    nowhere.has("latchkey-contract", "AD-06");
}

#[test]
fn the_summary_reads_no_more_the_more_there_are() {
    let scene = Scene::start();
    scene.first_come("E1", 3);
    let cost = |scene: &Scene| {
        let reply = scene.admin().get("/admin/events/E1/summary").is(200);
        let (read, _) = reply.header("latchkey-capacity").split_once(", wcu=0").unwrap();
        read.strip_prefix("rcu=").unwrap().parse::<f64>().unwrap()
    };
    let (mut costs, each) = (Vec::new(), backend::rounds(40));
    for round in 0..3 {
        for n in 0..each {
            scene.joins(&format!("p{round}-{n}"), "E1", "10:00");
        }
        costs.push(cost(&scene));
    }
    scene.pass("11:00");
    costs.push(cost(&scene));
    assert!(costs.iter().all(|cost| *cost <= 32.0), "units read: {costs:?}");
    let rest = format!("SUCCEEDED 3, REJECTED {}", 3 * each - 3);
    assert_eq!(scene.summary("E1"), counts(&rest));
}

#[test]
fn only_an_admin_is_an_admin() {
    let scene = Scene::start();
    scene.event_of("E1", &json!({"mode": "LOTTERY", "winRate": 1, "closesAt": clock("09:30")}));
    let mut early = scene.person("alice").at(&clock("09:00"));
    let id = join(&mut early, "E1").is(202).request_id();
    scene.pass("10:00");
    let made = json!({"eventId": "E2", "title": "x", "mode": "FIRST_COME", "capacity": 1});
    let rows = [
        ("AD-01", "GET", "/admin/events/E1/requests".to_owned(), None, 200),
        ("AD-02", "GET", format!("/admin/requests/{id}"), None, 200),
        ("AD-03", "GET", format!("/admin/requests/{id}/logs"), None, 200),
        ("AD-04", "POST", "/admin/events".to_owned(), Some(made.to_string()), 201),
        ("AD-05", "POST", "/admin/events/E1/reveal".to_owned(), None, 200),
        ("AD-06", "GET", "/admin/events/E1/summary".to_owned(), None, 200),
    ];
    for (contract, method, path, body, status) in &rows {
        let refused = |mut client: Client, status: u16, code: &str| {
            let reply = client.send(method, path, &[], body.as_deref()).refuses(status, code);
            let reply = reply.has("latchkey-contract", contract).names_its_contract();
            assert!(reply.header("latchkey-capacity").ends_with("wcu=0"), "{reply}");
            assert!(!reply.text.contains(&id), "{reply}");
        };
        refused(scene.nobody(), 401, "unauthenticated");
        // The user whose request it is, others, other roles, and names that are no roles.
        refused(scene.person("alice"), 403, "forbidden");
        refused(scene.person("admin"), 403, "forbidden");
        refused(scene.operator(), 403, "forbidden");
        refused(scene.someone("door", &["device"], &[]), 403, "forbidden");
        refused(scene.someone("bob", &["Admin", "root"], &["admin", "alice"]), 403, "forbidden");
        let mut admin = scene.someone("eve", &["device", "admin"], &[]);
        let reply = admin.send(method, path, &[], body.as_deref()).is(*status);
        reply.has("latchkey-contract", contract);
    }
    scene.admin().get("/events/E2").is(200);
}
