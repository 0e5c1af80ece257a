//! `latchkey table`: making tables, looking at them, and saying what to run where they are wrong.

use serde_json::{Value, json};

use crate::serve::services::Service;
use crate::world::{World, on_each, unique};

/// How a table may differ from what the document needs.
struct Wrong {
    what: &'static str,
    /// Makes it so, in a request that would make it right.
    change: fn(&mut Value),
    said: &'static str,
    /// What to run: each of these is in what `diff` says.
    remedy: &'static [&'static str],
}

const ANOTHER: &[&str] = &["latchkey table create doors.md", "doors=ANOTHER", "latchkey export"];

const INDEX_AGAIN: &[&str] =
    &[r#"[{"Delete":{"IndexName":"ByOwner"}}]"#, r#"[{"Create":{"IndexName":"ByOwner""#];

const WRONG: &[Wrong] = &[
    Wrong {
        what: "another key",
        change: |table| {
            table["KeySchema"] = key("id", "SK");
            table["AttributeDefinitions"][0]["AttributeName"] = json!("id");
        },
        said: "its key is id, SK, not PK, SK",
        remedy: ANOTHER,
    },
    Wrong {
        what: "no sort key",
        change: |table| {
            table["KeySchema"] = json!([{"AttributeName": "PK", "KeyType": "HASH"}]);
            table["AttributeDefinitions"].as_array_mut().unwrap().remove(1);
        },
        said: "its key is PK alone, not PK, SK",
        remedy: ANOTHER,
    },
    Wrong {
        what: "a key of numbers",
        change: |table| table["AttributeDefinitions"][1]["AttributeType"] = json!("N"),
        said: "its key attribute `SK` is of type N, not S",
        remedy: ANOTHER,
    },
    Wrong {
        what: "no index",
        change: |table| {
            table.as_object_mut().unwrap().remove("GlobalSecondaryIndexes");
            table["AttributeDefinitions"].as_array_mut().unwrap().truncate(2);
        },
        said: "it has no index `ByOwner`",
        remedy: &[
            "aws dynamodb update-table --endpoint-url http://127.0.0.1:",
            "AttributeName=ByOwnerPK,AttributeType=S",
            r#""Projection":{"ProjectionType":"ALL"}"#,
        ],
    },
    Wrong {
        what: "an index with another key",
        change: |table| {
            table["GlobalSecondaryIndexes"][0]["KeySchema"] = key("ByOwnerSK", "ByOwnerPK");
        },
        said: "the key of its index `ByOwner` is ByOwnerSK, ByOwnerPK, not ByOwnerPK, ByOwnerSK",
        remedy: INDEX_AGAIN,
    },
    Wrong {
        what: "an index of keys alone",
        change: |table| {
            let projection = json!({"ProjectionType": "KEYS_ONLY"});
            table["GlobalSecondaryIndexes"][0]["Projection"] = projection;
        },
        said: "its index `ByOwner` holds KEYS_ONLY of an item, not ALL",
        remedy: INDEX_AGAIN,
    },
    Wrong {
        what: "an index that may stay",
        change: |table| {
            let projection = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["kind"]});
            table["GlobalSecondaryIndexes"][0]["Projection"] = projection;
        },
        said: "its index `ByOwner` holds its keys and kind of an item, not ALL",
        remedy: &[
            "# instead of removing and making it: leave the index as it is",
            "`index ByOwner { … holds keys, kind }`",
            r#"[{"Delete":{"IndexName":"ByOwner"}}]"#,
            "deletes the index with all it holds; until it is made again, these find nothing: D-02",
            r#""Projection":{"ProjectionType":"ALL"}"#,
        ],
    },
    Wrong {
        what: "an index over numbers",
        change: |table| table["AttributeDefinitions"][3]["AttributeType"] = json!("N"),
        said: "its key attribute `ByOwnerSK` is of type N, not S",
        remedy: INDEX_AGAIN,
    },
    Wrong {
        what: "an index over numbers, as another is",
        change: |table| {
            table["AttributeDefinitions"][3]["AttributeType"] = json!("N");
            let other = json!({
                "IndexName": "Old",
                "KeySchema": key("PK", "ByOwnerSK"),
                "Projection": {"ProjectionType": "ALL"},
            });
            table["GlobalSecondaryIndexes"].as_array_mut().unwrap().push(other);
        },
        said: "its key attribute `ByOwnerSK` is of type N, not S",
        remedy: &[
            r#"[{"Delete":{"IndexName":"Old"}}]"#,
            "the document does not declare it, others may read it",
            r#"[{"Delete":{"IndexName":"ByOwner"}}]"#,
            r#"[{"Create":{"IndexName":"ByOwner""#,
        ],
    },
    Wrong {
        what: "an index of another program, over numbers",
        change: |table| {
            let defined = json!({"AttributeName": "ownerId", "AttributeType": "N"});
            table["AttributeDefinitions"].as_array_mut().unwrap().push(defined);
            let other = json!({
                "IndexName": "Old",
                "KeySchema": [{"AttributeName": "ownerId", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            });
            table["GlobalSecondaryIndexes"].as_array_mut().unwrap().push(other);
        },
        said: "the document stores `ownerId` as S, and it is N in an index that the document does not declare (Old)",
        remedy: &[
            "# give `ownerId` another name in the document, and ask again",
            r#"[{"Delete":{"IndexName":"Old"}}]"#,
            "the document does not declare it, others may read it",
        ],
    },
    Wrong {
        what: "a local index of another key",
        change: |table| {
            let mut local =
                table.as_object_mut().unwrap().remove("GlobalSecondaryIndexes").unwrap();
            local[0]["KeySchema"] = key("PK", "ByOwnerSK");
            table["LocalSecondaryIndexes"] = local;
            table["AttributeDefinitions"].as_array_mut().unwrap().remove(2);
        },
        said: "its local index `ByOwner` has the key PK, ByOwnerSK, not ByOwnerPK, ByOwnerSK",
        remedy: &["`ByOwner` is local, and local indexes cannot be changed", "another name"],
    },
];

fn key(partition: &str, sort: &str) -> Value {
    json!([
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ])
}

/// A request that makes the table of the document.
fn right(table: &str) -> Value {
    let attributes = ["PK", "SK", "ByOwnerPK", "ByOwnerSK"];
    json!({
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": key("PK", "SK"),
        "AttributeDefinitions":
            attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
        "GlobalSecondaryIndexes": [{
            "IndexName": "ByOwner",
            "KeySchema": key("ByOwnerPK", "ByOwnerSK"),
            "Projection": {"ProjectionType": "ALL"},
        }],
    })
}

/// Runs a command on the table of the document.
fn on(service: &Service, table: &str, command: &[&str]) -> crate::world::Done {
    let named = format!("doors={table}");
    let remote = ["--endpoint", service.endpoint(), "--table", &named];
    World::new().run(&[command, &remote].concat())
}

#[test]
fn a_table_is_made_once_and_is_then_as_it_should_be() {
    on_each(|service| {
        let table = unique("doors");
        let quoted = format!("`{table}`");
        on(service, &table, &["table", "describe", "doors.md"])
            .is(1, &["there is no table", &quoted, "latchkey table create doors.md --endpoint"]);
        on(service, &table, &["table", "diff", "doors.md"])
            .is(1, &["there is no table", &quoted, "latchkey table create doors.md --endpoint"]);
        on(service, &table, &["table", "create", "doors.md"]).is(0, &["made table", &quoted]);
        on(service, &table, &["table", "create", "doors.md"])
            .is(0, &[&quoted, "is there, and as it should be"]);
        on(service, &table, &["table", "diff", "doors.md"]).is(0, &["is as it should be"]);
        on(service, &table, &["table", "describe", "doors.md"]).is(
            0,
            &[
                &format!("doors: table {quoted}, ACTIVE"),
                "key       PK (S), SK (S)",
                "index     ByOwner: ByOwnerPK (S), ByOwnerSK (S), ALL, ACTIVE",
                "billing   PAY_PER_REQUEST",
                "recovery  ",
                "expiry    on, by `expires`",
                "items     0, of 0 bytes",
            ],
        );
    });
}

#[test]
fn a_table_is_made_with_the_expiry_that_its_document_names() {
    on_each(|service| {
        let (world, named) = (World::new(), format!("doors={}", unique("doors")));
        let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
        let remote = ["doors.md", "--endpoint", service.endpoint(), "--table", &named];
        let run = |command: &str| world.run(&[&["table", command], &remote[..]].concat());
        world.write("doors.md", &text.replace("type kind", "type kind  ttl gone"));
        run("create").is(0, &["made table"]);
        run("describe").is(0, &["expiry    on, by `gone`"]);
        run("diff").is(0, &["is as it should be"]);
        world.write("doors.md", &text);
        let told = [
            "time to live is by `gone`, not `expires`",
            "AttributeName=gone",
            "AttributeName=expires",
        ];
        run("diff").is(1, &told);
    });
}

#[test]
fn the_tables_of_several_documents_are_made_together() {
    on_each(|service| {
        let world = World::new();
        let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
        let (doors, gates) = (unique("doors"), unique("gates"));
        let gate = |text: &str| text.replace("system doors", "system gates");
        world.write("gates.md", &gate(&text).replace("table Doors", "table Gates"));
        let named = [format!("doors={doors}"), format!("gates={gates}")];
        let remote = ["--endpoint", service.endpoint(), "--table", &named[0], "--table", &named[1]];
        let run = |command| {
            world.run(&[&["table", command, "doors.md", "gates.md"], &remote[..]].concat())
        };
        run("diff").is(1, &[&doors, &gates]);
        run("create").is(0, &[&doors, &gates]);
        run("diff").is(0, &[&doors, &gates]);
    });
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_what_to_run() {
    on_each(|service| {
        for wrong in WRONG {
            println!("{}", wrong.what);
            let table = unique("doors");
            let mut request = right(&table);
            (wrong.change)(&mut request);
            service.ask("CreateTable", &request);

            let diff = format!("latchkey table diff doors.md --endpoint {}", service.endpoint());
            let serve = ["serve", "doors.md", "--listen", "127.0.0.1:0", "--dynamodb"];
            on(service, &table, &serve).is(2, &[&table, wrong.said, &diff]);
            on(service, &table, &["table", "create", "doors.md"]).is(1, &[wrong.said, &diff]);
            let done = on(service, &table, &["table", "diff", "doors.md"]);
            done.is(1, &[&[&table, wrong.said], wrong.remedy].concat());
            let places: Vec<_> = wrong.remedy.iter().map(|one| done.output.find(one)).collect();
            assert!(places.is_sorted(), "in this order: {:?}\n{}", wrong.remedy, done.output);
            assert!(!done.output.contains("doors=doors"), "{}", done.output);
        }
    });
}

#[test]
fn a_table_that_is_right_by_hand_is_right_but_for_its_upkeep() {
    on_each(|service| {
        let table = unique("doors");
        service.ask("CreateTable", &right(&table));
        let serve =
            ["call", "D-01", "doorId=D1", "--as", "alice", "--doc", "doors.md", "--dynamodb"];
        on(service, &table, &serve).is(1, &["not-found"]);
        on(service, &table, &["table", "diff", "doors.md"]).is(
            1,
            &["time to live is off", "aws dynamodb update-time-to-live", "AttributeName=expires"],
        );
    });
}

/// A document whose index holds a part of each item.
fn parts(world: &World) {
    let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
    let held = "type kind  index ByOwner { holds keys, kind }";
    world.write("doors.md", &text.replace("type kind", held));
}

#[test]
fn an_index_is_made_with_what_it_holds() {
    on_each(|service| {
        let world = World::new();
        parts(&world);
        let run = |table: &str, command: &[&str]| {
            let named = format!("doors={table}");
            world.run(&[command, &["--endpoint", service.endpoint(), "--table", &named]].concat())
        };
        let table = unique("doors");
        run(&table, &["table", "create", "doors.md"]).is(0, &["made table"]);
        run(&table, &["table", "create", "doors.md"]).is(0, &["is there, and as it should be"]);
        run(&table, &["table", "diff", "doors.md"]).is(0, &["is as it should be"]);
        let holds = "ByOwner: ByOwnerPK (S), ByOwnerSK (S), INCLUDE kind, ACTIVE";
        run(&table, &["table", "describe", "doors.md"]).is(0, &[holds]);
        let door =
            ["call", "D-03", "doorId=D1", "--as", "alice", "--doc", "doors.md", "--dynamodb"];
        run(&table, &door).is(0, &["D1"]);
        let list =
            ["call", "D-02", "ownerId=alice", "--as", "alice", "--doc", "doors.md", "--dynamodb"];
        run(&table, &list).is(0, &["D1"]);
        // More than is needed does no harm, less does.
        let whole = unique("doors");
        service.ask("CreateTable", &right(&whole));
        run(&whole, &["table", "create", "doors.md"]).is(0, &["is there, and as it should be"]);
        let keys = unique("doors");
        let mut request = right(&keys);
        request["GlobalSecondaryIndexes"][0]["Projection"] = json!({"ProjectionType": "KEYS_ONLY"});
        service.ask("CreateTable", &request);
        run(&keys, &["table", "diff", "doors.md"]).is(
            1,
            &[
                "its index `ByOwner` holds KEYS_ONLY of an item, not its keys and kind",
                "`index ByOwner { … holds keys }`",
                r#""Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["kind"]}"#,
            ],
        );
    });
}

/// Rooms of a house, which a local index lists by their floor.
const ROOMS: &str = r#"# Rooms

```contract
system doors

table Doors { type kind  index ByFloor { PK PK  SK floor } }

entity Room "ROOM" {
  PK = "HOUSE#{houseId}"
  SK = "ROOM#{roomId}"

  houseId id
  roomId  id
  floor   id

  index ByFloor { PK = "HOUSE#{houseId}"  SK = "{floor}" }
}

contract R-01 "Make a room" {
  POST /houses/{houseId}/rooms
  input roomId id
  input floor  id
  allow true
  put Room { houseId, roomId, floor } if absent else 409 taken
  return 204

  consistency strong
  expect 1 item
  rate 1/s
}

contract R-02 "The rooms by floor" {
  GET /houses/{houseId}/rooms
  allow true
  rooms = query Room by ByFloor where PK = "HOUSE#{houseId}" page 10 max 50
  return rooms

  consistency eventual
  expect 0..50 items
  rate 1/s
}
```
"#;

#[test]
fn a_local_index_serves_as_the_index_that_a_document_declares() {
    on_each(|service| {
        let world = World::new();
        world.write("doors.md", ROOMS);
        let table = unique("doors");
        let named = format!("doors={table}");
        let run = |command: &[&str]| {
            world.run(&[command, &["--endpoint", service.endpoint(), "--table", &named]].concat())
        };
        let attributes = ["PK", "SK", "floor"];
        service.ask(
            "CreateTable",
            &json!({
                "TableName": table,
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": key("PK", "SK"),
                "AttributeDefinitions":
                    attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
                "LocalSecondaryIndexes": [{
                    "IndexName": "ByFloor",
                    "KeySchema": key("PK", "floor"),
                    "Projection": {"ProjectionType": "ALL"},
                }],
            }),
        );
        run(&["table", "create", "doors.md"]).is(0, &["is there, and as it should be"]);
        run(&["table", "describe", "doors.md"]).is(0, &["ByFloor: PK (S), floor (S), ALL, local"]);
        let call = ["--as", "alice", "--doc", "doors.md", "--dynamodb"];
        for (room, floor) in [("a", "2"), ("b", "1")] {
            let (room, floor) = (format!("roomId={room}"), format!("floor={floor}"));
            run(&[&["call", "R-01", "houseId=H", &room, &floor][..], &call].concat()).is(0, &[]);
        }
        let listed = run(&[&["call", "R-02", "houseId=H"][..], &call].concat());
        listed.is(0, &["roomId"]);
        let at =
            |room: &str| listed.output.find(&format!("\"{room}\"")).expect("the room is listed");
        assert!(at("b") < at("a"), "the floor orders them: {}", listed.output);
    });
}
