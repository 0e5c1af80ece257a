//! `snapshot { … }`: several gets with one request, at one instant; the `else` of each is decided in their order.

use latchkey_runtime::explain;

use crate::support::World;

const PORT: &str = r#"
entity Boat "BOAT" {
  PK = "BOAT#{boatId}"
  SK = "META"
  boatId id, berthId id
}
entity Berth "BERTH" {
  PK = "BERTH#{berthId}"
  SK = "META"
  berthId id, depth int 1..9
}
contract BOAT "Make a boat" {
  POST /boats/{boatId}
  input berthId id
  allow true
  boat = put Boat { boatId, berthId } if absent else 409 there
  return 201 boat
  facts
}
contract BERTH "Make a berth" {
  POST /berths/{berthId}
  input depth Berth.depth
  allow true
  berth = put Berth { berthId, depth } if absent else 409 there
  return 201 berth
  facts
}
contract SEE "See both" {
  GET /boats/{boatId}/at/{berthId}
  allow true
  snapshot {
    boat = get Boat else 404 no-boat
    berth = get Berth else 409 afloat with { wants = boat.berthId }
  }
  return boat with { depth = berth.depth }
  facts
}
contract PAIR "See two boats" {
  GET /pairs/{boatId}
  input other id
  allow true
  snapshot {
    one = get Boat
    two = get Boat(boatId = other) else {
      return with { found = "one" }
    }
  }
  when one is absent {
    return two with { found = "two" }
  }
  return one with { found = "both", other = two.boatId }
  facts
}
"#;

async fn port() -> World {
    let world = World::start(PORT).await;
    for boat in ["a", "b"] {
        world.ok("BOAT", &format!(r#"{{"boatId": "{boat}", "berthId": "P"}}"#)).await;
    }
    world
}

fn pair(one: &str, other: &str) -> String {
    format!(r#"{{"boatId": "{one}", "other": "{other}"}}"#)
}

#[tokio::test]
async fn the_else_of_each_get_is_decided_in_their_order() {
    let world = port().await;
    let see = |boat: &str| format!(r#"{{"boatId": "{boat}", "berthId": "P"}}"#);
    // Both are absent: the first says so.
    assert_eq!(world.call("SEE", &see("z")).await.told(), (404, "no-boat".to_owned()));
    // What the second says may use the first.
    let afloat = world.call("SEE", &see("a")).await;
    assert_eq!(afloat.told(), (409, "afloat".to_owned()));
    assert_eq!(afloat.member("wants"), "P");
    world.ok("BERTH", r#"{"berthId": "P", "depth": 3}"#).await;
    assert_eq!(world.ok("SEE", &see("a")).await["depth"], 3);
}

#[tokio::test]
async fn items_without_an_else_may_be_absent_and_a_block_may_answer() {
    let world = port().await;
    let found = async |one: &str, other: &str| {
        let body = world.ok("PAIR", &pair(one, other)).await;
        body["found"].as_str().unwrap().to_owned()
    };
    assert_eq!(found("a", "b").await, "both");
    assert_eq!(found("z", "b").await, "two");
    assert_eq!(found("a", "z").await, "one");
    assert_eq!(found("y", "z").await, "one");
}

// DynamoDB refuses a transaction that names one item twice.
#[tokio::test]
async fn an_item_that_is_asked_for_twice_is_read_once() {
    let world = port().await;
    let same = world.call("PAIR", &pair("a", "a")).await;
    assert_eq!((same.member("found"), same.member("other")), ("both".into(), "a".into()));
    assert_eq!(same.capacity(), "rcu=2, wcu=0");
    assert_eq!(world.call("PAIR", &pair("a", "b")).await.capacity(), "rcu=4, wcu=0");
}

#[tokio::test]
async fn it_is_one_request() {
    let world = port().await;
    let shown = explain(world.runtime.system(), "PAIR").unwrap();
    let operations: Vec<_> = shown.requests().iter().map(|asked| asked.operation).collect();
    assert_eq!(operations, ["TransactGetItems"]);
    let text = shown.to_string();
    assert!(text.contains("all of them as they are at one instant"), "{text}");
    assert!(text.contains("one = get Boat\n"), "{text}");
}
