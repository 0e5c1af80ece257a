//! What is right and was told, and what is told where a word of help was missing.

use latchkey_language::Diagnostic;
use latchkey_model::check;

const FACTS: &str = "consistency strong\nexpect 1 item\nrate 1/s\n";

/// What is told of a contract beside an entity `Op` and one that makes it.
fn told(declared: &str, contract: &str) -> Vec<Diagnostic> {
    let text = format!(
        "```contract\nsystem ops\ntable Ops {{ type kind }}\nrole clerk\nentity Op \"OP\" {{\nPK = \"OP#{{opId}}\"\n\
         SK = \"META\"\nopId id, started int 0..3 = 0, n int 0..9 = 5\nplace {{ shelf int 0..9, by id? }}\n\
         version counter\n}}\n{declared}\ncontract O-2 \"Trial\" {{\n{contract}\n{FACTS}}}\n```\n"
    );
    let mut found = check(&text).diagnostics;
    found.retain(|one| !["unused", "never-written", "unmade"].contains(&one.rule.slug()));
    found
}

fn slugs(declared: &str, contract: &str) -> Vec<&'static str> {
    told(declared, contract).iter().map(|one| one.rule.slug()).collect()
}

#[test]
fn a_number_that_is_moved_away_from_the_one_asked_for_is_counted_once() {
    let start = |write: &str| {
        format!(
            "POST /ops/{{opId}}/start\nallow caller is clerk\nop = update Op {write} else absent 404 not-found \
             else 409 started\nreturn op"
        )
    };
    for once in [
        "add started = 1 set version = .version + 1 if .started == 0",
        "add started = 3 set version = .version + 1 if .started < 3",
        "add started = -1 set version = .version + 1 if .started == 3",
        "set started = .started + 1, version = .version + 1 if 0 == .started",
    ] {
        assert_eq!(slugs("", &start(once)), [""; 0], "{once}");
    }
    for again in [
        "add started = 1 set version = .version + 1 if .started < 3",
        "add started = 0 set version = .version + 1 if .started == 0",
        "add started = 1 set version = .version + 1 if .n == 5",
        "add started = -1 set version = .version + 1 if .started > 0",
    ] {
        assert_eq!(slugs("", &start(again)), ["drift"], "{again}");
    }
}

#[test]
fn the_same_members_of_a_record_are_the_same_copy() {
    let card = "entity Card \"CARD\" view of Op {\nPK = \"CARD#{opId}\"\nSK = \"CARD\"\ncopies opId, place\n}\n";
    let moved = |copy: &str| {
        format!(
            "PUT /ops/{{opId}}/place\ninput shelf int 0..9 ?, by id?\nallow caller is clerk\ntransact {{\n\
             update Op set place.shelf ?= shelf, place.by ?= by, version = .version + 1 else 404 not-found\n\
             update Card {copy} else 404 not-found\n}}\nreturn 204"
        )
    };
    assert_eq!(slugs(card, &moved("set place.shelf ?= shelf, place.by ?= by")), [""; 0]);
    for other in ["set place.shelf ?= shelf", "set place.shelf ?= shelf, place.by = by"] {
        assert_eq!(slugs(card, &moved(other)).first(), Some(&"stale-copy"), "{other}");
    }
}

#[test]
fn items_that_are_no_list_are_told_once() {
    let show = "POST /show\ninput ids list(1..5) of id unique\nallow caller is clerk\n\
                ops = get Op(opId = id) for id in ids strong\n\
                return with { big = any one in ops (one.n > 5) }";
    let found = told("", show);
    let said: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(said, ["these are items of `Op`, and no list"]);
}

#[test]
fn what_is_of_two_moments_is_what_is_written_twice() {
    let start = format!(
        "contract O-3 \"Start all\" {{\nPOST /start\ninput ids list(1..5) of id unique\nallow caller is clerk\n\
         transact {{\neach id in ids {{\nupdate Op(opId = id) set started = 1, version = .version + 1\n\
         if .started == 0 else 409 started\n}}\n}}\nreturn 204\n{FACTS}}}\n"
    );
    let show = |shown: &str| {
        let text = format!(
            "POST /sums\ninput ids list(1..5) of id unique\nallow caller is clerk\n\
             ops = get Op(opId = id) for id in ids strong\nreturn with {{ {shown} }}"
        );
        let found = told(&start, &text);
        found.into_iter().map(|one| one.message).collect::<Vec<_>>()
    };
    let two = "every `started` in `ops` may be of two moments";
    assert_eq!(show("n = sum(ops.n), started = sum(ops.started)"), [two]);
    // Nobody writes two of these at once.
    assert_eq!(show("n = sum(ops.n)"), [""; 0]);
}

#[test]
fn a_default_of_a_type_without_constants_is_told_why() {
    let entity = "entity Ward \"WARD\" {\nPK = \"WARD#{wardId}\"\nSK = \"META\"\nwardId id, contact id = \"C1\"\n}\n";
    let read =
        "GET /ops/{opId}\nallow caller is clerk\nop = get Op strong else 404 not-found\nreturn op";
    let found = told(entity, read);
    let [one] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(one.message, "this is not a constant of type id");
    assert!(one.help.as_ref().unwrap().contains("give it in the `put`"), "{one:#?}");
}

#[test]
fn two_legs_whose_keys_differ_by_case_are_told_how_to_compare() {
    let names = "entity Ward \"WARD\" {\nPK = \"WARD#{wardId}\"\nSK = \"META\"\nwardId id, name text(20)\n}\n\
                 entity Name \"NAME\" {\nPK = \"NAME#{name:lower}\"\nSK = \"META\"\nname text(20), wardId id\n}\n";
    let rename = |before: &str| {
        format!(
            "PUT /wards/{{wardId}}/name\ninput name text(20)\nallow caller is clerk\n\
             ward = get Ward strong else 404 not-found\n{before}\ntransact {{\n\
             delete Name(name = ward.name) if .wardId == wardId else retry\n\
             update ward set name = name if .name == ward.name else retry\n\
             put Name {{ name, wardId }} if absent else 409 taken\n}}\nreturn 204"
        )
    };
    let found = told(names, &rename(""));
    let said = found.iter().find(|one| one.rule.slug() == "transaction").unwrap();
    let test = "require \"{name:lower}\" != \"{ward.name:lower}\" else";
    assert!(said.help.as_ref().unwrap().contains(test), "{said:#?}");
    // And that is what helps.
    let compared = slugs(names, &rename(&format!("{test} 409 same")));
    assert!(!compared.contains(&"transaction"), "{compared:?}");
}
