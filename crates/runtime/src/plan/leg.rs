//! Writes: what a leg does to its item.

use std::sync::Arc;

use latchkey_model::model::{self, BindingId, EntityId, Expr, ExprKind, Op, PutMode, Verb};
use latchkey_table::{Path, Text, Value, ValueType};

use super::assumed::Defaults;
use super::entity::{Entity, IndexShape, Part, Shape, value_type};
use super::expression::{Expressions, Piece, joined};
use super::key_part::KeyParts;
use super::refusal::{Planned, Unplanned};
use super::{Code, Kept, OnFailure, Send, Sign};

/// The key of one item.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) partition: Code,
    pub(crate) sort: Code,
}

/// An attribute and its value.
#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) attribute: Text,
    /// Which part of the attribute the value is given to.
    pub(crate) part: AttributePart,
    pub(crate) value: Code,
    /// Whether it is left alone when the value is absent.
    pub(crate) maybe: bool,
}

/// Which part of an attribute a value is given to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AttributePart {
    Whole,
    /// The member at this path; the record that it is in must be there.
    Within {
        member: Path,
        record: Path,
    },
    /// The value becomes an element of the set.
    Element,
    /// The value is no longer an element of the set.
    NoElement,
}

impl AttributePart {
    fn plan(given: &model::Given) -> AttributePart {
        match &given.part {
            model::GivenPart::Whole => AttributePart::Whole,
            model::GivenPart::Element => AttributePart::Element,
            model::GivenPart::NoElement => AttributePart::NoElement,
            model::GivenPart::Within(steps) => {
                let record = Path::attribute(given.attribute.as_str());
                let around = steps.iter().take(steps.len().saturating_sub(1));
                let record = around.fold(record, |path, step| path.field(step.as_str()));
                let last = steps.last().map(|step| record.clone().field(step.as_str()));
                AttributePart::Within { member: last.unwrap_or_else(|| record.clone()), record }
            }
        }
    }
}

/// A write of one item.
#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) verb: Verb,
    pub(crate) entity: EntityId,
    pub(crate) key: Key,
    /// The attributes the key is made of.
    pub(crate) key_values: Vec<Assign>,
    pub(crate) values: Vec<Assign>,
    /// The item a put takes attributes from, and which.
    pub(crate) of: Option<(BindingId, Vec<Text>)>,
    /// Whether an item that it makes carries an incarnation.
    pub(crate) incarnates: bool,
    /// What a new item has unless it was given.
    pub(crate) defaults: Vec<(Text, Value)>,
    pub(crate) removes: Vec<Text>,
    pub(crate) adds: Vec<Assign>,
    pub(crate) if_absent: bool,
    pub(crate) place: Place,
    pub(crate) condition: Option<Code>,
    /// The binding of the item as it was read.
    pub(crate) target: Option<BindingId>,
    /// The binding of the item it leaves.
    pub(crate) result: Option<BindingId>,
    /// The indexes in which it may move the item.
    pub(crate) indexes: Vec<Arc<IndexShape>>,
    /// What it must not erase of a view.
    pub(crate) keeps: Vec<Kept>,
    /// What it sets where a view alone has it.
    pub(crate) brings: Vec<Text>,
    /// What happens if the item is not there, where that has an answer of its own.
    pub(crate) absent: Option<OnFailure>,
    pub(crate) failure: OnFailure,
}

/// What must be where a write writes. An item of another type there is damage: the check lets no two entities share
/// a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing.
    Empty,
    /// Nothing, or an item of the entity that has ended.
    Ended,
    /// An item of the entity. Of an entity whose items end, one that has not ended.
    Own,
    /// An item of the entity, or nothing.
    OwnOrEmpty,
}

impl Place {
    fn of(leg: &model::Leg, entity: &Entity) -> Place {
        let insists = leg.absent.is_some() || leg.condition.as_ref().is_some_and(insists);
        let ends = entity.end.is_some();
        match leg.verb {
            Verb::Put if ends && leg.put == Some(PutMode::IfAbsent) => Place::Ended,
            // An item that has ended is absent: no condition on what it held may decide.
            _ if ends && leg.condition.is_some() => Place::Own,
            Verb::Put if leg.put == Some(PutMode::IfAbsent) => Place::Empty,
            Verb::Update => Place::Own,
            Verb::Delete | Verb::Check if insists => Place::Own,
            Verb::Put | Verb::Upsert | Verb::Delete | Verb::Check => Place::OwnOrEmpty,
        }
    }
}

