//! Compares items with the document, one by one, for items that come from outside, such as an import.

use std::borrow::Cow;

use latchkey_table::{Item, Text, Value};

use crate::bug::Bug;
use crate::draw::KEY_BYTES;
use crate::evaluate::push;
use crate::input::read_stored;
use crate::plan::{Attribute, Entity, InputType, System, made};

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
        // What stands in its key alone, it has.
        let mut whole = Cow::Borrowed(item);
        for attribute in entity.attributes.iter().filter(|it| item.get(&it.name).is_none()) {
            if let Some(value) = entity.read_back(item, attribute, None) {
                whole.to_mut().insert(attribute.name.clone(), value);
            }
        }
        let item = whole.as_ref();
        let mut wrong: Vec<String> =
            entity.attributes.iter().filter_map(|attribute| attribute.examine(item)).collect();
        // Keys are made of attributes, so these must be right.
        if wrong.is_empty() {
            wrong = self.examine_keys(entity, item).unwrap_or_else(|bug| vec![bug.to_string()]);
        }
        wrong.into_iter().map(|one| format!("{}: {one}", entity.name)).collect()
    }

    fn examine_keys(&self, entity: &Entity, item: &Item) -> Result<Vec<String>, Bug> {
        let mut expected = Vec::new();
        for (attribute, parts) in
            self.table.key.iter().zip([&entity.key.partition, &entity.key.sort])
        {
            expected.push((&attribute.name, made(attribute, parts, item)?));
        }
        for index in &entity.indexes {
            let whole = index.has(item)?;
            for (attribute, parts) in index.own() {
                expected.push((&attribute.name, made(attribute, parts, item)?.filter(|_| whole)));
            }
        }
        let mut wrong = Vec::new();
        for (name, made) in expected {
            match (item.get(name), made) {
                (None, None) => {}
                (Some(found), Some(made)) if *found == made => {}
                (_, Some(made)) => {
                    let mut text = Text::default();
                    push(&mut text, &made, None)?;
                    wrong.push(format!("`{name}` must be `{text}`"));
                }
                (Some(_), None) => wrong.push(format!("`{name}` must not be there")),
            }
        }
        Ok(wrong)
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
            (Some(value), kind) => match read_stored(kind, name, value) {
                Ok(read) if read.as_ref() == Some(value) => return None,
                Ok(_) if matches!(kind, InputType::Time) => {
                    "must be written in UTC and in fixed width".to_owned()
                }
                Ok(_) => "is stored in another form than it is declared with".to_owned(),
                Err(error) => match error.pointer.trim_start_matches('/') == name {
                    true => error.detail,
                    false => format!("has a mistake at {}: {}", error.pointer, error.detail),
                },
            },
        };
        Some(format!("`{name}` {detail}"))
    }
}
