//! Requests to the table, and the clauses that follow them.

use crate::ast::{Clause, ClauseKind, Operation, Verb};
use crate::{Mark, Spanned, TokenKind};

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
        let otherwise = self.otherwise()?;
        Ok(Operation { verb: Spanned::new(verb, token.span), target, key, of, clauses, otherwise })
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
        let clauses = [
            "strong", "snapshot", "by", "where", "order", "page", "first", "set", "remove", "add",
            "replace", "if",
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
            "by" => ClauseKind::By(self.name("an index")?),
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
            "set" => ClauseKind::Set(self.commas(Parser::assign)?),
            "remove" => ClauseKind::Remove(self.commas(|parser| parser.name("an attribute"))?),
            "add" => ClauseKind::Add(self.commas(Parser::assign)?),
            "replace" => ClauseKind::Replace,
            _ if self.eat_word("absent") => ClauseKind::IfAbsent,
            _ => ClauseKind::If(self.expression()?),
        })
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
