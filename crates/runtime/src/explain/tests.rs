use std::collections::BTreeSet;

use serde_json::Value;

use super::{Asked, explain};
use crate::plan::System;

/// A document with all that is rare in one.
const YARD: &str = r#"```contract
system yard
table Yard { type kind }
role hand

entity Crate "CRATE" {
  PK = "CRATE#{crateId}"
  SK = "META"

  crateId id, ownerId id, state FULL | EMPTY = EMPTY, bay int 0..99, weight number 0.. = 0
  tags list?, data map(512, 3)?, open bool = false, seal key?, queuedAt time?, note text(40)?
  version counter

  state moves {
    EMPTY -> FULL
    FULL -> EMPTY
  }
  index ByBay moves {
    PK = "BAY#{bay:02}"
    SK = "CRATE#{crateId}"
  }
  index ByQueue moves {
    PK = "OWNER#{ownerId}"
    SK = "QAT#{queuedAt}#{crateId}"
  }
}

entity Copy "COPY" view of Crate {
  PK = "OWNER#{ownerId}"
  SK = "CRATE#{crateId}"
  copies ownerId, crateId, state, weight, note
}

entity Tally "TALLY" {
  PK = "OWNER#{ownerId}"
  SK = "TALLY"
  ownerId id, weight number = 0, crates int = 0
}

contract Y-1 "Bring a crate" {
  POST /crates
  input ownerId id, open bool, tags list?, data map(512, 3)?, weight Crate.weight, queuedAt time?
  allow caller is hand
  crateId = new ulid
  transact {
    crate = put Crate { crateId, ownerId, bay = 7, open, tags, data, weight, queuedAt, seal = new key }
      if absent else 409 crate-exists
    put Copy of crate replace
    upsert Tally set crates = .crates + 1 add weight = weight
  }
  return 201 crate
  consistency strong
  expect 1 item
  rate 1/s
}

contract Y-2 "Fill a crate or empty it" {
  POST /crates/{crateId}/turn
  input note text(40)?, bay Crate.bay ?, force bool = false
  crate = get Crate strong else {
    allow caller is hand
    spare = get Crate(crateId = "SPARE") strong else 404 no-spare
    return spare
  }
  allow caller owns crate.ownerId
  transact {
    when crate.state == EMPTY {
      update crate set state = FULL, version = .version + 1
        if unchanged and (force or .note is absent) else {
          return crate with { full = false }
        }
    } else {
      update crate set state = EMPTY, note ?= note, bay ?= bay, version = .version + 1 remove queuedAt
        if unchanged else retry
    }
    waive stale-copy "the crate is written above, either way"
    put Copy of crate replace
  }
  return crate
  consistency strong
  expect 1 item
  rate 1/s
}

contract Y-4 "List an owner's crates" {
  GET /owners/{ownerId}/crates
  allow caller owns ownerId
  tally = get Tally else 404 nothing
  copies = query Copy
    where PK = "OWNER#{ownerId}" and SK begins_with "CRATE#"
    page 10
  return copies with { weight = tally.weight, crates = tally.crates }
  consistency eventual
  expect 0.. items
  rate 1/s
}

contract Y-5 "List what is queued" {
  GET /owners/{ownerId}/queue
  allow caller owns ownerId
  queued = query Crate by ByQueue
    where PK = "OWNER#{ownerId}" and SK begins_with "QAT#"
    page 10
  return queued
  consistency eventual
  expect 0.. items
  rate 1/s
  cache 90s
}

