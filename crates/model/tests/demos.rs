//! Demos: what the check tells of them, and what they come to.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

use latchkey_language::ast::ExampleStep;
use latchkey_model::demo::{Act, Draw, filling, live};
use latchkey_model::{Checked, check};

const DOORS: &str = "\
```contract
system doors
table Doors { type kind }
role clerk

entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  SK = \"META\"
  doorId  id
  ownerId id
  floor   int 0..20
  madeAt  time
}

contract D-01 \"Get a door\" {
  GET /doors/{doorId}
  door = get Door else 404 not-found
  allow caller owns door.ownerId or caller is clerk
  return door
  consistency eventual
  expect 1 item
  rate 1/s
}

contract D-02 \"Make a door\" {
  POST /doors
  input doorId id, ownerId id, floor int 0..20
  allow caller owns ownerId or caller is clerk
  door = put Door { doorId, ownerId, floor, madeAt = now } if absent else 409 door-exists
  return 201 door at /doors/{doorId}
  consistency strong
  expect 1 item
  rate 1/s
}
```
";

fn checked(demo: &str) -> Checked {
    check(&format!("{DOORS}\n```demo\n{demo}\n```\n"))
}

/// What the check tells: the rule, the line within the demo, and the message.
fn told(demo: &str) -> Vec<String> {
    let lines_before = DOORS.matches('\n').count() + 2;
    let checked = checked(demo);
    let line = |at: usize| checked.model.text.get(..at).unwrap().matches('\n').count() + 1;
    let one = |found: &latchkey_language::Diagnostic| {
        let at = line(found.span.start).checked_sub(lines_before).unwrap();
        format!("{} {at}: {}", found.rule, found.message)
    };
    checked.diagnostics.iter().map(one).collect()
}

const GOOD: &str = "\
as olga role clerk
at now - 2d
first = \"D{1:03}\"
repeat 3 {
  id    = \"D{n:03}\"
  owner = one of alice, bob
  floor = one of 0..20
  POST /doors {\"doorId\": \"$id\", \"ownerId\": \"$owner\", \"floor\": $floor}
  201 ETag: $tag {\"doorId\": \"$id\", \"ownerId\": \"$told\"}
  GET /doors/$id If-None-Match: $tag
}
at now
every 2s {
  as $owner-$n
  owner = one of eve, mallory
  GET /doors/$first
  403
}";

#[test]
fn a_demo_that_can_be_played_is_told_nothing() {
    let good = GOOD.replace(
        "  as $owner-$n\n  owner = one of eve, mallory\n",
        "  owner = one of eve, mallory\n  as $owner-$n\n",
    );
    assert_eq!(told(&good), [""; 0]);
    // The name is given behind its use.
    assert_eq!(told(GOOD), ["name 14: nothing is called `$owner`"]);
}

#[test]
fn what_cannot_be_played_is_told_at_its_line() {
    let post = "POST /doors {\"doorId\": \"D\", \"ownerId\": \"a\", \"floor\":";
    let cases = [
        ("as a\nGET /gates/1".to_owned(), "name 2: no contract answers this request"),
        ("as a\nDELETE /doors/1".to_owned(), "name 2: no contract answers this request"),
        (format!("as a\n{post} 21}}"), "type 2: `floor`: not as `D-02` declares it"),
        (format!("as a\n{post} \"1\"}}"), "type 2: `floor`: not as `D-02` declares it"),
        (format!("as a\n{post} 1, \"colour\": 2}}"), "type 2: `colour`: not as `D-02` declares it"),
        (
            "as a\nPOST /doors {\"doorId\": \"D\"}".to_owned(),
            "type 2: `floor`, `ownerId`: not as `D-02` declares it",
        ),
        ("as a\nPOST /doors [1]".to_owned(), "type 2: the body is not a JSON object"),
        ("as a\nGET /doors/1?x=2".to_owned(), "type 2: `x`: not as `D-01` declares it"),
        ("as a role cleric\nGET /doors/1".to_owned(), "name 1: there is no role `cleric`"),
        ("as a#b\nGET /doors/1".to_owned(), "type 1: `a#b` is no id"),
        ("GET /doors/1".to_owned(), "syntax 1: nobody says who asks"),
        ("as a\nevery 2s {\nGET /doors/1\n}".to_owned(), "syntax 3: nobody says who asks"),
        ("as a\nGET /doors/$id".to_owned(), "name 2: nothing is called `$id`"),
        ("as a\nGET /doors/$n".to_owned(), "name 2: nothing is called `$n`"),
        ("as a\nid = \"{n}\"\nGET /doors/1".to_owned(), "name 2: `n` has no value here"),
        ("as a\nid = door\nGET /doors/1".to_owned(), "name 2: nothing is called `door`"),
        ("as a\nnow = 1\nGET /doors/1".to_owned(), "name 2: `now` has a meaning of its own"),
        ("as a\nid = 1.5\nGET /doors/1".to_owned(), "type 2: this is not a whole number"),
        (
            "as a\nid = now + 1y\nGET /doors/1".to_owned(),
            "type 2: `1y` is not a span of time of fixed length",
        ),
        ("as a\nid = now + now\nGET /doors/1".to_owned(), "type 2: a demo cannot compute this"),
        ("as a\nid = max(1, 2)\nGET /doors/1".to_owned(), "type 2: a demo cannot compute this"),
        ("as a\nid = \"{now:03}\"\nGET /doors/1".to_owned(), "type 2: this value has no such form"),
        ("as a\nid = \"a b\"\nGET /doors/$id".to_owned(), "type 3: a path cannot have ` `"),
        (
            "as a\nid = \"$x\"\nGET /doors/1".to_owned(),
            "type 2: a text with a quote, a backslash or a `$`",
        ),
        ("as a\nat 5\nGET /doors/1".to_owned(), "type 2: this is not a time"),
        ("as a\nat now + 1s\nGET /doors/1".to_owned(), "type 2: a demo is filled up to now"),
        (
            "as a\nat now - 1d\nat now - 2d\nGET /doors/1".to_owned(),
            "type 3: time does not go back",
        ),
        (
            "every 1ms {\nas a\nGET /doors/1\n}".to_owned(),
            "type 1: `1ms` is no time between two rounds",
        ),
        (
            "every soon {\nas a\nGET /doors/1\n}".to_owned(),
            "type 1: `soon` is no time between two rounds",
        ),
    ];
    for (demo, message) in cases {
        assert_eq!(told(&demo), [message], "{demo}");
    }
}

