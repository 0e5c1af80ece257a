//! What is given: every bad field told at once, unknown ones by name, ids that cannot forge a key.

use serde_json::{Value, json};

use crate::scene::{Scene, clock};

#[test]
fn every_bad_field_is_told_at_once() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let body = json!({
        "eventId": "a#b", "action": "JUMP", "actorId": "", "result": 1, "metadata": [],
        "timestamp": "yesterday", "colour": "red",
    });
    let fields =
        ["/eventId", "/action", "/actorId", "/result", "/metadata", "/timestamp", "/colour"];
    alice.post("/lockers/L1/events", &body).blames(&fields);
    // Those of the path and the query among them.
    let all = [&fields[..], &["/lockerId", "/shape"]].concat();
    alice.post("/lockers/a%23b/events?shape=round", &body).blames(&all);
    let path = "/lockers/a%23b/reservations?startISO=x&order=y&pageSize=z&colour=red";
    let fields = ["/lockerId", "/startISO", "/endISO", "/order", "/pageSize", "/colour"];
    alice.get(path).blames(&fields);
    let path = "/lockers/%23/reservations/%23/cancel";
    alice.post(path, &json!({})).blames(&["/lockerId", "/reservationId"]);
}

/// Every contract with a good call of it: method, path, body.
fn good_calls() -> Vec<(&'static str, String, Value)> {
    let range = format!("startISO={}&endISO={}", clock("09:00"), clock("11:00"));
    vec![
        ("GET", "/lockers/L1?consistent=true".to_owned(), json!({})),
        ("GET", "/owners/alice/lockers?pageSize=5".to_owned(), json!({})),
        ("GET", format!("/lockers/L1/reservations?{range}"), json!({})),
        ("GET", "/lockers/L1/reservations/active?".to_owned(), json!({})),
        ("GET", format!("/lockers/L1/events?{range}"), json!({})),
        ("GET", "/lockers/L1/events/latest?".to_owned(), json!({})),
        (
            "PUT",
            "/lockers/L1/status?".to_owned(),
            json!({"newStatus": "OCCUPIED", "expectedVersion": 1}),
        ),
        ("POST", "/lockers?".to_owned(), json!({"ownerId": "alice"})),
        (
            "POST",
            "/lockers/L1/reservations?".to_owned(),
            json!({"ownerId": "alice", "startAt": clock("12:00"), "endAt": clock("13:00")}),
        ),
        (
            "POST",
            "/lockers/L1/events?".to_owned(),
            json!({"action": "OPEN", "actorId": "a", "result": "FAIL"}),
        ),
        ("POST", "/lockers/L1/reservations/R1/cancel?".to_owned(), json!({})),
        ("POST", "/lockers/L1/transfer?".to_owned(), json!({"newOwnerId": "bob"})),
    ]
}

#[test]
fn unknown_fields_are_refused_by_name() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.reservation("L1", "R1", "alice", "09:30-10:30");
    scene.event("L1", "E1", "09:45");
    let mut alice = scene.person("alice");
    for (method, path, body) in good_calls() {
        let text = (body != json!({})).then(|| body.to_string());
        let query = alice.send(method, &format!("{path}&colour=red"), &[], text.as_deref());
        query.blames(&["/colour"]);
        let mut more = body.clone();
        more["colour"] = json!({"red": 1});
        more["Colour"] = json!(null);
        let told = alice.send(method, &path, &[], Some(&more.to_string()));
        told.blames(&["/colour", "/Colour"]);
        // Nothing was wrong but that.
        let reply = alice.send(method, &path, &[], text.as_deref());
        assert!([200, 201].contains(&reply.status), "{reply}");
    }
}

#[test]
fn a_field_has_one_place() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    let mut bad = |method: &str, path: &str, body: Value, fields: &[&str]| {
        let text = (body != json!(null)).then(|| body.to_string());
        alice.send(method, path, &[], text.as_deref()).blames(fields);
    };
    let status = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    bad(
        "PUT",
        "/lockers/L1/status?newStatus=OCCUPIED&expectedVersion=1",
        json!({}),
        &["/newStatus", "/expectedVersion", "/newStatus", "/expectedVersion"],
    );
    let mut with_id = status.clone();
    with_id["lockerId"] = json!("L1");
    bad("PUT", "/lockers/L1/status", with_id, &["/lockerId"]);
    bad("GET", "/lockers/L1?lockerId=L1", json!(null), &["/lockerId"]);
    bad("GET", "/lockers/L1", json!({"consistent": true}), &["/consistent"]);
    bad("GET", "/owners/alice/lockers", json!({"pageSize": 5}), &["/pageSize"]);
    bad("GET", "/lockers/L1?consistent=true&consistent=true", json!(null), &["/consistent"]);
    bad("GET", "/lockers/L1?pageSize=5", json!(null), &["/pageSize"]);
    bad("GET", "/lockers/L1?nextCursor=x", json!(null), &["/nextCursor"]);
    bad("GET", "/lockers/L1?=x", json!(null), &["/"]);
    alice.put("/lockers/L1/status", &status).is(200);
}