contract Y-3 "List a bay" {
  GET /bays/{bay}
  input newest bool = false, from id?
  allow caller is hand
  when from is present {
    some = query Crate by ByBay
      where PK = "BAY#{bay:02}" and SK between "CRATE#{from}" and "CRATE#z"
      order descending when newest
      first 5
    return some
  }
  crates = query Crate by ByBay
    where PK = "BAY#{bay:02}" and SK begins_with "CRATE#"
    order descending when newest
    page 10
  return crates
  consistency eventual
  expect 0.. items
  rate 1/s
}
```"#;

fn explained(contract: &str) -> (String, Vec<Asked>) {
    let system = System::read(YARD).unwrap_or_else(|mistakes| panic!("{:#?}", mistakes.0));
    let explanation = explain(&system, contract).expect("there is such a contract");
    (explanation.to_string(), explanation.requests().to_vec())
}

fn json(asked: &Asked) -> Value {
    serde_json::from_str(&asked.json).unwrap_or_else(|error| panic!("{error}: {}", asked.json))
}

/// The requests of a kind, parsed.
fn all(requests: &[Asked], operation: &str) -> Vec<Value> {
    requests.iter().filter(|asked| asked.operation == operation).map(json).collect()
}

#[test]
fn a_cache_is_told_with_what_ends_it() {
    let (text, _) = explained("Y-5");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "cache: for 90 s what a call has read answers other calls, unless it is strong; a write of Crate by this \
                process ends that";
    assert!(text.contains(told), "{text}");
    assert!(!explained("Y-4").0.contains("cache:"));
}

#[test]
fn values_have_the_types_they_will_have() {
    let (text, requests) = explained("Y-1");
    let puts = all(&requests, "Put");
    let item = &puts[1]["Put"]["Item"];
    for (name, code, shown) in [
        ("crateId", "S", "{crateId}"),
        ("open", "BOOL", "{open}"),
        ("tags", "L", "{tags}"),
        ("data", "M", "{data}"),
        ("weight", "N", "{weight}"),
        ("seal", "B", "{new key}"),
        ("version", "N", "1"),
        ("bay", "N", "7"),
        ("ByBayPK", "S", "BAY#07"),
        ("ByBaySK", "S", "CRATE#{crateId}"),
        ("ByQueueSK", "S", "QAT#{queuedAt}#{crateId}"),
    ] {
        assert_eq!(item[name][code], shown, "{name} in {item}");
    }
    assert!(text.contains("left out if absent: data, queuedAt, tags\n"), "{text}");
    assert!(text.contains("1. allow caller is hand\n"), "{text}");
    assert!(text.contains("2. crateId = new ulid\n"), "{text}");
}

#[test]
fn what_a_store_computes_with_has_a_name_too() {
    let (_, requests) = explained("Y-1");
    let update = &all(&requests, "Update")[0]["Update"];
    let expression = update["UpdateExpression"].as_str().expect("it has one");
    assert!(expression.contains("if_not_exists("), "{expression}");
    assert!(expression.contains(" ADD #n3 :v4"), "{expression}");
    assert_eq!(update["ExpressionAttributeValues"][":v4"]["N"], "{weight}");
}

#[test]
fn ways_that_meet_leave_the_name_of_what_differs() {
    let (text, requests) = explained("Y-2");
    let puts = all(&requests, "Put");
    let copy = puts.last().map(|put| &put["Put"]["Item"]).expect("the copy is put");
    assert_eq!(copy["state"]["S"], "{crate.state}", "it is one or the other");
    assert_eq!(copy["weight"]["N"], "{crate.weight}", "it is as it was read on both ways");
    assert_eq!(copy["kind"]["S"], "COPY");
    assert!(text.contains("when crate.state == \"EMPTY\"\n"), "{text}");
    assert!(text.contains("\n   otherwise\n"), "{text}");
    assert!(text.contains("left as it is if not given: bay\n"), "{text}");
    assert!(text.contains("left as it is if not given, REMOVE if null: note\n"), "{text}");
}

#[test]
fn a_condition_is_shown_as_it_is_with_each_outcome_of_what_is_not_stored() {
    let (text, requests) = explained("Y-2");
    let updates = all(&requests, "Update");
    let conditions: Vec<_> =
        updates.iter().map(|update| update["Update"]["ConditionExpression"].as_str()).collect();
    assert_eq!(
        conditions,
        [
            Some("#n2 = :v2 AND #n1 = :v3"),
            Some("#n2 = :v2 AND #n1 = :v3 AND attribute_not_exists(#n3)"),
            Some("#n9 = :v6 AND #n3 = :v7"),
        ]
    );
    assert!(text.contains("when force\n"), "{text}");
    assert!(text.contains("when not force\n"), "{text}");
}

#[test]
fn an_index_key_goes_with_its_parts() {
    let (_, requests) = explained("Y-2");
    let update = &all(&requests, "Update")[2]["Update"];
    let expression = update["UpdateExpression"].as_str().expect("it has one");
    let (set, removed) = expression.split_once(" REMOVE ").expect("it removes something");
    let names: BTreeSet<_> =
        removed.split(", ").map(|name| update["ExpressionAttributeNames"][name].as_str()).collect();
    let gone = [Some("ByQueuePK"), Some("ByQueueSK"), Some("queuedAt")];
    assert_eq!(names, BTreeSet::from(gone), "{set}");
    let values = update["ExpressionAttributeValues"].as_object().expect("it has values");
    assert!(values.values().any(|value| value["S"] == "BAY#{bay or crate.bay:02}"), "{values:?}");
}

#[test]
fn blocks_of_failures_are_told_where_they_are_taken() {
    let (text, requests) = explained("Y-2");
    let gets: Vec<Value> = all(&requests, "GetItem");
    // That of the record, then both of the contract.
    assert_eq!(gets[1]["Key"]["PK"]["S"], "CRATE#{crateId}");
    assert_eq!(gets[2]["Key"]["PK"]["S"], "CRATE#SPARE");
    let block = text.find("1.else.2. spare = get Crate(crateId = \"SPARE\") strong\n");
    let next = text.find("\n2. allow caller owns crate.ownerId\n");
    assert!(block.is_some() && block < next, "{text}");
    // What a refused leg returns is as it was before.
    let refused = text.split("if refused:\n").nth(1).expect("a leg goes on elsewhere");
    let tag = refused.lines().map(str::trim).find(|line| line.starts_with("ETag"));
    assert_eq!(tag, Some("ETag: \"{crate.version}-{hash of the body}\""));
}

#[test]
fn the_record_goes_with_the_last_write_or_alone() {
    let (text, requests) = explained("Y-2");
    let keeps = |value: &Value, leg: &str| {
        let item = if leg.is_empty() { &value["Item"] } else { &value[leg]["Item"] };
        item["PK"]["S"].as_str().is_some_and(|key| key.starts_with("LATCHKEY#IDEM#{"))
    };
    // Two ways end without an effect: a spare, and a leg that was refused.
    assert_eq!(all(&requests, "PutItem").iter().filter(|put| keeps(put, "")).count(), 2);
    assert_eq!(all(&requests, "Put").iter().filter(|put| keeps(put, "Put")).count(), 1);
    assert!(!explained("Y-3").0.contains("Idempotency"), "a GET has no record");
    assert!(text.contains("422 idempotency-key-reused"), "{text}");
}

#[test]
fn both_orders_of_a_query_are_shown() {
    let (text, requests) = explained("Y-3");
    let queries = all(&requests, "Query");
    let shown: Vec<_> =
        queries.iter().map(|query| (&query["ScanIndexForward"], &query["Limit"])).collect();
    let (yes, no) = (&Value::Bool(true), &Value::Bool(false));
    let (first, page) = (&Value::from(5), &Value::from(11));
    assert_eq!(shown, [(no, first), (yes, first), (no, page), (yes, page)]);
    let bounds = &queries[0]["ExpressionAttributeValues"];
    assert_eq!(bounds[":v0"]["S"], "BAY#{bay:02}");
    assert_eq!(bounds[":v1"]["S"], "CRATE#{from}");
    assert_eq!(bounds[":v2"]["S"], "CRATE#z", "a bound that is known, below one that is not");
    assert!(text.contains("Query when newest\n"), "{text}");
    assert!(text.contains("Query when not newest\n"), "{text}");
    assert!(text.contains("the PK, SK, ByBayPK, ByBaySK of the last item"), "{text}");
}

/// A document whose own texts and numbers look like what stands for a value.
const LOOKALIKES: &str = r#"```contract
system signs
table Signs { type kind }
role hand

