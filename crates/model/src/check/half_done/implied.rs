//! Refusals that a document does not write: a number beyond its bounds, a set that is full, a division by zero. Each is
//! a 400.
//!
//! What a test before has asked for is taken to fit: the test says that somebody has thought of it.

use std::collections::HashSet;

use latchkey_value::Number;

use crate::model::{BindingId, Entity, Expr, ExprKind, Given, GivenPart, InputId, Kind, Leg, Op};
use crate::types::Type;

/// What a test can ask for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Named<'a> {
    Attribute(&'a str),
    /// How many elements an attribute has.
    Size(&'a str),
    Input(InputId),
    Count(BindingId),
    Value(BindingId),
}

/// All that the tests of a contract have asked for so far.
#[derive(Default)]
pub(super) struct Asked<'a>(HashSet<Named<'a>>);

impl<'a> Asked<'a> {
    /// Takes in a test.
    pub(super) fn take(&mut self, test: &'a Expr) {
        each_name(test, &mut |name| {
            self.0.insert(name);
        });
    }

    /// Whether a test has asked for something that a value is made of.
    fn has(&self, value: &'a Expr) -> bool {
        let mut found = false;
        each_name(value, &mut |name| found |= self.0.contains(&name));
        found
    }

    /// Where an expression divides by what can be 0.
    pub(super) fn division<'e: 'a>(&self, value: &'e Expr) -> Option<&'e Expr> {
        let mut found = None;
        value.walk(&mut |part| {
            if let ExprKind::Rounded(_, _, Some(by), _) = &part.kind
                && can_be_zero(by)
                // A 0 that is written there is told as such.
                && !matches!(by.kind, ExprKind::Number(_))
                && !self.has(by)
            {
                found = found.or(Some(&**by));
            }
        });
        found
    }

    /// The value that a leg may not be able to write, and why.
    pub(super) fn misfit(
        &self,
        entity: &Entity,
        leg: &'a Leg,
    ) -> Option<(&'a Given, &'static str)> {
        let kind = |given: &Given| entity.attribute(&given.attribute).map(|it| &it.kind);
        let beyond = "a number beyond its bounds is a 400";
        let mut added = leg.adds.iter().filter(|given| {
            let moves = kind(given).is_some_and(|kind| moves_out(kind, Span::of(&given.value)));
            moves && !self.0.contains(&Named::Attribute(&given.attribute))
        });
        let mut set = leg.values.iter().filter_map(|given| match given.part {
            GivenPart::Element => {
                let full = kind(given).is_some_and(can_be_full);
                let asked = self.0.contains(&Named::Size(&given.attribute));
                (full && !asked).then_some((given, "an element more than a set can have is a 400"))
            }
            GivenPart::Whole => {
                let wrong = kind(given).is_some_and(|kind| is_beyond(kind, &given.value));
                (wrong && !self.has(&given.value)).then_some((given, beyond))
            }
            GivenPart::Within(_) | GivenPart::NoElement => None,
        });
        added.next().map(|given| (given, beyond)).or_else(|| set.next())
    }
}

fn each_name<'a>(expr: &'a Expr, visit: &mut impl FnMut(Named<'a>)) {
    expr.walk(&mut |part| match &part.kind {
        ExprKind::Attribute(_, name) | ExprKind::Stored(name) => visit(Named::Attribute(name)),
        ExprKind::Input(input) => visit(Named::Input(*input)),
        ExprKind::Count(of) => visit(Named::Count(*of)),
        ExprKind::Binding(of) if matches!(part.of, Kind::Value(_)) => visit(Named::Value(*of)),
        ExprKind::Size(of) => {
            if let ExprKind::Attribute(_, name) = &of.kind {
                visit(Named::Size(name));
            }
        }
        _ => {}
    });
}

/// Whether a number can be 0.
fn can_be_zero(number: &Expr) -> bool {
    let zero = Number::from(0_u64);
    let fraction = match &number.of {
        Kind::Value(Type::Number { low, high }) => {
            low.is_some_and(|low| low > zero) || high.is_some_and(|high| high < zero)
        }
        _ => false,
    };
    !fraction && Span::of(number).has_zero()
}

/// Whether a set can have as many elements as it may.
fn can_be_full(kind: &Type) -> bool {
    let Type::SetOf { of, most } = kind else { return false };
    match &**of {
        Type::Enum(words) => u64::try_from(words.len()).is_ok_and(|words| words > *most),
        _ => true,
    }
}

/// Whether a number can leave its bounds if so much is added to it.
fn moves_out(kind: &Type, by: Span) -> bool {
    let bounds = Span::of_type(kind);
    let up = bounds.high.is_some() && by.high.is_none_or(|high| high > 0);
    let down = bounds.low.is_some() && by.low.is_none_or(|low| low < 0);
    up || down
}

/// Whether a value that is computed can lie beyond the bounds of its attribute.
fn is_beyond(kind: &Type, value: &Expr) -> bool {
    let mut computed = false;
    value.walk(&mut |part| {
        computed |= matches!(
            part.kind,
            ExprKind::Binary(Op::Plus | Op::Minus | Op::Times, ..) | ExprKind::Rounded(..)
        );
    });
    let is_number = matches!(kind, Type::Int { .. } | Type::Number { .. });
    if !computed || !is_number {
        return false;
    }
    // `.left - 1` has the bounds of `left` before it.
    if let ExprKind::Binary(op @ (Op::Plus | Op::Minus), a, b) = &value.kind
        && a.stored_root().is_some()
        && Span::of(a) == Span::of_type(kind)
    {
        let by = Span::of(b);
        return moves_out(kind, if *op == Op::Plus { by } else { by.negative() });
    }
    let (bounds, value) = (Span::of_type(kind), Span::of(value));
    let above = bounds.high.is_some_and(|most| value.high.is_none_or(|high| high > most));
    let below = bounds.low.is_some_and(|least| value.low.is_none_or(|low| low < least));
    above || below
}

/// The least and the greatest whole number that a value can be, where that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    low: Option<i64>,
    high: Option<i64>,
}

