//! Whether the key of an item is one that an entity makes.
//!
//! Where an index does not hold the type of its items, this tells whose they are: the key of the table is in every
//! entry, and the check lets no two entities share one.

use latchkey_model::model::{Entity, KeyNames, KeyShape};
use latchkey_table::{Item, Projection, Schema, Text, Value};
use regex::{Regex, RegexBuilder};

use super::back::{PATTERN_BYTES_MAX, pattern_of};
use super::refusal::{Planned, Unplanned};

/// One half of the keys of an entity.
#[derive(Debug)]
pub(crate) struct Fit {
    /// The attribute that holds it.
    key: Text,
    /// Its texts; nothing where it is a number.
    pattern: Option<Regex>,
}

impl Fit {
    /// Both halves of the keys of an entity, if an index may hold a part of its items; none otherwise.
    pub(super) fn of(entity: &Entity, names: &KeyNames, table: &Schema) -> Planned<Vec<Fit>> {
        let mut indexes = entity.indexes.iter().filter_map(|place| table.index(&place.name));
        match indexes.all(|index| index.holds == Projection::All) {
            true => Ok(Vec::new()),
            false => Fit::plan(names, &entity.key),
        }
    }

    fn plan(names: &KeyNames, shape: &KeyShape) -> Planned<Vec<Fit>> {
        let halves = names.iter().zip([&shape.partition, &shape.sort]);
        let fits = halves.map(|(name, template)| {
            let mut builder = RegexBuilder::new(&pattern_of(template)?);
            let unread = |_| Unplanned::new("its key is no pattern").at(template.span);
            let pattern = match name.number {
                true => None,
                false => Some(builder.size_limit(PATTERN_BYTES_MAX).build().map_err(unread)?),
            };
            Ok(Fit { key: name.name.as_str().into(), pattern })
        });
        fits.collect()
    }

    /// Whether an item has such a half.
    pub(crate) fn has(&self, item: &Item) -> bool {
        match (item.get(&self.key), &self.pattern) {
            (Some(Value::Text(text)), Some(pattern)) => pattern.is_match(text),
            (Some(Value::Number(_)), None) => true,
            _ => false,
        }
    }
}
