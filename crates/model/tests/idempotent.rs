//! `idempotent by`: what a contract must do that says it.

use latchkey_language::{Level, Rule};
use latchkey_model::check;

const DOORS: &str = r#"```contract
system doors
table Doors { type kind }
role warden

entity Entry "ENTRY" {
  PK = "DOOR#{doorId}"
  SK = "ENTRY#{visitId}"
  doorId id, visitId id, note text(20)?
}
entity Visit "VISIT" {
  PK = "VISIT#{visitId}"
  SK = "META"
  visitId id, doorId id
}
contract D-1 "Look" {
  GET /visits/{visitId}
  allow caller is warden
  visit = get Visit strong else 404 not-found
  entry = get Entry(doorId = visit.doorId, visitId) strong else 404 not-found
  return visit with { note = entry.note }
  consistency strong
  expect 1 item
  rate 1/s
}
contract D-2 "Enter" {
  ROUTE
  input visitId id, note text(20)?
  allow caller is warden
  BODY
  consistency strong
  expect 1 item
  rate 1/s
  WAIVER
  idempotent by Entry
}
```
"#;

const READ: &str = "entry = get Entry strong\nwhen entry is present { return entry }";
const PUT: &str = "put Entry { doorId, visitId, note } if absent else retry";
const VISIT: &str = "visit = put Visit { visitId, doorId } if absent else 409 known";

fn told(document: &str) -> Vec<String> {
    check(document)
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|d| format!("{}: {}", d.rule, d.message))
        .collect()
}

/// A contract that does this on POST.
fn entering(body: &str) -> String {
    let document = DOORS.replace("ROUTE", "POST /doors/{doorId}/entries");
    document.replace("BODY", body).replace("  WAIVER\n", "")
}

/// What it is told of what it states; other rules may have their say.
fn said(body: &str) -> Vec<String> {
    let mut said = told(&entering(body));
    said.retain(|one| one.starts_with("undeclared:"));
    said
}

#[test]
fn what_is_read_and_put_in_every_write_is_idempotent() {
    let together = format!("{READ}\ntransact {{\n{PUT}\n{VISIT}\n}}\nreturn visit");
    assert_eq!(told(&entering(&together)), [""; 0]);
    let alone = format!("{READ}\nmade = {PUT}\nreturn made");
    assert_eq!(told(&entering(&alone)), [""; 0]);
    // Each way has its own.
    let ways = format!(
        "{READ}\nwhen note is present {{\nmade = {PUT}\nreturn made\n}}\ntransact {{\n{PUT}\n{VISIT}\n}}\nreturn visit"
    );
    assert_eq!(told(&entering(&ways)), [""; 0]);
}

#[test]
fn a_write_without_it_is_told() {
    let missing = ["undeclared: this writes without `put Entry … if absent`"];
    let never = format!("{READ}\n{VISIT}\nreturn visit");
    assert_eq!(said(&never), missing);
    let apart = format!("{READ}\n{PUT}\n{VISIT}\nreturn visit");
    assert_eq!(said(&apart), missing, "the second write is not in its transaction");
    let one_way = format!(
        "{READ}\nwhen note is present {{\n{VISIT}\nreturn visit\n}}\nmade = {PUT}\nreturn made"
    );
    assert_eq!(said(&one_way), missing, "on one of two ways");
    let replaced =
        format!("{READ}\nmade = put Entry {{ doorId, visitId, note }} replace\nreturn made");
    assert_eq!(said(&replaced), missing, "what replaces is not refused");
    let guarded =
        format!("{READ}\ntransact {{\nwhen note is present {{ {PUT} }}\n{VISIT}\n}}\nreturn visit");
    let left_out = ["undeclared: this writes without `put Entry` where a `when` leaves it out"];
    assert_eq!(said(&guarded), left_out);
}

#[test]
fn what_is_put_was_looked_for() {
    let unread = ["undeclared: the `Entry` that is put here was not read before"];
    assert_eq!(said(&format!("made = {PUT}\nreturn made")), unread);
    let other = READ.replace("get Entry", "get Entry(doorId = visitId, visitId)");
    assert_eq!(said(&format!("{other}\nmade = {PUT}\nreturn made")), unread, "another item");
    let late = format!("made = {PUT}\n{READ}\nreturn made");
    assert_eq!(said(&late), unread, "too late");
}

#[test]
fn what_writes_nothing_or_is_no_post_has_nothing_to_say() {
    assert_eq!(
        said("entry = get Entry strong else 404 not-found\nreturn entry"),
        ["undeclared: `D-2` writes no `Entry`"]
    );
    let body = format!("{READ}\nmade = {PUT}\nreturn made");
    let put = DOORS.replace("ROUTE", "PUT /doors/{doorId}/entries").replace("BODY", &body);
    assert_eq!(
        told(&put.replace("  WAIVER\n", "")),
        ["undeclared: nothing but a POST is called by an `Idempotency-Key`"]
    );
    assert_eq!(told(&put.replace("WAIVER", "waive undeclared \"it will be one\"")), [""; 0]);
}

#[test]
fn its_words_are_read_and_its_entity_is_known() {
    let body = format!("{READ}\nmade = {PUT}\nreturn made");
    let document = entering(&body);
    let unknown = told(&document.replace("by Entry", "by Entri"));
    assert_eq!(unknown, ["name: there is no entity `Entri`"]);
    for broken in ["idempotent Entry", "idempotent by", "idempotent"] {
        let told = told(&document.replace("idempotent by Entry", broken));
        assert!(told.iter().all(|one| one.starts_with("syntax:")) && told.len() == 1, "{told:?}");
    }
    let within =
        document.replace("made = ", "when note is present { idempotent by Entry }\nmade = ");
    assert!(told(&within).iter().any(|one| one.contains("within a block")), "{:?}", told(&within));
    let checked = check(&document);
    let contract = checked.model.contracts.iter().find(|contract| contract.id == "D-2");
    let by = contract.and_then(|contract| contract.facts.idempotent.as_ref()).map(|by| by.value);
    let entity = by.map(|by| checked.model.entities[by].name.as_str());
    assert_eq!(entity, Some("Entry"));
}
