//! Compares items with the document, one by one, for items that come from outside, such as an import.

use latchkey_table::{Item, Value};

use crate::bug::Bug;
use crate::call::RawInput;
use crate::draw::KEY_BYTES;
use crate::evaluate::filled;
use crate::input::read_as;
use crate::plan::{Attribute, Entity, InputType, System};

/// The prefix of the keys of Latchkey's own items.
const HOUSEKEEPING: &str = "LATCHKEY#";

impl System {
    /// All that is wrong with an item by what the document says: its type, its attributes, its key and its places in
    /// indexes. Attributes that the document does not declare pass, and so does what Latchkey keeps for itself.
    pub fn examine(&self, item: &Item) -> Vec<String> {
        let Some(key) = self.table.key.of(item) else {
            return vec!["it has no key".to_owned()];
        };
        if key.partition.starts_with(HOUSEKEEPING) {
            return Vec::new();
        }
        let Some(kind) = item.get(&self.discriminator) else {
            return vec![format!("`{}`, which tells its type, is missing", self.discriminator)];
        };
        let Some(entity) = self.entities.iter().find(|entity| entity.kind == *kind) else {
            return vec![format!("`{}` names no entity of the document", self.discriminator)];
        };
        let mut wrong: Vec<String> =
            entity.attributes.iter().filter_map(|attribute| attribute.examine(item)).collect();
        // Keys are made of attributes, so these must be right.
        if wrong.is_empty() {
            wrong = self.examine_keys(entity, item).unwrap_or_else(|bug| vec![bug.to_string()]);
        }
        wrong.into_iter().map(|one| format!("{}: {one}", entity.name)).collect()
    }

    fn examine_keys(&self, entity: &Entity, item: &Item) -> Result<Vec<String>, Bug> {
        let names = &self.table.key;
        let mut expected = vec![
            (&names.partition, filled(&entity.key.partition, item)?),
            (&names.sort, filled(&entity.key.sort, item)?),
        ];
        for index in &entity.indexes {
            let key = filled(&index.key.partition, item)?.zip(filled(&index.key.sort, item)?);
            let (partition, sort) = key.unzip();
            expected.extend([(&index.partition, partition), (&index.sort, sort)]);
        }
        let wrong = expected.into_iter().filter_map(|(name, made)| match (item.get(name), made) {
            (None, None) => None,
            (Some(Value::Text(found)), Some(made)) if *found == made => None,
            (_, Some(made)) => Some(format!("`{name}` must be `{made}`")),
            (Some(_), None) => Some(format!("`{name}` must not be there")),
        });
        Ok(wrong.collect())
    }
}

impl Attribute {
    /// What is wrong with it in an item.
    fn examine(&self, item: &Item) -> Option<String> {
        let name = &self.name;
        let detail = match (item.get(name), &self.kind) {
            (None, _) if self.optional || self.has_default => return None,
            (None, _) => "is missing".to_owned(),
            (Some(Value::Bytes(key)), InputType::Never) if key.len() == KEY_BYTES => return None,
            (Some(_), InputType::Never) => format!("must be {KEY_BYTES} bytes"),
            (Some(value), kind) => match read_as(kind, RawInput::Json(value.clone())) {
                Ok(read) if read == *value => return None,
                Ok(_) => "must be written in UTC and in fixed width".to_owned(),
                Err(detail) => detail,
            },
        };
        Some(format!("`{name}` {detail}"))
    }
}