#[test]
fn a_pointer_is_a_json_pointer() {
    let scene = Scene::start();
    let mut alice = scene.person("alice");
    let body = json!({"ownerId": "alice", "a/b": 1, "c~d": 2, "": 3, "e\"f": 4, "☃": 5});
    let fields = ["/a~1b", "/c~0d", "/", "/e\"f", "/☃"];
    alice.post("/lockers", &body).blames(&fields);
    // Names of any length and any characters do no harm.
    let long = "n".repeat(100_000);
    alice.post("/lockers", &json!({"ownerId": "alice", long: 1})).refuses(400, "invalid-input");
    let nul = "\u{0}\u{1b}\u{7f}\u{2028}";
    alice.post("/lockers", &json!({"ownerId": "alice", nul: 1})).refuses(400, "invalid-input");
}

/// What is no id, as a path carries it.
fn bad_ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "a%23b",
        "%23",
        "%00",
        "a%00b",
        "a%20b",
        "+",
        "a%2Fb",
        "%0A",
        "%F0%9F%94%91",
        "%C3%A9",
        "a~b",
        "a*b",
        "a,b",
        "%22",
        "%7B%7D",
        "a%25b",
        "a=b",
        "a;b",
        "a!b",
        "$",
        "%E2%80%8B",
        // No percent-encoding, or no UTF-8.
        "%",
        "%2",
        "%zz",
        "a%g1",
        "%ff",
        "%C3",
        "%ED%A0%80",
        "%F4%90%80%80",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("x".repeat(129));
    ids.push("x".repeat(3 * 1024));
    ids
}

#[test]
fn an_id_in_a_path_cannot_be_anything_else() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    for id in bad_ids() {
        let reply = operator.get(&format!("/lockers/{id}")).blames(&["/lockerId"]);
        reply.has("latchkey-contract", "QC-01").cost("rcu=0, wcu=0");
        operator.get(&format!("/owners/{id}/lockers")).blames(&["/ownerId"]);
        operator.get(&format!("/lockers/{id}/events/latest")).blames(&["/lockerId"]);
        let path = format!("/lockers/{id}/reservations/R1/cancel");
        operator.post(&path, &json!({})).blames(&["/lockerId"]);
        let path = format!("/lockers/L1/reservations/{id}/cancel");
        operator.post(&path, &json!({})).blames(&["/reservationId"]);
        let body = json!({"newOwnerId": "bob"});
        operator.post(&format!("/lockers/{id}/transfer"), &body).blames(&["/lockerId"]);
    }
    // Encoded or not, an id is the same.
    scene.locker("a|b:c", "alice");
    operator.get("/lockers/a%7Cb%3ac").is(200).shows(&json!({"lockerId": "a|b:c"}));
    operator.get("/lockers/%61|b:c").is(200);
    operator.get("/%6Cockers/a|b:c").is(200);
}

#[test]
fn an_id_in_a_body_cannot_be_anything_else() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let longest = "x".repeat(128);
    operator.post("/lockers", &json!({"lockerId": longest, "ownerId": longest})).is(201);
    operator.get(&format!("/owners/{longest}/lockers")).lists("lockerId", &[&longest], false);
    let too_long = "x".repeat(129);
    for bad in [
        json!("a#b"),
        json!("#"),
        json!(""),
        json!(" "),
        json!("a b"),
        json!("🔑"),
        json!("é"),
        json!("a\u{0}b"),
        json!("a/b"),
        json!("a%23b"),
        json!("a\nb"),
        json!(too_long),
        json!("x".repeat(3 * 1024)),
        json!(1),
        json!(true),
        json!(null),
        json!(["a"]),
        json!({"id": "a"}),
    ] {
        let body = json!({"lockerId": "L1", "ownerId": bad});
        operator.post("/lockers", &body).blames(&["/ownerId"]);
        let body = json!({"newOwnerId": bad});
        operator.post("/lockers/L1/transfer", &body).blames(&["/newOwnerId"]);
        if !bad.is_null() {
            let body = json!({"lockerId": bad, "ownerId": "alice"});
            operator.post("/lockers", &body).blames(&["/lockerId"]);
        }
    }
}

#[test]
fn a_broken_query_is_refused() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for value in ["%", "%zz", "%2", "%ff", "%C3"] {
        alice.get(&format!("/lockers/L1?consistent={value}")).blames(&["/consistent"]);
        let nameless = alice.get(&format!("/lockers/L1?{value}=true"));
        nameless.refuses(400, "invalid-input").has("latchkey-contract", "QC-01");
    }
    for nothing in ["?", "?&", "?&&", "?&consistent=true&"] {
        alice.get(&format!("/lockers/L1{nothing}")).is(200);
    }
    let many: String = (0..500).map(|n| format!("&n{n}=1")).collect();
    alice.get(&format!("/lockers/L1?{many}")).refuses(400, "invalid-input");
}

#[test]
fn null_is_no_failure_of_the_server() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut alice = scene.person("alice");
    for (path, body) in [
        ("/lockers", json!({"ownerId": "alice", "lockerAlias": null})),
        ("/lockers", json!({"ownerId": "alice", "locationId": null})),
        ("/lockers", json!({"ownerId": "alice", "lockerId": null})),
        ("/lockers/L1/transfer", json!({"newOwnerId": "alice", "expectedVersion": null})),
        (
            "/lockers/L1/events",
            json!({"action": "OPEN", "actorId": "a", "result": "FAIL", "metadata": null}),
        ),
    ] {
        let reply = alice.post(path, &body);
        if reply.status == 400 {
            reply.refuses(400, "invalid-input");
        } else {
            assert!([200, 201].contains(&reply.status), "{reply}");
            assert!(!reply.text.contains("null"), "what is absent is left out; {reply}");
        }
    }
}
