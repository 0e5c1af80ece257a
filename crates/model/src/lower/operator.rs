//! Operators: `is`, `owns`, `moves to`, comparisons, sums and products.

use latchkey_language::ast::{self, BinaryOp, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::time::DAY;

use super::Lowering;
use super::expression::value_type;
use super::function::is_draw;
use super::scope::{Scope, narrow};
use crate::model::{Expr, ExprKind, Kind};
use crate::types::Type;

impl Lowering {
    pub(super) fn is(
        &mut self,
        thing: &ast::Expr,
        word: &Name,
        scope: &mut Scope,
    ) -> (ExprKind, Kind) {
        if let Written::Name(name) = &thing.node
            && name == "caller"
        {
            self.must_have_caller(word.span, scope);
            self.asked.callers.push(word.span);
            return match self.role(word) {
                Some(role) => (ExprKind::HasRole(role), Kind::Test),
                None => (ExprKind::Unknown, Kind::Unknown),
            };
        }
        let thing = self.expr(thing, scope, None);
        match word.node.as_str() {
            "present" => (ExprKind::Present(Box::new(thing)), Kind::Test),
            "absent" => (ExprKind::Absent(Box::new(thing)), Kind::Test),
            _ => {
                let help = Some("write `is present`, `is absent` or `caller is ROLE`".to_owned());
                self.unknown("test", word, help);
                (ExprKind::Unknown, Kind::Unknown)
            }
        }
    }

    pub(super) fn owns(
        &mut self,
        who: &ast::Expr,
        what: &ast::Expr,
        scope: &mut Scope,
    ) -> (ExprKind, Kind) {
        if !matches!(&who.node, Written::Name(name) if name == "caller") {
            let message = "only the caller owns things";
            self.report(
                Diagnostic::new(Rule::Type, who.span, message).help("write `caller owns …`"),
            );
        }
        self.must_have_caller(who.span, scope);
        self.asked.callers.push(who.span);
        let what = self.sure(what, scope, Some(&Type::Id));
        (ExprKind::Owns(Box::new(what)), Kind::Test)
    }

    pub(super) fn moves_to(
        &mut self,
        from: &ast::Expr,
        to: &ast::Expr,
        scope: &mut Scope,
    ) -> (ExprKind, Kind) {
        let from = self.sure(from, scope, None);
        let declared = match (&from.kind, &from.of) {
            (ExprKind::Attribute(id, name), _) => {
                let declared = self.attribute_read(*id, name, scope);
                declared.is_some_and(|attribute| attribute.moves.is_some())
            }
            (_, Kind::Unknown) => true,
            _ => false,
        };
        if !declared {
            let message = "nothing says how this moves";
            let help = "declare `status moves { A -> B }` in its entity";
            self.report(Diagnostic::new(Rule::Type, from.span, message).help(help));
        }
        let kind = value_type(&from).cloned();
        let to = self.sure(to, scope, kind.as_ref());
        (ExprKind::MovesTo(Box::new(from), Box::new(to)), Kind::Test)
    }

    pub(super) fn binary(
        &mut self,
        left: &ast::Expr,
        op: BinaryOp,
        right: &ast::Expr,
        scope: &mut Scope,
        span: Span,
    ) -> (ExprKind, Kind) {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let left = self.test(left, scope);
            // The right side is asked only if the left did not decide.
            let before = scope.present.clone();
            narrow(&left, op == BinaryOp::And, &mut scope.present);
            let right = self.test(right, scope);
            scope.present = before;
            return (ExprKind::Binary(op, Box::new(left), Box::new(right)), Kind::Test);
        }
        if is_draw(left) || is_draw(right) {
            return self.drawn((left, right), op, span, scope);
        }
        // A bare word takes its meaning from the other side.
        let word_first =
            matches!(&left.node, Written::Name(name) if name != "now" && !scope.knows(name));
        let (left, right) = if word_first {
            let right = self.value(right, scope, None);
            let kind = value_type(&right).cloned();
            (self.value(left, scope, kind.as_ref()), right)
        } else {
            let written = left;
            let left = self.value(written, scope, None);
            let kind = value_type(&left).cloned().filter(|kind| matches!(kind, Type::Enum(_)));
            let right = match (op, &right.node) {
                // The one place where months can stand.
                (BinaryOp::Plus | BinaryOp::Minus, Written::Duration(_)) => {
                    self.expr(right, scope, None)
                }
                _ => self.value(right, scope, kind.as_ref()),
            };
            if let Written::Name(name) = &written.node
                && self.means_two(name, written.span, scope, value_type(&right))
            {
                return (ExprKind::Unknown, Kind::Unknown);
            }
            (left, right)
        };
        self.must_have(&left, scope);
        self.must_have(&right, scope);
        if op == BinaryOp::Over {
            self.needs_places(span);
            return (ExprKind::Unknown, Kind::Unknown);
        }
        let of = match (value_type(&left), value_type(&right)) {
            (Some(Type::Date), Some(Type::Duration)) if computes(op) => {
                self.must_be_days(&right);
                Kind::Value(Type::Date)
            }
            (Some(a), Some(b)) => self.result(op, a, b, span),
            _ if computes(op) => Kind::Unknown,
            _ => Kind::Test,
        };
        (ExprKind::Binary(op, Box::new(left), Box::new(right)), of)
    }

    /// A quotient of two numbers has more places than any number, as a rule.
    fn needs_places(&mut self, span: Span) {
        let message = "a quotient says how it is rounded";
        let help = "write `round(a / b, 2)`, `floor(a / b)` or `ceil(a / b)`, with the division as the last step";
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
    }

    /// A date moves by whole days, which must be told before the call.
    fn must_be_days(&mut self, by: &Expr) {
        let days = u64::try_from(DAY).unwrap_or(u64::MAX);
        if !matches!(by.kind, ExprKind::Duration(milliseconds) if milliseconds % days == 0) {
            let message = "a date moves by whole days, months or years";
            let help = "write a duration such as `7d`, `1mo` or `1y`";
            self.report(Diagnostic::new(Rule::Type, by.span, message).help(help));
        }
    }

    fn result(&mut self, op: BinaryOp, a: &Type, b: &Type, span: Span) -> Kind {
        let number = Type::Number { low: None, high: None };
        match op {
            BinaryOp::Plus | BinaryOp::Minus => match (a, b) {
                (Type::Time, Type::Duration | Type::Months) => Kind::Value(Type::Time),
                (Type::Date, Type::Months) => Kind::Value(Type::Date),
                (Type::Time, Type::Time) | (Type::Date, Type::Date) if op == BinaryOp::Minus => {
                    Kind::Value(Type::Duration)
                }
                (a, b) if a.fits(&Type::Int { low: None, high: None }) && b.fits(a) => {
                    Kind::Value(Type::Int { low: None, high: None })
                }
                (a, b) if a.fits(&number) && b.fits(&number) => Kind::Value(number),
                _ => {
                    let message = format!("{a} and {b} do not add up");
                    self.report(Diagnostic::new(Rule::Type, span, message));
                    Kind::Unknown
                }
            },
            BinaryOp::Times => match product(a, b) {
                Some(kind) => Kind::Value(kind),
                None => {
                    let message = format!("{a} and {b} do not multiply");
                    self.report(Diagnostic::new(Rule::Type, span, message));
                    Kind::Unknown
                }
            },
            _ => {
                let ordered = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)
                    || (a.is_ordered() && b.is_ordered());
                if !a.compares_with(b) || !ordered {
                    let message = format!("{a} and {b} do not compare");
                    self.report(Diagnostic::new(Rule::Type, span, message));
                }
                Kind::Test
            }
        }
    }
}

