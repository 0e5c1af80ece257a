//! Writing: what each write does to the item, and when it is refused.

use crate::support::{World, after, call, written};

const ACCOUNT: &str = r#"
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}"
  SK = "META"
  accountId id, ownerId id, balance int 0.. = 0, limit number = 99.5, tone WARM | COLD = COLD
  nick text(20)?, opened time?, tags list?, frozen bool = false, version counter
}
contract OPEN "Open an account" {
  POST /accounts
  input accountId id, ownerId id, balance Account.balance = 0, nick text(20)?, tags list?
  allow true
  account = put Account { accountId, ownerId, balance, nick, tags } if absent else 409 taken
  return 201 account
  facts
}
"#;

const HITS: &str = r#"
entity Hits "HITS" {
  PK = "HITS#{pageId}"
  SK = "META"
  pageId id, seen int = 5, extra number?, mood GOOD | BAD = GOOD, last time?
}
"#;

const LOG: &str = r#"
entity Log "LOG" {
  PK = "LOG#{logId}"
  SK = "META"
  logId id, seen int = 40, changes counter, words text(20)?
}
"#;

/// The entities some contracts use, and the contracts.
async fn bank(contracts: &str) -> World {
    let mut text = String::new();
    for (entity, name) in [(ACCOUNT, "Account"), (HITS, "Hits"), (LOG, "Log")] {
        let uses = |mark: &str| contracts.contains(&format!("{mark} {name}"));
        if ["put", "get", "update", "upsert", "delete"].into_iter().any(uses) {
            text.push_str(entity);
        }
    }
    World::start(&(text + contracts)).await
}

fn contract(method_and_path: &str, steps: &str) -> String {
    format!("contract TRY \"Try\" {{\n  {method_and_path}\n  {steps}\n  facts\n}}\n")
}

