//! The templates of partition keys: which there are, and what one becomes with the values of an item.

use latchkey_model::Model;
use latchkey_model::model::{EntityId, Piece, Template};
use latchkey_table::{Item, Text, Value};

/// A template of partitions, of the table or of an index, and the entities that have it.
#[derive(Debug)]
pub(crate) struct Partition<'a> {
    /// The index; none for the table itself.
    pub(crate) index: Option<&'a str>,
    /// The template.
    pub(crate) template: &'a Template,
    /// The entities whose items are there.
    pub(crate) entities: Vec<EntityId>,
}

/// The templates of partitions of a document: those of the table first, then those of each index.
pub(crate) fn partitions<'a>(model: &'a Model) -> Vec<Partition<'a>> {
    let mut found: Vec<Partition<'a>> = Vec::new();
    let mut add = |index: Option<&'a str>, template: &'a Template, entity| {
        let same = found
            .iter_mut()
            .find(|one| one.index == index && one.template.to_string() == template.to_string());
        match same {
            Some(one) => one.entities.push(entity),
            None => found.push(Partition { index, template, entities: vec![entity] }),
        }
    };
    for (id, entity) in model.entities.enumerate() {
        add(None, &entity.key.partition, id);
    }
    for (id, entity) in model.entities.enumerate() {
        for shape in &entity.indexes {
            add(Some(shape.name.as_str()), &shape.key.partition, id);
        }
    }
    found.sort_by_key(|one| one.index.is_some());
    found
}

impl Partition<'_> {
    /// Whether there is one such partition alone.
    pub(crate) fn is_constant(&self) -> bool {
        self.template.holes().next().is_none()
    }

    /// The attributes that the key is made of, each once.
    pub(crate) fn attributes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for hole in self.template.holes() {
            if !names.contains(&hole.attribute.as_str()) {
                names.push(&hole.attribute);
            }
        }
        names
    }
}

/// What a template becomes with the attributes of an item; nothing if one is missing, or the key is the same for all.
pub(crate) fn filled(template: &Template, item: &Item) -> Option<Text> {
    let mut out = Text::default();
    let mut holes = 0;
    for piece in &template.pieces {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Hole(hole) => {
                holes += 1;
                let value = item.get(&hole.attribute)?;
                match (hole.format, value) {
                    (Some(format), value) => format.push(&mut out, value)?,
                    (None, Value::Text(text)) => out.push_str(text),
                    (None, Value::Number(number)) => out.push_str(&number.to_string()),
                    (None, Value::Bool(truth)) => {
                        out.push_str(if *truth { "true" } else { "false" })
                    }
                    (None, _) => return None,
                }
            }
        }
    }
    (holes > 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../tests/doors.md");

    #[test]
    fn a_template_leads_from_an_item_to_its_partition() {
        let model = latchkey_model::check(DOCUMENT).model;
        let all = partitions(&model);
        let texts: Vec<(Option<&str>, String)> =
            all.iter().map(|one| (one.index, one.template.to_string())).collect();
        assert_eq!(
            texts,
            [(None, "DOOR#{doorId}".to_owned()), (Some("GSI1"), "OWNER#{ownerId}".to_owned())]
        );
        let mut item = Item::new();
        item.insert("ownerId", "alice");
        let filled: Vec<Option<Text>> = all.iter().map(|one| filled(one.template, &item)).collect();
        assert_eq!(filled, [None, Some(Text::from("OWNER#alice"))]);
    }
}
