//! Whole operations, as JSON.

use super::{check, exists, key, path, query, table, update};
use crate::render::Rendered;
use crate::{
    Action, BatchGet, Condition, Consistency, Delete, Direction, Get, Item, Key, Leg, Map, Put,
    Request, Resume, Returning, SnapshotGet, SortRange, Transact, Value,
};

fn assert_shown(request: &Request, operation: &str, expected: &str) {
    let rendered = Rendered::of(request).unwrap();
    assert_eq!(rendered.operation(), operation);
    let shown = rendered.to_json();
    assert!(shown == expected.trim(), "{shown}\n\nis not\n{expected}");
}

fn keys() -> Vec<Key> {
    vec![Key::new("p", "1"), Key::new("p", "2")]
}

#[test]
fn gets() {
    let consistency = Consistency::Strong;
    assert_shown(
        &Request::Get(Get { table: table(), key: key(), consistency }),
        "GetItem",
        r#"
{
  "TableName": "Test",
  "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}},
  "ConsistentRead": true
}
"#,
    );
    let consistency = Consistency::Eventual;
    assert_shown(
        &Request::BatchGet(BatchGet { table: table(), keys: keys(), consistency }),
        "BatchGetItem",
        r#"
{
  "RequestItems": {
    "Test": {
      "Keys": [
        {"PK": {"S": "p"}, "SK": {"S": "1"}},
        {"PK": {"S": "p"}, "SK": {"S": "2"}}
      ],
      "ConsistentRead": false
    }
  }
}
"#,
    );
    assert_shown(
        &Request::SnapshotGet(SnapshotGet { table: table(), keys: keys() }),
        "TransactGetItems",
        r#"
{
  "TransactItems": [
    {
      "Get": {
        "TableName": "Test",
        "Key": {"PK": {"S": "p"}, "SK": {"S": "1"}}
      }
    },
    {
      "Get": {
        "TableName": "Test",
        "Key": {"PK": {"S": "p"}, "SK": {"S": "2"}}
      }
    }
  ]
}
"#,
    );
}

#[test]
fn queries() {
    assert_shown(
        &Request::Query(query(SortRange::All)),
        "Query",
        r##"
{
  "TableName": "Test",
  "KeyConditionExpression": "#n0 = :v0",
  "ExpressionAttributeNames": {"#n0": "PK"},
  "ExpressionAttributeValues": {":v0": {"S": "p"}},
  "ScanIndexForward": true,
  "ConsistentRead": true
}
"##,
    );
    let mut full = query(SortRange::Between("2025-01-01".into(), "2025-12-31".into()));
    full.index = Some("GSI1".into());
    full.direction = Direction::Descending;
    full.limit = Some(25);
    full.consistency = Consistency::Eventual;
    full.resume = Some(Resume { key: key(), index_key: Some(Key::new("p", "2025-06-01")) });
    assert_shown(
        &Request::Query(full),
        "Query",
        r##"
{
  "TableName": "Test",
  "IndexName": "GSI1",
  "KeyConditionExpression": "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2",
  "ExpressionAttributeNames": {"#n0": "GSI1PK", "#n1": "GSI1SK"},
  "ExpressionAttributeValues": {
    ":v0": {"S": "p"},
    ":v1": {"S": "2025-01-01"},
    ":v2": {"S": "2025-12-31"}
  },
  "ScanIndexForward": false,
  "Limit": 25,
  "ExclusiveStartKey": {
    "GSI1PK": {"S": "p"},
    "GSI1SK": {"S": "2025-06-01"},
    "PK": {"S": "p"},
    "SK": {"S": "s"}
  },
  "ConsistentRead": false
}
"##,
    );
}

#[test]
fn a_put_of_every_type() {
    let inner = Map::from([("l", Value::List(vec![1.into(), Value::List(vec![])]))]);
    let item = Item::from([
        ("PK", Value::from("p")),
        ("SK", Value::from("say \"hi\"\n")),
        ("b", Value::Bytes(vec![1, 2])),
        ("bool", Value::from(false)),
        ("bs", Value::BytesSet([vec![1], vec![]].into())),
        ("m", Value::Map(inner)),
        ("n", Value::Number("-0.50".parse().unwrap())),
        ("ns", Value::NumberSet([2u64.into(), 1u64.into()].into())),
        ("null", Value::Null),
        ("ss", Value::TextSet(["a".into(), "b".into()].into())),
    ]);
    let condition = Some(Condition::Absent(path("PK")));
    assert_shown(
        &Request::Put(Put { table: table(), item, condition }, Returning::Old),
        "PutItem",
        r##"
{
  "TableName": "Test",
  "Item": {
    "PK": {"S": "p"},
    "SK": {"S": "say \"hi\"\n"},
    "b": {"B": "AQI="},
    "bool": {"BOOL": false},
    "bs": {"BS": ["", "AQ=="]},
    "m": {"M": {"l": {"L": [{"N": "1"}, {"L": []}]}}},
    "n": {"N": "-0.5"},
    "ns": {"NS": ["1", "2"]},
    "null": {"NULL": true},
    "ss": {"SS": ["a", "b"]}
  },
  "ConditionExpression": "attribute_not_exists(#n0)",
  "ExpressionAttributeNames": {"#n0": "PK"},
  "ReturnValues": "ALL_OLD",
  "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
}
"##,
    );
}

