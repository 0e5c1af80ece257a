//! Whether nothing is left under the id of an item where the item is written: by what was found, by a number that is
//! kept, or because all of it is deleted with the item.

use super::Parent;
use crate::check::flow::{Group, Placed, is_stored, within};
use crate::check::truth::{Passed, at_most, plain};
use crate::check::writes::Writes;
use crate::model::{
    BindingId, Entity, EntityId, Expr, ExprKind, Given, Model, Op, Piece, Query, Range, Template,
    TextPiece, Verb, What,
};
use crate::types::Type;

/// A write of an item to which others belong.
pub(super) struct Place<'a, 'g> {
    pub(super) model: &'a Model,
    pub(super) writes: &'g Writes<'a>,
    pub(super) parent: &'g Parent<'a>,
    pub(super) group: &'g Group<'a>,
    pub(super) placed: &'g Placed<'a>,
}

impl<'a> Place<'a, '_> {
    /// Whether no item of an entity is left.
    pub(super) fn shows_none(&self, child: EntityId) -> bool {
        self.is_swept(child) || self.finds_none(child) || self.counts_none(child)
    }

    /// What a part of the key of the item is given as.
    fn part(&self, name: &str) -> Option<&'a Expr> {
        let leg = self.placed.leg;
        let given = leg.key.iter().find(|given| given.attribute == name).map(|given| &given.value);
        given.or_else(|| self.group.given_part(leg.target?, name))
    }

    fn is_part(&self, name: &str, value: &'a Expr) -> bool {
        self.part(name).is_some_and(|part| self.group.equal(&self.placed.guards, part, value))
    }

    /// Whether an attribute is a part of the key of the item.
    fn is_of_key(&self, name: &str) -> bool {
        self.parent.entity.key.attributes().contains(&name)
    }

    /// Whether the transaction deletes all items of an entity that there are, or sends to a worker that does.
    fn is_swept(&self, child: EntityId) -> bool {
        let alone = self.model.entities[child].key.attributes();
        let alone = alone.into_iter().all(|name| self.is_of_key(name));
        let mut deletes = self.group.legs.iter().filter(|other| {
            let is_list =
                |test: &Passed<'_>| other.each.is_some_and(|it| std::ptr::eq(&it.over, test.test));
            let guards = other.guards.iter().filter(|test| !is_list(test)).copied();
            other.leg.entity == child
                && other.leg.verb == Verb::Delete
                && within(&self.placed.guards, &guards.collect::<Vec<_>>())
        });
        self.writes.sends_to_sweep(self.group, child)
            || deletes.any(|other| {
                let result = other.each.and_then(|each| each.result());
                // That a first part of the items may be less than all, `partial-list` tells.
                let query = result.and_then(|result| self.query_of(child, result));
                alone || query.is_some_and(|query| self.covers(child, query))
            })
    }

    /// The query that a binding has items of an entity from.
    fn query_of(&self, child: EntityId, binding: BindingId) -> Option<&'a Query> {
        let (_, read) = self.group.read_of(binding)?;
        match &read.what {
            What::Query(query) if read.also.is_empty() && read.entity == child => Some(query),
            What::Part(part) if read.entity == child => {
                match &self.group.read_of(part.of)?.1.what {
                    What::Query(query) => Some(query),
                    What::Get(_) | What::Batch(_) | What::Part(_) => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a read of the items found none.
    fn finds_none(&self, child: EntityId) -> bool {
        let bound = self.group.way.reads.iter().filter_map(|(read, _)| read.binding);
        let all: Vec<BindingId> = bound
            .filter(|binding| match self.query_of(child, *binding) {
                Some(query) => self.covers(child, query),
                None => self.is_one(child, *binding),
            })
            .collect();
        let is_it = |expr: &'a Expr| match &plain(&self.group.lets, expr).kind {
            ExprKind::Binding(id) | ExprKind::Count(id) => all.contains(id),
            _ => false,
        };
        self.group.way.found.iter().any(|(item, found, _)| !found && all.contains(item))
            || self.group.known(&self.placed.guards).iter().any(|atom| {
                match (&atom.test.kind, atom.truth) {
                    (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => {
                        is_it(thing)
                    }
                    _ => self.is_zero(atom, &is_it),
                }
            })
    }

    /// Whether a binding is the one item of an entity that can be there.
    fn is_one(&self, child: EntityId, binding: BindingId) -> bool {
        match self.group.read_of(binding) {
            Some((_, read)) if read.entity == child => match &read.what {
                What::Get(key) => key.iter().all(|it| self.is_part(&it.attribute, &it.value)),
                What::Batch(_) | What::Query(_) | What::Part(_) => false,
            },
            _ => false,
        }
    }

    /// Whether a number that is counted up with each item of an entity is 0.
    fn counts_none(&self, child: EntityId) -> bool {
        let group = self.group;
        let read = group.known(&self.placed.guards).into_iter().any(|atom| {
            self.is_zero(&atom, &|expr| match &plain(&group.lets, expr).kind {
                ExprKind::Attribute(item, name) => {
                    self.is_beside(*item)
                        && group.entity_of(*item).is_some_and(|of| self.counts(child, of, name))
                }
                _ => false,
            })
        });
        read || group.legs.iter().any(|other| {
            let leg = other.leg;
            let beside = std::ptr::eq(leg, self.placed.leg)
                || leg.target.is_some_and(|item| self.is_beside(item))
                || self.is_id(leg.entity, &leg.key);
            beside
                && within(&self.placed.guards, &other.guards)
                && group.insists(leg).iter().any(|atom| {
                    self.is_zero(atom, &|expr| match &expr.kind {
                        ExprKind::Stored(name) => self.counts(child, leg.entity, name),
                        _ => false,
                    })
                })
        })
    }

    /// Whether an item is the one that is written, or another under its id.
    fn is_beside(&self, item: BindingId) -> bool {
        self.placed.leg.target == Some(item)
            || self.group.read_of(item).is_some_and(|(_, read)| match &read.what {
                What::Get(key) => self.is_id(read.entity, key),
                What::Batch(_) | What::Query(_) | What::Part(_) => false,
            })
    }

    fn is_id(&self, entity: EntityId, key: &'a [Given]) -> bool {
        let names = self.model.entities[entity].key.attributes();
        !key.is_empty()
            && names.len() == key.len()
            && key.iter().all(|given| self.is_part(&given.attribute, &given.value))
    }

    /// Whether every transaction that puts an item of an entity counts a number up.
    fn counts(&self, child: EntityId, of: EntityId, name: &str) -> bool {
        let is_number = |entity: &Entity| {
            entity.attribute(name).is_some_and(|found| matches!(found.kind, Type::Int { .. }))
        };
        let up = |placed: &Placed<'a>| {
            let leg = placed.leg;
            let computed = |given: &Given| match &given.value.kind {
                ExprKind::Binary(Op::Plus, a, _) => is_stored(a, name) && given.attribute == name,
                _ => false,
            };
            // A first item is made with its number.
            let is_new = leg.verb == Verb::Put && leg.values.iter().any(|it| it.attribute == name);
            leg.entity == of
                && (is_new
                    || leg.adds.iter().any(|given| given.attribute == name)
                    || leg.values.iter().any(computed))
        };
        let mut puts = self
            .writes
            .on(child)
            .filter(|(_, _, placed)| matches!(placed.leg.verb, Verb::Put | Verb::Upsert));
        is_number(&self.model.entities[of])
            && puts.all(|(_, group, placed)| {
                group.legs.iter().any(|other| up(other) && within(&placed.guards, &other.guards))
            })
    }

    /// Whether a query reads all items of an entity that belong to the item.
    fn covers(&self, child: EntityId, query: &'a Query) -> bool {
        let entity = &self.model.entities[child];
        let Some(shape) = entity.place(query.by) else { return false };
        let through = query.through.as_ref().map(|it| it.attribute.as_str());
        let is_fixed = |name: &str| {
            let given = self.group.queried_part(child, query, name);
            given.is_some_and(|value| self.is_part(name, value))
        };
        let sure = |name: &&str| entity.attribute(name).is_some_and(|found| !found.optional);
        let mut partition = shape.partition.holes().map(|hole| hole.attribute.as_str());
        query.keep.is_none()
            && shape.attributes().iter().all(sure)
            && partition.all(|name| Some(name) == through || is_fixed(name))
            && self.covers_range(&shape.sort, &query.range)
    }

    fn covers_range(&self, sort: &Template, range: &'a Range) -> bool {
        match range {
            Range::All => true,
            Range::BeginsWith(text) => self.is_beginning(sort, text, false),
            Range::Between(low, high) => {
                self.is_beginning(sort, low, false) && self.is_beginning(sort, high, true)
            }
            Range::Side { below: false, bound, .. } => self.is_beginning(sort, bound, false),
            Range::Equal(_) | Range::Side { .. } => false,
        }
    }

    /// Whether every sort key begins with a text; or, with a `~`, comes before it.
    fn is_beginning(&self, sort: &Template, text: &'a Expr, closed: bool) -> bool {
        let text = plain(&self.group.lets, text);
        let ExprKind::Text(pieces) = &text.kind else { return false };
        let mut template = sort.pieces.iter();
        let mut open = !closed;
        for (at, piece) in pieces.iter().enumerate() {
            let last = at + 1 == pieces.len();
            let fits = match (template.next(), piece) {
                (Some(Piece::Literal(own)), TextPiece::Literal(other)) if last && closed => {
                    open = other.strip_prefix(own.as_str()) == Some("~");
                    open
                }
                (Some(Piece::Literal(own)), TextPiece::Literal(other)) if last => {
                    own.starts_with(other.as_str())
                }
                (Some(Piece::Literal(own)), TextPiece::Literal(other)) => own == other,
                (Some(Piece::Hole(hole)), TextPiece::Value(value, _)) => {
                    !hole.is_lossy() && self.is_part(&hole.attribute, value)
                }
                (None, TextPiece::Literal(other)) if last && closed => {
                    open = other == "~";
                    open
                }
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        open
    }

    /// Whether a test shows that a number is 0.
    fn is_zero(&self, atom: &Passed<'a>, is_it: &dyn Fn(&'a Expr) -> bool) -> bool {
        let bound = at_most(&self.group.lets, atom, &|expr| self.counts_it(expr, is_it));
        bound.is_some_and(|(most, strict)| most < 1 || (strict && most == 1))
    }

    /// Whether an expression is a number, or a sum of it and other numbers of items.
    fn counts_it(&self, expr: &'a Expr, is_it: &dyn Fn(&'a Expr) -> bool) -> bool {
        let expr = plain(&self.group.lets, expr);
        let count = |expr: &'a Expr| {
            matches!(plain(&self.group.lets, expr).kind, ExprKind::Count(_))
                || self.counts_it(expr, is_it)
        };
        match &expr.kind {
            ExprKind::Binary(Op::Plus, a, b) => {
                (self.counts_it(a, is_it) && count(b)) || (self.counts_it(b, is_it) && count(a))
            }
            _ => is_it(expr),
        }
    }
}
