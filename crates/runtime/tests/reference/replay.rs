//! `Idempotency-Key`: the same key and body replays the first answer; the record is a leg of the effect's
//! transaction; refusals are not recorded.

mod at_once;
mod own_idempotency;

use std::collections::BTreeSet;
use std::sync::Arc;

use latchkey_runtime::{Call, Caller, IfMatch, sweep};
use latchkey_table::{Leg, Request};

use crate::support::{NOW, Told, World, call, call_by};

const SHOP: &str = r#"
entity Order "ORDER" {
  PK = "ORDER#{orderId}"
  SK = "META"
  orderId id, shopId id, total int, state NEW | PAID = NEW, version counter

  state moves {
    NEW -> PAID
  }
}
entity Stock "STOCK" {
  PK = "SHOP#{shopId}"
  SK = "STOCK"
  shopId id, left int 0.., version counter
}
entity Sales "SALES" {
  PK = "SHOP#{shopId}"
  SK = "SALES"
  shopId id, sold int = 0
}
contract STOCK "Stock" {
  PUT /shops/{shopId}
  input left int 0..
  allow true
  stock = put Stock { shopId, left } if absent else 409 stocked
  return stock
  facts
}
contract ORDER "Order" {
  POST /shops/{shopId}/orders
  input orderId id = new ulid, total int
  allow true
  order = put Order { orderId, shopId, total } if absent else 409 order-exists
  return 201 order at /orders/{orderId}
  facts
}
contract BUY "Buy" {
  POST /shops/{shopId}/buy
  input orderId id = new ulid, total int
  stock = get Stock strong else 404 no-shop
  allow true
  require stock.left > 0 else 409 sold-out
  transact {
    order = put Order { orderId, shopId, total } if absent else 409 order-exists
    update stock set left = .left - 1, version = .version + 1 if unchanged else retry
    upsert Sales add sold = 1
  }
  return 201 order with { left = stock.left }
  facts
}
contract PAY "Pay" {
  POST /orders/{orderId}/pay
  input expectedVersion int?
  order = get Order strong else 404 no-order
  allow true
  match expectedVersion is absent or order.version == expectedVersion else 409 version-conflict
  require order.state moves to PAID else 409 paid-already
  update order set state = PAID, version = .version + 1 if unchanged else retry
  return order
  facts
}
contract THEN "Order, then look" {
  POST /shops/{shopId}/then
  input orderId id = new ulid, total int
  allow true
  order = put Order { orderId, shopId, total } if absent else 409 order-exists
  sales = get Sales strong
  when sales is absent {
    return 201 order
  }
  return 201 order with { sold = sales.sold }
  facts
}
contract TWO "Two writes" {
  POST /shops/{shopId}/two
  input orderId id, total int
  allow true
  upsert Sales add sold = 1
  waive half-done "an order that is refused counts as sold"
  order = put Order { orderId, shopId, total } if absent else 409 order-exists
  return 201 order
  facts
}
contract LOOK "Look, by POST" {
  POST /shops/{shopId}/look
  stock = get Stock strong else 404 no-shop
  allow true
  return stock
  facts
}
contract ENSURE "Order, or find it" {
  POST /shops/{shopId}/ensure
  input orderId id, total int
  allow true
  order = put Order { orderId, shopId, total } if absent else {
    old = get Order strong else 404 no-order
    return 200 old
  }
  return 201 order
  facts
}
contract COUNT "Count" {
  POST /shops/{shopId}/count
  allow true
  sales = upsert Sales add sold = 1
  return sales
  facts
}
contract QUIET "Count, and show the stock" {
  POST /shops/{shopId}/quiet
  stock = get Stock strong else 404 no-shop
  allow true
  upsert Sales add sold = 1
  return stock
  facts
}
"#;