impl Span {
    const OPEN: Span = Span { low: None, high: None };

    fn of_type(kind: &Type) -> Span {
        match kind {
            Type::Int { low, high } => Span { low: *low, high: *high },
            Type::Counter => Span { low: Some(1), high: None },
            Type::Number { low, high } => Span {
                low: low.and_then(|low| low.to_i64()),
                high: high.and_then(|high| high.to_i64()),
            },
            _ => Span::OPEN,
        }
    }

    fn of(expr: &Expr) -> Span {
        let both = |a: Option<i64>, b: Option<i64>, join: fn(i64, i64) -> Option<i64>| join(a?, b?);
        match &expr.kind {
            ExprKind::Number(number) => match number.to_i64() {
                Some(number) => Span { low: Some(number), high: Some(number) },
                None => Span::OPEN,
            },
            ExprKind::Binary(Op::Plus, a, b) => {
                let (a, b) = (Span::of(a), Span::of(b));
                Span {
                    low: both(a.low, b.low, i64::checked_add),
                    high: both(a.high, b.high, i64::checked_add),
                }
            }
            ExprKind::Binary(Op::Minus, a, b) => {
                let (a, b) = (Span::of(a), Span::of(b).negative());
                Span {
                    low: both(a.low, b.low, i64::checked_add),
                    high: both(a.high, b.high, i64::checked_add),
                }
            }
            // As great as the one that is always that great; as small as the smallest can be.
            ExprKind::Greatest(all) => Span {
                low: all.iter().filter_map(|one| Span::of(one).low).max(),
                high: most(all.iter().map(|one| Span::of(one).high)),
            },
            ExprKind::Least(all) => Span {
                low: least(all.iter().map(|one| Span::of(one).low)),
                high: all.iter().filter_map(|one| Span::of(one).high).min(),
            },
            ExprKind::Coalesce(all) => Span {
                low: least(all.iter().map(|one| Span::of(one).low)),
                high: most(all.iter().map(|one| Span::of(one).high)),
            },
            _ => match &expr.of {
                Kind::Value(kind) => Span::of_type(kind),
                _ => Span::OPEN,
            },
        }
    }

    fn negative(self) -> Span {
        let turned = |end: Option<i64>| end.and_then(i64::checked_neg);
        Span { low: turned(self.high), high: turned(self.low) }
    }

    fn has_zero(self) -> bool {
        self.low.is_none_or(|low| low <= 0) && self.high.is_none_or(|high| high >= 0)
    }
}

/// The least of several, if all are known.
fn least(all: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    all.collect::<Option<Vec<i64>>>()?.into_iter().min()
}

/// The greatest of several, if all are known.
fn most(all: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    all.collect::<Option<Vec<i64>>>()?.into_iter().max()
}
