//! The least and the greatest value that a number or a duration can have.

use std::cmp::Ordering;

use latchkey_language::Span;
use latchkey_value::Number;

use super::decide::Known;
use crate::check::truth::plain;
use crate::model::{Expr, ExprKind, Kind, Op};
use crate::types::Type;

/// The least and the greatest value.
pub(super) struct Bounds {
    low: Option<Number>,
    high: Option<Number>,
}

impl Bounds {
    /// Whether a value within these bounds can have this order to one within the others.
    pub(super) fn can(&self, order: Ordering, other: &Bounds) -> bool {
        let below = |a: Option<Number>, b: Option<Number>| match (a, b) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => Ordering::Less,
        };
        let (least, most) = (below(self.low, other.high), below(other.low, self.high));
        match order {
            Ordering::Less => least == Ordering::Less,
            Ordering::Greater => most == Ordering::Less,
            Ordering::Equal => least != Ordering::Greater && most != Ordering::Greater,
        }
    }
}

/// The bounds of a value, by its type and by the comparisons with constants; with the places of these comparisons.
pub(super) fn bounds_of<'a>(known: &Known<'a, '_>, expr: &'a Expr) -> Option<(Bounds, Vec<Span>)> {
    let expr = plain(&known.group.lets, expr);
    if let Some(number) = constant(expr) {
        return Some((Bounds { low: Some(number), high: Some(number) }, Vec::new()));
    }
    let mut bounds = declared(known, expr)?;
    let mut by = Vec::new();
    for (op, a, b, span) in known.comparisons() {
        let (op, other) = match (known.same(a, expr), known.same(b, expr)) {
            (true, _) => (op, b),
            (_, true) => (turned(op), a),
            _ => continue,
        };
        let Some(number) = constant(plain(&known.group.lets, other)) else { continue };
        // A bound that is not included is taken as included. That decides less.
        if matches!(op, Op::Less | Op::LessOrEqual | Op::Equal)
            && bounds.high.is_none_or(|high| number < high)
        {
            bounds.high = Some(number);
            by.push(span);
        }
        if matches!(op, Op::Greater | Op::GreaterOrEqual | Op::Equal)
            && bounds.low.is_none_or(|low| number > low)
        {
            bounds.low = Some(number);
            by.push(span);
        }
    }
    Some((bounds, by))
}

fn constant(expr: &Expr) -> Option<Number> {
    match &expr.kind {
        ExprKind::Number(number) => Some(*number),
        ExprKind::Duration(milliseconds) => Some(Number::from(*milliseconds)),
        _ => None,
    }
}

/// The bounds of a type. A sum has none, and neither has an input with a default that is computed.
fn declared(known: &Known<'_, '_>, expr: &Expr) -> Option<Bounds> {
    let free = Bounds { low: None, high: None };
    let kept = match &expr.kind {
        ExprKind::Attribute(..) | ExprKind::Shard(..) => true,
        ExprKind::Input(input) => known.has_constant_default(*input),
        _ => false,
    };
    Some(match &expr.of {
        Kind::Value(Type::Int { low, high }) if kept => {
            Bounds { low: low.map(Number::from), high: high.map(Number::from) }
        }
        Kind::Value(Type::Number { low, high }) if kept => Bounds { low: *low, high: *high },
        Kind::Value(Type::Counter) if kept => Bounds { low: Some(Number::from(1_u64)), high: None },
        Kind::Value(Type::Int { .. } | Type::Number { .. } | Type::Counter | Type::Duration) => {
            free
        }
        _ => return None,
    })
}

/// The comparison that holds where this one does not.
pub(super) fn opposite(op: Op) -> Option<Op> {
    Some(match op {
        Op::Less => Op::GreaterOrEqual,
        Op::LessOrEqual => Op::Greater,
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::GreaterOrEqual => Op::Less,
        Op::Greater => Op::LessOrEqual,
        _ => return None,
    })
}

/// The comparison with its sides exchanged.
pub(super) fn turned(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        op => op,
    }
}
