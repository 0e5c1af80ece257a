//! Declared bounds, kept by the store: what a write computes with is known there alone.

use latchkey_table::{
    Action, Comparator, Condition, Datum, Expression, Item, Map, Number, Operand, Path, Text,
    Value, ValueType,
};

use super::condition::both;
use crate::bug::Bug;
use crate::evaluate::{Limit, Values};
use crate::plan::{Bounded, Entity, Sign};

/// An attribute that would leave its bounds.
pub(crate) struct Breach {
    pub(crate) name: Text,
    low: Option<Number>,
    high: Option<Number>,
    /// Whether it is a set, whose elements are counted.
    counted: bool,
}

impl Breach {
    /// The breach by a value. Of a whole number, the ends that every one has are told where they are broken.
    fn of(bounded: &Bounded, value: Option<Number>) -> Breach {
        let Bounded { name, low, high, whole } = bounded.clone();
        let (least, most) = (Number::from(i64::MIN), Number::from(i64::MAX));
        let is_told = |bound: Number| !whole || (bound != least && bound != most);
        let low = low.filter(|low| is_told(*low) || value.is_some_and(|value| value < *low));
        let high = high.filter(|high| is_told(*high) || value.is_some_and(|value| value > *high));
        Breach { name, low, high, counted: false }
    }

    /// A set that would have more elements than it may.
    pub(super) fn of_set(entity: &Entity, name: &Text) -> Option<Breach> {
        let (name, most) = entity.sets.iter().find(|(other, _)| other == name)?;
        Some(Breach { name: name.clone(), low: None, high: Some((*most).into()), counted: true })
    }

    /// The bounds, in words.
    pub(crate) fn room(&self) -> String {
        match (self.low, self.high) {
            (_, Some(high)) if self.counted => format!("{high} elements or fewer"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or more"),
            (None, Some(high)) => format!("{high} or less"),
            (None, None) => "none".to_owned(),
        }
    }
}

/// The numbers of an item that do not lie within their bounds. One that is not known yet is taken to.
pub(super) fn broken<S: Values>(scope: &S, entity: &Entity, item: &Map<S::Value>) -> Vec<Breach> {
    let breaches = entity.bounds.iter().filter_map(|bounded| {
        let room = Room::of(scope, bounded);
        let value = item.get(&bounded.name).filter(|value| !room.has(value))?;
        Some(Breach::of(bounded, value.known_number()))
    });
    breaches.collect()
}

/// The attributes that actions would take beyond their bounds, on the item that is stored.
pub(super) fn left<S: Values<Value = Value>>(
    scope: &S,
    entity: &Entity,
    actions: &[Action],
    stored: Option<&Item>,
    never: impl Fn() -> Condition,
) -> Result<Vec<Breach>, Bug> {
    let mut breaches = Vec::new();
    // What cannot be computed is refused by the table, and not for its bounds.
    let image = stored.and_then(|stored| latchkey_table::apply(actions, stored).ok());
    for action in actions {
        let kept = kept(scope, entity, std::slice::from_ref(action), image.as_ref(), &never)?;
        if kept.is_some_and(|kept| !latchkey_table::holds(&kept, stored))
            && let Some(bounded) =
                entity.bounds.iter().find(|bounded| bounded.name == *action.target())
        {
            let made = image.as_ref().and_then(|image| image.get(&bounded.name)?.as_number());
            breaches.push(Breach::of(bounded, made));
        }
    }
    Ok(breaches)
}

/// Joins what several bounds ask, if any does.
pub(super) fn joined<V>(
    kept: Option<Condition<V>>,
    more: Vec<Condition<V>>,
) -> Option<Condition<V>> {
    more.into_iter().fold(kept, |all, one| match all {
        Some(all) => Some(both(all, one)),
        None => Some(one),
    })
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
pub(super) fn kept<S: Values>(
    scope: &S,
    entity: &Entity,
    actions: &[Action<S::Value>],
    image: Option<&Map<S::Value>>,
    never: impl Fn() -> Condition<S::Value>,
) -> Result<Option<Condition<S::Value>>, Bug> {
    let mut all = Vec::new();
    for action in actions {
        let bounds = entity.bounds.iter().find(|bounded| bounded.name == *action.target());
        let Some(bounded) = bounds else { continue };
        let room = Room::of(scope, bounded);
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
            Action::Set(_, expression) => all.extend(room.computed(expression)?),
            Action::Add(name, more) => {
                let (path, start) = (Path::attribute(name.clone()), datum(Number::ZERO));
                let stored = Stored { path: &path, start: Some(&start) };
                all.extend(room.sum(&stored, Sign::Plus, number(more)?));
            }
            Action::Delete(..) | Action::Remove(_) => {}
        }
    }
    Ok(match all.len() {
        0 | 1 => all.pop(),
        _ => Some(Condition::And(all)),
    })
}

fn datum<V: Datum>(number: Number) -> V {
    Value::Number(number).into()
}

/// A value that is a number, known or not.
fn number<V: Datum>(value: &V) -> Result<&V, Bug> {
    match value.type_of() {
        ValueType::Number => Ok(value),
        _ => Err(Bug::new("an attribute with bounds is computed from what is not a number")),
    }
}

/// A stored number that another is computed from.
struct Stored<'a, V> {
    path: &'a Path,
    /// The number it counts as where it is absent.
    start: Option<&'a V>,
}

