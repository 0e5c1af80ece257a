//! Under which attributes the keys of an entity are stored.
//!
//! An attribute may hold several things at once: a key and an attribute of the entity, or the keys of the table and of
//! an index. They must be one text in every item.

use latchkey_language::ast::KeyPart;
use latchkey_language::{Diagnostic, Name, Rule};
use latchkey_value::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

use super::Lowering;
use super::reserved::taken;
use crate::model::{
    Attribute, Entity, IndexShape, KeyAttribute, KeyNames, Model, Piece, TableIndex, Template,
};
use crate::types::Type;

/// A key of an entity, and the attribute that holds it.
struct Role<'a> {
    attribute: &'a str,
    /// Whether it holds numbers.
    number: bool,
    /// The index, or else the table.
    index: Option<(&'a TableIndex, &'a IndexShape)>,
    part: KeyPart,
    template: &'a Template,
}

impl Role<'_> {
    /// What the attribute holds.
    fn what(&self) -> String {
        what(self.part, self.index.map(|(index, _)| index))
    }
}

fn what(part: KeyPart, index: Option<&TableIndex>) -> String {
    let part = match part {
        KeyPart::Partition => "partition",
        KeyPart::Sort => "sort",
    };
    match index {
        None => format!("the {part} key of every item"),
        Some(index) => format!("the {part} key of index `{}`", index.name),
    }
}

/// The names of a key with their parts.
fn parts(names: &KeyNames) -> impl Iterator<Item = (KeyPart, &KeyAttribute)> {
    [KeyPart::Partition, KeyPart::Sort].into_iter().zip(names.iter())
}

impl Lowering {
    /// Sees that what one attribute holds is one text, and marks the index keys that are stored for the index alone.
    pub(super) fn places(&mut self) {
        let model = &self.model;
        let (mut found, mut own) = (Vec::new(), Vec::new());
        for entity in &model.entities {
            let roles = roles(model, entity);
            for (at, role) in roles.iter().enumerate() {
                let before = roles.get(..at).unwrap_or_default();
                found.extend(disagreement(model, entity, role, before));
            }
            found.extend(unlisted(model, entity));
            own.push(owned(model, entity, &roles));
        }
        self.diagnostics.extend(found);
        for (entity, own) in self.model.entities.iter_mut().zip(own) {
            for (index, [partition, sort]) in entity.indexes.iter_mut().zip(own) {
                (index.own_partition, index.own_sort) = (partition, sort);
            }
        }
    }
}

/// The keys of an entity: of the table, then of its indexes.
fn roles<'a>(model: &'a Model, entity: &'a Entity) -> Vec<Role<'a>> {
    let mut roles = Vec::new();
    for (part, KeyAttribute { name: attribute, number }) in parts(&model.table.key) {
        let template = entity.key.template(part);
        roles.push(Role { attribute, number: *number, index: None, part, template });
    }
    for shape in &entity.indexes {
        let index = &model.indexes[shape.index];
        for (part, KeyAttribute { name: attribute, number }) in parts(&index.key) {
            let (template, index) = (shape.key.template(part), Some((index, shape)));
            roles.push(Role { attribute, number: *number, index, part, template });
        }
    }
    roles
}

/// For each index of an entity, whether its keys are stored for the index alone. Of keys that share an attribute, the
/// first stores it.
fn owned(model: &Model, entity: &Entity, roles: &[Role<'_>]) -> Vec<[bool; 2]> {
    let own = |at: usize, role: &Role<'_>| {
        let mut before = roles.iter().take(at);
        entity.attribute(role.attribute).is_none()
            && model.table.discriminator != role.attribute
            && !before.any(|other| other.attribute == role.attribute)
    };
    let of = |shape: &IndexShape, part: KeyPart| {
        let is_it = |role: &Role<'_>| {
            role.part == part && role.index.is_some_and(|(_, other)| std::ptr::eq(other, shape))
        };
        let found = roles.iter().enumerate().find(|(_, role)| is_it(role));
        found.is_some_and(|(at, role)| own(at, role))
    };
    let both = |shape| [of(shape, KeyPart::Partition), of(shape, KeyPart::Sort)];
    entity.indexes.iter().map(both).collect()
}

