//! The reference in `docs/language.md` is true: its fragments are read and checked, and its grammar, types and
//! rules are those of the code.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

mod snapshot;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use latchkey_language::ast::ExampleStep;
use latchkey_language::{BlockKind, Diagnostic, Mark, Rule, blocks, parse};

const REFERENCE: &str = include_str!("../../docs/language.md");

fn told(text: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    let line = |at: usize| text.get(..at).unwrap().matches('\n').count() + 1;
    let one = |d: &Diagnostic| format!("{}: {}: {}", line(d.span.start), d.rule, d.message);
    diagnostics.iter().map(one).collect()
}

/// What stands between a heading and the next.
fn section(heading: &str) -> &'static str {
    let (_, rest) = REFERENCE.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// What stands in backticks outside the fences.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2))
}

/// The texts in double quotes of a line without escapes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('"').skip(1).step_by(2))
}

fn is_word(text: &str) -> bool {
    // A lone `_` stands in for the dash of a wrong name.
    text.contains(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}

fn grammar() -> &'static str {
    section("Grammar").split("\n```").nth(1).unwrap()
}

#[test]
fn every_fragment_is_read() {
    let fragments = blocks(REFERENCE);
    assert!(fragments.len() > 8);
    for block in fragments {
        let fence = match block.kind {
            BlockKind::Contract => "contract",
            BlockKind::Example => "example",
            BlockKind::Demo => "demo",
        };
        let fragment = REFERENCE.get(block.text.range()).unwrap();
        let alone = format!("```{fence}\n{fragment}```\n");
        assert_eq!(told(&alone, &parse(&alone).diagnostics), [""; 0], "{fragment}");
    }
}

#[test]
fn the_fragments_are_a_system_without_mistakes() {
    let checked = latchkey_model::check(REFERENCE);
    assert_eq!(told(REFERENCE, &checked.diagnostics), [""; 0]);
    assert!(checked.model.contracts.len() > 5);
}

