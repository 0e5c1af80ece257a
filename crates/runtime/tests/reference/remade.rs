//! Items that are deleted and made again: a counter starts at 1 each time, and `unchanged` tells the items apart.

use latchkey_runtime::{Caller, System};
use latchkey_table::{Put, Returning};

use crate::seam::two;
use crate::support::{Told, World, call, call_by, document};

const BOATS: &str = r#"
entity Boat "BOAT" {
  PK = "BOAT#{boatId}"
  SK = "META"
  boatId id, ownerId id, berth int 0..99, name text(20), version counter
}
contract BUY "Buy a boat" {
  POST /boats
  input boatId id, name text(20)
  allow true
  boat = put Boat { boatId, ownerId = caller.id, berth = 0, name } if absent else 409 there
  return 201 boat
  facts
}
contract MOOR "Moor a boat" {
  POST /boats/{boatId}/moor
  input berth Boat.berth
  boat = get Boat strong                              else 404 gone
  allow caller owns boat.ownerId
  update boat set berth = berth, version = .version + 1 if unchanged    else retry
  return boat
  facts
}
contract SINK "Sink a boat" {
  DELETE /boats/{boatId}
  boat = get Boat strong                              else 404 gone
  allow caller owns boat.ownerId
  delete boat if unchanged                            else retry
  return boat
  facts
}
"#;

