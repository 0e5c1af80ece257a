//! Returning: what is shown, where it is to be found, and which version it is.

use latchkey_runtime::{Caller, IfMatch};
use latchkey_table::Number;

use crate::support::{World, after, call, call_by};

const BOOKS: &str = r#"
entity Book "BOOK" {
  PK = "BOOK#{bookId}"
  SK = "META"
  bookId id, title text(40), pages int = 9, price number?, due time?, tags list?, more map(99, 3)?, version counter
}
entity Line "LINE" {
  PK = "DAY#{day}"
  SK = "LINE#{n:02}"
  day id, n int 0..99, note text(9)? secret
}
entity Slip "SLIP" {
  PK = "SLIP#{slipId}"
  SK = "META"
  slipId id, name text(40), no int
}
contract MAKE "Make" {
  POST /books
  input bookId id, title text(40), price number?, tags list?, more map(99, 3)?
  allow true
  book = put Book { bookId, title, price, tags, more } if absent else 409 book-exists "there is a {bookId} of {title}" with { bookId, at = now, count = 1 + 1 }
  return 201 book at /books/{bookId}
  facts
}
contract GET "Get" {
  GET /books/{bookId}
  book = get Book else 404 not-found
  allow true
  return book
  facts
}
contract SOME "Some fields" {
  GET /some/{bookId}
  book = get Book else 404 not-found
  allow true
  return 203 book { price, title } with { pages = book.pages + 1, later = now + 1h, tall = book.pages > 100, price2 = book.price }
  facts
}
contract LINE "A line" {
  POST /lines
  input day id, n int 0..99, note text(9)?
  allow true
  line = put Line { day, n, note } if absent else 409 there
  return 201 line
  facts
}
contract DAYS "Lists of two days" {
  GET /days
  input one id, other id
  allow true
  first = query Line where PK = "DAY#{one}" and SK begins_with "LINE#" first 2
  when count(first) >= 2 { return with { first } }
  second = query Line where PK = "DAY#{other}" and SK begins_with "LINE#" first 2
  both = get Line(day = one, n = line.n) for line in second
  return with { first, second, both, n = count(first) + count(second) }
  facts
}
contract SLIP "A slip" {
  POST /slips
  input slipId id, name text(40), no int
  allow true
  slip = put Slip { slipId, name, no } replace
  return 201 slip { no, name } at /slips/{slipId}/by/{name}/{no}
  facts
}
"#;

