//! Conditions on a stored item, and whether they hold.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::limits::{ALTERNATIVES_MAX, CONDITION_OPERATORS_MAX};
use crate::{Datum, Invalid, Item, Map, Number, Path, Text, Value, ValueType, validate};

/// What must be true of the stored item for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition<V = Value> {
    /// The attribute is there.
    Exists(Path),
    /// The attribute is not there.
    Absent(Path),
    /// The attribute is there and of a type.
    HasType(Path, ValueType),
    /// Two operands compare as stated.
    Compare(Operand<V>, Comparator, Operand<V>),
    /// The first operand lies between the other two, both included.
    Between(Operand<V>, Operand<V>, Operand<V>),
    /// The operand equals one of the alternatives.
    In(Operand<V>, Vec<Operand<V>>),
    /// The attribute is a text or bytes that begin with the operand.
    BeginsWith(Path, Operand<V>),
    /// The attribute is a text with the operand in it, or a set or list with it as an element.
    Contains(Path, Operand<V>),
    /// Every one holds.
    And(Vec<Condition<V>>),
    /// At least one holds.
    Or(Vec<Condition<V>>),
    /// It does not hold.
    Not(Box<Condition<V>>),
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<V = Value> {
    /// A constant.
    Value(V),
    /// What is stored at a path.
    Path(Path),
    /// The length of a text (in UTF-16 units) or of bytes, the count of a list, map or set.
    Size(Path),
}

/// How two operands compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparator {
    /// The comparator as DynamoDB writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparator::Equal => "=",
            Comparator::NotEqual => "<>",
            Comparator::Less => "<",
            Comparator::LessOrEqual => "<=",
            Comparator::Greater => ">",
            Comparator::GreaterOrEqual => ">=",
        }
    }
}

impl<V: Into<Value>> From<V> for Operand {
    fn from(value: V) -> Operand {
        Operand::Value(value.into())
    }
}

impl From<Path> for Operand {
    fn from(path: Path) -> Operand {
        Operand::Path(path)
    }
}

impl Condition {
    /// The attribute equals a value.
    pub fn equals(path: impl Into<Path>, value: impl Into<Value>) -> Condition {
        let (path, value) = (Operand::Path(path.into()), Operand::Value(value.into()));
        Condition::Compare(path, Comparator::Equal, value)
    }
}