#[test]
fn what_takes_more_than_a_line() {
    let elements =
        |count: usize| Value::TextSet((0..count).map(|n| format!("{n:02}").into()).collect());
    let long = Value::from("x".repeat(90).as_str());
    let item = Item::from([
        ("at the rim", elements(9)),
        ("at the edge", elements(9)),
        ("deep", Value::List(vec![Map::from([("long", long)]).into(), Map::new().into()])),
    ]);
    let x = "x".repeat(90);
    assert_shown(
        &Request::Put(Put { table: table(), item, condition: None }, Returning::Nothing),
        "PutItem",
        &format!(
            r#"
{{
  "TableName": "Test",
  "Item": {{
    "at the edge": {{
      "SS": ["00", "01", "02", "03", "04", "05", "06", "07", "08"]
    }},
    "at the rim": {{"SS": ["00", "01", "02", "03", "04", "05", "06", "07", "08"]}},
    "deep": {{
      "L": [
        {{
          "M": {{
            "long": {{"S": "{x}"}}
          }}
        }},
        {{"M": {{}}}}
      ]
    }}
  }}
}}
"#
        ),
    );
}

#[test]
fn what_is_empty_stays_on_its_line_however_deep() {
    let deep = |inner| (0..30).fold(inner, |value, _| Value::List(vec![value]));
    for (inner, expected) in [
        (Value::List(vec![]), "\"L\": []\n"),
        (Value::Map(Map::new()), "\"M\": {}\n"),
        (Value::from("x"), "{\"S\": \"x\"}\n"),
    ] {
        let item = Item::from([("a", deep(inner))]);
        let put = Put { table: table(), item, condition: None };
        let shown = Rendered::of(&Request::Put(put, Returning::Nothing)).unwrap().to_json();
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn updates_and_deletes() {
    let actions = vec![Action::set("state", "OPEN"), Action::increment("version", 1)];
    let condition = Condition::equals("state", "SHUT");
    assert_shown(
        &Request::Update(update(actions, Some(condition)), Returning::New),
        "UpdateItem",
        r##"
{
  "TableName": "Test",
  "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}},
  "UpdateExpression": "SET #n0 = :v0, #n1 = #n1 + :v1",
  "ConditionExpression": "#n0 = :v2",
  "ExpressionAttributeNames": {"#n0": "state", "#n1": "version"},
  "ExpressionAttributeValues": {
    ":v0": {"S": "OPEN"},
    ":v1": {"N": "1"},
    ":v2": {"S": "SHUT"}
  },
  "ReturnValues": "ALL_NEW",
  "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
}
"##,
    );
    let bare = r#"
{
  "TableName": "Test",
  "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}}
}
"#;
    let delete = Delete { table: table(), key: key(), condition: None };
    assert_shown(&Request::Delete(delete, Returning::Nothing), "DeleteItem", bare);
    // Without an expression, the item is made of its key.
    assert_shown(&Request::Update(update(vec![], None), Returning::Nothing), "UpdateItem", bare);
}

#[test]
fn a_transaction_of_every_leg() {
    let item = Item::from([("PK", "p"), ("SK", "s")]);
    let legs = vec![
        Leg::Put(Put { table: table(), item, condition: None }),
        Leg::Update(update(vec![Action::Remove(path("a"))], Some(exists("a")))),
        Leg::Delete(Delete { table: table(), key: key(), condition: None }),
        Leg::Check(check(Condition::equals("a", 1))),
    ];
    assert_shown(
        &Request::Transact(Transact { legs }),
        "TransactWriteItems",
        r##"
{
  "TransactItems": [
    {
      "Put": {
        "TableName": "Test",
        "Item": {"PK": {"S": "p"}, "SK": {"S": "s"}}
      }
    },
    {
      "Update": {
        "TableName": "Test",
        "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}},
        "UpdateExpression": "REMOVE #n0",
        "ConditionExpression": "attribute_exists(#n0)",
        "ExpressionAttributeNames": {"#n0": "a"},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
      }
    },
    {
      "Delete": {
        "TableName": "Test",
        "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}}
      }
    },
    {
      "ConditionCheck": {
        "TableName": "Test",
        "Key": {"PK": {"S": "p"}, "SK": {"S": "s"}},
        "ConditionExpression": "#n0 = :v0",
        "ExpressionAttributeNames": {"#n0": "a"},
        "ExpressionAttributeValues": {":v0": {"N": "1"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
      }
    }
  ]
}
"##,
    );
}
