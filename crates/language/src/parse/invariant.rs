//! Invariants: what holds of every item of an entity, whenever nothing is under way.

use crate::ast::{Invariant, Statement};
use crate::{Mark, Spanned, TokenKind};

use super::{Parser, Read, Resume};

impl Parser<'_> {
    /// `invariant ENTITY "what holds" { [NAME = get|query …]… CONDITION }`
    pub(super) fn invariant(&mut self) -> Read<Invariant> {
        let start = self.advance().span;
        let entity = self.name("the entity it is about")?;
        let promise = self.plain_text("what holds, in quotes")?;
        let (mut reads, mut condition) = (Vec::new(), None);
        let body = self.braces(Resume::Statement, |parser| {
            if parser.peek_after() == TokenKind::Mark(Mark::Equal) {
                reads.push(parser.read_of_invariant()?);
                return Ok(());
            }
            let written = parser.expression()?;
            if condition.is_some() {
                let message = "an invariant has one condition; join two of them with `and`";
                return Err(parser.error_at(written.span, message));
            }
            condition = Some(written);
            Ok(())
        })?;
        let span = start.to(body);
        match condition {
            Some(condition) => Ok(Invariant { entity, promise, reads, condition, span }),
            None => Err(self.error_at(promise.span, "an invariant without a condition")),
        }
    }

    /// `NAME = get …` or `NAME = query …`
    fn read_of_invariant(&mut self) -> Read<Statement> {
        let start = self.token().span;
        let kind = self.binding()?;
        Ok(Spanned::new(kind, start.to(self.last_span())))
    }
}