/// Whether a condition holds only of an item that was read.
fn insists(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Unchanged => true,
        ExprKind::Binary(Op::And, a, b) => insists(a) || insists(b),
        _ => false,
    }
}

/// A part of a transaction.
#[derive(Debug)]
pub(crate) enum LegNode {
    Leg(Box<Leg>),
    Send(Box<Send>),
    When(Code, Vec<LegNode>, Vec<LegNode>),
    Each(Box<EachNode>),
}

/// Legs for each element of a list, or for each item of a result.
#[derive(Debug)]
pub(crate) struct EachNode {
    pub(crate) source: Elements,
    pub(crate) body: Vec<LegNode>,
}

/// The elements of a list, or the items of a result.
#[derive(Debug)]
pub(crate) struct Elements {
    /// The list, or the name of the result.
    pub(crate) over: Code,
    /// Whether they are items that were read.
    pub(crate) items: bool,
    /// The name of the element, and what it is stored as.
    pub(crate) element: BindingId,
    pub(crate) value_type: ValueType,
    /// How many there are at most.
    pub(crate) most: u64,
}

impl Elements {
    pub(super) fn plan(
        expressions: &mut Expressions<'_>,
        over: &Expr,
        element: BindingId,
        most: u64,
    ) -> Planned<Elements> {
        let value_type = match &expressions.contract.bindings[element].kind {
            model::Kind::Value(kind) => value_type(kind),
            _ => ValueType::Map,
        };
        let items = over.result().is_some();
        Ok(Elements { over: expressions.code(over)?, items, element, value_type, most })
    }
}

impl Leg {
    pub(super) fn plan(
        expressions: &mut Expressions<'_>,
        entity: &Entity,
        leg: &model::Leg,
        (absent, failure): (Option<OnFailure>, OnFailure),
    ) -> Planned<Leg> {
        expressions.target = leg.target;
        let key_values = assigns(expressions, &leg.key)?;
        let key = Key::plan(&entity.key, &key_values)?;
        let values = values(expressions, &leg.values, &key_values)?;
        let adds = assigns(expressions, &leg.adds)?;
        let condition = leg.condition.as_ref().map(|test| expressions.code(test)).transpose()?;
        expressions.target = None;
        bounded(entity, leg, &values)?;
        let parts = KeyParts { entity, names: &expressions.model.table.key, given: &key_values };
        let place = Place::of(leg, entity);
        let defaults = Defaults { entity, target: leg.target, place };
        let condition = condition.map(|test| defaults.condition(parts.condition(test)));
        let mut values = values;
        for assign in values.iter_mut().filter(|_| matches!(leg.verb, Verb::Update | Verb::Upsert))
        {
            assign.value = parts.value(assign.value.clone());
        }
        let removes: Vec<Text> = leg.removes.iter().map(|name| name.as_str().into()).collect();
        let given = |name: &Text| {
            let mut all = key_values.iter().chain(&values).chain(&adds);
            all.any(|assign| assign.attribute == *name)
        };
        let of = copied(expressions, entity, leg, &given)?;
        let defaults = match leg.verb {
            Verb::Put | Verb::Upsert => {
                let open = entity.defaults.iter().filter(|(name, _)| !given(name));
                open.cloned().collect()
            }
            _ => Vec::new(),
        };
        let changed = |name: &Text| {
            values.iter().chain(&adds).any(|assign| assign.attribute == *name)
                || removes.contains(name)
        };
        let indexes = entity.indexes.iter().filter(|index| match leg.verb {
            Verb::Put | Verb::Upsert => true,
            Verb::Update => index.key.attributes().any(changed),
            Verb::Delete | Verb::Check => false,
        });
        let indexes = indexes.cloned().collect();
        Ok(Leg {
            verb: leg.verb,
            entity: leg.entity,
            key,
            key_values,
            of,
            incarnates: entity.remade
                && matches!(leg.verb, Verb::Put | Verb::Upsert)
                && !expressions.model.first_puts.contains_key(&leg.span),
            defaults,
            indexes,
            values,
            removes,
            adds,
            if_absent: leg.put == Some(PutMode::IfAbsent),
            place,
            condition,
            target: leg.target,
            // The transaction ties them.
            keeps: Vec::new(),
            brings: Vec::new(),
            result: leg.result.filter(|_| !matches!(leg.verb, Verb::Delete | Verb::Check)),
            absent,
            failure,
        })
    }
}

