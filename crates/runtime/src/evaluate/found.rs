//! What views were found to have that their sources lack.

use latchkey_table::{Key, Text, Value};

/// Attributes of views, by the keys of their sources.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<(Key, Text, Value)>);

impl Found {
    /// Notes what a view has, or that it has nothing.
    pub(crate) fn note(&mut self, source: Key, attribute: &Text, value: Option<Value>) {
        self.0.retain(|(key, name, _)| *key != source || name != attribute);
        self.0.extend(value.map(|value| (source, attribute.clone(), value)));
    }

    /// What the view of a source has.
    pub(super) fn get(&self, source: &Key, attribute: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(key, name, _)| key == source && name == attribute);
        found.map(|(_, _, value)| value)
    }
}
