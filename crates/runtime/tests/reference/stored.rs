//! What is stored and is not as the document says: items of another type, and items that are damaged.

use latchkey_runtime::System;
use latchkey_table::{Item, Put, Returning, Value};

use crate::support::{Still, World, call, document};

const BOATS: &str = r#"
entity Boat "BOAT" {
  PK = "BOAT#{boatId}"
  SK = "META"
  boatId id, ownerId id, state ASHORE | AFLOAT = ASHORE, length number, built time?, version counter
}
entity Hand "HAND" {
  PK = "BOAT#{boatId}"
  SK = "HAND#{handId}"
  boatId id, handId id, rank MATE | COOK
  index ByRank moves { PK = "RANK#{rank}#{boatId}" SK = "{handId}" }
}
contract BUY "Buy a boat" {
  PUT /boats/{boatId}
  allow true
  waive missing-bump "a boat is bought whole"
  boat = put Boat { boatId, ownerId = caller.id, length = 7.5 } replace
  return boat
  facts
}
contract SEE "See a boat" {
  GET /boats/{boatId}
  boat = get Boat strong                              else 404 not-found
  allow true
  return boat
  facts
}
contract FLOAT "Float a boat" {
  POST /boats/{boatId}/float
  boat = get Boat strong                              else 404 not-found
  allow true
  require boat.state == ASHORE                        else 409 afloat
  floated = update boat set state = AFLOAT, version = .version + 1 if unchanged else retry
  return floated
  facts
}
contract GIVE "Give a boat" {
  POST /boats/{boatId}/give
  input ownerId id
  allow true
  boat = update Boat set ownerId = ownerId, version = .version + 1 if .ownerId == caller.id
                                                      else 409 refused
  return boat
  facts
}
contract LEAVE "Sign off" {
  DELETE /boats/{boatId}/hands/{handId}
  allow true
  delete Hand
  hands = query Hand where PK = "BOAT#{boatId}" and SK begins_with "HAND#" page 2 max 10
  return hands
  facts
}
contract COOKS "Cooks of a boat" {
  GET /boats/{boatId}/ranks/{rank}
  allow true
  hands = query Hand by ByRank where PK = "RANK#{rank}#{boatId}" page 2 max 10
  return hands
  facts
}
contract SIGN "Sign on" {
  PUT /boats/{boatId}/hands/{handId}
  input rank Hand.rank
  allow true
  hand = upsert Hand set rank = rank
  return hand
  facts
}
contract CREW "Who is on a boat" {
  GET /boats/{boatId}/hands
  allow true
  hands = query Hand where PK = "BOAT#{boatId}" and SK begins_with "HAND#" page 2 max 10
  return hands
  facts
}
contract FIRST "The first hand" {
  GET /boats/{boatId}/first
  allow true
  hand = query Hand where PK = "BOAT#{boatId}" and SK begins_with "HAND#" first 1 else 404 none
  return hand
  facts
}
"#;

async fn store(world: &World, pairs: &[(&str, &str)]) {
    let table = world.runtime.system().table().clone();
    let item: Item = pairs.iter().map(|(name, value)| (*name, Value::from(*value))).collect();
    put(world, Put { table, item, condition: None }).await;
}

async fn put(world: &World, put: Put) {
    world.store.put(put, Returning::Nothing).await.unwrap();
}

fn hand(id: &str, kind: &str) -> Vec<(&'static str, String)> {
    let rank = ["RANK#COOK#B".to_owned(), id.to_owned()];
    let [index, sort] = rank;
    vec![
        ("PK", "BOAT#B".to_owned()),
        ("SK", format!("HAND#{id}")),
        ("kind", kind.to_owned()),
        ("boatId", "B".to_owned()),
        ("handId", id.to_owned()),
        ("rank", "COOK".to_owned()),
        ("ByRankPK", index),
        ("ByRankSK", sort),
    ]
}

async fn store_hand(world: &World, id: &str, kind: &str) {
    let pairs = hand(id, kind);
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    store(world, &pairs).await;
}

