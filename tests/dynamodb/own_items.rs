//! Latchkey's own items on a service, where a document gains or loses an index that moves them to another table.

use serde_json::json;

use crate::serve::services::Service;
use crate::world::{World, on_each, unique};

const RIDES: &str = r#"# Rides
```contract
system rides
table Rides { type T  PK PK  SK SK INDEX }
queue reminders {
  rideId id
}
entity Ride "RIDE" {
  PK = "RIDE#{rideId}"
  SK = "RIDE"
  rideId id, status NEW | TOLD = NEW, driver id, version counter
  PLACE
}
contract R-1 "Ask" {
  POST /rides
  input rideId id, driver id, wait int 0..3600
  allow true
  transact {
    r = put Ride { rideId, driver } if absent else 409 there
    send reminders { rideId } at now + 8s
  }
  return 201 r with { wait }
  consistency strong
  expect 1 item
  rate 1/s
}
contract R-2 "Get" {
  GET /rides/{rideId}
  allow true
  r = get Ride strong else 404 not-found
  return r
  consistency strong
  expect 1 item
  rate 1/s
}
worker W-1 "Tell" {
  on reminders { rideId }
  r = get Ride strong else done
  when r.status == TOLD { done }
  update r set status = TOLD, version = .version + 1 if unchanged else retry
  done
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

const PLACE: &str = r#"index Inverted { PK = "RIDE" SK = "RIDE#{rideId}" }
  waive hot-partition "few""#;

/// How many items of Latchkey's own a table has.
fn own_items(service: &Service, table: &str) -> usize {
    let found = service.ask("Scan", &json!({"TableName": table, "ConsistentRead": true}));
    let items = found["Items"].as_array().unwrap().iter();
    items.filter(|item| item["PK"]["S"].as_str().unwrap().starts_with("LATCHKEY#")).count()
}

// A timer stayed where the document before kept it, and nothing said so.
#[test]
fn a_timer_follows_the_document() {
    on_each(|service| {
        let world = World::new();
        world.write("before.md", &RIDES.replace("INDEX", "").replace("PLACE", ""));
        let index = "index Inverted { PK SK SK PK }";
        world.write("after.md", &RIDES.replace("INDEX", index).replace("PLACE", PLACE));
        let table = unique("Rides");
        let (second, named) = (format!("{table}-latchkey"), format!("rides={table}"));
        let run = |command: &[&str]| {
            world.run(&[command, &["--endpoint", service.endpoint(), "--table", &named]].concat())
        };
        // More indexes than the document needs do no harm.
        let key = |partition: &str, sort: &str| {
            json!([
                {"AttributeName": partition, "KeyType": "HASH"},
                {"AttributeName": sort, "KeyType": "RANGE"},
            ])
        };
        let defined = ["PK", "SK"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        service.ask(
            "CreateTable",
            &json!({
                "TableName": table,
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": key("PK", "SK"),
                "AttributeDefinitions":
                    defined,
                "GlobalSecondaryIndexes": [{
                    "IndexName": "Inverted",
                    "KeySchema": key("SK", "PK"),
                    "Projection": {"ProjectionType": "ALL"},
                }],
            }),
        );
        let call = |document: &str, given: &[&str]| {
            let by = ["--as", "ann", "--doc", document, "--dynamodb"];
            run(&[&["call"], given, &by[..]].concat()).is(0, &["driver"]);
        };
        call("before.md", &["R-1", "rideId=1", "driver=d", "wait=1"]);
        assert_eq!(own_items(service, &table), 1);
        let moves = "they move messages and timers";
        run(&["table", "diff", "after.md"]).is(1, &["table create", &second, moves]);
        run(&["table", "create", "after.md"])
            .is(0, &[&second, moves, "with its key may act again"]);
        call("after.md", &["R-2", "rideId=1"]);
        assert_eq!((own_items(service, &table), own_items(service, &second)), (0, 1));
        call("before.md", &["R-2", "rideId=1"]);
        assert_eq!((own_items(service, &table), own_items(service, &second)), (1, 0));
        // Whoever makes both tables has nothing to move.
        let other = format!("rides={}", unique("Rides"));
        let create = ["table", "create", "after.md", "--endpoint", service.endpoint(), "--table"];
        let made = world.run(&[&create[..], &[&other]].concat());
        made.is(0, &["made table"]);
        assert!(!made.output.contains(moves), "{}", made.output);
    });
}
