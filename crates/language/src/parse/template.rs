//! Texts with holes.

use latchkey_value::Format;

use crate::ast::{Piece, Template};
use crate::lex::lex;
use crate::{Diagnostic, Mark, Rule, Span, Spanned, TokenKind};

use super::{Parser, Read};

impl Parser<'_> {
    /// A text in quotes; `{…}` in it is a hole, `{{` and `}}` are braces.
    pub(super) fn template(&mut self) -> Read<Template> {
        let token = self.token();
        if token.kind != TokenKind::Text {
            return Err(self.expected("a text in quotes"));
        }
        self.advance();
        Ok(self.pieces(token.span))
    }

    fn pieces(&mut self, span: Span) -> Template {
        let quoted = self.slice(span);
        let closed = quoted.len() >= 2 && quoted.ends_with('"');
        let end = if closed { span.end - 1 } else { span.end };
        let mut template = Template { pieces: Vec::new(), span };
        let mut literal = Spanned::new(String::new(), Span::new(span.start + 1, span.start + 1));
        let mut at = span.start + 1;
        while let Some(next) = self.text.get(at..end).and_then(|rest| rest.chars().next()) {
            let rest = self.text.get(at..end).unwrap_or_default();
            if rest.starts_with("{{") || rest.starts_with("}}") || next == '\\' {
                let escaped = rest.chars().nth(1);
                literal.node.push(escaped.unwrap_or(next));
                at += next.len_utf8() + escaped.map_or(0, char::len_utf8);
            } else if next == '{' {
                let length = rest.find('}').map_or(rest.len(), |close| close + 1);
                flush(&mut template, &mut literal, at);
                let hole = Span::new(at, at + length);
                at += length;
                literal.span = Span::new(at, at);
                if let Ok(piece) = self.hole(hole) {
                    template.pieces.push(piece);
                }
            } else {
                if next == '}' {
                    let span = Span::new(at, at + 1);
                    let lone = Diagnostic::new(Rule::Syntax, span, "a `}` with no `{` before it")
                        .help("write `}}` for a brace in a text");
                    self.diagnostics.push(lone);
                }
                literal.node.push(next);
                at += next.len_utf8();
            }
        }
        flush(&mut template, &mut literal, end);
        template
    }

    /// `{expression}`, `{expression:02}` or `{expression:day}`
    fn hole(&mut self, span: Span) -> Read<Piece> {
        if !self.slice(span).ends_with('}') {
            return Err(self.error_at(span, "a hole in a text that is never closed"));
        }
        let inner = Span::new(span.start + 1, span.end - 1);
        let mut lexed = lex(self.text, inner);
        // No statement begins within a text, so an attribute may have the name of a statement.
        if let Some(token) = lexed.tokens.first_mut().filter(|token| token.kind == TokenKind::Word)
        {
            token.first = false;
        }
        let mut parser = Parser::new(self.text, lexed.tokens);
        parser.depth = self.depth;
        let piece = parser.hole_inside();
        self.diagnostics.extend(lexed.diagnostics);
        self.diagnostics.extend(parser.diagnostics);
        piece
    }

    fn hole_inside(&mut self) -> Read<Piece> {
        let value = self.expression()?;
        let format = if self.eat_mark(Mark::Colon) { Some(self.format()?) } else { None };
        if !self.at_end() {
            return Err(self.expected("`}`"));
        }
        Ok(Piece::Hole { value, format })
    }

    /// What stands behind the colon of a hole: a word, or a width, perhaps with a minus.
    fn format(&mut self) -> Read<Spanned<Format>> {
        let start = self.token().span;
        self.eat_mark(Mark::Minus);
        if !matches!(self.token().kind, TokenKind::Number | TokenKind::Word) {
            return Err(self.expected("a width such as `02`, or a word such as `day`"));
        }
        let digits = self.token().kind == TokenKind::Number;
        let span = start.to(self.advance().span);
        let written = self.slice(span);
        let wrong = match Format::named(written) {
            Some(format) => return Ok(Spanned::new(format, span)),
            None if digits => format!("`{written}` is not a width; write `06` for six digits"),
            None => format!(
                "`{written}` is no form of a value; there are `year`, `month`, `day`, `hour`, `lower` and `upper`"
            ),
        };
        Err(self.error_at(span, wrong))
    }
}

/// Ends a piece of literal text, if there is any.
fn flush(template: &mut Template, literal: &mut Spanned<String>, end: usize) {
    if !literal.node.is_empty() {
        let node = std::mem::take(&mut literal.node);
        let span = Span::new(literal.span.start, end);
        template.pieces.push(Piece::Literal(Spanned::new(node, span)));
    }
}

/// What a text in quotes says.
pub(super) fn unescape(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => text.extend(characters.next()),
            c => text.push(c),
        }
    }
    text
}
