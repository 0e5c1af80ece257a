//! Whether an item that is made once is made once for each message.
//!
//! An item that is put `if absent` stops the second run of a message. If two messages lead to one key, the item stops the
//! second message too. So the key holds every id of the message, except for those that the others decide: at every
//! send, such an id is an attribute of an item with the other ids as its key, or the other ids are sent once.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::Around;
use crate::check::flow::{Group, Sent, groups, within};
use crate::check::truth::{each, plain};
use crate::model::{BindingId, Contract, Expr, ExprKind, Leg, Model, QueueId, TextPiece, Trigger};
use crate::types::Type;

/// The transactions of a document that send.
pub(super) struct Sends<'a> {
    model: &'a Model,
    all: OnceCell<Transactions<'a>>,
}

#[derive(Default)]
struct Transactions<'a> {
    all: Vec<(&'a Contract, Group<'a>)>,
    by_queue: HashMap<QueueId, Vec<usize>>,
}

impl<'a> Sends<'a> {
    pub(super) fn new(model: &'a Model) -> Sends<'a> {
        Sends { model, all: OnceCell::new() }
    }

    /// The transactions that send to a queue.
    fn to(&self, queue: QueueId) -> impl Iterator<Item = &(&'a Contract, Group<'a>)> {
        let found = self.all.get_or_init(|| self.find());
        let places = found.by_queue.get(&queue).into_iter().flatten();
        places.filter_map(|at| found.all.get(*at))
    }

    fn find(&self) -> Transactions<'a> {
        let mut found = Transactions::default();
        for contract in self.model.bodies() {
            for group in groups(self.model, contract) {
                for sent in &group.sends {
                    let places = found.by_queue.entry(sent.send.queue).or_default();
                    places.push(found.all.len());
                }
                if !group.sends.is_empty() {
                    found.all.push((contract, group));
                }
            }
        }
        found
    }
}

/// An id of the message that the key of an item lacks, and that the other ids do not decide.
pub(super) fn missing<'a>(
    around: &Around<'a, '_>,
    sends: &Sends<'a>,
    leg: &'a Leg,
) -> Option<&'a str> {
    let (Trigger::Message(queue) | Trigger::Dead(queue)) = around.contract.trigger else {
        return None;
    };
    let held = held(around, leg);
    let fields = around.model.queues[queue].fields.iter();
    let ids = fields.filter(|field| matches!(field.kind, Type::Id | Type::Ulid));
    let mut lacking = ids.map(|id| id.name.as_str()).filter(|id| !held.contains(id));
    lacking.find(|id| {
        sends.to(queue).any(|(contract, group)| {
            let to_it = group.sends.iter().filter(|sent| sent.send.queue == queue);
            let around = Around { model: around.model, contract, changes: around.changes, group };
            to_it.into_iter().any(|sent| !decides(&around, sent, &held, id))
        })
    })
}

/// The fields of the message that the key of an item holds.
fn held<'a>(around: &Around<'a, '_>, leg: &'a Leg) -> Vec<&'a str> {
    let mut fields = Vec::new();
    let key = &around.model.entities[leg.entity].key;
    for given in leg.key.iter().filter(|given| key.tells(&given.attribute)) {
        let mut open = vec![&given.value];
        while let Some(value) = open.pop() {
            match &around.group.origin(value).kind {
                ExprKind::Input(input) => {
                    fields.push(around.contract.inputs[*input].name.as_str());
                }
                ExprKind::Text(pieces) => {
                    open.extend(pieces.iter().filter_map(|piece| match piece {
                        TextPiece::Value(_, Some(format)) if format.is_lossy() => None,
                        TextPiece::Value(value, _) => Some(value),
                        TextPiece::Literal(_) => None,
                    }))
                }
                _ => {}
            }
        }
    }
    fields
}

/// Whether the fields that a key holds decide another field of what is sent.
fn decides<'a>(around: &Around<'a, '_>, sent: &Sent<'a>, held: &[&str], field: &str) -> bool {
    let group = around.group;
    let values = || {
        let given = sent.send.values.iter();
        given.filter(|given| held.contains(&given.attribute.as_str())).map(|given| &given.value)
    };
    let is_held = |value: &'a Expr| values().any(|other| group.alike(other, value, None));
    let is_new = |value: &'a Expr| {
        let mut new = false;
        each(&group.lets, value, &mut |part| new |= matches!(part.kind, ExprKind::New(_)));
        new
    };
    let known = group.known(&sent.guards);
    let happens_once = group.legs.iter().any(|placed| {
        let once = around.is_once(placed.leg)
            || around.shuts_itself(placed.leg)
            || around.shuts_the_way(placed, &known);
        once && within(&sent.guards, &placed.guards)
            && key_parts(around, placed.leg).is_some_and(|parts| parts.into_iter().all(is_held))
    });
    if values().any(is_new) || happens_once {
        return true;
    }
    let Some(given) = sent.send.values.iter().find(|given| given.attribute == field) else {
        // An optional field that is never given is the same in every message.
        return true;
    };
    let value = plain(&group.lets, &given.value);
    is_held(value)
        || match &value.kind {
            ExprKind::Attribute(item, _) => {
                item_parts(around, *item).is_some_and(|parts| parts.into_iter().all(is_held))
            }
            _ => false,
        }
}

/// The values of the key of the item that a leg is on.
fn key_parts<'a>(around: &Around<'a, '_>, leg: &'a Leg) -> Option<Vec<&'a Expr>> {
    match leg.target {
        Some(item) => item_parts(around, item),
        None => Some(leg.key.iter().map(|given| &given.value).collect()),
    }
}

/// The values by which an item was read or made.
fn item_parts<'a>(around: &Around<'a, '_>, item: BindingId) -> Option<Vec<&'a Expr>> {
    let entity = around.contract.bindings[item].kind.item()?;
    let names = around.model.entities[entity].key.attributes();
    names.into_iter().map(|name| around.group.key_part(item, name)).collect()
}
