//! What callers reach beyond their rights: by a copy, by a move, by a question of order, and in too many ways to look
//! at. `reached.md` has a mistake and its honest twin under each heading `## RULE: what`.

use std::path::Path;

use latchkey_model::check;

use crate::planted::{Block, PARTIAL, blocks, with_facts};

/// The rules that a block breaks, each once, and what is said of it.
fn told(block: &Block) -> (Vec<&'static str>, String) {
    let head = "system trial\ntable Trial { type kind }";
    let text = format!("```contract\n{head}\n{}```\n", with_facts(&block.text));
    let mut found = check(&text).diagnostics;
    found.retain(|one| !PARTIAL.contains(&one.rule.slug()));
    let said = found.iter().map(|one| latchkey_cli::render(&block.heading, &text, one, false));
    let said = said.collect::<Vec<_>>().join("\n\n");
    let mut rules: Vec<_> = found.iter().map(|one| one.rule.slug()).collect();
    rules.dedup();
    (rules, said)
}

#[test]
fn what_reaches_beyond_a_right_is_told_and_its_twin_is_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/reached.md");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for block in blocks(&path) {
        let rule = block.heading.split(':').next().unwrap();
        let (rules, said) = told(&block);
        let right = match block.kind.as_str() {
            "planted" => rules == [rule],
            "honest" => rules.is_empty(),
            kind => panic!("a block of {kind}"),
        };
        if !right {
            wrong.push(format!("{} ({}): {rules:?}\n{said}", block.heading, block.kind));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(seen >= 20, "{seen}");
}

/// What is said of a block with this heading.
fn said(heading: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/reached.md");
    let block = blocks(&path).into_iter().find(|block| block.heading == heading).unwrap();
    told(&block).1
}

// It marked `allow true` as the test, and the errors vanished with another status of a read above.
#[test]
fn a_message_marks_what_it_takes_for_the_test() {
    let said = said("foreign-allow: a reader who fetches what is kept for another");
    assert!(said.contains("taken for a test of rights"), "{said}");
    assert!(!said.contains("tested here"), "{said}");
}

// The help led into an error of `transaction`, or to the wrong item.
#[test]
fn a_help_that_moves_a_write_minds_what_its_names_mean_then() {
    let said = said("stale-answer: a handle that is freed before the user is looked at");
    assert!(said.contains("name `handle` above the transaction"), "{said}");
}

// Two errors of one `coalesce` said the contrary of each other.
#[test]
fn a_stand_in_for_an_item_that_may_be_absent_is_told_once() {
    let said = said("absent: an item that may not be there, in a coalesce");
    assert!(!said.contains("always there"), "{said}");
}

// The help named a guard that was there already, or a second leg on an item that had one: `transaction` refuses it.
#[test]
fn a_help_asks_for_nothing_that_is_there() {
    let range = said("unpinned: a limit over the items of many guards");
    assert!(range.contains("has items of many `Show`"), "{range}");
    let checked = said("unpinned: a member who may be gone, and is checked");
    assert!(checked.contains("add `and .spaceId is present`"), "{checked}");
}
