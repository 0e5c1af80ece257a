//! Queries of several entities: one request, parts of what it finds, and pages of all of it.

use latchkey_runtime::{Caller, explain};
use latchkey_table::{Item, Put, Returning, Text, Value};
use serde_json::json;

use crate::support::{World, call, call_by};

const SHOP: &str = r##"
entity Customer "CUSTOMER" {
  PK = "CUSTOMER#{customerId}"
  SK = "CUSTOMER#{customerId}"
  customerId id, ownerId id, name text(80), pin text(8)? secret, level int = 3, version counter
}
entity Order "ORDER" {
  PK = "CUSTOMER#{customerId}"
  SK = "#ORDER#{orderId}"
  customerId id, orderId id, cents int 0.., code text(8)? secret
}
contract MAKE "Make a customer" {
  POST /customers
  input customerId id, ownerId id, name text(80), pin text(8)?
  allow true
  customer = put Customer { customerId, ownerId, name, pin } if absent else 409 there
  return 201 customer
  facts
}
contract ORDER "Order" {
  POST /customers/{customerId}/orders
  input orderId id, cents Order.cents, code text(8)?
  allow true
  order = put Order { customerId, orderId, cents, code } if absent else 409 there
  return 201 order
  facts
}
contract SEE "A customer with the latest orders" {
  GET /customers/{customerId}
  allow caller is clerk
  all = query Customer, Order where PK = "CUSTOMER#{customerId}" order descending page 3 max 100
  customer = the Customer in all else 404 not-found
  return customer with { orders = Order in all }
  facts
}
contract ALL "All of it" {
  GET /customers/{customerId}/all
  input order asc | desc = asc
  allow caller is clerk
  all = query Customer, Order where PK = "CUSTOMER#{customerId}" order descending when order == desc page 3
  return all
  facts
}
contract MINE "The owner's own" {
  GET /customers/{customerId}/mine
  all = query Customer, Order strong where PK = "CUSTOMER#{customerId}" order descending first 4
  customer = the Customer in all else 404 not-found
  allow caller owns customer.ownerId
  orders = Order in all
  return customer { name, level } with { orders, few = count(orders) < 3, cents = sum(orders.cents) }
  facts
}
contract RISE "One level up" {
  POST /customers/{customerId}/rise
  all = query Customer, Order strong where PK = "CUSTOMER#{customerId}" order descending first 4
  customer = the Customer in all else 404 not-found
  allow caller owns customer.ownerId
  update customer set level = customer.level + 1, version = .version + 1 if unchanged else retry
  return customer
  facts
}
"##;

