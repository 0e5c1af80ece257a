//! Mistakes that are planted in documents of other domains, and an honest twin of each; they stand in `domains.md`.

use std::path::Path;

use latchkey_model::check;

use crate::planted::{blocks, with_facts};

#[test]
fn a_planted_mistake_is_told_once_and_its_twin_is_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/domains.md");
    let mut wrong = Vec::new();
    for block in blocks(&path) {
        let (rule, _) = block.heading.split_once(':').unwrap();
        let head = "system trial\ntable Trial { type kind }";
        let text = format!("```contract\n{head}\n{}```\n", with_facts(&block.text));
        let found = check(&text).diagnostics;
        let rules: Vec<&str> = found.iter().map(|one| one.rule.slug()).collect();
        // What cannot be understood is told of no rule.
        let unknown = ["name", "type", "syntax", "absent"];
        let told = rules.iter().filter(|slug| **slug == rule).count();
        let expected = usize::from(block.kind == "planted");
        if told != expected || rules.iter().any(|slug| unknown.contains(slug)) {
            wrong.push(format!("{}, {}: {rules:?}", block.heading, block.kind));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
