//! Entities: how an item is keyed, filled and shown.

use std::sync::Arc;

use latchkey_model::Type;
use latchkey_model::model::{self, KeyShape, Template};
use latchkey_table::{
    Index, Item, KeyAttribute, KeyNames, KeyType, Number, Projection, Schema, Text, Value,
    ValueType,
};
use latchkey_value::Format;

use super::back::Back;
use super::expression::Code;
use super::fit::Fit;
use super::form::Form;
use super::input::InputType;
use super::refusal::{Planned, Unplanned};
use crate::bug::Bug;
use crate::evaluate::filled;
use crate::expiry::End;

/// What the counter of an item tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    /// Whether every write of an item moves it.
    pub(crate) counted: bool,
    /// Whether some items are known to be the first of their keys: those that carry no incarnation.
    pub(crate) knows_first: bool,
}

/// A kind of item.
#[derive(Debug)]
pub(crate) struct Entity {
    pub(crate) name: Text,
    /// What its items carry in the discriminator.
    pub(crate) kind: Value,
    pub(crate) key: Shape,
    pub(crate) indexes: Vec<Arc<IndexShape>>,
    /// The attributes a new item has unless another value is given.
    pub(crate) defaults: Vec<(Text, Value)>,
    /// All attributes, in the order of their names.
    pub(crate) attributes: Vec<Attribute>,
    /// The keys of the table from which attributes are read back.
    pub(crate) backs: Vec<Arc<Back>>,
    /// What tells that a key is of this entity, where an index may not hold the type.
    pub(crate) fits: Vec<Fit>,
    pub(crate) counter: Option<Text>,
    /// When its items end, if they do.
    pub(crate) end: Option<End>,
    /// Whether the counter of an item can start again, so that its items carry `INCARNATION_ATTRIBUTE`.
    pub(crate) remade: bool,
    /// What its counter tells.
    pub(crate) counting: Counting,
    /// What is shown of an item, unless a return says otherwise.
    pub(crate) shown: Vec<Shown>,
    pub(crate) secrets: Vec<Text>,
    /// The defaults that are computed from what is stored of an item, in the order in which they are computed.
    pub(crate) computed: Vec<(Text, Code)>,
    /// What a stored item may have as a view, where its source has none.
    pub(crate) kept: Vec<Text>,
    /// The numbers that have bounds.
    pub(crate) bounds: Vec<Bounded>,
    /// The sets, and how many elements each has at most.
    pub(crate) sets: Vec<(Text, u64)>,
}

/// An attribute.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: Text,
    /// What it is stored as.
    pub(crate) value_type: ValueType,
    /// Which values it can have.
    pub(crate) kind: InputType,
    pub(crate) optional: bool,
    /// Whether an item without it counts as having its default.
    pub(crate) has_default: bool,
    /// Whether an item without it has it in its key.
    pub(crate) in_key: bool,
    /// Whether a new item has it computed from others.
    pub(crate) computed: bool,
}

/// An attribute as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) attribute: Text,
    /// Its name in JSON, quoted and with its colon.
    pub(crate) member: String,
    /// How much of its value is shown.
    pub(crate) form: Form,
}

/// Templates of a partition and a sort key.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) partition: Vec<Part>,
    pub(crate) sort: Vec<Part>,
}

/// A piece of a key.
#[derive(Debug)]
pub(crate) enum Part {
    Literal(Text),
    Attribute(Text, Option<Format>),
}

/// A place in an index.
#[derive(Debug)]
pub(crate) struct IndexShape {
    pub(crate) name: Text,
    /// The attributes of its key.
    pub(crate) names: KeyNames,
    /// Whether the partition is stored for the index alone, and not as an attribute or another key.
    pub(crate) own_partition: bool,
    /// The same of the sort key.
    pub(crate) own_sort: bool,
    pub(crate) key: Shape,
    /// Whether every item has all of its parts.
    pub(crate) always: bool,
}

impl IndexShape {
    /// The attributes of its key, what each is made of, and whether it is stored for the index alone.
    pub(crate) fn halves(&self) -> impl Iterator<Item = (&KeyAttribute, &[Part], bool)> {
        let halves = [
            (self.own_partition, self.key.partition.as_slice()),
            (self.own_sort, self.key.sort.as_slice()),
        ];
        let named = self.names.iter().zip(halves);
        named.map(|(attribute, (own, parts))| (attribute, parts, own))
    }

