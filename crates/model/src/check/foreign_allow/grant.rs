//! Items that callers make under the id of something else: a membership, a key, a subscription.
//!
//! That such an item is there says something about the thing it names only if not everyone can make it. What counts as a
//! question: a test of rights of the thing itself (`require space.open else 403 closed`), an invitation, and a condition
//! on the thing, or a change of it, in the transaction that makes the item.

use super::loose::Stored;
use super::tie::is_found;
use crate::check::flow::{Group, Placed, within};
use crate::check::truth::each;
use crate::model::{BindingId, Expr, ExprKind, Given, InputId, Kind, Op, Verb, What};
use crate::types::Type;

/// Whether a test of rights asks for an attribute of an item that has the caller's id in its key.
pub(super) fn is_ranked<'a>(group: &Group<'a>, item: BindingId, key: &'a [Given]) -> bool {
    let mine = |given: &'a Given| is_callers(group, &given.value);
    key.iter().any(mine)
        && group.way.rights.iter().any(|test| asks(group, test, |it, _| it == item))
}

/// Whether a value is the caller's id, or was found to be the caller's.
pub(super) fn is_callers<'a>(group: &Group<'a>, value: &'a Expr) -> bool {
    let is_id = |value: &'a Expr| matches!(group.origin(value).kind, ExprKind::CallerId);
    is_id(value)
        || group.known(&[]).iter().any(|passed| match (&passed.test.kind, passed.truth) {
            (ExprKind::Owns(thing), true) => group.alike(thing, value, None),
            (ExprKind::Binary(Op::Equal, a, b), true) => {
                is_id(a) && group.alike(b, value, None) || is_id(b) && group.alike(a, value, None)
            }
            _ => false,
        })
}

/// Whether a test asks for an attribute of an item that its key does not tell.
fn asks<'a>(
    group: &Group<'a>,
    test: &'a Expr,
    is_it: impl Fn(BindingId, &'a Expr) -> bool,
) -> bool {
    let mut found = false;
    each(&group.lets, test, &mut |part| {
        if let ExprKind::Attribute(item, name) = &part.kind {
            found |= group.given_part(*item, name).is_none() && is_it(*item, part);
        }
    });
    found
}

impl<'a> Stored<'a, '_> {
    /// Whether a part of the key of an item that is made was asked for.
    pub(super) fn is_granted(&self, placed: &Placed<'a>, given: &'a Given) -> bool {
        self.is_noted(placed, given)
            || match &self.group.origin(&given.value).kind {
                ExprKind::Input(input) => self.is_invited(placed, *input) || self.is_open(*input),
                ExprKind::Attribute(item, _) => self.is_spent(*item),
                _ => false,
            }
    }

    /// Whether the same transaction asks or changes an item whose key is this value alone, or with other parts of the key
    /// of what is made: the thing knows of it.
    fn is_noted(&self, placed: &Placed<'a>, given: &'a Given) -> bool {
        let group = self.group;
        let is_part = |value: &'a Expr| {
            placed.leg.key.iter().any(|part| group.alike(&part.value, value, None))
        };
        group.legs.iter().any(|other| {
            let leg = other.leg;
            let key: Vec<&'a Expr> = match leg.target {
                Some(item) => {
                    let names = group.model.entities[leg.entity].key.attributes();
                    names.into_iter().filter_map(|name| group.given_part(item, name)).collect()
                }
                None => leg.key.iter().map(|part| &part.value).collect(),
            };
            leg.entity != placed.leg.entity
                && matches!(leg.verb, Verb::Update | Verb::Check)
                && within(&placed.guards, &other.guards)
                && key.iter().any(|value| group.alike(&given.value, value, None))
                && key.into_iter().all(is_part)
        })
    }

    /// Whether something was found by the input and something else, such as an invitation that names the caller or has a
    /// code. One that everyone can make is none.
    fn is_invited(&self, placed: &Placed<'a>, input: InputId) -> bool {
        let group = self.group;
        group.way.reads.iter().any(|(read, _)| {
            let What::Get(key) = &read.what else { return false };
            let named = key.iter().find(|given| self.is_input(given, input));
            read.entity != placed.leg.entity
                && key.len() > 1
                && named.is_some_and(|it| !self.tied.loose.has(read.entity, &it.attribute))
                && read.binding.is_some_and(|item| is_found(group, &[], item))
        })
    }

    /// Whether a test asks the thing that the input names who may have it: a test of rights, or of what is true or false
    /// of the thing.
    fn is_open(&self, input: InputId) -> bool {
        let group = self.group;
        let named = group.way.reads.iter().filter_map(|(read, _)| match &read.what {
            What::Get(key) if key.iter().any(|given| self.is_input(given, input)) => read.binding,
            _ => None,
        });
        let named: Vec<BindingId> = named.collect();
        let rights = &group.way.rights;
        let is_flag = |part: &Expr| matches!(part.of, Kind::Value(Type::Bool));
        rights.iter().any(|test| asks(group, test, |item, _| named.contains(&item)))
            || group.way.tests.iter().any(|passed| {
                asks(group, passed.test, |item, part| named.contains(&item) && is_flag(part))
            })
    }

    /// Whether an item from which a value comes is an invitation: it ends, a test asks for one of its attributes, or it
    /// is written with what it is for.
    fn is_spent(&self, item: BindingId) -> bool {
        let group = self.group;
        let ends = group.entity_of(item).is_some_and(|id| group.model.entities[id].is_expiring());
        let mut tests = group.way.tests.iter();
        is_found(group, &[], item)
            && (ends
                || tests.any(|passed| asks(group, passed.test, |other, _| other == item))
                || group.legs.iter().any(|placed| placed.leg.target == Some(item)))
    }

    fn is_input(&self, given: &'a Given, input: InputId) -> bool {
        matches!(self.group.origin(&given.value).kind, ExprKind::Input(other) if other == input)
    }
}
