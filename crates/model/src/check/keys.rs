//! The key languages of all entities, found by how they begin: two keys can only meet if one's beginning
//! begins the other's.

use std::collections::BTreeMap;

use crate::model::{By, EntityId, KeyShape, Model};
use crate::regular::Language;

/// Where the entities lie in the table, or in one index.
pub(super) struct Keys<'a> {
    places: Vec<Place<'a>>,
    /// Places by the fixed beginning of their partition.
    by_beginning: BTreeMap<Vec<u8>, Vec<usize>>,
}

/// An entity's keys in the table or an index.
pub(super) struct Place<'a> {
    pub(super) entity: EntityId,
    pub(super) shape: &'a KeyShape,
    pub(super) partition: Language,
    pub(super) sort: Language,
}

impl<'a> Keys<'a> {
    /// The keys of the table, or of an index.
    pub(super) fn new(model: &'a Model, by: By) -> Keys<'a> {
        let mut keys = Keys { places: Vec::new(), by_beginning: BTreeMap::new() };
        for (entity, declared) in model.entities.enumerate() {
            let Some(shape) = declared.place(by) else { continue };
            let (partition, sort) = (shape.partition.language(), shape.sort.language());
            let beginning = partition.beginning();
            keys.by_beginning.entry(beginning).or_default().push(keys.places.len());
            keys.places.push(Place { entity, shape, partition, sort });
        }
        keys
    }

    /// Every place.
    pub(super) fn all(&self) -> &[Place<'a>] {
        &self.places
    }

    /// The places whose partition can become a text of the language.
    pub(super) fn meeting(&self, partition: &Language) -> Vec<&Place<'a>> {
        let beginning = partition.beginning();
        let shorter = (0..beginning.len()).filter_map(|length| beginning.get(..length));
        let mut found: Vec<usize> =
            shorter.filter_map(|start| self.by_beginning.get(start)).flatten().copied().collect();
        let longer = self.by_beginning.range(beginning.clone()..);
        let longer = longer.take_while(|(other, _)| other.starts_with(&beginning));
        found.extend(longer.flat_map(|(_, places)| places));
        found.sort_unstable();
        let places = found.into_iter().filter_map(|place| self.places.get(place));
        places.filter(|place| place.partition.meets(partition)).collect()
    }
}
