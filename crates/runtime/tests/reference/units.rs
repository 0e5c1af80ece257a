//! Capacity: what a call consumed, by DynamoDB's rounding, exact for known shapes.

use crate::support::{World, call};

const ARCHIVE: &str = r#"
entity Sheet "SHEET" {
  PK = "BOX#{boxId}"
  SK = "SHEET#{no:03}"
  boxId id, no int 0..999, text text(300000)?, tag id?
  index Tag moves { PK = "TAG#{tag}"  SK = "{boxId}#{no:03}" }
}
contract FILE "File" {
  PUT /boxes/{boxId}/sheets/{no}
  input text text(300000)?, tag id?
  allow true
  sheet = put Sheet { boxId, no, text, tag } replace
  return sheet { no }
  facts
}
contract GET "Get" {
  GET /boxes/{boxId}/sheets/{no}
  input sure bool = false
  allow true
  sheet = get Sheet strong when sure else 404 gone
  return sheet { no }
  facts
}
contract LIST "List" {
  GET /boxes/{boxId}/sheets
  input sure bool = false
  allow true
  sheets = query Sheet strong when sure where PK = "BOX#{boxId}" page 10 max 100
  return sheets { no }
  facts
}
contract TAGGED "What has a tag" {
  GET /tags/{tag}
  allow true
  sheets = query Sheet by Tag where PK = "TAG#{tag}" page 10
  return sheets { no, text }
  facts
}
contract PAIR "File two" {
  POST /boxes/{boxId}/pairs
  input text text(300000)?
  allow true
  transact {
    put Sheet { boxId, no = 1, text } replace
    put Sheet { boxId, no = 2, text } replace
    delete Sheet(no = 3)
  }
  sheet = get Sheet(no = 1) strong else 404 gone
  return sheet { no }
  facts
}
contract DROP "Drop" {
  DELETE /boxes/{boxId}/sheets/{no}
  allow true
  sheet = get Sheet strong else 404 gone
  delete sheet
  return sheet { no }
  facts
}
contract ONCE "File once" {
  POST /boxes/{boxId}/once
  input no Sheet.no
  allow true
  sheet = put Sheet { boxId, no } if absent else 409 there
  return sheet { no }
  facts
}
"#;

