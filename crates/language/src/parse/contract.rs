//! Contracts and their statements.

use crate::ast::{
    Assign, Contract, Else, ElseKind, Expr, ExprKind, Fact, Method, Return, Statement,
    StatementKind,
};
use crate::{Diagnostic, Mark, Name, Rule, Span, Spanned, TokenKind};

use super::{Parser, Read, Resume, Unreadable};

/// The status of an answer without a body.
const NO_CONTENT: u16 = 204;

impl Parser<'_> {
    /// A contract or a worker.
    pub(super) fn contract(&mut self, whose: &str) -> Read<Contract> {
        let start = self.advance().span;
        let id = self.slug(&format!("{whose} id, such as `QC-01`"))?;
        let title = self.plain_text(&format!("{whose} title in quotes"))?;
        let (body, span) = self.block()?;
        Ok(Contract { id, title, body, span: start.to(span) })
    }

    /// Statements between braces.
    pub(super) fn block(&mut self) -> Read<(Vec<Statement>, Span)> {
        let mut statements = Vec::new();
        let span = self.braces(Resume::Statement, |parser| {
            let start = parser.token().span;
            let kind = parser.statement()?;
            statements.push(Spanned::new(kind, start.to(parser.last_span())));
            Ok(())
        })?;
        Ok((statements, span))
    }

    fn statement(&mut self) -> Read<StatementKind> {
        let token = self.token();
        if token.kind != TokenKind::Word {
            return Err(self.expected("a statement"));
        }
        if let Some(method) = Method::named(self.slice(token.span)) {
            self.advance();
            let path = self.kind(TokenKind::Path, "a path such as `/doors/{doorId}`")?;
            return Ok(StatementKind::Route { method, path });
        }
        if self.peek_after() == TokenKind::Mark(Mark::Equal) {
            return self.binding();
        }
        match self.slice(token.span) {
            "input" => {
                self.advance();
                Ok(StatementKind::Input(self.commas(Parser::field)?))
            }
            "allow" => {
                self.advance();
                match self.eat_word("anyone") {
                    true => Ok(StatementKind::AllowAnyone),
                    false => Ok(StatementKind::Allow(self.expression()?)),
                }
            }
            "require" => {
                self.advance();
                Ok(StatementKind::Require(self.expression()?, self.otherwise()?))
            }
            "match" => {
                self.advance();
                Ok(StatementKind::Match(self.expression()?, self.otherwise()?))
            }
            "when" => self.when(),
            "transact" => {
                self.advance();
                Ok(StatementKind::Transact(self.block()?.0))
            }
            "snapshot" => {
                self.advance();
                Ok(StatementKind::Snapshot(self.block()?.0))
            }
            "each" => {
                self.advance();
                let (element, over) = self.element_in()?;
                Ok(StatementKind::Each { element, over, body: self.block()?.0 })
            }
            "send" => self.send().map(StatementKind::Send),
            "do" => self.call(None),
            "on" => self.on(),
            "done" | "later" | "fail" => self.ending().map(StatementKind::End),
            "return" => self.returns().map(StatementKind::Return),
            "waive" => self.waive().map(StatementKind::Waive),
            "consistency" | "expect" | "rate" | "cost" | "idempotent" | "cache" | "limit" => {
                self.fact().map(StatementKind::Fact)
            }
            _ if self.is_verb() => Ok(StatementKind::Operate(None, self.operation()?)),
            _ => {
                let message = format!("`{}` begins no statement", self.slice(token.span));
                let help = "a statement reads (`x = get …`), tests (`allow`, `require`, `match`, `when`), \
                            writes (`put`, `update`, `delete`, `transact`), sends, returns, or states a fact";
                self.diagnostics
                    .push(Diagnostic::new(Rule::Syntax, token.span, message).help(help));
                Err(Unreadable)
            }
        }
    }

    /// `NAME = OPERATION`, `NAME = the ENTITY in NAME`, `NAME = do STEPS` or `NAME = EXPRESSION`
    pub(super) fn binding(&mut self) -> Read<StatementKind> {
        let name = self.name("a name")?;
        self.mark(Mark::Equal)?;
        if self.is_verb() {
            Ok(StatementKind::Operate(Some(name), self.operation()?))
        } else if self.is_pick() {
            Ok(StatementKind::Pick(name, self.pick()?))
        } else if self.is_word("do") && self.peek_after() == TokenKind::Word {
            self.call(Some(name))
        } else {
            Ok(StatementKind::Let(name, self.expression()?))
        }
    }

    /// `NAME in LIST`, where the list is a name or a part of what a name means.
    pub(super) fn element_in(&mut self) -> Read<(Name, Expr)> {
        let element = self.name("what each element is called")?;
        self.word("in")?;
        let name = self.name("the list")?;
        let mut over = Spanned::new(ExprKind::Name(name.node), name.span);
        while self.eat_mark(Mark::Dot) {
            let part = self.name("an attribute or a member")?;
            let span = over.span.to(part.span);
            over = Spanned::new(ExprKind::Member(Box::new(over), part), span);
        }
        Ok((element, over))
    }

    fn when(&mut self) -> Read<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        let (then, _) = self.block()?;
        let otherwise = if self.eat_word("else") { self.block()?.0 } else { Vec::new() };
        Ok(StatementKind::When { condition, then, otherwise })
    }

    /// `else absent …`, if it is there.
    pub(super) fn if_absent_else(&mut self) -> Read<Option<Box<Else>>> {
        if !(self.is_word("else") && self.second_word_is("absent")) {
            return Ok(None);
        }
        let start = self.advance().span;
        self.advance();
        self.outcome_of_else(start).map(|absent| Some(Box::new(absent)))
    }

    /// `else …`, if it is there.
    pub(super) fn otherwise(&mut self) -> Read<Option<Else>> {
        if !self.is_word("else") {
            return Ok(None);
        }
        let start = self.advance().span;
        self.outcome_of_else(start).map(Some)
    }

    fn outcome_of_else(&mut self, start: Span) -> Read<Else> {
        let kind = if self.eat_word("retry") {
            ElseKind::Retry
        } else if self.is_mark(Mark::BraceOpen) {
            ElseKind::Block(self.block()?.0)
        } else if self.is_ending() {
            ElseKind::End(self.ending()?)
        } else {
            let status = self.status(400..=599, "a refusal has a status from 400 to 599")?;
            let code = self.slug("the problem's name, such as `not-found`")?;
            let message = match self.token().kind {
                TokenKind::Text => Some(self.template()?),
                _ => None,
            };
            let with = if self.eat_word("with") { self.assigns()? } else { Vec::new() };
            ElseKind::Fail { status, code, message, with }
        };
        Ok(Else { kind, span: start.to(self.last_span()) })
    }

    /// `{ a, b = x }`
    pub(super) fn assigns(&mut self) -> Read<Vec<Assign>> {
        self.mark(Mark::BraceOpen)?;
        let assigns = match self.is_mark(Mark::BraceClose) {
            true => Vec::new(),
            false => self.commas(Parser::assign)?,
        };
        self.mark(Mark::BraceClose)?;
        Ok(assigns)
    }

    /// `a = x`, `a ?= x`, or `a` for `a = a`.
    pub(super) fn assign(&mut self) -> Read<Assign> {
        let name = self.name("an attribute")?;
        self.assigned(name)
    }

    /// What stands behind the name of an attribute that is given a value.
    pub(super) fn assigned(&mut self, name: Name) -> Read<Assign> {
        let maybe = self.is_mark(Mark::MaybeEqual);
        let value = if self.eat_mark(Mark::Equal) || self.eat_mark(Mark::MaybeEqual) {
            self.expression()?
        } else {
            Spanned::new(ExprKind::Name(name.node.clone()), name.span)
        };
        Ok(Assign { name, within: Vec::new(), value, maybe })
    }

    fn returns(&mut self) -> Read<Return> {
        self.advance();
        let status = match self.token().kind {
            TokenKind::Number => {
                Some(self.status(200..=204, "an answer has a status from 200 to 204")?)
            }
            _ => None,
        };
        if status.as_ref().is_some_and(|status| status.node == NO_CONTENT) {
            return self.returns_nothing(status);
        }
        // The next line is another statement; without this its first word would be returned.
        if self.token().first {
            return Err(self.expected("the name of what is returned"));
        }
        let (mut value, mut fields) = (None, Vec::new());
        if !(self.is_word("with") && self.peek_after() == TokenKind::Mark(Mark::BraceOpen)) {
            value = Some(self.name("the name of what is returned")?);
            if self.is_mark(Mark::BraceOpen) {
                self.advance();
                fields = self.commas(|parser| parser.name("an attribute"))?;
                self.mark(Mark::BraceClose)?;
            }
        }
        let with = if self.eat_word("with") { self.assigns()? } else { Vec::new() };
        let at = match self.is_word("at") && self.peek_after() == TokenKind::Path {
            true => {
                self.advance();
                Some(self.kind(TokenKind::Path, "a path")?)
            }
            false => None,
        };
        Ok(Return { status, value, fields, with, at })
    }

    /// `return 204`, and the end of the line.
    fn returns_nothing(&mut self, status: Option<Spanned<u16>>) -> Read<Return> {
        let token = self.token();
        if token.kind == TokenKind::Word && !token.first {
            let message = "an answer with the status 204 has no body";
            let help = "write `return 204` alone, or choose another status";
            self.diagnostics.push(Diagnostic::new(Rule::Syntax, token.span, message).help(help));
            return Err(Unreadable);
        }
        Ok(Return { status, value: None, fields: Vec::new(), with: Vec::new(), at: None })
    }

    fn fact(&mut self) -> Read<Fact> {
        let token = self.advance();
        match self.slice(token.span) {
            "consistency" => Ok(Fact::Consistency(self.name("`eventual` or `strong`")?)),
            "expect" => {
                let low = self.kind(TokenKind::Number, "how many items to expect")?;
                let high = if self.eat_mark(Mark::DotDot) {
                    match self.token().kind {
                        TokenKind::Number => Some(self.kind(TokenKind::Number, "a number")?),
                        _ => None,
                    }
                } else {
                    Some(low.clone())
                };
                if !self.eat_word("items") {
                    self.word("item")?;
                }
                Ok(Fact::Expect { low, high })
            }
            "rate" => {
                let (count, per) = self.rate()?;
                Ok(Fact::Rate { count, per })
            }
            "limit" => {
                let (count, per) = self.rate()?;
                self.word("per")?;
                let whose = self.name("`caller` or `address`")?;
                let burst = match self.eat_word("burst") {
                    true => Some(self.kind(TokenKind::Number, "how many calls at once")?),
                    false => None,
                };
                Ok(Fact::Limit { count, per, whose, burst })
            }
            "idempotent" => {
                self.word("by")?;
                Ok(Fact::Idempotent(self.name("the entity whose items remember calls")?))
            }
            "cache" => Ok(Fact::Cache(self.kind(TokenKind::Duration, "how long, such as `30s`")?)),
            _ => Ok(Fact::Cost(self.commas(|parser| {
                let count = parser.kind(TokenKind::Number, "a number of units")?;
                Ok((count, parser.name("`rcu` or `wcu`")?))
            })?)),
        }
    }
    /// `100/s`
    fn rate(&mut self) -> Read<(Spanned<String>, Name)> {
        let count = self.kind(TokenKind::Number, "how often, such as `100/s`")?;
        if self.token().kind == TokenKind::Path {
            let (span, per) = (self.token().span, self.slice(self.token().span));
            let message = format!("a space before `{per}`");
            let help = format!("write `{}{per}`", count.node);
            self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
            return Err(Unreadable);
        }
        self.mark(Mark::Slash)?;
        Ok((count, self.name("`s`, `m`, `h` or `d`")?))
    }
}
