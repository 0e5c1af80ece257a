//! Whether a test asks who the caller is, or whether a thing is open to callers. A pin, a limit and a count ask neither:
//! they come out the same whoever calls.

use super::Writer;
use crate::check::truth::{Passed, plain};
use crate::model::{Expr, ExprKind, Kind, Leg, Op};
use crate::types::Type;

impl<'a> Writer<'a, '_> {
    /// Whether a test that was passed asks so. It may be the condition of a leg.
    pub(super) fn asks_who(&self, passed: Passed<'a>, leg: Option<&'a Leg>) -> bool {
        let atoms = passed.atoms(&self.group.lets);
        atoms.into_iter().any(|atom| self.atom_asks(&atom, leg))
    }

    /// Whether the condition of a leg asks so.
    pub(super) fn leg_asks(&self, leg: &'a Leg) -> bool {
        let mut condition = leg.condition.iter();
        condition.any(|test| self.asks_who(Passed::new(test, true), Some(leg)))
    }

    fn atom_asks(&self, atom: &Passed<'a>, leg: Option<&'a Leg>) -> bool {
        match (&atom.test.kind, atom.truth) {
            // An `or` is no better than its weaker side.
            (ExprKind::Binary(Op::And | Op::Or, a, b), truth) => {
                let mut sides = [a, b].into_iter();
                sides.all(|side| self.asks_who(Passed::new(side, truth), leg))
            }
            (ExprKind::Binary(Op::Equal, a, b), true)
            | (ExprKind::Binary(Op::NotEqual, a, b), false) => !self.is_same(a, b, leg),
            // That something is another word excludes one; that it is another id or number excludes nobody.
            (ExprKind::Binary(Op::Equal | Op::NotEqual, a, b), _) => {
                [a, b].iter().any(|side| is_word(side))
            }
            (ExprKind::Binary(op, a, b), truth) => {
                match (op, truth) {
                    (Op::Less | Op::LessOrEqual, true)
                    | (Op::Greater | Op::GreaterOrEqual, false) => self.is_until(a, b),
                    (Op::Greater | Op::GreaterOrEqual, true)
                    | (Op::Less | Op::LessOrEqual, false) => self.is_until(b, a),
                    _ => false,
                }
            }
            (ExprKind::Between(thing, _, end), true) => self.is_until(thing, end),
            (ExprKind::Present(thing), truth) => !truth && is_attribute(self.plain(thing)),
            (ExprKind::Absent(thing), truth) => truth && is_attribute(self.plain(thing)),
            (ExprKind::Between(..), false) | (ExprKind::Unchanged | ExprKind::Bool(_), _) => false,
            _ => true,
        }
    }

    fn plain(&self, expr: &'a Expr) -> &'a Expr {
        plain(&self.group.lets, expr)
    }

    /// Whether a thing says until when it is open.
    fn is_until(&self, now: &'a Expr, end: &'a Expr) -> bool {
        matches!(self.plain(now).kind, ExprKind::Now) && is_attribute(self.plain(end))
    }

    /// Whether two values are one: the same, or what an item has and what was read of it.
    fn is_same(&self, a: &'a Expr, b: &'a Expr, leg: Option<&'a Leg>) -> bool {
        let group = self.group;
        let pins = |stored: &'a Expr, read: &'a Expr| match (&stored.kind, &self.plain(read).kind) {
            (ExprKind::Stored(name), ExprKind::Attribute(item, other)) => {
                name == other && leg.is_some_and(|leg| group.is_on(leg, *item))
            }
            (ExprKind::Stored(name), ExprKind::Stored(other)) => name == other,
            _ => false,
        };
        group.alike(a, b, None) || pins(a, b) || pins(b, a)
    }
}

fn is_attribute(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Attribute(..) | ExprKind::Stored(_))
}

fn is_word(expr: &Expr) -> bool {
    matches!(expr.of, Kind::Value(Type::Enum(_) | Type::Bool))
}
