//! The views of contracts of every shape.

use super::*;

const DOCUMENT: &str = r#"# Trips

```contract
system trips
table Trips { type kind
  index ByState {}
}
entity Trip "TRIP" {
  PK = "CAR#{carId}"
  SK = "TRIP#{state}#{leavesAt}"
  carId id, state PLANNED | DRIVEN | LOST = PLANNED, leavesAt time, arrivesAt time, seats int = 0
  tag RED | BLUE, note text(20)?, token key
  state moves { PLANNED -> DRIVEN, LOST }
  index ByState {
    PK = "STATE#{state}"
    SK = "{leavesAt}#{carId}"
  }
}
entity Stop "STOP" {
  PK = "CAR#{carId}"
  SK = "STOP#{at}#{name}"
  carId id, at time, name id, tag RED | BLUE
}
entity Car "CAR" {
  PK = "CAR#{carId}"
  SK = "CAR"
  carId id, made time, version counter
}
contract T-01 "Plan" {
  POST /cars/{carId}/trips
  input leavesAt time, arrivesAt time, tag Trip.tag
  require leavesAt < arrivesAt else 400 wrong-times
  allow true
  token = new key
  trip = put Trip { carId, leavesAt, arrivesAt, tag, token } if absent else 409 taken
  return 201 trip
}
contract T-02 "All of a state" {
  GET /cars/{carId}/trips/{state}
  input state Trip.state
  allow true
  trips = query Trip where PK = "CAR#{carId}" and SK begins_with "TRIP#{state}#" page 10
  return trips with { tally = count(trips by tag), total = count(trips) }
}
contract T-03 "All" {
  GET /cars/{carId}/trips
  allow true
  trips = query Trip where PK = "CAR#{carId}" and SK begins_with "TRIP#" page 10
  return trips { carId, state, leavesAt }
}
contract T-04 "Stops" {
  GET /cars/{carId}/stops
  input since time, until time
  allow true
  stops = query Stop where PK = "CAR#{carId}" and SK between "STOP#{since}" and "STOP#{until}~" page 10
  return stops
}
contract T-05 "Stops without their times" {
  GET /cars/{carId}/names
  allow true
  stops = query Stop where PK = "CAR#{carId}" and SK begins_with "STOP#" page 10
  return stops { name }
}
contract T-06 "A car" {
  GET /cars/{carId}
  allow true
  car = get Car else 404 not-found
  return car
}
contract T-07 "Take a seat" {
  POST /cars/{carId}/trips/{state}/{leavesAt}/seat
  input state Trip.state, leavesAt time
  allow true
  trip = update Trip set seats = .seats + 1 if state == PLANNED else 409 gone
  return trip { seats }
}
contract T-08 "Tag" {
  PUT /cars/{carId}/trips/{state}/{leavesAt}/tag
  input state Trip.state, leavesAt time, tag Trip.tag
  allow true
  trip = update Trip set tag = tag if state == PLANNED else 409 gone
  return trip { tag }
}
contract T-09 "Tags" {
  GET /cars/{carId}/tags
  allow true
  trips = query Trip where PK = "CAR#{carId}" and SK begins_with "TRIP#" page 10
  return trips { tag }
}
```
"#;

fn told(id: &str) -> Value {
    let model = latchkey_model::check(DOCUMENT).model;
    let contract = model.contracts.iter().find(|contract| contract.id == id).unwrap();
    Views::of(&model, contract).told(contract)
}

#[test]
fn a_list_whose_keys_are_ordered_by_a_time_is_a_timeline() {
    let stops = told("T-04");
    assert_eq!(stops["first"], "timeline");
    assert_eq!(stops["lists"][0]["at"], "at");
    assert_eq!(stops["lists"][0]["ends"], Value::Null);
    assert_eq!(stops["lists"][0]["statuses"][0]["name"], "tag");
    // What is not shown orders nothing that is seen.
    let names = told("T-05");
    assert_eq!((&names["first"], &names["lists"][0]["at"]), (&json!("table"), &Value::Null));
}

#[test]
fn a_part_of_the_key_that_the_query_fixes_is_no_order() {
    let one = told("T-02");
    assert_eq!(one["lists"][0]["at"], "leavesAt");
    // Of all states, the keys are ordered by the state.
    assert_eq!(told("T-03")["lists"][0]["at"], Value::Null);
}

#[test]
fn two_times_that_must_follow_each_other_are_a_beginning_and_an_end() {
    let one = told("T-02");
    assert_eq!(one["lists"][0]["ends"], json!(["leavesAt", "arrivesAt"]));
    assert_eq!(one["first"], "timeline");
    // The end is not shown there.
    assert_eq!(told("T-03")["lists"][0]["ends"], Value::Null);
}

#[test]
fn a_status_that_moves_is_tallied_and_counts_are() {
    let all = told("T-03");
    assert_eq!(all["first"], "tally");
    let words = json!(["PLANNED", "DRIVEN", "LOST"]);
    assert_eq!(
        all["lists"][0]["statuses"],
        json!([{ "name": "state", "words": words, "moves": true }])
    );
    // So is one that a contract changes; the tag of a stop never is.
    assert_eq!(told("T-09")["first"], "tally");
    assert_eq!(told("T-04")["lists"][0]["statuses"][0]["moves"], false);
    let one = told("T-02");
    let tallies = json!([{ "name": "tally", "words": ["RED", "BLUE"] }, { "name": null, "words": ["total"] }]);
    assert_eq!(one["tallies"], tallies);
    // A number that a contract counts up; a version is none.
    assert_eq!(told("T-07")["tallies"], json!([{ "name": null, "words": ["seats"] }]));
    assert_eq!(told("T-06")["tallies"], json!([]));
}

#[test]
fn one_item_is_a_card_with_its_times() {
    let car = told("T-06");
    assert_eq!((&car["first"], &car["item"]["times"]), (&json!("card"), &json!(["made"])));
}

#[test]
fn only_what_reads_is_watched() {
    for (id, watched) in [("T-01", false), ("T-02", true), ("T-06", true), ("T-07", false)] {
        assert_eq!(told(id)["watch"], watched, "{id}");
    }
}
