use std::collections::{HashMap, HashSet};

use latchkey_value::Format;
use proptest::prelude::*;

use super::*;
use crate::lower::pattern;
use crate::types::Type;

fn language(pattern: &str) -> Language {
    of_pattern(pattern).unwrap_or_else(|_| panic!("`{pattern}` is not a pattern"))
}

/// Every text over a few characters up to a length.
fn texts(characters: &str, length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let longer = |text: &String| {
            let text = text.clone();
            characters.chars().map(move |c| format!("{text}{c}"))
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.clone());
    }
    all
}

/// The texts up to a length that a pattern matches as a whole, as the runtime matches.
fn matched(like: &str, all: &[String]) -> Vec<String> {
    let pattern = pattern(like).unwrap();
    all.iter().filter(|text| pattern.is_match(text)).cloned().collect()
}

fn holds(automaton: &Automaton, text: &str) -> bool {
    let mut at = HashSet::from([Automaton::START]);
    for byte in text.bytes() {
        let steps = at.iter().flat_map(|state| automaton.steps(*state));
        at = steps.filter(|(bytes, _)| bytes.contains(byte)).map(|(_, to)| to).collect();
    }
    at.iter().any(|state| automaton.accepts(*state))
}

/// Patterns over `a`, `b`, `#` and `é`: concatenation, alternation, classes, counts and loops.
fn patterns() -> impl Strategy<Value = String> {
    let one = prop::sample::select(vec!["a", "b", "#", "é", "[ab]", "[^#]", ".", "[a#]", "(?:)"]);
    one.prop_map(str::to_owned).prop_recursive(3, 8, 3, |inner| {
        let count = prop::sample::select(vec!["?", "*", "+", "{2}", "{1,2}", "{0,3}", "{2,}"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("({})", parts.join("|"))),
            (inner, count).prop_map(|(inner, count)| format!("(?:{inner}){count}")),
        ]
    })
}

const CHARACTERS: &str = "ab#é";

proptest! {
    #[test]
    fn a_language_holds_the_texts_that_its_pattern_matches(like in patterns()) {
        let all = texts(CHARACTERS, 4);
        let matched: HashSet<String> = matched(&like, &all).into_iter().collect();
        let language = language(&like);
        let automaton = Automaton::new(&language);
        prop_assert_eq!(language.has_empty(), matched.contains(""));
        for text in &all {
            prop_assert_eq!(holds(&automaton, text), matched.contains(text), "{} {}", like, text);
            if matched.contains(text) {
                prop_assert!(text.bytes().all(|byte| language.alphabet().contains(byte)));
                let text = text.as_bytes();
                prop_assert!(text.starts_with(&language.beginning()));
                prop_assert!(language.infimum().as_slice() <= text);
                prop_assert!(text <= language.supremum().as_slice());
            }
        }
    }

    #[test]
    fn two_languages_meet_where_they_share_a_text(a in patterns(), b in patterns()) {
        let all = texts(CHARACTERS, 4);
        let theirs: HashSet<_> = matched(&b, &all).into_iter().collect();
        let shared = matched(&a, &all).iter().any(|text| theirs.contains(text));
        let meets = language(&a).meets(&language(&b));
        prop_assert!(meets || !shared);
        // Without counts, a pattern matches no text that is longer than itself: all of them can be tried.
        let bounded = |like: &str| !like.contains(['*', '+', '{']) && like.len() <= 6;
        if bounded(&a) && bounded(&b) {
            let all = texts(CHARACTERS, 6);
            let theirs: HashSet<_> = matched(&b, &all).into_iter().collect();
            let shared = matched(&a, &all).iter().any(|text| theirs.contains(text));
            prop_assert_eq!(meets, shared, "{} and {}", a, b);
        }
    }

    #[test]
    fn a_range_is_met_where_a_text_lies_in_it(
        like in patterns(),
        low in "[ab#]{0,4}",
        high in "[ab#]{0,4}",
    ) {
        let all = texts(CHARACTERS, 4);
        let inside = matched(&like, &all).iter().any(|text| low <= *text && *text <= high);
        let met = language(&like).meets_range(low.as_bytes(), high.as_bytes());
        prop_assert!(met || !inside);
        prop_assert!(!met || low <= high);
    }

    #[test]
    fn a_text_is_split_in_two_ways_or_never(first in patterns(), rest in patterns()) {
        let all = texts("a#é", 3);
        let mut made: HashMap<String, usize> = HashMap::new();
        for one in matched(&first, &all) {
            for other in matched(&rest, &all) {
                *made.entry(format!("{one}{other}")).or_default() += 1;
            }
        }
        let twice = made.values().any(|ways| *ways > 1);
        match splits(&language(&first), &language(&rest)) {
            Splits::Never => prop_assert!(!twice, "{} then {}", first, rest),
            Splits::TooLarge => prop_assert!(false, "{} then {}", first, rest),
            // The text that is told is one: both parts match, both ways.
            Splits::Twice(split) => {
                let text = String::from_utf8(split.text).unwrap();
                prop_assert!(split.short < split.long);
                for at in [split.short, split.long] {
                    let (one, other) = text.split_at(at);
                    prop_assert!(pattern(&first).unwrap().is_match(one), "{} {}", first, one);
                    prop_assert!(pattern(&rest).unwrap().is_match(other), "{} {}", rest, other);
                }
            }
        }
    }
}