#[test]
fn the_json_of_the_examples_is_json() {
    let document = parse(REFERENCE).document;
    let calls = document.examples.iter().flat_map(|example| &example.steps);
    let mut count = 0;
    for step in calls {
        let ExampleStep::Call(call) = step else { continue };
        for json in call.body.iter().chain(&call.answer) {
            serde_json::from_str::<serde_json::Value>(&json.node).unwrap();
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn its_examples_are_as_they_say() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(async {
        let system = latchkey_runtime::System::read(REFERENCE).unwrap();
        let target = latchkey_example::Target::in_memory(system).await.unwrap();
        latchkey_example::run(REFERENCE, &target).await.unwrap()
    });
    assert_eq!(report.failures, []);
    assert!(report.requests > 0);
}

#[test]
fn its_demo_fills_a_store() {
    let checked = latchkey_model::check(REFERENCE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let play = runtime.block_on(async {
        let clock = std::sync::Arc::new(latchkey_http::TestClock::new());
        let source: std::sync::Arc<dyn latchkey_runtime::Source> = clock.clone();
        let options = latchkey_runtime::Options { source, ..latchkey_runtime::Options::default() };
        let store = latchkey_embedded::Store::in_memory(&latchkey_embedded::Options::default());
        let system = latchkey_runtime::System::plan(&checked.model).unwrap();
        let started = latchkey_runtime::Runtime::start(system, store.unwrap(), options).await;
        latchkey_example::fill(&checked.model.demos, &started.unwrap(), &clock).await.unwrap()
    });
    assert_eq!((play.requests, play.count()), (12, 2));
}

/// The document that `tests/http` serves on every backend.
#[test]
fn lists_sets_and_records_do_what_their_examples_say() {
    let text = include_str!("../http/documents/shop.md");
    let checked = latchkey_model::check(text);
    assert_eq!(told(text, &checked.diagnostics), [""; 0]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(async {
        let system = latchkey_runtime::System::read(text).unwrap();
        let target = latchkey_example::Target::in_memory(system).await.unwrap();
        latchkey_example::run(text, &target).await.unwrap()
    });
    assert_eq!(report.failures, []);
}

#[test]
fn the_grammar_has_the_words_of_the_parser() {
    let mut parser = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/language/src/parse");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests.rs") {
            continue;
        }
        let source = fs::read_to_string(path).unwrap();
        for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let line = line.replace("'\"'", "' '").replace("\\\"", "''");
            parser.extend(quoted(&line).filter(|text| is_word(text)).map(str::to_owned));
        }
    }
    // The slug of its diagnostics.
    parser.remove("syntax");
    let page: BTreeSet<String> =
        quoted(grammar()).filter(|text| is_word(text)).map(str::to_owned).collect();
    assert_eq!(page, parser);
}

#[test]
fn the_grammar_has_the_marks_of_the_lexer() {
    // Brackets are read so that a list is told of once; nothing in the language has them.
    let marks = Mark::ALL.into_iter().map(Mark::symbol).filter(|mark| !["[", "]"].contains(mark));
    let marks: BTreeSet<&str> = marks.collect();
    let page: BTreeSet<&str> = quoted(grammar()).filter(|text| !is_word(text)).collect();
    assert_eq!(page, marks);
}

#[test]
fn every_rule_of_the_grammar_is_defined() {
    let defined: BTreeSet<&str> = grammar()
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.trim())
        .collect();
    for line in grammar().lines() {
        let rule = line.split("(*").next().unwrap();
        let outside: String = rule.split('"').step_by(2).collect();
        // Below these the definitions are in words.
        if ["NAME ", "SLUG ", "TABLE ", "NUMBER ", "DURATION ", "PATH ", "TEXT ", "TEMPLATE "]
            .iter()
            .any(|start| rule.starts_with(start))
        {
            continue;
        }
        for name in outside.split(|c: char| !c.is_ascii_alphabetic()).filter(|n| !n.is_empty()) {
            let given = ["TIME", "ID", "HEADER", "WORDS", "JSON", "STATUS", "text"];
            assert!(defined.contains(name) || given.contains(&name), "{name} in {line}");
        }
    }
}

#[test]
fn the_types_are_those_of_the_check() {
    // A type that is none is told which there are.
    let wrong = "```contract\nentity A \"A\" {\n  a no_such_type_at_all\n}\n```\n";
    let help = latchkey_model::check(wrong)
        .diagnostics
        .into_iter()
        .find_map(|found| found.help.filter(|help| help.starts_with("the types are")))
        .unwrap();
    let list = help.strip_prefix("the types are ").unwrap().split(" and ").next().unwrap();
    let known: BTreeSet<&str> = list.split(", ").collect();
    // The other table has the forms of values, in braces.
    let rows = section("Entities").lines();
    let rows = rows.filter(|line| line.starts_with("| `") && !line.starts_with("| `{"));
    let page: BTreeSet<&str> = rows
        .map(|row| row.split('`').nth(1).unwrap())
        .filter(|name| !name.contains(['|', '.']))
        .map(|name| name.split('(').next().unwrap())
        .collect();
    assert_eq!(page, known);
}

#[test]
fn the_rules_are_those_of_the_check() {
    let known: BTreeSet<&str> = latchkey_model::rules().map(Rule::slug).collect();
    let list =
        section("Rules and waivers").split("\n\n").find(|text| text.starts_with("`blind-put`"));
    let page: BTreeSet<&str> = code(list.unwrap()).collect();
    assert_eq!(page, known);
    // Anywhere else, what looks like a rule is one, or a problem of a fragment.
    for word in code(REFERENCE).filter(|word| word.contains('-')) {
        let slug = word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && word.len() > 2;
        let problem = format!(" {word}");
        assert!(
            !slug || known.contains(word) || REFERENCE.contains(&format!(" 404{problem}")),
            "`{word}` is no rule"
        );
    }
}