#[test]
fn numbers_and_times_that_are_too_large_are_told_with_what_is_allowed() {
    let far = "type 2: this time is before the year 0000, or after the year 9999";
    let cases = [
        ("id = 9223372036854775807 + 1", "type 2: this number is too large"),
        ("id = now + 99999999999d", "type 2: `99999999999d` is too long a span of time"),
        ("id = 3652424d * 3652424", "type 2: this is too long a span of time"),
        ("id = now + 3652424d", far),
        ("at now - 3652424d", far),
    ];
    for (line, message) in cases {
        assert_eq!(told(&format!("as a\n{line}\nGET /doors/1")), [message], "{line}");
    }
}

#[test]
fn each_choice_is_looked_at_though_few_are_drawn() {
    let demo = "repeat 2 {\nfloor = one of 1, 2, 3, 4, x\nas a\nPOST /doors {\"doorId\": \"D\", \"ownerId\": \"a\", \"floor\": \"$floor\"}\n400\n}";
    assert_eq!(told(demo), [""; 0], "a refusal that is meant");
    let demo = demo.replace("\n400", "").replace("\"$floor\"", "$floor").replace(", x", ", 99");
    assert_eq!(told(&demo), ["type 4: `floor`: not as `D-02` declares it"]);
    let demo = "as a\nevery 2s {\nfloor = one of 0..21\nPOST /doors {\"doorId\": \"D\", \"ownerId\": \"a\", \"floor\": $floor}\n}";
    assert!(told(demo).contains(&"type 4: `floor`: not as `D-02` declares it".to_owned()));
}

