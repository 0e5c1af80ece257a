//! Calls of contracts without examples: texts of patterns, and inputs that belong to one stored item.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, Report, search};

/// Searches a document of these statements that has no example.
fn searched(statements: &str) -> Report {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let statements = statements.replace("facts", facts);
    let text = format!(
        "# Tied\n```contract\nsystem tied\ntable Tied {{ type kind }}\n{statements}\n```\n"
    );
    let options = Options { without: vec![Rule::Unpinned], ..Options::default() };
    search(&text, &options, &|_| {}).unwrap()
}

fn lost(statements: &str, condition: &str) -> Vec<String> {
    let report = searched(&statements.replace("CONDITION", condition));
    assert_eq!(report.unsearched, []);
    report.losses.into_iter().map(|loss| loss.contracts.join("+")).collect()
}

/// Whether a write without a condition is lost, and the same with one is not.
fn told(statements: &str, contract: &str) {
    let losses = lost(statements, "else 404 gone");
    assert!(losses.iter().any(|own| own == contract), "{losses:?}");
    assert_eq!(lost(statements, "if unchanged else retry"), [""; 0]);
}

#[test]
fn a_text_of_a_pattern_is_made() {
    let cars = r#"
entity Car "CAR" {
  PK = "CAR#{plate}"
  SK = "META"
  plate text(12) like "[A-Z]{3}-[0-9]{4}", fines int = 0, version counter
}
contract PARK "Park a car" {
  PUT /cars/{plate}
  allow true
  car = put Car { plate } if absent else 409 there
  return 201 car
  facts
}
contract FINE "Fine a car" {
  POST /cars/{plate}/fines
  allow true
  car = get Car strong else 404 gone
  require car.fines < 3 else 409 too-many
  fined = update car set fines = car.fines + 1, version = .version + 1 CONDITION
  return fined
  facts
}
"#;
    told(cars, "FINE");
}

#[test]
fn both_parts_of_a_key_are_those_of_a_stored_item() {
    let seats = r#"
entity Org "ORG" {
  PK = "ORG#{orgId}"
  SK = "META"
  orgId ulid
}
entity Seat "SEAT" {
  PK = "ORG#{orgId}"
  SK = "SEAT#{seatId}"
  orgId ulid, seatId ulid, uses int = 0, version counter
}
contract FOUND "Found an organisation" {
  POST /orgs
  allow true
  org = put Org { orgId = new ulid } if absent else 409 there
  return 201 org
  facts
}
contract ADD "Add a seat" {
  POST /orgs/{orgId}/seats
  allow true
  org = get Org strong else 404 gone
  seat = put Seat { orgId, seatId = new ulid } if absent else 409 there
  return 201 seat
  facts
}
contract USE "Use a seat" {
  POST /orgs/{orgId}/seats/{seatId}/uses
  allow true
  seat = get Seat strong else 404 gone
  require seat.uses < 3 else 409 used-up
  used = update seat set uses = seat.uses + 1, version = .version + 1 CONDITION
  return used
  facts
}
"#;
    told(seats, "USE");
}

#[test]
fn an_item_and_its_version_are_given_together() {
    let doors = r#"
entity Door "DOOR" {
  PK = "DOOR#{doorId}"
  SK = "META"
  doorId ulid, hung bool = false, knocks int = 0, version counter
}
contract MAKE "Make a door" {
  POST /doors
  allow true
  door = put Door { doorId = new ulid } if absent else 409 there
  return 201 door
  facts
}
contract HANG "Hang it" {
  POST /doors/{doorId}/hang
  allow true
  door = update Door set hung = true, version = .version + 1 if .hung == false else 409 hung
  return door
  facts
}
contract KNOCK "Knock at the door that was seen" {
  POST /doors/{doorId}/knocks
  input seen int 1..
  allow true
  door = get Door strong else 404 gone
  match door.version == seen else 409 other
  require door.hung else 409 not-hung
  knocked = update door set knocks = door.knocks + 1, version = .version + 1 CONDITION
  return knocked
  facts
}
"#;
    let losses = lost(doors, "else 404 gone");
    assert!(losses.iter().any(|own| own == "KNOCK"), "{losses:?}");
    assert_eq!(lost(doors, "if unchanged else 409 other"), [""; 0]);
}

#[test]
fn items_that_have_nothing_to_do_with_each_other_are_both_there() {
    let sales = r#"
entity Buyer "BUYER" {
  PK = "BUYER#{buyerId}"
  SK = "META"
  buyerId ulid
}
entity Thing "THING" {
  PK = "THING#{thingId}"
  SK = "META"
  thingId ulid, left int = 3, version counter
}
contract COME "Come as a buyer" {
  POST /buyers
  allow true
  buyer = put Buyer { buyerId = new ulid } if absent else 409 there
  return 201 buyer
  facts
}
contract OFFER "Offer a thing" {
  POST /things
  allow true
  thing = put Thing { thingId = new ulid } if absent else 409 there
  return 201 thing
  facts
}
contract SELL "Sell a thing to a buyer" {
  POST /sales
  input who ulid, what ulid
  allow true
  buyer = get Buyer(buyerId = who) strong else 404 no-buyer
  thing = get Thing(thingId = what) strong else 404 gone
  require thing.left > 0 else 409 sold-out
  sold = update thing set left = thing.left - 1, version = .version + 1 CONDITION
  return sold
  facts
}
"#;
    told(sales, "SELL");
}
