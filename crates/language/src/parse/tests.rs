use proptest::prelude::*;

use super::*;
use crate::ast::{Entity, ExampleStep, Member, StatementKind};

const SMARTLOCKER: &str = include_str!("../../../../systems/smartlocker.md");

/// The line and message of each mistake in a contract block; line 1 is the block's first.
fn mistakes(block: &str) -> Vec<String> {
    let text = format!("```contract\n{block}\n```\n");
    let line = |at: usize| text.get(..at).unwrap().matches('\n').count();
    let parsed = parse(&text);
    parsed.diagnostics.iter().map(|d| format!("{}: {}", line(d.span.start), d.message)).collect()
}

#[test]
fn the_shipped_document_is_read_whole() {
    let parsed = parse(SMARTLOCKER);
    assert_eq!(parsed.diagnostics, []);
    let count =
        |of: fn(&Item) -> bool| parsed.document.items.iter().filter(|item| of(item)).count();
    let blocks = SMARTLOCKER.matches("\nentity ").count();
    assert_eq!(count(|item| matches!(item, Item::Entity(_))), blocks);
    let blocks = SMARTLOCKER.matches("\ncontract ").count();
    assert_eq!(count(|item| matches!(item, Item::Contract(_))), blocks);
}

#[test]
fn a_mistake_is_reported_once_and_the_rest_is_read() {
    let block = "\
system doors
entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  SK =
  doorId id
  state
  name text(80)?
}
contract D-01 \"Get\" {
  GET doors
  allow caller owns
  require a = b else 404 not-found
  frobnicate
  door = get Door strong else not-found
  return door
}
contract D-02 \"Get\" {
  GET /x
  return door
}";
    assert_eq!(
        mistakes(block),
        [
            "4: expected a text in quotes, but the line ends behind `=`",
            "6: `state` has no type",
            "10: expected a path such as `/doors/{doorId}`, but found `doors`",
            "11: expected a value, but the line ends behind `owns`",
            "12: `=` does not compare here",
            "13: `frobnicate` begins no statement",
            "14: expected a status such as `404`, but found `not-found`",
        ]
    );
}

#[test]
fn a_missing_brace_does_not_drown_what_follows() {
    let block = "\
entity Door \"DOOR\" {
  PK = \"DOOR#{doorId}\"
  doorId id

contract D-01 \"Get\" {
  GET /doors/{doorId}
  when a == b {
    return door
}

contract D-02 \"Get\" {
  GET /x
  bogus bogus
}";
    assert_eq!(
        mistakes(block),
        [
            "1: a brace that is never closed",
            "5: a brace that is never closed",
            "13: `bogus` begins no statement",
        ]
    );
}

fn entity(block: &str) -> Entity {
    let parsed = parse(&format!("```contract\n{block}\n```"));
    assert_eq!(parsed.diagnostics, []);
    match parsed.document.items.into_iter().next() {
        Some(Item::Entity(entity)) => entity,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_may_share_a_line() {
    let members = entity(
        "entity A \"A\" {\n  a id, b int 0.., c X | Y = X, d number -90..90\n  e text(9)? \n}",
    );
    let names: Vec<_> = members
        .members
        .iter()
        .map(|member| match member {
            Member::Field(field) => field.name.node.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}

#[test]
fn examples_are_read_by_the_line() {
    let text = "```example\nat 2026-01-01T00:00:00Z as bob role operator org acme\n\
                POST /doors?x=1 If-Match: \"3\" {\n  \"a\": \"}\"\n}\n201 {\"a\": [1,\n2]}\n// done\nGET /x\n404\n```";
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    let steps = &parsed.document.examples[0].steps;
    assert_eq!(steps.len(), 4);
    let ExampleStep::Call(call) = &steps[2] else { panic!("{steps:?}") };
    assert_eq!(call.path.node, "/doors?x=1");
    assert_eq!(call.headers[0].1.node, "\"3\"");
    assert_eq!(call.body.as_ref().unwrap().node, "{\n  \"a\": \"}\"\n}");
    assert_eq!(call.status.as_ref().unwrap().node, 201);
    assert_eq!(call.answer.as_ref().unwrap().node, "{\"a\": [1,\n2]}");
}

#[test]
fn nesting_has_an_end() {
    for opening in ["when a { ", "x = (", "transact { ", "require not "] {
        let block = format!("contract A-1 \"A\" {{\n{}\n}}", opening.repeat(100_000));
        assert!(!mistakes(&block).is_empty());
    }
}

#[test]
fn what_stands_outside_the_blocks_is_prose() {
    let parsed = parse("entity Nothing {\n```json\nentity\n```\n");
    assert!(parsed.diagnostics.is_empty() && parsed.document.items.is_empty());
}

#[test]
fn statements_keep_their_place_in_the_markdown() {
    let parsed = parse(SMARTLOCKER);
    for item in &parsed.document.items {
        let Item::Contract(contract) = item else { continue };
        for statement in &contract.body {
            let text = SMARTLOCKER.get(statement.span.range()).unwrap();
            if let StatementKind::Allow(_) = statement.node {
                assert!(text.starts_with("allow ") && !text.contains('\n'), "{text}");
            }
        }
    }
}

/// A document with some of its pieces cut, doubled, swapped or replaced.
fn mangled() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0usize..40,
        ".{0,6}|[{}()\"|=.,/`\n]{1,4}|contract|transact|else",
    );
    prop::collection::vec(edit, 1..8).prop_map(|edits| {
        let mut text: Vec<char> = SMARTLOCKER.chars().collect();
        for (at, length, insert) in edits {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, insert.chars());
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_read(text in "\\PC*") {
        let _ = parse(&format!("```contract\n{text}\n```\n```example\n{text}\n```"));
    }

    #[test]
    fn a_mangled_document_is_read(text in mangled()) {
        let parsed = parse(&text);
        for diagnostic in parsed.diagnostics {
            prop_assert!(text.get(diagnostic.span.range()).is_some());
        }
    }
}
