//! One run tells all: ten mistakes, ten reports, each at its line of the Markdown file.

use latchkey_model::check;

const TEN: &str = include_str!("ten-mistakes.md");

fn told(text: &str) -> Vec<(usize, &'static str)> {
    let found = check(text).diagnostics;
    let line = |at: usize| latchkey_cli::line_and_column(text, at).0;
    found.iter().map(|one| (line(one.span.start), one.rule.slug())).collect()
}

/// The line of the document that holds a text, which it holds once.
fn line_of(part: &str) -> usize {
    assert_eq!(TEN.matches(part).count(), 1, "{part}");
    TEN.lines().position(|line| line.contains(part)).unwrap() + 1
}

fn expected() -> Vec<(usize, &'static str)> {
    vec![
        (line_of("PK = \"PLACE#{place}\""), "forged-key"),
        (line_of("SK = \"FIND#{no}\""), "key-order"),
        (line_of("finds = query FinderFind"), "unbounded"),
        (line_of("claims = query Claim"), "scan"),
        (line_of("require find.state == KEPT"), "unmapped-failure"),
        (line_of("require find.state == KEPT") + 1, "stale-copy"),
        (line_of("set finder = newFinder") - 1, "missing-bump"),
        (line_of("contract L-6"), "undeclared"),
        (line_of("claim = put Claim"), "no-allow"),
        (line_of("update claim set reason"), "unpinned"),
    ]
}

#[test]
fn ten_mistakes_are_told_in_one_run() {
    assert_eq!(told(TEN), expected());
}

#[test]
fn a_brace_that_is_missing_hides_little_and_floods_nothing() {
    let braces: Vec<usize> = TEN.match_indices('}').map(|(at, _)| at).collect();
    let closing = |at: &&usize| {
        let line = TEN.get(..**at).unwrap().rsplit('\n').next().unwrap();
        line.trim().is_empty()
    };
    for at in braces.iter().filter(closing) {
        let mut text = TEN.to_owned();
        text.replace_range(*at..*at + 1, "");
        let told = told(&text);
        assert!(told.iter().any(|(_, rule)| *rule == "syntax"), "{told:?}");
        let kept = expected().iter().filter(|one| told.contains(one)).count();
        let line = latchkey_cli::line_and_column(TEN, *at).0;
        assert!(kept >= 8, "without the brace of line {line}, {kept} are told: {told:?}");
        assert!(told.len() <= 13, "without the brace of line {line}: {told:?}");
    }
}