// `get` returned whatever was at the key, and writes went into it.
#[tokio::test]
async fn an_item_of_another_type_is_absent_to_reads_and_refused_to_writes() {
    let world = World::start(BOATS).await;
    let foreign = [("PK", "BOAT#B"), ("SK", "META"), ("kind", "NOTABOAT"), ("ownerId", "alice")];
    store(&world, &foreign).await;
    store_hand(&world, "h", "NOTAHAND").await;
    let before = world.all("");
    let b = r#"{"boatId": "B"}"#;
    assert_eq!(world.call("SEE", b).await.told(), (404, "not-found".to_owned()));
    assert_eq!(world.call("FLOAT", b).await.told(), (404, "not-found".to_owned()));
    let give = r#"{"boatId": "B", "ownerId": "bob"}"#;
    assert_eq!(world.call("GIVE", give).await.told(), (409, "refused".to_owned()));
    assert_eq!(world.call("FIRST", b).await.told(), (404, "none".to_owned()));
    // What can be refused by no test of its own has met damage.
    assert_eq!(world.call("BUY", b).await.told(), (500, "damaged-item".to_owned()));
    let h = r#"{"boatId": "B", "handId": "h", "rank": "MATE"}"#;
    assert_eq!(world.call("SIGN", h).await.told(), (500, "damaged-item".to_owned()));
    let h = r#"{"boatId": "B", "handId": "h"}"#;
    assert_eq!(world.call("LEAVE", h).await.told(), (500, "damaged-item".to_owned()));
    assert_eq!(world.runtime.faults().damaged_items(), 3);
    assert_eq!(world.all(""), before, "nothing was written");
}

#[tokio::test]
async fn a_page_passes_over_items_of_another_type() {
    let world = World::start(BOATS).await;
    for (at, id) in ["a", "b", "c", "d", "e", "f", "g", "h"].iter().enumerate() {
        let kind = if matches!(at, 0 | 2 | 3 | 6) { "NOTAHAND" } else { "HAND" };
        store_hand(&world, id, kind).await;
    }
    let first = world.ok("FIRST", r#"{"boatId": "B"}"#).await;
    assert_eq!(first["handId"], "b");
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let inputs = match &cursor {
            Some(cursor) => format!(r#"{{"boatId": "B", "nextCursor": "{cursor}"}}"#),
            None => r#"{"boatId": "B"}"#.to_owned(),
        };
        let page = world.ok("CREW", &inputs).await;
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|item| item["handId"].as_str().unwrap().to_owned()));
        assert!(items.len() == 2 || page["nextCursor"].is_null());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(found, ["b", "e", "f", "h"]);
}

