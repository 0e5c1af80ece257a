//! Entities and their members.

use crate::ast::{Bounds, Entity, Field, Index, KeyPart, KeyTemplate, Member, Moves, Type, Waive};
use crate::{Mark, Name, Spanned, TokenKind};

use super::{Parser, Read, Resume};

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
            members.push(Member::Copies(self.commas(|parser| parser.name("an attribute"))?));
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

    pub(super) fn second_word_is(&self, word: &str) -> bool {
        let second = self.tokens.get(self.at + 1);
        second.is_some_and(|token| token.kind == TokenKind::Word && self.slice(token.span) == word)
    }

    fn key_template(&mut self) -> Read<KeyTemplate> {
        let token = self.advance();
        let part = match self.slice(token.span) {
            "PK" => KeyPart::Partition,
            _ => KeyPart::Sort,
        };
        self.mark(Mark::Equal)?;
        let template = self.template()?;
        Ok(KeyTemplate { part: Spanned::new(part, token.span), template })
    }

    fn index(&mut self) -> Read<Index> {
        let start = self.advance().span;
        let name = self.name("the index's name")?;
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
            let from = parser.name("a value of the attribute")?;
            parser.mark(Mark::Arrow)?;
            let to = parser.commas(|parser| parser.name("a value of the attribute"))?;
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

    /// An attribute or an input: a name, a type, and its modifiers.
    pub(super) fn field(&mut self) -> Read<Field> {
        let name = self.name("a name")?;
        // The next line is another statement; without this it would be taken for the type.
        if self.token().first {
            return Err(self.error_at(name.span, format!("`{}` has no type", name.node)));
        }
        let start = self.token().span;
        let kind = self.field_type()?;
        let kind = Spanned::new(kind, start.to(self.last_span()));
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
        if self.eat_mark(Mark::Equal) {
            field.default = Some(self.expression()?);
        }
        Ok(field)
    }

    fn field_type(&mut self) -> Read<Type> {
        let name = self.name("a type")?;
        if self.eat_mark(Mark::Dot) {
            return Ok(Type::Of(name, self.name("an attribute of the entity")?));
        }
        if self.is_mark(Mark::Pipe) {
            let mut values = vec![name];
            while self.eat_mark(Mark::Pipe) {
                values.push(self.name("a value")?);
            }
            return Ok(Type::OneOf(values));
        }
        let mut arguments = Vec::new();
        if self.eat_mark(Mark::ParenOpen) {
            arguments = self.commas(|parser| parser.kind(TokenKind::Number, "a number"))?;
            self.mark(Mark::ParenClose)?;
        }
        let bounds = self.bounds()?;
        let like = match self.is_word("like") && !self.token().first {
            true => {
                self.advance();
                Some(self.plain_text("a pattern in quotes")?)
            }
            false => None,
        };
        Ok(Type::Named { name, arguments, bounds, like })
    }

    pub(super) fn bounds(&mut self) -> Read<Option<Bounds>> {
        let low = self.signed_number()?;
        if !self.eat_mark(Mark::DotDot) {
            return match low {
                None => Ok(None),
                Some(_) => Err(self.expected("`..` and the greatest value")),
            };
        }
        let high = self.signed_number()?;
        Ok(Some(Bounds { low, high }))
    }

    fn signed_number(&mut self) -> Read<Option<Name>> {
        let negative = self.is_mark(Mark::Minus);
        if !negative && self.token().kind != TokenKind::Number {
            return Ok(None);
        }
        let start = self.token().span;
        if negative {
            self.advance();
        }
        let number = self.kind(TokenKind::Number, "a number")?;
        let sign = if negative { "-" } else { "" };
        Ok(Some(Spanned::new(format!("{sign}{}", number.node), start.to(number.span))))
    }
}
