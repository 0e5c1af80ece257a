//! A `contract` block as its source: numbered lines, with the words coloured by what they are.

use maud::{Markup, html};

use super::finding::{self, Finding};
use crate::shown::content;

/// The words that the language gives a meaning.
const KEYWORDS: &[&str] = &[
    "absent",
    "accepted",
    "add",
    "all",
    "allow",
    "and",
    "any",
    "ascending",
    "as",
    "at",
    "batch",
    "begins_with",
    "between",
    "burst",
    "by",
    "cache",
    "caller",
    "check",
    "consistency",
    "contract",
    "copies",
    "cost",
    "counter",
    "dead",
    "delete",
    "descending",
    "done",
    "each",
    "else",
    "entity",
    "eventual",
    "expect",
    "expires",
    "fail",
    "first",
    "get",
    "gives",
    "guarded",
    "holds",
    "idempotent",
    "if",
    "implies",
    "in",
    "index",
    "input",
    "invariant",
    "is",
    "item",
    "items",
    "keep",
    "kept",
    "later",
    "lease",
    "limit",
    "match",
    "max",
    "moves",
    "new",
    "not",
    "now",
    "of",
    "on",
    "open",
    "or",
    "order",
    "ordered",
    "owns",
    "page",
    "per",
    "present",
    "put",
    "query",
    "queue",
    "rate",
    "reading",
    "refused",
    "remove",
    "replace",
    "require",
    "retry",
    "return",
    "role",
    "secret",
    "send",
    "set",
    "snapshot",
    "steps",
    "strong",
    "system",
    "table",
    "the",
    "through",
    "to",
    "transact",
    "tries",
    "ttl",
    "type",
    "unchanged",
    "unique",
    "update",
    "upsert",
    "view",
    "waive",
    "when",
    "where",
    "with",
    "worker",
];

/// The words that begin a request.
const METHODS: &[&str] = &["GET", "PUT", "POST", "PATCH", "DELETE"];

/// A run of characters of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece<'a> {
    /// The class of its colour; empty for text without one.
    class: &'static str,
    text: &'a str,
}

/// A run of lines of a block, and the contract that ends in it.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// The number of the first line.
    pub(crate) first: usize,
    pub(crate) lines: Vec<&'a str>,
    /// The line in which a contract of it is declared.
    pub(crate) contract: Option<usize>,
}

/// Splits a block behind each contract. `declared` are the lines in which contracts are declared.
pub(crate) fn parts<'a>(text: &'a str, first: usize, declared: &[usize]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let (mut part, mut depth, mut open) =
        (Part { first, lines: Vec::new(), contract: None }, 0i64, false);
    for (number, line) in (first..).zip(text.lines()) {
        if part.lines.is_empty() && line.trim().is_empty() && !parts.is_empty() {
            // The space between two contracts is that of the page.
            part.first = number + 1;
            continue;
        }
        part.lines.push(line);
        if declared.contains(&number) {
            part.contract = Some(number);
            open = true;
        }
        depth += braces(line);
        if open && depth <= 0 {
            let next = Part { first: number + 1, lines: Vec::new(), contract: None };
            parts.push(std::mem::replace(&mut part, next));
            open = false;
        }
    }
    if !part.lines.is_empty() {
        parts.push(part);
    }
    parts
}

/// How many more braces a line opens than it closes.
fn braces(line: &str) -> i64 {
    let marks = pieces(line).into_iter().filter(|piece| piece.class.is_empty());
    let count = |piece: Piece<'_>| -> i64 {
        piece
            .text
            .chars()
            .map(|c| match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            })
            .sum()
    };
    marks.map(count).sum()
}

/// Lines with their numbers and what the check tells of them.
pub(crate) fn markup(part: &Part<'_>, findings: &[Finding]) -> Markup {
    html! {
        ol.source start=(part.first) {
            @for (number, line) in (part.first..).zip(&part.lines) {
                @let told: Vec<&Finding> = findings.iter().filter(|finding| finding.line == number).collect();
                li id={ "L" (number) } class=[(!told.is_empty()).then_some("told")] {
                    code { (coloured(line)) }
                    @for one in told { (finding::markup(one)) }
                }
            }
        }
    }
}