/// A text that makes the item of a sheet so many bytes larger.
fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[tokio::test]
async fn reads_are_counted_by_4_kb() {
    let world = World::start(ARCHIVE).await;
    for (bytes, eventual, strong) in [
        (0, "rcu=0.5, wcu=0", "rcu=1, wcu=0"),
        (3_900, "rcu=0.5, wcu=0", "rcu=1, wcu=0"),
        (4_100, "rcu=1, wcu=0", "rcu=2, wcu=0"),
        (8_300, "rcu=1.5, wcu=0", "rcu=3, wcu=0"),
        (40_800, "rcu=5, wcu=0", "rcu=10, wcu=0"),
    ] {
        world.ok("FILE", &format!(r#"{{"boxId": "b", "no": 1, "text": "{}"}}"#, text(bytes))).await;
        for (sure, expected) in [(false, eventual), (true, strong)] {
            let told =
                world.call("GET", &format!(r#"{{"boxId": "b", "no": 1, "sure": {sure}}}"#)).await;
            assert_eq!(told.capacity(), expected, "{bytes} bytes, {sure}");
        }
    }
    let told = world.call("GET", r#"{"boxId": "b", "no": 2}"#).await;
    assert_eq!(
        (told.status(), told.capacity()),
        (404, "rcu=0.5, wcu=0".to_owned()),
        "nothing costs too"
    );
}

// A query is counted by what it read in all, not by the item.
#[tokio::test]
async fn a_query_is_counted_by_the_sum() {
    let world = World::start(ARCHIVE).await;
    let told = world.call("LIST", r#"{"boxId": "b"}"#).await;
    assert_eq!(told.capacity(), "rcu=0.5, wcu=0", "an empty one");
    for no in 0..5 {
        world
            .ok("FILE", &format!(r#"{{"boxId": "b", "no": {no}, "text": "{}"}}"#, text(1_000)))
            .await;
    }
    let told = world.call("LIST", r#"{"boxId": "b"}"#).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=0", "five of a little over 1 KB");
    let told = world.call("LIST", r#"{"boxId": "b", "sure": true}"#).await;
    assert_eq!(told.capacity(), "rcu=2, wcu=0");
    // One more than the page is read, to know whether it is the last.
    let told = world.call("LIST", r#"{"boxId": "b", "pageSize": 2}"#).await;
    assert_eq!(told.capacity(), "rcu=0.5, wcu=0");
    let told = world.call("LIST", r#"{"boxId": "b", "pageSize": 4}"#).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=0");
}

#[tokio::test]
async fn writes_are_counted_by_1_kb_and_doubled_in_a_transaction() {
    let world = World::start(ARCHIVE).await;
    for (bytes, expected) in [
        (0, "rcu=0, wcu=1"),
        (900, "rcu=0, wcu=1"),
        (1_100, "rcu=0, wcu=2"),
        (3_100, "rcu=0, wcu=4"),
    ] {
        let told = world
            .call(
                "FILE",
                &format!(r#"{{"boxId": "b{bytes}", "no": 1, "text": "{}"}}"#, text(bytes)),
            )
            .await;
        assert_eq!(told.capacity(), expected, "{bytes} bytes");
    }
    let told = world.call("FILE", r#"{"boxId": "b3100", "no": 1}"#).await;
    assert_eq!(told.capacity(), "rcu=0, wcu=4", "by the larger of what was and what is");
    let told = world.call("FILE", r#"{"boxId": "b3100", "no": 1, "tag": "t"}"#).await;
    assert_eq!(told.capacity(), "rcu=0, wcu=2", "and the index");
    let told = world.call("DROP", r#"{"boxId": "b3100", "no": 1}"#).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=2");
    let told = world.call("PAIR", r#"{"boxId": "c"}"#).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=6", "three legs, two units each");
    let told = world.call("PAIR", &format!(r#"{{"boxId": "c", "text": "{}"}}"#, text(1_100))).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=10");
}

#[tokio::test]
async fn a_refused_write_costs_what_it_would() {
    let world = World::start(ARCHIVE).await;
    assert_eq!(world.call("ONCE", r#"{"boxId": "b", "no": 1}"#).await.capacity(), "rcu=0, wcu=1");
    let told = world.call("ONCE", r#"{"boxId": "b", "no": 1}"#).await;
    assert_eq!((told.status(), told.capacity()), (409, "rcu=0, wcu=1".to_owned()));
}

// The trace tells of every request, in order, and what each cost.
#[tokio::test]
async fn a_trace_sums_up() {
    let world = World::start(ARCHIVE).await;
    let mut pair = call("PAIR", r#"{"boxId": "c"}"#);
    pair.trace = true;
    let told = world.made(pair).await;
    let costs: Vec<String> = told.0.trace.iter().map(|step| step.capacity.to_string()).collect();
    assert_eq!(costs, ["rcu=0, wcu=6", "rcu=1, wcu=0"]);
    let untraced = world.call("PAIR", r#"{"boxId": "c"}"#).await;
    assert_eq!(untraced.0.trace.len(), 0, "nobody asked");
}

// The record behind a key is counted as well: a read, and a leg.
#[tokio::test]
async fn a_named_call_pays_for_its_record() {
    let world = World::start(ARCHIVE).await;
    let named = || {
        let mut call = call("ONCE", r#"{"boxId": "b", "no": 7}"#);
        call.idempotency_key = Some("k".into());
        call
    };
    assert_eq!(world.made(named()).await.capacity(), "rcu=1, wcu=4", "a look, and two legs");
    assert_eq!(world.made(named()).await.capacity(), "rcu=1, wcu=0", "a look");
}
