//! Values that a second run computes from what the first has left.
//!
//! `set before = tool.last, last = x` moves a value on: a second run finds what the first has written. So does a value
//! that goes through another item. A name means what was read until its item is written, and from then on what that
//! write has left; that is the same in a second run if the write is.

use latchkey_language::Span;

use super::guard::Judge;
use crate::check::flow::{Group, Placed};
use crate::check::truth::{each, plain};
use crate::model::{BindingId, ExprKind, Given, Leg, Verb};

impl<'a> Judge<'a, '_> {
    /// A value of a leg that depends on an attribute which the same run changes behind the read.
    pub(super) fn carried(&self, placed: &Placed<'a>) -> Option<(Span, String)> {
        let leg = placed.leg;
        if matches!(leg.verb, Verb::Delete | Verb::Check) {
            return None;
        }
        leg.values.iter().find_map(|given| {
            let (item, name) = self.source(placed, given)?;
            let item = &self.around.contract.bindings[item].name;
            let what =
                format!("computes `{}` from `{item}.{name}`, which it changes", given.attribute);
            Some((given.span, what))
        })
    }

    /// The attribute that a value depends on, and that is changed with the value or after it.
    fn source(&self, placed: &Placed<'a>, given: &'a Given) -> Option<(BindingId, &'a str)> {
        let around = self.around;
        // A counter may count one more change.
        let is_counter = |leg: &Leg, name: &str| {
            around.model.entities[leg.entity].counter().is_some_and(|counter| counter.name == name)
        };
        if is_counter(placed.leg, &given.attribute) {
            return None;
        }
        let mut found = None;
        each(&around.group.lets, &given.value, &mut |part| {
            if let ExprKind::Attribute(item, name) = &part.kind
                // That is told as computed: `max(tool.at, at)` is the same in a second run.
                && !(*name == given.attribute && around.group.is_on(placed.leg, *item))
                && let Some(change) = self.changed_behind(placed, *item, name)
                && !is_counter(change, name)
            {
                found = found.or(Some((*item, name.as_str())));
            }
        });
        found
    }

    /// The leg that changes an attribute of an item together with a leg or after it, if none has changed it before.
    fn changed_behind(&self, placed: &Placed<'a>, item: BindingId, name: &str) -> Option<&'a Leg> {
        let group = self.around.group;
        let at = group.legs.iter().position(|other| std::ptr::eq(other.leg, placed.leg))?;
        let changes = |group: &Group<'a>, leg: &'a Leg| {
            group.is_on(leg, item) && self.changes(leg, item, name)
        };
        let earlier = group.legs.iter().take(at).map(|other| other.leg);
        if earlier.chain(group.way.written.iter().copied()).any(|leg| changes(group, leg)) {
            return None;
        }
        let with = group.legs.iter().skip(at).filter(|other| !placed.excludes(other));
        let mut with = with.map(|other| other.leg).filter(|leg| changes(group, leg));
        with.next().or_else(|| {
            let is_it = |leg: &&Leg| std::ptr::eq(*leg, placed.leg);
            let behind = self.all.iter().filter(|later| later.way.written.iter().any(is_it));
            behind.into_iter().find_map(|later| {
                later.legs.iter().map(|other| other.leg).find(|leg| changes(later, leg))
            })
        })
    }

    /// Whether a leg changes an attribute of its item; what is set to itself stays.
    fn changes(&self, leg: &'a Leg, item: BindingId, name: &str) -> bool {
        let is_itself = |given: &'a Given| {
            let value = plain(&self.around.group.lets, &given.value);
            matches!(&value.kind, ExprKind::Attribute(other, attribute)
                if *other == item && attribute == name)
        };
        let mut set = leg.values.iter().filter(|given| !is_itself(given)).chain(&leg.adds);
        set.any(|given| given.attribute == name) || leg.removes.iter().any(|other| other == name)
    }
}
