//! Types of attributes and inputs.

use crate::ast::{Bounds, Type, Unique};
use crate::{Mark, Name, Spanned, TokenKind};

use super::{DEPTH_MAX, Parser, Read};

impl Parser<'_> {
    /// A type, and where it stands.
    pub(super) fn spanned_type(&mut self) -> Read<Spanned<Type>> {
        let start = self.token().span;
        if self.depth >= DEPTH_MAX {
            return Err(self.error_at(start, "types too deep in each other"));
        }
        self.depth += 1;
        let kind = self.field_type();
        self.depth -= 1;
        Ok(Spanned::new(kind?, start.to(self.last_span())))
    }

    fn field_type(&mut self) -> Read<Type> {
        if self.eat_mark(Mark::BraceOpen) {
            let members = self.commas(Parser::field)?;
            self.mark(Mark::BraceClose)?;
            return Ok(Type::Record(members));
        }
        let name = self.slug("a type")?;
        if self.is_mark(Mark::Pipe) {
            let mut values = vec![name];
            while self.eat_mark(Mark::Pipe) {
                values.push(self.slug("a value")?);
            }
            return Ok(Type::OneOf(values));
        }
        let name = self.undashed(name);
        if self.is_mark(Mark::ParenOpen) {
            match name.node.as_str() {
                "list" => return self.list_of(),
                "set" => return self.set_of(),
                _ => {}
            }
        }
        if self.eat_mark(Mark::Dot) {
            return Ok(Type::Of(name, self.name("an attribute of the entity")?));
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

    /// `(1..20) of TYPE [unique [by a and b]]`
    fn list_of(&mut self) -> Read<Type> {
        let open = self.mark(Mark::ParenOpen)?;
        let size = self.bounds()?;
        let size = Spanned::new(size, open.to(self.mark(Mark::ParenClose)?));
        self.word("of")?;
        let of = Box::new(self.spanned_type()?);
        let unique = match self.is_word("unique") && !self.token().first {
            true => {
                let start = self.advance().span;
                let mut by = Vec::new();
                if self.eat_word("by") {
                    by.push(self.name("a member")?);
                    while self.eat_word("and") {
                        by.push(self.name("a member")?);
                    }
                }
                Some(Unique { by, span: start.to(self.last_span()) })
            }
            false => None,
        };
        Ok(Type::ListOf { size, of, unique })
    }

    /// `(20) of TYPE`
    fn set_of(&mut self) -> Read<Type> {
        self.mark(Mark::ParenOpen)?;
        let most = self.kind(TokenKind::Number, "how many elements it has at most")?;
        self.mark(Mark::ParenClose)?;
        self.word("of")?;
        Ok(Type::SetOf { most, of: Box::new(self.spanned_type()?) })
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
