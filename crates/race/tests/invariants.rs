//! Invariants: told by the examples of a document that break them, and by the search where only a race does.

use latchkey_language::Level;
use latchkey_race::{Options, examine, search};

/// A hall with places, each taken by a ticket of its own. `TAKEN` says what pins the count.
const HALLS: &str = r#"# Halls
```contract
system halls
table Halls { type kind }

entity Hall "HALL" {
  PK = "HALL#{hallId}"
  SK = "META"
  hallId id, places int 0..100, revision counter
}
entity Ticket "TICKET" GUARDED {
  PK = "HALL#{hallId}"
  SK = "TICKET#{ticketId}"
  hallId id, ticketId id
}
invariant Hall "no more tickets than places" {
  tickets = query Ticket
    where PK = "HALL#{.hallId}" and SK begins_with "TICKET#"
  count(tickets) <= .places
}
contract BUILD "Build a hall" {
  POST /halls
  input hallId id, places Hall.places
  allow true
  hall = put Hall { hallId, places } if absent else 409 there
  return 201 hall
  consistency strong
  expect 1 item
  rate 1/s
}
contract SELL "Sell a ticket" {
  POST /halls/{hallId}/tickets
  input ticketId id
  allow true
  hall = get Hall strong else 404 gone
  tickets = query Ticket strong
    where PK = "HALL#{hallId}" and SK begins_with "TICKET#"
    first 100
  LIMIT
  transact {
    PINNED
    ticket = put Ticket { hallId, ticketId } if absent else 409 sold
  }
  return 201 ticket
  consistency strong
  expect 1 item
  rate 1/s
}
```
```example
as ann
POST /halls {"hallId": "h", "places": 1}
201
POST /halls/h/tickets {"ticketId": "a"}
201
POST /halls/h/tickets {"ticketId": "b"}
409
```
"#;

const LIMIT: &str = "require count(tickets) < hall.places else 409 full";

fn honest() -> String {
    HALLS
        .replace("GUARDED", "guarded by Hall")
        .replace("LIMIT", LIMIT)
        .replace("PINNED", "update hall set revision = .revision + 1 if unchanged else retry")
}

#[test]
fn an_example_that_breaks_one_is_told() {
    assert_eq!(examine(&honest(), &Options::default()).unwrap(), []);
    let text = honest().replace(LIMIT, "require count(tickets) < 100 else 409 full");
    let found = examine(&text, &Options::default()).unwrap();
    let told: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    let message =
        "behind this, \"no more tickets than places\" does not hold of Hall `HALL#h` `META`";
    assert_eq!(told, [message]);
    let at = found.first().unwrap().span;
    assert_eq!(text.get(at.range()).unwrap(), "POST /halls/h/tickets");
}

#[test]
fn a_race_that_breaks_one_is_found() {
    let planted = HALLS
        .replace("GUARDED", "")
        .replace("LIMIT", LIMIT)
        .replace("PINNED", "update hall set revision = .revision + 1 else 404 gone");
    let errors = latchkey_model::check(&planted).diagnostics.into_iter();
    let without = errors.filter(|found| found.level == Level::Error).map(|found| found.rule);
    let options = Options { without: without.collect(), ..Options::default() };
    let report = search(&planted, &options, &|_| {}).unwrap();
    let told: Vec<&str> = report.losses.iter().map(|loss| loss.headline.as_str()).collect();
    let broken = |told: &&str| told.contains("\"no more tickets than places\" does not hold");
    assert!(told.iter().any(broken), "{:#?}", report.losses);
    let report = search(&honest(), &Options::default(), &|_| {}).unwrap();
    assert!(report.losses.is_empty(), "{:#?}", report.losses);
}

#[test]
fn what_is_no_invariant_is_told() {
    let cases = [
        (".places >= 0", ""),
        (".seats >= 0", "there is no attribute of `Hall` named `seats`"),
        ("hallId == .hallId and caller owns .hallId", "there is no caller here"),
        ("now is present", "there is no `now` in an invariant, which holds at every time"),
        (".places", "a test is expected here, and this is of type int"),
        (
            "x = put Hall { hallId, places = 1 } replace\n .places >= 0",
            "an invariant reads, and does nothing else",
        ),
        ("x = get Hall else 404 gone\n x.places >= 0", "an invariant answers nobody"),
        ("x = get Hall\n x.places >= 0", "`x` may be absent here"),
        (
            "x = query Ticket where PK = \"HALL#{hallId}\" page 5\n count(x) < 9",
            "an invariant has no caller who could ask for the next page",
        ),
        ("", "an invariant without a condition"),
        (
            ".places >= 0\n hallId == .hallId",
            "an invariant has one condition; join two of them with `and`",
        ),
    ];
    for (body, message) in cases {
        let text = honest();
        let (before, rest) = text.split_once("{\n  tickets = query Ticket\n").unwrap();
        let (_, after) = rest.split_once("<= .places\n}").unwrap();
        let text = format!("{before}{{\n {body}\n}}{after}");
        let found = latchkey_model::check(&text).diagnostics;
        let errors = found.iter().filter(|found| found.level == Level::Error);
        let told: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
        let wanted: Vec<&str> = Some(message).into_iter().filter(|text| !text.is_empty()).collect();
        assert_eq!(told, wanted, "{body}");
    }
}