// A half item was answered as if it were whole.
#[tokio::test]
async fn a_damaged_item_is_answered_under_that_name() {
    let world = World::start(BOATS).await;
    world.ok("BUY", r#"{"boatId": "B"}"#).await;
    let whole = world.stored("BOAT#B", "META").unwrap();
    let table = world.runtime.system().table().clone();
    let damages: [(&str, Option<Value>); 8] = [
        ("ownerId", None),
        ("ownerId", Some(Value::from(1))),
        ("state", Some(Value::from("SUNK"))),
        ("length", Some(Value::from("long"))),
        ("built", Some(Value::from("yesterday"))),
        // In whole seconds, or as milliseconds: neither sorts as the others do.
        ("built", Some(Value::from("2026-02-25T10:00:00Z"))),
        ("built", Some(Value::from(1_772_013_600_000_i64))),
        ("version", Some(Value::Number("1.5".parse().unwrap()))),
    ];
    for (at, (name, value)) in damages.into_iter().enumerate() {
        let mut item = whole.clone();
        match value {
            Some(value) => drop(item.insert(name, value)),
            None => drop(item.remove(name)),
        }
        put(&world, Put { table: table.clone(), item, condition: None }).await;
        let told = world.call("SEE", r#"{"boatId": "B"}"#).await;
        assert_eq!(told.told(), (500, "damaged-item".to_owned()), "{name}");
        assert!(!told.body().contains("BOAT#B"), "the key is for the log");
        assert_eq!(world.runtime.faults().damaged_items(), u64::try_from(at + 1).unwrap());
    }
    assert_eq!(world.runtime.faults().bugs(), 0);
}

// A call read one boat and changed another: the key of the write was made of an attribute that contradicts the key.
#[tokio::test]
async fn a_write_is_on_the_key_that_was_read() {
    let world = World::start(BOATS).await;
    world.ok("BUY", r#"{"boatId": "A"}"#).await;
    let mut item = world.stored("BOAT#A", "META").unwrap();
    item.insert("PK", Value::from("BOAT#B"));
    let table = world.runtime.system().table().clone();
    put(&world, Put { table, item, condition: None }).await;
    let before = world.all("");
    let mut named = call("FLOAT", r#"{"boatId": "B"}"#);
    named.idempotency_key = Some("k".into());
    for float in [call("FLOAT", r#"{"boatId": "B"}"#), named] {
        let told = world.made(float).await;
        assert_eq!(told.told(), (500, "damaged-item".to_owned()));
    }
    assert_eq!(world.all(""), before, "nothing was written");
    assert_eq!(world.runtime.faults().damaged_items(), 2);
    world.ok("FLOAT", r#"{"boatId": "A"}"#).await;
}

// An attribute that was added to an entity later, with a default.
#[tokio::test]
async fn an_item_from_before_an_attribute_reads_with_its_default() {
    let world = World::start(BOATS).await;
    world.ok("BUY", r#"{"boatId": "B"}"#).await;
    let mut item = world.stored("BOAT#B", "META").unwrap();
    item.remove("state");
    item.remove("version");
    let table = world.runtime.system().table().clone();
    put(&world, Put { table, item, condition: None }).await;
    let seen = world.ok("SEE", r#"{"boatId": "B"}"#).await;
    assert_eq!((seen["state"].as_str(), seen["version"].as_i64()), (Some("ASHORE"), Some(1)));
    let floated = world.ok("FLOAT", r#"{"boatId": "B"}"#).await;
    assert_eq!((floated["state"].as_str(), floated["version"].as_i64()), (Some("AFLOAT"), Some(2)));
    assert_eq!(world.attribute("BOAT#B", "META", "version"), Some("2".to_owned()));
}

#[tokio::test]
async fn an_item_from_before_an_attribute_is_changed_under_a_name_too() {
    let world = World::start(BOATS).await;
    world.ok("BUY", r#"{"boatId": "B"}"#).await;
    let mut item = world.stored("BOAT#B", "META").unwrap();
    item.remove("version");
    let table = world.runtime.system().table().clone();
    put(&world, Put { table, item, condition: None }).await;
    let mut float = call("FLOAT", r#"{"boatId": "B"}"#);
    float.idempotency_key = Some("k".into());
    let told = world.made(float).await;
    assert_eq!(told.status(), 200, "{}", told.body());
    assert_eq!(told.json()["version"], 2);
}

#[test]
fn items_are_held_to_the_document() {
    let system = System::read(&document(BOATS)).unwrap();
    let whole: Item = hand("h", "HAND")
        .into_iter()
        .map(|(name, value)| (name, Value::from(value.as_str())))
        .collect();
    assert_eq!(system.examine(&whole), Vec::<String>::new());
    let wrong = |name: &str, value: Option<&str>| {
        let mut item = whole.clone();
        match value {
            Some(value) => drop(item.insert(name, Value::from(value))),
            None => drop(item.remove(name)),
        }
        system.examine(&item).join(" / ")
    };
    assert_eq!(wrong("kind", None), "`kind`, which tells its type, is missing");
    assert_eq!(wrong("kind", Some("NOTAHAND")), "`kind` names no entity of the document");
    assert_eq!(wrong("rank", None), "Hand: `rank` is missing");
    assert_eq!(wrong("rank", Some("CAT")), "Hand: `rank` must be one of MATE, COOK");
    assert_eq!(wrong("SK", Some("HAND#x")), "Hand: `SK` must be `HAND#h`");
    assert_eq!(wrong("ByRankPK", None), "Hand: `ByRankPK` must be `RANK#COOK#B`");
    assert_eq!(wrong("rank", Some("MATE")), "Hand: `ByRankPK` must be `RANK#MATE#B`");
    assert_eq!(wrong("more", Some("x")), "", "what is not declared passes");
    assert_eq!(wrong("PK", Some("LATCHKEY#IDEM#x")), "", "housekeeping passes");
}

const NOTES: &str = r#"
entity Note "NOTE" {
  PK = "NOTE#{noteId}"
  SK = "META"
  noteId ulid
}
contract MAKE "Make a note" {
  POST /notes
  allow true
  note = put Note { noteId = new ulid } if absent     else 409 there
  return 201 note
  facts
}
"#;

// Ids of one instant sorted by chance, and examples with them passed by chance.
#[tokio::test]
async fn ids_of_one_instant_sort_as_they_are_made() {
    for world in
        [World::start(NOTES).await, World::with(NOTES, std::sync::Arc::new(Still(255))).await]
    {
        let mut last = String::new();
        for _ in 0..50 {
            let id = world.ok("MAKE", "{}").await["noteId"].as_str().unwrap().to_owned();
            assert!(id > last, "{id} after {last}");
            last = id;
        }
    }
}
