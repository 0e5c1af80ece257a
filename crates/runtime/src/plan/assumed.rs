//! What a write asks of an attribute that has a default.
//!
//! An item that lacks such an attribute counts as having its default: so it is read, and so a condition takes it. The
//! store compares what is stored, so it is also asked whether the attribute is absent, wherever the default passes.

use latchkey_model::model::BindingId;
use latchkey_table::{Condition, Operand, Path, Text, Value, holds};

use super::{Code, Entity, Place};

/// That a stored item lacks an attribute.
#[derive(Debug, Clone)]
pub(crate) struct Lacks {
    pub(crate) attribute: Text,
    /// The item as it was read. If it had the attribute then, the store is not asked.
    pub(crate) target: Option<BindingId>,
    /// Whether there may be no item at all, which is not to count as one that lacks an attribute.
    pub(crate) insists: bool,
}

/// The defaults of the item of a write.
pub(super) struct Defaults<'a> {
    pub(super) entity: &'a Entity,
    pub(super) target: Option<BindingId>,
    /// What must be there.
    pub(super) place: Place,
}

impl Defaults<'_> {
    /// A condition that holds of an item that lacks attributes as it does of one that has their defaults.
    pub(super) fn condition(&self, code: Code) -> Code {
        let part = |code: Box<Code>| Box::new(self.condition(*code));
        match code {
            Code::And(a, b) => Code::And(part(a), part(b)),
            Code::Or(a, b) => Code::Or(part(a), part(b)),
            Code::Not(inner) => Code::Not(part(inner)),
            test => {
                let mut open = Vec::new();
                test.operands(&mut |operand| {
                    if let Some(found) = self.default_of(operand)
                        && !open.contains(&found)
                    {
                        open.push(found);
                    }
                });
                match open.is_empty() {
                    true => test,
                    false => {
                        Code::Assumed(Box::new(test.clone()), Box::new(self.ways(test, &open)))
                    }
                }
            }
        }
    }

    /// An attribute that is asked for, with its default.
    fn default_of(&self, code: &Code) -> Option<(Text, Value)> {
        let Code::Stored(path) = code else { return None };
        let own = path.steps().is_empty();
        let found = self.entity.defaults.iter().find(|(name, _)| own && name == path.root());
        found.cloned()
    }

    /// The test, or that an attribute is absent and the test holds of its default, for each of some attributes.
    fn ways(&self, test: Code, open: &[(Text, Value)]) -> Code {
        let Some(((name, default), others)) = open.split_first() else { return test };
        let assumed = test.clone().with(name, default);
        let (assumed, stored) = (self.ways(assumed, others), self.ways(test, others));
        let (attribute, target) = (name.clone(), self.target);
        let insists = self.place == Place::OwnOrEmpty;
        let lacks = Code::Lacks(Lacks { attribute, target, insists });
        let way = match assumed.decided() {
            Some(false) => return stored,
            Some(true) => lacks,
            None => Code::And(Box::new(lacks), Box::new(assumed)),
        };
        Code::Or(Box::new(way), Box::new(stored))
    }
}

impl Code {
    /// The sides of a test.
    fn operands(&self, see: &mut impl FnMut(&Code)) {
        match self {
            Code::Compare(a, _, b) | Code::BeginsWith(a, b) => {
                see(a);
                see(b);
            }
            Code::Contains(_, element) => see(element),
            Code::Between(a, low, high) => [a, low, high].into_iter().for_each(|code| see(code)),
            Code::In(a, values) => std::iter::once(a.as_ref()).chain(values).for_each(see),
            other => see(other),
        }
    }

    /// A test with a constant in the place of a stored attribute.
    fn with(self, name: &Text, value: &Value) -> Code {
        let one = |code: Code| match code {
            Code::Stored(path) if path == Path::attribute(name.clone()) => {
                Code::Constant(value.clone())
            }
            other => other,
        };
        let part = |code: Box<Code>| Box::new(one(*code));
        match self {
            Code::Compare(a, comparator, b) => Code::Compare(part(a), comparator, part(b)),
            Code::BeginsWith(a, b) => Code::BeginsWith(part(a), part(b)),
            Code::Contains(set, element) => Code::Contains(set, part(element)),
            Code::Between(a, low, high) => Code::Between(part(a), part(low), part(high)),
            Code::In(a, values) => Code::In(part(a), values.into_iter().map(one).collect()),
            other => one(other),
        }
    }

    /// Whether a test holds, if it is one of constants.
    fn decided(&self) -> Option<bool> {
        let operand = |code: &Code| match code {
            Code::Constant(value) => Some(Operand::Value(value.clone())),
            _ => None,
        };
        let asked: Condition = match self {
            Code::Constant(Value::Bool(value)) => return Some(*value),
            Code::Compare(a, comparator, b) => {
                Condition::Compare(operand(a)?, *comparator, operand(b)?)
            }
            Code::Between(a, low, high) => {
                Condition::Between(operand(a)?, operand(low)?, operand(high)?)
            }
            Code::In(a, values) => {
                let values: Option<Vec<_>> = values.iter().map(operand).collect();
                Condition::In(operand(a)?, values?)
            }
            _ => return None,
        };
        Some(holds(&asked, None))
    }
}
