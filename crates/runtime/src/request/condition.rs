//! What is asked of the stored item: tests become conditions where they mention what is stored.

use latchkey_table::{Comparator, Condition, Operand, Path, Text, Value};

use super::Filler;
use crate::evaluate::{Fault, Values};
use crate::plan::{self, Code};

/// What is left of a test once all that is not stored is known.
enum Residue<V> {
    Decided(bool),
    Asked(Condition<V>),
}

impl<S: Values> Filler<'_, S> {
    /// What must hold of the stored item: what the verb asks for, and what the leg does.
    pub(super) fn condition(
        &self,
        leg: &plan::Leg,
        implied: Condition<S::Value>,
    ) -> Result<Condition<S::Value>, Fault> {
        let residue = match &leg.condition {
            None => Residue::Decided(true),
            Some(code) => self.residue(code)?,
        };
        Ok(match (implied, residue) {
            (implied, Residue::Decided(true)) => implied,
            // Asked all the same, for an earlier leg may fail first.
            (_, Residue::Decided(false)) => self.never(),
            (implied, Residue::Asked(condition)) => {
                let parts = |condition| match condition {
                    Condition::And(all) => all,
                    one => vec![one],
                };
                Condition::And([parts(implied), parts(condition)].concat())
            }
        })
    }

    /// What a query asks of the items it keeps; none where all are kept, and nothing where no item can be.
    pub(crate) fn filter(&self, test: &Code) -> Result<Option<Option<Condition<S::Value>>>, Fault> {
        Ok(match self.residue(test)? {
            Residue::Decided(true) => Some(None),
            Residue::Decided(false) => None,
            Residue::Asked(condition) => Some(Some(condition)),
        })
    }

    fn residue(&self, code: &Code) -> Result<Residue<S::Value>, Fault> {
        use Residue::{Asked, Decided};
        Ok(match code {
            // The right side is asked only if the left did not decide.
            Code::And(a, b) => match self.residue(a)? {
                Decided(false) => Decided(false),
                Decided(true) => self.residue(b)?,
                Asked(a) => match self.residue(b)? {
                    Decided(true) => Asked(a),
                    Decided(false) => Decided(false),
                    Asked(b) => Asked(both(a, b)),
                },
            },
            Code::Or(a, b) => match self.residue(a)? {
                Decided(true) => Decided(true),
                Decided(false) => self.residue(b)?,
                Asked(a) => match self.residue(b)? {
                    Decided(true) => Decided(true),
                    Decided(false) => Asked(a),
                    Asked(b) => Asked(Condition::Or(vec![a, b])),
                },
            },
            Code::Not(inner) => match (self.residue(inner)?, inner.as_ref()) {
                (Decided(decided), _) => Decided(!decided),
                (Asked(Condition::Exists(path)), _) => Asked(Condition::Absent(path)),
                (Asked(condition), _) => Asked(Condition::Not(Box::new(condition))),
            },
            Code::Stored(path) => Asked(equals(path.clone(), Value::Bool(true).into())),
            Code::Present(thing) if let Code::Stored(path) = thing.as_ref() => {
                Asked(Condition::Exists(path.clone()))
            }
            Code::Assumed(_, ways) => self.residue(ways)?,
            Code::Lacks(lacks) => {
                let read = lacks.target.and_then(|it| self.scope.stored(it, &lacks.attribute));
                let absent = Condition::Absent(Path::attribute(lacks.attribute.clone()));
                match lacks.insists {
                    _ if read.is_some() => Decided(false),
                    true => Asked(Condition::And(vec![Condition::Exists(self.exists()), absent])),
                    false => Asked(absent),
                }
            }
            Code::Unchanged(target, names) => {
                let as_read = |name: &Text| as_stored(name, self.scope.stored(*target, name));
                let mut all: Vec<_> = names.iter().map(as_read).collect();
                Asked(if all.len() == 1 { all.swap_remove(0) } else { Condition::And(all) })
            }
            Code::Compare(a, comparator, b) if is_stored(a) || is_stored(b) => {
                Asked(compare(self.operand(a)?, *comparator, self.operand(b)?))
            }
            Code::Contains(set, element) if let Code::Stored(path) = set.as_ref() => {
                Asked(Condition::Contains(path.clone(), self.operand(element)?))
            }
            Code::BeginsWith(a, b) if let Code::Stored(path) = a.as_ref() => {
                Asked(Condition::BeginsWith(path.clone(), self.operand(b)?))
            }
            Code::Between(a, low, high) if [a, low, high].into_iter().any(|c| is_stored(c)) => {
                let (a, low, high) = (self.operand(a)?, self.operand(low)?, self.operand(high)?);
                let low = compare(a.clone(), Comparator::GreaterOrEqual, low);
                Asked(both(low, compare(a, Comparator::LessOrEqual, high)))
            }
            Code::In(a, values) if is_stored(a) || values.iter().any(is_stored) => {
                let operands: Result<Vec<_>, _> = values.iter().map(|v| self.operand(v)).collect();
                Asked(Condition::In(self.operand(a)?, operands?))
            }
            other => Decided(self.scope.test(other)?),
        })
    }

    /// A side of a comparison. The check lets nothing be compared that may be absent, but for what is stored.
    fn operand(&self, code: &Code) -> Result<Operand<S::Value>, Fault> {
        if let Code::Stored(path) = code {
            return Ok(Operand::Path(path.clone()));
        }
        let value = self.scope.value(code)?;
        let value = value.ok_or_else(|| Fault::bug("a side of a comparison is absent"))?;
        Ok(Operand::Value(value.into_owned()))
    }
}

/// That an attribute is as it was read.
pub(crate) fn as_stored<V: Clone>(name: &Text, value: Option<&V>) -> Condition<V> {
    let path = Path::attribute(name.clone());
    match value {
        Some(value) => equals(path, value.clone()),
        None => Condition::Absent(path),
    }
}

pub(super) fn is_stored(code: &Code) -> bool {
    matches!(code, Code::Stored(_))
}

fn compare<V>(a: Operand<V>, comparator: Comparator, b: Operand<V>) -> Condition<V> {
    Condition::Compare(a, comparator, b)
}

pub(super) fn equals<V>(path: Path, value: V) -> Condition<V> {
    compare(Operand::Path(path), Comparator::Equal, Operand::Value(value))
}

/// A condition with others, and these by themselves.
pub(super) fn joined<V: Clone>(
    condition: Condition<V>,
    more: Vec<Condition<V>>,
) -> (Condition<V>, Option<Condition<V>>) {
    if more.is_empty() {
        return (condition, None);
    }
    let all = more.iter().cloned().fold(condition, both);
    (all, Some(Condition::And(more)))
}

pub(super) fn both<V>(a: Condition<V>, b: Condition<V>) -> Condition<V> {
    match (a, b) {
        (Condition::And(mut all), b) => {
            all.push(b);
            Condition::And(all)
        }
        (a, b) => Condition::And(vec![a, b]),
    }
}