// A boat that was sunk and bought again starts its counter at 1: whoever had read the old one moored the new
// one, with the rights of its old owner.
#[tokio::test]
async fn an_item_that_was_made_again_is_not_unchanged() {
    let (turns, [a, b], _) = two(&document(BOATS), "a").await;
    let (ann, bob) = (|| Caller::new("ann"), || Caller::new("bob"));
    let boat = r#"{"boatId": "B", "name": "Gull"}"#;
    assert_eq!(a.call(call_by(ann(), "BUY", boat)).await.status(), 201);
    turns.send_replace("abbbaa".to_owned());
    let moor = a.call(call_by(ann(), "MOOR", r#"{"boatId": "B", "berth": 7}"#));
    let again = async {
        let sunk = b.call(call_by(ann(), "SINK", r#"{"boatId": "B"}"#)).await;
        (sunk.status(), b.call(call_by(bob(), "BUY", boat)).await.status())
    };
    let (moored, again) = tokio::join!(moor, again);
    assert_eq!(again, (200, 201));
    let moored = Told(moored);
    assert_eq!(moored.status(), 403, "{}", moored.body());
    assert_eq!(*turns.borrow(), "", "each asked as often as its letters say");
}

#[test]
fn explain_shows_what_unchanged_insists_on() {
    let system = System::read(&document(BOATS)).unwrap();
    let text = latchkey_runtime::explain(&system, "MOOR").unwrap().to_string();
    for name in ["boat.version", "boat.LATCHKEY#MADE", "\"BOAT\""] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(!text.contains("{boat.ownerId}"), "the incarnation tells it: {text}");
}

// Only what a contract mentions was compared, and an answer mentions nothing: a boat that its owner had sunk and bought
// again under another name was moored, and answered with the name of the old one.
#[tokio::test]
async fn what_is_only_answered_is_of_the_new_item() {
    let (turns, [a, b], _) = two(&document(BOATS), "a").await;
    let boat = |name| call("BUY", &format!(r#"{{"boatId": "B", "name": "{name}"}}"#));
    assert_eq!(a.call(boat("Gull")).await.status(), 201);
    turns.send_replace("abbbaaa".to_owned());
    let moor = a.call(call("MOOR", r#"{"boatId": "B", "berth": 7}"#));
    let again = async {
        let sunk = b.call(call("SINK", r#"{"boatId": "B"}"#)).await;
        (sunk.status(), b.call(boat("Tern")).await.status())
    };
    let (moored, again) = tokio::join!(moor, again);
    assert_eq!(again, (200, 201));
    let moored = Told(moored);
    assert_eq!((moored.status(), moored.member("name")), (200, "Tern".into()), "{}", moored.body());
    assert_eq!(*turns.borrow(), "", "each asked as often as its letters say");
}

const ROOMS: &str = r#"
entity Booking "BOOKING" guarded by Diary {
  PK = "ROOM#{roomId}"
  SK = "BOOKING#{startAt}"
  roomId id, startAt time, endAt time
}
entity Diary "DIARY" {
  PK = "ROOM#{roomId}"
  SK = "DIARY"
  roomId id, revision counter
}
contract OPEN "Open a room" {
  POST /rooms
  input roomId id
  allow true
  diary = put Diary { roomId } if absent else 409 there
  return 201 diary
  facts
}
contract CLOSE "Close a room" {
  DELETE /rooms/{roomId}
  diary = get Diary strong else 404 gone
  allow true
  delete diary if unchanged else retry
  return diary
  facts
}
contract BOOK "Book a room" {
  POST /rooms/{roomId}/bookings
  input startAt time, endAt time
  allow true
  require startAt < endAt else 400 backwards
  diary = get Diary strong else 404 gone
  last = query Booking strong
    where PK = "ROOM#{roomId}" and SK between "BOOKING#" and "BOOKING#{endAt - 1ms}"
    order descending
    first 1
  require last is absent or last.endAt <= startAt else 409 overlap
  transact {
    booking = put Booking { roomId, startAt, endAt } if absent else retry
    update diary set revision = .revision + 1 if unchanged else retry
  }
  return 201 booking
  facts
}
"#;

// A guard that was deleted and made again had the revision that was read: two bookings that overlap went through.
#[tokio::test]
async fn a_guard_that_was_made_again_guards() {
    let (turns, [a, b], _) = two(&document(ROOMS), "a").await;
    let room = r#"{"roomId": "R"}"#;
    let book = |from: &str, to: &str| {
        let day = |hour: &str| format!("2026-03-01T{hour}:00:00.000Z");
        let (from, to) = (day(from), day(to));
        call("BOOK", &format!(r#"{{"roomId": "R", "startAt": "{from}", "endAt": "{to}"}}"#))
    };
    assert_eq!(a.call(call("OPEN", room)).await.status(), 201);
    turns.send_replace("aaa".to_owned());
    assert_eq!(a.call(book("01", "02")).await.status(), 201);
    // The first reads the guard at revision 2, and the range. The room is closed, opened and booked, which takes the new
    // guard to revision 2. Then the first commits.
    turns.send_replace("aabbbbbbaaa".to_owned());
    let between = async {
        let mut told = Vec::new();
        for call in [call("CLOSE", room), call("OPEN", room), book("10", "11")] {
            told.push(b.call(call).await.status());
        }
        told
    };
    let (first, told) = tokio::join!(a.call(book("09", "12")), between);
    assert_eq!(told, [200, 201, 201]);
    assert_eq!(Told(first).told(), (409, "overlap".to_owned()));
    assert_eq!(*turns.borrow(), "", "each asked as often as its letters say");
}

// An item that was made before its entity could be made again has no incarnation, and is still unchanged.
#[tokio::test]
async fn an_item_without_an_incarnation_is_compared_too() {
    let world = World::start(BOATS).await;
    world.ok("BUY", r#"{"boatId": "B", "name": "Gull"}"#).await;
    let made = world.attribute("BOAT#B", "META", "LATCHKEY#MADE").expect("an incarnation");
    world.ok("MOOR", r#"{"boatId": "B", "berth": 7}"#).await;
    assert_eq!(world.attribute("BOAT#B", "META", "LATCHKEY#MADE"), Some(made.clone()), "it stays");
    let mut item = world.stored("BOAT#B", "META").unwrap();
    item.remove("LATCHKEY#MADE");
    let table = world.runtime.system().table().clone();
    world.store.put(Put { table, item, condition: None }, Returning::Nothing).await.unwrap();
    let told = world.ok("MOOR", r#"{"boatId": "B", "berth": 8}"#).await;
    assert_eq!((&told["version"], &told["berth"]), (&3.into(), &8.into()));
    assert!(told.get("LATCHKEY#MADE").is_none(), "no answer shows it: {told}");
    world.ok("SINK", r#"{"boatId": "B"}"#).await;
    world.ok("BUY", r#"{"boatId": "B", "name": "Gull"}"#).await;
    assert_ne!(world.attribute("BOAT#B", "META", "LATCHKEY#MADE"), Some(made));
}

const CLAIMED: &str = r#"
entity Berth "BERTH" {
  PK = "BERTH#{berthId}"
  SK = "META"
  berthId id, name text(20), version counter
}
entity Claim "CLAIM" {
  PK = "BERTH#{berthId}"
  SK = "CLAIM"
  berthId id, gone bool = false
}
contract MAKE "Make a berth" {
  POST /berths
  input berthId id, name text(20)
  allow true
  transact {
    berth = put Berth { berthId, name } if absent else 409 there
    put Claim { berthId } if absent else {
      claim = get Claim strong else 404 gone
      transact {
        again = put Berth { berthId, name } if absent else 409 there
      }
      return 201 again
    }
  }
  return 201 berth
  facts
}
contract READ "Get a berth" {
  GET /berths/{berthId}
  berth = get Berth strong else 404 gone
  allow true
  return berth
  facts
}
contract END "Remove a berth" {
  DELETE /berths/{berthId}
  berth = get Berth strong else 404 gone
  allow true
  transact {
    delete berth if unchanged else retry
    put Claim { berthId, gone = true } replace
  }
  return 204
  facts
}
"#;

/// The tag of what a call is answered with.
async fn tag(world: &World, contract: &str, inputs: &str) -> String {
    world.call(contract, inputs).await.answer().etag.clone().unwrap_or_default()
}

// A claim is made with the first berth of an id and stays: the first berth is told by its version, later ones are not.
#[tokio::test]
async fn the_first_item_of_a_key_is_told_by_its_version_alone() {
    let world = World::start(CLAIMED).await;
    let (berth, id) = (r#"{"berthId": "B", "name": "East"}"#, r#"{"berthId": "B"}"#);
    assert_eq!(tag(&world, "MAKE", berth).await, "\"1\"");
    assert_eq!(world.attribute("BERTH#B", "META", "LATCHKEY#MADE"), None);
    assert_eq!(tag(&world, "READ", id).await, "\"1\"");
    assert_eq!(world.call("END", id).await.status(), 204);
    let again = tag(&world, "MAKE", berth).await;
    assert!(again.starts_with("\"1-"), "another berth of the same version: {again}");
    assert!(world.attribute("BERTH#B", "META", "LATCHKEY#MADE").is_some());
    assert_eq!(tag(&world, "READ", id).await, again);
}

// Where nothing stays behind, or the claim is not asked for, no berth is known to be the first.
#[tokio::test]
async fn what_leaves_nothing_behind_is_never_the_first() {
    let claim = "put Claim { berthId, gone = true } replace";
    for (kept, changed) in [
        (format!("    {claim}\n"), String::new()),
        (claim.to_owned(), "put Claim { berthId = \"other\", gone = true } replace".to_owned()),
    ] {
        assert!(CLAIMED.contains(&kept), "{kept}");
        let world = World::start(&CLAIMED.replace(&kept, &changed)).await;
        let tag = tag(&world, "MAKE", r#"{"berthId": "B", "name": "East"}"#).await;
        assert!(tag.starts_with("\"1-"), "{changed}: {tag}");
    }
}
