//! The table: its name, the names of its keys, and its indexes.

use std::ops::RangeInclusive;

use crate::ast::{KeyName, KeyPart, Table, TableIndex};
use crate::{Diagnostic, Mark, Name, Rule, Span, Spanned, TokenKind};

use super::{Parser, Read, Resume};

/// How long the name of a table or an index is, by DynamoDB's rule.
const NAME_BYTES: RangeInclusive<usize> = 3..=255;

/// How long the name of a key attribute is, by DynamoDB's rule.
const KEY_NAME_BYTES: RangeInclusive<usize> = 1..=255;

/// What the name of a key attribute may have, beside letters and digits, if it stands in quotes.
const QUOTED_KEY_NAME_MARKS: &str = "_.-#:/@|";

impl Parser<'_> {
    pub(super) fn table(&mut self) -> Read<Table> {
        let start = self.advance().span;
        let name = self.table_name("the table's name", "a table", NAME_BYTES)?;
        let (mut discriminator, mut ttl, mut keys, mut indexes) =
            (None, None, Vec::new(), Vec::new());
        self.braces(Resume::Line, |parser| {
            if parser.eat_word("type") {
                discriminator = Some(parser.name("the attribute that tells entities apart")?);
            } else if parser.eat_word("ttl") {
                let name = parser.name("the attribute by which the table removes items")?;
                let span = name.span;
                if ttl.replace(name).is_some() {
                    let twice = Diagnostic::new(Rule::Syntax, span, "a second `ttl` of one table");
                    parser.diagnostics.push(twice.help("a table removes items by one attribute"));
                }
            } else if parser.is_word("PK") || parser.is_word("SK") {
                keys.push(parser.key_name()?);
            } else if parser.is_word("index") {
                indexes.push(parser.table_index()?);
            } else {
                let what = "`type` and the name of the attribute that tells entities apart, `PK` or `SK` and the \
                            name of a key, `ttl` and the name of the attribute by which items are removed, or `index`";
                return Err(parser.expected(what));
            }
            Ok(())
        })?;
        Ok(Table { name, discriminator, ttl, keys, indexes, span: start.to(self.last_span()) })
    }

    fn table_index(&mut self) -> Read<TableIndex> {
        let start = self.advance().span;
        let name = self.index_name()?;
        let (mut keys, mut holds) = (Vec::new(), None);
        let body = self.braces(Resume::Line, |parser| {
            if parser.is_word("PK") || parser.is_word("SK") {
                keys.push(parser.key_name()?);
            } else if parser.is_word("holds") {
                let read = parser.holds()?;
                if holds.replace(read).is_some() {
                    let span = parser.last_span();
                    let twice =
                        Diagnostic::new(Rule::Syntax, span, "a second `holds` of one index");
                    parser.diagnostics.push(twice.help("write one list"));
                }
            } else {
                let what =
                    "`PK` or `SK` and the name of the attribute that holds it, or `holds keys`";
                return Err(parser.expected(what));
            }
            Ok(())
        })?;
        Ok(TableIndex { name, keys, holds, span: start.to(body) })
    }

    /// `holds keys, a, b`: the keys are always held.
    fn holds(&mut self) -> Read<Spanned<Vec<Name>>> {
        let start = self.advance().span;
        self.word("keys")?;
        let listed = match self.eat_mark(Mark::Comma) {
            true => self.commas(|parser| parser.name("an attribute that the index holds"))?,
            false => Vec::new(),
        };
        Ok(Spanned::new(listed, start.to(self.last_span())))
    }

    fn key_name(&mut self) -> Read<KeyName> {
        let part = self.key_part();
        let what = "the attribute that holds the key";
        let attribute = match self.token().kind {
            TokenKind::Text => self.quoted_key_name(what)?,
            _ => self.table_name(what, "an attribute", KEY_NAME_BYTES)?,
        };
        let number = match self.is_word("number") {
            true => Some(self.advance().span),
            false => None,
        };
        Ok(KeyName { part, attribute, number })
    }

    /// The name of a key in quotes, which has more characters than a bare one.
    fn quoted_key_name(&mut self, what: &str) -> Read<Name> {
        let name = self.plain_text(what)?;
        let known = |c: char| c.is_ascii_alphanumeric() || QUOTED_KEY_NAME_MARKS.contains(c);
        let (least, most) = (KEY_NAME_BYTES.start(), KEY_NAME_BYTES.end());
        if !KEY_NAME_BYTES.contains(&name.node.len()) || !name.node.chars().all(known) {
            let message = format!("`{}` is not a name for an attribute", name.node);
            let marks = QUOTED_KEY_NAME_MARKS;
            let help = format!("a name in quotes has {least} to {most} of `A-Z a-z 0-9 {marks}`");
            self.diagnostics.push(Diagnostic::new(Rule::Syntax, name.span, message).help(help));
        }
        Ok(name)
    }

    /// `PK` or `SK`, which was seen to be here.
    pub(super) fn key_part(&mut self) -> Spanned<KeyPart> {
        let token = self.advance();
        let part = match self.slice(token.span) {
            "PK" => KeyPart::Partition,
            _ => KeyPart::Sort,
        };
        Spanned::new(part, token.span)
    }

    /// The name of an index.
    pub(super) fn index_name(&mut self) -> Read<Name> {
        self.table_name("the index's name", "an index", NAME_BYTES)
    }

    /// The name of a table, an index or a key. It is DynamoDB's and not the language's, so dashes and dots may stand
    /// anywhere in it, and it reaches as far as a brace, a space or a comment.
    fn table_name(&mut self, what: &str, of: &str, bytes: RangeInclusive<usize>) -> Read<Name> {
        let start = self.token().span.start;
        let rest = self.text.get(start..).unwrap_or_default();
        let ends = |(at, c): (usize, char)| {
            let comment = rest.get(at..).is_some_and(|rest| rest.starts_with("//"));
            (c.is_whitespace() || matches!(c, '{' | '}') || comment).then_some(at)
        };
        let length = rest.char_indices().find_map(ends).unwrap_or(rest.len());
        if length == 0 || matches!(self.token().kind, TokenKind::End | TokenKind::Text) {
            return Err(self.expected(what));
        }
        let span = Span::new(start, start + length);
        let mut read = 0;
        while !self.at_end() && self.token().span.start < span.end {
            read += self.advance().span.range().len();
        }
        let name = self.slice(span).to_owned();
        // Characters that begin no token were reported by the lexer.
        let told = read < length;
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !told && (!bytes.contains(&name.len()) || !name.chars().all(known)) {
            let (least, most) = (bytes.start(), bytes.end());
            let message = format!("`{name}` is not a name for {of}");
            let help = format!("DynamoDB takes {least} to {most} of `A-Z a-z 0-9 _ . -`");
            self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
        }
        Ok(Spanned::new(name, span))
    }
}
