//! Declared bounds, kept by the store: what a write computes with is known there alone.

use latchkey_table::{
    Action, Comparator, Condition, Datum, Expression, Item, Map, Number, Operand, Path, Text,
    Value, ValueType,
};

use super::condition::both;
use crate::evaluate::Scope;
use crate::plan::{Entity, Sign};

/// An attribute that would leave its bounds.
pub(crate) struct Breach {
    pub(crate) name: Text,
    low: Option<Number>,
    high: Option<Number>,
}

impl Breach {
    /// The bounds, in words.
    pub(crate) fn room(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or more"),
            (None, Some(high)) => format!("{high} or less"),
            (None, None) => "none".to_owned(),
        }
    }
}

/// The numbers of an item that do not lie within their bounds. One that is not known yet is taken to.
pub(super) fn broken<S: Scope>(scope: &S, entity: &Entity, item: &Map<S::Value>) -> Vec<Breach> {
    let breaches = entity.bounds.iter().filter_map(|(name, low, high)| {
        let room = Room { scope, low: low.map(datum), high: high.map(datum) };
        let outside = item.get(name).is_some_and(|value| !room.has(value));
        outside.then(|| Breach { name: name.clone(), low: *low, high: *high })
    });
    breaches.collect()
}

/// The attributes that actions would take beyond their bounds, on the item that is stored.
pub(super) fn left<S: Scope<Value = Value>>(
    scope: &S,
    entity: &Entity,
    actions: &[Action],
    stored: Option<&Item>,
    never: impl Fn() -> Condition,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // What cannot be computed is refused by the table, and not for its bounds.
    let image = stored.and_then(|stored| latchkey_table::apply(actions, stored).ok());
    for action in actions {
        let kept = kept(scope, entity, std::slice::from_ref(action), image.as_ref(), &never);
        if kept.is_some_and(|kept| !latchkey_table::holds(&kept, stored))
            && let Some((name, low, high)) =
                entity.bounds.iter().find(|(name, ..)| name == action.target())
        {
            breaches.push(Breach { name: name.clone(), low: *low, high: *high });
        }
    }
    breaches
}

/// Joins what the document asks of the stored item with what the bounds ask, if they do.
pub(super) fn ask<V: Clone>(
    asked: Condition<V>,
    kept: Option<Condition<V>>,
) -> (Condition<V>, Option<Condition<V>>) {
    match kept {
        None => (asked, None),
        Some(kept) => (both(asked.clone(), kept), Some(asked)),
    }
}

/// What must hold of the stored item for actions to leave every number within its bounds. A number that is made of two
/// stored ones is looked at in the image: planning sees that such a write says `unchanged`.
pub(super) fn kept<S: Scope>(
    scope: &S,
    entity: &Entity,
    actions: &[Action<S::Value>],
    image: Option<&Map<S::Value>>,
    never: impl Fn() -> Condition<S::Value>,
) -> Option<Condition<S::Value>> {
    let mut all = Vec::new();
    for action in actions {
        let bounds = entity.bounds.iter().find(|(name, ..)| name == action.target());
        let Some((_, low, high)) = bounds else { continue };
        let room = Room { scope, low: low.map(datum), high: high.map(datum) };
        match action {
            Action::Set(_, Expression::Value(value)) => {
                if !room.has(value) {
                    all.push(never());
                }
            }
            Action::Set(path, expression) if of_two_stored(expression) => {
                let left = image.and_then(|image| image.get(path.root()));
                if left.is_some_and(|left| !room.has(left)) {
                    all.push(never());
                }
            }
            Action::Set(_, expression) => all.extend(room.computed(expression)),
            Action::Add(name, value) => {
                let path = Path::attribute(name.clone());
                let start = datum(Number::ZERO);
                all.extend(number(value).and_then(|n| room.or_else(&path, &start, Sign::Plus, n)));
            }
            Action::Delete(..) | Action::Remove(_) => {}
        }
    }
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Condition::And(all)),
    }
}

fn datum<V: Datum>(number: Number) -> V {
    Value::Number(number).into()
}

/// A value that is a number, known or not.
fn number<V: Datum>(value: &V) -> Option<&V> {
    Some(value).filter(|value| value.type_of() == ValueType::Number)
}