    /// The attributes that are stored for the index alone, and what each is made of.
    pub(crate) fn own(&self) -> impl Iterator<Item = (&KeyAttribute, &[Part])> {
        let own = self.halves().filter(|(_, _, own)| *own);
        own.map(|(attribute, parts, _)| (attribute, parts))
    }

    /// Whether an item has all the parts of its key in the index.
    pub(crate) fn has(&self, item: &Item) -> Result<bool, Bug> {
        Ok(filled(&self.key.partition, item)?.is_some() && filled(&self.key.sort, item)?.is_some())
    }
}

/// What an item has as a key, if it has all the parts of it.
pub(crate) fn made(
    attribute: &KeyAttribute,
    parts: &[Part],
    item: &Item,
) -> Result<Option<Value>, Bug> {
    Ok(match (attribute.value_type, parts) {
        (KeyType::Number, [Part::Attribute(name, None)]) => item.get(name).cloned(),
        (KeyType::Number, _) => return Err(Bug::new("a number in a key is made of texts")),
        (KeyType::Text, _) => filled(parts, item)?.map(Value::Text),
    })
}

/// The table of a model.
pub(super) fn schema(model: &model::Model) -> Schema {
    let attribute = |attribute: &model::KeyAttribute| {
        let name = attribute.name.as_str();
        if attribute.number { KeyAttribute::number(name) } else { KeyAttribute::text(name) }
    };
    let names = |names: &model::KeyNames| KeyNames {
        partition: attribute(&names.partition),
        sort: names.sort.as_ref().map(attribute),
    };
    let index = |index: &model::TableIndex| {
        let holds = match &index.holds {
            None => Projection::All,
            Some(listed) => Projection::keys(listed.iter().map(|name| name.node.as_str())),
        };
        Index::new(index.name.as_str(), names(&index.key)).holding(holds)
    };
    Schema {
        name: model.table.name.as_str().into(),
        key: names(&model.table.key),
        indexes: model.indexes.iter().map(index).collect(),
    }
}

impl Entity {
    pub(super) fn plan(
        entity: &model::Entity,
        names: &model::KeyNames,
        table: &Schema,
        counting: Counting,
    ) -> Planned<Entity> {
        let text = |name: &str| Text::from(name);
        let backs = Back::plan(entity, names, &entity.key)?;
        let indexes = entity.indexes.iter().map(|shape| {
            let index = table.index(&shape.name);
            let index =
                index.ok_or_else(|| Unplanned::new("the table lacks this index").at(shape.span))?;
            let names = index.key.clone();
            let always =
                shape.key.attributes().into_iter().all(|part| {
                    entity.attribute(part).is_some_and(|attribute| !attribute.optional)
                });
            let (own_partition, own_sort) = (shape.own_partition, shape.own_sort);
            let key = Shape::plan(&shape.key);
            let name = text(&shape.name);
            Ok(Arc::new(IndexShape { name, names, own_partition, own_sort, key, always }))
        });
        let indexes = indexes.collect::<Planned<Vec<_>>>()?;
        let counter = entity.counter().map(|counter| text(&counter.name));
        let mut defaults = Vec::new();
        let (mut bounded, mut sets) = (Vec::new(), Vec::new());
        let mut attributes = Vec::new();
        for attribute in &entity.attributes {
            if let Some(default) = &attribute.default {
                defaults.push((text(&attribute.name), default.clone()));
            }
            attributes.push(Attribute {
                name: text(&attribute.name),
                value_type: value_type(&attribute.kind),
                kind: InputType::plan(&attribute.kind).map_err(|error| error.at(attribute.span))?,
                optional: attribute.optional,
                has_default: attribute.default.is_some() || attribute.kind == Type::Counter,
                // A store compares the end with the instant of a call, so it must be stored.
                in_key: !entity.is_end(&attribute.name)
                    && backs.iter().any(|back| back.tells(&attribute.name)),
                computed: attribute.computed.is_some(),
            });
            if let Type::SetOf { most, .. } = &attribute.kind {
                sets.push((text(&attribute.name), *most));
            }
            bounded.extend(Bounded::plan(attribute));
        }
        // A counter starts at 1.
        defaults.extend(counter.iter().map(|name| (name.clone(), Value::from(1))));
        let end = entity.expires.as_deref().map(|name| end_of(entity, name)).transpose()?;
        let visible = entity.attributes.iter().filter(|attribute| !attribute.secret);
        let kept = entity.attributes.iter().filter(|attribute| attribute.kept);
        let secret = entity.attributes.iter().filter(|attribute| attribute.secret);
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Entity {
            name: text(&entity.name),
            kind: Value::from(entity.discriminator.as_str()),
            key: Shape::plan(&entity.key),
            indexes,
            defaults,
            attributes,
            backs,
            fits: Fit::of(entity, names, table)?,
            end,
            remade: entity.remade && counter.is_some(),
            counting,
            counter,
            shown: visible.map(Shown::of).collect(),
            secrets: secret.map(|attribute| text(&attribute.name)).collect(),
            // All entities are planned first.
            computed: Vec::new(),
            kept: kept.map(|attribute| text(&attribute.name)).collect(),
            bounds: bounded,
            sets,
        })
    }
}

