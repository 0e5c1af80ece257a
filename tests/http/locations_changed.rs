//! LOC-05, LOC-06 and LOC-07: locations that are given up, changed and restored.

use serde_json::{Value, json};

use crate::locations::{NOWHERE, delete, made, patch, path, place, restore};
use crate::scene::{Scene, at_once, clock};
use crate::serve::{Client, Reply};
use crate::verdict::one_acted;

#[test]
fn a_location_is_given_up_and_restored_and_each_twice_is_once() {
    let scene = Scene::start();
    let location = made(&scene, "austin", "09:00");
    let at = path(&location);
    let mut operator = scene.operator();
    type Act = fn(&mut Client, &str) -> Reply;
    let acts: [(Act, &str, &str, &str); 4] = [
        (restore, "LOC-07", "active", ""),
        (delete, "LOC-05", "inactive", "11:00"),
        (restore, "LOC-07", "active", "12:00"),
        (delete, "LOC-05", "inactive", "13:00"),
    ];
    let (mut version, mut updated) = (1, clock("09:00"));
    for (act, contract, status, time) in acts {
        if !time.is_empty() {
            operator.now = Some(clock(time));
            (version, updated) = (version + 1, clock(time));
            let moved = act(&mut operator, &at).is(200).has("latchkey-contract", contract);
            // The item, its entry among all, and its old and its new entry by status.
            moved.cost("rcu=1, wcu=4").has("etag", &format!("\"{version}\""));
        }
        operator.now = Some(clock("20:00"));
        for _ in 0..2 {
            let again = act(&mut operator, &at).is(200).cost("rcu=1, wcu=0");
            let again = again.has("etag", &format!("\"{version}\""));
            let again = again.shows(&json!({
                "locationId": location["locationId"], "status": status, "version": version,
                "createdAt": clock("09:00"), "updatedAt": updated,
            }));
            operator.get(&at).is(200).shows_just(&again.json());
            operator.get("/locations/by-code/austin").is(200).shows_just(&again.json());
            let page = json!({"items": [again.json()], "nextCursor": null});
            operator.get("/locations").is(200).shows_just(&page);
            operator.get(&format!("/locations?status={status}")).is(200).shows_just(&page);
            let other = if status == "active" { "inactive" } else { "active" };
            operator.get(&format!("/locations?status={other}")).is(200).counts(0);
        }
        operator.post("/locations", &place("austin")).refuses(409, "code-taken");
    }
}

#[test]
fn of_many_who_give_a_location_up_at_once_all_are_answered_and_one_writes() {
    let scene = Scene::start();
    let location = made(&scene, "austin", "09:00");
    let at = path(&location);
    for reply in at_once(16, |_| delete(&mut scene.operator(), &at)) {
        reply.is(200).shows(&json!({"status": "inactive", "version": 2}));
    }
    scene.operator().get(&at).shows(&json!({"status": "inactive", "version": 2}));
}

#[test]
fn a_change_sets_what_it_names_and_leaves_the_rest() {
    let scene = Scene::start();
    let mut now = made(&scene, "austin", "09:00");
    let at = path(&now);
    let mut operator = scene.operator();
    let changes = [
        json!({"name": "Center"}),
        json!({"placeId": "ChIJother"}),
        json!({"formattedAddress": "Elsewhere"}),
        json!({"addressComponents": {"city": "Austin"}}),
        json!({"lat": -90}),
        json!({"lng": 0.5}),
        json!({"name": "All", "lat": 1, "lng": 2, "addressComponents": {}}),
        json!({}),
    ];
    for (n, change) in changes.iter().enumerate() {
        let version = now["version"].as_u64().unwrap();
        let time = clock(&format!("11:0{n}"));
        operator.now = Some(time.clone());
        let mut body = change.clone();
        body["expectedVersion"] = json!(version);
        for (name, value) in change.as_object().unwrap() {
            now[name] = value.clone();
        }
        (now["version"], now["updatedAt"]) = (json!(version + 1), json!(time));
        let changed = patch(&mut operator, &at, &body).is(200).has("latchkey-contract", "LOC-06");
        changed.has("etag", &format!("\"{}\"", version + 1)).shows_just(&now);
        operator.get(&at).is(200).shows_just(&now);
        let page = json!({"items": [now], "nextCursor": null});
        operator.get("/locations").is(200).shows_just(&page);
        operator.get("/locations?status=active").is(200).shows_just(&page);
    }
    let body = json!({"addressComponents": null, "expectedVersion": now["version"]});
    let bare = patch(&mut operator, &at, &body).is(200).json();
    assert_eq!(bare.get("addressComponents"), None, "null takes it out: {bare}");
    // An inactive one too.
    let inactive = delete(&mut operator, &at).is(200).json();
    let body = json!({"name": "Closed", "expectedVersion": inactive["version"]});
    let changed = patch(&mut operator, &at, &body).is(200);
    changed.shows(&json!({"name": "Closed", "status": "inactive"}));
}

#[test]
fn a_change_is_of_the_version_it_knows() {
    let scene = Scene::start();
    let location = made(&scene, "austin", "09:00");
    let at = path(&location);
    let mut operator = scene.operator();
    let body = |version: u64| json!({"name": format!("At {version}"), "expectedVersion": version});
    let now = patch(&mut operator, &at, &body(1)).is(200).json();
    for stale in [1, 3, 1000] {
        let refused = patch(&mut operator, &at, &body(stale)).refuses(409, "version-conflict");
        refused.shows(&json!({"currentVersion": 2})).cost("rcu=1, wcu=0");
    }
    let send = |client: &mut Client, tag: &str, body: &Value| {
        client.send("PATCH", &at, &[("if-match", tag)], Some(&body.to_string()))
    };
    let name = json!({"name": "By header"});
    let refused = send(&mut operator, "\"1\"", &name).refuses(412, "version-conflict");
    refused.shows(&json!({"currentVersion": 2}));
    operator.get(&at).is(200).shows_just(&now);
    send(&mut operator, "\"2\"", &name).is(200).has("etag", "\"3\"");
    patch(&mut operator, &at, &name).blames(&["/expectedVersion"]);

    let replies = at_once(16, |_| patch(&mut scene.operator(), &at, &body(3)));
    one_acted(&replies, 200, (409, "version-conflict"));
    for reply in replies {
        let name = if reply.status == 200 { "version" } else { "currentVersion" };
        reply.shows(&json!({name: 4}));
    }
}

#[test]
fn what_a_location_is_changed_with_is_looked_at() {
    let scene = Scene::start();
    let location = made(&scene, "austin", "09:00");
    let at = path(&location);
    let mut operator = scene.operator();
    let cases = [
        ("name", json!("")),
        ("name", json!(null)),
        ("placeId", json!(null)),
        ("formattedAddress", json!(null)),
        ("lat", json!(null)),
        ("lat", json!(90.1)),
        ("lng", json!(-180.5)),
        ("addressComponents", json!([])),
        ("locationCode", json!("boston")),
        ("status", json!("inactive")),
        ("locationId", json!(NOWHERE)),
        ("version", json!(2)),
    ];
    for (name, value) in cases {
        let body = json!({name: value, "expectedVersion": 1});
        patch(&mut operator, &at, &body).blames(&[&format!("/{name}")]).cost("rcu=0, wcu=0");
    }
    for version in [json!(0), json!("1"), json!(1.5), json!(null)] {
        let body = json!({"expectedVersion": version});
        patch(&mut operator, &at, &body).blames(&["/expectedVersion"]);
    }
    operator.get(&at).is(200).shows_just(&location);
}
