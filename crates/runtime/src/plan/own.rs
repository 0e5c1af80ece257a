//! Where Latchkey keeps its own items: among those of the document, or in a second table.

use std::sync::Arc;

use latchkey_table::{Index, KeyNames, Schema, Tables, Text, ValueType};
use latchkey_value::limits::TABLE_NAME_BYTES;
use latchkey_value::name::{OWN_ATTRIBUTES, OWN_TABLE_SUFFIX};

use super::System;
use crate::examine::HOUSEKEEPING;

/// The table of Latchkey's own items: the same, unless its key is not of two texts, or has the name of one of their
/// attributes, or an index would hold them.
pub(super) fn own_table(table: &Arc<Schema>, discriminator: &str) -> Arc<Schema> {
    let names_ours =
        |key: &KeyNames| key.iter().any(|key| OWN_ATTRIBUTES.contains(&key.name.as_str()));
    let holds_ours = |index: &Index| {
        let every = |name: &str| table.key.has(name) || name == discriminator;
        names_ours(&index.key) || index.key.iter().all(|key| every(&key.name))
    };
    let same = table.key.is_of_two_texts() && !names_ours(&table.key);
    if same && !table.indexes.iter().any(holds_ours) {
        return Arc::clone(table);
    }
    Arc::new(Schema::new(format!("{}{OWN_TABLE_SUFFIX}", table.name)))
}

impl System {
    /// The table of Latchkey's own items: records, messages, what is to be sent.
    pub fn own_table(&self) -> &Arc<Schema> {
        &self.own_table
    }

    /// The tables it needs: its own, and one for Latchkey's items if they cannot be in it.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Schema>> {
        let apart = !Arc::ptr_eq(&self.table, &self.own_table);
        std::iter::once(&self.table).chain(apart.then_some(&self.own_table))
    }

    /// The same, with where an earlier document may have kept Latchkey's own items.
    pub fn places(&self) -> Tables {
        let apart = !Arc::ptr_eq(&self.table, &self.own_table);
        let second = format!("{}{OWN_TABLE_SUFFIX}", self.table.name);
        let before = match apart {
            true => Some(Arc::clone(&self.table)),
            false if TABLE_NAME_BYTES.contains(&second.len()) => {
                Some(Arc::new(Schema::new(second)))
            }
            false => None,
        };
        // The key of a table never changes, and these items have one of two texts.
        let before = before.filter(|before| before.key.is_of_two_texts());
        // A name that is none for a queue is refused with the queue.
        let homes = self.queues.iter().filter_map(|queue| self.home(queue).ok());
        Tables {
            main: Arc::clone(&self.table),
            own: Arc::clone(&self.own_table),
            before,
            own_prefix: Text::const_new(HOUSEKEEPING),
            own_partitions: homes.flat_map(|home| home.partitions()).collect(),
            stored: self.stored(),
        }
    }

    /// The attributes of the items, and what each is stored as: once for each type.
    fn stored(&self) -> Vec<(Text, ValueType)> {
        let own = [(&self.discriminator, ValueType::Text), (&self.ttl, ValueType::Number)];
        let attributes = self.entities.iter().flat_map(|entity| &entity.attributes);
        let attributes = attributes.map(|attribute| (&attribute.name, attribute.value_type));
        let mut stored: Vec<(Text, ValueType)> = Vec::new();
        for (name, value_type) in own.into_iter().chain(attributes) {
            if !stored.iter().any(|(other, kind)| other == name && *kind == value_type) {
                stored.push((name.clone(), value_type));
            }
        }
        stored
    }
}
