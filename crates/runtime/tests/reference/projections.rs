//! Indexes that hold a part of each item, and attributes that stand in a key alone.

use latchkey_table::{Item, Put, Returning, Value};

use crate::support::{NOW, Told, World, after, call};

/// A shop whose index holds what is said.
async fn shop(holds: &str) -> World {
    let text = SHOP.replace("HOLDS", holds).replace("\n  facts", FACTS);
    World::of(&text, latchkey_runtime::Options::default().source).await
}

const FACTS: &str = "\n  consistency eventual\n  expect 0.. items\n  rate 1/s";

const SHOP: &str = r#"```contract
system shop
table Shop {
  type kind
  index ByState { HOLDS }
}
entity Order "ORDER" {
  PK = "CUSTOMER#{customerId}"
  SK = "ORDER#{number:05}"
  customerId id, number int 0..99999, state OPEN | PAID, total int 0..999, at time
  note text(9000)?, tries int = 0, version counter
  index ByState moves { PK = "STATE#{state}"  SK = "{at}#{customerId}#{number:05}" }
}
entity Lease "LEASE" {
  PK = "LEASE#{desk}"
  SK = "META"
  desk id, holder id, endsAt time
  index ByState moves { PK = "HOLDER#{holder}"  SK = "{endsAt}#{desk}" }
  expires endsAt
}
contract MAKE "Make" {
  PUT /customers/{customerId}/orders/{number}
  input total Order.total, note text(9000)?
  allow true
  order = put Order { customerId, number, state = OPEN, total, note, at = now } if absent else 409 taken
  return 201 order
  facts
}
contract PAY "Pay" {
  POST /customers/{customerId}/orders/{number}/pay
  allow true
  order = get Order strong else 404 not-found
  require order.state == OPEN else 409 paid
  update order set state = PAID, version = .version + 1 if unchanged else retry
  return order
  facts
}
contract RAISE "Raise the total" {
  POST /customers/{customerId}/orders/{number}/raise
  allow true
  order = update Order set total = .total + 1, version = .version + 1 if .number == 7 else 409 other
  return order
  facts
}
contract SEE "See" {
  GET /customers/{customerId}/orders/{number}
  allow true
  order = get Order strong else 404 not-found
  return order
  facts
}
contract LIST "List" {
  GET /states/{state}
  allow true
  orders = query Order by ByState where PK = "STATE#{state}" page 2 max 10
  return orders { customerId, number, state, at }
  facts
}
contract FIRST "The first" {
  GET /states/{state}/first
  allow true
  order = query Order by ByState where PK = "STATE#{state}" first 1 else 404 none
  return order { number }
  facts
}
contract HOLD "Hold a desk" {
  PUT /desks/{desk}
  allow true
  lease = put Lease { desk, holder = caller.id, endsAt = now + 60s } if absent else 409 taken
  return 201 lease
  facts
}
contract MINE "Mine" {
  GET /holders/{holder}
  allow caller owns holder
  leases = query Lease by ByState where PK = "HOLDER#{holder}" page 10
  return leases
  facts
}
```
"#;

fn order(number: u32, total: u32) -> String {
    format!(
        r#"{{"customerId": "c", "number": {number}, "total": {total}, "note": "{}"}}"#,
        "x".repeat(5000)
    )
}

/// The numbers of a list.
fn numbers(told: &Told) -> Vec<i64> {
    let json = told.json();
    json["items"].as_array().unwrap().iter().map(|it| it["number"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn what_an_index_holds_is_listed_and_priced() {
    for (holds, read, made) in [
        ("", "rcu=1.5, wcu=0", "rcu=0, wcu=12"),
        ("holds keys", "rcu=0.5, wcu=0", "rcu=0, wcu=7"),
        ("holds keys, kind, note", "rcu=1.5, wcu=0", "rcu=0, wcu=11"),
    ] {
        let shop = shop(holds).await;
        for number in [7, 3] {
            let told = shop.call("MAKE", &order(number, 5)).await;
            assert_eq!((told.status(), told.capacity().as_str()), (201, made), "{holds}");
        }
        let told = shop.call("LIST", r#"{"state": "OPEN"}"#).await;
        assert_eq!(told.capacity(), read, "{holds}");
        let seven = &told.json()["items"][1];
        let at = after(0);
        let expected =
            serde_json::json!({"customerId": "c", "number": 7, "state": "OPEN", "at": at});
        assert_eq!(*seven, expected, "{holds}");
        // What the index does not hold costs it nothing.
        let raised = shop.call("RAISE", r#"{"customerId": "c", "number": 7}"#).await;
        let (status, capacity) = (raised.status(), raised.capacity());
        let writes = if holds.is_empty() { "rcu=0, wcu=12" } else { "rcu=0, wcu=6" };
        assert_eq!((status, capacity.as_str()), (200, writes), "{holds}");
        let paid = shop.call("PAY", r#"{"customerId": "c", "number": 7}"#).await;
        assert_eq!(paid.member("total"), 6, "{holds}");
        assert_eq!(numbers(&shop.call("LIST", r#"{"state": "PAID"}"#).await), [7], "{holds}");
    }
}

#[tokio::test]
async fn pages_go_on_by_keys_that_are_held() {
    let shop = shop("holds keys").await;
    for number in 0..5 {
        shop.ok("MAKE", &order(number, 1)).await;
    }
    let mut found = Vec::new();
    let mut inputs = r#"{"state": "OPEN"}"#.to_owned();
    loop {
        let told = shop.call("LIST", &inputs).await;
        found.extend(numbers(&told));
        match told.member("nextCursor").as_str() {
            Some(cursor) => inputs = format!(r#"{{"state": "OPEN", "nextCursor": "{cursor}"}}"#),
            None => break,
        }
    }
    assert_eq!(found, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn an_item_without_its_counter_has_no_tag() {
    for (holds, tagged) in [("", true), ("holds keys", false), ("holds keys, version", true)] {
        let shop = shop(holds).await;
        shop.ok("MAKE", &order(1, 1)).await;
        let told = shop.call("FIRST", r#"{"state": "OPEN"}"#).await;
        assert_eq!(told.answer().etag.is_some(), tagged, "{holds}");
    }
}

#[tokio::test]
async fn what_has_ended_is_known_by_its_key() {
    let shop = shop("holds keys").await;
    shop.ok("HOLD", r#"{"desk": "d1"}"#).await;
    let mine = |at: i64| {
        let mut call = call("MINE", r#"{"holder": "alice"}"#);
        call.at = Some(NOW + at);
        shop.made(call)
    };
    let told = mine(59_999).await.json();
    assert_eq!(
        told["items"],
        serde_json::json!([{"desk": "d1", "holder": "alice", "endsAt": after(60_000)}])
    );
    assert_eq!(mine(60_000).await.json()["items"], serde_json::json!([]));
}

/// Puts an item as another program would.
fn put(world: &World, pairs: &[(&str, Value)]) {
    let table = world.runtime.system().table().clone();
    let item: Item = pairs.iter().map(|(name, value)| (*name, value.clone())).collect();
    world.store.put(Put { table, item, condition: None }, Returning::Nothing).wait().unwrap();
}

fn foreign(sort: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("PK", "CUSTOMER#c".into()),
        ("SK", sort.into()),
        ("kind", "ORDER".into()),
        ("state", "OPEN".into()),
        ("total", 5.into()),
        ("version", 1.into()),
        ("at", after(0).as_str().into()),
        ("ByStatePK", "STATE#OPEN".into()),
        ("ByStateSK", format!("{}#c#00007", after(0)).as_str().into()),
    ]
}

#[tokio::test]
async fn what_stands_in_the_key_alone_is_read_back() {
    for holds in ["", "holds keys, kind"] {
        let shop = shop(holds).await;
        put(&shop, &foreign("ORDER#00007"));
        let seven = r#"{"customerId": "c", "number": 7}"#;
        let seen = shop.ok("SEE", seven).await;
        assert_eq!((&seen["customerId"], &seen["number"]), (&"c".into(), &7.into()));
        assert_eq!(numbers(&shop.call("LIST", r#"{"state": "OPEN"}"#).await), [7]);
        // A condition knows it too, and the item stays as others have written it.
        let raised = shop.ok("RAISE", seven).await;
        assert_eq!((&raised["total"], &raised["number"]), (&6.into(), &7.into()));
        assert_eq!(shop.attribute("CUSTOMER#c", "ORDER#00007", "number"), None);
        assert_eq!(shop.ok("PAY", seven).await["customerId"], "c");
        assert_eq!(shop.attribute("CUSTOMER#c", "ORDER#00007", "customerId"), None);
        assert_eq!(numbers(&shop.call("LIST", r#"{"state": "PAID"}"#).await), [7]);
    }
}

#[tokio::test]
async fn a_key_of_another_form_tells_nothing() {
    let shop = shop("").await;
    put(&shop, &foreign("ORDER#7"));
    // It is not under the key of number 7, and is found by the index alone.
    let told = shop.call("LIST", r#"{"state": "OPEN"}"#).await;
    assert_eq!(told.told(), (500, "damaged-item".to_owned()));
    let other = shop.call("RAISE", r#"{"customerId": "c", "number": 8}"#).await;
    assert_eq!(other.told(), (409, "other".to_owned()));
}

#[tokio::test]
async fn a_condition_on_a_part_of_the_key_needs_the_item() {
    let shop = shop("").await;
    let seven = r#"{"customerId": "c", "number": 7}"#;
    assert_eq!(shop.call("RAISE", seven).await.told(), (409, "other".to_owned()));
    shop.ok("MAKE", &order(7, 1)).await;
    assert_eq!(shop.ok("RAISE", seven).await["total"], 2);
    shop.ok("MAKE", &order(8, 1)).await;
    let eight = r#"{"customerId": "c", "number": 8}"#;
    assert_eq!(shop.call("RAISE", eight).await.told(), (409, "other".to_owned()));
}
