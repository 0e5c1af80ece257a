//! After a write, its name stands for the item it left.

use std::collections::BTreeSet;

use crate::support::{World, all_of, call};

const CLUB: &str = r#"
entity Member "MEMBER" {
  PK = "MEMBER#{memberId}"
  SK = "META"
  memberId id, clubId id, name text(20), state TRIAL | FULL | GONE = TRIAL, points int 0.. = 0
  since time?, hint text(20)?, version counter

  state moves {
    TRIAL -> FULL, GONE
    FULL  -> GONE
  }
  index Since moves { PK = "CLUB#{clubId}"  SK = "{since}#{memberId}" }
}
entity Card "CARD" view of Member {
  PK = "CLUB#{clubId}"
  SK = "MEMBER#{memberId}"
  copies memberId, clubId, name, state, points, since, version
}
contract JOIN "Join" {
  POST /members
  input memberId id, clubId id, name text(20), hint text(20)?
  allow true
  transact {
    member = put Member { memberId, clubId, name, hint } if absent else 409 there
    put Card of member replace
  }
  return 201 member
  facts
}
contract RISE "Become a full member" {
  POST /members/{memberId}/rise
  input points int, hint text(20)?
  member = get Member strong else 404 nobody
  allow true
  require member.state moves to FULL else 409 too-late
  transact {
    update member
      set state = FULL, since = now, points = .points + points, hint ?= hint, version = .version + 1
      if unchanged else retry
    put Card of member replace
  }
  return member with { next = member.points + 1 }
  facts
}
contract LEAVE "Leave" {
  POST /members/{memberId}/leave
  member = get Member strong else 404 nobody
  allow true
  require member.state moves to GONE else 409 gone
  transact {
    update member set state = GONE, version = .version + 1 remove since if unchanged else retry
    put Card of member replace
  }
  return member
  facts
}
contract CARDS "Cards" {
  GET /clubs/{clubId}/cards
  allow true
  cards = query Card where PK = "CLUB#{clubId}" and SK begins_with "MEMBER#" page 10
  return cards
  facts
}
contract SINCE "Since when" {
  GET /clubs/{clubId}/since
  allow true
  members = query Member by Since where PK = "CLUB#{clubId}" page 10
  return members { memberId }
  facts
}
"#;

