//! References that may outlive their test: a caller stores the id of something in an item of their own while they are a
//! member of it, or own it; that ends later, and the reference stays.
//!
//! An end counts if it is a write of a contract or a worker that leaves the items with the reference alone. Grants to
//! others, and grants by a key, are meant to stay: whoever was invited stays when the one who invited goes.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use latchkey_language::Span;

use super::grant::is_callers;
use super::loose::{Body, Loose, Spot, Start, Stored, bodies};
use super::tie::{Tied, tied_beside};
use crate::check::each_leg;
use crate::check::flow::{Group, Placed};
use crate::check::truth::Passed;
use crate::check::writes::Writes;
use crate::model::{
    BindingId, EntityId, ExprKind, Given, Leg, Model, PutMode, QueueId, Verb, What,
};

/// A reference that may outlive its test.
pub(super) struct Outlived<'a> {
    /// Where it is kept.
    pub(super) spot: Spot<'a>,
    /// Where it is stored.
    pub(super) stored: Span,
    /// Where what was tested ends.
    pub(super) end: Span,
}

/// What a test rested on: that an item is there, or that an attribute of it is the caller's.
enum Basis<'a> {
    There,
    Attribute(&'a str),
}

/// The references of a document that may outlive their tests.
pub(super) fn outlived<'a>(model: &'a Model, loose: &Rc<Loose<'a>>) -> Vec<Outlived<'a>> {
    let ends = Ends::new(model);
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for body in bodies(model).iter().filter(|body| matches!(body.start, Start::Caller)) {
        let mut entities: Vec<_> = body.entities.iter().collect();
        entities.sort();
        for entity in entities.into_iter().filter(|entity| ends.all.contains_key(entity)) {
            let without = Rc::new(loose.without_keys(model, *entity));
            for (group, ways) in &body.places {
                for (placed, way) in
                    group.legs.iter().flat_map(|placed| ways.iter().map(move |way| (placed, way)))
                {
                    let storing = Storing { body, group, placed, way, entity: *entity };
                    for (spot, span) in storing.rests(loose, &without) {
                        let end =
                            storing.basis().and_then(|basis| ends.of(placed, *entity, &basis));
                        let known = end.is_some() && !seen.insert(spot);
                        found.extend(end.filter(|_| !known).map(|end| Outlived {
                            spot,
                            stored: span,
                            end,
                        }));
                    }
                }
            }
        }
    }
    found
}

/// The ends that items, and rights to them, can come to.
struct Ends<'a> {
    writes: Writes<'a>,
    all: HashMap<EntityId, Vec<(Span, usize, &'a Leg)>>,
    /// The entities of which each worker writes items, by its queue.
    workers: HashMap<QueueId, HashSet<EntityId>>,
}

