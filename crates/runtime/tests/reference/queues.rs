//! Queues, workers, timers, batch reads, counts and draws.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_queue::{Embedded, Message, Received, Which};
use latchkey_runtime::{Ending, Handled, Sending, Sent, Source, Work, explain};
use latchkey_table::{Leg, Map, Request, Value};

use crate::support::{NOW, World, after, all_of, call, document};

pub(crate) const SHOP: &str = r#"
entity Order "ORDER" {
  PK = "ORDER#{orderId}"
  SK = "META"
  orderId id, state NEW | QUEUED | PACKED | LOST | DEAD = NEW
  takenAt time?, packedAt time?, problem text(1200)?, tries int?, version counter
  state moves {
    NEW    -> QUEUED, PACKED, LOST, DEAD
    QUEUED -> PACKED, LOST, DEAD
  }
}
entity Count "COUNT" {
  PK = "COUNT#{shard:02}"
  SK = "COUNT"
  shard int 0..3, PACKED int = 0
}
queue packing {
  orderId id, hint text(40)?
  lease 30s
  tries 3
}
contract ORDER "Order" {
  POST /orders/{orderId}
  input hint text(40)?
  allow true
  transact {
    order = put Order { orderId } if absent else 409 there
    send packing { orderId, hint }
      accepted {
        taken = get Order(orderId = order.orderId) strong else done
        when taken.state == NEW {
          update taken set state = QUEUED, takenAt = sent.at, version = .version + 1 if unchanged else retry
        }
      }
      refused {
        lost = get Order strong else done
        when lost.state == NEW {
          update lost set state = LOST, version = .version + 1 if unchanged else retry
        }
      }
  }
  left = get Order strong else 503 try-again
  return 202 left
  facts
}
contract ORDER-AT "Order for a day" {
  POST /orders/{orderId}/at
  input dueAt time
  allow true
  transact {
    order = put Order { orderId } if absent else 409 there
    send packing { orderId } at dueAt
  }
  return 202 order
  facts
}
contract GET "Get" {
  GET /orders/{orderId}
  allow true
  order = get Order strong else 404 not-found
  return order
  facts
}
contract COUNTS "Counts" {
  GET /counts
  allow true
  counts = get Count shard in 0..3 strong
  return counts { shard, PACKED } with { packed = sum(counts.PACKED), shards = count(counts) }
  facts
}
contract AT-ONCE "Counts at one instant" {
  GET /counts/now
  allow true
  counts = get Count shard in 0..3 snapshot
  return counts { shard } with { told = { packed = sum(counts.PACKED), shards = count(counts) } }
  facts
}
worker PACK "Pack" {
  on packing { orderId, hint }
  order = get Order strong else done
  when order.state in (PACKED, LOST, DEAD) { done }
  when hint is present and hint == "later" { later }
  when hint is present and hint == "torn" { fail TORN "the box of {orderId} is torn" }
  when hint is present and hint == "stuck" {
    update order set problem = "stuck", version = .version + 1 if unchanged and .state == LOST else retry
    done
  }
  transact {
    update order
      set state = PACKED, packedAt = max(now, message.sentAt), tries = message.tries, version = .version + 1
      if unchanged else retry
    upsert Count(shard = shard(orderId, 4)) add PACKED = 1
  }
  done
  on dead {
    given_up = get Order strong else done
    when given_up.state in (PACKED, LOST, DEAD) { done }
    update given_up
      set state = DEAD, problem = "{failure.class} {failure.code} {failure.message}", tries = message.tries,
        version = .version + 1
      if unchanged else retry
  }
  facts
}
"#;

/// Time that is moved by hand.
#[derive(Debug)]
pub(crate) struct Moved(pub(crate) AtomicI64);

impl Source for Moved {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        latchkey_runtime::SystemSource.random(bytes)
    }
}

struct Shop {
    world: World,
    clock: Arc<Moved>,
}

impl Shop {
    async fn open() -> Shop {
        let clock = Arc::new(Moved(AtomicI64::new(NOW)));
        let world = World::of(&document(SHOP), clock.clone()).await;
        Shop { world, clock }
    }

