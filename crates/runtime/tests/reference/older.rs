//! Items of other programs, and from before an attribute was declared: what they lack they are read, asked and changed
//! with, and what they have beyond it is not shown.

use latchkey_runtime::{Matter, System};
use latchkey_table::{Item, Put, Returning, Text, Value};

use crate::support::{World, call};

/// A document with this table and these declarations.
fn document(table: &str, declarations: &str) -> String {
    let facts = "\n  consistency strong\n  expect 0.. items\n  rate 1/s";
    let declarations = declarations.replace("\n  facts", facts);
    format!(
        "```contract\nsystem older\ntable Older {{ type kind\n{table} }}\n{declarations}\n```\n"
    )
}

async fn world(table: &str, declarations: &str) -> World {
    World::of(&document(table, declarations), latchkey_runtime::Options::default().source).await
}

fn item(pairs: &[(&str, Value)]) -> Item {
    pairs.iter().map(|(name, value)| (*name, value.clone())).collect()
}

/// Puts an item as another program would.
fn store(world: &World, pairs: &[(&str, Value)]) {
    let table = world.runtime.system().table().clone();
    let put = Put { table, item: item(pairs), condition: None };
    world.store.put(put, Returning::Nothing).wait().unwrap();
}

fn matters(text: &str, pairs: &[(&str, Value)]) -> Vec<Matter> {
    let system = System::read(text).unwrap();
    system.findings(&item(pairs)).into_iter().map(|found| found.matter).collect()
}

const HOTELS: &str = r#"
entity Hotel "HOTEL" {
  PK = "HOTEL#{hotelId}"
  SK = "HOTEL"
  hotelId id, city id, score int 0..10
  index ByScore moves { PK = "{city}" SK = "{score}" }
}
entity Review "REVIEW" {
  PK = "HOTEL#{hotelId}"
  SK = "REVIEW#{reviewId}"
  hotelId id, reviewId id, city id?
}
contract BEST "The best" {
  GET /best/{city}
  allow true
  hotels = query Hotel by ByScore where PK = "{city}" order descending page 1 max 10
  return hotels { hotelId, score }
  consistency eventual
  expect 0.. items
  rate 1/s
}
contract RATE "Rate" {
  PUT /hotels/{hotelId}
  input city id, score Hotel.score
  allow true
  hotel = put Hotel { hotelId, city, score } replace
  return hotel
  facts
}
contract REVIEW "Review" {
  PUT /hotels/{hotelId}/reviews/{reviewId}
  input city id?
  allow true
  review = put Review { hotelId, reviewId, city } replace
  return review
  facts
}
contract REVIEWS "Reviews" {
  GET /hotels/{hotelId}/reviews
  allow true
  reviews = query Review where PK = "HOTEL#{hotelId}" and SK begins_with "REVIEW#" page 9
  return reviews
  consistency eventual
  expect 0.. items
  rate 1/s
}
"#;

const BY_SCORE: &str = "index ByScore { PK city SK score number holds keys, hotelId }";

/// An entry of the index, of an item of any type.
fn entry(sort: &str, kind: &str, score: i64) -> Vec<(&'static str, Value)> {
    vec![
        ("PK", "HOTEL#h1".into()),
        ("SK", sort.into()),
        ("kind", kind.into()),
        ("hotelId", "h1".into()),
        ("city", "wien".into()),
        ("score", score.into()),
    ]
}