/// A line with its words in their colours.
pub(crate) fn coloured(line: &str) -> Markup {
    html! {
        @for piece in pieces(line) {
            @if piece.class.is_empty() { (content(piece.text)) } @else { span class=(piece.class) { (content(piece.text)) } }
        }
    }
}

/// The runs of a line, which together are the line.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    let (mut rest, mut spaced) = (line, true);
    while let Some(next) = rest.chars().next() {
        let (class, length) = piece(rest, next, spaced);
        let (text, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if class == "s" {
            strings(text, &mut all)
        } else {
            all.push(Piece { class, text })
        }
        spaced = text.ends_with(char::is_whitespace);
        rest = behind;
    }
    all
}

/// What a run is, and how long. `spaced`: whether a space stands before it.
fn piece(rest: &str, next: char, spaced: bool) -> (&'static str, usize) {
    let until = |ends: fn(char) -> bool| rest.find(ends).unwrap_or(rest.len()).max(next.len_utf8());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match next {
        _ if rest.starts_with("//") => ("c", rest.len()),
        '"' => ("s", text_length(rest)),
        '/' if spaced => ("p", until(char::is_whitespace)),
        c if c.is_ascii_digit() => ("n", until(|c| !(c.is_ascii_alphanumeric() || c == '.'))),
        c if is_word(c) && c != '-' => {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            let constant = word.len() > 1
                && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit());
            let class = match word {
                word if METHODS.contains(&word) => "m",
                word if KEYWORDS.contains(&word) => "k",
                _ if constant => "v",
                word if word.starts_with(|c: char| c.is_ascii_uppercase()) => "e",
                _ => "",
            };
            (class, length)
        }
        c if c.is_whitespace() => ("", until(|c| !c.is_whitespace())),
        c => ("", c.len_utf8()),
    }
}

/// The length of a text in quotes, with them.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// The runs of a text in quotes: what is in braces has a colour of its own.
fn strings<'a>(text: &'a str, all: &mut Vec<Piece<'a>>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (class, length) = match (rest.starts_with('{'), rest.find('}'), rest.find('{')) {
            (true, Some(end), _) => ("h", end + 1),
            (true, None, _) => ("s", rest.len()),
            (false, _, Some(start)) => ("s", start),
            (false, _, None) => ("s", rest.len()),
        };
        let (text, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        all.push(Piece { class, text });
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_colours() {
        let classes = |line: &str| -> Vec<(&str, String)> {
            let all = pieces(line).into_iter().filter(|piece| !piece.text.trim().is_empty());
            all.map(|piece| (piece.class, piece.text.to_owned())).collect()
        };
        let told = classes("  PK = \"A#{a}\" // x");
        let told: Vec<(&str, &str)> =
            told.iter().map(|(class, text)| (*class, text.as_str())).collect();
        let expected =
            [("v", "PK"), ("", "="), ("s", "\"A#"), ("h", "{a}"), ("s", "\""), ("c", "// x")];
        assert_eq!(told, expected);
        assert_eq!(classes("GET /a/{b}"), [("m", "GET".to_owned()), ("p", "/a/{b}".to_owned())]);
        assert_eq!(classes("rate 1/s").first(), Some(&("k", "rate".to_owned())));
    }

    #[test]
    fn no_character_is_lost() {
        for line in ["\"open {", "é \"ü{x\\\"}\" ✓", "a-b--c 1.5s/x //", "\\", "{\"", "- /", "\"\\"]
        {
            let joined: String = pieces(line).iter().map(|piece| piece.text).collect();
            assert_eq!(joined, line);
        }
    }

    #[test]
    fn a_block_is_split_behind_its_contracts() {
        let text = "a\n\ncontract A {\n  x \"}\"\n}\n\ncontract B { }\nz\n";
        let told: Vec<(usize, usize, Option<usize>)> = parts(text, 10, &[12, 16])
            .iter()
            .map(|part| (part.first, part.lines.len(), part.contract))
            .collect();
        assert_eq!(told, [(10, 5, Some(12)), (16, 1, Some(16)), (17, 1, None)]);
    }
}
