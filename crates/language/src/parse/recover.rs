//! Recovers after a mistake: skips to the next declaration, line or statement.

use super::Parser;
use crate::{Mark, TokenKind};

impl Parser<'_> {
    /// Whether a block within a contract must have ended: facts of a contract are never in its blocks.
    pub(super) fn is_back_in_contract(&self, resume: Resume) -> bool {
        matches!(resume, Resume::Statement) && self.depth > 1 && self.begins(FACTS)
    }

    /// Whether a line begins here with one of these words.
    pub(super) fn begins(&self, words: &[&str]) -> bool {
        let token = self.token();
        token.first && token.kind == TokenKind::Word && words.contains(&self.slice(token.span))
    }

    /// Whether a declaration begins here, rather than an attribute or a binding called `role` or `table`:
    /// within a block those are indented deeper than the declaration they are part of.
    pub(super) fn begins_declaration(&self) -> bool {
        self.begins(ITEMS) && (self.depth == 0 || self.column() <= self.margin)
    }

    /// How many bytes stand before the token on its line.
    pub(super) fn column(&self) -> usize {
        let start = self.token().span.start;
        let before = self.text.get(..start).unwrap_or_default();
        start - before.rfind('\n').map_or(0, |line| line + 1)
    }

    /// Skips to where reading can go on: to a declaration, to the brace that closes the block, or to what
    /// the block is made of; blocks on the way are skipped whole.
    pub(super) fn skip_to(&mut self, resume: Resume) {
        let mut open = 0usize;
        let mut moved = false;
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::End => return,
                TokenKind::Mark(Mark::BraceOpen) => open += 1,
                // At the top nothing is open: the brace is one too many, and part of the mistake.
                TokenKind::Mark(Mark::BraceClose) if open == 0 && self.depth > 0 => return,
                TokenKind::Mark(Mark::BraceClose) => open = open.saturating_sub(1),
                _ if self.begins_declaration() => return,
                _ if open == 0 && (moved || token.first) && self.resumes(resume) => return,
                _ => {}
            }
            moved = true;
            self.advance();
        }
    }

    pub(super) fn resumes(&self, resume: Resume) -> bool {
        let token = self.token();
        token.first
            && match resume {
                Resume::Declaration => false,
                Resume::Line => token.kind == TokenKind::Word,
                Resume::Statement => {
                    self.begins(STATEMENTS)
                        || (token.kind == TokenKind::Word
                            && self.peek_after() == TokenKind::Mark(Mark::Equal))
                }
            }
    }
}

/// Where reading goes on after a mistake.
#[derive(Clone, Copy)]
pub(super) enum Resume {
    /// At the next declaration.
    Declaration,
    /// At the next line.
    Line,
    /// At the next line that begins a statement: other lines go on with the one before.
    Statement,
}

/// The words a declaration begins with.
const ITEMS: &[&str] =
    &["system", "table", "role", "entity", "contract", "queue", "worker", "steps", "invariant"];

/// The words a fact begins with.
const FACTS: &[&str] = &["consistency", "expect", "rate", "cost", "idempotent", "cache", "limit"];

/// The words a statement begins with.
pub(super) const STATEMENTS: &[&str] = &[
    "GET",
    "PUT",
    "POST",
    "PATCH",
    "DELETE",
    "input",
    "allow",
    "require",
    "match",
    "when",
    "transact",
    "snapshot",
    "each",
    "send",
    "do",
    "on",
    "done",
    "later",
    "fail",
    "return",
    "get",
    "query",
    "put",
    "update",
    "upsert",
    "delete",
    "check",
    "consistency",
    "expect",
    "rate",
    "cost",
    "idempotent",
    "cache",
    "limit",
    "waive",
];
