//! Latchkey's own items, where a document gains or loses an index that moves them to another table.

use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::Store;
use latchkey_runtime::{Options, Outside, System};
use latchkey_table::{Item, Put, Returning, Scan, Schema, Text};

use crate::support::{World, call};

/// Rides, in a table with an index, or without.
fn rides(index: &str, place: &str) -> System {
    let text = r#"
```contract
system rides
table Rides { type T  PK PK  SK SK INDEX }
queue reminders { rideId id }
entity Ride "RIDE" {
  PK = "RIDE#{rideId}"
  SK = "RIDE"
  rideId id, status NEW | TOLD = NEW, driver id, version counter
  PLACE
}
contract ASK "Ask" {
  POST /rides
  input rideId id, driver id
  allow true
  transact {
    ride = put Ride { rideId, driver } if absent else 409 there
    send reminders { rideId }
  }
  return 201 ride
  consistency strong
  expect 1 item
  rate 1/s
}
worker TELL "Tell" {
  on reminders { rideId }
  ride = get Ride strong else done
  when ride.status == TOLD { done }
  update ride set status = TOLD, version = .version + 1 if unchanged else retry
  done
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;
    System::read(&text.replace("INDEX", index).replace("PLACE", place)).unwrap()
}

fn plain() -> System {
    rides("", "")
}

/// The index has an attribute for its key that Latchkey's own records have as a number.
fn by_status() -> System {
    let place = r#"index ByStatus moves { PK = "{status}" SK = "{driver}" }"#;
    rides("index ByStatus { PK status SK driver }", place)
}

/// The index would hold every item.
fn inverted() -> System {
    let place = r#"index Inverted { PK = "RIDE" SK = "RIDE#{rideId}" }
  waive hot-partition "few""#;
    rides("index Inverted { PK SK SK PK }", place)
}

fn own_items(store: &Store, table: &Arc<Schema>) -> Vec<Item> {
    let table = Arc::clone(table);
    let partition_prefix = Text::from("LATCHKEY#");
    let scan = Scan { table, partition_prefix, after: None, items_max: 100 };
    store.scan(&scan).unwrap().items
}

// A message and a record stayed in the table where the document before kept them: neither was ever looked at again, and
// a store with a record did not open with an index on `status`.
#[tokio::test]
async fn messages_and_records_follow_the_document() {
    for later in [by_status, inverted] {
        let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
        let start = async |system: System| {
            World::on(system, Arc::clone(&store), Options::default().source).await
        };
        let ask = || {
            let mut ask = call("ASK", r#"{"rideId": "1", "driver": "d"}"#);
            ask.idempotency_key = Some("k".into());
            ask
        };
        let first = start(plain()).await.made(ask()).await;
        assert_eq!(first.status(), 201, "{}", first.body());
        for (system, apart) in [(later(), true), (plain(), false), (later(), true)] {
            let world = start(system).await;
            let again = world.made(ask()).await;
            assert_eq!((again.status(), again.0.replayed), (201, true), "{}", again.body());
            let system = world.runtime.system();
            assert_eq!(system.tables().count(), 1 + usize::from(apart));
            assert_eq!(own_items(&store, system.own_table()).len(), 2, "a record and a message");
            for table in system.tables() {
                store.verify(table).unwrap();
            }
            if apart {
                assert_eq!(own_items(&store, system.table()), []);
            }
        }
        let world = start(plain()).await;
        let queue = world.runtime.queue("reminders").unwrap();
        let received = queue.queue().receive(1, Duration::ZERO).await.unwrap().pop().unwrap();
        queue.handle(&received).await.unwrap();
        assert_eq!(world.attribute("RIDE#1", "RIDE", "status").as_deref(), Some("\"TOLD\""));
    }
}

// The same, where the store has the messages alone, and items are elsewhere.
#[tokio::test]
async fn messages_follow_the_document_where_items_are_elsewhere() {
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let source = Options::default().source;
    let (before, after) = (plain(), by_status());
    Outside::in_store(&before, &store, &source).await.unwrap();
    let item = Item::from([("PK", "LATCHKEY#DEAD#reminders"), ("SK", "1"), ("T", "LETTER")]);
    let put = Put { table: Arc::clone(before.own_table()), item: item.clone(), condition: None };
    store.put(put, Returning::Nothing).await.unwrap();
    Outside::in_store(&after, &store, &source).await.unwrap();
    assert_eq!(own_items(&store, after.own_table()), std::slice::from_ref(&item));
    Outside::in_store(&before, &store, &source).await.unwrap();
    assert_eq!(own_items(&store, before.own_table()), [item]);
}