async fn shop() -> World {
    let world = World::start(SHOP).await;
    world.ok("STOCK", r#"{"shopId": "s", "left": 10}"#).await;
    world
}

fn named(contract: &str, inputs: &str, key: &str) -> Call {
    let mut call = call(contract, inputs);
    call.idempotency_key = Some(key.into());
    call
}

fn records(world: &World) -> usize {
    world.all("LATCHKEY#IDEM#").len()
}

fn sold(world: &World) -> String {
    world.attribute("SHOP#s", "SALES", "sold").unwrap_or_else(|| "0".to_owned())
}

/// The first call acts, the second is answered as the first was.
async fn replays(world: &World, call: impl Fn() -> Call) -> (Told, Told) {
    let first = world.made(call()).await;
    assert!(first.status() < 300, "{}", first.body());
    assert!(!first.0.replayed);
    let stored = world.all("").len();
    let second = world.made(call()).await;
    assert!(second.0.replayed, "{}", second.body());
    assert_eq!(first.answer(), second.answer());
    assert_eq!(world.all("").len(), stored, "nothing more is stored");
    (first, second)
}

#[tokio::test]
async fn the_same_call_is_answered_as_the_first_time() {
    let world = shop().await;
    let order = || named("ORDER", r#"{"shopId": "s", "total": 5}"#, "k");
    let (first, _) = replays(&world, order).await;
    assert_eq!(first.answer().status, 201);
    assert!(first.answer().etag.is_some() && first.answer().found_at.is_some());
    assert_eq!(world.all("ORDER#").len(), 1, "one order, of one new id");
    let (_, second) = replays(&world, || named("BUY", r#"{"shopId": "s", "total": 5}"#, "k")).await;
    assert_eq!(second.member("left"), 9);
    assert_eq!(sold(&world), "1");
    // Its answer is the first one, also when the world has moved on.
    world.ok("BUY", r#"{"shopId": "s", "total": 1}"#).await;
    let third = world.made(named("BUY", r#"{"shopId": "s", "total": 5}"#, "k")).await;
    assert_eq!(third.answer(), second.answer());
}

// The record is a leg of the effect's transaction: a single write becomes one.
#[tokio::test]
async fn a_record_is_written_with_its_effect() {
    let world = shop().await;
    for (contract, legs) in [("ORDER", 2), ("BUY", 4)] {
        let mut call = named(contract, r#"{"shopId": "s", "total": 5}"#, "k");
        call.trace = true;
        let told = world.made(call).await;
        let writes: Vec<&Request> = told
            .0
            .trace
            .iter()
            .map(|step| &step.request)
            .filter(|request| !matches!(request, Request::Get(_)))
            .collect();
        let [Request::Transact(transact)] = writes.as_slice() else {
            panic!("{contract}: one transaction: {writes:?}")
        };
        assert_eq!(transact.legs.len(), legs, "{contract}");
        let Leg::Put(record) = &transact.legs[0] else { panic!("the record is the first leg") };
        let partition = record.item.get("PK").and_then(|key| key.as_text()).unwrap();
        assert!(partition.starts_with("LATCHKEY#IDEM#"), "{partition}");
        let expires = record.item.get("expires").and_then(|value| value.as_number()).unwrap();
        assert_eq!(expires.to_i64(), Some(NOW / 1000 + 24 * 60 * 60), "kept 24 hours");
    }
    // Without a key there is none of it.
    let mut call = call("ORDER", r#"{"shopId": "s", "total": 5}"#);
    call.trace = true;
    let told = world.made(call).await;
    assert!(matches!(told.0.trace[0].request, Request::Put(..)));
}

// Another body is 422; another caller, contract, path or key is another call.
#[tokio::test]
async fn a_key_is_for_one_call() {
    let world = shop().await;
    world.ok("STOCK", r#"{"shopId": "t", "left": 10}"#).await;
    let body = r#"{"shopId": "s", "orderId": "o", "total": 5}"#;
    assert_eq!(world.made(named("ORDER", body, "k")).await.status(), 201);
    for other in [
        r#"{"shopId": "s", "orderId": "o", "total": 6}"#,
        r#"{"shopId": "s", "orderId": "p", "total": 5}"#,
        r#"{"shopId": "s", "total": 5}"#,
    ] {
        let told = world.made(named("ORDER", other, "k")).await;
        assert_eq!(told.told(), (422, "idempotency-key-reused".to_owned()), "{other}");
        assert!(!told.0.replayed);
    }
    assert_eq!(world.all("ORDER#").len(), 1);
    let mut bob = call_by(Caller::new("bob"), "ORDER", body);
    bob.idempotency_key = Some("k".into());
    let fresh = [
        ("another caller", bob, "order-exists"),
        ("another contract", named("THEN", body, "k"), "order-exists"),
        ("another key", named("ORDER", body, "l"), "order-exists"),
        (
            "another path",
            named("ORDER", r#"{"shopId": "t", "orderId": "o", "total": 5}"#, "k"),
            "order-exists",
        ),
    ];
    for (what, call, code) in fresh {
        assert_eq!(world.made(call).await.told().1, code, "{what} is no replay");
    }
    // An optional input that is `null` is not one that was left out.
    let tagged = named("PAY", r#"{"orderId": "o"}"#, "k");
    assert_eq!(world.made(tagged).await.status(), 200);
    let mut other_tag = named("PAY", r#"{"orderId": "o"}"#, "k");
    other_tag.if_match = Some(IfMatch::Any);
    assert_eq!(world.made(other_tag).await.told().0, 422, "`If-Match` is part of what was asked");
}

// Quoted or bare, at most 255 characters.
#[tokio::test]
async fn a_key_is_quoted_or_bare() {
    let world = shop().await;
    let body = r#"{"shopId": "s", "total": 5}"#;
    let first = world.made(named("ORDER", body, "\"abc\"")).await;
    let second = world.made(named("ORDER", body, "abc")).await;
    assert!(second.0.replayed);
    assert_eq!(first.answer(), second.answer());
    let (most, more) = ("k".repeat(255), "k".repeat(256));
    assert_eq!(world.made(named("ORDER", body, &most)).await.status(), 201);
    let quoted = format!("\"{most}\"");
    assert!(world.made(named("ORDER", body, &quoted)).await.0.replayed);
    for key in ["", "\"\"", &more, "a\nb", "\u{e4}"] {
        let told = world.made(named("ORDER", body, key)).await;
        assert_eq!(told.told(), (400, "invalid-input".to_owned()), "{key:.10}");
    }
    assert_eq!(world.all("ORDER#").len(), 2);
}

// Kept 24 hours; one that is older counts as absent, whether or not it has been removed.
#[tokio::test]
async fn a_record_lasts_a_day() {
    let world = shop().await;
    let at = |milliseconds: i64| {
        let mut call = named("ORDER", r#"{"shopId": "s", "total": 5}"#, "k");
        call.at = Some(NOW + milliseconds);
        call
    };
    let day = 24 * 60 * 60 * 1000;
    world.made(at(0)).await;
    assert!(world.made(at(day - 1_000)).await.0.replayed);
    let again = world.made(at(day)).await;
    assert_eq!((again.status(), again.0.replayed), (201, false));
    assert_eq!((world.all("ORDER#").len(), records(&world)), (2, 1), "written anew in its place");
    assert!(world.made(at(day + day - 1_000)).await.0.replayed, "for another day");
    // One that is over does not stand in the way of another body.
    let mut other = named("ORDER", r#"{"shopId": "s", "total": 6}"#, "k");
    other.at = Some(NOW + 3 * day);
    assert_eq!(world.made(other).await.status(), 201);
}

// Refusals are not recorded: what was refused may be tried again under its name.
#[tokio::test]
async fn a_refusal_is_not_recorded() {
    let world = shop().await;
    let buy = || named("BUY", r#"{"shopId": "t", "orderId": "o", "total": 5}"#, "k");
    assert_eq!(world.made(buy()).await.told(), (404, "no-shop".to_owned()));
    world.ok("STOCK", r#"{"shopId": "t", "left": 0}"#).await;
    assert_eq!(world.made(buy()).await.told(), (409, "sold-out".to_owned()));
    assert_eq!(
        world.made(named("BUY", r#"{"shopId": "t", "total": "x"}"#, "k")).await.status(),
        400
    );
    assert_eq!(records(&world), 0);
    let bought =
        world.made(named("BUY", r#"{"shopId": "s", "orderId": "o", "total": 5}"#, "k")).await;
    assert_eq!(bought.status(), 201);
    let taken = named("ORDER", r#"{"shopId": "s", "orderId": "o", "total": 5}"#, "k");
    assert_eq!(world.made(taken).await.told(), (409, "order-exists".to_owned()));
    assert_eq!(records(&world), 1);
}

// A contract whose last write is followed by a read is replayed as well, and so is one of two writes, one that
// ends in an `else`, and one that writes nothing.
#[tokio::test]
async fn every_shape_of_contract_is_replayed() {
    let world = shop().await;
    replays(&world, || named("THEN", r#"{"shopId": "s", "total": 5}"#, "k")).await;
    replays(&world, || named("TWO", r#"{"shopId": "s", "orderId": "two", "total": 5}"#, "k")).await;
    assert_eq!(sold(&world), "1");
    let (first, _) = replays(&world, || named("LOOK", r#"{"shopId": "s"}"#, "k")).await;
    assert_eq!(first.member("left"), 10);
    let ensure = || named("ENSURE", r#"{"shopId": "s", "orderId": "two", "total": 5}"#, "k");
    let (first, _) = replays(&world, ensure).await;
    assert_eq!(first.answer().status, 200, "it was there");
    let ensure = || named("ENSURE", r#"{"shopId": "s", "orderId": "three", "total": 5}"#, "k");
    let (first, _) = replays(&world, || {
        let mut call = ensure();
        call.idempotency_key = Some("k3".into());
        call
    })
    .await;
    assert_eq!(first.answer().status, 201);
    replays(&world, || named("QUIET", r#"{"shopId": "s"}"#, "k")).await;
    assert_eq!(sold(&world), "2");
    let pay = || named("PAY", r#"{"orderId": "two"}"#, "k");
    let (first, _) = replays(&world, pay).await;
    assert_eq!((first.member("state"), first.member("version")), ("PAID".into(), 2.into()));
    assert_eq!(
        world.made(named("PAY", r#"{"orderId": "two"}"#, "l")).await.told().1,
        "paid-already"
    );
}

// `Idempotency-Key` on POST: every POST, an upsert that is named among them.
#[tokio::test]
async fn a_named_upsert_is_made_once_too() {
    let world = shop().await;
    let (first, _) = replays(&world, || named("COUNT", r#"{"shopId": "s"}"#, "k")).await;
    assert_eq!(first.member("sold"), 1);
    assert_eq!(sold(&world), "1");
}

// On POST; other methods do not know it.
#[tokio::test]
async fn a_key_means_nothing_to_a_put() {
    let world = shop().await;
    let told = world.made(named("STOCK", r#"{"shopId": "x", "left": 1}"#, "k")).await;
    assert_eq!(told.status(), 200);
    let told = world.made(named("STOCK", r#"{"shopId": "x", "left": 1}"#, "k")).await;
    assert_eq!((told.told(), told.0.replayed), ((409, "stocked".to_owned()), false));
    assert_eq!(records(&world), 0);
}

// An answer that is too long to be kept is refused before anything is done.
#[tokio::test]
async fn what_cannot_be_kept_is_not_done() {
    let document_text = r#"
entity Blob "BLOB" {
  PK = "BLOB#{blobId}"
  SK = "META"
  blobId id, text text(300000), more text(100000)
}
contract PUT "Put" {
  POST /blobs
  input blobId id, text text(300000), more text(100000)
  allow true
  blob = put Blob { blobId, text, more } if absent else 409 there
  return 201 blob
  facts
}
"#;
    let world = World::start(document_text).await;
    let (text, more) = ("\u{1}".repeat(100_000), "y".repeat(100_000));
    let mut call = named("PUT", r#"{"blobId": "b"}"#, "k");
    call = call.json("text", text.as_str()).json("more", more.as_str());
    let told = world.made(call.clone()).await;
    assert_eq!(told.status(), 400, "escaped, it has over 600 KB");
    assert!(told.body().contains("send it without one"), "{}", told.body());
    assert_eq!(world.all("").len(), 0);
    // Where a key must be sent, that is no way out.
    let keyed = World::start(&document_text.replace(
        "return 201 blob",
        "waive item-size \"nobody sends so many\"\n  return 201 blob\n  idempotent by key",
    ))
    .await;
    let told = keyed.made(call.clone()).await;
    assert!(told.body().contains("let the contract return less"), "{}", told.body());
    assert_eq!((told.status(), keyed.all("").len()), (400, 0));
    call.idempotency_key = None;
    assert_eq!(world.made(call).await.status(), 201);
}

// A sweep removes the records that are over, and nothing else.
#[tokio::test]
async fn a_sweep_removes_what_is_over() {
    let world = shop().await;
    let day = 24 * 60 * 60 * 1000;
    // It stays for five minutes more, so that nothing vanishes under a call.
    let over = day + 5 * 60 * 1000;
    for n in 0..7 {
        let mut call = named("ORDER", r#"{"shopId": "s", "total": 5}"#, &format!("k{n}"));
        call.at = Some(NOW + n * 1_000);
        assert_eq!(world.made(call).await.status(), 201);
    }
    let system = world.runtime.system().clone();
    let swept = sweep(&*world.store, &system, None, NOW).await.unwrap();
    assert_eq!((swept.removed, swept.after), (0, None), "none is over yet");
    let swept = sweep(&*world.store, &system, None, NOW + over + 2_000).await.unwrap();
    assert_eq!((swept.removed, records(&world)), (3, 4), "those of 0, 1 and 2 seconds");
    assert_eq!((world.all("ORDER#").len(), world.all("SHOP#").len()), (7, 1));
    let mut kept = named("ORDER", r#"{"shopId": "s", "total": 5}"#, "k5");
    kept.at = Some(NOW + day);
    assert!(world.made(kept).await.0.replayed, "it is as good as before");
    let swept = sweep(&*world.store, &system, None, NOW + 9 * day).await.unwrap();
    assert_eq!((swept.removed, records(&world)), (4, 0));
}
