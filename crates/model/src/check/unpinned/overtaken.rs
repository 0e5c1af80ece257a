//! An item that a query found and that is written, while another comes that the query would find: whether it matters.
//!
//! The call did not see the new item, so it comes before the call that made the item. That is no harm if nothing binds it
//! to come after that one as well. It is bound to if the maker has to do with something else that is written or looked at
//! here; or if a third call, which is bound to come after the maker, has.

use std::cell::OnceCell;

use super::moments::order::{Order, acts_of};
use super::{Fact, entity_of};
use crate::check::each_leg;
use crate::check::flow::{Group, groups};
use crate::model::{Contract, EntityId, Given, Leg, Model, Read, StepKind, Verb, What, each_step};

/// All that is around the writes of a document.
pub(super) struct Overtaken<'a> {
    model: &'a Model,
    /// Which calls come after which, once someone asks for it.
    order: OnceCell<Order<'a>>,
}

impl<'a> Overtaken<'a> {
    pub(super) fn new(model: &'a Model) -> Overtaken<'a> {
        Overtaken { model, order: OnceCell::new() }
    }

    /// Whether it matters that another contract made or removed an item of a range before the found item was written.
    pub(super) fn matters(
        &self,
        contract: &Contract,
        group: &Group<'a>,
        fact: &Fact<'_>,
        other: &'a Contract,
    ) -> bool {
        let Some(found) = entity_of(contract, fact.binding()) else { return false };
        if meets(group, found, other) || self.is_of_another(found, other) {
            return true;
        }
        let order = self.order.get_or_init(|| Order::new(self.model));
        let acts = acts_of(self.model, group.legs.iter().map(|placed| placed.leg));
        // Of the found entity, the calls behind the maker go by the new item.
        let is_last = |then: &'a Contract, _| {
            let beside = acts.iter().filter(|(entity, _)| **entity != found);
            beside.into_iter().any(|(entity, acts)| order.precedes(then, (*entity, *acts)))
        };
        order.leads(other, &is_last).is_some_and(|chain| chain.len() == 2)
    }

    /// Whether a contract has to do with an item of an entity beside the one that it makes, removes or moves.
    fn is_of_another(&self, found: EntityId, other: &'a Contract) -> bool {
        let (mut own, mut checked): (Vec<&Leg>, Vec<&Leg>) = (Vec::new(), Vec::new());
        each_leg(other, |leg, _| {
            if leg.entity == found {
                (if leg.verb == Verb::Check { &mut checked } else { &mut own }).push(leg);
            }
        });
        let all = groups(self.model, other);
        let Some(group) = all.first() else { return false };
        let is_own = |key: &'a [Given]| {
            own.iter().any(|leg| {
                !leg.key.is_empty()
                    && leg.key.iter().all(|part| {
                        let mut same = key.iter().filter(|it| it.attribute == part.attribute);
                        same.any(|it| group.alike(&it.value, &part.value, None))
                    })
            })
        };
        let is_target = |read: &Read| {
            read.binding.is_some() && own.iter().any(|leg| leg.target == read.binding)
        };
        let mut another = checked.iter().any(|leg| match leg.target {
            Some(target) => !own.iter().any(|own| own.target == Some(target)),
            None => !is_own(&leg.key),
        });
        each_step(&other.steps, &mut |step| {
            if let StepKind::Read(read) = &step.kind
                && read.entity == found
                && let What::Get(key) = &read.what
            {
                another |= !is_target(read) && !is_own(key);
            }
        });
        another
    }
}

/// Whether a contract has to do with something else than an item of the entity that was found, and that is written or
/// looked at here. A `get` of one such item is looked at elsewhere.
fn meets(group: &Group<'_>, found: EntityId, other: &Contract) -> bool {
    let written = |entity: EntityId| group.legs.iter().any(|placed| placed.leg.entity == entity);
    let mut meets = false;
    each_step(&other.steps, &mut |step| {
        meets |= match &step.kind {
            StepKind::Read(read) => {
                let alone = read.entity == found && matches!(read.what, What::Get(_));
                !alone && read.entities().any(written)
            }
            StepKind::Write(leg) => leg.entity != found && written(leg.entity),
            _ => false,
        };
    });
    meets
}