/// The same, and an account of 10.
async fn opened(contracts: &str) -> World {
    let hits = if contracts.contains("Hits") { HITS } else { "" };
    let world = World::start(&format!("{ACCOUNT}{hits}{contracts}")).await;
    world.ok("OPEN", r#"{"accountId": "a", "ownerId": "o", "balance": 10, "nick": "n"}"#).await;
    world
}

fn stored(world: &World, name: &str) -> String {
    world.attribute("ACCOUNT#a", "META", name).unwrap_or_else(|| "nothing".to_owned())
}

// `put X { … }` writes a whole item: every item carries the text its entity is declared with; `= value` is what
// a new item has unless another value is given; a counter starts at 1.
#[tokio::test]
async fn a_put_writes_a_whole_item() {
    let world = World::start(ACCOUNT).await;
    let told = world.call("OPEN", r#"{"accountId": "a", "ownerId": "o", "tags": [1]}"#).await;
    assert_eq!(told.status(), 201);
    let item = world.stored("ACCOUNT#a", "META").unwrap();
    let expected = r#"{"PK":"ACCOUNT#a","SK":"META","accountId":"a","balance":0,"frozen":false,"kind":"ACCOUNT","limit":99.5,"ownerId":"o","tags":[1],"tone":"COLD","version":1}"#;
    assert_eq!(written(&item.into()), expected);
    let shown = r#"{"accountId":"a","ownerId":"o","balance":0,"limit":99.5,"tone":"COLD","tags":[1],"frozen":false,"version":1}"#;
    assert_eq!(told.body(), shown, "in the order of the entity, what is absent left out");
}

// `if absent` or `replace` says what becomes of one that is there.
#[tokio::test]
async fn a_put_replaces_or_is_refused() {
    let replace = "input words text(20)?\n  allow true\n  log = put Hits { pageId = \"p\", last = now } replace\n  \
                   waive half-done \"it stays\"\n  require words is absent else 409 no\n  return log";
    let world = opened(&contract("POST /try", replace)).await;
    let again = world.call("OPEN", r#"{"accountId": "a", "ownerId": "p", "balance": 3}"#).await;
    assert_eq!(again.told(), (409, "taken".to_owned()));
    assert_eq!(
        (stored(&world, "ownerId"), stored(&world, "balance")),
        ("\"o\"".into(), "10".into())
    );
    for _ in 0..2 {
        world.ok("TRY", "{}").await;
        let item = world.stored("HITS#p", "META").unwrap();
        assert_eq!(item.get("seen").map(written).as_deref(), Some("5"));
    }
    let waiting = r#"
contract REPLACE "Replace" {
  PUT /hits/{pageId}
  input extra number?
  allow true
  hits = put Hits { pageId, extra } replace
  return hits
  facts
}
"#;
    let world = bank(waiting).await;
    world.ok("REPLACE", r#"{"pageId": "p", "extra": 1.5}"#).await;
    assert_eq!(world.attribute("HITS#p", "META", "extra").as_deref(), Some("1.5"));
    world.ok("REPLACE", r#"{"pageId": "p"}"#).await;
    assert_eq!(world.attribute("HITS#p", "META", "extra"), None, "nothing of the old one is left");
}

// `update x set …` changes an item, which must be there.
#[tokio::test]
async fn an_update_implies_that_the_item_is_there() {
    let steps = "allow true\n  account = update Account set tone = WARM, version = .version + 1 else 404 gone\n  return account";
    let world = opened(&contract("POST /try/{accountId}", steps)).await;
    let told = world.call("TRY", r#"{"accountId": "b"}"#).await;
    assert_eq!(told.told(), (404, "gone".to_owned()));
    assert_eq!(world.stored("ACCOUNT#b", "META"), None, "nothing was made");
    let told = world.ok("TRY", r#"{"accountId": "a"}"#).await;
    assert_eq!((&told["tone"], &told["version"]), (&"WARM".into(), &2.into()));
    assert_eq!(told["nick"], "n", "what is not mentioned stays");
}

// `set a = x` gives values, `remove a` takes optional attributes out, `add a = n` adds to a number, which counts
// as 0 where it is absent.
#[tokio::test]
async fn set_remove_and_add_do_what_they_say() {
    let steps = "input by number\n  allow true\n  hits = update Hits\n    \
                 set mood = BAD, seen = .seen + 1\n    remove last\n    add extra = by\n    else 404 gone\n  return hits";
    let make = contract("POST /try/{pageId}", steps)
        + r#"
contract REPLACE "Replace" {
  PUT /hits/{pageId}
  allow true
  hits = put Hits { pageId, last = now } replace
  return hits
  facts
}
"#;
    let world = bank(&make).await;
    let told = world.ok("REPLACE", r#"{"pageId": "p"}"#).await;
    assert_eq!(told["last"], after(0));
    let told = world.call("TRY", r#"{"pageId": "p", "by": 0.25}"#).await;
    assert_eq!(told.body(), r#"{"pageId":"p","seen":6,"extra":0.25,"mood":"BAD"}"#);
    let told = world.call("TRY", r#"{"pageId": "p", "by": -1}"#).await;
    assert_eq!(told.body(), r#"{"pageId":"p","seen":7,"extra":-0.75,"mood":"BAD"}"#);
}

// `set a ?= x` leaves `a` alone when `x` was not given, and takes it out when `x` was given as `null`.
#[tokio::test]
async fn set_maybe_has_three_outcomes() {
    let steps = "input nick text(20)?, balance Account.balance ?\n  account = get Account strong else 404 gone\n  \
                 allow true\n  update account set nick ?= nick, balance ?= balance, version = .version + 1\n    \
                 if unchanged else retry\n  return account";
    let world = opened(&contract("PATCH /try/{accountId}", steps)).await;
    let told = world.ok("TRY", r#"{"accountId": "a"}"#).await;
    assert_eq!((&told["nick"], &told["balance"]), (&"n".into(), &10.into()));
    let told = world.ok("TRY", r#"{"accountId": "a", "nick": "m", "balance": 3}"#).await;
    assert_eq!((&told["nick"], &told["balance"]), (&"m".into(), &3.into()));
    let told = world.ok("TRY", r#"{"accountId": "a", "nick": null}"#).await;
    assert_eq!(told.get("nick"), None);
    assert_eq!(stored(&world, "nick"), "nothing");
    assert_eq!(told["version"], 4);
    // What must stay cannot be taken out.
    let told = world.call("TRY", r#"{"accountId": "a", "balance": null}"#).await;
    assert_eq!(told.problem().errors[0].pointer, "/balance");
    assert_eq!((stored(&world, "balance"), stored(&world, "version")), ("3".into(), "4".into()));
}

// A value that may be absent, given to what is optional, leaves it absent.
#[tokio::test]
async fn what_is_not_there_is_not_written() {
    let steps = "input nick text(20)?\n  account = get Account strong else 404 gone\n  allow true\n  \
                 update account set nick = nick, version = .version + 1 if unchanged else retry\n  return account";
    let world = opened(&contract("PUT /try/{accountId}", steps)).await;
    world.ok("TRY", r#"{"accountId": "a"}"#).await;
    assert_eq!(stored(&world, "nick"), "nothing");
}

// `.x` is the attribute as it is stored at that moment; alone or with one `+` or `-`.
#[tokio::test]
async fn stored_values_are_computed_with() {
    let cases = [
        ("balance = .balance + by", "13"),
        ("balance = by + .balance", "13"),
        ("balance = .balance - by", "7"),
        ("balance = 20 - .balance", "10"),
        ("balance = .version", "1"),
        // A sum of two stored whole numbers could leave 64 bits.
        ("limit = .limit + .version", "100.5"),
        ("balance = by + by + 1", "7"),
        ("balance = .balance + (by - 1)", "12"),
    ];
    for (set, expected) in cases {
        let input = if set.contains("by") { "input by int\n  " } else { "" };
        let steps = format!(
            "{input}allow true\n  account = update Account set {set}, version = .version + 1 else 404 gone\n  return account"
        );
        let world = opened(&contract("POST /try/{accountId}", &steps)).await;
        let by = if input.is_empty() { "" } else { r#", "by": 3"# };
        world.ok("TRY", &format!(r#"{{"accountId": "a"{by}}}"#)).await;
        let (attribute, _) = set.split_once(' ').unwrap();
        assert_eq!(stored(&world, attribute), expected, "{set}");
    }
}

// `upsert X set …` changes an item, or makes it.
#[tokio::test]
async fn an_upsert_makes_or_changes() {
    let steps = "input at time?\n  allow true\n  hits = upsert Hits set last ?= at add extra = 1\n  return hits";
    let world = bank(&contract("POST /try/{pageId}", steps)).await;
    let told = world.call("TRY", r#"{"pageId": "p"}"#).await;
    // A number counts as 0 where it is absent; other defaults are a new item's.
    assert_eq!(told.body(), r#"{"pageId":"p","seen":5,"extra":1,"mood":"GOOD"}"#);
    let kind = world.attribute("HITS#p", "META", "kind");
    assert_eq!(kind.as_deref(), Some("\"HITS\""));
    let told = world.ok("TRY", &format!(r#"{{"pageId": "p", "at": "{}"}}"#, after(0))).await;
    assert_eq!((&told["extra"], &told["last"]), (&2.into(), &after(0).into()));
    let told = world.ok("TRY", r#"{"pageId": "p", "at": null}"#).await;
    assert_eq!((&told["extra"], told.get("last")), (&3.into(), None));
}

#[tokio::test]
async fn an_upsert_leaves_what_is_there_as_it_is() {
    let steps = "allow true\n  hits = upsert Hits set last = now\n  return hits";
    let more = r#"
contract BAD "Turn bad" {
  PUT /hits/{pageId}
  allow true
  hits = update Hits set mood = BAD, seen = 77 else 404 gone
  return hits
  facts
}
"#;
    let world = bank(&(contract("POST /try/{pageId}", steps) + more)).await;
    let told = world.ok("TRY", r#"{"pageId": "p"}"#).await;
    assert_eq!((&told["seen"], &told["mood"]), (&5.into(), &"GOOD".into()), "its defaults");
    world.ok("BAD", r#"{"pageId": "p"}"#).await;
    let told = world.ok("TRY", r#"{"pageId": "p"}"#).await;
    assert_eq!((&told["seen"], &told["mood"]), (&77.into(), &"BAD".into()), "what it is by now");
}

// A counter starts at 1 and moves by `+ 1`, also where an upsert makes the item.
#[tokio::test]
async fn an_upsert_counts_from_the_first() {
    let steps =
        "allow true\n  log = upsert Log set changes = .changes + 1, seen = .seen + 1\n  return log";
    let world = bank(&contract("POST /try/{logId}", steps)).await;
    for changes in 1..4 {
        let told = world.ok("TRY", r#"{"logId": "l"}"#).await;
        assert_eq!(told["changes"], changes);
        assert_eq!(told["seen"], 40 + changes, "from its default on");
    }
}

// `upsert … if` may be refused, and then makes nothing.
#[tokio::test]
async fn an_upsert_with_a_condition_may_be_refused() {
    let steps = "allow true\n  hits = upsert Hits set last = now add extra = 1 if .extra is absent or .extra < 2 else 409 enough\n  return hits";
    let world = bank(&contract("POST /try/{pageId}", steps)).await;
    assert_eq!(world.ok("TRY", r#"{"pageId": "p"}"#).await["extra"], 1);
    assert_eq!(world.ok("TRY", r#"{"pageId": "p"}"#).await["extra"], 2);
    assert_eq!(world.call("TRY", r#"{"pageId": "p"}"#).await.told(), (409, "enough".to_owned()));
    assert_eq!(world.attribute("HITS#p", "META", "extra").as_deref(), Some("2"));
}

// `delete x` removes an item; one that is not there is no failure, unless there is an `if`.
#[tokio::test]
async fn a_delete_removes() {
    let plain = "account = get Account strong else 404 gone\n  allow true\n  delete account\n  return account { accountId }";
    let world = opened(&contract("DELETE /try/{accountId}", plain)).await;
    assert_eq!(world.ok("TRY", r#"{"accountId": "a"}"#).await["accountId"], "a");
    assert_eq!(world.stored("ACCOUNT#a", "META"), None);
    let by_key = "input other id\n  allow true\n  delete Account(accountId = other)\n  \
                  hits = put Hits { pageId } replace\n  return hits";
    let world = opened(&contract("POST /try/{pageId}", by_key)).await;
    for _ in 0..2 {
        world.ok("TRY", r#"{"pageId": "p", "other": "a"}"#).await;
        assert_eq!(world.stored("ACCOUNT#a", "META"), None);
    }
    let guarded = "input most int\n  account = get Account strong else 404 gone\n  allow true\n  \
                   delete account if .balance <= most else 409 not-empty\n  return account { accountId }";
    let world = opened(&contract("DELETE /try/{accountId}", guarded)).await;
    let told = world.call("TRY", r#"{"accountId": "a", "most": 9}"#).await;
    assert_eq!(told.told(), (409, "not-empty".to_owned()));
    assert!(world.stored("ACCOUNT#a", "META").is_some());
    world.ok("TRY", r#"{"accountId": "a", "most": 10}"#).await;
    assert_eq!(world.stored("ACCOUNT#a", "META"), None);
}

// A delete with an `if` of what is not there is refused: the condition does not hold.
#[tokio::test]
async fn a_delete_of_nothing_does_not_meet_its_condition() {
    let steps = "input other id\n  allow true\n  delete Account(accountId = other) if .balance >= 0 else 409 refused\n  \
                 hits = put Hits { pageId } replace\n  return hits";
    let world = opened(&contract("POST /try/{pageId}", steps)).await;
    let told = world.call("TRY", r#"{"pageId": "p", "other": "b"}"#).await;
    assert_eq!(told.told(), (409, "refused".to_owned()));
    assert_eq!(world.stored("HITS#p", "META"), None, "what follows did not happen");
}

// `check x if …` writes nothing, and insists.
#[tokio::test]
async fn a_check_insists() {
    let steps = "input least int\n  account = get Account strong else 404 gone\n  allow true\n  \
                 check account if .balance >= least else 409 poor\n  return account";
    let world = opened(&contract("POST /try/{accountId}", steps)).await;
    let before = world.stored("ACCOUNT#a", "META");
    assert_eq!(world.call("TRY", r#"{"accountId": "a", "least": 10}"#).await.status(), 200);
    let told = world.call("TRY", r#"{"accountId": "a", "least": 11}"#).await;
    assert_eq!(told.told(), (409, "poor".to_owned()));
    assert_eq!(world.stored("ACCOUNT#a", "META"), before);
}

// `put X of item` takes every attribute of `X` that is not given in braces from `item`, if it has one of that name.
#[tokio::test]
async fn a_put_of_an_item_takes_what_it_has() {
    let text = r#"
entity Order "ORDER" {
  PK = "ORDER#{orderId}"
  SK = "META"
  orderId id, ownerId id, total number, hint text(20)?, rank int = 7, version counter
}
entity Copy "COPY" {
  PK = "COPY#{orderId}"
  SK = "META"
  orderId id, ownerId id, total number, hint text(20)?, rank int = 9, other int = 3, version counter
}
contract MAKE "Make" {
  POST /orders
  input orderId id, hint text(20)?
  allow true
  order = put Order { orderId, ownerId = caller.id, total = 12.5, hint } if absent else 409 there
  return 201 order
  facts
}
contract COPY "Copy" {
  POST /orders/{orderId}/copy
  order = get Order strong else 404 gone
  allow true
  copy = put Copy of order { total = order.total + 1 } if absent else 409 there
  return copy
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("MAKE", r#"{"orderId": "o", "hint": "h"}"#).await;
    world.ok("MAKE", r#"{"orderId": "p"}"#).await;
    let told = world.call("COPY", r#"{"orderId": "o"}"#).await;
    let expected = r#"{"orderId":"o","ownerId":"alice","total":13.5,"hint":"h","rank":7,"other":3,"version":1}"#;
    assert_eq!(told.body(), expected, "a counter is the copy's own");
    assert_eq!(world.ok("COPY", r#"{"orderId": "p"}"#).await.get("hint"), None);
}

const NOTES: &str = r#"
entity Note "NOTE" {
  PK = "NOTE#{noteId}"
  SK = "NOTE#{noteId}"

  noteId id, text text(40), shard int 0..3
}
entity Copy "COPY" {
  PK = "COPY#{copyId}#{shard:01}"
  SK = "COPY#{copyId}"

  copyId id, shard int 0..3
}
contract MAKE "Make a note" {
  POST /notes
  input text Note.text
  allow true
  note = put Note { noteId = new ulid, text, shard = 0 } if absent      else retry
  return 201 note
  facts
}
contract SEE "See a note" {
  GET /notes/{noteId}
  allow true
  note = get Note strong                                                else 404 not-found
  return note
  facts
}
contract GROW "Make a note by an upsert" {
  POST /grown
  input text Note.text
  allow true
  note = upsert Note(noteId = new ulid) set text = text, shard = 1
  return 201 note
  facts
}
contract NONE "Look for what cannot be there" {
  GET /none
  allow true
  note = get Note(noteId = new ulid) strong
  require note is absent                                                else 409 guessed
  copies = get Copy(copyId = new ulid) shard in 0..3 strong
  return copies
  facts
}
"#;

// A `new` in a key was made anew for PK, for SK and for the attribute: 201 with an id that then was a 404.
#[tokio::test]
async fn one_new_in_the_text_is_one_value() {
    let world = World::start(NOTES).await;
    for contract in ["MAKE", "GROW"] {
        let made = world.ok(contract, r#"{"text": "a"}"#).await;
        let id = made["noteId"].as_str().unwrap();
        let key = format!("NOTE#{id}");
        assert_eq!(world.attribute(&key, &key, "noteId"), Some(format!("\"{id}\"")), "{contract}");
        let seen = world.ok("SEE", &format!(r#"{{"noteId": "{id}"}}"#)).await;
        assert_eq!(seen["noteId"], made["noteId"], "{contract}");
    }
    let mut call = call("NONE", "{}");
    call.trace = true;
    let asked = format!("{:?}", world.made(call).await.0.trace);
    let ids = |begin: &str| -> std::collections::BTreeSet<String> {
        asked.split(begin).skip(1).map(|rest| rest.chars().take(26).collect()).collect()
    };
    assert_eq!(ids("NOTE#").len(), 1, "{asked}");
    assert_eq!(ids("COPY#").len(), 1, "{asked}");
}