/// What an attribute holds beside a key that is not the same text.
fn disagreement(
    model: &Model,
    entity: &Entity,
    role: &Role<'_>,
    before: &[Role<'_>],
) -> Option<Diagnostic> {
    if !role.template.whole {
        return None;
    }
    let name = role.attribute;
    if let Some(attribute) = entity.attribute(name) {
        return not_alone(role, attribute);
    }
    if role.number {
        // The key is a number that an attribute of another name has, too.
        let hole = role.template.alone();
        match hole.and_then(|hole| entity.attribute(&hole.attribute)) {
            Some(attribute) => {
                if let Some(wrong) = mistyped(attribute, true, &role.what()) {
                    return Some(wrong);
                }
            }
            None => {
                let message = format!("`{name}` is a number, and this is a text");
                let help =
                    "write one attribute of the entity alone, an `int` or a `number`: `\"{x}\"`";
                return Some(Diagnostic::new(Rule::Name, role.template.span, message).help(help));
            }
        }
    }
    if name == model.table.discriminator {
        let is_type = matches!(role.template.pieces.as_slice(),
            [Piece::Literal(text)] if *text == entity.discriminator);
        // That the type is no key of the table has been said of the table.
        return (!is_type && role.index.is_some()).then(|| {
            let name = Name::new(name.to_owned(), role.template.span);
            let help = format!("write `\"{}\"`, the type of its items", entity.discriminator);
            taken(&name, &role.what()).help(help)
        });
    }
    let other = before.iter().find(|other| other.attribute == name)?;
    if !other.template.is_like(role.template) {
        let message = format!("`{name}` holds two keys of `{}` that differ", entity.name);
        let help = "write the same text for both";
        return Some(
            Diagnostic::new(Rule::Name, role.template.span, message)
                .other(other.template.span, format!("{}, in the same attribute", other.what()))
                .help(help),
        );
    }
    let (Some((_, a)), Some((_, b))) = (other.index, role.index) else { return None };
    // An item that is in the one index and not in the other would need the attribute, and need to lack it.
    let optional = |shape: &IndexShape| {
        let parts = shape.key.attributes();
        let found = parts.iter().find(|part| entity.attribute(part).is_some_and(|a| a.optional));
        found.map(|part| (*part).to_owned())
    };
    let part = optional(a).or_else(|| optional(b))?;
    let message =
        format!("`{name}` holds keys of two indexes, and `{part}` in one of them may be absent");
    let help = "give the indexes attributes of their own, or make the part not optional";
    Some(Diagnostic::new(Rule::Name, role.template.span, message).help(help))
}

/// An attribute may bear the name of a key if that key is this attribute and nothing else.
fn not_alone(role: &Role<'_>, attribute: &Attribute) -> Option<Diagnostic> {
    let name = Name::new(attribute.name.clone(), attribute.span);
    let alone = role.template.alone().is_some_and(|hole| hole.attribute == attribute.name);
    if !alone {
        let part = match role.part {
            KeyPart::Partition => "PK",
            KeyPart::Sort => "SK",
        };
        let name_alone = format!("`{part} = \"{{{}}}\"`", attribute.name);
        let help =
            format!("choose another name, or make the key this attribute alone: {name_alone}");
        return Some(taken(&name, &role.what()).other(role.template.span, "the key").help(help));
    }
    mistyped(attribute, role.number, &role.what())
}

/// What is wrong with an attribute that is a key and not stored as keys are.
fn mistyped(attribute: &Attribute, number: bool, what: &str) -> Option<Diagnostic> {
    let Attribute { name, kind, span, .. } = attribute;
    let (fits, wanted, help) = match number {
        false => (
            matches!(
                kind,
                Type::Id | Type::Ulid | Type::Text { .. } | Type::Time | Type::Date | Type::Enum(_)
            ),
            "text",
            "give it a type that is stored as a text: an `id`, a `text` with a `like`, a `time`, a `date`, an enum",
        ),
        true => (
            matches!(kind, Type::Int { .. } | Type::Number { .. }),
            "number",
            "make it an `int` or a `number`, or leave out `number` behind the name of the key",
        ),
    };
    let message = format!("`{name}` is {kind} and holds {what}, which is a {wanted}");
    (!fits).then(|| Diagnostic::new(Rule::Type, *span, message).help(help))
}

/// A text that may be empty, or longer than a key: the table takes no item with it, in the index or not.
fn unfit(attribute: &Attribute, part: KeyPart, what: &str) -> Option<Diagnostic> {
    let Type::Text { max, like } = &attribute.kind else { return None };
    let most = match part {
        KeyPart::Partition => PARTITION_KEY_BYTES_MAX,
        KeyPart::Sort => SORT_KEY_BYTES_MAX,
    };
    let fits = |max: u64| usize::try_from(max).is_ok_and(|max| max <= most);
    let empty = like.as_deref().is_none_or(|like| {
        // What is wrong with a pattern has been said.
        super::field::pattern(like).is_ok_and(|pattern| pattern.is_match(""))
    });
    let wrong = match max {
        _ if empty => "may be empty".to_owned(),
        Some(max) if fits(*max) => return None,
        _ => format!("may have more than {most} bytes"),
    };
    let name = &attribute.name;
    let message = format!("`{name}` holds {what}, and {wrong}");
    let help =
        format!("bind it, `text({}) like \"[a-z0-9-]+\"`, or choose another name", most.min(80));
    Some(
        Diagnostic::new(Rule::Name, attribute.span, message)
            .why("DynamoDB takes no item with such a value under the name of a key")
            .help(help),
    )
}

/// Indexes that an entity does not declare, and whose keys its items have all the same.
fn unlisted(model: &Model, entity: &Entity) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let declared = |index: &TableIndex| entity.indexes.iter().any(|shape| shape.name == index.name);
    for index in model.indexes.iter().filter(|index| !declared(index)) {
        let mut free = true;
        for (part, KeyAttribute { name, number }) in parts(&index.key) {
            let Some(attribute) = entity.attribute(name) else { continue };
            // Where the index is made of texts of its own, its attributes are no others.
            if !is_plain(model, index, part) {
                let name = Name::new(attribute.name.clone(), attribute.span);
                let help = "choose another name";
                found.push(taken(&name, &what(part, Some(index))).help(help));
                free = false;
            } else if let Some(wrong) = mistyped(attribute, *number, &what(part, Some(index)))
                .or_else(|| unfit(attribute, part, &what(part, Some(index))))
            {
                found.push(wrong);
                free = false;
            }
        }
        if free && index.key.iter().all(|attribute| has(model, entity, &attribute.name)) {
            let message = format!("items of `{}` are in index `{}`", entity.name, index.name);
            let written = parts(&index.key).map(|(part, attribute)| {
                let part = if part == KeyPart::Partition { "PK" } else { "SK" };
                format!("{part} = \"{}\"", text(model, entity, &attribute.name))
            });
            let written: Vec<String> = written.collect();
            let help = format!(
                "declare it: `index {} {{ {} }}`, in this entity",
                index.name,
                written.join("  ")
            );
            let diagnostic = Diagnostic::new(Rule::Name, entity.span, message)
                .other(index.span, "the index holds every item that has these attributes")
                .why("a query by the index would find them, whatever the entity says")
                .help(help);
            found.push(diagnostic);
        }
    }
    found
}

