//! What a read by an index sees of the items of an entity, where the index does not hold whole items.

use std::sync::Arc;

use latchkey_model::model::{self, By, EntityId};
use latchkey_table::{Item, Text, Value};

use super::back::Back;
use super::refusal::Planned;

/// What a read sees of the items of an entity.
#[derive(Debug)]
pub(crate) struct Sight {
    /// Whether the items carry their type. Where they do not, their keys tell it.
    pub(crate) is_typed: bool,
    /// The attributes that are left out, in order.
    left_out: Vec<Text>,
    /// The keys from which attributes are read back.
    backs: Vec<Arc<Back>>,
}

impl Sight {
    /// What a query sees of an entity; nothing is planned where it sees whole items.
    pub(super) fn plan(
        model: &model::Model,
        by: By,
        id: EntityId,
        whole: &[Arc<Back>],
    ) -> Planned<Option<Sight>> {
        let Some(index) = model.partial(by) else { return Ok(None) };
        let entity = &model.entities[id];
        let mut backs = whole.to_vec();
        if let Some(shape) = entity.place(by) {
            backs.extend(Back::plan(entity, &index.key, shape)?);
        }
        let left_out = entity.attributes.iter().map(|attribute| attribute.name.as_str());
        let left_out = left_out.filter(|name| !model.tells(by, id, name));
        let mut left_out: Vec<Text> = left_out.map(Text::from).collect();
        left_out.sort_unstable();
        let is_typed = model.has(by, &model.table.discriminator);
        Ok(Some(Sight { is_typed, left_out, backs }))
    }

    /// Whether an attribute is not to be looked for.
    pub(crate) fn leaves_out(&self, name: &Text) -> bool {
        self.left_out.binary_search(name).is_ok()
    }

    /// Whether a key tells an attribute.
    pub(super) fn tells(&self, name: &str) -> bool {
        self.backs.iter().any(|back| back.tells(name))
    }

    /// An attribute that an item has in a key alone.
    pub(crate) fn read_back(&self, item: &Item, name: &str) -> Option<Value> {
        self.backs.iter().find_map(|back| back.read(item, name))
    }
}
