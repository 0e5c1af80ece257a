//! Every rule has a page, and every page is true: its samples break the rule and no other, say what the page
//! shows, and are in order once they are fixed. `LATCHKEY_BLESS=1` rewrites what the pages show.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

mod alarms;
mod answers;
mod cached;
mod chains;
mod clubs;
mod computed;
mod domains;
mod ends;
mod examples;
mod facts;
mod guards;
mod honest;
mod keys;
mod left;
mod limited;
mod lists;
mod load;
mod moments;
mod nearly;
mod one_by_one;
mod page;
mod parts;
mod planted;
mod ranges;
mod reached;
mod refusals;
mod rights;
mod ten;
mod traps;
mod values;
mod warnings;

use std::fs;
use std::path::{Path, PathBuf};

use latchkey_language::{Level, Rule};
use latchkey_model::{check, rules, waiver_refusal};
use page::{Page, Part};

/// The method of a contract of these statements: one that writes nothing is a GET.
fn method(steps: &str) -> &'static str {
    let writes = ["put ", "update ", "upsert ", "delete "];
    if writes.iter().any(|verb| steps.contains(verb)) { "POST" } else { "GET" }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/rules")
}

fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name != "README.md"));
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    paths.iter().map(|path| Page::read(path)).collect()
}

/// The rules a document breaks, and all that is said about it.
fn told(sample: &str) -> (Vec<&'static str>, String) {
    let found = check(sample).diagnostics;
    let name = sample.lines().find_map(|line| line.strip_prefix("system ")).unwrap_or("sample");
    let path = format!("{name}.md");
    let said = found.iter().map(|one| latchkey_cli::render(&path, sample, one, false));
    let said = said.collect::<Vec<_>>().join("\n\n");
    (found.iter().map(|one| one.rule.slug()).collect(), said)
}

#[test]
fn a_sample_breaks_its_rule_alone_and_is_told_what_the_page_shows() {
    let bless = std::env::var_os("LATCHKEY_BLESS").is_some();
    for page in pages() {
        let mut said = Vec::new();
        for sample in page.parts(Part::Fails) {
            let (rules, text) = told(sample);
            assert!(!rules.is_empty(), "{}: a sample that does not fail:\n{sample}", page.slug);
            let alone = rules.iter().all(|rule| *rule == page.slug);
            assert!(alone, "{}: it breaks more than that:\n{text}", page.slug);
            said.push(text);
        }
        if bless {
            page.bless(&said);
        } else {
            let shown: Vec<&str> = page.parts(Part::Says).collect();
            assert_eq!(shown, said, "{}: run with LATCHKEY_BLESS=1 to rewrite it", page.slug);
        }
    }
}

#[test]
fn a_sample_that_is_fixed_has_no_mistakes() {
    for page in pages() {
        let (fails, fixed) = (page.parts(Part::Fails).count(), page.parts(Part::Fixed).count());
        assert!(fails > 0 && fails == fixed, "{}: {fails} fail and {fixed} are fixed", page.slug);
        for sample in page.parts(Part::Fixed) {
            let (rules, text) = told(sample);
            assert!(rules.is_empty(), "{}: not fixed:\n{text}", page.slug);
        }
    }
}

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let mut known: Vec<&str> = rules().map(Rule::slug).collect();
    known.sort_unstable();
    let pages = pages();
    let found: Vec<&str> = pages.iter().map(|page| page.slug.as_str()).collect();
    assert_eq!(found, known);
    for page in &pages {
        let title = format!("# `{}`: ", page.slug);
        assert!(page.text.starts_with(&title), "{} begins with `{title}`", page.slug);
        assert!(page.text.contains("\n## How it decides\n"), "{} says how", page.slug);
    }
}

#[test]
fn the_index_lists_every_rule_once() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    for rule in rules() {
        let link = format!("[`{rule}`]({rule}.md)");
        assert_eq!(index.matches(&link).count(), 1, "README.md links to {rule}");
    }
}

#[test]
fn a_rule_is_waived_with_a_meaning_or_not_at_all() {
    // `waive filter` dropped the condition, `waive unbounded` read one item, `waive scan` a partition of the time.
    for page in pages() {
        let rule = rules().find(|rule| rule.slug() == page.slug).unwrap();
        let refused = waiver_refusal(rule);
        let waiver = format!("waive {} \"a reason\"\n", page.slug);
        let (mut excused, mut told_so) = (false, false);
        for sample in page.parts(Part::Fails) {
            let breaches = told(sample).0.len();
            for (at, _) in sample.match_indices('\n') {
                let (before, after) = sample.split_at(at + 1);
                let found = check(&format!("{before}{waiver}{after}")).diagnostics;
                excused |= found.len() < breaches && found.iter().all(|one| one.rule == rule);
                let said = format!("`{}` cannot be waived", page.slug);
                told_so |= found.iter().any(|one| one.rule == Rule::Waive && one.message == said);
            }
        }
        let slug = &page.slug;
        assert_eq!((excused, told_so), (refused.is_none(), refused.is_some()), "{slug}");
        assert!(page.text.contains("\n## Waiving it\n"), "{slug} says what a waiver does");
    }
}

#[test]
fn the_index_says_which_rules_are_warnings() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let warnings: Vec<String> = rules()
        .filter(|rule| rule.level() == Level::Warning)
        .map(|rule| format!("`{rule}`"))
        .collect();
    let said = format!("These rules are warnings: {}.", warnings.join(", "));
    let plain = index.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain.contains(&said), "README.md says: {said}");
}

#[test]
fn the_index_says_which_rules_can_be_waived() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    for rule in rules() {
        let waivable = if waiver_refusal(rule).is_some() { "no" } else { "yes" };
        let row = format!("| `{rule}` | {waivable} | ");
        assert_eq!(index.matches(&row).count(), 1, "a row that begins with {row}");
    }
}