/// Whether an entity has a key of an index that is an attribute of this very name, or the key of the table, or the type.
fn is_plain(model: &Model, index: &TableIndex, part: KeyPart) -> bool {
    let plain = |shape: &IndexShape| {
        let key = index.key.attribute(part);
        let hole = shape.key.template(part).alone();
        hole.is_some_and(|hole| key.is_some_and(|key| hole.attribute == key.name))
    };
    let entities = model.entities.iter().flat_map(|entity| &entity.indexes);
    let mut shapes = entities.filter(|shape| shape.name == index.name).peekable();
    // An index that no entity declares is one on attributes.
    shapes.peek().is_none() || shapes.any(plain)
}

/// Whether the items of an entity would have the keys of an index even if the entity did not declare it.
pub(crate) fn is_required(model: &Model, entity: &Entity, shape: &IndexShape) -> bool {
    let roles = roles(model, entity);
    let elsewhere = |name: &str| {
        let mut others =
            roles.iter().filter(|role| role.index.is_none_or(|(_, its)| !std::ptr::eq(its, shape)));
        entity.attribute(name).is_some()
            || model.table.discriminator == name
            || others.any(|role| role.attribute == name)
    };
    model.indexes[shape.index].key.iter().all(|attribute| elsewhere(&attribute.name))
}

/// Whether items of an entity can have an attribute, under whatever it is declared as.
fn has(model: &Model, entity: &Entity, name: &str) -> bool {
    entity.attribute(name).is_some()
        || model.table.discriminator == name
        || roles(model, entity).iter().any(|role| role.attribute == name)
}

/// What an attribute holds, as a template is written.
fn text(model: &Model, entity: &Entity, name: &str) -> String {
    if model.table.discriminator == name {
        return entity.discriminator.clone();
    }
    match roles(model, entity).iter().find(|role| role.attribute == name) {
        Some(role) => role.template.to_string(),
        None => format!("{{{name}}}"),
    }
}
