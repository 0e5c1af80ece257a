//! What a write asks of an attribute that stands in the key of its item.
//!
//! An item that others have written may have such an attribute in its key alone, so no condition of the store may ask
//! for it. It need not: a write knows the key of its item.

use latchkey_model::model;
use latchkey_table::Path;

use super::leg::{Assign, value_of};
use super::{Code, Entity};

/// The attributes of an item that its key tells, with what the write gives for them.
pub(super) struct KeyParts<'a> {
    pub(super) entity: &'a Entity,
    pub(super) names: &'a model::KeyNames,
    /// What the key of the item is made of.
    pub(super) given: &'a [Assign],
}

impl KeyParts<'_> {
    /// A condition that asks nothing of such attributes but that there is an item.
    pub(super) fn condition(&self, code: Code) -> Code {
        let both = |a: Code, b: Code| (Box::new(self.condition(a)), Box::new(self.condition(b)));
        let code = match code {
            Code::And(a, b) => {
                let (a, b) = both(*a, *b);
                return Code::And(a, b);
            }
            Code::Or(a, b) => {
                let (a, b) = both(*a, *b);
                return Code::Or(a, b);
            }
            Code::Not(inner) => return Code::Not(Box::new(self.condition(*inner))),
            Code::Present(thing) => {
                return if self.part(&thing).is_some() {
                    self.there()
                } else {
                    Code::Present(thing)
                };
            }
            other => other,
        };
        let (code, known) = self.known(code);
        match known && !asks(&code) {
            true => Code::And(Box::new(code), Box::new(self.there())),
            false => code,
        }
    }

    /// A value that is computed with no such attribute.
    pub(super) fn value(&self, code: Code) -> Code {
        match code {
            Code::Add(a, sign, b) => Code::Add(self.operand(a).0, sign, self.operand(b).0),
            other => *self.operand(Box::new(other)).0,
        }
    }

    /// That there is an item: it has its partition key.
    fn there(&self) -> Code {
        let partition = Path::attribute(self.names.partition.name.as_str());
        Code::Present(Box::new(Code::Stored(partition)))
    }

    /// What the write gives for an attribute, if that is asked for.
    fn part(&self, code: &Code) -> Option<&Code> {
        let Code::Stored(path) = code else { return None };
        let mut attributes = self.entity.attributes.iter();
        attributes.find(|it| it.in_key && it.name == *path.root())?;
        value_of(self.given, path.root())
    }

    fn operand(&self, code: Box<Code>) -> (Box<Code>, bool) {
        match self.part(&code) {
            Some(given) => (Box::new(given.clone()), true),
            None => (code, false),
        }
    }

    /// A test with what is known in the place of such attributes, and whether there was one.
    fn known(&self, code: Code) -> (Code, bool) {
        match code {
            Code::Compare(a, comparator, b) => {
                let ((a, one), (b, other)) = (self.operand(a), self.operand(b));
                (Code::Compare(a, comparator, b), one || other)
            }
            Code::BeginsWith(a, b) => {
                let ((a, one), (b, other)) = (self.operand(a), self.operand(b));
                (Code::BeginsWith(a, b), one || other)
            }
            Code::Contains(set, element) => {
                let (element, known) = self.operand(element);
                (Code::Contains(set, element), known)
            }
            Code::Between(a, low, high) => {
                let ((a, one), (low, two), (high, three)) =
                    (self.operand(a), self.operand(low), self.operand(high));
                (Code::Between(a, low, high), one || two || three)
            }
            Code::In(a, values) => {
                let (a, mut known) = self.operand(a);
                let values = values.into_iter().map(|value| {
                    let (value, part) = self.operand(Box::new(value));
                    known |= part;
                    *value
                });
                let values = values.collect();
                (Code::In(a, values), known)
            }
            other => {
                let (other, known) = self.operand(Box::new(other));
                (*other, known)
            }
        }
    }
}

/// Whether a test asks for anything that is stored.
fn asks(code: &Code) -> bool {
    let stored = |code: &Code| matches!(code, Code::Stored(_));
    match code {
        Code::Compare(a, _, b) | Code::BeginsWith(a, b) | Code::Contains(a, b) => {
            stored(a) || stored(b)
        }
        Code::Between(a, low, high) => [a, low, high].into_iter().any(|code| stored(code)),
        Code::In(a, values) => stored(a) || values.iter().any(stored),
        other => stored(other),
    }
}