// Lists without a cursor, each whole, and none of what is secret.
#[tokio::test]
async fn lists_stand_beside_each_other() {
    let world = World::start(BOOKS).await;
    world.ok("LINE", r#"{"day": "mon", "n": 1, "note": "hidden"}"#).await;
    world.ok("LINE", r#"{"day": "tue", "n": 1}"#).await;
    world.ok("LINE", r#"{"day": "tue", "n": 2, "note": "hidden"}"#).await;
    let told = world.call("DAYS", r#"{"one": "mon", "other": "tue"}"#).await;
    let shown = r#"{"first":[{"day":"mon","n":1}],"second":[{"day":"tue","n":1},{"day":"tue","n":2}],"both":[{"day":"mon","n":1}],"n":3}"#;
    assert_eq!(told.body(), shown);
    let told = world.call("DAYS", r#"{"one": "tue", "other": "mon"}"#).await;
    assert_eq!(told.body(), r#"{"first":[{"day":"tue","n":1},{"day":"tue","n":2}]}"#);
    let told = world.call("DAYS", r#"{"one": "wed", "other": "thu"}"#).await;
    assert_eq!(told.body(), r#"{"first":[],"second":[],"both":[],"n":0}"#);
}

// Without braces all are shown that are not secret; absent optionals are omitted; values as JSON has them.
#[tokio::test]
async fn an_item_is_shown_as_it_is_declared() {
    let world = World::start(BOOKS).await;
    let inputs = r#"{"bookId": "b", "title": "\"q\" \\ \u0001 é", "price": 0.10, "tags": [null, 1, "x"], "more": {"b": 1, "a": [true]}}"#;
    let told = world.call("MAKE", inputs).await;
    let shown = r#"{"bookId":"b","title":"\"q\" \\ \u0001 é","pages":9,"price":0.1,"tags":[null,1,"x"],"more":{"a":[true],"b":1},"version":1}"#;
    let parsed: serde_json::Value = serde_json::from_str(shown).unwrap();
    assert_eq!(told.json(), parsed);
    assert!(told.body().starts_with(r#"{"bookId":"b","title":"#), "in the order of the entity");
    assert_eq!(world.call("GET", r#"{"bookId": "b"}"#).await.json(), parsed);
}

// Braces choose attributes; `with` adds values under names of their own; status 200 unless it says another.
#[tokio::test]
async fn a_return_chooses_and_adds() {
    let world = World::start(BOOKS).await;
    world.ok("MAKE", r#"{"bookId": "b", "title": "t"}"#).await;
    let told = world.call("SOME", r#"{"bookId": "b"}"#).await;
    let expected =
        format!(r#"{{"title":"t","pages":10,"later":"{}","tall":false}}"#, after(3_600_000));
    assert_eq!((told.status(), told.body()), (203, expected), "what is absent is left out");
}

// An entity with a version answers an `ETag`, also where its counter is not shown; others do not.
#[tokio::test]
async fn a_version_is_told_for_what_counts_its_changes() {
    let world = World::start(BOOKS).await;
    let told = world.call("MAKE", r#"{"bookId": "b", "title": "t"}"#).await;
    assert_eq!(told.answer().etag.as_deref(), Some("\"1\""));
    let told = world.call("SOME", r#"{"bookId": "b"}"#).await;
    assert_eq!(told.version(), Some("1"));
    let told = world.call("SLIP", r#"{"slipId": "s", "name": "n", "no": 1}"#).await;
    assert_eq!(told.answer().etag, None);
}

const PLAYERS: &str = r#"
entity Player "PLAYER" {
  PK = "PLAYER#{playerId}"
  SK = "META"
  playerId id, name text(40), team int 0..9, version counter
  index Team { PK = "TEAM#{team}" SK = "{playerId}" }
}
contract JOIN "Join" {
  POST /players
  input playerId id, name text(40)
  allow true
  player = put Player { playerId, name, team = 1 } if absent else 409 there
  return 201 player at /players/{playerId}
  facts
}
contract WHOLE "See a player" {
  GET /players/{playerId}
  player = get Player else 404 not-found
  allow true
  return player
  facts
}
contract ME "See myself" {
  GET /me
  allow true
  player = get Player(playerId = caller.id) else 404 not-found
  return player
  facts
}
contract MINE "See a player, with whether it is me" {
  GET /players/{playerId}/mine
  player = get Player else 404 not-found
  allow true
  return player with { mine = caller.id == playerId }
  facts
}
contract FIRST "See the first of a team" {
  GET /teams/first
  allow true
  player = query Player by Team where PK = "TEAM#1" first 1 else 404 not-found
  return player
  facts
}
contract CARD "See a player in short, or whole" {
  GET /players/{playerId}/card
  input short bool = false
  player = get Player else 404 not-found
  allow true
  when short { return player { playerId, name } }
  return player { playerId, name, team }
  facts
}
contract EITHER "See a player, or the captain" {
  GET /players/{playerId}/either
  captain = get Player(playerId = "cap") else 404 not-found
  player = get Player strong
  allow true
  when player is absent { return captain }
  return player
  facts
}
"#;

// Answers of one URL with different bodies had one tag, and whoever had one of them was told 304 for the other.
#[tokio::test]
async fn different_bodies_have_different_tags() {
    let world = World::start(PLAYERS).await;
    for id in ["bob", "alice", "cap"] {
        world.ok("JOIN", &format!(r#"{{"playerId": "{id}", "name": "{id}"}}"#)).await;
    }
    let bob = r#"{"playerId": "bob"}"#;
    let as_bob = |contract, inputs| call_by(Caller::new("bob"), contract, inputs);
    let told = |call| async { world.made(call).await.answer().clone() };
    let whole = told(call("WHOLE", bob)).await;
    assert_eq!(whole.etag.as_deref(), Some("\"1\""), "the version of a whole item tells all");
    assert_eq!(told(as_bob("WHOLE", bob)).await.etag, whole.etag);
    let card = |short| call("CARD", &format!(r#"{{"playerId": "bob", "short": {short}}}"#));
    let first = told(call("FIRST", "{}")).await;
    world.ok("JOIN", r#"{"playerId": "aa", "name": "aa"}"#).await;
    let either = |id: &str| call("EITHER", &format!(r#"{{"playerId": "{id}"}}"#));
    let pairs = [
        (told(call("ME", "{}")).await, told(as_bob("ME", "{}")).await),
        (told(call("MINE", bob)).await, told(as_bob("MINE", bob)).await),
        (told(card(true)).await, told(card(false)).await),
        (first, told(call("FIRST", "{}")).await),
        (told(either("zoe")).await, told(either("bob")).await),
    ];
    for (one, other) in pairs {
        assert_ne!(one.body, other.body);
        assert_ne!(one.etag, other.etag, "{} {}", one.body, other.body);
        assert!(one.etag.is_some_and(|tag| tag.starts_with("\"1-")), "the version comes first");
    }
    let again = told(card(true)).await;
    assert_eq!(again.etag, told(card(true)).await.etag, "one body has one tag");
}

// `at` is where the thing is to be found; `{name}` in it is an input or an attribute of what is returned.
#[tokio::test]
async fn a_place_is_percent_encoded() {
    let world = World::start(BOOKS).await;
    let told = world.call("MAKE", r#"{"bookId": "b:1|2", "title": "t"}"#).await;
    assert_eq!(told.answer().found_at.as_deref(), Some("/books/b:1%7C2"));
    let told = world.call("SLIP", r#"{"slipId": "s", "name": "a/b c?#%é", "no": -3}"#).await;
    assert_eq!(told.answer().found_at.as_deref(), Some("/slips/s/by/a%2Fb%20c%3F%23%25%C3%A9/-3"));
    assert_eq!(world.call("GET", r#"{"bookId": "b:1|2"}"#).await.answer().found_at, None);
}

// A status, the problem's name for programs, perhaps a message for people, perhaps values beside them.
#[tokio::test]
async fn a_problem_says_what_its_else_says() {
    let world = World::start(BOOKS).await;
    world.ok("MAKE", r#"{"bookId": "b", "title": "t"}"#).await;
    let told = world.call("MAKE", r#"{"bookId": "b", "title": "u"}"#).await;
    let body = told.json();
    assert_eq!(body["status"], 409);
    assert_eq!(body["code"], "book-exists");
    assert_eq!(body["title"], "Book exists");
    assert_eq!(body["detail"], "there is a b of u");
    assert_eq!(body["contract"], "MAKE");
    assert_eq!((&body["bookId"], &body["count"]), (&"b".into(), &2.into()));
    assert_eq!(body["at"], after(0));
    let told = world.call("GET", r#"{"bookId": "none"}"#).await;
    assert_eq!(told.json()["detail"], "nothing was found for what was sent; check the ids");
}

const VERSIONS: &str = r#"
entity Page "PAGE" {
  PK = "PAGE#{pageId}"
  SK = "META"
  pageId id, words text(40), version counter
}
contract MAKE "Make" {
  POST /pages
  input pageId id
  allow true
  page = put Page { pageId, words = "" } if absent else 409 there
  return 201 page
  facts
}
contract WRITE "Write" {
  PUT /pages/{pageId}
  input words text(40), expectedVersion int 1..
  page = get Page strong else 404 not-found
  allow true
  match page.version == expectedVersion else 409 version-conflict "it is at {page.version}" with { current = page.version }
  update page set words = words, version = .version + 1 if unchanged else retry
  return page
  facts
}
contract PERHAPS "Write, perhaps of a version" {
  PATCH /pages/{pageId}
  input words text(40), expectedVersion int?
  page = get Page strong else 404 not-found
  allow true
  match expectedVersion is absent or page.version == expectedVersion else 409 version-conflict
  update page set words = words, version = .version + 1 if unchanged else retry
  return page
  facts
}
contract TWICE "Write, and insist on the version once more" {
  POST /pages/{pageId}
  input words text(40), expectedVersion int
  page = get Page strong else 404 not-found
  allow true
  match page.version == expectedVersion else 409 version-conflict
  update page set words = words, version = .version + 1 if .version == expectedVersion and unchanged else 409 raced
  return page with { was = expectedVersion }
  facts
}
contract FREE "Write whatever" {
  DELETE /pages/{pageId}
  page = get Page strong else 404 not-found
  allow true
  delete page
  return page
  facts
}
contract READ "Read" {
  GET /pages/{pageId}
  page = get Page else 404 not-found
  allow true
  return page
  facts
}
"#;

fn one_of(versions: &[&str]) -> Option<IfMatch> {
    Some(IfMatch::OneOf(versions.iter().map(|text| text.parse::<Number>().unwrap()).collect()))
}

// `If-Match` may stand for `expectedVersion` (then 412 when it fails).
#[tokio::test]
async fn if_match_stands_for_the_version_a_match_asks_for() {
    let cases: [(Option<IfMatch>, u16); 7] = [
        (one_of(&["1"]), 200),
        (one_of(&["7", "1"]), 200),
        (Some(IfMatch::Any), 200),
        (one_of(&["2"]), 412),
        (one_of(&["0", "-1", "1.5"]), 412),
        (one_of(&[]), 412),
        (one_of(&["7", "8"]), 412),
    ];
    for contract in ["WRITE", "PERHAPS"] {
        for (tags, status) in &cases {
            let world = World::start(VERSIONS).await;
            world.ok("MAKE", r#"{"pageId": "p"}"#).await;
            let mut call = call(contract, r#"{"pageId": "p", "words": "w"}"#);
            call.if_match.clone_from(tags);
            let told = world.made(call).await;
            assert_eq!(told.status(), *status, "{contract} {tags:?}: {}", told.body());
            if *status == 412 {
                assert_eq!(told.problem().code, "version-conflict", "the code of the `match`");
                assert_eq!(world.attribute("PAGE#p", "META", "version").as_deref(), Some("1"));
            } else {
                assert_eq!(told.version(), Some("2"), "{contract} {tags:?}");
            }
        }
    }
}

// It stands for it wherever the contract says it, in the condition of a write too.
#[tokio::test]
async fn if_match_stands_for_the_version_behind_the_match_too() {
    for (tags, status) in
        [(one_of(&["7", "1"]), 200), (one_of(&["2"]), 412), (Some(IfMatch::Any), 200)]
    {
        let world = World::start(VERSIONS).await;
        world.ok("MAKE", r#"{"pageId": "p"}"#).await;
        let mut call = call("TWICE", r#"{"pageId": "p", "words": "w"}"#);
        call.if_match.clone_from(&tags);
        let told = world.made(call).await;
        assert_eq!(told.status(), status, "{tags:?}: {}", told.body());
        if status == 200 {
            assert_eq!(told.member("was"), 1, "{tags:?}");
        }
    }
}

#[tokio::test]
async fn a_match_has_its_own_status_for_a_body_value() {
    let world = World::start(VERSIONS).await;
    world.ok("MAKE", r#"{"pageId": "p"}"#).await;
    let told = world.call("WRITE", r#"{"pageId": "p", "words": "w", "expectedVersion": 5}"#).await;
    assert_eq!(told.told(), (409, "version-conflict".to_owned()));
    assert_eq!((told.member("current"), told.member("detail")), (1.into(), "it is at 1".into()));
    let told = world.call("WRITE", r#"{"pageId": "p", "words": "w", "expectedVersion": 1}"#).await;
    assert_eq!(told.status(), 200);
    let told = world.call("WRITE", r#"{"pageId": "p", "words": "w"}"#).await;
    assert_eq!(told.problem().errors[0].pointer, "/expectedVersion", "it must be given somewhere");
    let told = world.call("PERHAPS", r#"{"pageId": "p", "words": "w"}"#).await;
    assert_eq!(told.member("version"), 3);
}

#[tokio::test]
async fn if_match_is_not_ignored_where_it_means_nothing() {
    let world = World::start(VERSIONS).await;
    world.ok("MAKE", r#"{"pageId": "p"}"#).await;
    let mut both = call("WRITE", r#"{"pageId": "p", "words": "w", "expectedVersion": 1}"#);
    both.if_match = one_of(&["1"]);
    assert_eq!(world.made(both).await.problem().errors[0].pointer, "/expectedVersion", "not twice");
    let mut free = call("FREE", r#"{"pageId": "p"}"#);
    free.if_match = one_of(&["9"]);
    assert_eq!(world.made(free).await.status(), 400, "nothing here asks for a version");
    assert!(world.stored("PAGE#p", "META").is_some());
    let mut read = call("READ", r#"{"pageId": "p"}"#);
    read.if_match = one_of(&["9"]);
    assert_eq!(world.made(read).await.status(), 200, "what only reads harms nobody");
    let mut gone = call("WRITE", r#"{"pageId": "none", "words": "w"}"#);
    gone.if_match = Some(IfMatch::Any);
    assert_eq!(world.made(gone).await.told(), (404, "not-found".to_owned()));
}
