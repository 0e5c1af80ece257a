//! What an update does to an item.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::limits::EXPRESSION_BYTES_MAX;
use crate::{Datum, Invalid, Item, Number, Path, Step, Text, Value, ValueType, validate};

/// One change to an item. All of an update's changes see the item as it was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<V = Value> {
    /// Sets a place to a value; the map or list it lies in must be there. Past the end of a list, the
    /// value is appended.
    Set(Path, Expression<V>),
    /// Takes an attribute, an entry or an element out, if it is there.
    Remove(Path),
    /// Adds to a number, or elements to a set; what is absent is taken for 0 or an empty set.
    Add(Text, V),
    /// Takes elements out of a set; the attribute goes with the last of them.
    Delete(Text, V),
}

/// The value of a `set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression<V = Value> {
    /// A constant.
    Value(V),
    /// What is stored at a path, which must be there.
    Path(Path),
    /// What is stored at a path, or else the other.
    OrElse(Path, Box<Expression<V>>),
    /// The sum of two numbers.
    Sum(Box<Expression<V>>, Box<Expression<V>>),
    /// The difference of two numbers.
    Difference(Box<Expression<V>>, Box<Expression<V>>),
    /// Two lists, one after the other.
    Append(Box<Expression<V>>, Box<Expression<V>>),
}

impl<V: Into<Value>> From<V> for Expression {
    fn from(value: V) -> Expression {
        Expression::Value(value.into())
    }
}

impl<V> Expression<V> {
    /// Collects the attributes it reads.
    pub fn roots<'a>(&'a self, names: &mut Vec<&'a Text>) {
        match self {
            Expression::Value(_) => {}
            Expression::Path(path) => names.push(path.root()),
            Expression::OrElse(path, other) => {
                names.push(path.root());
                other.roots(names);
            }
            Expression::Sum(a, b) | Expression::Difference(a, b) | Expression::Append(a, b) => {
                a.roots(names);
                b.roots(names);
            }
        }
    }
}

impl Action {
    /// Sets an attribute to a constant.
    pub fn set(name: impl Into<Text>, value: impl Into<Value>) -> Action {
        Action::Set(Path::attribute(name), Expression::Value(value.into()))
    }

    /// Sets a numeric attribute to itself plus a constant: `version = .version + 1`.
    pub fn increment(name: &str, by: i64) -> Action {
        let stored = Box::new(Expression::Path(Path::attribute(name)));
        let by = Box::new(Expression::Value(Value::Number(by.into())));
        Action::Set(Path::attribute(name), Expression::Sum(stored, by))
    }

    /// The attribute that becomes a constant, whatever is stored, and the constant.
    pub(crate) fn constant(&self) -> Option<(&Text, &Value)> {
        match self {
            Action::Set(path, Expression::Value(value)) if path.steps().is_empty() => {
                Some((path.root(), value))
            }
            _ => None,
        }
    }
}

impl<V> Action<V> {
    /// The attribute the action changes.
    pub fn target(&self) -> &Text {
        match self {
            Action::Set(path, _) | Action::Remove(path) => path.root(),
            Action::Add(name, _) | Action::Delete(name, _) => name,
        }
    }

    fn path(&self) -> Cow<'_, Path> {
        match self {
            Action::Set(path, _) | Action::Remove(path) => Cow::Borrowed(path),
            Action::Add(name, _) | Action::Delete(name, _) => {
                Cow::Owned(Path::attribute(name.clone()))
            }
        }
    }
}

/// More actions and terms than an expression has room for: each takes a placeholder and what parts it
/// from the next.
const TERMS_MAX: usize = EXPRESSION_BYTES_MAX / 4;

/// Refuses actions DynamoDB would refuse whatever is stored.
pub(crate) fn validate<V: Datum>(actions: &[Action<V>]) -> Result<(), Invalid> {
    let mut left = TERMS_MAX;
    for action in actions {
        left = left.checked_sub(1).ok_or(Invalid::ExpressionSize)?;
        match action {
            Action::Set(_, expression) => left = computed(expression, left)?,
            Action::Remove(_) => {}
            Action::Add(_, value) if value.type_of() == ValueType::Number => {}
            Action::Add(_, value) | Action::Delete(_, value) => match value.type_of() {
                ValueType::TextSet | ValueType::NumberSet | ValueType::BytesSet => {
                    validate::value(value)?
                }
                found => return Err(Invalid::Operand { found }),
            },
        }
    }
    // Sorted, paths that clash come to lie beside each other: a path sorts directly before those
    // within it, and the entries of one value directly before its elements.
    let mut paths: Vec<_> = actions.iter().map(Action::path).collect();
    paths.iter().try_for_each(|path| path.validate())?;
    paths.sort();
    for pair in paths.windows(2) {
        if let [a, b] = pair
            && a.clashes_with(b)
        {
            return Err(Invalid::OverlappingPaths { one: a.to_string(), other: b.to_string() });
        }
    }
    Ok(())
}

