//! All transactions of a document, and which of them write items of an entity.

use std::collections::{HashMap, HashSet};

use super::each_leg;
use super::flow::{Group, Placed, groups};
use crate::model::{Contract, EntityId, Model, QueueId, Verb};

/// The entities that the worker of a queue does something with.
type ByQueue = HashMap<QueueId, HashSet<EntityId>>;

/// All transactions of a document.
pub(super) struct Writes<'a> {
    all: Vec<(&'a Contract, Group<'a>)>,
    /// The legs on items of an entity: the place of the transaction, and that of the leg.
    by_entity: HashMap<EntityId, Vec<(usize, usize)>>,
    /// The entities of which the worker of a queue deletes items.
    swept: ByQueue,
    /// The entities of which the worker of a queue makes items.
    made: ByQueue,
    /// The entities of which the worker of a queue changes items, or makes them.
    changed: ByQueue,
}

impl<'a> Writes<'a> {
    pub(super) fn new(model: &'a Model) -> Writes<'a> {
        let of = |body| groups(model, body).into_iter().map(move |group| (body, group));
        let all: Vec<_> = model.bodies().into_iter().flat_map(of).collect();
        let mut by_entity: HashMap<EntityId, Vec<(usize, usize)>> = HashMap::new();
        for (at, (_, group)) in all.iter().enumerate() {
            for (leg, placed) in group.legs.iter().enumerate() {
                by_entity.entry(placed.leg.entity).or_default().push((at, leg));
            }
        }
        let (mut swept, mut made, mut changed) = (ByQueue::new(), ByQueue::new(), ByQueue::new());
        for worker in &model.workers {
            each_leg(&worker.body, |leg, _| {
                let of_queue: &mut [&mut ByQueue] = match leg.verb {
                    Verb::Delete => &mut [&mut swept],
                    Verb::Put | Verb::Upsert => &mut [&mut made, &mut changed],
                    Verb::Update => &mut [&mut changed],
                    Verb::Check => &mut [],
                };
                for entities in of_queue {
                    entities.entry(worker.queue).or_default().insert(leg.entity);
                }
            });
        }
        Writes { all, by_entity, swept, made, changed }
    }

    /// Every transaction, and the contract or worker that makes it.
    pub(super) fn all(&self) -> &[(&'a Contract, Group<'a>)] {
        &self.all
    }

    /// Every leg on an item of an entity, with its transaction and the contract of that.
    pub(super) fn on(
        &self,
        entity: EntityId,
    ) -> impl Iterator<Item = (&'a Contract, &Group<'a>, &Placed<'a>)> {
        let places = self.by_entity.get(&entity).into_iter().flatten();
        places.filter_map(|(at, leg)| {
            let (contract, group) = self.all.get(*at)?;
            Some((*contract, group, group.legs.get(*leg)?))
        })
    }

    /// Whether a transaction deletes items of an entity, or sends to a worker that does.
    pub(super) fn sweeps(&self, group: &Group<'a>, entity: EntityId) -> bool {
        let deletes =
            |placed: &Placed<'_>| placed.leg.entity == entity && placed.leg.verb == Verb::Delete;
        group.legs.iter().any(deletes) || self.sends_to_sweep(group, entity)
    }

    /// Whether a transaction sends to a worker that deletes items of an entity.
    pub(super) fn sends_to_sweep(&self, group: &Group<'a>, entity: EntityId) -> bool {
        sends_to(group, &self.swept, entity)
    }

    /// Whether a transaction sends to a worker that makes items of an entity.
    pub(super) fn sends_to_make(&self, group: &Group<'a>, entity: EntityId) -> bool {
        sends_to(group, &self.made, entity)
    }

    /// Whether a transaction sends to a worker that changes items of an entity, or makes them.
    pub(super) fn sends_to_change(&self, group: &Group<'a>, entity: EntityId) -> bool {
        sends_to(group, &self.changed, entity)
    }
}

fn sends_to(group: &Group<'_>, by_queue: &ByQueue, entity: EntityId) -> bool {
    let mut queues = group.sends.iter().map(|sent| sent.send.queue);
    queues.any(|queue| by_queue.get(&queue).is_some_and(|it| it.contains(&entity)))
}