entity Sign "SIGN" {
  PK = "SIGN#{{signId}}#{signId}"
  SK = "META"
  signId id, words text(80), level int = -9223372036854775807
}

contract S-1 "Put a sign up" {
  POST /signs/{signId}
  allow caller is hand
  sign = put Sign { signId, words = "{{signId}} NONCHARACTERS {{" } if absent else 409 there
  return 201 sign
  consistency strong
  expect 1 item
  rate 1/s
}
```"#;

#[test]
fn what_a_document_says_is_never_taken_for_a_name() {
    let odd = "\u{FDD0}000000\u{FDD1}";
    let system = System::read(&LOOKALIKES.replace("NONCHARACTERS", odd));
    let system = system.unwrap_or_else(|mistakes| panic!("{:#?}", mistakes.0));
    let explanation = explain(&system, "S-1").expect("there is such a contract");
    let item = &all(explanation.requests(), "PutItem")[0]["Item"];
    assert_eq!(item["PK"]["S"], "SIGN#{{signId}}#{signId}");
    assert_eq!(item["words"]["S"], format!("{{{{signId}}}} {odd} {{{{"));
    assert_eq!(item["level"]["N"], "-9223372036854775807");
    assert_eq!(item["signId"]["S"], "{signId}");
    let written = format!("words = \"{{{{signId}}}} {odd} {{{{\"");
    assert!(explanation.to_string().contains(&written), "{explanation}");
}

/// A document with lists, sets and records, which `tests/http` serves on every backend.
const SHOP: &str = include_str!("../../../../tests/http/documents/shop.md");

#[test]
fn what_is_done_for_each_element_is_told_once() {
    let system = System::read(SHOP).map_err(|mistakes| mistakes.to_string());
    let system = system.expect("the document is right");
    let told = |id: &str| explain(&system, id).expect("there is one").to_string();
    let has = |id: &str, lines: &[&str]| {
        let told = told(id);
        lines.iter().for_each(|line| assert!(told.contains(line), "{line}\n{told}"));
    };
    has(
        "B-01",
        &[
            "for each line in lines, 4 times at most",
            "leg 3: update Stock(sku = line.sku) set left = .left - line.quantity if .left > 0",
            "\"S\": \"STOCK#{line.sku}\"",
        ],
    );
    has("B-02", &["for each line in lines, 4 times at most", "update line set packed = true"]);
    has(
        "M-03",
        &[
            "boards = get Board of member for member in members",
            "one key for each member in members, 50 at most, and none twice; without any: not asked",
        ],
    );
    has("O-03", &["set address.city = city, address.zip ?= zip", "attribute_exists"]);
    has("O-06", &["add tags = tag", "contains(", "size("]);
    has("O-07", &["remove tags = tag, address.zip"]);
}
