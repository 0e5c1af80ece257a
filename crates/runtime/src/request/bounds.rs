//! Declared bounds, kept by the store: what a write computes with is known there alone.

use latchkey_table::{
    Action, Comparator, Condition, Expression, Item, Number, Operand, Path, Text, Value,
};

use crate::plan::Entity;

/// An attribute that would leave its bounds.
pub(crate) struct Breach {
    pub(crate) name: Text,
    room: Room,
}

impl Breach {
    /// The bounds, in words.
    pub(crate) fn room(&self) -> String {
        match (self.room.low, self.room.high) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} or more"),
            (None, Some(high)) => format!("{high} or less"),
            (None, None) => "none".to_owned(),
        }
    }
}

/// Whether every number of an item lies within its bounds.
pub(super) fn holds(entity: &Entity, item: &Item) -> bool {
    outside(entity, item).next().is_none()
}

/// The numbers of an item that do not lie within their bounds.
pub(super) fn broken(entity: &Entity, item: &Item) -> Vec<Breach> {
    outside(entity, item).collect()
}

fn outside<'a>(entity: &'a Entity, item: &'a Item) -> impl Iterator<Item = Breach> + 'a {
    entity.bounds.iter().filter_map(|(name, low, high)| {
        let room = Room { low: *low, high: *high };
        match item.get(name) {
            Some(Value::Number(number)) if !room.has(*number) => {
                Some(Breach { name: name.clone(), room })
            }
            _ => None,
        }
    })
}

/// The attributes that actions would take beyond their bounds, on the item that is stored.
pub(super) fn left(
    entity: &Entity,
    actions: &[Action],
    stored: Option<&Item>,
    never: impl Fn() -> Condition,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for action in actions {
        let kept = kept(entity, std::slice::from_ref(action), &never);
        if kept.is_some_and(|kept| !latchkey_table::holds(&kept, stored))
            && let Some((name, low, high)) =
                entity.bounds.iter().find(|(name, ..)| name == action.target())
        {
            breaches.push(Breach { name: name.clone(), room: Room { low: *low, high: *high } });
        }
    }
    breaches
}

/// Joins what the document asks of the stored item with what the bounds ask, if they do.
pub(super) fn ask(
    asked: Option<Condition>,
    kept: Option<Condition>,
) -> (Option<Condition>, Option<Option<Condition>>) {
    match kept {
        None => (asked, None),
        Some(kept) => {
            let both = match asked.clone() {
                None => kept,
                Some(Condition::And(mut all)) => {
                    all.push(kept);
                    Condition::And(all)
                }
                Some(other) => Condition::And(vec![other, kept]),
            };
            (Some(both), Some(asked))
        }
    }
}

/// What must hold of the stored item for actions to leave every number within its bounds.
pub(super) fn kept(
    entity: &Entity,
    actions: &[Action],
    never: impl Fn() -> Condition,
) -> Option<Condition> {
    let mut all = Vec::new();
    for action in actions {
        let bounds = entity.bounds.iter().find(|(name, ..)| name == action.target());
        let Some((_, low, high)) = bounds else { continue };
        let room = Room { low: *low, high: *high };
        match action {
            Action::Set(_, Expression::Value(Value::Number(number))) => {
                if !room.has(*number) {
                    all.push(never());
                }
            }
            Action::Set(_, expression) => all.extend(computed(expression, room)),
            Action::Add(name, Value::Number(number)) => {
                let path = Path::attribute(name.clone());
                all.extend(or_else(path, Number::ZERO, *number, room));
            }
            Action::Add(..) | Action::Delete(..) | Action::Remove(_) => {}
        }
    }
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(Condition::And(all)),
    }
}

/// The least and the greatest.
#[derive(Clone, Copy)]
struct Room {
    low: Option<Number>,
    high: Option<Number>,
}

impl Room {
    fn has(self, number: Number) -> bool {
        self.low.is_none_or(|low| low <= number) && self.high.is_none_or(|high| number <= high)
    }

    /// The room a number has to which another is added.
    fn without(self, added: Number) -> Room {
        // Beyond all numbers there is no bound to keep.
        let less = |bound: Number| bound.checked_sub(added).ok();
        Room { low: self.low.and_then(less), high: self.high.and_then(less) }
    }

    /// The room a number has that is taken from another.
    fn taken_from(self, whole: Number) -> Room {
        let rest = |bound: Number| whole.checked_sub(bound).ok();
        Room { low: self.high.and_then(rest), high: self.low.and_then(rest) }
    }

    /// That what is stored lies within.
    fn asks(self, path: &Path) -> Option<Condition> {
        let side = |comparator, bound: Number| {
            Condition::Compare(
                Operand::Path(path.clone()),
                comparator,
                Operand::Value(bound.into()),
            )
        };
        let low = self.low.map(|low| side(Comparator::GreaterOrEqual, low));
        let high = self.high.map(|high| side(Comparator::LessOrEqual, high));
        match (low, high) {
            (Some(low), Some(high)) => Some(Condition::And(vec![low, high])),
            (low, high) => low.or(high),
        }
    }
}

/// What a value that is computed by the store asks. Of two stored numbers nothing can be asked.
fn computed(expression: &Expression, room: Room) -> Option<Condition> {
    use Expression::{Difference, OrElse, Path, Sum, Value as Constant};
    let number = |expression: &Expression| match expression {
        Constant(Value::Number(number)) => Some(*number),
        _ => None,
    };
    match expression {
        Path(path) => room.asks(path),
        Sum(a, b) => match (a.as_ref(), b.as_ref()) {
            (Path(path), other) | (other, Path(path)) => room.without(number(other)?).asks(path),
            (OrElse(path, start), other) | (other, OrElse(path, start)) => {
                or_else(path.clone(), number(start)?, number(other)?, room)
            }
            _ => None,
        },
        Difference(a, b) => match (a.as_ref(), b.as_ref()) {
            (Path(path), less) => room.without(number(less)?.negated()).asks(path),
            (whole, Path(path)) => room.taken_from(number(whole)?).asks(path),
            (OrElse(path, start), less) => {
                or_else(path.clone(), number(start)?, number(less)?.negated(), room)
            }
            _ => None,
        },
        _ => None,
    }
}

/// What a sum asks whose stored part counts as something else where it is absent.
fn or_else(path: Path, start: Number, added: Number, room: Room) -> Option<Condition> {
    let stored = room.without(added).asks(&path)?;
    let fresh = start.checked_add(added).is_ok_and(|sum| room.has(sum));
    // A comparison with what is absent does not hold.
    Some(if fresh { Condition::Or(vec![Condition::Absent(path), stored]) } else { stored })
}
