//! No text makes the parser or the check panic or hang.
//!
//! Documents of the repository are cut, doubled, shuffled and strewn with words of the language, and checked. A
//! run is the same for the same seed; `LATCHKEY_FUZZ_RUNS` and `LATCHKEY_FUZZ_SEED` make it longer or another.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

mod mutate;
mod readers;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use latchkey_testing::chance::Chance;

/// No document of this size takes a hundredth of this; one that does hangs.
const HANG: Duration = Duration::from_secs(20);

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "system", "table", "role", "entity", "contract", "view of", "guarded by", "index", "moves",
    "copies", "waive", "input", "allow", "require", "match", "when", "transact", "snapshot {", "return", "get",
    "query", "put", "update", "upsert", "delete", "check", "strong", "where", "order descending",
    "page 25 max 100", "first 1", "set", "remove", "add", "replace", "if", "if absent",
    "if unchanged", "else", "else retry", "else 404 not-found", "with", "at /x", "caller owns",
    "caller is", "is absent", "is present", "moves to", "begins_with", "between", "and", "or",
    "not", "in (", "new ulid", "now", "PK =", "SK =", "{", "}", "(", ")", "\"", "\"{", "}\"",
    "{x:02}", "#", "~", "..", "?", "?=", "==", "!=", "->", "|", ".", ",", "/", "//", "```",
    "```contract\n", "```example\n", "\n", "\t", "\u{0}", "é", "🔑", "99999999999999999999", "-1",
    "1ms", "id", "time", "text(80)", "map(1,2)", "counter", "consistency", "expect 0..",
    "rate 1/s", "cost 1 rcu", "idempotent by Door", "cache 30s", "invariant Door \"shut\" {",
    "\ntogether {\n", "\ndeliver doors\n",
];

fn corpus() -> Vec<Vec<char>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["systems", "docs", "docs/rules", "tests/rules", "tests/fuzz/corpus"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|path: &PathBuf| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.map(|text| text.chars().take(20_000).collect()).collect()
}

/// One change of the kind a slip, a merge or an enemy makes.
fn mutate(text: &mut Vec<char>, corpus: &[Vec<char>], chance: &mut Chance) {
    let at = chance.below(text.len() + 1);
    let end = (at + chance.below(60)).min(text.len());
    match chance.below(8) {
        0 => drop(text.drain(at..end)),
        1 => {
            let doubled: Vec<char> = text.get(at..end).unwrap().to_vec();
            text.splice(at..at, doubled);
        }
        2..=4 => {
            let word = WORDS.get(chance.below(WORDS.len())).unwrap();
            let end = if chance.below(2) == 0 { at } else { end };
            text.splice(at..end, format!(" {word} ").chars());
        }
        5 => {
            let other = corpus.get(chance.below(corpus.len())).unwrap();
            let from = chance.below(other.len() + 1);
            let to = (from + chance.below(400)).min(other.len());
            text.splice(at..at, other.get(from..to).unwrap().iter().copied());
        }
        6 => {
            let c = char::from_u32(u32::try_from(chance.below(0x11_0000)).unwrap());
            text.insert(at, c.unwrap_or('\u{fffd}'));
        }
        _ => {
            let mut lines: Vec<String> =
                text.iter().collect::<String>().lines().map(str::to_owned).collect();
            let (a, b) = (chance.below(lines.len()), chance.below(lines.len()));
            if a < lines.len() && b < lines.len() {
                lines.swap(a, b);
            }
            *text = lines.join("\n").chars().collect();
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_document_makes_the_check_panic_or_hang() {
    let corpus = corpus();
    assert!(!corpus.is_empty());
    let seed = setting("LATCHKEY_FUZZ_SEED", 0x1a7c_4ce7);
    let mut chance = Chance::new(seed);
    for run in 0..setting("LATCHKEY_FUZZ_RUNS", 3000) {
        let mut text = corpus.get(chance.below(corpus.len())).unwrap().clone();
        for _ in 0..=chance.below(12) {
            mutate(&mut text, &corpus, &mut chance);
        }
        let text: String = text.into_iter().collect();
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            for diagnostic in latchkey_model::check(&text).diagnostics {
                assert!(text.get(diagnostic.span.range()).is_some(), "{diagnostic:?}");
                drop(latchkey_cli::render("fuzz.md", &text, &diagnostic, false));
            }
        }));
        if outcome.is_err() || start.elapsed() > HANG {
            let kept = std::env::temp_dir().join("latchkey-fuzz.md");
            fs::write(&kept, &text).unwrap();
            panic!("run {run} of seed {seed}: the document is kept at {}", kept.display());
        }
    }
}