// Where the index does not hold the type, an item of another entity was answered as a hotel.
#[tokio::test]
async fn an_entry_with_the_key_of_another_entity_is_passed_over() {
    let world = world(BY_SCORE, HOTELS).await;
    world.ok("RATE", r#"{"hotelId": "h1", "city": "wien", "score": 7}"#).await;
    let mut review = entry("REVIEW#r1", "REVIEW", 10);
    review.push(("reviewId", "r1".into()));
    store(&world, &review);
    store(&world, &entry("AUDIT#1", "AUDIT", 9));
    let told = world.ok("BEST", r#"{"city": "wien"}"#).await;
    assert_eq!(told["items"], serde_json::json!([{"hotelId": "h1", "score": 7}]));
    assert!(told["nextCursor"].is_null());
}

// Nobody was told that an index holds items of others.
#[test]
fn an_index_that_holds_an_item_of_others_is_told() {
    let by_score = Text::const_new("ByScore");
    let text = document(BY_SCORE, HOTELS);
    assert_eq!(matters(&text, &entry("HOTEL", "HOTEL", 7)), []);
    let mut review = entry("REVIEW#r1", "REVIEW", 10);
    review.push(("reviewId", "r1".into()));
    assert_eq!(matters(&text, &review), [Matter::Stray(by_score.clone())]);
    let system = System::read(&text).unwrap();
    assert_eq!(system.examine(&item(&review)), Vec::<String>::new(), "contracts pass it over");
    let foreign = entry("AUDIT#1", "AUDIT", 9);
    assert_eq!(matters(&text, &foreign), [Matter::Type, Matter::Stray(by_score.clone())]);
    // By its key it is a hotel, and nothing else is known of it there.
    let mistaken = entry("HOTEL", "AUDIT", 9);
    assert_eq!(matters(&text, &mistaken), [Matter::Mistaken(by_score)]);
    let whole = document("index ByScore { PK city SK score number }", HOTELS);
    assert_eq!(matters(&whole, &mistaken).first(), Some(&Matter::Type));
}

const PARTS: &str = r#"
entity Part "PART" {
  PK = "PART#{partId}"
  SK = "META"
  partId id, name text(9), price int 0..1000 = 7, state OPEN | SHUT = OPEN, hot bool = true
  box { city text(9), deep { a text(9)? }? }?
  v counter
}
contract MAKE "Make" {
  PUT /parts/{partId}
  input name text(9), box Part.box ?
  allow true
  part = put Part { partId, name, box } if absent else 409 taken
  return 201 part
  facts
}
contract SEE "See" {
  GET /parts/{partId}
  allow true
  part = get Part strong else 404 not-found
  return part with { again = { box = part.box }, box2 = part.box }
  facts
}
contract ADD "Add" {
  POST /parts/{partId}/add
  allow true
  waive drift "a test"
  part = update Part add price = 1 set v = .v + 1 else 404 not-found
  return part
  facts
}
contract READ-ADD "Add to what was read" {
  POST /parts/{partId}/read-add
  allow true
  part = get Part strong else 404 not-found
  waive drift "a test"
  transact {
    update part add price = 1 set v = .v + 1 if unchanged else retry
  }
  return part
  facts
}
contract SHUT "Shut what was read" {
  POST /parts/{partId}/shut
  allow true
  part = get Part strong else 404 not-found
  require part.state == OPEN else 409 not-open
  part2 = update part set state = SHUT, v = .v + 1 if .state == part.state else retry
  return part2
  facts
}
contract BLIND "Shut" {
  POST /parts/{partId}/blind
  input price int, v int
  allow true
  part = update Part set state = SHUT, v = .v + 1
    if .state == OPEN and .price <= price and .hot and .v == v and not (.state in (SHUT))
    else absent 404 not-found else 409 not-open
  return part
  facts
}
contract GONE "Delete what is open" {
  DELETE /parts/{partId}
  allow true
  delete Part if .state == OPEN else 409 not-open
  return 204
  consistency strong
  expect 0 items
  rate 1/s
}
"#;

fn older(id: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("PK", format!("PART#{id}").as_str().into()),
        ("SK", "META".into()),
        ("kind", "PART".into()),
        ("name", "n".into()),
    ]
}

// What was answered and what was stored differed: 8 and 1.
#[tokio::test]
async fn add_counts_from_the_default_on_every_path() {
    let world = world("", PARTS).await;
    for (contract, key) in
        [("ADD", None), ("ADD", Some("k1")), ("READ-ADD", None), ("READ-ADD", Some("k2"))]
    {
        store(&world, &older("a"));
        let mut made = call(contract, r#"{"partId": "a"}"#);
        made.idempotency_key = key.map(Into::into);
        let told = world.made(made).await;
        assert_eq!(told.json()["price"], 8, "{contract} {key:?}: {}", told.body());
        assert_eq!(told.json()["v"], 2, "{contract} {key:?}");
        assert_eq!(world.attribute("PART#a", "META", "price"), Some("8".to_owned()));
        assert_eq!(world.attribute("PART#a", "META", "v"), Some("2".to_owned()));
    }
}

// The read gave the default, and the store compared what is stored: 503 for ever, or 409.
#[tokio::test]
async fn a_condition_holds_of_a_default_that_is_not_stored() {
    let world = world("", PARTS).await;
    let a = r#"{"partId": "a"}"#;
    store(&world, &older("a"));
    assert_eq!(world.ok("SHUT", a).await["state"], "SHUT");
    assert_eq!(world.call("SHUT", a).await.told(), (409, "not-open".to_owned()));
    store(&world, &older("a"));
    let blind = |price: i64, v: i64| format!(r#"{{"partId": "a", "price": {price}, "v": {v}}}"#);
    for (price, v) in [(6, 1), (7, 2)] {
        let told = world.call("BLIND", &blind(price, v)).await;
        assert_eq!(told.told(), (409, "not-open".to_owned()), "{price} {v}");
    }
    assert_eq!(world.ok("BLIND", &blind(7, 1)).await["state"], "SHUT");
    assert_eq!(world.call("BLIND", &blind(7, 2)).await.told(), (409, "not-open".to_owned()));
    let none = world.call("BLIND", r#"{"partId": "none", "price": 7, "v": 1}"#).await;
    assert_eq!(none.told(), (404, "not-found".to_owned()));
    // Where there is no item, there is nothing that has a default.
    assert_eq!(
        world.call("GONE", r#"{"partId": "none"}"#).await.told(),
        (409, "not-open".to_owned())
    );
    store(&world, &older("b"));
    assert_eq!(world.call("GONE", r#"{"partId": "b"}"#).await.status(), 204);
    assert_eq!(world.stored("PART#b", "META"), None);
}

// A member that the document does not declare was shown to callers.
#[tokio::test]
async fn members_that_are_not_declared_are_not_shown() {
    let world = world("", PARTS).await;
    let map = |pairs: &[(&str, Value)]| Value::Map(item(pairs));
    let deep = map(&[("a", "x".into()), ("hash", "s3cret".into())]);
    let stored = map(&[("city", "w".into()), ("deep", deep), ("hash", "s3cret".into())]);
    let mut older = older("a");
    older.push(("box", stored.clone()));
    store(&world, &older);
    let told = world.ok("SEE", r#"{"partId": "a"}"#).await;
    let shown = serde_json::json!({"city": "w", "deep": {"a": "x"}});
    assert_eq!((&told["box"], &told["box2"], &told["again"]["box"]), (&shown, &shown, &shown));
    world.ok("SHUT", r#"{"partId": "a"}"#).await;
    assert_eq!(world.stored("PART#a", "META").unwrap().get("box"), Some(&stored));
    // It is read all the same: no damage.
    let text = document("", PARTS);
    assert_eq!(matters(&text, &older), [Matter::Loose(Text::const_new("box"))]);
    older.push(("name", "longer than nine".into()));
    older.push(("state", "AJAR".into()));
    let [box_, name, state] = ["box", "name", "state"].map(Text::const_new);
    let expected = [Matter::Loose(box_), Matter::Loose(name), Matter::Attribute(state)];
    assert_eq!(matters(&text, &older), expected);
}

const PRICES: &str = r#"
entity Ware "WARE" {
  PK = "WARE#{wareId}"
  SK = "WARE#{grp}#{size:02}"
  wareId id, grp id, size int 0..99, price int 0..1000, note text(5) like "[a-z]+" ?
  index ByPrice moves { PK = "{grp}" SK = "{price}" }
  index BySize { PK = "{grp}" SK = "{size}" }
  index Noted moves { PK = "NOTE#{note}" SK = "{wareId}" }
}
contract SET "Raise" {
  POST /wares/{wareId}/{grp}/{size}
  allow true
  waive drift "a test"
  ware = update Ware set price = .price + 3 else 404 not-found
  return ware
  facts
}
contract MAKE "Make" {
  PUT /wares/{wareId}/{grp}/{size}
  input price Ware.price, note Ware.note ?
  allow true
  ware = put Ware { wareId, grp, size, price, note } replace
  return ware
  facts
}
"#;

const WARES: &str = "index ByPrice { PK grp SK price number }\nindex BySize { PK grp SK size number }\nindex Noted {}";

/// The indexes, with the third only where it is asked for.
fn wares(noted: bool) -> (String, String) {
    match noted {
        true => (WARES.to_owned(), PRICES.to_owned()),
        false => (
            WARES.replace("\nindex Noted {}", ""),
            PRICES.replace("  index Noted moves { PK = \"NOTE#{note}\" SK = \"{wareId}\" }\n", ""),
        ),
    }
}

// It was always 400: there is no `price` to compute with.
#[tokio::test]
async fn a_number_that_is_the_key_of_an_index_is_computed_by_the_store() {
    let (table, declarations) = wares(false);
    let world = world(&table, &declarations).await;
    let key = r#"{"wareId": "w", "grp": "g", "size": 1}"#;
    world.ok("MAKE", r#"{"wareId": "w", "grp": "g", "size": 1, "price": 5}"#).await;
    assert_eq!(world.ok("SET", key).await["price"], 8);
    let mut named = call("SET", key);
    named.idempotency_key = Some("k".into());
    assert_eq!(world.made(named).await.json()["price"], 11);
    assert_eq!(world.attribute("WARE#w", "WARE#g#01", "price"), Some("11".to_owned()));
}

// The item was in no index, and neither `import --convert` nor `examine` did anything about it.
#[test]
fn an_index_needs_what_stands_in_the_key_of_the_table_alone() {
    let (table, declarations) = wares(false);
    let text = document(&table, &declarations);
    let old = item(&[
        ("PK", "WARE#w".into()),
        ("SK", "WARE#g#07".into()),
        ("kind", "WARE".into()),
        ("price", 5.into()),
    ]);
    let system = System::read(&text).unwrap();
    let told = ["Ware: `grp` must be `g`", "Ware: `grp` must be `g`", "Ware: `size` must be `7`"];
    assert_eq!(system.examine(&old), told);
    let new = system.convert(old);
    assert_eq!(new.failures, Vec::<String>::new());
    assert_eq!(new.item.get("grp"), Some(&Value::from("g")));
    assert_eq!(new.item.get("size"), Some(&Value::from(7)));
    assert_eq!(new.item.get("wareId"), None);
    assert_eq!(system.findings(&new.item), []);
}

// One wrong attribute hid all that is wrong with the keys.
#[test]
fn a_wrong_attribute_hides_no_key_that_is_made_of_others() {
    let (table, declarations) = wares(true);
    let text = document(&table, &declarations);
    let found = |note: Value| {
        let pairs = [
            ("PK", "WARE#w".into()),
            ("SK", "WARE#g#08".into()),
            ("kind", "WARE".into()),
            ("wareId", "w".into()),
            ("grp", "g".into()),
            ("size", 7.into()),
            ("price", 5.into()),
            ("note", note),
        ];
        matters(&text, &pairs)
    };
    let [note, sort, noted] = ["note", "SK", "Noted"].map(Text::const_new);
    let (key, index) = (Matter::Key(sort), Matter::Index(noted));
    // Of a note that is none, no key can be made.
    assert_eq!(found(Value::Null), [Matter::Attribute(note.clone()), key.clone()]);
    assert_eq!(found("longnote".into()), [Matter::Loose(note), key, index.clone(), index]);
}

const PREFERENCES: &str = r#"
entity Guest "GUEST" {
  PK = "GUEST#{guestId}"
  SK = "META"
  guestId id, name text(9), taste { colour text(9)?, size text(9)? }?
}
contract MAKE "Make" {
  PUT /guests/{guestId}
  input name text(9), taste Guest.taste ?
  allow true
  guest = put Guest { guestId, name, taste } if absent else 409 taken
  return 201 guest
  facts
}
contract TASTE "Taste" {
  PATCH /guests/{guestId}
  input colour text(9)?, size text(9)?
  allow true
  guest = update Guest set taste.colour ?= colour, taste.size ?= size
    else absent 404 not-found
    else 409 no-taste
  return guest
  facts
}
contract EITHER "Taste, with one answer" {
  PUT /guests/{guestId}/taste
  input colour text(9)
  allow true
  guest = update Guest set taste.colour = colour else 409 no-taste
  return guest
  facts
}
"#;

// `else absent` was refused, and a guest who is there was said not to be.
#[tokio::test]
async fn an_update_of_a_member_fails_where_the_record_is_absent() {
    let world = world("", PREFERENCES).await;
    world.ok("MAKE", r#"{"guestId": "g", "name": "n"}"#).await;
    let taste = |id: &str| format!(r#"{{"guestId": "{id}", "colour": "red"}}"#);
    assert_eq!(world.call("TASTE", &taste("x")).await.told(), (404, "not-found".to_owned()));
    let told = world.call("TASTE", &taste("g")).await;
    assert_eq!(told.told(), (409, "no-taste".to_owned()));
    assert_eq!(told.problem().detail, "the Guest has no `taste` to change");
    let told = world.call("EITHER", &taste("g")).await;
    let either = "there is no Guest to change for what was sent, or it has no `taste`";
    assert_eq!(told.problem().detail, either);
}