// `update x` changes what `x` means from there on, so `put V of x` copies the new state.
#[tokio::test]
async fn a_name_stands_for_what_the_write_left() {
    let world = World::start(CLUB).await;
    let told =
        world.call("JOIN", r#"{"memberId": "m", "clubId": "c", "name": "Mo", "hint": "h"}"#).await;
    assert_eq!(
        told.body(),
        r#"{"memberId":"m","clubId":"c","name":"Mo","state":"TRIAL","points":0,"hint":"h","version":1}"#
    );
    let card = |name: &str| world.attribute("CLUB#c", "MEMBER#m", name).unwrap_or_default();
    assert_eq!(
        (card("state"), card("version"), card("since")),
        ("\"TRIAL\"".into(), "1".into(), String::new())
    );
    let told = world.call("RISE", r#"{"memberId": "m", "points": 5, "hint": null}"#).await;
    assert_eq!(
        told.body(),
        r#"{"memberId":"m","clubId":"c","name":"Mo","state":"FULL","points":5,"since":"2026-02-25T10:00:00.000Z","version":2,"next":6}"#
    );
    assert_eq!(
        (card("state"), card("points"), card("version")),
        ("\"FULL\"".into(), "5".into(), "2".into())
    );
    assert_eq!(card("since"), "\"2026-02-25T10:00:00.000Z\"");
    assert_eq!(told.version(), Some("2"));
    let stored = world.stored("MEMBER#m", "META").unwrap();
    assert_eq!(stored.get("hint"), None);
    assert_eq!(world.ok("SINCE", r#"{"clubId": "c"}"#).await["items"][0]["memberId"], "m");
    world.ok("LEAVE", r#"{"memberId": "m"}"#).await;
    assert_eq!((card("state"), card("since")), ("\"GONE\"".into(), String::new()));
    assert_eq!(world.ok("SINCE", r#"{"clubId": "c"}"#).await["items"], serde_json::json!([]));
}

// A copy has what it copies and nothing else: no keys, no index attributes of the other.
#[tokio::test]
async fn a_copy_is_an_item_of_its_own() {
    let world = World::start(CLUB).await;
    world.ok("JOIN", r#"{"memberId": "m", "clubId": "c", "name": "Mo", "hint": "h"}"#).await;
    world.ok("RISE", r#"{"memberId": "m", "points": 5}"#).await;
    let card = world.stored("CLUB#c", "MEMBER#m").unwrap();
    let names: Vec<&str> = card.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["PK", "SK", "clubId", "kind", "memberId", "name", "points", "since", "state", "version"];
    assert_eq!(names, expected);
    assert_eq!(card.get("kind").and_then(|kind| kind.as_text()).unwrap(), "CARD");
}

// What the answer says is what is stored, for every write alone and in a transaction, with a name and without.
#[tokio::test]
async fn the_answer_is_what_is_stored() {
    let alone = "update member set points = .points + 3, hint ?= hint, version = .version + 1 remove since\n    if unchanged else retry";
    let forms = [
        alone.to_owned(),
        format!("transact {{\n    {alone}\n    put Card of member replace\n  }}"),
        "update member add points = 3 set hint ?= hint, version = .version + 1 remove since if unchanged else retry".to_owned(),
    ];
    for form in forms {
        let text = format!(
            "{CLUB}contract TRY \"Try\" {{\n  POST /try/{{memberId}}\n  input hint text(20)?\n  \
             member = get Member strong else 404 nobody\n  allow true\n  waive stale-copy \"on purpose\"\n  {form}\n  return member\n  facts\n}}\n\
             contract GET \"Get\" {{\n  GET /members/{{memberId}}\n  member = get Member strong else 404 nobody\n  \
             allow true\n  return member\n  facts\n}}\n"
        );
        let text = if form.starts_with("transact") {
            text.replace("  waive stale-copy \"on purpose\"\n", "")
        } else {
            text
        };
        let world = World::start(&text).await;
        world.ok("JOIN", r#"{"memberId": "m", "clubId": "c", "name": "Mo"}"#).await;
        for key in [None, Some("k")] {
            let mut call = call("TRY", r#"{"memberId": "m", "hint": "x"}"#);
            call.idempotency_key = key.map(Into::into);
            let told = world.made(call).await;
            let read = world.call("GET", r#"{"memberId": "m"}"#).await;
            assert_eq!(told.body(), read.body(), "{form}");
            assert_eq!(told.answer().etag, read.answer().etag, "{form}");
        }
    }
}

// After a write, its name stands for the item it left: also where others write the same item at that moment.
#[tokio::test]
async fn the_answer_is_what_this_write_left() {
    let text = r#"
entity Show "SHOW" {
  PK = "SHOW#{showId}"
  SK = "META"
  showId id, left int 0..
}
entity Ticket "TICKET" {
  PK = "SHOW#{showId}"
  SK = "TICKET#{ticketId}"
  showId id, ticketId ulid
}
contract MAKE "Make" {
  POST /shows
  input showId id, left int 0..
  allow true
  show = put Show { showId, left } if absent else 409 there
  return 201 show
  facts
}
contract TAKE "Take a seat and a ticket" {
  POST /shows/{showId}/tickets
  input ticketId ulid = new ulid
  allow true
  show = get Show strong else 404 no-show
  transact {
    update show set left = .left - 1 if .left > 0 else 409 full
    put Ticket { showId, ticketId } if absent else retry
  }
  return 201 show
  facts
}
contract SIT "Take a seat" {
  POST /shows/{showId}/seats
  allow true
  show = get Show strong else 404 no-show
  update show set left = .left - 1 if .left > 0 else 409 full
  return 201 show
  facts
}
"#;
    // A document that cannot promise it is not served.
    if crate::support::refused(text) {
        return;
    }
    for contract in ["SIT", "TAKE"] {
        let world = World::start(text).await;
        world.ok("MAKE", r#"{"showId": "s", "left": 40}"#).await;
        let calls = (0..40).map(|_| world.call(contract, r#"{"showId": "s"}"#)).collect();
        let mut left = BTreeSet::new();
        for told in all_of(calls).await {
            assert_eq!(told.status(), 201, "{contract}: there are seats for all: {}", told.body());
            left.insert(told.member("left").as_i64().unwrap());
        }
        assert_eq!(world.attribute("SHOW#s", "META", "left").as_deref(), Some("0"), "{contract}");
        assert_eq!(left.len(), 40, "{contract}: no two writes left the same: {left:?}");
    }
}

// With a key, a lone update reads its item first. Of an item that was not there it could not tell what it would leave,
// and the answer was a 500 instead of the `else`.
#[tokio::test]
async fn an_update_that_is_named_is_refused_as_one_that_is_not() {
    let text = r#"
entity Lamp "LAMP" {
  PK = "LAMP#{lampId}"
  SK = "META"
  lampId id, lit int 0..2 = 0, changes counter
}
contract HANG "Hang up a lamp" {
  POST /lamps
  input lampId id
  allow true
  lamp = put Lamp { lampId } if absent else 409 there
  return 201 lamp
  facts
}
contract TURN "Turn it up" {
  POST /lamps/{lampId}/turn
  allow true
  lamp = update Lamp set lit = .lit + 1, changes = .changes + 1 else 404 no-lamp
  return lamp
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("HANG", r#"{"lampId": "here"}"#).await;
    let turn = async |lamp: &str, key: Option<&str>| {
        let mut call = call("TURN", &format!(r#"{{"lampId": "{lamp}"}}"#));
        call.idempotency_key = key.map(Into::into);
        let told = world.made(call).await;
        (told.status(), told.body())
    };
    let (status, body) = turn("gone", None).await;
    assert_eq!(status, 404, "{body}");
    assert_eq!(turn("gone", Some("a")).await, (404, body));
    assert_eq!(turn("here", Some("b")).await.0, 200);
    assert_eq!(turn("here", Some("b")).await.0, 200, "replayed");
    assert_eq!(turn("here", Some("c")).await.0, 200);
    let (status, body) = turn("here", None).await;
    assert_eq!(status, 400, "{body}");
    assert_eq!(turn("here", Some("d")).await, (400, body));
}