impl<'a, V: Datum> Stored<'a, V> {
    fn of(expression: &'a Expression<V>) -> Result<Stored<'a, V>, Bug> {
        match expression {
            Expression::Path(path) => Ok(Stored { path, start: None }),
            Expression::OrElse(path, start) if let Expression::Value(start) = start.as_ref() => {
                Ok(Stored { path, start: Some(number(start)?) })
            }
            _ => Err(uncovered()),
        }
    }
}

fn uncovered() -> Bug {
    Bug::new("an attribute with bounds is computed in a way that the bounds do not cover")
}

/// Whether a value is computed from two stored numbers.
fn of_two_stored<V: Datum>(expression: &Expression<V>) -> bool {
    use Expression::{Difference, OrElse, Path, Sum};
    let stored = |part: &Expression<V>| matches!(part, Path(_) | OrElse(..));
    matches!(expression, Sum(a, b) | Difference(a, b) if stored(a) && stored(b))
}

/// The least and the greatest.
struct Room<'a, S: Values> {
    scope: &'a S,
    low: Option<S::Value>,
    high: Option<S::Value>,
    /// Whether it is one of whole numbers, of 64 bits.
    whole: bool,
}

impl<'a, S: Values> Room<'a, S> {
    fn of(scope: &'a S, bounded: &Bounded) -> Room<'a, S> {
        let (low, high) = (bounded.low.map(datum), bounded.high.map(datum));
        Room { scope, low, high, whole: bounded.whole }
    }

    /// Whether a number lies within. One that is not known yet is taken to.
    fn has(&self, value: &S::Value) -> bool {
        let Some(number) = value.known_number() else { return true };
        let bound = |bound: &Option<S::Value>| bound.as_ref().and_then(Datum::known_number);
        bound(&self.low).is_none_or(|low| low <= number)
            && bound(&self.high).is_none_or(|high| number <= high)
    }

    /// The room of a number from which another was taken, or to which it was added. Nothing if no number lies in it.
    fn shifted(&self, sign: Sign, by: &S::Value) -> Option<Self> {
        self.turned(&self.low, &self.high, |bound, limit| self.scope.bound(bound, sign, by, limit))
    }

    /// The room of a number that is taken from another. Nothing if no number lies in it.
    fn taken_from(&self, whole: &S::Value) -> Option<Self> {
        let rest = |bound: &_, limit| self.scope.bound(whole, Sign::Minus, bound, limit);
        self.turned(&self.high, &self.low, rest)
    }

    fn turned(
        &self,
        low: &Option<S::Value>,
        high: &Option<S::Value>,
        made: impl Fn(&S::Value, Limit) -> Option<S::Value>,
    ) -> Option<Self> {
        let mut room = Room { scope: self.scope, low: None, high: None, whole: self.whole };
        if let Some(low) = low {
            room.low = Some(made(low, Limit::Least)?);
        }
        if let Some(high) = high {
            room.high = Some(made(high, Limit::Greatest)?);
        }
        Some(room)
    }

    /// That what is stored lies within.
    fn asks(self, path: &Path) -> Option<Condition<S::Value>> {
        let side = |comparator, bound| {
            Condition::Compare(Operand::Path(path.clone()), comparator, Operand::Value(bound))
        };
        // What no whole number can break is not asked.
        let (least, most) = (Number::from(i64::MIN), Number::from(i64::MAX));
        let beyond = |bound: &S::Value, far: &dyn Fn(Number) -> bool| {
            self.whole && bound.known_number().is_some_and(far)
        };
        let low = self.low.filter(|low| !beyond(low, &|low| low <= least));
        let high = self.high.filter(|high| !beyond(high, &|high| high >= most));
        let low = low.map(|low| side(Comparator::GreaterOrEqual, low));
        let high = high.map(|high| side(Comparator::LessOrEqual, high));
        match (low, high) {
            (Some(low), Some(high)) => Some(Condition::And(vec![low, high])),
            (low, high) => low.or(high),
        }
    }

    /// What a value that the store computes from one stored number asks.
    fn computed(
        &self,
        expression: &Expression<S::Value>,
    ) -> Result<Option<Condition<S::Value>>, Bug> {
        use Expression::{Append, Difference, OrElse, Path, Sum, Value};
        Ok(match expression {
            Sum(a, b) => match (a.as_ref(), b.as_ref()) {
                (Value(by), stored) | (stored, Value(by)) => {
                    self.sum(&Stored::of(stored)?, Sign::Plus, number(by)?)
                }
                _ => return Err(uncovered()),
            },
            Difference(a, b) => match (a.as_ref(), b.as_ref()) {
                (stored, Value(by)) => self.sum(&Stored::of(stored)?, Sign::Minus, number(by)?),
                (Value(whole), stored) => {
                    let (whole, stored) = (number(whole)?, Stored::of(stored)?);
                    let made = |start: &S::Value| self.scope.sum(whole, Sign::Minus, start);
                    self.asked(&stored, self.taken_from(whole), stored.start.and_then(made))
                }
                _ => return Err(uncovered()),
            },
            Path(_) | OrElse(..) => {
                let stored = Stored::of(expression)?;
                let own = Room { low: self.low.clone(), high: self.high.clone(), ..*self };
                self.asked(&stored, Some(own), stored.start.cloned())
            }
            Value(_) | Append(..) => return Err(uncovered()),
        })
    }

    /// What a sum asks, or a difference whose first part is stored.
    fn sum(
        &self,
        stored: &Stored<'_, S::Value>,
        sign: Sign,
        by: &S::Value,
    ) -> Option<Condition<S::Value>> {
        let made = stored.start.and_then(|start| self.scope.sum(start, sign, by));
        self.asked(stored, self.shifted(sign.opposite(), by), made)
    }

    /// What is asked of a stored number: that it lies in a room, or is absent and the number that is then made lies in
    /// this room.
    fn asked(
        &self,
        stored: &Stored<'_, S::Value>,
        room: Option<Self>,
        made: Option<S::Value>,
    ) -> Option<Condition<S::Value>> {
        let absent = || Condition::Absent(stored.path.clone());
        let there = match room {
            Some(room) => room.asks(stored.path)?,
            None => Condition::And(vec![Condition::Exists(stored.path.clone()), absent()]),
        };
        // A comparison with what is absent does not hold.
        Some(match made {
            Some(made) if self.has(&made) => Condition::Or(vec![absent(), there]),
            _ => there,
        })
    }
}