impl<V: Datum> Condition<V> {
    /// Refuses a condition DynamoDB would refuse whatever is stored.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.spend(CONDITION_OPERATORS_MAX).map(drop)
    }

    /// The attributes it asks for, in its order. It must be valid: that bounds the depth of the walk.
    pub fn names(&self) -> Vec<&Text> {
        let mut names = Vec::new();
        let mut open = vec![self];
        while let Some(condition) = open.pop() {
            names.extend(condition.operands().filter_map(|operand| match operand {
                Operand::Path(path) | Operand::Size(path) => Some(path.root()),
                Operand::Value(_) => None,
            }));
            match condition {
                Condition::Exists(path)
                | Condition::Absent(path)
                | Condition::HasType(path, _)
                | Condition::BeginsWith(path, _)
                | Condition::Contains(path, _) => names.push(path.root()),
                Condition::And(all) | Condition::Or(all) => open.extend(all.iter().rev()),
                Condition::Not(inner) => open.push(inner),
                Condition::Compare(..) | Condition::Between(..) | Condition::In(..) => {}
            }
        }
        names
    }

    /// Validates while counting operators and functions down from `left`, which bounds the depth of
    /// the walk too.
    fn spend(&self, left: usize) -> Result<usize, Invalid> {
        let mut left = spend(left, 1)?;
        for operand in self.operands() {
            match operand {
                Operand::Value(value) => validate::value(value)?,
                Operand::Path(path) => path.validate()?,
                Operand::Size(path) => {
                    path.validate()?;
                    left = spend(left, 1)?;
                }
            }
        }
        match self {
            Condition::Exists(path) | Condition::Absent(path) | Condition::HasType(path, _) => {
                path.validate()?;
            }
            Condition::Compare(a, comparator, b) => {
                if !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
                    [a, b].into_iter().try_for_each(ordered)?;
                }
                if let Operand::Path(path) = a {
                    distinct(path, b)?;
                }
            }
            Condition::Between(value, low, high) => {
                [value, low, high].into_iter().try_for_each(ordered)?;
                if let (Operand::Value(low), Operand::Value(high)) = (low, high)
                    && let (Some(low), Some(high)) = (low.known(), high.known())
                    && !order(low, high).is_some_and(Ordering::is_le)
                {
                    return Err(Invalid::ReversedBounds);
                }
            }
            Condition::In(_, alternatives) => {
                if alternatives.is_empty() || alternatives.len() > ALTERNATIVES_MAX {
                    return Err(Invalid::Alternatives { count: alternatives.len() });
                }
            }
            Condition::BeginsWith(path, prefix) => {
                path.validate()?;
                distinct(path, prefix)?;
                can_begin(prefix)?;
            }
            Condition::Contains(path, element) => {
                path.validate()?;
                distinct(path, element)?;
            }
            Condition::And(all) | Condition::Or(all) if all.is_empty() => {
                return Err(Invalid::EmptyCondition);
            }
            Condition::And(all) | Condition::Or(all) => {
                // An operator stands between every two; one of them is paid for.
                let left = spend(left, all.len().saturating_sub(2))?;
                return all.iter().try_fold(left, |left, condition| condition.spend(left));
            }
            Condition::Not(condition) => return condition.spend(left),
        }
        Ok(left)
    }

    /// The operands of the condition itself, paths apart that can be nothing else.
    fn operands(&self) -> impl Iterator<Item = &Operand<V>> {
        let (few, many): ([Option<&Operand<V>>; 3], &[Operand<V>]) = match self {
            Condition::Compare(a, _, b) => ([Some(a), Some(b), None], &[]),
            Condition::Between(value, low, high) => ([Some(value), Some(low), Some(high)], &[]),
            Condition::In(value, alternatives) => ([Some(value), None, None], alternatives),
            Condition::BeginsWith(_, operand) | Condition::Contains(_, operand) => {
                ([Some(operand), None, None], &[])
            }
            Condition::Exists(_)
            | Condition::Absent(_)
            | Condition::HasType(..)
            | Condition::And(_)
            | Condition::Or(_)
            | Condition::Not(_) => ([None; 3], &[]),
        };
        few.into_iter().flatten().chain(many)
    }
}

fn spend(left: usize, operators: usize) -> Result<usize, Invalid> {
    left.checked_sub(operators).ok_or(Invalid::ConditionTooLarge)
}

/// Refuses to order a constant that has no order.
fn ordered<V: Datum>(operand: &Operand<V>) -> Result<(), Invalid> {
    match operand {
        Operand::Value(value) if !has_order(value.type_of()) => {
            Err(Invalid::Unordered { found: value.type_of() })
        }
        _ => Ok(()),
    }
}

/// Refuses to compare what is stored at a path with itself.
fn distinct<V>(path: &Path, operand: &Operand<V>) -> Result<(), Invalid> {
    match operand {
        Operand::Path(other) if other == path => {
            Err(Invalid::SameOperand { path: path.to_string() })
        }
        _ => Ok(()),
    }
}

/// Refuses a prefix that is known to be neither text nor bytes.
fn can_begin<V: Datum>(prefix: &Operand<V>) -> Result<(), Invalid> {
    let found = match prefix {
        Operand::Value(value) => value.type_of(),
        Operand::Size(_) => ValueType::Number,
        Operand::Path(_) => return Ok(()),
    };
    match found {
        ValueType::Text | ValueType::Bytes => Ok(()),
        _ => Err(Invalid::Prefix { found }),
    }
}

fn has_order(value_type: ValueType) -> bool {
    matches!(value_type, ValueType::Text | ValueType::Number | ValueType::Bytes)
}

static NOTHING: Map = Map::new();