/// What a `set` computes: a term, or one sum, difference or list of two.
fn computed<V: Datum>(expression: &Expression<V>, left: usize) -> Result<usize, Invalid> {
    let (a, b, value_type) = match expression {
        Expression::Sum(a, b) | Expression::Difference(a, b) => (a, b, ValueType::Number),
        Expression::Append(a, b) => (a, b, ValueType::List),
        expression => return term(expression, left),
    };
    can_be(a, value_type)?;
    can_be(b, value_type)?;
    term(b, term(a, left)?)
}

/// Counts an expression's terms down from `left`, which bounds the depth of the walk too.
fn term<V: Datum>(expression: &Expression<V>, left: usize) -> Result<usize, Invalid> {
    let left = left.checked_sub(1).ok_or(Invalid::ExpressionSize)?;
    match expression {
        Expression::Value(value) => validate::value(value).map(|()| left),
        Expression::Path(path) => path.validate().map(|()| left),
        Expression::OrElse(path, other) => {
            path.validate()?;
            term(other, left)
        }
        Expression::Sum(..) | Expression::Difference(..) | Expression::Append(..) => {
            Err(Invalid::Nested)
        }
    }
}

/// Refuses a constant of another type, whether or not it would come to be computed with.
fn can_be<V: Datum>(expression: &Expression<V>, value_type: ValueType) -> Result<(), Invalid> {
    match expression {
        Expression::Value(value) if value.type_of() != value_type => {
            Err(Invalid::Operand { found: value.type_of() })
        }
        _ => Ok(()),
    }
}

/// What an item is after an update, or why the update cannot be applied to it.
///
/// The result may exceed a limit of the table; [`Schema::validate_item`](crate::Schema::validate_item) tells.
pub fn apply(actions: &[Action], item: &Item) -> Result<Item, Invalid> {
    let mut new = item.clone();
    let mut sets = Vec::with_capacity(actions.len());
    let mut removals = Vec::new();
    for action in actions {
        match action {
            Action::Set(path, expression) => {
                sets.push((path, evaluate(expression, item)?.into_owned()));
            }
            Action::Remove(path) => removals.push(path),
            Action::Add(name, value) => {
                new.insert(name.clone(), add(item.get(name), value)?);
            }
            Action::Delete(name, value) => match delete(item.get(name), value)? {
                Some(rest) => drop(new.insert(name.clone(), rest)),
                None => drop(new.remove(name)),
            },
        }
    }
    // In the order of the paths: of two elements past the end of a list, the lower comes first.
    sets.sort_by_key(|(path, _)| *path);
    for (path, value) in sets {
        set(&mut new, path, value)?;
    }
    // The highest first, so that an element's removal does not move the next one to go.
    removals.sort_by(|a, b| b.cmp(a));
    for path in removals {
        // What was not there is left alone, even where an append has put something since.
        if path.of(item).is_some() {
            remove(&mut new, path)?;
        } else if !path.has_place(item) {
            return Err(Invalid::Path { path: path.to_string() });
        }
    }
    Ok(new)
}

fn evaluate<'a>(expression: &'a Expression, item: &'a Item) -> Result<Cow<'a, Value>, Invalid> {
    match expression {
        Expression::Value(value) => Ok(Cow::Borrowed(value)),
        Expression::Path(path) => path
            .of(item)
            .map(Cow::Borrowed)
            .ok_or_else(|| Invalid::MissingOperand { path: path.to_string() }),
        Expression::OrElse(path, other) => match path.of(item) {
            Some(value) => Ok(Cow::Borrowed(value)),
            None => evaluate(other, item),
        },
        Expression::Sum(a, b) => {
            let sum = operand(a, item)?.checked_add(operand(b, item)?)?;
            Ok(Cow::Owned(Value::Number(sum)))
        }
        Expression::Difference(a, b) => {
            let difference = operand(a, item)?.checked_sub(operand(b, item)?)?;
            Ok(Cow::Owned(Value::Number(difference)))
        }
        Expression::Append(a, b) => {
            match (evaluate(a, item)?.as_ref(), evaluate(b, item)?.as_ref()) {
                (Value::List(a), Value::List(b)) => {
                    Ok(Cow::Owned(Value::List(a.iter().chain(b).cloned().collect())))
                }
                (Value::List(_), other) | (other, _) => {
                    Err(Invalid::Operand { found: other.value_type() })
                }
            }
        }
    }
}

