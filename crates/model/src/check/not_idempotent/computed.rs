//! Values that are computed from what the same write leaves: `cnt + 1`, `not given`, `max(due, now) + 1d`.
//!
//! A second run finds what the first has left, and computes from that. The result is the same where the value is the
//! attribute itself, or the greatest, the least, the first of the attribute and of something else: `max(tool.at, at)`.

use super::Around;
use crate::check::truth::{PARTS_MAX, each, plain};
use crate::model::{Expr, ExprKind, Given, GivenPart, Kind, Leg, Op};
use crate::types::Type;

/// What a value has to do with what the same write leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rests {
    /// Nothing.
    Free,
    /// It is that, or chosen from that and from something else: computed again, it is the same.
    Settled,
    /// It is computed from that.
    Computed,
}

/// A part of an attribute of an item: the one that is written, and the one within it that is looked at.
struct Own<'a, 'o> {
    leg: &'a Leg,
    given: &'a Given,
    path: &'o [&'a str],
}

impl<'a> Around<'a, '_> {
    /// Whether a value is computed from what the same write leaves there; counting changes is what a counter is for.
    pub(super) fn computes(&self, leg: &'a Leg, given: &'a Given) -> bool {
        let counter = self.model.entities[leg.entity].counter();
        if counter.is_some_and(|counter| counter.name == given.attribute) {
            return false;
        }
        let mut stored = false;
        each(&self.group.lets, &given.value, &mut |part| {
            stored |= matches!(&part.kind, ExprKind::Stored(name) if *name != given.attribute);
        });
        let path = written(given);
        let own = Own { leg, given, path: &path };
        stored || self.rests(&own, &given.value, &mut PARTS_MAX.clone()) == Rests::Computed
    }

    /// Whether a value that is computed so is a sum: it counts.
    pub(super) fn sums(&self, leg: &'a Leg, given: &'a Given) -> bool {
        let path = written(given);
        let own = Own { leg, given, path: &path };
        let mut sums = false;
        each(&self.group.lets, &given.value, &mut |part| {
            let is_sum =
                matches!(part.kind, ExprKind::Binary(Op::Plus | Op::Minus | Op::Times, ..));
            sums |= is_sum && self.has_own(&own, part);
        });
        sums && self.computes(leg, given)
    }

    fn rests(&self, own: &Own<'a, '_>, value: &'a Expr, left: &mut usize) -> Rests {
        let value = self.stripped(plain(&self.group.lets, value));
        let more = left.checked_sub(1);
        *left = more.unwrap_or_default();
        if self.is_own(own, value) {
            return Rests::Settled;
        }
        if !self.has_own(own, value) {
            return Rests::Free;
        }
        let mut all = |values: Vec<&'a Expr>| {
            let computed =
                values.into_iter().any(|one| self.rests(own, one, left) == Rests::Computed);
            if computed { Rests::Computed } else { Rests::Settled }
        };
        match &value.kind {
            _ if more.is_none() => Rests::Computed,
            ExprKind::Greatest(values) | ExprKind::Least(values) => all(values.iter().collect()),
            ExprKind::Binary(Op::And | Op::Or, a, b) => all(vec![a, b]),
            ExprKind::Rounded(_, number, None, _) => all(vec![number]),
            ExprKind::Coalesce(values) => {
                let own_or_free = |one: &'a Expr| {
                    let one = plain(&self.group.lets, one);
                    self.is_own(own, one) || !self.has_own(own, one)
                };
                match values.iter().all(own_or_free) || self.is_chosen_again(values) {
                    true => all(values.iter().collect()),
                    false => Rests::Computed,
                }
            }
            ExprKind::Object(members) => {
                let settled = members.iter().all(|(name, value)| {
                    let path = [own.path, &[name.as_str()]].concat();
                    self.rests(&Own { path: &path, ..*own }, value, left) != Rests::Computed
                });
                if settled { Rests::Settled } else { Rests::Computed }
            }
            _ => Rests::Computed,
        }
    }

    /// Whether the first of several is chosen from all the others, as in `coalesce(max(tool.at, at), at)`.
    fn is_chosen_again(&self, values: &'a [Expr]) -> bool {
        let Some((first, others)) = values.split_first() else { return false };
        let (ExprKind::Greatest(from) | ExprKind::Least(from)) =
            &plain(&self.group.lets, first).kind
        else {
            return false;
        };
        let is_in = |one: &'a Expr| from.iter().any(|it| self.group.alike(it, one, None));
        others.iter().all(is_in)
    }

    /// What a test of a `bool` against true or false is no more than.
    fn stripped(&self, value: &'a Expr) -> &'a Expr {
        let ExprKind::Binary(op @ (Op::Equal | Op::NotEqual), a, b) = &value.kind else {
            return value;
        };
        let same = [(a, b), (b, a)].into_iter().find(|(_, word)| {
            matches!(plain(&self.group.lets, word).kind, ExprKind::Bool(truth)
                if truth == (*op == Op::Equal))
        });
        same.map_or(value, |(thing, _)| plain(&self.group.lets, thing))
    }

    /// Whether a value has in it what is written.
    fn has_own(&self, own: &Own<'a, '_>, value: &'a Expr) -> bool {
        let written = written(own.given);
        let mut found = false;
        each(&self.group.lets, value, &mut |part| {
            found |= self.path_of(own, part).is_some_and(|path| {
                // One lies within the other, or is the other. A member is a part by itself, of the record around it.
                path.iter().zip(&written).all(|(a, b)| a == b)
                    && (path.len() >= written.len() || !is_record(part))
            });
        });
        found
    }

    /// Whether a value is what is written at the same place.
    fn is_own(&self, own: &Own<'a, '_>, value: &'a Expr) -> bool {
        self.path_of(own, value).is_some_and(|path| path == own.path)
    }

    /// The members that lead to a value, if it is in the attribute that is written.
    fn path_of(&self, own: &Own<'a, '_>, value: &'a Expr) -> Option<Vec<&'a str>> {
        let (mut path, mut within) = (Vec::new(), value);
        while let ExprKind::Member(record, name) = &within.kind {
            path.push(name.as_str());
            within = plain(&self.group.lets, record);
        }
        path.reverse();
        let is_it = match &within.kind {
            ExprKind::Stored(name) => *name == own.given.attribute,
            ExprKind::Attribute(item, name) => {
                *name == own.given.attribute && self.group.is_on(own.leg, *item)
            }
            _ => false,
        };
        is_it.then_some(path)
    }
}

/// The members that lead to what is written.
fn written(given: &Given) -> Vec<&str> {
    match &given.part {
        GivenPart::Within(path) => path.iter().map(String::as_str).collect(),
        GivenPart::Whole | GivenPart::Element | GivenPart::NoElement => Vec::new(),
    }
}

/// Whether a value is a record: of that, a member is looked at by itself.
fn is_record(value: &Expr) -> bool {
    matches!(value.of, Kind::Value(Type::Record(_)))
}
