//! How the blocks of a demo are read.

use latchkey_language::ast::{DemoStep, DemoValue};
use latchkey_language::parse;

/// The steps of a demo, each in a word, and what is wrong with it.
fn read(lines: &str) -> (Vec<String>, Vec<String>) {
    let parsed = parse(&format!("```demo\n{lines}\n```\n"));
    let steps = parsed.document.demos.iter().flat_map(|demo| &demo.steps).map(word).collect();
    (steps, parsed.diagnostics.into_iter().map(|found| found.message).collect())
}

fn word(step: &DemoStep) -> String {
    let all = |steps: &[DemoStep]| steps.iter().map(word).collect::<Vec<_>>().join("; ");
    match step {
        DemoStep::At(_) => "at".to_owned(),
        DemoStep::As { id, roles, orgs } => {
            format!("as {} of {} and {}", id.node, roles.len(), orgs.len())
        }
        DemoStep::Named(name, DemoValue::OneOf(texts)) => {
            let texts: Vec<&str> = texts.iter().map(|text| text.node.as_str()).collect();
            format!("{}: {}", name.node, texts.join("|"))
        }
        DemoStep::Named(name, DemoValue::Between(low, high)) => {
            format!("{}: {} to {}", name.node, low.node, high.node)
        }
        DemoStep::Named(name, DemoValue::Computed(_)) => format!("{} computed", name.node),
        DemoStep::Call(call) => {
            let status = call.status.as_ref().map_or(0, |status| status.node);
            format!("{} {} {status}", call.method.node, call.path.node)
        }
        DemoStep::Repeat { times, steps } => format!("{} times ({})", times.node, all(steps)),
        DemoStep::Every { pause, steps } => format!("every {} ({})", pause.node, all(steps)),
    }
}

#[test]
fn the_lines_of_a_demo_are_read() {
    let (steps, wrong) = read(
        "as olga role clerk org acme    // a comment\nat now - 3d\nrepeat 40 {\n  owner = one of alice, bob-1, \"Eve, \
         or so\"\n  id = \"D{n:03}\"\n  POST /doors {\n    \"doorId\": \"$id\"\n  }\n  201 {\"doorId\": \"$id\"}\n}\n\
         every 2s {\n  k = one of -3..40\n  as nobody\n  GET /doors/$k\n}",
    );
    assert_eq!(wrong, [""; 0]);
    assert_eq!(
        steps,
        [
            "as olga of 1 and 1",
            "at",
            "40 times (owner: alice|bob-1|Eve, or so; id computed; POST /doors 201)",
            "every 2s (k: -3 to 40; as nobody of 0 and 0; GET /doors/$k 0)",
        ]
    );
}

#[test]
fn a_request_needs_no_answer_and_several_blocks_are_one_demo() {
    let parsed = parse("```demo\nas a\nGET /x\nGET /y\n404\n```\n\n```demo\nas b\nGET /z\n```\n");
    assert_eq!(parsed.diagnostics, []);
    assert_eq!(parsed.document.demos.len(), 2);
    assert_eq!(parsed.document.demos[0].steps.len(), 3);
    assert!(parsed.document.examples.is_empty());
}

#[test]
fn what_a_demo_cannot_say_is_told() {
    let cases = [
        ("hello", "this line of a demo says nothing"),
        ("together {", "this line of a demo says nothing"),
        ("queue q holds", "this line of a demo says nothing"),
        ("at", "`at` without a time"),
        ("as olga at now", "a demo happens around now"),
        ("200", "an answer without a request"),
        ("repeat {\nGET /x\n}", "this does not say how often"),
        ("repeat 0 {\nGET /x\n}", "`0` is no number of rounds"),
        ("repeat 1001 {\nGET /x\n}", "`1001` is no number of rounds"),
        ("repeat many {\nGET /x\n}", "`many` is no number of rounds"),
        ("repeat 3\nGET /x\n}", "expected a `{` at the end of the line"),
        ("repeat 3 {\nGET /x", "a `{` that is never closed"),
        ("repeat 3 {\nas a\n}", "no request is made here"),
        ("}", "this line of a demo says nothing"),
        ("repeat 2 {\nGET /x\nevery 2s {\nGET /y\n}", "braces within braces"),
        ("every 2s {\nat now\nGET /x\n}", "`at` within `every`"),
        ("a-b = 1", "this is not a name"),
        ("a =", "a name without a value"),
        ("a = one of", "this is nothing to choose"),
        ("a = one of x,, y", "this is nothing to choose"),
        ("a = one of \"x\"y", "this is nothing to choose"),
        ("a = one of two words", "this is nothing to choose"),
        ("a = one of $b", "this is nothing to choose"),
        ("a = one of 5..1", "no number is between these"),
        ("a = now now", "more than one value"),
        ("GET x", "a path begins with `/`"),
    ];
    for (lines, message) in cases {
        let (_, wrong) = read(lines);
        assert!(wrong.iter().any(|wrong| wrong == message), "{lines:?}: {wrong:?}");
    }
}