#[test]
fn the_plainest_byte_is_a_letter_a_digit_or_a_sign() {
    for (bytes, plainest) in [("#0Zz", b'z'), ("#0Z", b'0'), ("# Z", b'#'), (" ", b' ')] {
        assert_eq!(Bytes::of(bytes.bytes()).plainest(), Some(plainest));
    }
    assert_eq!(Bytes::NONE.plainest(), None);
}

#[test]
fn known_keys_meet_as_they_should() {
    let template = |prefix: &str| Language::literal(prefix).then(language("[a-z]+"));
    assert!(template("RES#").then_anything().meets(&template("RES#")));
    assert!(!template("RES#").meets(&Language::literal("RES#ACTIVE")));
    assert!(Language::literal("RES#").then_anything().meets(&Language::literal("RES#ACTIVE")));
    assert!(!Language::literal("RES#ACTIVE").meets_range(b"RES#0000", b"RES#9999~"));
    assert!(Language::literal("RES#ACTIVE").meets_range(b"RES#0000", b"RES#Z"));
}

#[test]
fn what_a_language_leaves_out_only_adds_texts() {
    // Anchors and boundaries are left out, long counts are loops, large classes hold all that is not ASCII.
    for (like, text) in [
        ("^a$", "a"),
        (r"a\b", "a"),
        ("[a-z]{3,2000}", "abc"),
        ("([a-z]{1,60}-){1,60}[a-z]", "a-b-c"),
        (r"\w{1,8}", "a_9"),
        (r"[^\w#]{1,8}", "ñ日"),
        ("(?i)straße", "STRAßE"),
        (r"\d{4}-\d{2}", "2026-02"),
    ] {
        assert!(pattern(like).unwrap().is_match(text), "{like}");
        assert!(holds(&Automaton::new(&language(like)), text), "{like}");
    }
    assert!(!language(r"\w{1,8}").alphabet().contains(b'#'));
    // It held the digits of every script, and so did the pattern.
    for (like, text) in [(r"\d", "٣"), (r"\w", "é"), (r"\s", "\u{a0}")] {
        assert!(!pattern(like).unwrap().is_match(text), "{like}");
        assert!(!holds(&Automaton::new(&language(like)), text), "{like}");
    }
    assert!(
        !holds(&Automaton::new(&language("[a-z]{3,64}")), "ab"),
        "counts that are not long are exact"
    );
}

#[test]
fn a_pattern_stands_by_itself() {
    // `a)|(b` was read as `\A(?:a)|(b)\z`, and so matched whatever begins with `a`.
    for like in ["a)|(b", "(a", "[a-z", "(?x)a#"] {
        assert!(pattern(like).is_err(), "{like}");
    }
    let words: Vec<String> = (0..400).map(|n| format!("w{n}")).collect();
    assert_eq!(pattern(&words.join("|")).err().as_deref(), Some("it is too large"));
}

#[test]
fn a_text_of_known_form_is_always_like_what_holds_all_of_it() {
    let month = Type::Time.language(Some(Format::Month));
    for like in [
        "[0-9]{4}-[0-9]{2}",
        "[0-9-]{7}",
        "[0-9-]+",
        "\\d{4}.\\d\\d",
        ".*",
        "([0-9]{4})-[0-9]{1,2}",
    ] {
        assert!(is_always_like(&month, like), "{like}");
    }
    // Of `\b` and of a long count only a larger language is known.
    for like in [
        "[0-9]{4}-[01][0-9]",
        "[0-9]{4}",
        "[0-9-]{8}",
        "[a-z]+",
        "[0-9]{4}\\b-[0-9]{2}",
        "([0-9-]{1,999}){0,9}",
        "(",
    ] {
        assert!(!is_always_like(&month, like), "{like}");
    }
}

proptest! {
    #[test]
    fn a_language_is_within_another_if_no_text_is_outside(a in patterns(), b in patterns()) {
        let (a, b) = (language(&a), language(&b));
        let (own, other) = (Automaton::new(&a), Automaton::new(&b));
        let outside = texts(CHARACTERS, 4).into_iter().find(|text| holds(&own, text) && !holds(&other, text));
        prop_assert!(!a.is_within(&b) || outside.is_none(), "{outside:?}");
        prop_assert!(a.is_within(&a));
    }
}