/// Whether a condition holds of a stored item, or of nothing stored.
///
/// A comparison with an absent attribute is false, and so is one of two types, but for `<>`, which is
/// then true.
pub fn holds(condition: &Condition, item: Option<&Item>) -> bool {
    let item = item.unwrap_or(&NOTHING);
    match condition {
        Condition::Exists(path) => path.of(item).is_some(),
        Condition::Absent(path) => path.of(item).is_none(),
        Condition::HasType(path, value_type) => {
            path.of(item).is_some_and(|value| value.value_type() == *value_type)
        }
        Condition::Compare(a, comparator, b) => compare(a, *comparator, b, item),
        Condition::Between(value, low, high) => {
            compare(value, Comparator::GreaterOrEqual, low, item)
                && compare(value, Comparator::LessOrEqual, high, item)
        }
        Condition::In(value, alternatives) => alternatives
            .iter()
            .any(|alternative| compare(value, Comparator::Equal, alternative, item)),
        Condition::BeginsWith(path, prefix) => {
            match (path.of(item), resolve(prefix, item).as_deref()) {
                (Some(Value::Text(text)), Some(Value::Text(prefix))) => {
                    text.starts_with(prefix.as_str())
                }
                (Some(Value::Bytes(bytes)), Some(Value::Bytes(prefix))) => {
                    bytes.starts_with(prefix)
                }
                _ => false,
            }
        }
        Condition::Contains(path, element) => {
            match (path.of(item), resolve(element, item).as_deref()) {
                (Some(value), Some(element)) => contains(value, element),
                _ => false,
            }
        }
        Condition::And(all) => all.iter().all(|condition| holds(condition, Some(item))),
        Condition::Or(any) => any.iter().any(|condition| holds(condition, Some(item))),
        Condition::Not(condition) => !holds(condition, Some(item)),
    }
}

fn resolve<'a>(operand: &'a Operand, item: &'a Item) -> Option<Cow<'a, Value>> {
    match operand {
        Operand::Value(value) => Some(Cow::Borrowed(value)),
        Operand::Path(path) => path.of(item).map(Cow::Borrowed),
        Operand::Size(path) => {
            let count = path.of(item).and_then(length)?;
            let count = u64::try_from(count).ok()?;
            Some(Cow::Owned(Value::Number(Number::from(count))))
        }
    }
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Text(text) => Some(text.encode_utf16().count()),
        Value::Bytes(bytes) => Some(bytes.len()),
        Value::List(list) => Some(list.len()),
        Value::Map(map) => Some(map.len()),
        Value::TextSet(set) => Some(set.len()),
        Value::NumberSet(set) => Some(set.len()),
        Value::BytesSet(set) => Some(set.len()),
        Value::Number(_) | Value::Bool(_) | Value::Null => None,
    }
}

fn compare(a: &Operand, comparator: Comparator, b: &Operand, item: &Item) -> bool {
    let (Some(a), Some(b)) = (resolve(a, item), resolve(b, item)) else {
        return comparator == Comparator::NotEqual;
    };
    match comparator {
        Comparator::Equal => a == b,
        Comparator::NotEqual => a != b,
        Comparator::Less => order(&a, &b).is_some_and(Ordering::is_lt),
        Comparator::LessOrEqual => order(&a, &b).is_some_and(Ordering::is_le),
        Comparator::Greater => order(&a, &b).is_some_and(Ordering::is_gt),
        Comparator::GreaterOrEqual => order(&a, &b).is_some_and(Ordering::is_ge),
    }
}

/// The order of two texts, numbers or byte strings; no others have one.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn contains(value: &Value, element: &Value) -> bool {
    match (value, element) {
        (Value::Text(text), Value::Text(part)) => text.contains(part.as_str()),
        (Value::Bytes(bytes), Value::Bytes(part)) => {
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part.as_slice())
        }
        (Value::TextSet(set), Value::Text(element)) => set.contains::<Text>(element),
        (Value::NumberSet(set), Value::Number(element)) => set.contains(element),
        (Value::BytesSet(set), Value::Bytes(element)) => set.contains(element),
        (Value::List(list), element) => list.contains(element),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
