//! What a write leaves of a test of the stored item: whether the test holds after it, and whether the write can make it
//! hold. Words, `bool` values, presence, and whole numbers that are compared with constants are decided; of all else,
//! anything may be.

use super::changes::untold;
use super::truth::{Lets, Passed, Supposed, plain, truth_word, turned};
use crate::model::{Expr, ExprKind, Given, Leg, Model, Op, Verb};
use crate::types::Type;

/// The whole numbers from the first to the second.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    low: i64,
    high: i64,
}

impl Span {
    const ALL: Span = Span { low: i64::MIN, high: i64::MAX };

    fn meets(self, other: Span) -> bool {
        self.low.max(other.low) <= self.high.min(other.high)
    }
}

/// A whole number that is written as such.
pub(super) fn constant(lets: &Lets<'_>, expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Number(number) => number.to_i64(),
        ExprKind::Binding(binding) => match &lets.get(binding)?.kind {
            ExprKind::Number(number) => number.to_i64(),
            _ => None,
        },
        _ => None,
    }
}

/// The attribute of the stored item that an expression is.
type Named<'a, 'n> = &'n dyn Fn(&'a Expr) -> Option<&'a str>;

fn stored(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Stored(name) => Some(name),
        _ => None,
    }
}

/// The number of the item that a test compares with a constant, and the numbers of which the test has its outcome.
fn asked<'a>(
    model: &Model,
    (leg, lets): (&Leg, &Lets<'a>),
    atom: &Passed<'a>,
    named: Named<'a, '_>,
) -> Option<(&'a str, Span)> {
    let ExprKind::Binary(op, a, b) = &atom.test.kind else { return None };
    let (name, other, op) = match (named(plain(lets, a)), named(plain(lets, b))) {
        (Some(name), _) => (name, b, *op),
        (_, Some(name)) => (name, a, turned(*op)),
        (None, None) => return None,
    };
    let attribute = model.entities[leg.entity].attribute(name)?;
    let (low, high) = match (&attribute.kind, attribute.optional) {
        (Type::Int { low, high }, false) => (*low, *high),
        _ => return None,
    };
    let number = constant(lets, other)?;
    let (below, above) = (number.checked_sub(1)?, number.checked_add(1)?);
    let kept = match (op, atom.truth) {
        (Op::Equal, true) | (Op::NotEqual, false) => Span { low: number, high: number },
        (Op::Less, true) | (Op::GreaterOrEqual, false) => Span { high: below, ..Span::ALL },
        (Op::LessOrEqual, true) | (Op::Greater, false) => Span { high: number, ..Span::ALL },
        (Op::Greater, true) | (Op::LessOrEqual, false) => Span { low: above, ..Span::ALL },
        (Op::GreaterOrEqual, true) | (Op::Less, false) => Span { low: number, ..Span::ALL },
        // All but one: a span where that one is the first or the last.
        (Op::NotEqual, true) | (Op::Equal, false) if low == Some(number) => {
            Span { low: above, ..Span::ALL }
        }
        (Op::NotEqual, true) | (Op::Equal, false) if high == Some(number) => {
            Span { high: below, ..Span::ALL }
        }
        _ => return None,
    };
    let low = low.map_or(kept.low, |low| kept.low.max(low));
    let high = high.map_or(kept.high, |high| kept.high.min(high));
    Some((name, Span { low, high }))
}

/// What a leg does with a number.
enum Number {
    /// It has this value.
    Is(i64),
    /// It is so much more than before.
    Moves(i64),
}

fn number(leg: &Leg, name: &str) -> Option<Number> {
    let lets = Lets::new();
    let of = |all: &'_ [Given]| all.iter().position(|given| given.attribute == name);
    if let Some(added) = of(&leg.adds).and_then(|at| leg.adds.get(at)) {
        return constant(&lets, &added.value).map(Number::Moves);
    }
    let given = of(&leg.values).and_then(|at| leg.values.get(at));
    let given = given.filter(|given| given.is_whole() && !given.maybe)?;
    let is_own = |expr: &Expr| matches!(&expr.kind, ExprKind::Stored(other) if other == name);
    match &given.value.kind {
        ExprKind::Binary(Op::Plus, a, b) if is_own(a) => constant(&lets, b).map(Number::Moves),
        ExprKind::Binary(Op::Plus, a, b) if is_own(b) => constant(&lets, a).map(Number::Moves),
        ExprKind::Binary(Op::Minus, a, b) if is_own(a) => {
            constant(&lets, b)?.checked_neg().map(Number::Moves)
        }
        _ => constant(&lets, &given.value).map(Number::Is),
    }
}

/// Whether a write changes something of the stored item that a test asks for.
pub(super) fn touches(model: &Model, leg: &Leg, test: &Expr) -> bool {
    let mut found = false;
    test.walk(&mut |part| {
        if let ExprKind::Stored(name) = &part.kind {
            let mut given = leg.values.iter().chain(&leg.adds);
            found |= given.any(|given| given.attribute == *name)
                || leg.removes.iter().any(|other| other == name)
                || untold(model, leg).any(|other| other == name);
        }
    });
    found
}

