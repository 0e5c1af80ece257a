//! The patterns of texts, as JSON Schema writes them: ECMA 262, the whole text between `^` and `$`.
//!
//! A `like` is a regular expression of Rust. The two differ in what `.` and `$` mean, so the pattern is written anew from
//! what it matches, in what both, and Python, read alike. Many tools read patterns without JavaScript's flag `u`, where a
//! character beyond U+FFFF is two. What is written means the same with the flag and without: such a character stands
//! alone, never in brackets or under a count, and no range spans the surrogates.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// The most characters beyond U+FFFF of a class that are written one by one.
const PAIRS_MAX: usize = 32;

/// The last character before the surrogates, and the first behind them.
const SURROGATES: (char, char) = ('\u{D7FF}', '\u{E000}');

/// Whether UTF-16, and so a pattern without the flag `u`, takes two units for a character.
fn is_pair(character: char) -> bool {
    u32::from(character) > 0xFFFF
}

/// A pattern as JSON Schema writes it.
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// Whether all that it matches is ASCII, so that characters are bytes.
    pub(crate) is_ascii: bool,
}

/// The pattern of a `like`; nothing where it cannot be written so, or is no pattern.
pub(crate) fn pattern(like: &str) -> Option<Pattern> {
    let hir = regex_syntax::parse(&latchkey_model::written_pattern(like).ok()?).ok()?;
    let mut written = Pattern { text: String::from("^"), is_ascii: true };
    written.write(&hir, matches!(hir.kind(), HirKind::Alternation(_)))?;
    written.text.push('$');
    Some(written)
}

