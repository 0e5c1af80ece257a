//! Members of records and elements of lists, also while a test of them is under way.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use latchkey_model::model::BindingId;
use latchkey_table::{Action, Item, Value};

use super::{Evaluated, Fault, Frame, Values};
use crate::plan::{Code, EveryOf, MemberOf};

/// The elements that tests are under way of, the innermost last. Where no list is tested, nobody looks here.
#[derive(Debug, Default)]
pub(crate) struct Elements(Mutex<Vec<(BindingId, Value)>>);

impl Elements {
    /// The element of a name.
    pub(super) fn get(&self, name: BindingId) -> Option<Value> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().rev().find(|(other, _)| *other == name).map(|(_, value)| value.clone())
    }

    /// Does something while a name stands for an element.
    pub(super) fn with<T>(&self, name: BindingId, value: &Value, act: impl FnOnce() -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lock().push((name, value.clone()));
        let done = act();
        lock().pop();
        done
    }
}

impl Frame<'_> {
    /// A member of a record.
    pub(super) fn member<'a>(&'a self, record: &'a Code, of: &MemberOf) -> Evaluated<'a> {
        Ok(match self.value(record)? {
            Some(Cow::Borrowed(Value::Map(map))) => map.get(&of.name).map(Cow::Borrowed),
            Some(Cow::Owned(Value::Map(mut map))) => map.remove(&of.name).map(Cow::Owned),
            Some(_) => return Err(Fault::bug("a member is asked of what is no record")),
            None => return Err(Fault::bug("a member is asked of a record that is absent")),
        })
    }

    /// Whether a set or a list has an element.
    pub(super) fn contains(&self, set: &Code, element: &Code) -> Result<bool, Fault> {
        let (Some(set), Some(element)) = (self.value(set)?, self.value(element)?) else {
            return Err(Fault::bug("a set or its element is absent"));
        };
        match (set.as_ref(), element.as_ref()) {
            (Value::TextSet(set), Value::Text(element)) => Ok(set.contains(element)),
            (Value::List(list), element) => Ok(list.contains(element)),
            _ => Err(Fault::bug("what has no elements is asked for one")),
        }
    }

    /// Whether a test holds of all elements of a list, or of one.
    pub(super) fn every(&self, every: &EveryOf) -> Result<bool, Fault> {
        let list = self.value(&every.over)?;
        let Some(Value::List(values)) = list.as_deref() else {
            return Err(Fault::bug("a list is absent"));
        };
        for value in values {
            let held = self.elements.with(every.element, value, || self.test(&every.test))?;
            if held != every.all {
                return Ok(held);
            }
        }
        Ok(every.all)
    }
}

/// Whether an item has the place that an action changes.
pub(super) fn has_place(action: &Action, item: &Item) -> bool {
    match action {
        Action::Set(path, _) | Action::Remove(path) => path.has_place(item),
        Action::Add(..) | Action::Delete(..) => true,
    }
}
