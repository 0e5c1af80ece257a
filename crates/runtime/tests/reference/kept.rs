//! A view that keeps: what only the stored view has comes home, and is never erased.

use latchkey_table::{Item, Put, Returning, Value};

use crate::support::{World, all_of, broken, call};

const CLUB: &str = r#"
entity Member "MEMBER" {
  PK = "MEMBER#{memberId}"
  SK = "META"
  memberId id, clubId id, nick text(20)?, points int 0..9 = 0, version counter
  index Nick moves { PK = "NICK"  SK = "{nick}#{memberId}" }
  waive hot-partition "a club has few members"
  waive forged-key "the nick is the end of no key but this"
}
entity Card "CARD" view of Member {
  PK = "CLUB#{clubId}"
  SK = "MEMBER#{memberId}"
  copies memberId, clubId, nick kept, points?, version?
  sorts text(129)? = coalesce("A{nick}", "B{memberId}")
  index Cards moves { PK = "CLUB#{clubId}"  SK = "{sorts}" }
  waive forged-key "the nick is the end of no key but this"
}
contract JOIN "Join" {
  POST /members
  input memberId id, clubId id, nick text(20)?
  allow true
  transact {
    member = put Member { memberId, clubId, nick } if absent else 409 there
    put Card of member replace
  }
  return 201 member
  facts
}
contract SCORE "Score" {
  POST /members/{memberId}/score
  input points int, nick text(20)?
  member = get Member strong else 404 nobody
  allow true
  transact {
    update member set points = .points + points, nick ?= nick, version = .version + 1 if unchanged else retry
    put Card of member replace
  }
  return member
  facts
}
contract NAME "Name" {
  POST /members/{memberId}/name
  input nick text(20)
  member = get Member strong else 404 nobody
  allow true
  transact {
    update member set nick = nick, version = .version + 1 if unchanged else retry
    put Card of member replace
  }
  return member
  facts
}
contract MOVE "Move" {
  POST /members/{memberId}/move
  input other id
  member = get Member strong else 404 nobody
  allow true
  require member.clubId != other else 409 same
  transact {
    delete Card of member
    update member set clubId = other, version = .version + 1 if unchanged else retry
    put Card of member replace
  }
  return member
  facts
}
contract CARDS "Cards" {
  GET /clubs/{clubId}/cards
  allow true
  cards = query Card by Cards where PK = "CLUB#{clubId}" page 10
  return cards
  facts
}
contract NICKS "Nicks" {
  GET /nicks
  allow true
  members = query Member by Nick where PK = "NICK" page 10
  return members { nick }
  facts
}
"#;