async fn shop(orders: usize) -> World {
    let world = World::start(SHOP).await;
    world.ok("MAKE", r#"{"customerId": "c", "ownerId": "alice", "name": "Al", "pin": "77"}"#).await;
    world.ok("MAKE", r#"{"customerId": "cc", "ownerId": "bob", "name": "Bo"}"#).await;
    for order in 0..orders {
        let inputs = format!(
            r#"{{"customerId": "c", "orderId": "o{order:03}", "cents": {order}, "code": "9"}}"#
        );
        world.ok("ORDER", &inputs).await;
    }
    world
}

/// An item is shown as its entity says, and its list as another; neither shows a secret.
#[tokio::test]
async fn a_customer_is_answered_with_the_latest_orders() {
    let world = shop(2).await;
    let told = world.call("SEE", r#"{"customerId": "c"}"#).await;
    assert_eq!(
        told.json(),
        json!({
            "customerId": "c", "ownerId": "alice", "name": "Al", "level": 3, "version": 1, "nextCursor": null,
            "orders": [
                {"customerId": "c", "orderId": "o001", "cents": 1},
                {"customerId": "c", "orderId": "o000", "cents": 0},
            ],
        })
    );
    assert_eq!(told.answer().etag, None);
    assert_eq!(world.call("SEE", r#"{"customerId": "d"}"#).await.told(), (404, "not-found".into()));
}

/// Behind a cursor the customer is neither asked for nor shown; a page that fits exactly is the last.
#[tokio::test]
async fn later_pages_go_on_with_the_list() {
    for orders in 0..9usize {
        let world = shop(orders).await;
        let (mut seen, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let next = cursor.map_or(String::new(), |next| format!(r#", "nextCursor": "{next}""#));
            let body = world.ok("SEE", &format!(r#"{{"customerId": "c"{next}}}"#)).await;
            assert_eq!(body.get("name").is_some(), pages == 0, "{body}");
            pages += 1;
            let ids = body["orders"].as_array().unwrap().iter();
            seen.extend(ids.map(|order| order["orderId"].as_str().unwrap().to_owned()));
            match body["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        let expected: Vec<String> = (0..orders).rev().map(|order| format!("o{order:03}")).collect();
        assert_eq!(seen, expected);
        assert_eq!(pages, (orders + 1).div_ceil(3));
    }
}

#[tokio::test]
async fn all_of_it_is_answered_with_types_in_the_order_of_the_keys() {
    let world = shop(3).await;
    let first = world.ok("ALL", r#"{"customerId": "c"}"#).await;
    let kinds = |body: &serde_json::Value| {
        let items = body["items"].as_array().unwrap().iter();
        items.map(|item| item["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&first), ["ORDER"; 3]);
    assert_eq!(
        first["items"][0],
        json!({"kind": "ORDER", "customerId": "c", "orderId": "o000", "cents": 0})
    );
    let next = first["nextCursor"].as_str().unwrap();
    let second =
        world.ok("ALL", &format!(r#"{{"customerId": "c", "nextCursor": "{next}"}}"#)).await;
    assert_eq!(kinds(&second), ["CUSTOMER"]);
    assert_eq!(second["items"][0].get("pin"), None);
    assert_eq!(second["nextCursor"], json!(null));
    let down = world.ok("ALL", r#"{"customerId": "c", "order": "desc"}"#).await;
    assert_eq!(kinds(&down), ["CUSTOMER", "ORDER", "ORDER"]);
    let nothing = world.ok("ALL", r#"{"customerId": "nobody"}"#).await;
    assert_eq!(nothing, json!({"items": [], "nextCursor": null}));
    // A cursor is for its own contract.
    let other = format!(r#"{{"customerId": "c", "nextCursor": "{next}"}}"#);
    assert_eq!(world.call("SEE", &other).await.told(), (400, "invalid-cursor".into()));
}

#[tokio::test]
async fn a_right_may_rest_on_the_first_items() {
    let world = shop(5).await;
    let body = world.ok("MINE", r#"{"customerId": "c"}"#).await;
    assert_eq!(body["orders"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&body["few"], &body["cents"], &body["level"]),
        (&json!(false), &json!(9), &json!(3))
    );
    let eve = call_by(Caller::new("eve"), "MINE", r#"{"customerId": "c"}"#);
    assert_eq!(world.made(eve).await.status(), 403);
    // With a version of the item, and a hash of all the rest.
    let told = world.call("MINE", r#"{"customerId": "c"}"#).await;
    assert!(told.answer().etag.as_deref().unwrap().starts_with("\"1-"), "{:?}", told.answer().etag);
}

/// The item that was taken out of a collection is written as any other, also where it lacks what was declared later.
#[tokio::test]
async fn what_was_taken_can_be_written() {
    let world = shop(1).await;
    let body = world.ok("RISE", r#"{"customerId": "c"}"#).await;
    assert_eq!((&body["level"], &body["version"]), (&json!(4), &json!(2)));
    let mut old = world.stored("CUSTOMER#c", "CUSTOMER#c").unwrap();
    old.remove("level");
    old.remove("version");
    store(&world, old).await;
    let body = world.ok("RISE", r#"{"customerId": "c"}"#).await;
    assert_eq!((&body["level"], &body["version"]), (&json!(4), &json!(2)));
}

async fn store(world: &World, item: Item) {
    let table = world.runtime.system().table().clone();
    let put = Put { table, item, condition: None };
    world.store.put(put, Returning::Nothing).await.unwrap();
}

/// Items of other types are passed over; one of its own that is damaged is told.
#[tokio::test]
async fn each_item_is_looked_at_by_its_own_entity() {
    let world = shop(2).await;
    let mut stranger = world.stored("CUSTOMER#c", "#ORDER#o001").unwrap();
    stranger.insert(Text::from("kind"), Value::from("ELSE"));
    store(&world, stranger).await;
    let body = world.ok("SEE", r#"{"customerId": "c"}"#).await;
    assert_eq!(body["orders"].as_array().unwrap().len(), 1);
    let mut damaged = world.stored("CUSTOMER#c", "#ORDER#o000").unwrap();
    damaged.remove("cents");
    store(&world, damaged).await;
    assert_eq!(
        world.call("SEE", r#"{"customerId": "c"}"#).await.told(),
        (500, "damaged-item".into())
    );
}

/// One request reaches the table.
#[tokio::test]
async fn a_collection_is_one_request() {
    let world = shop(2).await;
    for contract in ["SEE", "ALL", "MINE"] {
        let mut call = call(contract, r#"{"customerId": "c"}"#);
        call.trace = true;
        let told = world.made(call).await;
        assert_eq!(told.0.trace.len(), 1, "{contract}");
    }
    let told = explain(world.runtime.system(), "SEE").unwrap().to_string();
    for line in [
        "1. allow caller is clerk",
        "2. all = query Customer, Order where PK = \"CUSTOMER#{customerId}\" order descending page 3 max 100",
        "3. customer = the Customer in all",
        "of what was read; no request",
        "if nothing is there: 404 not-found",
        "behind a cursor: not looked for",
        "4. Order in all = Order in all",
        "5. return 200 customer with { orders = Order in all }",
        "behind a cursor: without the item",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    assert_eq!(told.matches("\"TableName\"").count(), 1, "{told}");
}
