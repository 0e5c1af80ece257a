//! LOC-04 answers from memory for ten seconds: what caches and callers are told, and what ends it.

use serde_json::json;

use crate::locations::{delete, made, patch, path, restore};
use crate::scene::{Scene, clock};
use crate::serve::Reply;

const FREE: &str = "rcu=0, wcu=0";
const READ: &str = "rcu=0.5, wcu=0";

/// The list of a person at a time of the day.
fn list(scene: &Scene, who: &str, time: &str, query: &str) -> Reply {
    scene.person(who).at(&clock(time)).get(&format!("/locations{query}")).is(200)
}

#[test]
fn an_answer_from_memory_tells_its_age() {
    let scene = Scene::start();
    let austin = made(&scene, "austin", "09:00");
    let first = list(&scene, "rita", "10:00", "").cost(READ).lacks("age");
    let first = first.has("cache-control", "private, max-age=10").has("vary", "authorization");
    let second = list(&scene, "ron", "10:00:09", "").cost(FREE).has("age", "9");
    let second = second.has("cache-control", "private, max-age=10").has("vary", "authorization");
    assert_eq!(first.json(), second.json());
    second.has("latchkey-contract", "LOC-04");
    list(&scene, "rita", "10:00:10", "").cost(READ).lacks("age");
    // Other inputs, another list.
    list(&scene, "rita", "10:00:10", "?status=active").cost(READ).lacks("age");
    list(&scene, "rita", "10:00:10", "?pageSize=5").cost(READ).lacks("age");
    // Other contracts say that a cache must ask each time, and so do problems.
    let found = scene.person("rita").get(&path(&austin)).is(200);
    found.has("cache-control", "private, no-cache").lacks("age").lacks("vary");
    let bad = scene.person("rita").get("/locations?status=closed").refuses(400, "invalid-input");
    bad.lacks("cache-control").lacks("age");
    scene.nobody().get("/locations").refuses(401, "unauthenticated").lacks("age");

    let metrics = scene.nobody().get("/metrics").text;
    for (name, count) in [("hits", 1), ("misses", 4)] {
        let line = format!(
            "\nlatchkey_cache_{name}_total{{system=\"locations\",contract=\"LOC-04\"}} {count}\n"
        );
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[test]
fn every_change_through_the_server_is_seen_at_once() {
    let scene = Scene::start();
    let austin = made(&scene, "austin", "09:00");
    let names = |time: &str| {
        let reply = list(&scene, "rita", time, "?status=active");
        let items = reply.json()["items"].as_array().unwrap().clone();
        items.into_iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut operator = scene.operator().at(&clock("10:01"));
    assert_eq!(names("10:00"), ["Austin Main Center"]);
    assert_eq!(names("10:00"), ["Austin Main Center"]);
    made(&scene, "boone", "10:00");
    assert_eq!(names("10:00"), ["Austin Main Center"; 2]);
    let change = json!({"name": "Austin Annex", "expectedVersion": 1});
    patch(&mut operator, &path(&austin), &change).is(200);
    assert_eq!(names("10:00"), ["Austin Main Center", "Austin Annex"]);
    delete(&mut operator, &path(&austin)).is(200);
    assert_eq!(names("10:00"), ["Austin Main Center"]);
    restore(&mut operator, &path(&austin)).is(200);
    assert_eq!(names("10:00"), ["Austin Main Center", "Austin Annex"]);
}

// A caller's cursor leads to the page that another caller's call has read, and no cursor leads another caller there.
#[test]
fn pages_are_shared_and_cursors_are_not() {
    let scene = Scene::start();
    for (code, time) in [("one", "09:00"), ("two", "09:10"), ("three", "09:20")] {
        made(&scene, code, time);
    }
    let codes = |reply: &Reply| {
        let items = reply.json()["items"].as_array().unwrap().clone();
        items.into_iter().map(|item| item["locationCode"].clone()).collect::<Vec<_>>()
    };
    let next = |reply: &Reply| reply.json()["nextCursor"].as_str().unwrap().to_owned();
    let ritas = next(&list(&scene, "rita", "10:00", "?pageSize=1").cost(READ));
    let rons = next(&list(&scene, "ron", "10:00:01", "?pageSize=1").cost(FREE));
    assert_ne!(ritas, rons);
    let page = |who: &str, time: &str, cursor: &str| {
        list(&scene, who, time, &format!("?pageSize=1&nextCursor={cursor}"))
    };
    let second = page("rita", "10:00:02", &ritas).cost(READ);
    let shared = page("ron", "10:00:05", &rons).cost(FREE).has("age", "3");
    assert_eq!((codes(&second), codes(&shared)), (vec![json!("two")], vec![json!("two")]));
    let third = page("ron", "10:00:05", &next(&shared)).cost(READ);
    assert_eq!(codes(&third), [json!("one")]);
    let stolen = format!("/locations?pageSize=1&nextCursor={ritas}");
    scene.person("ron").at(&clock("10:00:05")).get(&stolen).refuses(400, "invalid-cursor");
}