async fn store(world: &World, attributes: &[(&'static str, Value)]) {
    let item: Item = attributes.iter().cloned().collect();
    let table = world.runtime.system().table().clone();
    world.store.put(Put { table, item, condition: None }, Returning::Nothing).await.unwrap();
}

/// A member and a card as another program wrote them: the nick is on the card alone.
async fn older(world: &World) {
    let text = Value::from;
    store(
        world,
        &[
            ("PK", text("MEMBER#m")),
            ("SK", text("META")),
            ("kind", text("MEMBER")),
            ("memberId", text("m")),
            ("clubId", text("c")),
        ],
    )
    .await;
    store(
        world,
        &[
            ("PK", text("CLUB#c")),
            ("SK", text("MEMBER#m")),
            ("kind", text("CARD")),
            ("memberId", text("m")),
            ("clubId", text("c")),
            ("nick", text("Mo")),
        ],
    )
    .await;
}

/// What the item and its card have.
fn nicks(world: &World, club: &str) -> [Option<String>; 2] {
    [
        world.attribute("MEMBER#m", "META", "nick"),
        world.attribute(&format!("CLUB#{club}"), "MEMBER#m", "nick"),
    ]
}

fn both(nick: &str) -> [Option<String>; 2] {
    [Some(format!("\"{nick}\"")), Some(format!("\"{nick}\""))]
}

// A write of the view erased what the source lacked.
#[tokio::test]
async fn what_only_the_view_has_comes_home_with_the_next_write() {
    let world = World::start(CLUB).await;
    older(&world).await;
    let told = world.call("SCORE", r#"{"memberId": "m", "points": 2}"#).await;
    let shown = serde_json::json!(
        {"memberId": "m", "clubId": "c", "nick": "Mo", "points": 2, "version": 2}
    );
    assert_eq!(told.json(), shown);
    assert_eq!(nicks(&world, "c"), both("Mo"));
    // What is made of it is there, too: in the view, and in an index of the source.
    assert_eq!(world.ok("CARDS", r#"{"clubId": "c"}"#).await["items"][0]["sorts"], "AMo");
    assert_eq!(world.ok("NICKS", "{}").await["items"][0]["nick"], "Mo");
    // From here on it costs nothing more, and can be taken away.
    let again = world.call("SCORE", r#"{"memberId": "m", "points": 1}"#).await;
    assert_eq!(
        (told.capacity(), again.capacity()),
        ("rcu=2, wcu=10".to_owned(), "rcu=1, wcu=6".to_owned())
    );
    world.ok("SCORE", r#"{"memberId": "m", "points": 1, "nick": null}"#).await;
    assert_eq!(nicks(&world, "c"), [None, None]);
    world.ok("SCORE", r#"{"memberId": "m", "points": 1}"#).await;
    assert_eq!(nicks(&world, "c"), [None, None]);
}

#[tokio::test]
async fn an_update_that_says_something_else_means_it() {
    for (contract, inputs, left) in [
        ("SCORE", r#"{"memberId": "m", "points": 1, "nick": null}"#, [None, None]),
        ("SCORE", r#"{"memberId": "m", "points": 1, "nick": "Al"}"#, both("Al")),
        ("NAME", r#"{"memberId": "m", "nick": "Al"}"#, both("Al")),
    ] {
        let world = World::start(CLUB).await;
        older(&world).await;
        world.ok(contract, inputs).await;
        assert_eq!(nicks(&world, "c"), left, "{contract} {inputs}");
        assert_eq!(world.attribute("MEMBER#m", "META", "version"), Some("2".to_owned()));
    }
}

#[tokio::test]
async fn a_view_that_moves_takes_it_along() {
    let world = World::start(CLUB).await;
    older(&world).await;
    let told = world.ok("MOVE", r#"{"memberId": "m", "other": "d"}"#).await;
    assert_eq!((told["nick"].as_str(), told["clubId"].as_str()), (Some("Mo"), Some("d")));
    assert_eq!(nicks(&world, "d"), both("Mo"));
    assert_eq!(world.stored("CLUB#c", "MEMBER#m"), None);
    // Without a view there is nothing to take.
    let world = World::start(CLUB).await;
    older(&world).await;
    world.ok("MOVE", r#"{"memberId": "m", "other": "d"}"#).await;
    world.ok("MOVE", r#"{"memberId": "m", "other": "c"}"#).await;
    assert_eq!(nicks(&world, "c"), both("Mo"));
}

#[tokio::test]
async fn calls_at_once_bring_it_home_once() {
    let world = World::start(CLUB).await;
    older(&world).await;
    let score = |_| world.made(call("SCORE", r#"{"memberId": "m", "points": 1}"#));
    let told = all_of((0..4).map(score).collect()).await;
    let done = told.iter().filter(|told| told.status() == 200).count();
    assert!(told.iter().all(|told| [200, 503].contains(&told.status())) && done > 0);
    assert_eq!(nicks(&world, "c"), both("Mo"));
    let points = world.attribute("MEMBER#m", "META", "points");
    assert_eq!(points, Some(done.to_string()));
}

#[tokio::test]
async fn a_call_with_a_name_answers_with_it_again() {
    let world = World::start(CLUB).await;
    older(&world).await;
    let score = || {
        let mut score = call("SCORE", r#"{"memberId": "m", "points": 1}"#);
        score.idempotency_key = Some("k".into());
        score
    };
    let first = world.made(score()).await;
    assert_eq!(first.json()["nick"], "Mo");
    assert_eq!(world.made(score()).await.body(), first.body());
    assert_eq!(world.attribute("MEMBER#m", "META", "points"), Some("1".to_owned()));
}

#[tokio::test]
async fn a_view_that_is_damaged_is_not_brought_home() {
    let world = World::start(CLUB).await;
    older(&world).await;
    let mut card = world.stored("CLUB#c", "MEMBER#m").unwrap();
    drop(card.insert("nick", Value::from(7)));
    let table = world.runtime.system().table().clone();
    let put = Put { table, item: card.clone(), condition: None };
    world.store.put(put, Returning::Nothing).await.unwrap();
    let told = world.call("SCORE", r#"{"memberId": "m", "points": 1}"#).await;
    assert_eq!(told.told(), (500, "damaged-item".to_owned()));
    assert_eq!(world.stored("CLUB#c", "MEMBER#m"), Some(card));
    assert_eq!(world.attribute("MEMBER#m", "META", "version"), None);
}

// Nothing could be set in the source, so the put would erase what the view keeps.
#[test]
fn a_put_of_a_view_that_keeps_needs_an_update_of_its_source() {
    let listed = |checked: &str| {
        CLUB.to_owned()
            + &format!(
                "contract LIST \"List again\" {{
  POST /members/{{memberId}}/list
  member = get Member strong else 404 nobody
  allow true
  transact {{
    {checked}
    put Card of member replace
  }}
  return member
  facts
}}
"
            )
    };
    assert_eq!(broken(CLUB), Vec::<String>::new());
    let told = "stale-copy: this may erase `nick`, which `Card` keeps";
    assert_eq!(broken(&listed("check member if unchanged else retry")), [told]);
    let update = "update member set version = .version + 1 if unchanged else retry";
    assert_eq!(broken(&listed(update)), Vec::<String>::new());
    let required = CLUB.replace("clubId, nick kept", "clubId kept, nick");
    let told = "type: every source has `clubId`, so there is nothing to keep";
    assert_eq!(broken(&required), [told]);
}