    async fn refusing() -> Shop {
        let mut shop = Shop::open().await;
        let refuses =
            Sending::new(|queue| if queue == "packing" { Sent::Refused } else { Sent::Accepted });
        shop.world.runtime = shop.world.runtime.clone().with_sending(refuses);
        shop
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn queue(&self) -> &Embedded {
        self.world.runtime.queue("packing").unwrap().embedded().unwrap()
    }

    fn waiting(&self) -> usize {
        self.queue().peek(Which::Waiting, 100, None).unwrap().0.len()
    }

    async fn receive(&self) -> Option<Received> {
        self.queue().receive(1, Duration::ZERO).await.unwrap().pop()
    }

    async fn handle(&self) -> Option<Handled> {
        let received = self.receive().await?;
        Some(self.world.runtime.queue("packing").unwrap().handle(&received).await.unwrap())
    }

    fn order(&self, id: &str, attribute: &str) -> Option<String> {
        self.world.attribute(&format!("ORDER#{id}"), "META", attribute)
    }

    async fn packed(&self) -> i64 {
        self.world.ok("COUNTS", "{}").await["packed"].as_i64().unwrap()
    }
}

fn quoted(text: &str) -> Option<String> {
    Some(format!("{text:?}"))
}

// The queue is asked right after the transaction, before the statements that follow.
#[tokio::test]
async fn what_follows_a_send_is_done_before_the_answer() {
    let shop = Shop::open().await;
    let told = shop.world.call("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!(told.status(), 202);
    assert_eq!(told.member("state"), "QUEUED");
    assert_eq!(told.member("takenAt"), after(0));
    assert_eq!(shop.waiting(), 1);
}

// `refused { … }` runs when it will not take it.
#[tokio::test]
async fn what_is_refused_is_not_sent() {
    let shop = Shop::refusing().await;
    let told = shop.world.call("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!(told.status(), 202);
    assert_eq!(told.member("state"), "LOST");
    assert_eq!(shop.order("a", "takenAt"), None);
    assert_eq!(shop.waiting(), 0);
    // Without `refused`, it is sent until it is taken.
    let due = format!(r#"{{"orderId": "b", "dueAt": {:?}}}"#, after(0));
    assert_eq!(shop.world.call("ORDER-AT", &due).await.status(), 202);
    assert_eq!(shop.waiting(), 1);
}

// The message is sent exactly if the transaction happens.
#[tokio::test]
async fn a_refused_transaction_sends_nothing() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a"}"#).await;
    let told = shop.world.call("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!(told.told(), (409, "there".to_owned()));
    assert_eq!(shop.waiting(), 1);
}

// `at TIME` makes it a timer, however far off.
#[tokio::test]
async fn a_timer_is_due_when_it_says() {
    let shop = Shop::open().await;
    let day = 24 * 60 * 60 * 1000;
    let due = format!(r#"{{"orderId": "a", "dueAt": {:?}}}"#, after(400 * day));
    shop.world.ok("ORDER-AT", &due).await;
    assert!(shop.handle().await.is_none());
    shop.pass(400 * day - 1);
    assert!(shop.handle().await.is_none());
    shop.pass(1);
    assert_eq!(shop.handle().await.unwrap().worked.ending, Ending::Done);
    assert_eq!(shop.order("a", "packedAt"), quoted(&after(400 * day)));
    assert_eq!((shop.waiting(), shop.packed().await), (0, 1));
}

// `later`: it comes again after a while, and this was no failed try.
#[tokio::test]
async fn what_is_put_off_is_no_try() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a", "hint": "later"}"#).await;
    for _ in 0..7 {
        let handled = shop.handle().await.unwrap();
        assert_eq!((handled.worked.ending, handled.dead), (Ending::Later, false));
        assert!(shop.handle().await.is_none(), "not at once");
        shop.pass(1_000);
    }
    assert_eq!(shop.receive().await.unwrap().tries, 1);
}

// `retry`, which after 5 attempts is `later`.
#[tokio::test]
async fn what_is_retried_in_vain_is_put_off() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a", "hint": "stuck"}"#).await;
    let handled = shop.handle().await.unwrap();
    assert_eq!(handled.worked.ending, Ending::Later);
    assert_eq!(shop.waiting(), 1);
}

// One that fails is tried again until it was tried `tries` times; then it is dead.
#[tokio::test]
async fn what_fails_too_often_is_given_up() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a", "hint": "torn"}"#).await;
    for (tries, wait) in [(1, 1_000), (2, 2_000)] {
        let handled = shop.handle().await.unwrap();
        let Ending::Failed(failure) = &handled.worked.ending else { panic!("{handled:?}") };
        assert_eq!((failure.class.as_str(), failure.code.as_str()), ("FAILED", "TORN"));
        assert_eq!(failure.message, "the box of a is torn");
        assert!(!handled.dead, "try {tries}");
        shop.pass(wait - 1);
        assert!(shop.handle().await.is_none());
        shop.pass(1);
    }
    assert_eq!(shop.order("a", "state"), quoted("QUEUED"));
    let handled = shop.handle().await.unwrap();
    assert!(handled.dead);
    assert_eq!(handled.worked.ending, Ending::Done, "what `on dead` came to");
    assert_eq!(shop.order("a", "state"), quoted("DEAD"));
    assert_eq!(shop.order("a", "problem"), quoted("FAILED TORN the box of a is torn"));
    assert_eq!(shop.order("a", "tries").as_deref(), Some("3"));
    assert_eq!(shop.waiting(), 0);
    let letters = shop.queue().peek(Which::Dead, 10, None).unwrap().0;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].failure.as_ref().unwrap().code, "TORN");
}

