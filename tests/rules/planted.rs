//! Mistakes that are planted in a shop, a workspace with tenants and a bank, and an honest twin of each.
//!
//! `planted/RULE.md` has them by rule: a heading `## DOMAIN: what`, a block `planted` and a block `honest`. Each block is
//! a document with the entities of its domain, from `planted/README.md`. Contracts are written without their facts.

use std::fs;
use std::path::{Path, PathBuf};

use latchkey_model::check;

const DOMAINS: [&str; 3] = ["shop", "workspace", "bank"];

/// The rules that miss the rest of a document.
pub(crate) const PARTIAL: [&str; 1] = ["unused"];

/// A block of a file, below its heading.
pub(crate) struct Block {
    pub(crate) heading: String,
    pub(crate) kind: String,
    pub(crate) text: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/planted")
}

pub(crate) fn blocks(path: &Path) -> Vec<Block> {
    let text = fs::read_to_string(path).unwrap();
    let (mut heading, mut blocks, mut is_open) = (String::new(), Vec::<Block>::new(), false);
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(kind) => {
                let (heading, kind) = (heading.clone(), kind.to_owned());
                blocks.push(Block { heading, kind, text: String::new() });
                is_open = true;
            }
            None if is_open => blocks.last_mut().unwrap().text += &format!("{line}\n"),
            None => {
                if let Some(found) = line.strip_prefix("## ") {
                    heading = found.to_owned();
                }
            }
        }
    }
    blocks
}

/// Writes the facts that every contract and worker states.
pub(crate) fn with_facts(text: &str) -> String {
    let (mut whole, mut needs) = (String::new(), false);
    for line in text.lines() {
        needs |= line.starts_with("contract ") || line.starts_with("worker ");
        if line == "}" && std::mem::take(&mut needs) {
            whole += "consistency strong\nexpect 0.. items\nrate 1/s\n";
        }
        whole += &format!("{line}\n");
    }
    whole
}

/// What is told of a block of a rule's file, as rules and as a text. These are parts of documents: `unused` is left
/// aside.
fn told(rule: &str, block: &Block, entities: &[Block]) -> (Vec<&'static str>, String) {
    let domain = block.heading.split(':').next().unwrap();
    let of = entities.iter().find(|entities| entities.heading == domain).unwrap();
    let head = "system trial\ntable Trial { type kind }";
    let text = format!("```contract\n{head}\n{}\n{}```\n", of.text, with_facts(&block.text));
    let mut found = check(&text).diagnostics;
    found.retain(|one| one.rule.slug() == rule || !PARTIAL.contains(&one.rule.slug()));
    let said = found.iter().map(|one| latchkey_cli::render(&block.heading, &text, one, false));
    let said = said.collect::<Vec<_>>().join("\n\n");
    (found.iter().map(|one| one.rule.slug()).collect(), said)
}

#[test]
fn planted_mistakes_are_told_once_and_honest_twins_are_not() {
    let entities = blocks(&folder().join("README.md"));
    let mut wrong = Vec::new();
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| !path.ends_with("README.md")).collect();
    paths.sort();
    for path in &paths {
        let rule = path.file_stem().unwrap().to_string_lossy().into_owned();
        let blocks = blocks(path);
        for domain in DOMAINS {
            let of = |kind| {
                let of_domain = blocks.iter().filter(|block| block.heading.starts_with(domain));
                of_domain.filter(|block| block.kind == kind).count()
            };
            let (planted, honest) = (of("planted"), of("honest"));
            assert!(planted > 0 && honest >= planted, "{rule}, {domain}: {planted} and {honest}");
        }
        for block in &blocks {
            let (rules, said) = told(&rule, block, &entities);
            let is_right = match block.kind.as_str() {
                "planted" => rules == [rule.as_str()],
                "honest" => rules.is_empty(),
                other => panic!("{rule}: a block of kind {other}"),
            };
            if !is_right {
                wrong.push(format!("{rule}, {}, {}: {rules:?}\n{said}", block.heading, block.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!paths.is_empty());
}
