//! Contracts and their statements.

use crate::ast::{
    Assign, Contract, Else, ElseKind, ExprKind, Fact, Method, Return, Statement, StatementKind,
};
use crate::{Diagnostic, Mark, Rule, Span, Spanned, TokenKind};

use super::{Parser, Read, Resume, Unreadable};

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
                Ok(StatementKind::Allow(self.expression()?))
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
            "send" => self.send().map(StatementKind::Send),
            "do" => self.call(),
            "on" => self.on(),
            "done" | "later" | "fail" => self.ending().map(StatementKind::End),
            "return" => self.returns().map(StatementKind::Return),
            "waive" => self.waive().map(StatementKind::Waive),
            "consistency" | "expect" | "rate" | "cost" | "idempotent" => {
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

    /// `NAME = OPERATION` or `NAME = EXPRESSION`
    pub(super) fn binding(&mut self) -> Read<StatementKind> {
        let name = self.name("a name")?;
        self.mark(Mark::Equal)?;
        if self.is_verb() {
            Ok(StatementKind::Operate(Some(name), self.operation()?))
        } else {
            Ok(StatementKind::Let(name, self.expression()?))
        }
    }

    fn when(&mut self) -> Read<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        let (then, _) = self.block()?;
        let otherwise = if self.eat_word("else") { self.block()?.0 } else { Vec::new() };
        Ok(StatementKind::When { condition, then, otherwise })
    }

    /// `else …`, if it is there.
    pub(super) fn otherwise(&mut self) -> Read<Option<Else>> {
        if !self.is_word("else") {
            return Ok(None);
        }
        let start = self.advance().span;
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
        Ok(Some(Else { kind, span: start.to(self.last_span()) }))
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
        let maybe = self.is_mark(Mark::MaybeEqual);
        let value = if self.eat_mark(Mark::Equal) || self.eat_mark(Mark::MaybeEqual) {
            self.expression()?
        } else {
            Spanned::new(ExprKind::Name(name.node.clone()), name.span)
        };
        Ok(Assign { name, value, maybe })
    }

    fn returns(&mut self) -> Read<Return> {
        self.advance();
        let status = match self.token().kind {
            TokenKind::Number => {
                Some(self.status(200..=203, "an answer has the status 200, 201, 202 or 203")?)
            }
            _ => None,
        };
        // The next line is another statement; without this its first word would be returned.
        if self.token().first {
            return Err(self.expected("the name of what is returned"));
        }
        let value = self.name("the name of what is returned")?;
        let mut fields = Vec::new();
        if self.is_mark(Mark::BraceOpen) {
            self.advance();
            fields = self.commas(|parser| parser.name("an attribute"))?;
            self.mark(Mark::BraceClose)?;
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
                let count = self.kind(TokenKind::Number, "how often, such as `100/s`")?;
                if self.token().kind == TokenKind::Path {
                    let (span, per) = (self.token().span, self.slice(self.token().span));
                    let message = format!("a space before `{per}`");
                    let help = format!("write `{}{per}`", count.node);
                    self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
                    return Err(Unreadable);
                }
                self.mark(Mark::Slash)?;
                Ok(Fact::Rate { count, per: self.name("`s`, `m`, `h` or `d`")? })
            }
            "idempotent" => {
                self.word("by")?;
                Ok(Fact::Idempotent(self.name("the entity whose items remember calls")?))
            }
            _ => Ok(Fact::Cost(self.commas(|parser| {
                let count = parser.kind(TokenKind::Number, "a number of units")?;
                Ok((count, parser.name("`rcu` or `wcu`")?))
            })?)),
        }
    }
}
