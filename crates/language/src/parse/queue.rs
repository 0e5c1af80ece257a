//! Queues, sends, workers and steps.

use crate::ast::{Ending, Queue, Send, Statement, StatementKind, Steps};
use crate::{Mark, Name, Spanned, TokenKind};

use super::{Parser, Read, Resume};

impl Parser<'_> {
    pub(super) fn queue(&mut self) -> Read<Queue> {
        let start = self.advance().span;
        let name = self.name("the queue's name")?;
        let ordered_by = match self.eat_word("ordered") {
            true => {
                self.word("by")?;
                Some(self.name("the field that messages are ordered by")?)
            }
            false => None,
        };
        let mut queue = Queue {
            name,
            ordered_by,
            fields: Vec::new(),
            leases: Vec::new(),
            tries: Vec::new(),
            waivers: Vec::new(),
            span: start,
        };
        let body = self.braces(Resume::Line, |parser| {
            if parser.is_word("lease") && parser.peek_after() == TokenKind::Duration {
                parser.advance();
                queue.leases.push(parser.kind(TokenKind::Duration, "a span of time")?);
            } else if parser.is_word("tries") && parser.peek_after() == TokenKind::Number {
                parser.advance();
                queue.tries.push(parser.kind(TokenKind::Number, "a number")?);
            } else if parser.is_word("waive") {
                queue.waivers.push(parser.waive()?);
            } else {
                queue.fields.extend(parser.commas(Parser::field)?);
            }
            Ok(())
        })?;
        queue.span = start.to(body);
        Ok(queue)
    }

    /// `steps NAME(a id, b time) [gives NAME] { … }`
    pub(super) fn declared_steps(&mut self) -> Read<Steps> {
        let start = self.advance().span;
        let name = self.name("the name of the steps")?;
        let mut parameters = Vec::new();
        if self.is_mark(Mark::ParenOpen) {
            self.advance();
            parameters = self.commas(Parser::field)?;
            self.mark(Mark::ParenClose)?;
        }
        let gives = match self.eat_word("gives") {
            true => Some(self.name("the name of what the steps give")?),
            false => None,
        };
        let (body, span) = self.block()?;
        Ok(Steps { name, parameters, gives, body, span: start.to(span) })
    }

    /// `do NAME(a, b)`, for a name or for none.
    pub(super) fn call(&mut self, result: Option<Name>) -> Read<StatementKind> {
        self.advance();
        let name = self.same_line("the name of the steps to do")?;
        let mut arguments = Vec::new();
        if self.is_mark(Mark::ParenOpen) {
            self.advance();
            arguments = self.commas(Parser::expression)?;
            self.mark(Mark::ParenClose)?;
        }
        Ok(StatementKind::Do { result, name, arguments })
    }

    /// `on QUEUE { a, b }` or `on dead { … }`
    pub(super) fn on(&mut self) -> Read<StatementKind> {
        self.advance();
        if self.eat_word("dead") {
            return Ok(StatementKind::OnDead(self.block()?.0));
        }
        let queue = self.same_line("the name of a queue, or `dead`")?;
        self.mark(Mark::BraceOpen)?;
        let fields = match self.is_mark(Mark::BraceClose) {
            true => Vec::new(),
            false => self.commas(|parser| parser.name("a field of its messages"))?,
        };
        self.mark(Mark::BraceClose)?;
        Ok(StatementKind::On(queue, fields))
    }

    /// `send QUEUE { a, b = x } [at TIME] [accepted { … }] [refused { … }]`
    pub(super) fn send(&mut self) -> Read<Send> {
        self.advance();
        let queue = self.same_line("the name of a queue")?;
        let fields = self.assigns()?;
        // `at = …` binds a name; it is the next statement.
        let binds = self.peek_after() == TokenKind::Mark(Mark::Equal);
        let at = match self.is_word("at") && !binds {
            true => {
                self.advance();
                Some(self.expression()?)
            }
            false => None,
        };
        let accepted = self.outcome("accepted")?;
        let refused = self.outcome("refused")?;
        Ok(Send { queue, fields, at, accepted, refused })
    }

    /// What follows a send, if it is there.
    fn outcome(&mut self, word: &str) -> Read<Option<Spanned<Vec<Statement>>>> {
        if !self.is_word(word) || self.peek_after() != TokenKind::Mark(Mark::BraceOpen) {
            return Ok(None);
        }
        let span = self.advance().span;
        Ok(Some(Spanned::new(self.block()?.0, span)))
    }

    /// A name or a slug on the line of the word before it: the next line is another statement.
    fn same_line(&mut self, what: &str) -> Read<Name> {
        if self.token().first { Err(self.expected(what)) } else { self.slug(what) }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_word("done") || self.is_word("later") || self.is_word("fail")
    }

    /// `done`, `later` or `fail CODE ["message"]`
    pub(super) fn ending(&mut self) -> Read<Ending> {
        if self.eat_word("done") {
            return Ok(Ending::Done);
        }
        if self.eat_word("later") {
            return Ok(Ending::Later);
        }
        self.word("fail")?;
        let code = self.same_line("the failure's name, such as `EVENT_GONE`")?;
        let message = match self.token().kind {
            TokenKind::Text if !self.token().first => Some(self.template()?),
            _ => None,
        };
        Ok(Ending::Fail { code, message })
    }
}