fn operand(expression: &Expression, item: &Item) -> Result<Number, Invalid> {
    let value = evaluate(expression, item)?;
    value.as_number().ok_or_else(|| Invalid::Operand { found: value.value_type() })
}

fn add(stored: Option<&Value>, more: &Value) -> Result<Value, Invalid> {
    match (stored, more) {
        (None, Value::Number(_) | Value::TextSet(_) | Value::NumberSet(_) | Value::BytesSet(_)) => {
            Ok(more.clone())
        }
        (Some(Value::Number(a)), Value::Number(b)) => Ok(Value::Number(a.checked_add(*b)?)),
        (Some(Value::TextSet(a)), Value::TextSet(b)) => Ok(Value::TextSet(a | b)),
        (Some(Value::NumberSet(a)), Value::NumberSet(b)) => Ok(Value::NumberSet(a | b)),
        (Some(Value::BytesSet(a)), Value::BytesSet(b)) => Ok(Value::BytesSet(a | b)),
        (stored, more) => Err(Invalid::Operand { found: stored.unwrap_or(more).value_type() }),
    }
}

/// What is left of a set, if anything.
fn delete(stored: Option<&Value>, less: &Value) -> Result<Option<Value>, Invalid> {
    match (stored, less) {
        (None, _) => Ok(None),
        (Some(Value::TextSet(a)), Value::TextSet(b)) => Ok(without(a, b).map(Value::TextSet)),
        (Some(Value::NumberSet(a)), Value::NumberSet(b)) => Ok(without(a, b).map(Value::NumberSet)),
        (Some(Value::BytesSet(a)), Value::BytesSet(b)) => Ok(without(a, b).map(Value::BytesSet)),
        (Some(stored), _) => Err(Invalid::Operand { found: stored.value_type() }),
    }
}

/// The elements of one set that are not in another, unless there are none.
fn without<T: Ord + Clone>(set: &BTreeSet<T>, less: &BTreeSet<T>) -> Option<BTreeSet<T>> {
    Some(set - less).filter(|rest| !rest.is_empty())
}

fn set(item: &mut Item, path: &Path, value: Value) -> Result<(), Invalid> {
    let Some((last, _)) = path.steps().split_last() else {
        item.insert(path.root().clone(), value);
        return Ok(());
    };
    match (parent(item, path), last) {
        (Some(Value::Map(map)), Step::Field(name)) => drop(map.insert(name.clone(), value)),
        (Some(Value::List(list)), Step::Index(index)) => match list.get_mut(*index) {
            Some(element) => *element = value,
            None => list.push(value),
        },
        _ => return Err(Invalid::Path { path: path.to_string() }),
    }
    Ok(())
}

/// Removes the value at a path. Refuses a path where no value is.
fn remove(item: &mut Item, path: &Path) -> Result<(), Invalid> {
    let removed = match path.steps().split_last() {
        None => item.remove(path.root()),
        Some((last, _)) => match (parent(item, path), last) {
            (Some(Value::Map(map)), Step::Field(name)) => map.remove(name),
            (Some(Value::List(list)), Step::Index(index)) if *index < list.len() => {
                Some(list.remove(*index))
            }
            _ => None,
        },
    };
    removed.map(drop).ok_or_else(|| Invalid::Path { path: path.to_string() })
}

/// The map or list a path's last step leads into.
fn parent<'a>(item: &'a mut Item, path: &Path) -> Option<&'a mut Value> {
    let (_, steps) = path.steps().split_last()?;
    let root = item.get_mut(path.root())?;
    steps.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Map(map), Step::Field(name)) => map.get_mut(name),
        (Value::List(list), Step::Index(index)) => list.get_mut(*index),
        _ => None,
    })
}

/// The bytes the values of an action bring.
pub(crate) fn weight(action: &Action) -> usize {
    fn of(expression: &Expression) -> usize {
        match expression {
            Expression::Value(value) => value.size(),
            Expression::Path(_) => 0,
            Expression::OrElse(_, other) => of(other),
            Expression::Sum(a, b) | Expression::Difference(a, b) | Expression::Append(a, b) => {
                of(a) + of(b)
            }
        }
    }
    match action {
        Action::Set(_, expression) => of(expression),
        Action::Remove(_) => 0,
        Action::Add(_, value) | Action::Delete(_, value) => value.size(),
    }
}

#[cfg(test)]
mod tests;
