//! What a call knows of the time between two reads: an item that was read twice was the same, or a test tells that a
//! write did not come.

use std::collections::HashMap;

use super::{Search, Seen};
use crate::check::each_leg;
use crate::check::flow::Group;
use crate::check::truth::{Passed, Supposed, each, plain};
use crate::check::unpinned::{Fact, entity_of};
use crate::model::{BindingId, Contract, EntityId, Expr, ExprKind, Leg, Read, Verb, What};

impl<'a> Search<'a, '_> {
    /// Whether two reads are of one item.
    pub(super) fn is_one_item(&self, group: &Group<'a>, a: &'a Read, b: &'a Read) -> bool {
        let names = self.model.entities[a.entity].key.attributes();
        a.entity == b.entity
            && names.into_iter().all(|name| {
                let part = |read: &Read| group.given_part(read.binding?, name);
                part(a).zip(part(b)).is_some_and(|(a, b)| group.equal(&[], a, b))
            })
    }

    /// Whether the item of the first fact is read once more with the second, and is still so.
    pub(super) fn is_read_again(
        &self,
        group: &Group<'a>,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> bool {
        let binding = first.used.fact.binding();
        let key = &self.model.entities[first.read.entity].key;
        let is_it = |read: &&'a Read| {
            !std::ptr::eq(*read, first.read)
                && (read.is_with(second.read) || std::ptr::eq(*read, second.read))
                && self.is_one_item(group, first.read, read)
        };
        let mut again = group.way.reads.iter().map(|(read, _)| *read).filter(|read| is_it(read));
        let is_there = |item: BindingId| {
            let mut found = group.way.found.iter();
            found.any(|(other, there, _)| *other == item && *there)
        };
        again.any(|read| match (&first.used.fact, read.binding) {
            (_, None) | (Fact::NotThere(_) | Fact::Items(..), _) => false,
            (Fact::There(_), Some(item)) => is_there(item),
            (Fact::Attribute(_, name), Some(item)) if key.tells(name) => is_there(item),
            (Fact::Attribute(_, name), Some(item)) => is_found_same(group, name, binding, item),
        })
    }

    /// Whether the item of one of two facts was the same all the time between their reads: it was read on both sides,
    /// and had the same counter.
    pub(super) fn is_kept(
        &self,
        group: &Group<'a>,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> bool {
        group.way.readings.iter().enumerate().any(|(at, reading)| {
            (at >= second.at && self.is_same(group, first.read, reading.read))
                || (at <= first.at && self.is_same(group, second.read, reading.read))
        })
    }

    /// Whether two reads are of one item, and it did not change between them. A counter starts again with an item
    /// that is made anew, so that there the time when the item was made is compared, too.
    fn is_same(&self, group: &Group<'a>, a: &'a Read, b: &'a Read) -> bool {
        let by_key = |read: &Read| matches!(read.what, What::Get(_));
        let (Some(one), Some(other)) = (a.binding, b.binding) else { return false };
        if a.entity != b.entity || one == other || !by_key(a) || !by_key(b) {
            return false;
        }
        let entity = &self.model.entities[a.entity];
        let counter = entity.counter();
        let is_stamped = || {
            entity.attributes.iter().any(|attribute| {
                is_found_same(group, &attribute.name, one, other)
                    && self.is_stamp(a.entity, &attribute.name)
            })
        };
        counter.is_some_and(|counter| is_found_same(group, &counter.name, one, other))
            && self.is_one_item(group, a, b)
            && (self.changes.removal(a.entity).is_empty() || is_stamped())
    }

    /// Whether an attribute is the time when its item was made, or something new.
    fn is_stamp(&self, entity: EntityId, name: &str) -> bool {
        let given = |leg: &'a Leg| {
            let mut values = leg.values.iter();
            values.find(|given| given.attribute == name).map(|given| &given.value.kind)
        };
        self.legs_of(entity).iter().all(|(_, leg)| match leg.verb {
            Verb::Put => matches!(given(leg), Some(ExprKind::Now | ExprKind::New(_))),
            Verb::Update => given(leg).is_none() && !leg.removes.iter().any(|it| it == name),
            Verb::Upsert => false,
            Verb::Delete | Verb::Check => true,
        })
    }

    /// Drops the contracts that cannot have written the item that was found, as a test of it tells: all that the
    /// document ever changes an attribute to is another word than the test has found, and the contract changes the
    /// attribute.
    pub(super) fn drop_refuted(
        &self,
        contract: &Contract,
        group: &Group<'a>,
        seen: &Seen<'a, '_>,
        makers: &mut Vec<&'a Contract>,
    ) {
        let binding = seen.used.fact.binding();
        let (What::Get(_), Some(id)) = (&seen.read.what, entity_of(contract, binding)) else {
            return;
        };
        let mut known = group.known(&[]);
        known.retain(|test| asks(group, test.test, binding));
        if makers.is_empty() || known.is_empty() {
            return;
        }
        let legs = self.legs_of(id);
        let refutes = |leg: &'a Leg, name: &str| {
            let mut given = leg.values.iter().filter(|given| given.attribute == name);
            given.all(|given| self.is_untrue(group, &known, (id, binding, name), &given.value))
        };
        let is_over = |name: &str| {
            legs.iter().all(|(_, leg)| match leg.verb {
                Verb::Update => refutes(leg, name),
                Verb::Upsert => false,
                Verb::Put | Verb::Delete | Verb::Check => true,
            })
        };
        let always = self.model.entities[id].attributes.iter().filter(|it| !it.optional);
        let over: Vec<&str> = always.map(|it| it.name.as_str()).filter(|it| is_over(it)).collect();
        let sets = |leg: &Leg, name: &str| {
            leg.values.iter().any(|given| given.attribute == name && !given.maybe)
        };
        makers.retain(|maker| {
            let mut own = legs.iter().filter(|(by, _)| std::ptr::eq(*by, *maker));
            !own.all(|(_, leg)| match leg.verb {
                Verb::Check => true,
                Verb::Update => over.iter().any(|name| sets(leg, name)),
                Verb::Put | Verb::Upsert | Verb::Delete => false,
            })
        });
    }

    /// Whether a known test would have come out otherwise, if an attribute were a value.
    fn is_untrue(
        &self,
        group: &Group<'a>,
        known: &[Passed<'a>],
        (id, binding, name): (EntityId, BindingId, &str),
        value: &'a Expr,
    ) -> bool {
        let ExprKind::Word(word) = &value.kind else { return false };
        let attribute = self.model.entities[id].attribute(name);
        let moves = attribute.and_then(|attribute| attribute.moves.as_deref()).unwrap_or_default();
        let is_it = |expr: &'a Expr| is_attribute(expr, binding, name).then_some(word.as_str());
        let supposed = Supposed { lets: &group.lets, moves, word: &is_it, there: &|_| None };
        known.iter().any(|test| supposed.outcome(test.test) == Some(!test.truth))
    }

    /// All writes of an entity.
    fn legs_of(&self, entity: EntityId) -> &[(&'a Contract, &'a Leg)] {
        let all = self.legs.get_or_init(|| {
            let mut all: HashMap<EntityId, Vec<(&'a Contract, &'a Leg)>> = HashMap::new();
            for contract in self.model.bodies() {
                each_leg(contract, |leg, _| {
                    all.entry(leg.entity).or_default().push((contract, leg))
                });
            }
            all
        });
        all.get(&entity).map_or(&[], Vec::as_slice)
    }
}

fn is_attribute(expr: &Expr, binding: BindingId, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Attribute(other, attribute)
        if *other == binding && attribute == name)
}

/// Whether a test asks for something of an item.
fn asks<'a>(group: &Group<'a>, test: &'a Expr, binding: BindingId) -> bool {
    let mut found = false;
    each(&group.lets, test, &mut |part| {
        found |= matches!(&part.kind, ExprKind::Attribute(other, _) if *other == binding);
    });
    found
}

/// Whether a test has found an attribute of two items the same.
fn is_found_same(group: &Group<'_>, name: &str, one: BindingId, other: BindingId) -> bool {
    let is = |expr: &Expr, of: BindingId| is_attribute(expr, of, name);
    group.known(&[]).iter().filter_map(Passed::equality).any(|(a, b)| {
        let (a, b) = (plain(&group.lets, a), plain(&group.lets, b));
        (is(a, one) && is(b, other)) || (is(b, one) && is(a, other))
    })
}
