//! Requests to the table, and the clauses that follow them.

use crate::ast::{Assign, Clause, ClauseKind, Operation, Pick, Removal, Verb};
use crate::{Mark, Name, Spanned, TokenKind};

use super::{Parser, Read};

fn verb(word: &str) -> Option<Verb> {
    Some(match word {
        "get" => Verb::Get,
        "query" => Verb::Query,
        "put" => Verb::Put,
        "update" => Verb::Update,
        "upsert" => Verb::Upsert,
        "delete" => Verb::Delete,
        "check" => Verb::Check,
        _ => return None,
    })
}

impl Parser<'_> {
    /// Whether an operation begins here.
    pub(super) fn is_verb(&self) -> bool {
        let token = self.token();
        token.kind == TokenKind::Word && verb(self.slice(token.span)).is_some()
    }

    pub(super) fn operation(&mut self) -> Read<Operation> {
        let token = self.token();
        let Some(verb) = verb(self.slice(token.span)) else {
            return Err(
                self.expected("`get`, `query`, `put`, `update`, `upsert`, `delete` or `check`")
            );
        };
        self.advance();
        let target = self.name("an entity or a name bound to one")?;
        let mut also = Vec::new();
        while verb == Verb::Query && self.eat_mark(Mark::Comma) {
            also.push(self.name("another entity")?);
        }
        let mut key = Vec::new();
        if self.is_mark(Mark::ParenOpen) {
            self.advance();
            key = self.commas(Parser::assign)?;
            self.mark(Mark::ParenClose)?;
        }
        let of =
            if self.eat_word("of") { Some(self.name("a name bound to an item")?) } else { None };
        let mut clauses = Vec::new();
        while let Some(clause) = self.clause()? {
            clauses.push(clause);
        }
        let absent = self.if_absent_else()?;
        let otherwise = self.otherwise()?;
        let verb = Spanned::new(verb, token.span);
        Ok(Operation { verb, target, also, key, of, clauses, absent, otherwise })
    }

    /// Whether `the ENTITY in NAME` begins here.
    pub(super) fn is_pick(&self) -> bool {
        let second = self.tokens.get(self.at + 1);
        self.is_word("the")
            && second.is_some_and(|token| token.kind == TokenKind::Word && !token.first)
    }

    pub(super) fn pick(&mut self) -> Read<Pick> {
        self.advance();
        let entity = self.name("an entity")?;
        self.word("in")?;
        let of = self.name("what a query of several entities has found")?;
        Ok(Pick { entity, of, otherwise: self.otherwise()? })
    }

    fn clause(&mut self) -> Read<Option<Clause>> {
        let token = self.token();
        if self.is_mark(Mark::BraceOpen) && !token.first {
            let fields = self.assigns()?;
            let span = token.span.to(self.last_span());
            return Ok(Some(Spanned::new(ClauseKind::Fields(fields), span)));
        }
        // `order = …` and the like bind a name; they are the next statement.
        if token.kind != TokenKind::Word || self.peek_after() == TokenKind::Mark(Mark::Equal) {
            return Ok(None);
        }
        if self.second_word_is("in") {
            let attribute = self.name("a part of the key")?;
            self.advance();
            let span = self.token().span;
            let Some(bounds) = self.bounds()? else {
                return Err(self.error_at(span, "expected a range such as `0..15`"));
            };
            let span = token.span.to(self.last_span());
            return Ok(Some(Spanned::new(ClauseKind::Through(attribute, bounds), span)));
        }
        let word = self.slice(token.span);
        // `snapshot {` at the start of a line is a block, and the next statement.
        if word == "snapshot"
            && token.first
            && self.peek_after() == TokenKind::Mark(Mark::BraceOpen)
        {
            return Ok(None);
        }
        let clauses = [
            "strong", "snapshot", "for", "by", "where", "order", "page", "first", "keep",
            "reading", "set", "remove", "add", "replace", "if",
        ];
        if !clauses.contains(&word) {
            return Ok(None);
        }
        self.advance();
        let kind = self.clause_kind(word)?;
        Ok(Some(Spanned::new(kind, token.span.to(self.last_span()))))
    }

    fn clause_kind(&mut self, word: &str) -> Read<ClauseKind> {
        Ok(match word {
            "strong" => ClauseKind::Strong(self.when_suffix()?),
            "snapshot" => ClauseKind::Snapshot,
            "for" => {
                let (element, over) = self.element_in()?;
                ClauseKind::For(element, over)
            }
            "by" => ClauseKind::By(self.index_name()?),
            "where" => {
                let outer = std::mem::replace(&mut self.in_where, true);
                let condition = self.expression();
                self.in_where = outer;
                ClauseKind::Where(condition?)
            }
            "order" => {
                let descending = if self.eat_word("descending") {
                    true
                } else {
                    self.word("ascending")?;
                    false
                };
                ClauseKind::Order { descending, when: self.when_suffix()? }
            }
            "page" => {
                let size = self.kind(TokenKind::Number, "a page size")?;
                let max = match self.eat_word("max") {
                    true => Some(self.kind(TokenKind::Number, "the greatest page size")?),
                    false => None,
                };
                let asked = match self.eat_word("as") {
                    true => Some(self.name("what a caller sizes the page by")?),
                    false => None,
                };
                ClauseKind::Page { size, max, asked }
            }
            "first" => ClauseKind::First(self.kind(TokenKind::Number, "how many to read")?),
            "keep" => ClauseKind::Keep(self.expression()?),
            "reading" => {
                ClauseKind::Reading(self.kind(TokenKind::Number, "how many items to read")?)
            }
            "set" => ClauseKind::Set(self.commas(Parser::change)?),
            "remove" => ClauseKind::Remove(self.commas(Parser::removal)?),
            "add" => ClauseKind::Add(self.commas(Parser::assign)?),
            "replace" => ClauseKind::Replace,
            _ if self.eat_word("absent") => ClauseKind::IfAbsent,
            _ => ClauseKind::If(self.expression()?),
        })
    }

    /// `a = x`, `a.b = x` or `a ?= x`
    fn change(&mut self) -> Read<Assign> {
        let (name, within) = self.place()?;
        if within.is_empty() {
            return self.assigned(name);
        }
        if !self.is_mark(Mark::Equal) && !self.is_mark(Mark::MaybeEqual) {
            return Err(self.expected("`=` and a value"));
        }
        Ok(Assign { within, ..self.assigned(name)? })
    }

    /// `a`, `a.b` or `a = x`
    fn removal(&mut self) -> Read<Removal> {
        let (name, within) = self.place()?;
        let element = match self.eat_mark(Mark::Equal) {
            true => Some(self.expression()?),
            false => None,
        };
        Ok(Removal { name, within, element })
    }

    /// An attribute, and the members that lead to a place within it.
    fn place(&mut self) -> Read<(Name, Vec<Name>)> {
        let name = self.name("an attribute")?;
        let mut within = Vec::new();
        while self.eat_mark(Mark::Dot) {
            within.push(self.name("a member")?);
        }
        Ok((name, within))
    }

    /// `when CONDITION` on the same line, if it is there.
    fn when_suffix(&mut self) -> Read<Option<crate::ast::Expr>> {
        if self.is_word("when") && !self.token().first {
            self.advance();
            return Ok(Some(self.expression()?));
        }
        Ok(None)
    }
}