#[test]
fn too_many_requests_are_refused_and_a_broken_document_tells_nothing_of_its_demo() {
    let round = "repeat 1000 {\nas a\nGET /doors/1\n}\n";
    assert_eq!(told(&round.repeat(10)), [""; 0]);
    let many = told(&round.repeat(11));
    assert!(many.iter().any(|told| told.contains("more than 10000 requests")), "{many:?}");
    // Choices of what goes on fill no store.
    let words: Vec<String> = (0..700).map(|n| format!("w{n}")).collect();
    let every =
        format!("every 2s {{\nas a\nid = one of {}\nGET /doors/$id\n}}\n", words.join(", "));
    assert_eq!(told(&every.repeat(20)), [""; 0]);
    let many = told(&every.repeat(150));
    assert!(many.iter().any(|told| told.contains("more than 100000 requests")), "{many:?}");
    let broken =
        format!("{}\n```demo\nas a\nGET /gates/1\n```\n", DOORS.replace("return door\n", ""));
    let told: Vec<String> =
        check(&broken).diagnostics.into_iter().map(|found| found.message).collect();
    assert!(
        !told.is_empty() && !told.iter().any(|told| told.contains("no contract answers")),
        "{told:?}"
    );
}

/// The requests and callers that acts come to.
fn shown(steps: &[ExampleStep]) -> Vec<String> {
    let one = |step: &ExampleStep| match step {
        ExampleStep::At(at) => at.node.clone(),
        ExampleStep::As { id, .. } => format!("as {}", id.node),
        ExampleStep::Call(call) => {
            let body = call.body.as_ref().map_or("", |body| body.node.as_str());
            format!("{} {} {body}", call.method.node, call.path.node).trim().to_owned()
        }
        other => panic!("{other:?}"),
    };
    steps.iter().map(one).collect()
}

#[test]
fn a_demo_is_written_out_the_same_each_time() {
    let checked = checked(
        "as olga role clerk\nat now - 1d\nrepeat 2 {\n  who = one of alice, bob, carol\n  until = now + n * 2h\n  \
         POST /doors {\"doorId\": \"D$n\", \"ownerId\": \"$who\", \"floor\": 1}\n  GET /doors/D$n If-Match: $until\n}\n\
         last = \"D{2}\"\nevery 2s {\n  who = one of 1..3\n  as guest-$who-$n\n  GET /doors/$last\n}",
    );
    let demos = &checked.model.demos;
    // 2026-01-01T00:00:00Z
    let now = 1_767_225_600_000;
    let filled = filling(demos, now, Draw::InTurn(1)).unwrap();
    let steps: Vec<ExampleStep> = filled
        .acts
        .iter()
        .filter_map(|act| match act {
            Act::Step(step) => Some((**step).clone()),
            Act::Block | Act::Round | Act::Over => None,
        })
        .collect();
    assert_eq!(
        shown(&steps),
        [
            "as olga",
            "2025-12-31T00:00:00.000Z",
            r#"POST /doors {"doorId": "D1", "ownerId": "bob", "floor": 1}"#,
            "GET /doors/D1",
            r#"POST /doors {"doorId": "D2", "ownerId": "bob", "floor": 1}"#,
            "GET /doors/D2",
        ]
    );
    let until = |step: &ExampleStep| match step {
        ExampleStep::Call(call) => call.headers.first().map(|(_, value)| value.node.clone()),
        _ => None,
    };
    let until: Vec<String> = steps.iter().filter_map(until).collect();
    assert_eq!(until, ["2026-01-01T02:00:00.000Z", "2026-01-01T04:00:00.000Z"]);

    let live = live(demos, &filled).unwrap();
    let [every] = live.as_slice() else { panic!("{live:?}") };
    assert_eq!(every.pause.as_secs(), 2);
    let rounds = |seed| -> Vec<String> {
        let mut draw = Draw::Chance(seed);
        (1..=20).flat_map(|n| shown(&every.round(n, now, &mut draw).unwrap())).collect()
    };
    assert_eq!(rounds(7), rounds(7));
    assert_ne!(rounds(7), rounds(8));
    for who in ["as guest-1-", "as guest-2-", "as guest-3-"] {
        assert!(rounds(7).iter().any(|step| step.starts_with(who)), "{who}");
    }
    assert_eq!(rounds(7).iter().filter(|step| *step == "GET /doors/D2").count(), 20);
}
