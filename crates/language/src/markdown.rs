//! The fenced blocks of a Markdown file.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::Span;

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Declarations.
    Contract,
    /// Requests and the answers they must get.
    Example,
    /// Requests that fill a store and go on, to look at.
    Demo,
}

/// A fenced block marked `contract`, `example` or `demo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// What it is for.
    pub kind: BlockKind,
    /// Its text, between the fences.
    pub text: Span,
    /// The line that opens it.
    pub opening: Span,
    /// Whether a fence closes it; otherwise it runs to the end of the file.
    pub closed: bool,
}

impl BlockKind {
    /// What the first word behind a fence says.
    fn of(info: &str) -> Option<BlockKind> {
        match info.split_whitespace().next() {
            Some("contract") => Some(BlockKind::Contract),
            Some("example") => Some(BlockKind::Example),
            Some("demo") => Some(BlockKind::Demo),
            _ => None,
        }
    }
}

/// The line of a block that is not read, though its mark is nearly one that is; and what was meant.
pub(crate) struct Misspelt {
    pub(crate) opening: Span,
    pub(crate) meant: &'static str,
}

/// What a mark is nearly: in other letters, in the plural, or with one letter wrong.
fn nearly(info: &str) -> Option<&'static str> {
    let word = info.split_whitespace().next()?.to_lowercase();
    let is_near = |mark: &&str| strsim::damerau_levenshtein(&word, mark) <= 1;
    // Four letters are near to many words, so of `demo` the plural and other letters alone are.
    let demo = matches!(word.as_str(), "demo" | "demos").then_some("demo");
    ["contract", "example"].into_iter().find(is_near).or(demo)
}

/// The blocks of a file that Latchkey reads, in order.
///
/// A fence within a quotation or an HTML comment is not read: the first quotes another document, the second is
/// commented out.
pub fn blocks(text: &str) -> Vec<Block> {
    scan(text).0
}

/// The blocks of a file, and those that are nearly blocks.
pub(crate) fn scan(text: &str) -> (Vec<Block>, Vec<Misspelt>) {
    let (mut blocks, mut misspelt) = (Vec::new(), Vec::new());
    let mut quotations = 0usize;
    // The current block, and where its text ends so far.
    let mut open: Option<(BlockKind, Range<usize>, usize)> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotations += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotations = quotations.saturating_sub(1),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if quotations == 0 => {
                let start = range.start;
                let kind = BlockKind::of(&info);
                if let (None, Some(meant)) = (kind, nearly(&info)) {
                    misspelt.push(Misspelt { opening: opening(text, start), meant });
                }
                open = kind.map(|kind| (kind, range, start));
            }
            Event::Text(_) => {
                if let Some((_, _, end)) = &mut open {
                    *end = range.end;
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                blocks.extend(open.take().map(|(kind, range, end)| block(text, kind, range, end)));
            }
            _ => {}
        }
    }
    (blocks, misspelt)
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// The line in which a block begins, without its end.
fn opening(text: &str, at: usize) -> Span {
    let start = line_start(text, at);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    Span::new(start, start + line.len())
}