impl Leg {
    /// Whether a key of an index cannot be written without an attribute, where the item was not read. What is an
    /// attribute, or a key of the table, is kept by the store.
    pub(crate) fn needs(&self, index: &IndexShape, attribute: &Text) -> bool {
        let is_part = |parts: &[Part]| {
            parts.iter().any(|part| matches!(part, Part::Attribute(name, _) if name == attribute))
        };
        match index.always && self.verb == Verb::Update {
            true => index.own().any(|(_, parts)| is_part(parts)),
            false => {
                index.own().next().is_some() && index.key.attributes().any(|name| name == attribute)
            }
        }
    }
}

/// The item that a put takes attributes from, and which: those that both have and nothing else gives.
fn copied(
    expressions: &Expressions<'_>,
    entity: &Entity,
    leg: &model::Leg,
    given: &dyn Fn(&Text) -> bool,
) -> Planned<Option<(BindingId, Vec<Text>)>> {
    let Some(source) = leg.of.filter(|_| leg.verb == Verb::Put) else { return Ok(None) };
    let theirs = expressions.item_entity(source)?;
    let mine = entity.attributes.iter().map(|attribute| &attribute.name);
    let mine = mine.filter(|name| !given(name) && entity.counter.as_ref() != Some(*name));
    let mine = mine.filter(|name| theirs.attribute(name).is_some());
    Ok(Some((source, mine.cloned().collect())))
}

impl Key {
    /// The templates of an entity, with each attribute's place taken by what is given for it. What is given is
    /// planned once and cloned here, so that a `new` in it is one value in all its places.
    pub(super) fn plan(shape: &Shape, given: &[Assign]) -> Planned<Key> {
        let fill = |parts: &[Part]| {
            let pieces = parts.iter().map(|part| match part {
                Part::Literal(text) => Ok(Piece::Literal(text.clone())),
                Part::Attribute(name, format) => match value_of(given, name) {
                    Some(value) => Ok(Piece::Value(value.clone(), *format)),
                    None => Err(Unplanned::new(format!("its key lacks `{name}`"))),
                },
            });
            Ok(joined(pieces.collect::<Planned<Vec<Piece>>>()?))
        };
        Ok(Key { partition: fill(&shape.partition)?, sort: fill(&shape.sort)? })
    }
}

/// Refuses a sum of two stored numbers that can leave the bounds of its attribute, where no condition can prevent it. An
/// item that was read and is unchanged shows what the sum is.
fn bounded(entity: &Entity, leg: &model::Leg, values: &[Assign]) -> Planned<()> {
    if leg.target.is_some() && leg.condition.as_ref().is_some_and(insists) {
        return Ok(());
    }
    for assign in values {
        let Code::Add(a, sign, b) = &assign.value else { continue };
        let (Code::Stored(a), Code::Stored(b)) = (a.as_ref(), b.as_ref()) else { continue };
        let ((a_low, a_high), (b_low, b_high)) = (entity.room(a.root()), entity.room(b.root()));
        let (low, high) = match sign {
            Sign::Plus => (sign.of(a_low, b_low), sign.of(a_high, b_high)),
            Sign::Minus => (sign.of(a_low, b_high), sign.of(a_high, b_low)),
        };
        let (least, greatest) = entity.room(&assign.attribute);
        let kept = least.is_none_or(|least| low.is_some_and(|low| low >= least))
            && greatest.is_none_or(|greatest| high.is_some_and(|high| high <= greatest));
        if !kept {
            let what = format!(
                "no store holds a sum of two stored numbers to the bounds of `{}`",
                assign.attribute
            );
            let help = "read the item before, and write it `if unchanged`; or give both narrower bounds, as `int 0..1000`";
            return Err(Unplanned::limit(what, help));
        }
    }
    Ok(())
}

/// What is given for an attribute.
pub(super) fn value_of<'a>(given: &'a [Assign], name: &str) -> Option<&'a Code> {
    given.iter().find(|assign| assign.attribute == name).map(|assign| &assign.value)
}

/// The values of a write. One that is part of the key was planned with it.
fn values(
    expressions: &mut Expressions<'_>,
    given: &[model::Given],
    key_values: &[Assign],
) -> Planned<Vec<Assign>> {
    let assign = |given: &model::Given| {
        let value = match value_of(key_values, &given.attribute) {
            Some(value) => value.clone(),
            None => expressions.code(&given.value)?,
        };
        let part = AttributePart::plan(given);
        Ok(Assign { attribute: given.attribute.as_str().into(), part, value, maybe: given.maybe })
    };
    given.iter().map(assign).collect()
}

pub(super) fn assigns(
    expressions: &mut Expressions<'_>,
    given: &[model::Given],
) -> Planned<Vec<Assign>> {
    values(expressions, given, &[])
}