/// Whether a test of the stored item, with its outcome, is so after a write of the item; nothing, if that is not sure.
pub(super) fn holds_after<'a>(
    model: &'a Model,
    lets: &Lets<'a>,
    leg: &'a Leg,
    atom: &Passed<'a>,
) -> Option<bool> {
    if let Some((name, kept)) = asked(model, (leg, lets), atom, &stored)
        && let Some(number) = number(leg, name)
    {
        return match number {
            Number::Is(value) => Some(Span { low: value, high: value }.meets(kept)),
            // Where it came out so before, it does not after, if the move is longer than all of these.
            Number::Moves(_) => None,
        };
    }
    let given = |expr: &'a Expr| {
        let ExprKind::Stored(name) = &expr.kind else { return None };
        let mut values = leg.values.iter();
        values.find(|given| given.attribute == *name && given.is_whole() && !given.maybe)
    };
    let word = |expr: &'a Expr| match &given(expr)?.value.kind {
        ExprKind::Word(word) => Some(word.as_str()),
        ExprKind::Bool(truth) => Some(truth_word(*truth)),
        _ => None,
    };
    let there = |expr: &'a Expr| match &expr.kind {
        ExprKind::Stored(name) if leg.removes.iter().any(|other| other == name) => Some(false),
        // What may be absent leaves the attribute out.
        _ => given(expr).map(|_| true).filter(|_| leg.verb != Verb::Put || word(expr).is_some()),
    };
    let supposed = Supposed { lets, moves: &[], word: &word, there: &there };
    supposed.outcome(atom.test).map(|truth| truth == atom.truth)
}

/// Whether a write can make a test of the stored item come out so, where it came out otherwise before.
pub(super) fn can_turn<'a>(
    model: &'a Model,
    lets: &Lets<'a>,
    leg: &'a Leg,
    atom: &Passed<'a>,
) -> bool {
    if !touches(model, leg, atom.test) || holds_after(model, lets, leg, atom) == Some(false) {
        return false;
    }
    let Some((name, kept)) = asked(model, (leg, lets), atom, &stored) else { return true };
    match number(leg, name) {
        Some(Number::Moves(by)) => {
            let open_below = kept.low == i64::MIN;
            let open_above = kept.high == i64::MAX;
            // Away from what the test asks for.
            let attribute = model.entities[leg.entity].attribute(name);
            let ends = match attribute.map(|attribute| &attribute.kind) {
                Some(Type::Int { low, high }) => (*low, *high),
                _ => (None, None),
            };
            let up_to_end = open_above || ends.1 == Some(kept.high);
            let down_to_end = open_below || ends.0 == Some(kept.low);
            !((by <= 0 && up_to_end) || (by >= 0 && down_to_end))
        }
        Some(Number::Is(_)) | None => true,
    }
}

/// Whether a condition on the stored item cannot hold together with a test of it.
pub(super) fn refutes<'a>(
    model: &'a Model,
    lets: &Lets<'a>,
    (leg, condition): (&'a Leg, &Passed<'a>),
    atom: &Passed<'a>,
) -> bool {
    let numbers =
        asked(model, (leg, lets), condition, &stored).zip(asked(model, (leg, lets), atom, &stored));
    if let Some(((one, a), (other, b))) = numbers {
        return one == other && !a.meets(b);
    }
    let is_same = |a: &'a Expr, b: &'a Expr| match (&a.kind, &b.kind) {
        (ExprKind::Stored(a), ExprKind::Stored(b)) => a == b,
        _ => false,
    };
    // A word that the condition fixes, or each of several.
    let (thing, words): (&'a Expr, Vec<&'a Expr>) = match (&condition.test.kind, condition.truth) {
        (ExprKind::In(thing, words), true) => (thing, words.iter().collect()),
        _ => match condition.equality() {
            Some((a, b)) if matches!(a.kind, ExprKind::Stored(_)) => (a, vec![b]),
            Some((a, b)) => (b, vec![a]),
            None => return false,
        },
    };
    let comes_out = |word: &'a str| {
        let is_it = |expr: &'a Expr| is_same(expr, thing).then_some(word);
        let there = |expr: &'a Expr| is_same(expr, thing).then_some(true);
        let supposed = Supposed { lets, moves: &[], word: &is_it, there: &there };
        supposed.outcome(atom.test) == Some(!atom.truth)
    };
    !words.is_empty()
        && words.into_iter().all(|word| match &plain(lets, word).kind {
            ExprKind::Word(word) => comes_out(word),
            ExprKind::Bool(truth) => comes_out(truth_word(*truth)),
            _ => false,
        })
}

/// How a test of a number comes out once a write has set the number.
pub(super) fn number_left<'a>(
    model: &Model,
    (leg, lets): (&Leg, &Lets<'a>),
    test: &Passed<'a>,
    named: Named<'a, '_>,
) -> Option<bool> {
    let (name, kept) = asked(model, (leg, lets), test, named)?;
    match number(leg, name)? {
        Number::Is(value) => Some(Span { low: value, high: value }.meets(kept) == test.truth),
        Number::Moves(_) => None,
    }
}

/// Whether a test of a number, with its outcome, is not so once a write has moved the number on: `.n == 0`, and
/// `add n = 1`.
pub(super) fn moves_away<'a>(
    model: &Model,
    (leg, lets): (&Leg, &Lets<'a>),
    test: &Passed<'a>,
    named: Named<'a, '_>,
) -> bool {
    let Some((name, kept)) = asked(model, (leg, lets), test, named) else { return false };
    let Some(Number::Moves(by)) = number(leg, name) else { return false };
    let moved = kept.low.checked_add(by).zip(kept.high.checked_add(by));
    moved.is_some_and(|(low, high)| !Span { low, high }.meets(kept))
}
