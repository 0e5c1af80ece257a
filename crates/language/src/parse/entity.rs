//! Entities and their members.

use crate::ast::{Copied, Entity, Expr, Field, Index, KeyTemplate, Member, Moves, Waive};
use crate::{Diagnostic, Mark, Rule, TokenKind};

use super::{Parser, Read, Resume, Unreadable};

impl Parser<'_> {
    pub(super) fn entity(&mut self) -> Read<Entity> {
        let start = self.advance().span;
        let name = self.name("the entity's name")?;
        let discriminator = self.plain_text("the entity's type in quotes, such as `\"DOOR\"`")?;
        let (mut view_of, mut guarded_by) = (None, None);
        loop {
            if self.eat_word("view") {
                self.word("of")?;
                view_of = Some(self.name("the entity it copies from")?);
            } else if self.eat_word("guarded") {
                self.word("by")?;
                guarded_by = Some(self.name("the entity that guards it")?);
            } else {
                break;
            }
        }
        let mut members = Vec::new();
        let body = self.braces(Resume::Line, |parser| {
            parser.members(&mut members)?;
            Ok(())
        })?;
        let span = start.to(body);
        Ok(Entity { name, discriminator, view_of, guarded_by, members, span })
    }

    fn members(&mut self, members: &mut Vec<Member>) -> Read<()> {
        let followed_by = |mark| self.peek_after() == TokenKind::Mark(mark);
        if (self.is_word("PK") || self.is_word("SK")) && followed_by(Mark::Equal) {
            members.push(Member::Key(self.key_template()?));
        } else if self.is_word("index") {
            members.push(Member::Index(self.index()?));
        } else if self.eat_word("copies") {
            members.push(Member::Copies(self.commas(Parser::copied)?));
        } else if self.is_word("expires") && self.ends_after(2) {
            self.word("expires")?;
            members.push(Member::Expires(self.name("the attribute that holds the end")?));
        } else if self.is_word("waive") {
            members.push(Member::Waive(self.waive()?));
        } else if self.second_word_is("moves") {
            members.push(Member::Moves(self.moves()?));
        } else {
            let fields = self.commas(Parser::field)?;
            members.extend(fields.into_iter().map(|field| Member::Field(Box::new(field))));
        }
        Ok(())
    }

    /// Whether the line, or the block, ends behind so many tokens.
    fn ends_after(&self, count: usize) -> bool {
        let next = self.tokens.get(self.at + count);
        next.is_none_or(|token| token.first || token.kind == TokenKind::Mark(Mark::BraceClose))
    }

    pub(super) fn second_word_is(&self, word: &str) -> bool {
        let second = self.tokens.get(self.at + 1);
        second.is_some_and(|token| token.kind == TokenKind::Word && self.slice(token.span) == word)
    }

    fn key_template(&mut self) -> Read<KeyTemplate> {
        let part = self.key_part();
        self.mark(Mark::Equal)?;
        let template = self.template()?;
        Ok(KeyTemplate { part, template })
    }

    fn index(&mut self) -> Read<Index> {
        let start = self.advance().span;
        let name = self.index_name()?;
        let moves = if self.is_word("moves") { Some(self.advance().span) } else { None };
        let mut keys = Vec::new();
        let body = self.braces(Resume::Line, |parser| {
            if parser.is_word("PK") || parser.is_word("SK") {
                keys.push(parser.key_template()?);
                Ok(())
            } else {
                Err(parser.expected("`PK = \"…\"` or `SK = \"…\"`"))
            }
        })?;
        Ok(Index { name, moves, keys, span: start.to(body) })
    }

    fn moves(&mut self) -> Read<Moves> {
        let attribute = self.name("an attribute")?;
        self.word("moves")?;
        let mut moves = Vec::new();
        let body = self.braces(Resume::Line, |parser| {
            let from = parser.slug("a value of the attribute")?;
            parser.mark(Mark::Arrow)?;
            let to = parser.commas(|parser| parser.slug("a value of the attribute"))?;
            moves.push((from, to));
            Ok(())
        })?;
        let span = attribute.span.to(body);
        Ok(Moves { attribute, moves, span })
    }

    pub(super) fn waive(&mut self) -> Read<Waive> {
        let start = self.advance().span;
        let rule = self.slug("the rule to waive")?;
        let reason = self.plain_text("the reason in quotes")?;
        let span = start.to(reason.span);
        Ok(Waive { rule, reason, span })
    }

    /// An attribute that a view copies.
    fn copied(&mut self) -> Read<Copied> {
        let name = self.name("an attribute")?;
        let optional = self.is_mark(Mark::Question).then(|| self.advance().span);
        let kept = (self.is_word("kept") && !self.token().first).then(|| self.advance().span);
        Ok(Copied { name, optional, kept })
    }

    /// An attribute or an input: a name, a type, and its modifiers.
    pub(super) fn field(&mut self) -> Read<Field> {
        let name = self.name("a name")?;
        // The next line is another statement; without this it would be taken for the type.
        if self.token().first {
            return Err(self.error_at(name.span, format!("`{}` has no type", name.node)));
        }
        let kind = self.spanned_type()?;
        let mut field = Field { name, kind, optional: None, secret: None, default: None };
        loop {
            if self.is_mark(Mark::Question) && field.optional.is_none() {
                field.optional = Some(self.advance().span);
            } else if self.is_word("secret") && !self.token().first {
                field.secret = Some(self.advance().span);
            } else if self.is_word("like") && !self.token().first {
                let message = "`like` stands directly behind the type: `text(80) like \"…\"?`";
                return Err(self.error_at(self.token().span, message));
            } else {
                break;
            }
        }
        if self.is_mark(Mark::Equal) {
            let equal = self.advance().span;
            match self.default() {
                Ok(default) => field.default = Some(default),
                // The attribute is there all the same. Nothing asks for one that may be absent.
                Err(Unreadable) => {
                    field.optional.get_or_insert(equal);
                    self.skip_default();
                }
            }
        }
        Ok(field)
    }

    fn default(&mut self) -> Read<Expr> {
        if !self.is_mark(Mark::BracketOpen) {
            return self.expression();
        }
        let message = "a list cannot be written as a default";
        let wrong = Diagnostic::new(Rule::Syntax, self.token().span, message)
            .help("leave the default out; `?` behind the type lets the attribute be absent");
        self.diagnostics.push(wrong);
        Err(Unreadable)
    }

    /// Skips the rest of a default, up to the next field or the end of its line.
    fn skip_default(&mut self) {
        let mut open = 0usize;
        while !self.at_end() && !self.token().first {
            match self.token().kind {
                TokenKind::Mark(Mark::BraceOpen | Mark::ParenOpen | Mark::BracketOpen) => open += 1,
                TokenKind::Mark(Mark::BraceClose | Mark::ParenClose | Mark::BracketClose) => {
                    match open.checked_sub(1) {
                        Some(rest) => open = rest,
                        None => return,
                    }
                }
                TokenKind::Mark(Mark::Comma) if open == 0 => return,
                _ => {}
            }
            self.advance();
        }
    }
}
