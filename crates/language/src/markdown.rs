//! The fenced blocks of a Markdown file.

use crate::Span;

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Declarations.
    Contract,
    /// Requests and the answers they must get.
    Example,
}

/// A fenced block marked `contract` or `example`.
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

/// A fence: its character, how often it stands there, and what follows it on the line.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.get(indent..).filter(|_| indent <= 3)?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = rest.chars().take_while(|other| *other == mark).count();
    let info = rest.get(count..)?.trim();
    (count >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, count, info))
}

/// The blocks of a file that Latchkey reads, in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, Option<Block>)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let line = line.trim_end_matches(['\n', '\r']);
        open = match (open.take(), fence(line)) {
            (None, Some((mark, count, info))) => {
                let kind = match info.split_whitespace().next() {
                    Some("contract") => Some(BlockKind::Contract),
                    Some("example") => Some(BlockKind::Example),
                    _ => None,
                };
                let opening = Span::new(start, start + line.len());
                let text = Span::new(end, end);
                let block = kind.map(|kind| Block { kind, text, opening, closed: false });
                Some((mark, count, block))
            }
            (Some((mark, count, block)), Some((other, others, "")))
                if other == mark && others >= count =>
            {
                if let Some(block) = block {
                    let text = Span::new(block.text.start, start);
                    blocks.push(Block { text, closed: true, ..block });
                }
                None
            }
            (open, _) => open,
        };
    }
    if let Some((_, _, Some(block))) = open {
        blocks.push(Block { text: Span::new(block.text.start, text.len()), ..block });
    }
    blocks
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
    fn an_open_block_runs_to_the_end() {
        assert_eq!(texts("```contract\r\na"), [(BlockKind::Contract, "a", false)]);
        assert_eq!(texts("```contract"), [(BlockKind::Contract, "", false)]);
        assert_eq!(texts("    ```contract\na\n"), []);
    }
}