// So is a worker that dies, or is not done when its lease is over.
#[tokio::test]
async fn a_worker_that_dies_is_a_failed_try() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a"}"#).await;
    for tries in 1..=3 {
        assert_eq!(shop.receive().await.unwrap().tries, tries);
        assert!(shop.receive().await.is_none(), "someone has it");
        shop.pass(30_001);
    }
    assert!(shop.handle().await.unwrap().dead);
    let problem = shop.order("a", "problem").unwrap();
    assert!(problem.starts_with("\"CRASHED crashed"), "{problem}");
    assert_eq!(shop.order("a", "packedAt"), None);
}

// A worker that hangs past its lease decides nothing any more.
#[tokio::test]
async fn who_comes_too_late_decides_nothing() {
    let shop = Shop::open().await;
    shop.world.ok("ORDER", r#"{"orderId": "a", "hint": "torn"}"#).await;
    let slow = shop.receive().await.unwrap();
    shop.pass(30_001);
    let fast = shop.receive().await.unwrap();
    let runtime = &shop.world.runtime;
    assert!(runtime.queue("packing").unwrap().handle(&slow).await.unwrap().stale);
    assert_eq!(shop.waiting(), 0, "it is still held");
    assert!(!runtime.queue("packing").unwrap().handle(&fast).await.unwrap().stale);
    assert_eq!(shop.waiting(), 1);
}

// A message that is delivered three times at once must leave what one clean delivery leaves.
#[tokio::test]
async fn three_at_once_leave_what_one_leaves() {
    let shop = Shop::open().await;
    for round in 0..20 {
        let id = format!("o{round}");
        shop.world.ok("ORDER", &format!(r#"{{"orderId": {id:?}}}"#)).await;
        let body = Map::from([("orderId", Value::from(id.as_str()))]);
        let message = Arc::new(Message::new("m", body, NOW).unwrap());
        let work = Work::new("packing", message);
        let runtime = &shop.world.runtime;
        let worked = all_of((0..3).map(|_| runtime.work(&work)).collect()).await;
        assert!(worked.iter().all(|worked| worked.ending == Ending::Done), "{worked:?}");
        assert_eq!(shop.order(&id, "version").as_deref(), Some("3"));
        assert_eq!(shop.packed().await, round + 1);
    }
}

#[tokio::test]
async fn a_message_of_another_document_fails_and_says_why() {
    let shop = Shop::open().await;
    let no_id = "must be an id: 1 to 128 of `A-Z a-z 0-9 . _ : @ | -`";
    for (body, detail) in [
        (Map::new(), "/orderId: is missing".to_owned()),
        (Map::from([("orderId", Value::from(3))]), format!("/orderId: {no_id}")),
    ] {
        let message = Message::new("m", body, NOW).unwrap();
        let worked = shop.world.runtime.work(&Work::new("packing", message)).await;
        let Ending::Failed(failure) = worked.ending else { panic!("{worked:?}") };
        assert_eq!((failure.class.as_str(), failure.code.as_str()), ("REFUSED", "invalid-input"));
        assert_eq!(failure.message, detail);
    }
}

// `get X shard in 0..3` reads one item for each number; those that are not there are left out.
#[tokio::test]
async fn batches_leave_out_what_is_not_there() {
    let shop = Shop::open().await;
    let none = shop.world.ok("COUNTS", "{}").await;
    assert_eq!(none.to_string(), r#"{"items":[],"nextCursor":null,"packed":0,"shards":0}"#);
    // The first 8 bytes of their SHA-256, modulo 4.
    let shards = [("a", 2), ("b", 2), ("c", 2), ("d", 1)];
    for (id, _) in shards {
        shop.world.ok("ORDER", &format!(r#"{{"orderId": {id:?}}}"#)).await;
        shop.handle().await.unwrap();
    }
    let counts = shop.world.call("COUNTS", "{}").await;
    let items: Vec<(i64, i64)> = counts
        .member("items")
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["shard"].as_i64().unwrap(), item["PACKED"].as_i64().unwrap()))
        .collect();
    assert_eq!(items, expected(&shards));
    assert_eq!((counts.member("packed"), counts.member("shards")), (4.into(), 2.into()));
    assert_eq!(counts.capacity(), "rcu=4, wcu=0");
    let at_once = shop.world.call("AT-ONCE", "{}").await;
    assert_eq!(at_once.member("told").to_string(), r#"{"packed":4,"shards":2}"#);
    assert_eq!(at_once.capacity(), "rcu=8, wcu=0");
}

fn expected(shards: &[(&str, i64)]) -> Vec<(i64, i64)> {
    let count =
        |shard| i64::try_from(shards.iter().filter(|(_, at)| *at == shard).count()).unwrap();
    (0..4).map(|shard| (shard, count(shard))).filter(|(_, count)| *count > 0).collect()
}

// A send is shown as what it is: a leg.
#[tokio::test]
async fn sends_are_explained_and_traced() {
    let shop = Shop::open().await;
    let told = explain(shop.world.runtime.system(), "ORDER").unwrap().to_string();
    for part in [
        "send packing { orderId, hint }",
        "LATCHKEY#QUEUE#packing",
        "DUE#{now, in milliseconds:015}#{new ulid}",
        "once packing has taken it:",
        "if packing refuses it:",
        "get Order(orderId = order.orderId) strong",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    let worker = explain(shop.world.runtime.system(), "PACK").unwrap().to_string();
    for part in [
        "on packing: a message is leased for 30 s; tries: 3 at most",
        "inputs: orderId (message), hint (message, optional)",
        "fail TORN \"the box of {orderId} is torn\"",
        "packedAt = max(now, message.sentAt)",
        "upsert Count(shard = shard(orderId, 4)) add PACKED = 1",
        "if refused: run again from the start, at most 5 times, then later",
        "once a message was tried too often:",
        "{failure.class} {failure.code} {failure.message}",
    ] {
        assert!(worker.contains(part), "{part} is not in\n{worker}");
    }
    let counts = explain(shop.world.runtime.system(), "COUNTS").unwrap();
    assert_eq!(counts.requests()[0].operation, "BatchGetItem");
    assert!(counts.to_string().contains("get Count shard in 0..3 strong"), "{counts}");
    assert!(counts.to_string().contains("leaves unread: asked again"), "{counts}");
    let at_once = explain(shop.world.runtime.system(), "AT-ONCE").unwrap();
    assert_eq!(at_once.requests()[0].operation, "TransactGetItems");
    assert!(!at_once.to_string().contains("asked again"), "{at_once}");
    let mut traced = call("ORDER", r#"{"orderId": "a"}"#);
    traced.trace = true;
    let outcome = shop.world.made(traced).await.0;
    let puts: Vec<String> = outcome
        .trace
        .iter()
        .filter_map(|step| match &step.request {
            Request::Transact(transact) => Some(transact),
            _ => None,
        })
        .flat_map(|transact| &transact.legs)
        .filter_map(|leg| match leg {
            Leg::Put(put) => Some(put.item.get("PK")?.as_text()?.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(puts, ["ORDER#a", "LATCHKEY#QUEUE#packing"]);
    assert!(outcome.trace.len() >= 4, "what follows is traced too: {:?}", outcome.trace);
}
