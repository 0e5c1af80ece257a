//! What a view keeps: an attribute that a stored view has and its source lacks is brought home, and never erased.
//!
//! A transaction that writes such a view also updates its source. The write of the view asks that the stored view lacks
//! the attribute. If it has one, the contract runs again with the value: the update sets it in the source, and the view
//! is written of that. The program has all of it in the legs, so a call looks nothing up.

use std::sync::Arc;

use latchkey_model::model::{BindingId, EntityId, Verb};
use latchkey_table::Text;

use super::{Code, Entities, Key, Leg, LegNode};

/// An attribute that the write of a view must not erase.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) attribute: Text,
    /// The key of the source.
    pub(crate) source: Key,
    /// Whether the source has the attribute, and what it is there.
    pub(crate) present: Code,
    pub(crate) value: Code,
    /// What the update of the source gives for it, where that may leave it alone.
    pub(crate) maybe: Option<Code>,
}

/// Ties writes of views that keep something to the updates of their sources.
pub(super) fn tie(nodes: &mut [LegNode], entities: &Entities) {
    let mut ties = Vec::new();
    each(nodes, &mut |leg| {
        if let Some((source, attributes)) = &leg.of
            && leg.verb == Verb::Put
            && !leg.if_absent
        {
            let kept = &entities[leg.entity].kept;
            let kept: Vec<Text> =
                kept.iter().filter(|name| attributes.contains(name)).cloned().collect();
            if !kept.is_empty() {
                ties.push((leg.entity, *source, kept));
            }
        }
    });
    for (view, source, names) in ties {
        tie_view(nodes, entities, view, source, names);
    }
}

/// Ties the writes of one view to the update that leaves the item it is written of.
fn tie_view(
    nodes: &mut [LegNode],
    entities: &Entities,
    view: EntityId,
    source: BindingId,
    names: Vec<Text>,
) {
    // Of the item as it was read, and as the update leaves it.
    let (mut before, mut after, mut moves) = (Vec::new(), Vec::new(), false);
    each(nodes, &mut |leg| {
        moves |= leg.verb == Verb::Delete && leg.entity == view;
        let Some(target) = leg.target.filter(|_| leg.verb == Verb::Update) else { return };
        if leg.result != Some(source) {
            return;
        }
        let open: Vec<&Text> = names.iter().filter(|name| !leg.writes(name)).collect();
        for attribute in open {
            before.push(Kept::new(attribute, target, leg));
            after.push(Kept::new(attribute, source, leg));
            leg.brings.push(attribute.clone());
            // Its place in an index is made of it, too.
            let more = entities[leg.entity].indexes.iter().filter(|index| {
                let known = leg.indexes.iter().any(|other| Arc::ptr_eq(other, index));
                !known && index.key.attributes().any(|name| name == attribute)
            });
            let more: Vec<_> = more.cloned().collect();
            leg.indexes.extend(more);
        }
    });
    each(nodes, &mut |leg| {
        let put = leg.of.as_ref().is_some_and(|(of, _)| *of == source);
        let kept = match leg.verb {
            Verb::Put if put && !moves => &after,
            // What moves is kept from where it was.
            Verb::Delete if moves => &before,
            Verb::Put | Verb::Delete | Verb::Update | Verb::Upsert | Verb::Check => return,
        };
        if leg.entity == view {
            leg.keeps.extend(kept.iter().cloned());
        }
    });
}

impl Kept {
    /// An attribute of an item that an update changes, before it or after it.
    fn new(attribute: &Text, item: BindingId, update: &Leg) -> Kept {
        let value = Code::Attribute(item, attribute.clone());
        let given = update.values.iter().find(|assign| assign.attribute == *attribute);
        Kept {
            attribute: attribute.clone(),
            source: update.key.clone(),
            present: Code::Present(Box::new(value.clone())),
            value,
            maybe: given.map(|assign| assign.value.clone()),
        }
    }
}

impl Leg {
    /// Whether it certainly gives an attribute another value.
    fn writes(&self, name: &Text) -> bool {
        let set = self.values.iter().filter(|assign| !assign.maybe);
        set.chain(&self.adds).any(|assign| assign.attribute == *name) || self.removes.contains(name)
    }
}

/// Goes through the legs of a transaction.
fn each(nodes: &mut [LegNode], see: &mut impl FnMut(&mut Leg)) {
    for node in nodes {
        match node {
            LegNode::Leg(leg) => see(leg),
            LegNode::Send(_) => {}
            LegNode::When(_, then, otherwise) => {
                each(then, see);
                each(otherwise, see);
            }
            LegNode::Each(all) => each(&mut all.body, see),
        }
    }
}
