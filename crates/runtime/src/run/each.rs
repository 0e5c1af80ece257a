//! The elements that an `each` or a `get … for` goes through.

use latchkey_model::model::BindingId;
use latchkey_table::{Item, Key, Text, Value};

use super::{Ended, Session};
use crate::bug::Bug;
use crate::evaluate::{Bound, Frame, Values};
use crate::plan::{Code, ElementKeys, Elements};
use crate::shape::Seen;

/// An element of a list, or an item of a result with what is assumed of it.
#[derive(Clone)]
pub(super) enum Element {
    Value(Value),
    Item(Item, Vec<Text>),
}

impl Element {
    /// Has a name stand for it.
    pub(super) fn bind(&self, name: BindingId, frame: &mut Frame<'_>) {
        match self {
            Element::Value(value) => drop(frame.bind(name, Bound::Value(value.clone()))),
            Element::Item(item, assumed) => {
                frame.bind_seen(name, Seen { item: item.clone(), assumed: assumed.clone() });
            }
        }
    }
}

impl Session<'_> {
    /// A key for each element, in their order, and no key twice.
    pub(super) fn element_keys(&mut self, keys: &ElementKeys) -> Result<Vec<Key>, Ended> {
        let mut all: Vec<Key> = Vec::new();
        for element in self.elements(&keys.source)? {
            element.bind(keys.source.element, &mut self.frame);
            let key = self.filler().key(&keys.key)?;
            if !all.contains(&key) {
                all.push(key);
            }
        }
        self.frame.bind(keys.source.element, Bound::Nothing);
        Ok(all)
    }

    /// The cursor of what a page points to: that of the page.
    pub(super) fn next_of(&self, source: &Elements) -> Option<String> {
        let Code::Binding(result) = &source.over else { return None };
        match &self.frame.bound[*result] {
            Bound::Page(page) => page.next.clone(),
            Bound::Nothing | Bound::Item(_) | Bound::Value(_) => None,
        }
    }

    /// The elements in their order.
    pub(super) fn elements(&self, source: &Elements) -> Result<Vec<Element>, Ended> {
        if source.items {
            let Code::Binding(result) = &source.over else {
                return Err(Bug::new("items are of no result").into());
            };
            let Bound::Page(page) = &self.frame.bound[*result] else {
                return Err(Bug::new("a result is absent").into());
            };
            let items = page.items.iter().enumerate().map(|(at, item)| {
                let own = page.assumed.iter().filter(|(other, _)| *other == at);
                Element::Item(item.clone(), own.map(|(_, name)| name.clone()).collect())
            });
            return Ok(items.collect());
        }
        match self.frame.value(&source.over)?.map(|list| list.into_owned()) {
            Some(Value::List(values)) => Ok(values.into_iter().map(Element::Value).collect()),
            _ => Err(Bug::new("a list is absent").into()),
        }
    }
}
