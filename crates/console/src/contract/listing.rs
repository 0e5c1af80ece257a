//! The contract's own text in the document, with the numbers of its lines. The script marks the statement that answered.

use std::ops::Range;

use latchkey_language::{Span, blocks};
use maud::{Markup, html};

use super::Subject;
use crate::shown::shown;

pub(super) fn card(subject: Subject<'_>) -> Markup {
    let text = subject.model.text.as_str();
    let range = declaration(text, subject.contract.span);
    let first = subject.line(range.start);
    let lines = text.get(range).unwrap_or_default().lines().enumerate();
    html! {
        section.card aria-labelledby="text-title" {
            header {
                h2 #text-title { "In the document" }
                p.muted.small { "from line " (first) }
            }
            pre.lines tabindex="0" role="region" aria-label="Lines of the contract" {
                @for (at, line) in lines {
                    span.line id={ "L" (first + at) } data-line=(first + at) {
                        span.line-number aria-hidden="true" { (first + at) }
                        code.line-text { (colored(line)) "\n" }
                    }
                }
            }
        }
    }
}

/// The lines of the declaration whose id stands at a place. The lines within a declaration are indented deeper than its
/// first, so the first one that is not ends it, or closes it.
fn declaration(text: &str, id: Span) -> Range<usize> {
    let start = text.get(..id.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let within = |block: &latchkey_language::Block| block.text.range().contains(&id.start);
    let end = blocks(text).into_iter().find(within).map_or(text.len(), |block| block.text.end);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut own = None;
    let mut reached = start;
    for line in text.get(start..end).unwrap_or_default().split_inclusive('\n') {
        let (blank, closes) = (line.trim().is_empty(), line.trim_start().starts_with('}'));
        match own {
            None => own = Some(indent(line)),
            Some(first) if !blank && indent(line) <= first => {
                let end = if closes { reached + line.len() } else { reached };
                return start..end;
            }
            Some(_) => {}
        }
        reached += line.len();
    }
    start..reached
}

/// A piece of a line: its class and its text.
type Bit<'a> = (Option<&'static str>, &'a str);

const WORDS: [&str; 30] = [
    "contract", "worker", "input", "allow", "require", "match", "when", "else", "transact",
    "snapshot", "each", "send", "do", "on", "return", "get", "query", "put", "update", "upsert",
    "delete", "check", "where", "keep", "set", "add", "remove", "if", "retry", "waive",
];

/// A line with its comment, texts and first words in colours.
fn colored(line: &str) -> Markup {
    html! {
        @for (class, text) in bits(line) {
            @match class { Some(class) => span class=(class) { (shown(text)) }, None => (shown(text)) }
        }
    }
}

fn bits(line: &str) -> Vec<Bit<'_>> {
    let mut bits = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (class, length) = next(rest);
        let (bit, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        bits.push((class, bit));
        rest = after;
    }
    bits
}

/// The class and the length of what a line begins with.
fn next(rest: &str) -> (Option<&'static str>, usize) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if rest.starts_with("//") {
        return (Some("t-comment"), rest.len());
    }
    if let Some(inner) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        return (Some("t-text"), end.map_or(rest.len(), |(at, _)| at + 2));
    }
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if word > 0 {
        let own = rest.get(..word).unwrap_or_default();
        return (WORDS.contains(&own).then_some("t-word"), word);
    }
    let stops = |(at, c): (usize, char)| {
        (is_word(c) || c == '"' || rest.get(at..).is_some_and(|rest| rest.starts_with("//")))
            .then_some(at)
    };
    (None, rest.char_indices().find_map(stops).unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_ends_where_the_next_begins() {
        let text = "x\n```contract\nentity E {\n  a id\n}\n\ncontract A \"a\" {\n  GET /a\n\n  return a\n}\ncontract B \"b\" { GET /b }\nrole c\n```\nend\n";
        let of = |id: &str| {
            let at = text.find(id).unwrap();
            text.get(declaration(text, Span::new(at, at + 1))).unwrap()
        };
        assert_eq!(of("A \"a\""), "contract A \"a\" {\n  GET /a\n\n  return a\n}\n");
        assert_eq!(of("B \"b\""), "contract B \"b\" { GET /b }\n");
        assert_eq!(of("c\n```"), "role c\n");
    }

    #[test]
    fn a_line_keeps_every_character() {
        for line in [
            "  put E { a } if absent else 409 x-y \"a \\\" // b\" // c",
            "\"open",
            "",
            "ü // \"",
            "a/b // c",
        ] {
            let all: String = bits(line).into_iter().map(|(_, text)| text).collect();
            assert_eq!(all, line);
        }
        assert_eq!(
            bits("put x \"a // b\" // c"),
            [
                (Some("t-word"), "put"),
                (None, " "),
                (None, "x"),
                (None, " "),
                (Some("t-text"), "\"a // b\""),
                (None, " "),
                (Some("t-comment"), "// c")
            ]
        );
    }
}