/// Whether an operator makes a value of two, and no test.
fn computes(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Plus | BinaryOp::Minus | BinaryOp::Times | BinaryOp::Over)
}

/// The type of a product, with the bounds that those of its factors make.
fn product(a: &Type, b: &Type) -> Option<Type> {
    let bounds = |kind: &Type| match kind {
        Type::Int { low, high } => Some((*low, *high)),
        Type::Counter => Some((Some(1), None)),
        _ => None,
    };
    let (Some((a_low, a_high)), Some((b_low, b_high))) = (bounds(a), bounds(b)) else {
        let number = Type::Number { low: None, high: None };
        return (a.fits(&number) && b.fits(&number)).then_some(number);
    };
    let times = |a: Option<i64>, b: Option<i64>| a?.checked_mul(b?);
    if a_low.is_some_and(|low| low >= 0) && b_low.is_some_and(|low| low >= 0) {
        return Some(Type::Int { low: times(a_low, b_low), high: times(a_high, b_high) });
    }
    let ends = [(a_low, b_low), (a_low, b_high), (a_high, b_low), (a_high, b_high)];
    let ends: Option<Vec<i64>> = ends.into_iter().map(|(a, b)| times(a, b)).collect();
    let ends = ends.unwrap_or_default();
    Some(Type::Int { low: ends.iter().min().copied(), high: ends.iter().max().copied() })
}
