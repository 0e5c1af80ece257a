//! Presence: what may be absent cannot be used before a test has shown it to be there, whatever the way
//! it takes; and what a test shows holds where the reference says.

use crate::support::{World, broken};

/// A note with an optional text and number, and one contract on it.
fn noted(method: &str, steps: &str) -> String {
    format!(
        r#"
entity Note "NOTE" {{
  PK = "NOTE#{{noteId}}"
  SK = "META"
  noteId id, size int = 1, words text(20)?, rank int?
}}
contract MAKE "Make" {{
  POST /notes
  input noteId id, words text(20)?, rank int?
  allow true
  note = put Note {{ noteId, words, rank }} replace
  return 201 note
  facts
}}
contract TRY "Try" {{
  {method} /notes/{{noteId}}
  {steps}
  facts
}}
"#
    )
}

// What a test shows holds for the rest of the test, for the block of a `when`, and for all that follows a
// `require`, an `allow`, or a `when` whose block returns.
#[tokio::test]
async fn tests_narrow() {
    let cases = [
        (
            "require note.rank is absent or note.rank + 1 > 4 else 409 low\n  return note",
            [200, 409, 200],
        ),
        (
            "require note.rank is present and note.rank + 1 > 4 else 409 low\n  return note",
            [409, 409, 200],
        ),
        (
            "require note.rank is present and note.rank > 3 else 409 low\n  return note",
            [409, 409, 200],
        ),
        (
            "require note.rank is absent or note.rank > 3 else 409 low\n  return note",
            [200, 409, 200],
        ),
        (
            "require not (note.rank is absent) else 409 none\n  return note with { next = note.rank + 1 }",
            [409, 200, 200],
        ),
        (
            "require not (note.rank is absent or note.rank < 4) else 409 low\n  return note",
            [409, 409, 200],
        ),
        (
            "when note.rank is present {\n    require note.rank > 3 else 409 low\n    return note\n  }\n  return note",
            [200, 409, 200],
        ),
        (
            "when note.rank is absent {\n    return note\n  }\n  require note.rank > 3 else 409 low\n  return note",
            [200, 409, 200],
        ),
        (
            "when note.rank is absent {\n    return note\n  } else {\n    require note.rank > 3 else 409 low\n    return note\n  }",
            [200, 409, 200],
        ),
        (
            "allow note.rank is present and note.rank > 3\n  return note with { more = note.rank + 1 }",
            [403, 403, 200],
        ),
    ];
    for (steps, statuses) in cases {
        let steps = format!("note = get Note strong else 404 not-found\n  allow true\n  {steps}");
        let world = World::start(&noted("GET", &steps)).await;
        for (rank, status) in ["", r#", "rank": 1"#, r#", "rank": 9"#].iter().zip(statuses) {
            world.ok("MAKE", &format!(r#"{{"noteId": "n"{rank}}}"#)).await;
            let told = world.call("TRY", r#"{"noteId": "n"}"#).await;
            assert_eq!(told.status(), status, "{steps} with `{rank}`: {}", told.body());
        }
    }
}

// An item that was read without `else` may be absent.
#[tokio::test]
async fn an_item_may_be_absent() {
    let steps = "note = get Note strong\n  allow true\n  when note is absent {\n    \
                 made = put Note { noteId, words = \"made\" } if absent else 409 raced\n    \
                 return 201 made\n  }\n  return note";
    let world = World::start(&noted("POST", steps)).await;
    assert_eq!(world.call("TRY", r#"{"noteId": "n"}"#).await.status(), 201);
    assert_eq!(world.call("TRY", r#"{"noteId": "n"}"#).await.status(), 200);
}

// Using a value that may be absent without a presence test is an error, whatever name it goes by.
#[test]
fn what_may_be_absent_is_not_used_unseen() {
    let read = "note = get Note strong else 404 not-found\n  allow true";
    let cases = [
        ("an attribute", format!("{read}\n  return note with {{ next = note.rank + 1 }}")),
        ("in a comparison", format!("{read}\n  require note.rank > 1 else 409 low\n  return note")),
        ("in a text", format!("{read}\n  require false else 409 no \"it is {{note.rank}}\"\n  return note")),
        ("behind a name", format!("{read}\n  rank = note.rank\n  return note with {{ next = rank + 1 }}")),
        ("behind a name, in a text", format!("{read}\n  rank = note.rank\n  return note with {{ said = \"{{rank}}\" }}")),
        ("behind a name, compared", format!("{read}\n  rank = note.rank\n  require rank > 1 else 409 low\n  return note")),
        ("an input", "input x int?\n  allow true\n  note = put Note { noteId, size = x } replace\n  return note".to_owned()),
        ("an input behind a name", "input x int?\n  allow true\n  size = x\n  note = put Note { noteId, size } replace\n  return note".to_owned()),
        ("an input in a default", "input x int?, y int = x\n  allow true\n  note = put Note { noteId, size = y } replace\n  return note".to_owned()),
        ("an input in a sum of a default", "input x int?, y int = x + 1\n  allow true\n  note = put Note { noteId, size = y } replace\n  return note".to_owned()),
        ("an item", "note = get Note strong\n  allow true\n  return note".to_owned()),
    ];
    for (what, steps) in cases {
        let found = broken(&noted("POST", &steps));
        assert!(found.iter().any(|one| one.starts_with("absent:")), "{what}: {found:?}");
    }
}

// All that is not optional is there: no call leaves an item without it.
#[tokio::test]
async fn no_call_takes_out_what_must_stay() {
    let ways = [
        "input x int?\n  allow true\n  size = x\n  note = update Note set size = size else 404 not-found\n  return note",
        "input x int?, y int = x\n  allow true\n  note = update Note set size = y else 404 not-found\n  return note",
        "input x int?\n  allow true\n  note = update Note set size ?= x else 404 not-found\n  return note",
        "input x int?\n  note = get Note strong else 404 not-found\n  allow true\n  update note set size ?= x else 404 not-found\n  return note",
    ];
    for steps in ways {
        let text = noted("POST", steps);
        let Some(world) = World::perhaps(&text).await else { continue };
        world.ok("MAKE", r#"{"noteId": "n"}"#).await;
        for inputs in [r#"{"noteId": "n"}"#, r#"{"noteId": "n", "x": null}"#] {
            let told = world.call("TRY", inputs).await;
            let size = world.attribute("NOTE#n", "META", "size");
            assert_eq!(size.as_deref(), Some("1"), "{steps} with {inputs}: {}", told.body());
        }
    }
}

// Within the `if` of a write a test narrows as well, and what it has decided is not asked.
#[tokio::test]
async fn tests_narrow_within_a_condition() {
    let cases = [
        ("x is absent or .size == x", [200, 200, 409]),
        ("x is absent or .size == x + 0", [200, 200, 409]),
        ("x is absent or .size <= x - 1 + 1", [200, 200, 200]),
        ("x is present and .size == x + 0", [409, 200, 409]),
        ("not (x is present and .size != x + 0)", [200, 200, 409]),
        ("x is absent or .words == \"w{x}\"", [200, 200, 409]),
        ("x is present and .words begins_with \"w{x}\"", [409, 200, 409]),
        ("x is absent or .size in (x + 0, x - 0)", [200, 200, 409]),
        ("x is absent or .size between x - 0 and x + 0", [200, 200, 409]),
    ];
    for (condition, statuses) in cases {
        let steps = format!(
            "input x int?\n  allow true\n  note = update Note set rank = 1 if {condition} else 409 refused\n  return note"
        );
        let world = World::start(&noted("POST", &steps)).await;
        for (x, status) in ["", r#", "x": 1"#, r#", "x": 2"#].iter().zip(statuses) {
            world.ok("MAKE", r#"{"noteId": "n", "words": "w1"}"#).await;
            let told = world.call("TRY", &format!(r#"{{"noteId": "n"{x}}}"#)).await;
            assert_eq!(told.status(), status, "{condition} with `{x}`: {}", told.body());
        }
    }
}

// What a write may have taken out is not known to be there behind it: a text was made of a value that was gone.
#[test]
fn what_a_write_takes_out_may_be_absent_behind_it() {
    let head = "input rank int?\n  note = get Note strong else 404 gone\n  allow true\n  \
                require note.rank is present else 409 none";
    let tail = "return with { told = \"{note.rank}\" }";
    let after = |write: &str| noted("PUT", &format!("{head}\n  {write}\n  {tail}"));
    for (write, refused) in [
        ("update note set rank ?= rank else 404 gone", true),
        ("update note set rank = rank else 404 gone", true),
        ("update note remove rank else 404 gone", true),
        ("update note set rank = 3 else 404 gone", false),
        ("update note set words = \"x\" else 404 gone", false),
    ] {
        let told = broken(&after(write));
        let absent = told.iter().any(|one| one.contains("absent"));
        assert_eq!(absent, refused, "{write}: {told:?}");
    }
}
