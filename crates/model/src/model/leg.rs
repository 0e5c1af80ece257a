//! Writes: what a leg changes, and the legs and sends of a transaction.

use latchkey_language::Span;

use super::{
    BindingId, Contract, Entity, EntityId, Expr, IndexShape, Kind, OnFailure, QueueId, Step,
};
use crate::types::Type;

/// Legs for each element of a list, or for each item of a result.
#[derive(Debug)]
pub struct Each {
    /// The list, or the binding of the result.
    pub over: Expr,
    /// The binding of the element.
    pub element: BindingId,
    /// The most elements.
    pub most: u64,
    /// The legs.
    pub body: Vec<Step>,
}

impl Each {
    /// The binding of the result whose items it goes through, where it does not go through a list.
    pub fn result(&self) -> Option<BindingId> {
        self.over.result()
    }

    /// The members in which any two elements of its list differ; none of them where the elements themselves do.
    pub fn unique(&self) -> Option<&[String]> {
        match &self.over.of {
            Kind::Value(Type::ListOf(list)) => list.unique.as_deref(),
            _ => None,
        }
    }
}

/// An attribute and its value.
#[derive(Debug)]
pub struct Given {
    /// The attribute.
    pub attribute: String,
    /// Which part of the attribute the value is given to.
    pub part: GivenPart,
    /// Its value.
    pub value: Expr,
    /// Whether it is left alone when the value is absent.
    pub maybe: bool,
    /// Where it is written.
    pub span: Span,
}

/// Which part of an attribute a value is given to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenPart {
    /// All of it: the attribute has the value.
    Whole,
    /// The member that these names lead to. Without a value, the member is taken out.
    Within(Vec<String>),
    /// The value becomes an element of the set.
    Element,
    /// The value is no longer an element of the set.
    NoElement,
}

impl Given {
    /// An attribute that has a value.
    pub fn whole(attribute: String, value: Expr, maybe: bool, span: Span) -> Given {
        Given { attribute, part: GivenPart::Whole, value, maybe, span }
    }

    /// Whether the attribute has the value, all of it.
    pub fn is_whole(&self) -> bool {
        self.part == GivenPart::Whole
    }
}

/// A write of one item.
#[derive(Debug)]
pub struct Leg {
    /// What it does.
    pub verb: Verb,
    /// The entity.
    pub entity: EntityId,
    /// The attributes its key is made of.
    pub key: Vec<Given>,
    /// The binding of the item it is on, when it was read before.
    pub target: Option<BindingId>,
    /// The binding its other attributes come from.
    pub of: Option<BindingId>,
    /// The binding of the item it leaves.
    pub result: Option<BindingId>,
    /// The attributes it sets.
    pub values: Vec<Given>,
    /// The attributes it takes out.
    pub removes: Vec<String>,
    /// The attributes it adds to.
    pub adds: Vec<Given>,
    /// Whether it may replace what is there: `None` where a put does not say.
    pub put: Option<PutMode>,
    /// The condition on the stored item.
    pub condition: Option<Expr>,
    /// What happens if the item is not there, where that has an answer of its own. The item must then be there.
    pub absent: Option<OnFailure>,
    /// What happens if it does not.
    pub failure: Option<OnFailure>,
    /// Where it is written.
    pub span: Span,
}

impl Leg {
    /// Whether it has a condition, its own or the one it implies.
    pub fn can_fail(&self) -> bool {
        self.condition.is_some()
            || self.put == Some(PutMode::IfAbsent)
            || matches!(self.verb, Verb::Update | Verb::Check)
    }

    /// What an update or an upsert gives to the parts of an index key, where they may have had other values. An upsert
    /// also writes the attributes of its own key, and a key with the day of a time does not tell the time.
    pub(crate) fn moves_in(
        &self,
        entity: &Entity,
        index: &IndexShape,
    ) -> impl Iterator<Item = &Given> {
        let part = |given: &&Given| index.key.holes().any(|hole| hole.attribute == given.attribute);
        let loose = |given: &&Given| {
            let mut holes = index.key.holes().filter(|hole| hole.attribute == given.attribute);
            self.verb == Verb::Upsert && holes.any(|hole| !entity.key.fixes(hole))
        };
        let set = self.values.iter().chain(&self.adds).filter(part);
        set.chain(self.key.iter().filter(loose))
    }
}

/// A message that is sent if the transaction it is part of happens.
#[derive(Debug)]
pub struct Send {
    /// What tells it apart from every other send of the document.
    pub id: String,
    /// The queue.
    pub queue: QueueId,
    /// The fields of the message that are given.
    pub values: Vec<Given>,
    /// When it is due; at once, unless it says.
    pub at: Option<Expr>,
    /// What runs once the queue has taken it.
    pub accepted: Option<Box<Contract>>,
    /// What runs once the queue will not take it; without it, it is sent again until it does.
    pub refused: Option<Box<Contract>>,
    /// What the record of the send keeps for these two: the names of their inputs, and the values as the
    /// transaction leaves them. An optional value that is absent is left out.
    pub record: Vec<Given>,
    /// Where it is written.
    pub span: Span,
}

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Writes a whole item.
    Put,
    /// Changes an item that is there.
    Update,
    /// Changes an item, or makes it.
    Upsert,
    /// Removes an item.
    Delete,
    /// Requires something of an item.
    Check,
}

impl Verb {
    /// The word it is written with.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Put => "put",
            Verb::Update => "update",
            Verb::Upsert => "upsert",
            Verb::Delete => "delete",
            Verb::Check => "check",
        }
    }
}

/// What a put does about an item that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// It fails.
    IfAbsent,
    /// It replaces it.
    Replace,
}
