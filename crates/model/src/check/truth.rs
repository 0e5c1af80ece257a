//! How tests come out: what is known once one has passed, and what a value would make of it.

use std::collections::{HashMap, HashSet};

use crate::model::{BindingId, Expr, ExprKind, Kind, Op};
use crate::types::Type;

/// The values that have a name, by their binding; never the name of another.
pub(super) type Lets<'a> = HashMap<BindingId, &'a Expr>;

/// How many parts of two expressions are compared, or of a test taken apart, before they are taken as unknown.
pub(super) const PARTS_MAX: usize = 250;

/// An expression, or what it is a name for.
pub(super) fn plain<'a>(lets: &Lets<'a>, expr: &'a Expr) -> &'a Expr {
    match &expr.kind {
        ExprKind::Binding(binding) => lets.get(binding).copied().unwrap_or(expr),
        _ => expr,
    }
}

/// Hands an expression and all within it to a function, and what its names stand for.
pub(super) fn each<'a>(lets: &Lets<'a>, expr: &'a Expr, visit: &mut impl FnMut(&'a Expr)) {
    let mut open = vec![expr];
    // Each name once: a chain of names for sums of names would never end.
    let mut seen = HashSet::new();
    while let Some(expr) = open.pop() {
        expr.walk(&mut |part| {
            if let ExprKind::Binding(binding) = &part.kind
                && let Some(named) = lets.get(binding)
                && seen.insert(*binding)
            {
                open.push(named);
            }
            visit(part);
        });
    }
}

/// A test, and how it came out.
#[derive(Clone, Copy)]
pub(super) struct Passed<'a> {
    pub(super) test: &'a Expr,
    pub(super) truth: bool,
    /// Whether something it asked about was written since.
    pub(super) stale: bool,
    /// How many writes of the contract came before it.
    pub(super) after: usize,
}

impl<'a> Passed<'a> {
    pub(super) fn new(test: &'a Expr, truth: bool) -> Passed<'a> {
        Passed { test, truth, stale: false, after: 0 }
    }

    /// The two values that it found equal.
    pub(super) fn equality(&self) -> Option<(&'a Expr, &'a Expr)> {
        match (&self.test.kind, self.truth) {
            (ExprKind::Binary(Op::Equal, a, b), true)
            | (ExprKind::Binary(Op::NotEqual, a, b), false) => Some((a, b)),
            _ => None,
        }
    }

    /// The smaller tests that came out with it: both sides of an `and` that holds, of an `or` that does not.
    pub(super) fn atoms(self, lets: &Lets<'a>) -> Vec<Passed<'a>> {
        let mut all = Vec::new();
        let mut open = vec![self];
        while let Some(passed) = open.pop() {
            let test = plain(lets, passed.test);
            if all.len() + open.len() > PARTS_MAX {
                all.push(Passed { test, ..passed });
                continue;
            }
            match (&test.kind, passed.truth) {
                (ExprKind::Not(inner), truth) => {
                    open.push(Passed { test: inner, truth: !truth, ..passed });
                }
                (ExprKind::Binary(Op::And, a, b), true)
                | (ExprKind::Binary(Op::Or, a, b), false) => {
                    open.extend([b, a].map(|test| Passed { test, ..passed }));
                }
                _ => all.push(Passed { test, ..passed }),
            }
        }
        all
    }
}

/// What a number is at most by a test that was passed, and whether it is less than that.
pub(super) fn at_most<'a>(
    lets: &Lets<'a>,
    atom: &Passed<'a>,
    is_it: &dyn Fn(&'a Expr) -> bool,
) -> Option<(i64, bool)> {
    let ExprKind::Binary(op, a, b) = &atom.test.kind else { return None };
    let number = |expr: &'a Expr| {
        let expr = plain(lets, expr);
        match (&expr.kind, &expr.of) {
            (ExprKind::Number(number), _) => number.to_i64(),
            (_, Kind::Value(Type::Int { high, .. })) => *high,
            _ => None,
        }
    };
    let (most, op) = match (is_it(a), is_it(b)) {
        (true, _) => (number(b)?, *op),
        (_, true) => (number(a)?, turned(*op)),
        (false, false) => return None,
    };
    match (op, atom.truth) {
        (Op::Less, true) | (Op::GreaterOrEqual, false) => Some((most, true)),
        (Op::LessOrEqual | Op::Equal, true) | (Op::Greater | Op::NotEqual, false) => {
            Some((most, false))
        }
        _ => None,
    }
}

/// What a whole number is at least by a test that was passed.
pub(super) fn at_least<'a>(
    lets: &Lets<'a>,
    atom: &Passed<'a>,
    is_it: &dyn Fn(&'a Expr) -> bool,
) -> Option<i64> {
    let ExprKind::Binary(op, a, b) = &atom.test.kind else { return None };
    let number = |expr: &'a Expr| {
        let expr = plain(lets, expr);
        match (&expr.kind, &expr.of) {
            (ExprKind::Number(number), _) => number.to_i64(),
            (_, Kind::Value(Type::Int { low, .. })) => *low,
            _ => None,
        }
    };
    let (least, op) = match (is_it(a), is_it(b)) {
        (true, _) => (number(b)?, *op),
        (_, true) => (number(a)?, turned(*op)),
        (false, false) => return None,
    };
    match (op, atom.truth) {
        (Op::Greater, true) | (Op::LessOrEqual, false) => least.checked_add(1),
        (Op::GreaterOrEqual | Op::Equal, true) | (Op::Less | Op::NotEqual, false) => Some(least),
        _ => None,
    }
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

/// Which values of an attribute can follow which.
pub(super) type Moves = [(String, Vec<String>)];

/// How tests come out if some expressions are known to be words.
pub(super) struct Supposed<'a, 's> {
    pub(super) lets: &'s Lets<'a>,
    pub(super) moves: &'s Moves,
    /// The word an expression is supposed to be.
    pub(super) word: &'s dyn Fn(&'a Expr) -> Option<&'a str>,
    /// Whether a thing is supposed to be there.
    pub(super) there: &'s dyn Fn(&'a Expr) -> Option<bool>,
}

