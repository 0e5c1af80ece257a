//! Expressions, from the loosest operator to the tightest:
//! `or`, `and`, `not`, comparisons and tests, `+` and `-`, `*` and `/`, then `.x` and calls.

use crate::ast::{Assign, BinaryOp, Expr, ExprKind};
use crate::{Mark, Spanned, TokenKind};

use super::recover::STATEMENTS;
use super::{DEPTH_MAX, Parser, Read};

/// How many operators an expression may have, those within its parentheses too. DynamoDB takes 300 in one request, and
/// every layer walks the tree with a stack frame for each operator of a chain.
const TERMS_MAX: usize = 100;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Read<Expr> {
        if self.depth >= DEPTH_MAX {
            let span = self.token().span;
            return Err(self.error_at(span, "expressions too deep in each other"));
        }
        if self.expressions == 0 {
            self.terms = 0;
        }
        self.depth += 1;
        self.expressions += 1;
        let expression = self.or();
        self.expressions -= 1;
        self.depth -= 1;
        expression
    }

    /// Counts a term. A chain of operators is a tree that is as deep as the chain is long, so the count bounds the
    /// depth.
    fn term(&mut self) -> Read<()> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            let span = self.token().span;
            return Err(
                self.error_at(span, format!("an expression of more than {TERMS_MAX} terms"))
            );
        }
        Ok(())
    }

    fn or(&mut self) -> Read<Expr> {
        let mut left = self.and()?;
        while self.is_word("or") {
            self.term()?;
            let op = Spanned::new(BinaryOp::Or, self.advance().span);
            left = binary(left, op, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Read<Expr> {
        let mut left = self.not()?;
        while self.is_word("and") {
            self.term()?;
            let op = Spanned::new(BinaryOp::And, self.advance().span);
            left = binary(left, op, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Read<Expr> {
        // Counted rather than nested, for there may be any number.
        let mut starts = Vec::new();
        while self.is_word("not") {
            starts.push(self.advance().span);
            if starts.len() > DEPTH_MAX {
                return Err(self.expected("fewer of `not`"));
            }
        }
        let mut inner = self.test()?;
        while let Some(start) = starts.pop() {
            let span = start.to(inner.span);
            inner = Spanned::new(ExprKind::Not(Box::new(inner)), span);
        }
        Ok(inner)
    }

    fn test(&mut self) -> Read<Expr> {
        let left = self.sum()?;
        let comparison = match self.token().kind {
            TokenKind::Mark(Mark::Equal | Mark::EqualEqual) => Some(BinaryOp::Equal),
            TokenKind::Mark(Mark::NotEqual) => Some(BinaryOp::NotEqual),
            TokenKind::Mark(Mark::Less) => Some(BinaryOp::Less),
            TokenKind::Mark(Mark::LessOrEqual) => Some(BinaryOp::LessOrEqual),
            TokenKind::Mark(Mark::Greater) => Some(BinaryOp::Greater),
            TokenKind::Mark(Mark::GreaterOrEqual) => Some(BinaryOp::GreaterOrEqual),
            _ => None,
        };
        if let Some(op) = comparison {
            let single = self.is_mark(Mark::Equal);
            let op = Spanned::new(op, self.advance().span);
            if single && !self.in_where {
                let hint = "write `==` to compare; `=` gives a value, or fixes a key in a `where`";
                self.diagnostics.push(
                    crate::Diagnostic::new(
                        crate::Rule::Syntax,
                        op.span,
                        "`=` does not compare here",
                    )
                    .help(hint),
                );
            }
            return Ok(binary(left, op, self.sum()?));
        }
        self.word_test(left)
    }

    /// The tests that are written in words.
    fn word_test(&mut self, left: Expr) -> Read<Expr> {
        let start = left.span;
        let left = Box::new(left);
        let kind = if self.eat_word("is") {
            ExprKind::Is(left, self.name("`absent`, `present` or a role")?)
        } else if self.eat_word("owns") {
            ExprKind::Owns(left, Box::new(self.sum()?))
        } else if self.is_word("moves") {
            self.advance();
            self.word("to")?;
            ExprKind::MovesTo(left, Box::new(self.sum()?))
        } else if self.eat_word("begins_with") {
            ExprKind::BeginsWith(left, Box::new(self.sum()?))
        } else if self.eat_word("between") {
            let low = Box::new(self.sum()?);
            self.word("and")?;
            ExprKind::Between(left, low, Box::new(self.sum()?))
        } else if self.eat_word("in") {
            if !self.is_mark(Mark::ParenOpen) {
                let of = self.sum()?;
                let span = start.to(of.span);
                let kind = match (&left.node, &of.node) {
                    (ExprKind::Name(one), ExprKind::Name(other)) => {
                        let one = Spanned::new(one.clone(), start);
                        ExprKind::Within(one, Spanned::new(other.clone(), of.span))
                    }
                    _ => ExprKind::ElementOf(left, Box::new(of)),
                };
                return Ok(Spanned::new(kind, span));
            }
            self.advance();
            let values = self.commas(Parser::expression)?;
            self.mark(Mark::ParenClose)?;
            ExprKind::In(left, values)
        } else {
            return Ok(*left);
        };
        Ok(Spanned::new(kind, start.to(self.last_span())))
    }

    fn sum(&mut self) -> Read<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.token().kind {
                TokenKind::Mark(Mark::Plus) => BinaryOp::Plus,
                TokenKind::Mark(Mark::Minus) => BinaryOp::Minus,
                _ => return Ok(left),
            };
            self.term()?;
            let op = Spanned::new(op, self.advance().span);
            left = binary(left, op, self.product()?);
        }
    }

    fn product(&mut self) -> Read<Expr> {
        let mut left = self.postfix()?;
        loop {
            let token = self.token();
            let op = match token.kind {
                TokenKind::Mark(Mark::Star) => BinaryOp::Times,
                TokenKind::Mark(Mark::Slash) => BinaryOp::Over,
                // Behind a space a slash is a path, which no value is followed by.
                TokenKind::Path if self.slice(token.span) == "/" => BinaryOp::Over,
                TokenKind::Path if !token.first => {
                    let message = "this is a path; write `a / b` with spaces to divide";
                    return Err(self.error_at(token.span, message));
                }
                _ => return Ok(left),
            };
            self.term()?;
            let op = Spanned::new(op, self.advance().span);
            left = binary(left, op, self.postfix()?);
        }
    }

    fn postfix(&mut self) -> Read<Expr> {
        let mut expression = self.primary()?;
        // No statement begins with a dot, so a dot at the start of a line continues the line before.
        while self.eat_mark(Mark::Dot) {
            self.term()?;
            let name = self.operand("an attribute")?;
            let span = expression.span.to(name.span);
            expression = Spanned::new(ExprKind::Member(Box::new(expression), name), span);
        }
        Ok(expression)
    }

    fn primary(&mut self) -> Read<Expr> {
        let token = self.token();
        let text = || self.slice(token.span).to_owned();
        let kind = match token.kind {
            TokenKind::Number => ExprKind::Number(text()),
            TokenKind::Duration => ExprKind::Duration(text()),
            TokenKind::Text => {
                let template = self.template()?;
                return Ok(Spanned::new(ExprKind::Text(template), token.span));
            }
            TokenKind::Mark(Mark::Minus) => {
                self.advance();
                let number = self.kind(TokenKind::Number, "a number")?;
                let kind = ExprKind::Number(format!("-{}", number.node));
                return Ok(Spanned::new(kind, token.span.to(number.span)));
            }
            TokenKind::Mark(Mark::Dot) => {
                self.advance();
                let name = self.operand("a stored attribute")?;
                let span = token.span.to(name.span);
                return Ok(Spanned::new(ExprKind::Stored(name), span));
            }
            TokenKind::Mark(Mark::ParenOpen) => {
                self.advance();
                let inner = self.expression()?;
                let close = self.mark(Mark::ParenClose)?;
                return Ok(Spanned::new(inner.node, token.span.to(close)));
            }
            TokenKind::Mark(Mark::BraceOpen) => {
                let members = self.object()?;
                let span = token.span.to(self.last_span());
                return Ok(Spanned::new(ExprKind::Object(members), span));
            }
            // A line that begins a statement is not the missing value.
            TokenKind::Word if !self.begins(STATEMENTS) => return self.named(),
            _ => return Err(self.expected("a value")),
        };
        self.advance();
        Ok(Spanned::new(kind, token.span))
    }

    /// A name, a word of an enum, a call or `new`. Only a word of an enum may have dashes; which of them it is, is seen
    /// where names have a meaning.
    fn named(&mut self) -> Read<Expr> {
        let name = self.slug("a value")?;
        let start = name.span;
        if name.node == "new" && self.token().kind == TokenKind::Word && !self.token().first {
            let what = self.name("what is to be new")?;
            let span = start.to(what.span);
            return Ok(Spanned::new(ExprKind::New(what), span));
        }
        let quantifier = match name.node.as_str() {
            "all" => Some(true),
            "any" => Some(false),
            _ => None,
        };
        if let Some(all) =
            quantifier.filter(|_| self.token().kind == TokenKind::Word && self.second_word_is("in"))
        {
            let (element, over) = self.element_in()?;
            self.mark(Mark::ParenOpen)?;
            let test = Box::new(self.expression()?);
            let span = start.to(self.mark(Mark::ParenClose)?);
            let over = Box::new(over);
            return Ok(Spanned::new(ExprKind::Every { all, element, over, test }, span));
        }
        if self.is_mark(Mark::ParenOpen) && !self.token().first {
            self.no_dash(&name);
            self.advance();
            let arguments = self.commas(Parser::argument)?;
            let close = self.mark(Mark::ParenClose)?;
            return Ok(Spanned::new(ExprKind::Call(name, arguments), start.to(close)));
        }
        Ok(Spanned::new(ExprKind::Name(name.node), start))
    }

    /// `expression` or `page by status`
    fn argument(&mut self) -> Read<Expr> {
        let value = self.expression()?;
        if !self.eat_word("by") {
            return Ok(value);
        }
        let attribute = self.name("an attribute")?;
        let span = value.span.to(attribute.span);
        Ok(Spanned::new(ExprKind::By(Box::new(value), attribute), span))
    }

    /// `{ a = x, b = y }`, which goes as deep as an expression.
    fn object(&mut self) -> Read<Vec<Assign>> {
        if self.depth >= DEPTH_MAX {
            let span = self.token().span;
            return Err(self.error_at(span, "expressions too deep in each other"));
        }
        self.depth += 1;
        let members = self.assigns();
        self.depth -= 1;
        members
    }
}

fn binary(left: Expr, op: Spanned<BinaryOp>, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Spanned::new(ExprKind::Binary(Box::new(left), op, Box::new(right)), span)
}