/// The attribute at which the items of an entity end.
fn end_of(entity: &model::Entity, name: &str) -> Planned<End> {
    let attribute = entity.attribute(name);
    let attribute = attribute.ok_or_else(|| Unplanned::new("its end is no attribute"))?;
    Ok(End { attribute: name.into(), optional: attribute.optional })
}

impl Entity {
    /// The least and the greatest value of a number, where these are declared. A counter starts at 1.
    pub(super) fn room(&self, name: &str) -> (Option<Number>, Option<Number>) {
        if self.counter.as_deref() == Some(name) {
            return (Some(Number::from(1_i64)), None);
        }
        let bounds = self.bounds.iter().find(|bounded| bounded.name == name);
        bounds.map_or((None, None), |bounded| (bounded.low, bounded.high))
    }
}

impl Shown {
    pub(crate) fn new(attribute: &str, form: Form) -> Shown {
        let mut member = String::new();
        crate::json::write_text(attribute, &mut member);
        member.push(':');
        Shown { attribute: attribute.into(), member, form }
    }

    /// An attribute of an entity.
    pub(super) fn of(attribute: &model::Attribute) -> Shown {
        Shown::new(&attribute.name, Form::of(&attribute.kind))
    }
}

impl Shape {
    fn plan(shape: &KeyShape) -> Shape {
        let parts = |template: &Template| {
            let pieces = template.pieces.iter().map(|piece| match piece {
                model::Piece::Literal(text) => Part::Literal(text.as_str().into()),
                model::Piece::Hole(hole) => {
                    Part::Attribute(hole.attribute.as_str().into(), hole.format)
                }
            });
            pieces.collect()
        };
        Shape { partition: parts(&shape.partition), sort: parts(&shape.sort) }
    }

    /// The attributes it is made of.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &Text> {
        self.partition.iter().chain(&self.sort).filter_map(|part| match part {
            Part::Attribute(name, _) => Some(name),
            Part::Literal(_) => None,
        })
    }
}

/// What values of a type are stored as.
pub(super) fn value_type(kind: &Type) -> ValueType {
    match kind {
        Type::Int { .. } | Type::Number { .. } | Type::Counter | Type::Duration | Type::Months => {
            ValueType::Number
        }
        Type::Bool => ValueType::Bool,
        Type::List | Type::ListOf(_) => ValueType::List,
        Type::Map { .. } | Type::Record(_) => ValueType::Map,
        Type::SetOf { .. } => ValueType::TextSet,
        Type::Key => ValueType::Bytes,
        Type::Id | Type::Ulid | Type::Text { .. } | Type::Time | Type::Date | Type::Enum(_) => {
            ValueType::Text
        }
    }
}

/// A number that has bounds.
#[derive(Debug, Clone)]
pub(crate) struct Bounded {
    pub(crate) name: Text,
    pub(crate) low: Option<Number>,
    pub(crate) high: Option<Number>,
    /// Whether it is a whole number, which has 64 bits: every one that is stored can be read again, and is moved to
    /// another table as it is.
    pub(crate) whole: bool,
}

impl Bounded {
    /// The bounds of an attribute, where it has any.
    fn plan(attribute: &model::Attribute) -> Option<Bounded> {
        let (low, high, whole) = match &attribute.kind {
            Type::Int { low, high } => (
                Some(Number::from(low.unwrap_or(i64::MIN))),
                Some(Number::from(high.unwrap_or(i64::MAX))),
                true,
            ),
            Type::Number { low, high } => (*low, *high, false),
            _ => return None,
        };
        let bounded = Bounded { name: attribute.name.as_str().into(), low, high, whole };
        (low.is_some() || high.is_some()).then_some(bounded)
    }
}
