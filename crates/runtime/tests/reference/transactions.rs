//! Transactions: all or none; the first that is refused decides; what guards a leg; what an `else` sees.

use latchkey_table::Request;

use crate::support::{World, call, written};

const GAME: &str = r#"
entity Player "PLAYER" {
  PK = "PLAYER#{playerId}"
  SK = "META"
  playerId id, gold int 0.., level int = 1, version counter
}
entity Trophy "TROPHY" {
  PK = "PLAYER#{playerId}"
  SK = "TROPHY#{trophyId}"
  playerId id, trophyId id, gold int = 0
}
contract TROPHIES "Trophies" {
  GET /players/{playerId}/trophies
  allow true
  trophies = query Trophy where PK = "PLAYER#{playerId}" and SK begins_with "TROPHY#" page 10
  return trophies
  facts
}
contract MAKE "Make a player" {
  POST /players
  input playerId id, gold int
  allow true
  player = put Player { playerId, gold } if absent else 409 there
  return 201 player
  facts
}
"#;

async fn game(steps: &str) -> World {
    let text = format!(
        "{GAME}contract TRY \"Try\" {{\n  POST /try/{{playerId}}\n  {steps}\n  facts\n}}\n"
    );
    let world = World::start(&text).await;
    world.ok("MAKE", r#"{"playerId": "a", "gold": 10}"#).await;
    world.ok("MAKE", r#"{"playerId": "b", "gold": 10}"#).await;
    world
}

fn snapshot(world: &World) -> Vec<String> {
    world.all("").iter().map(|item| written(&item.clone().into())).collect()
}

const MOVE: &str = "input other id, amount int 0.., trophyId id\n  \
    from = get Player strong else 404 nobody\n  to = get Player(playerId = other) strong else 404 no-other\n  \
    allow true\n  require from.playerId != to.playerId else 409 same\n  transact {\n    \
    put Trophy { playerId, trophyId } if absent else 409 won-already\n    \
    update from set gold = .gold - amount, version = .version + 1 if .gold >= amount and unchanged else 409 poor\n    \
    update to set gold = .gold + amount, version = .version + 1 if unchanged else retry\n  }\n  \
    return from with { theirs = to.gold }";

// `transact { … }` does all of its writes or none.
#[tokio::test]
async fn all_or_none() {
    let world = game(MOVE).await;
    let told =
        world.call("TRY", r#"{"playerId": "a", "other": "b", "amount": 4, "trophyId": "t"}"#).await;
    assert_eq!(told.body(), r#"{"playerId":"a","gold":6,"level":1,"version":2,"theirs":14}"#);
    assert!(world.stored("PLAYER#a", "TROPHY#t").is_some());
    let before = snapshot(&world);
    for (inputs, code) in [
        (r#"{"playerId": "a", "other": "b", "amount": 1, "trophyId": "t"}"#, "won-already"),
        (r#"{"playerId": "a", "other": "b", "amount": 1, "trophyId": "t"}"#, "won-already"),
    ] {
        let told = world.call("TRY", inputs).await;
        assert_eq!(told.told(), (409, code.to_owned()), "{inputs}");
        assert_eq!(snapshot(&world), before, "{inputs}");
    }
}

// The first that is refused, in the order they are written, decides which `else` runs.
#[tokio::test]
async fn the_first_refused_leg_decides() {
    // Each leg holds or not by an input.
    let steps = "input a bool, b bool, c bool\n  allow true\n  transact {\n    \
        put Trophy { playerId, trophyId = \"one\" } replace if a or .gold == 1 else 409 first\n    \
        update Player set gold = 1, version = .version + 1 if b else 409 second\n    \
        delete Trophy(trophyId = \"two\") if c else 409 third\n  }\n  \
        player = get Player strong else 404 nobody\n  return player";
    let world = game(steps).await;
    for bits in 0..8_u8 {
        let [a, b, c] = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
        let before = snapshot(&world);
        let told = world
            .call("TRY", &format!(r#"{{"playerId": "a", "a": {a}, "b": {b}, "c": {c}}}"#))
            .await;
        let code = match (a, b, c) {
            (false, ..) => "first",
            (true, false, _) => "second",
            (true, true, false) => "third",
            (true, true, true) => "",
        };
        assert_eq!(told.told().1, code, "{a} {b} {c}");
        if !code.is_empty() {
            assert_eq!(snapshot(&world), before, "{a} {b} {c}");
        }
    }
}

// A leg that would leave the bounds of an attribute is refused by its own `if` where it has one, and never
// before an earlier leg.
#[tokio::test]
async fn a_legs_own_condition_comes_before_its_bounds() {
    let world = game(MOVE).await;
    let poor = world
        .call("TRY", r#"{"playerId": "a", "other": "b", "amount": 11, "trophyId": "t"}"#)
        .await;
    assert_eq!(poor.told(), (409, "poor".to_owned()));
    world.ok("TRY", r#"{"playerId": "a", "other": "b", "amount": 0, "trophyId": "t"}"#).await;
    let won = world
        .call("TRY", r#"{"playerId": "a", "other": "b", "amount": 11, "trophyId": "t"}"#)
        .await;
    assert_eq!(won.told(), (409, "won-already".to_owned()), "the first leg decides");
}

// A `when` may guard legs.
#[tokio::test]
async fn legs_are_guarded() {
    let steps = "input prize bool, fine bool\n  player = get Player strong else 404 nobody\n  allow true\n  transact {\n    \
        when prize {\n      put Trophy { playerId, trophyId = \"prize\" } if absent else 409 had-it\n    } else {\n      \
        delete Trophy(trophyId = \"prize\")\n    }\n    when fine {\n      \
        update player set gold = .gold - 1, version = .version + 1 if unchanged else retry\n    }\n  }\n  return player";
    let world = game(steps).await;
    let try_it = async |prize: bool, fine: bool| {
        let inputs = format!(r#"{{"playerId": "a", "prize": {prize}, "fine": {fine}}}"#);
        let mut call = call("TRY", &inputs);
        call.trace = true;
        world.made(call).await
    };
    let legs = |told: &crate::support::Told| match &told.0.trace.last().unwrap().request {
        Request::Transact(transact) => transact.legs.len(),
        other => panic!("{other:?}"),
    };
    let told = try_it(true, true).await;
    assert_eq!((legs(&told), told.member("gold")), (2, 9.into()));
    assert!(world.stored("PLAYER#a", "TROPHY#prize").is_some());
    assert_eq!(try_it(true, true).await.told(), (409, "had-it".to_owned()));
    let told = try_it(false, false).await;
    assert_eq!((legs(&told), told.member("gold")), (1, 9.into()));
    assert_eq!(world.stored("PLAYER#a", "TROPHY#prize"), None);
}

// With all legs guarded and no guard holding, nothing is asked and nothing done.
#[tokio::test]
async fn no_leg_is_no_request() {
    let steps = "input prize bool\n  player = get Player strong else 404 nobody\n  allow true\n  transact {\n    \
        when prize {\n      put Trophy { playerId, trophyId = \"prize\" } if absent else 409 had-it\n    }\n  }\n  return player";
    let world = game(steps).await;
    let before = snapshot(&world);
    let mut asked = call("TRY", r#"{"playerId": "a", "prize": false}"#);
    asked.trace = true;
    let told = world.made(asked).await;
    assert_eq!((told.status(), told.0.trace.len()), (200, 1), "the get alone");
    assert_eq!(told.capacity(), "rcu=1, wcu=0");
    assert_eq!(snapshot(&world), before);
}

// `else { … }`: other statements; the transaction had no effect, so names mean what they meant before it.
#[tokio::test]
async fn an_else_sees_what_was_before_the_transaction() {
    let steps = "player = get Player strong else 404 nobody\n  allow true\n  transact {\n    \
        update player set gold = 99, level = .level + 1, version = .version + 1 if unchanged else retry\n    \
        put Trophy { playerId, trophyId = \"t\" } if absent else {\n      \
        return 200 player with { kept = player.gold, was = player.version }\n    }\n  }\n  return 201 player";
    let world = game(steps).await;
    let told = world.call("TRY", r#"{"playerId": "a"}"#).await;
    assert_eq!(told.body(), r#"{"playerId":"a","gold":99,"level":2,"version":2}"#);
    let told = world.call("TRY", r#"{"playerId": "a"}"#).await;
    assert_eq!(told.status(), 200);
    assert_eq!(
        told.body(),
        r#"{"playerId":"a","gold":99,"level":2,"version":2,"kept":99,"was":2}"#
    );
    let told = world.call("TRY", r#"{"playerId": "b"}"#).await;
    assert_eq!(told.status(), 201);
    let told = world.call("TRY", r#"{"playerId": "b"}"#).await;
    assert_eq!(told.version(), Some("2"), "and so does its version");
}

// An `else` block can read and write in its turn.
#[tokio::test]
async fn an_else_can_go_on() {
    let steps = "input trophyId id\n  allow true\n  transact {\n    \
        put Trophy { playerId, trophyId, gold = 1 } if absent else {\n      \
        old = get Trophy strong else 404 vanished\n      \
        update old set gold = .gold + 1 if .gold == old.gold else retry\n      return 200 old\n    }\n    \
        update Player add level = 1 set version = .version + 1 else 404 nobody\n  }\n  \
        trophy = get Trophy strong else 404 vanished\n  return 201 trophy";
    let world = game(steps).await;
    for (status, gold) in [(201, 1), (200, 2), (200, 3)] {
        let told = world.call("TRY", r#"{"playerId": "a", "trophyId": "t"}"#).await;
        assert_eq!((told.status(), told.member("gold")), (status, gold.into()));
    }
    assert_eq!(world.attribute("PLAYER#a", "META", "level").as_deref(), Some("2"));
}

// What is bound in a transaction's own lines is known after it, and in the lines below it.
#[tokio::test]
async fn names_of_a_transaction_go_on() {
    let steps = "input trophyId id\n  allow true\n  transact {\n    \
        trophy = put Trophy { playerId, trophyId, gold = 5 } if absent else 409 there\n    \
        put Trophy of trophy { trophyId = \"second\", gold = trophy.gold + 1 } replace\n  }\n  \
        return 201 trophy with { double = trophy.gold + trophy.gold }";
    let text = format!(
        "{GAME}contract TRY \"Try\" {{\n  POST /try/{{playerId}}\n  {steps}\n  facts\n}}\n"
    );
    let text = text.replace(
        "trophyId id\n  allow",
        "trophyId id\n  require trophyId != \"second\" else 400 no\n  allow",
    );
    let world = World::start(&text).await;
    let told = world.ok("TRY", r#"{"playerId": "a", "trophyId": "t"}"#).await;
    assert_eq!(told["double"], 10);
    assert_eq!(world.attribute("PLAYER#a", "TROPHY#second", "gold").as_deref(), Some("6"));
}

// A leg of an item that is insisted on but not written.
#[tokio::test]
async fn a_check_is_a_leg() {
    let steps = "input other id\n  from = get Player strong else 404 nobody\n  \
        to = get Player(playerId = other) strong else 404 no-other\n  allow true\n  \
        require from.playerId != to.playerId else 409 same\n  transact {\n    \
        check to if .gold == 10 else 409 other-changed\n    \
        update from set gold = 0, version = .version + 1 if unchanged else retry\n  }\n  return from";
    let world = game(steps).await;
    let told = world.call("TRY", r#"{"playerId": "a", "other": "b"}"#).await;
    assert_eq!((told.status(), told.member("gold")), (200, 0.into()));
    assert_eq!(world.attribute("PLAYER#b", "META", "version").as_deref(), Some("1"), "not written");
    let told = world.call("TRY", r#"{"playerId": "b", "other": "a"}"#).await;
    assert_eq!(told.told(), (409, "other-changed".to_owned()));
}
