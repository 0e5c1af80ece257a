//! What shows that nothing is left under the id of an item that is deleted, or ends, and what only looks like it. The room
//! and its notes stand in `left.md`.

use latchkey_model::check;

use crate::planted::with_facts;

const AROUND: &str = include_str!("left.md");

/// The rules that a document breaks, of those that are of interest here.
fn broken(text: &str) -> Vec<&'static str> {
    let found = check(&with_facts(text)).diagnostics;
    let of_interest = ["left-behind", "partial-list", "name", "type", "syntax", "absent"];
    found.iter().map(|one| one.rule.slug()).filter(|rule| of_interest.contains(rule)).collect()
}

/// The same of a contract that closes a room.
fn closed(steps: &str) -> Vec<&'static str> {
    broken(&format!(
        "{AROUND}\n```contract\ncontract L-4 \"Close\" {{\nDELETE /rooms/{{roomId}}\ninput noteId id?\n\
         room = get Room strong else 404 not-found\nallow caller owns room.ownerId\n{steps}\nreturn 204\n}}\n```\n"
    ))
}

const DELETE: &str = "delete room if unchanged else retry";

fn query(begins: &str) -> String {
    format!("notes = query Note strong where PK = \"ROOM#{{roomId}}\" and SK {begins} first 20\n")
}

fn required(test: &str) -> String {
    let all = query("begins_with \"NOTE#\"");
    format!("{all}require {test} else 409 no\n{DELETE}")
}

#[test]
fn a_test_that_leaves_some_is_none() {
    // Any test that named the children, or a number, was enough.
    let number = |test: &str| format!("require {test} else 409 no\n{DELETE}");
    let cases = [
        ("nothing", DELETE.to_owned()),
        ("another number", number("room.strict < 5")),
        ("another number that is 0", number("room.strict == 0")),
        ("the number, and not 0", number("room.notes < 5")),
        ("the number, at least", number("room.notes >= 0")),
        ("a few", required("count(notes) < 5")),
        ("some", required("count(notes) > 0")),
        ("at most one", required("count(notes) <= 1")),
        (
            "a part of the range",
            format!(
                "{}require count(notes) == 0 else 409 no\n{DELETE}",
                query("begins_with \"NOTE#a\"")
            ),
        ),
        (
            "another room",
            format!(
                "other = query Note strong where PK = \"ROOM#{{caller.id}}\" and SK begins_with \"NOTE#\" first 1\n\
                 require other is absent else 409 no\n{DELETE}"
            ),
        ),
        (
            "one of them",
            format!(
                "require noteId is present else 400 no\nnote = get Note(roomId, noteId = noteId) strong\n\
                 require note is absent else 409 no\n{DELETE}"
            ),
        ),
        (
            "one of them is deleted",
            format!(
                "require noteId is present else 400 no\n\
                 transact {{\ndelete Note(roomId, noteId = noteId)\n{DELETE}\n }}"
            ),
        ),
    ];
    for (what, steps) in cases {
        assert_eq!(closed(&steps), ["left-behind"], "{what}");
    }
}

#[test]
fn a_test_that_shows_that_none_is_left_is_enough() {
    let each = "transact {\neach note in notes {\ndelete note\n }\ndelete room if unchanged else retry\n }";
    let cases = [
        ("the number", format!("require room.notes == 0 else 409 no\n{DELETE}")),
        ("less than one", format!("require room.notes < 1 else 409 no\n{DELETE}")),
        ("the other way round", format!("require 0 >= room.notes else 409 no\n{DELETE}")),
        ("by a condition", "delete room if .notes == 0 else 409 no".to_owned()),
        ("none of them", required("count(notes) == 0")),
        ("not more than none", required("not (count(notes) > 0)")),
        ("from the first to the last", {
            let all = query("between \"NOTE#\" and \"NOTE#~\"");
            format!("{all}require count(notes) == 0 else 409 no\n{DELETE}")
        }),
        ("all are deleted", {
            let all = query("begins_with \"NOTE#\"");
            format!("{all}require count(notes) < 20 else 409 many\n{each}")
        }),
    ];
    for (what, steps) in cases {
        assert_eq!(closed(&steps), [""; 0], "{what}");
    }
    // What is left where there are more, another rule tells.
    let part = format!("{}{each}", query("begins_with \"NOTE#\""));
    assert_eq!(closed(&part), ["partial-list"]);
}

#[test]
fn a_number_that_is_not_counted_with_every_note_shows_nothing() {
    let counted =
        "update room set notes = .notes + 1, revision = .revision + 1 if unchanged else retry";
    assert!(AROUND.contains(counted));
    let text =
        AROUND.replace(counted, "update room set revision = .revision + 1 if unchanged else retry");
    let close = "contract L-4 \"Close\" {\nDELETE /rooms/{roomId}\nroom = get Room strong else 404 not-found\n\
                 allow caller owns room.ownerId\nrequire room.notes == 0 else 409 no\n\
                 delete room if unchanged else retry\nreturn 204\n}";
    assert_eq!(broken(&format!("{text}\n```contract\n{close}\n```\n")), ["left-behind"]);
}

#[test]
fn an_item_that_ends_leaves_what_lies_under_its_id() {
    // An end was no delete.
    let ends = |note: &str| {
        let text = AROUND
            .replace("strict int 0.. = 0\n}", "strict int 0.. = 0, endsAt time\nexpires endsAt\n}");
        let text =
            text.replace("ownerId = caller.id }", "ownerId = caller.id, endsAt = now + 1d }");
        text.replace("noteId id, text text(80)\n}", note)
    };
    assert_eq!(broken(AROUND), [""; 0]);
    assert_eq!(broken(&ends("noteId id, text text(80)\n}")), ["left-behind"]);
    let waived = ends("noteId id, text text(80)\n}").replace(
        "expires endsAt",
        "waive left-behind \"notes are for whoever has the room\"\nexpires endsAt",
    );
    assert_eq!(broken(&waived), [""; 0]);
    let both = ends("noteId id, text text(80), endsAt time\nexpires endsAt\n}")
        .replace("noteId, text }", "noteId, text, endsAt = room.endsAt }");
    assert_eq!(broken(&both), [""; 0]);
    let own = ends("noteId id, text text(80)\n}")
        .replace("  input roomId id\n  allow true", "  allow true\n  roomId = new ulid");
    assert_eq!(broken(&own), [""; 0]);
    let looked = ends("noteId id, text text(80)\n}").replace(
        "  allow true\n",
        "  allow true\n  note = query Note strong where PK = \"ROOM#{roomId}\" and SK begins_with \"NOTE#\" first 1\n\
         \x20 require note is absent else 409 has-notes\n",
    );
    assert_eq!(broken(&looked), [""; 0]);
}
