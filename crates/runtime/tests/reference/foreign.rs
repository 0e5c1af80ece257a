//! Reads and writes that meet an item of another type, or an item that is not as declared.

use latchkey_table::{Item, Put, Returning, Value};

use crate::support::{World, broken};

const TILLS: &str = r#"
entity Till "TILL" {
  PK = "SHOP"
  SK = "TILL#{till:02}"
  waive hot-partition "a shop has ten tills"
  till int 0..9, sold int 0..9 = 0, held int 0..9 = 0, note text(20)?, version counter
}
contract ALL "All tills" {
  GET /tills
  allow true
  tills = get Till till in 0..4 strong
  return tills
  facts
}
contract AT_ONCE "All tills at one instant" {
  GET /snapshot
  allow true
  tills = get Till till in 0..4 snapshot
  return tills
  facts
}
contract LAST "The last tills" {
  GET /last
  allow true
  tills = query Till where PK = "SHOP" and SK begins_with "TILL#" order descending page 2 max 5
  return tills
  facts
}
contract SEE "See a till" {
  GET /tills/{till}
  allow true
  found = get Till strong else 404 gone
  return found
  facts
}
contract OPEN "Open a till" {
  POST /tills/{till}
  allow true
  made = put Till { till } if absent else retry
  return 201 made
  facts
}
contract LOOK "Look at a till until it is there" {
  GET /tills/{till}/look
  allow true
  found = get Till strong else retry
  return found
  facts
}
contract SELL "Sell" {
  POST /tills/{till}/sell
  allow true
  update Till set sold = .sold + 1, version = .version + 1 if .sold < 9 else retry
  found = get Till strong else 404 gone
  return found
  facts
}
contract ANEW "Set a till up anew" {
  PUT /tills/{till}
  allow true
  waive missing-bump "a till is set up whole"
  made = put Till { till } replace
  return made
  facts
}
contract SETTLE "Settle what is held" {
  POST /tills/{till}/settle
  found = get Till strong else 404 gone
  allow true
  update found set sold = .sold + .held, held = 0, version = .version + 1 if unchanged else retry
  return found
  facts
}
"#;

/// Stores a till, with some attributes changed or taken out.
async fn store(world: &World, till: i64, changes: &[(&str, Option<Value>)]) {
    let table = world.runtime.system().table().clone();
    let sort = format!("TILL#{till:02}");
    let mut item: Item = [
        ("PK", Value::from("SHOP")),
        ("SK", Value::from(sort.as_str())),
        ("kind", Value::from("TILL")),
        ("till", Value::from(till)),
        ("sold", Value::from(0)),
        ("held", Value::from(0)),
        ("version", Value::from(1)),
    ]
    .into_iter()
    .collect();
    for (name, value) in changes {
        match value {
            Some(value) => drop(item.insert(*name, value.clone())),
            None => drop(item.remove(name)),
        }
    }
    world.store.put(Put { table, item, condition: None }, Returning::Nothing).await.unwrap();
}

const FOREIGN: [(&str, Option<Value>); 1] = [("kind", None)];