impl<'a> Supposed<'a, '_> {
    /// How a test comes out; `None` where what is supposed does not decide it.
    pub(super) fn outcome(&self, test: &'a Expr) -> Option<bool> {
        self.decide(test, &mut PARTS_MAX.clone())
    }

    fn known(&self, expr: &'a Expr) -> Option<&'a str> {
        let expr = plain(self.lets, expr);
        match &expr.kind {
            ExprKind::Word(word) => Some(word),
            ExprKind::Bool(truth) => Some(truth_word(*truth)),
            _ => (self.word)(expr),
        }
    }

    fn decide(&self, test: &'a Expr, left: &mut usize) -> Option<bool> {
        *left = left.checked_sub(1)?;
        let test = plain(self.lets, test);
        match &test.kind {
            ExprKind::Bool(truth) => Some(*truth),
            ExprKind::Present(thing) => (self.there)(plain(self.lets, thing)),
            ExprKind::Absent(thing) => (self.there)(plain(self.lets, thing)).map(|there| !there),
            ExprKind::Not(inner) => self.decide(inner, left).map(|truth| !truth),
            ExprKind::Binary(op @ (Op::And | Op::Or), a, b) => {
                let decides = *op == Op::Or;
                match (self.decide(a, left), self.decide(b, left)) {
                    (Some(a), _) if a == decides => Some(decides),
                    (_, Some(b)) if b == decides => Some(decides),
                    (Some(_), Some(_)) => Some(!decides),
                    _ => None,
                }
            }
            ExprKind::Binary(Op::Equal, a, b) => Some(self.known(a)? == self.known(b)?),
            ExprKind::Binary(Op::NotEqual, a, b) => Some(self.known(a)? != self.known(b)?),
            ExprKind::In(thing, values) => {
                let thing = self.known(thing)?;
                let values: Vec<_> = values.iter().map(|value| self.known(value)).collect();
                match values.contains(&Some(thing)) {
                    true => Some(true),
                    false => (!values.contains(&None)).then_some(false),
                }
            }
            ExprKind::MovesTo(from, to) => {
                Some(declared(self.moves, self.known(from)?, self.known(to)?))
            }
            // A test that is no more than a name is true or false.
            _ => {
                [true, false].into_iter().find(|truth| self.known(test) == Some(truth_word(*truth)))
            }
        }
    }
}

/// True or false, as words.
pub(super) fn truth_word(truth: bool) -> &'static str {
    if truth { "true" } else { "false" }
}

/// Whether a move is declared.
pub(super) fn declared(moves: &Moves, from: &str, to: &str) -> bool {
    moves.iter().any(|(origin, targets)| origin == from && targets.iter().any(|word| word == to))
}
