//! Where the example blocks of a document stand: their lines, and the headings above them.

use latchkey_language::Span;
use latchkey_language::ast::Example;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::recording::{Block, Statement};

/// The blocks of a document, each with the heading above it.
pub(crate) fn blocks(text: &str, examples: &[Example]) -> Vec<Block> {
    let headings = headings(text);
    let titled = examples.iter().map(|example| {
        let at = headings.partition_point(|(start, _)| *start < example.span.start);
        let title = at.checked_sub(1).and_then(|before| headings.get(before));
        let title = title.map_or_else(String::new, |(_, title)| title.clone());
        Block { title, line: line(text, example.span.start) }
    });
    titled.collect()
}

/// The headings of a document: where each begins, and its text.
fn headings(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open) = (Vec::new(), None::<(usize, String)>);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { .. }), _) => open = Some((range.start, String::new())),
            (Event::Text(part) | Event::Code(part), Some((_, title))) => title.push_str(&part),
            (Event::End(TagEnd::Heading(_)), _) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

/// The line of a place, from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// A statement of a document, in its whole lines.
pub(crate) fn statement(text: &str, at: Span) -> Statement {
    let before = text.get(..at.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text.get(at.end..).unwrap_or_default();
    let end = at.end + rest.find('\n').unwrap_or(rest.len());
    let lines = text.get(start..end).unwrap_or_default();
    Statement { line: line(text, at.start), text: lines.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_heading_above_it() {
        let text = "# A\n\n```example\nas nobody\n```\n\n### B `c`\n\ntext\n\n```example\nas nobody\n```\n";
        let parsed = latchkey_language::parse(text);
        let found = blocks(text, &parsed.document.examples);
        let found: Vec<(&str, usize)> =
            found.iter().map(|block| (block.title.as_str(), block.line)).collect();
        let lines: Vec<usize> = found.iter().map(|(_, line)| *line).collect();
        assert_eq!(found.iter().map(|(title, _)| *title).collect::<Vec<_>>(), ["A", "B c"]);
        assert!(lines[0] < 7 && lines[1] > 9, "{lines:?}");
    }
}
