//! `round`, `floor` and `ceil`: of a number, or of a quotient, which has no value without them.

use latchkey_language::ast::{self, BinaryOp, ExprKind as Written};
use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::{Number, Rounding};

use super::Lowering;
use super::scope::{Scope, unknown};
use crate::model::{Expr, ExprKind, Kind};
use crate::types::Type;

/// The most places behind the point: a number has no more digits.
const PLACES_MAX: u8 = 37;

impl Lowering {
    /// A rounded number, or a rounded quotient.
    pub(super) fn rounded(
        &mut self,
        rounding: Rounding,
        of: &ast::Expr,
        places: &[ast::Expr],
        span: Span,
        scope: &mut Scope,
    ) -> Expr {
        let Some(places) = self.decimal_places(places, span) else { return unknown(span) };
        let any = Type::Number { low: None, high: None };
        let (a, by) = match &of.node {
            Written::Binary(a, op, by) if op.node == BinaryOp::Over => {
                let a = self.sure(a, scope, Some(&any));
                let by = self.sure(by, scope, Some(&any));
                if matches!(&by.kind, ExprKind::Number(number) if *number == Number::ZERO) {
                    let message = "nothing can be divided by zero";
                    self.report(Diagnostic::new(Rule::Type, by.span, message));
                }
                (a, Some(Box::new(by)))
            }
            _ => (self.sure(of, scope, Some(&any)), None),
        };
        let positive = is_from_zero(&a) && by.as_ref().is_none_or(|by| is_from_zero(by));
        let kind = match places {
            0 => Type::Int { low: positive.then_some(0), high: None },
            _ => Type::Number { low: positive.then_some(Number::ZERO), high: None },
        };
        let kind = if a.of == Kind::Unknown { Kind::Unknown } else { Kind::Value(kind) };
        Expr { kind: ExprKind::Rounded(rounding, Box::new(a), by, places), of: kind, span }
    }

    /// How many places are asked for: a constant, or none.
    fn decimal_places(&mut self, places: &[ast::Expr], span: Span) -> Option<u8> {
        let given = match places {
            [] => return Some(0),
            [one] => match &one.node {
                Written::Number(number) => number.parse().ok().filter(|n| *n <= PLACES_MAX),
                _ => None,
            },
            _ => None,
        };
        if given.is_none() {
            let message = format!("the places are one whole number from 0 to {PLACES_MAX}");
            let help = "write `round(a / b, 2)`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
        given
    }
}

/// Whether a number is declared to be 0 or more.
fn is_from_zero(expr: &Expr) -> bool {
    match &expr.of {
        Kind::Value(Type::Int { low, .. }) => low.is_some_and(|low| low >= 0),
        Kind::Value(Type::Number { low, .. }) => low.is_some_and(|low| !low.is_negative()),
        Kind::Value(Type::Counter) => true,
        _ => false,
    }
}