impl Pattern {
    /// Writes an expression, in parentheses if it is to be taken as one.
    fn write(&mut self, hir: &Hir, grouped: bool) -> Option<()> {
        if grouped {
            self.text.push_str("(?:");
        }
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                for character in std::str::from_utf8(&literal.0).ok()?.chars() {
                    self.character(character, false);
                }
            }
            HirKind::Class(Class::Unicode(class)) => self.class(class)?,
            HirKind::Class(Class::Bytes(class)) => self.class(&class.to_unicode_class()?)?,
            HirKind::Look(Look::Start) => self.text.push('^'),
            HirKind::Look(Look::End) => self.text.push('$'),
            // What a word is, the two see differently.
            HirKind::Look(_) => return None,
            HirKind::Repetition(repetition) => {
                let sub = &*repetition.sub;
                let single = match sub.kind() {
                    HirKind::Class(_) | HirKind::Capture(_) => true,
                    HirKind::Literal(literal) => {
                        let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
                        chars.next().is_some_and(|one| !is_pair(one)) && chars.next().is_none()
                    }
                    _ => false,
                };
                self.write(sub, !single)?;
                self.text.push_str(&match (repetition.min, repetition.max) {
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (least, None) => format!("{{{least},}}"),
                    (least, Some(most)) if least == most => format!("{{{least}}}"),
                    (least, Some(most)) => format!("{{{least},{most}}}"),
                });
            }
            HirKind::Capture(capture) => self.write(&capture.sub, true)?,
            HirKind::Concat(parts) => {
                for part in parts {
                    self.write(part, matches!(part.kind(), HirKind::Alternation(_)))?;
                }
            }
            HirKind::Alternation(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        self.text.push('|');
                    }
                    self.write(part, false)?;
                }
            }
        }
        if grouped {
            self.text.push(')');
        }
        Some(())
    }

    fn class(&mut self, class: &ClassUnicode) -> Option<()> {
        // All characters that are pairs, or none: brackets can have no others.
        let open = class.ranges().last().is_some_and(|last| last.end() == char::MAX);
        self.is_ascii &= class.ranges().last().is_none_or(|last| last.end().is_ascii());
        let mut shown = class.clone();
        if open {
            shown.negate();
        }
        let ranges = shown.ranges();
        match (ranges, open) {
            // Nothing is matched by it.
            ([], false) => return None,
            ([], true) => {
                self.text.push_str(r"[\s\S]");
                return Some(());
            }
            ([one], false) if one.start() == one.end() && !is_pair(one.start()) => {
                self.character(one.start(), false);
                return Some(());
            }
            _ => {}
        }
        let pairs: Vec<char> = ranges
            .iter()
            .filter(|range| is_pair(range.end()))
            .flat_map(|range| range.start()..=range.end())
            .take(PAIRS_MAX + 1)
            .collect();
        match pairs.as_slice() {
            [] => self.brackets(ranges, open),
            // A range that begins below U+10000 has more than these, too.
            pairs if open || pairs.len() > PAIRS_MAX => return None,
            pairs => self.one_of(ranges, pairs),
        }
        Some(())
    }

    /// Some characters beyond U+FFFF, each by itself, and others in brackets.
    fn one_of(&mut self, ranges: &[ClassUnicodeRange], pairs: &[char]) {
        self.text.push_str("(?:");
        let others: Vec<ClassUnicodeRange> =
            ranges.iter().filter(|range| !is_pair(range.end())).copied().collect();
        if !others.is_empty() {
            self.brackets(&others, false);
            self.text.push('|');
        }
        for (at, pair) in pairs.iter().enumerate() {
            if at > 0 {
                self.text.push('|');
            }
            self.character(*pair, false);
        }
        self.text.push(')');
    }

    fn brackets(&mut self, ranges: &[ClassUnicodeRange], negated: bool) {
        self.text.push_str(if negated { "[^" } else { "[" });
        for range in ranges {
            let spans = range.start() < SURROGATES.0 && range.end() > SURROGATES.1;
            match spans {
                true => {
                    self.range(range.start(), SURROGATES.0);
                    self.range(SURROGATES.1, range.end());
                }
                false => self.range(range.start(), range.end()),
            }
        }
        self.text.push(']');
    }

    fn range(&mut self, start: char, end: char) {
        self.character(start, true);
        if start < end {
            if u32::from(end) > u32::from(start) + 1 {
                self.text.push('-');
            }
            self.character(end, true);
        }
    }

    fn character(&mut self, character: char, in_class: bool) {
        self.is_ascii &= in_class || character.is_ascii();
        match character {
            '\n' => self.text.push_str(r"\n"),
            '\r' => self.text.push_str(r"\r"),
            '\t' => self.text.push_str(r"\t"),
            '-' if in_class => self.text.push_str(r"\-"),
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => {
                self.text.push('\\');
                self.text.push(character);
            }
            // What cannot be seen is written by its number.
            c if c.is_control() || (c.is_whitespace() && c != ' ') => {
                self.text.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => self.text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn of(like: &str) -> String {
        pattern(like).map_or_else(|| "none".to_owned(), |pattern| pattern.text)
    }

    #[test]
    fn a_pattern_is_written_for_the_whole_text() {
        assert_eq!(of("[a-z0-9-]{3,64}"), r"^[\-0-9a-z]{3,64}$");
        assert_eq!(of(".+"), r"^[^\n]+$");
        assert_eq!(of("[^#]+"), "^[^#]+$");
        assert_eq!(of("a|b.c?"), r"^(?:a|b[^\n]c?)$");
        assert_eq!(of("(a|bc)*x"), r"^(?:a|bc)*x$");
        assert_eq!(of("(ab)?"), "^(?:ab)?$");
        assert_eq!(of("^a$"), "^^a$$");
        assert_eq!(of("[A-F0-9]{2}-[à-ÿ]"), "^[0-9A-F]{2}-[à-ÿ]$");
        assert_eq!(of(r"\d{15}"), "^[0-9]{15}$");
        assert_eq!(of(r"[\w-]\D\s"), r"^[\-0-9A-Z_a-z][^0-9][\t-\r ]$");
        assert_eq!(of(r"a\b"), "none");
        assert_eq!(of("(?m)^a"), "none");
        assert_eq!(of("("), "none");
    }

    #[test]
    fn what_is_ascii_is_known() {
        for (like, is_ascii) in
            [("[a-z]", true), (".", false), ("é", false), (r"\d", true), (r"\W", false)]
        {
            assert_eq!(pattern(like).map(|pattern| pattern.is_ascii), Some(is_ascii), "{like}");
        }
    }

    #[test]
    fn characters_beyond_the_first_plane_need_no_flag() {
        assert_eq!(of("😀+"), "^(?:😀)+$");
        assert_eq!(of("[a-c😀😁]{2}"), "^(?:[a-c]|😀|😁){2}$");
        assert_eq!(of(r"[\u{1F600}-\u{1F64F}]"), "none");
        assert_eq!(of("[^😀]"), "none");
        assert_eq!(of(r"[!-\u{FFFD}]"), "^[!-\u{D7FF}\u{E000}-\u{FFFD}]$");
        assert_eq!(of(r"[^!-\u{FFFD}]"), "^[^!-\u{D7FF}\u{E000}-\u{FFFD}]$");
    }

    proptest! {
        #[test]
        fn it_matches_what_the_like_matches(
            like in "([a-c.]|\\[[a-c^-]c\\]|\\([ab]\\|[bc]?\\)|[ab][*+?]|é){1,6}",
            text in "[a-cé\n-]{0,8}",
        ) {
            let whole = Regex::new(&format!(r"\A(?:{like})\z"));
            if let (Ok(whole), Some(pattern)) = (whole, pattern(&like)) {
                let written = Regex::new(&pattern.text).unwrap();
                prop_assert_eq!(whole.is_match(&text), written.is_match(&text), "{}", pattern.text);
            }
        }
    }
}
