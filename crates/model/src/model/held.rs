//! What an index holds of an item, and what its keys tell.

use latchkey_language::Rule;
use latchkey_value::Format;

use super::{By, Entity, EntityId, Hole, KeyShape, Model, TableIndex, Template};
use crate::types::Type;

impl Entity {
    /// Whether an attribute can be read back from a key of this entity: it stands there in a form of which there is one
    /// value, and the key can be split in one way only.
    pub fn is_told_by(&self, key: &Template, attribute: &str) -> bool {
        // Where the rule holds, every part of a key has one end.
        let splits = !self.waivers.iter().any(|waiver| waiver.rule == Rule::ForgedKey);
        // Of a pattern there is none for its texts in the other case.
        let cased = |hole: &Hole| matches!(hole.format, Some(Format::Lower | Format::Upper));
        let plain = |hole: &Hole| !cased(hole) || matches!(hole.kind, Type::Id | Type::Ulid);
        let told = |hole: &Hole| {
            hole.attribute == attribute && !hole.is_lossy() && hole.kind.has_one_text()
        };
        splits && key.whole && key.holes().all(plain) && key.holes().any(told)
    }
}

impl Type {
    /// Whether a value can be told from its text.
    fn has_one_text(&self) -> bool {
        matches!(
            self,
            Type::Id
                | Type::Ulid
                | Type::Text { .. }
                | Type::Time
                | Type::Date
                | Type::Enum(_)
                | Type::Int { .. }
                | Type::Counter
                | Type::Number { .. }
                | Type::Bool
        )
    }
}

impl Model {
    /// The index by which a read finds less than whole items.
    pub fn partial(&self, by: By) -> Option<&TableIndex> {
        match by {
            By::Index(id) => Some(&self.indexes[id]).filter(|index| index.holds.is_some()),
            By::Table | By::Unknown => None,
        }
    }

    /// Whether what is read has an attribute as it is stored.
    pub fn has(&self, by: By, attribute: &str) -> bool {
        let Some(index) = self.partial(by) else { return true };
        let listed = index.holds.iter().flatten().any(|listed| listed.node == attribute);
        listed || self.table.key.has(attribute) || index.key.has(attribute)
    }

    /// Whether what is read has an attribute of an entity, or a key that tells it.
    pub fn tells(&self, by: By, entity: EntityId, attribute: &str) -> bool {
        let entity = &self.entities[entity];
        let told = |key: &KeyShape| {
            let mut both = [&key.partition, &key.sort].into_iter();
            both.any(|key| entity.is_told_by(key, attribute))
        };
        self.has(by, attribute) || told(&entity.key) || entity.place(by).is_some_and(told)
    }
}