/// A block of a range of the file, with the end of its text.
fn block(text: &str, kind: BlockKind, range: Range<usize>, text_end: usize) -> Block {
    let start = line_start(text, range.start);
    let line = text.get(start..).and_then(|rest| rest.split_inclusive('\n').next());
    let begin = start + line.unwrap_or_default().len();
    // The closing fence follows the text, if there is one.
    let rest = text.get(text_end.max(begin)..range.end).unwrap_or_default();
    let closed = !rest.trim().is_empty();
    let end = if closed { line_start(text, range.end) } else { range.end };
    let opening = opening(text, range.start);
    Block { kind, text: Span::new(begin, end.max(begin)), opening, closed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<(BlockKind, &str, bool)> {
        let text = |block: &Block| markdown.get(block.text.range()).unwrap();
        blocks(markdown).iter().map(|block| (block.kind, text(block), block.closed)).collect()
    }

    #[test]
    fn finds_the_blocks_that_are_marked() {
        use BlockKind::{Contract, Example};
        let markdown = "# A\n```contract\na\nb\n```\n\n~~~~ example x\n```\n~~~\n~~~~\n```json\n```contract\n```\n";
        assert_eq!(texts(markdown), [(Contract, "a\nb\n", true), (Example, "```\n~~~\n", true)]);
    }

    #[test]
    fn a_mark_that_is_nearly_one_is_told() {
        let meant = |markdown: &str| -> Vec<&str> {
            scan(markdown).1.iter().map(|misspelt| misspelt.meant).collect()
        };
        for mark in ["contracts", "Contract", "CONTRACT x", "contarct", "contrct"] {
            assert_eq!(meant(&format!("a\n```{mark}\nb\n```\n")), ["contract"], "{mark}");
        }
        for mark in ["examples", "Example", "~example"] {
            assert_eq!(meant(&format!("```{mark}\n```\n")), ["example"], "{mark}");
        }
        for mark in ["demos", "Demo"] {
            assert_eq!(meant(&format!("```{mark}\n```\n")), ["demo"], "{mark}");
        }
        for mark in ["contract", "example", "demo", "json", "", "text", "context", "sample", "memo"]
        {
            assert_eq!(meant(&format!("```{mark}\n```\n")), [""; 0], "{mark}");
        }
        assert_eq!(meant("> ```contracts\n> ```\n"), [""; 0], "quoted");
        let opening = scan("a\n```contracts\nb\n```\n").1.first().map(|one| one.opening);
        assert_eq!(opening, Some(Span::new(2, 14)));
    }

    #[test]
    fn an_open_block_runs_to_the_end() {
        assert_eq!(texts("```contract\r\na"), [(BlockKind::Contract, "a", false)]);
        assert_eq!(texts("```contract"), [(BlockKind::Contract, "", false)]);
        assert_eq!(texts("    ```contract\na\n"), []);
    }

    #[test]
    fn what_is_commented_out_or_quoted_is_not_read() {
        // Regression: a block within an HTML comment was read.
        let block = "```contract\na\n```\n";
        assert_eq!(texts(&format!("<!--\n{block}-->\n")), []);
        assert_eq!(texts(&format!("<!-- until spring:\n\n{block}\n-->\n")), []);
        assert_eq!(texts(&format!("<!--\n{block}")), [], "a comment runs to the end");
        assert_eq!(texts("> ```contract\n> a\n> ```\n"), []);
        let after = format!("<!-- nothing -->\n\n{block}");
        assert_eq!(texts(&after), [(BlockKind::Contract, "a\n", true)]);
        let comment = "```contract\n<!--\n```\n```contract\n-->\n```\n";
        let (open, close) =
            ((BlockKind::Contract, "<!--\n", true), (BlockKind::Contract, "-->\n", true));
        assert_eq!(texts(comment), [open, close], "within a block it is text");
    }

    #[test]
    fn spans_point_into_the_file() {
        let cases = [
            ("```contract\n```\n", "```contract", ""),
            ("a\r\n```contract\r\nb\r\n```\r\n", "```contract", "b\r\n"),
            ("  ~~~ contract x  \n  b\n\n  c\n  ~~~~\nd\n", "  ~~~ contract x  ", "  b\n\n  c\n"),
            ("- item\n\n  ```contract\n  b\n  ```\n", "  ```contract", "  b\n"),
            ("```contract\nb\n\n", "```contract", "b\n\n"),
            ("é\n```contract\n  ```` x\n```", "```contract", "  ```` x\n"),
        ];
        for (markdown, opening, text) in cases {
            let found = blocks(markdown);
            let [block] = found.as_slice() else { panic!("{markdown:?}: {found:?}") };
            assert_eq!(markdown.get(block.opening.range()), Some(opening), "{markdown:?}");
            assert_eq!(markdown.get(block.text.range()), Some(text), "{markdown:?}");
        }
    }
}