fn foreign() -> [(&'static str, Option<Value>); 1] {
    [("kind", Some(Value::from("SAFE")))]
}

fn tills(page: &serde_json::Value) -> Vec<i64> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["till"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_batch_a_snapshot_and_a_descending_page_leave_out_items_of_another_type() {
    let world = World::start(TILLS).await;
    for till in 0..=4 {
        let changes = if till % 2 == 1 { foreign().to_vec() } else { Vec::new() };
        store(&world, till, &changes).await;
    }
    assert_eq!(tills(&world.ok("ALL", "{}").await), [0, 2, 4]);
    assert_eq!(tills(&world.ok("AT_ONCE", "{}").await), [0, 2, 4]);
    let first = world.ok("LAST", "{}").await;
    assert_eq!(tills(&first), [4, 2]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let last = world.ok("LAST", &format!(r#"{{"nextCursor": "{cursor}"}}"#)).await;
    assert_eq!((tills(&last), last["nextCursor"].is_null()), (vec![0], true));
}

#[tokio::test]
async fn an_item_with_no_type_is_of_another_type() {
    let world = World::start(TILLS).await;
    store(&world, 1, &FOREIGN).await;
    let till = r#"{"till": 1}"#;
    assert_eq!(world.call("SEE", till).await.told(), (404, "gone".to_owned()));
    assert_eq!(world.call("ANEW", till).await.told(), (500, "damaged-item".to_owned()));
    assert!(tills(&world.ok("ALL", "{}").await).is_empty());
}

// What met the item was run again six times, met it each time, and was answered 503 `busy`.
#[tokio::test]
async fn what_is_tried_again_on_an_item_of_another_type_is_damage() {
    let world = World::start(TILLS).await;
    store(&world, 1, &foreign()).await;
    for contract in ["OPEN", "LOOK", "SELL"] {
        let told = world.call(contract, r#"{"till": 1}"#).await;
        assert_eq!(told.told(), (500, "damaged-item".to_owned()), "{contract}");
    }
    assert_eq!(world.runtime.faults().damaged_items(), 3);
}

#[tokio::test]
async fn a_null_is_no_optional_attribute_and_a_whole_put_mends() {
    let world = World::start(TILLS).await;
    store(&world, 1, &[("note", Some(Value::Null))]).await;
    let till = r#"{"till": 1}"#;
    assert_eq!(world.call("SEE", till).await.told(), (500, "damaged-item".to_owned()));
    world.ok("ANEW", till).await;
    assert_eq!(world.ok("SEE", till).await["till"], 1);
}

// The sum of two stored attributes was written whatever it was.
#[tokio::test]
async fn a_sum_of_two_stored_numbers_keeps_bounds() {
    let world = World::start(TILLS).await;
    let of = |sold: i64, held: i64| {
        [("sold", Some(Value::from(sold))), ("held", Some(Value::from(held)))]
    };
    store(&world, 1, &of(4, 5)).await;
    assert_eq!(world.ok("SETTLE", r#"{"till": 1}"#).await["sold"], 9);
    store(&world, 2, &of(5, 5)).await;
    let told = world.call("SETTLE", r#"{"till": 2}"#).await;
    assert_eq!(told.told(), (400, "invalid-input".to_owned()), "{}", told.body());
    assert_eq!(told.problem().errors.len(), 0, "no input is to blame: {}", told.body());
    assert!(told.problem().detail.contains("`sold`"), "{}", told.body());
    assert_eq!(world.attribute("SHOP", "TILL#02", "sold"), Some("5".to_owned()));
    let unread = TILLS.replace(
        "  found = get Till strong else 404 gone\n  allow true\n  update found set sold = .sold + .held, held = 0, version = .version + 1 if unchanged else retry",
        "  allow true\n  found = update Till set sold = .sold + .held, held = 0, version = .version + 1 if .sold > 0 else 409 none",
    );
    let refused = broken(&unread);
    assert!(refused.iter().any(|one| one.contains("sum of two stored numbers")), "{refused:?}");
}

// A condition was only held to a number of attributes, and refused by the table in each call.
#[test]
fn a_condition_longer_than_dynamodb_takes_is_refused_with_the_document() {
    let long = |tests: usize| {
        let values = (0..90).map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
        let more = format!(" and .sold in ({values})").repeat(tests);
        TILLS.replace("if .sold < 9 else retry", &format!("if .sold < 9{more} else retry"))
    };
    assert_eq!(broken(&long(2)), Vec::<String>::new());
    let refused = broken(&long(20));
    let wanted = "plan: `SELL` cannot be run: a write of `Till` is more than DynamoDB takes: ";
    assert!(refused.iter().any(|one| one.starts_with(wanted)), "{refused:?}");
}