/// A number that a value is computed with.
fn constant<V: Datum>(expression: &Expression<V>) -> Option<&V> {
    if let Expression::Value(value) = expression { number(value) } else { None }
}

/// Whether a value is computed from two stored numbers.
fn of_two_stored<V: Datum>(expression: &Expression<V>) -> bool {
    use Expression::{Difference, OrElse, Path, Sum};
    let stored = |part: &Expression<V>| matches!(part, Path(_) | OrElse(..));
    matches!(expression, Sum(a, b) | Difference(a, b) if stored(a) && stored(b))
}

/// The least and the greatest.
struct Room<'a, S: Scope> {
    scope: &'a S,
    low: Option<S::Value>,
    high: Option<S::Value>,
}

impl<S: Scope> Room<'_, S> {
    /// Whether a number lies within. One that is not known yet is taken to.
    fn has(&self, value: &S::Value) -> bool {
        let Some(number) = value.known_number() else { return true };
        let bound = |bound: &Option<S::Value>| bound.as_ref().and_then(Datum::known_number);
        bound(&self.low).is_none_or(|low| low <= number)
            && bound(&self.high).is_none_or(|high| number <= high)
    }

    /// The room of a number from which another was taken, or to which it was added.
    fn shifted(&self, sign: Sign, by: &S::Value) -> Self {
        // Beyond all numbers there is no bound to keep.
        let shift = |bound: &Option<S::Value>| self.scope.sum(bound.as_ref()?, sign, by);
        Room { scope: self.scope, low: shift(&self.low), high: shift(&self.high) }
    }

    /// The room of a number that is taken from another.
    fn taken_from(&self, whole: &S::Value) -> Self {
        let rest = |bound: &Option<S::Value>| self.scope.sum(whole, Sign::Minus, bound.as_ref()?);
        Room { scope: self.scope, low: rest(&self.high), high: rest(&self.low) }
    }

    /// That what is stored lies within.
    fn asks(self, path: &Path) -> Option<Condition<S::Value>> {
        let side = |comparator, bound| {
            Condition::Compare(Operand::Path(path.clone()), comparator, Operand::Value(bound))
        };
        let low = self.low.map(|low| side(Comparator::GreaterOrEqual, low));
        let high = self.high.map(|high| side(Comparator::LessOrEqual, high));
        match (low, high) {
            (Some(low), Some(high)) => Some(Condition::And(vec![low, high])),
            (low, high) => low.or(high),
        }
    }

    /// What a value that the store computes from one stored number asks.
    fn computed(self, expression: &Expression<S::Value>) -> Option<Condition<S::Value>> {
        use Expression::{Difference, OrElse, Path, Sum};
        match expression {
            Path(path) => self.asks(path),
            Sum(a, b) => match (a.as_ref(), b.as_ref()) {
                (Path(path), other) | (other, Path(path)) => {
                    self.shifted(Sign::Minus, constant(other)?).asks(path)
                }
                (OrElse(path, start), other) | (other, OrElse(path, start)) => {
                    self.or_else(path, constant(start)?, Sign::Plus, constant(other)?)
                }
                _ => None,
            },
            Difference(a, b) => match (a.as_ref(), b.as_ref()) {
                (Path(path), less) => self.shifted(Sign::Plus, constant(less)?).asks(path),
                (whole, Path(path)) => self.taken_from(constant(whole)?).asks(path),
                (OrElse(path, start), less) => {
                    self.or_else(path, constant(start)?, Sign::Minus, constant(less)?)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What a sum asks whose stored part counts as something else where it is absent.
    fn or_else(
        &self,
        path: &Path,
        start: &S::Value,
        sign: Sign,
        by: &S::Value,
    ) -> Option<Condition<S::Value>> {
        let stored = self.shifted(sign.opposite(), by).asks(path)?;
        let fresh = self.scope.sum(start, sign, by).is_some_and(|sum| self.has(&sum));
        // A comparison with what is absent does not hold.
        Some(if fresh {
            Condition::Or(vec![Condition::Absent(path.clone()), stored])
        } else {
            stored
        })
    }
}