impl<'a> Ends<'a> {
    fn new(model: &'a Model) -> Ends<'a> {
        let writes = Writes::new(model);
        let mut all: HashMap<EntityId, Vec<(Span, usize, &'a Leg)>> = HashMap::new();
        for (at, (_, group)) in writes.all().iter().enumerate() {
            for placed in &group.legs {
                let leg = placed.leg;
                let changes = matches!(leg.verb, Verb::Delete | Verb::Update | Verb::Upsert)
                    || leg.put == Some(PutMode::Replace);
                if changes {
                    all.entry(leg.entity).or_default().push((leg.span, at, leg));
                }
            }
        }
        let mut workers: HashMap<QueueId, HashSet<EntityId>> = HashMap::new();
        for worker in &model.workers {
            each_leg(&worker.body, |leg, _| {
                workers.entry(worker.queue).or_default().insert(leg.entity);
            });
        }
        Ends { writes, all, workers }
    }

    /// An end of what a reference rests on that leaves the items with the reference alone.
    fn of(&self, stored: &Placed<'a>, entity: EntityId, basis: &Basis<'a>) -> Option<Span> {
        let is_end = |leg: &Leg| match basis {
            Basis::There => leg.verb == Verb::Delete,
            Basis::Attribute(name) => {
                leg.values.iter().any(|given| given.attribute == *name) && leg.verb != Verb::Delete
            }
        };
        let holder = stored.leg.entity;
        let leaves = |at: usize| {
            self.writes.all().get(at).is_some_and(|(_, group)| {
                let mut queues = group.sends.iter().map(|sent| sent.send.queue);
                !group.legs.iter().any(|placed| placed.leg.entity == holder)
                    && !queues.any(|queue| {
                        self.workers.get(&queue).is_some_and(|it| it.contains(&holder))
                    })
            })
        };
        let mut all = self.all.get(&entity)?.iter();
        all.find(|(_, at, leg)| is_end(leg) && leaves(*at)).map(|(span, ..)| *span)
    }
}

/// A write of a contract, and an entity that what it stores may rest on.
struct Storing<'a, 'g> {
    body: &'g Body<'a>,
    group: &'g Group<'a>,
    placed: &'g Placed<'a>,
    way: &'g [Passed<'a>],
    entity: EntityId,
}

impl<'a> Storing<'a, '_> {
    /// The attributes of an item of the caller that are stored, and are tied by an item of the entity alone.
    fn rests(&self, loose: &Rc<Loose<'a>>, without: &Rc<Loose<'a>>) -> Vec<(Spot<'a>, Span)> {
        let (leg, group) = (self.placed.leg, self.group);
        let own = |given: &'a Given| matches!(group.origin(&given.value).kind, ExprKind::CallerId);
        let makes = matches!(leg.verb, Verb::Put | Verb::Upsert | Verb::Update);
        if !makes || leg.entity == self.entity || !leg.key.iter().chain(&leg.values).any(own) {
            return Vec::new();
        }
        let all = self.loosens(without);
        let now = self.loosens(loose);
        all.into_iter().filter(|(spot, _)| !now.iter().any(|(other, _)| other == spot)).collect()
    }

    /// What the write stores without a test, where some attributes are loose.
    fn loosens(&self, loose: &Rc<Loose<'a>>) -> Vec<(Spot<'a>, Span)> {
        let start: Tied<'a> = self.body.tied(loose);
        let tied = tied_beside(start, self.group, &self.placed.guards, self.way);
        let mut found = Vec::new();
        Stored { group: self.group, tied }.leg(self.placed, &mut found);
        let of_key = |spot: &Spot<'a>| {
            self.placed
                .leg
                .key
                .iter()
                .any(|given| *spot == Spot::Attribute(self.placed.leg.entity, &given.attribute))
        };
        found.retain(|(spot, _)| !of_key(spot));
        found
    }

    /// What the test of an item of the entity rested on.
    fn basis(&self) -> Option<Basis<'a>> {
        let group = self.group;
        let mut reads = group.way.reads.iter().filter(|(read, _)| read.entity == self.entity);
        reads.find_map(|(read, _)| {
            let What::Get(key) = &read.what else { return None };
            match key.iter().any(|given| is_callers(group, &given.value)) {
                true => Some(Basis::There),
                false => self.owner(read.binding?).map(Basis::Attribute),
            }
        })
    }

    /// The attribute of an item that was found to be the caller's.
    fn owner(&self, item: BindingId) -> Option<&'a str> {
        let known = self.group.known(&self.placed.guards);
        known.iter().chain(self.way).find_map(|passed| {
            let asked = match (&passed.test.kind, passed.truth) {
                (ExprKind::Owns(thing), true) => vec![&**thing],
                _ => passed.equality().map_or_else(Vec::new, |(a, b)| vec![a, b]),
            };
            asked.into_iter().find_map(|expr| match &expr.kind {
                ExprKind::Attribute(other, name) if *other == item => Some(name.as_str()),
                _ => None,
            })
        })
    }
}
