//! The items and values that are tied to the values an `allow` tested, for one way in which it holds.

use std::rc::Rc;

use latchkey_value::Format;

use super::beyond::{differs, given_by};
use super::grant::is_ranked;
use super::loose::Loose;
use crate::check::flow::{Group, fixes, is_stored};
use crate::check::truth::{Passed, each, plain};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, Hole, InputId, KeyShape, Kind, Leg,
    Limit, Op, Range, Read, TextPiece, Verb, What,
};
use crate::types::Type;

/// What is tied.
#[derive(Clone, Default)]
pub(super) struct Tied<'a> {
    pub(super) items: Vec<BindingId>,
    values: Vec<&'a Expr>,
    /// The inputs that were tied before: fields of a message.
    pub(super) inputs: Vec<InputId>,
    /// The items that are known not to be there.
    absent: Vec<BindingId>,
    /// The attributes that say nothing, even of a tied item.
    pub(super) loose: Rc<Loose<'a>>,
}

/// Follows what is tied until nothing more is.
pub(super) fn tied<'a>(
    loose: &Rc<Loose<'a>>,
    group: &Group<'a>,
    guards: &[Passed<'a>],
    allowed: &[Passed<'a>],
) -> Tied<'a> {
    tied_beside(Tied::beside(loose), group, guards, allowed)
}

/// The same, where something is tied already.
pub(super) fn tied_beside<'a>(
    mut tied: Tied<'a>,
    group: &Group<'a>,
    guards: &[Passed<'a>],
    allowed: &[Passed<'a>],
) -> Tied<'a> {
    for passed in allowed {
        each(&group.lets, passed.test, &mut |part| {
            if let ExprKind::Attribute(binding, _) | ExprKind::Binding(binding) = &part.kind {
                tied.items.push(*binding);
            }
        });
    }
    let mut tests = group.known(guards);
    tests.extend(allowed);
    tied.absent = absent(group, &tests);
    let around = [guards, allowed].concat();
    // An item that was found to be the caller's stays so when it is written.
    let before = group.way.tests.iter().filter(|passed| passed.stale);
    let before: Vec<_> = before.flat_map(|passed| passed.atoms(&group.lets)).collect();
    loop {
        let size = (tied.items.len(), tied.values.len());
        tests.iter().for_each(|passed| tied.test(group, passed));
        before.iter().for_each(|passed| tied.test_before(group, passed));
        for (read, _) in &group.way.reads {
            if let Some(binding) = read.binding.filter(|binding| !tied.items.contains(binding))
                && tied.has_read(group, read)
            {
                tied.items.push(binding);
            }
        }
        for (element, result) in group.elements.iter() {
            if tied.has_item(*result) && !tied.has_item(*element) {
                tied.items.push(*element);
            }
        }
        let legs = group.legs.iter().map(|placed| placed.leg);
        for leg in legs.chain(group.way.written.iter().copied()) {
            if let Some(binding) = leg.result.filter(|binding| !tied.items.contains(binding))
                // What a put leaves, the caller gave.
                && (leg.verb == Verb::Put || tied.has_leg(group, leg))
            {
                tied.items.push(binding);
            }
        }
        tied.keys(group, &around);
        tied.beside_legs(group, guards);
        tied.within_branches(group, (guards, allowed));
        if size == (tied.items.len(), tied.values.len()) {
            break;
        }
    }
    tied
}

impl<'a> Tied<'a> {
    /// Nothing is tied, and some attributes are loose.
    pub(super) fn beside(loose: &Rc<Loose<'a>>) -> Tied<'a> {
        Tied { loose: Rc::clone(loose), ..Tied::default() }
    }

    /// Whether an item is tied.
    pub(super) fn has_item(&self, binding: BindingId) -> bool {
        self.items.contains(&binding)
    }

    /// The entity of an item that is not tied, and of which a value has an attribute. What the key of the item was given
    /// as says nothing of the item.
    pub(super) fn foreign(
        &self,
        group: &Group<'a>,
        contract: &Contract,
        value: &'a Expr,
    ) -> Option<EntityId> {
        let mut found = None;
        each(&group.lets, value, &mut |part| {
            let part = group.origin(part);
            let item = match (&part.kind, &part.of) {
                (ExprKind::Attribute(item, _) | ExprKind::Sum(item, _), _)
                | (ExprKind::Binding(item), Kind::Page(_)) => *item,
                _ => return,
            };
            if !self.has_item(item) {
                found = found.or(contract.bindings[item].kind.entity());
            }
        });
        found
    }

    /// Whether the item of a write is tied. The values that are written tie nothing: they say what becomes of the item,
    /// and not whose it was.
    pub(super) fn has_leg(&self, group: &Group<'a>, leg: &'a Leg) -> bool {
        let compared = group.insists(leg).iter().any(|test| self.is_mine(group, test));
        let is_new = |given: &'a Given| matches!(group.origin(&given.value).kind, ExprKind::New(_));
        leg.target.is_some_and(|item| self.has_item(item))
            || compared
            || self.takes_free(group, leg)
            || self.has_key(group, leg.entity, &leg.key)
            || self.has_source(group, leg)
            || leg.verb == Verb::Put
                && (leg.key.iter().any(is_new)
                    || self.absent.iter().chain(&self.items).any(|item| group.is_on(leg, *item)))
    }

    /// Whether a leg takes what nobody has: it sets attributes that were absent, one of them to a tied value. What else
    /// it sets is not of the caller's choosing: a constant, a time, a count.
    fn takes_free(&self, group: &Group<'a>, leg: &'a Leg) -> bool {
        let insisted = group.insists(leg);
        let was_absent = |name: &str| {
            insisted.iter().any(|test| match &test.test.kind {
                ExprKind::Absent(thing) => test.truth && is_stored(thing, name),
                _ => false,
            })
        };
        let is_fixed = |given: &'a Given| {
            let mut fixed = true;
            each(&group.lets, &given.value, &mut |part| {
                fixed &= match &part.kind {
                    ExprKind::Stored(name) => *name == given.attribute,
                    ExprKind::Input(_) | ExprKind::CallerId | ExprKind::Attribute(..) => false,
                    _ => true,
                };
            });
            fixed
        };
        let mut free = leg.values.iter().filter(|given| was_absent(&given.attribute));
        leg.removes.is_empty()
            && free.any(|given| self.has(group, &given.value))
            && leg.values.iter().all(|given| was_absent(&given.attribute) || is_fixed(given))
            && leg.adds.iter().all(is_fixed)
    }

    /// Whether an item is put that a tied one says the whole key of.
    fn has_source(&self, group: &Group<'a>, leg: &'a Leg) -> bool {
        let mut own = leg.of.is_some_and(|item| self.has_item(item));
        for given in &leg.key {
            each(&group.lets, &given.value, &mut |part| match &part.kind {
                ExprKind::Attribute(item, _) => own &= self.has_item(*item),
                ExprKind::Input(_) => own &= self.has(group, part),
                _ => {}
            });
        }
        own
    }

    /// Whether a value is tied.
    pub(super) fn has(&self, group: &Group<'a>, value: &'a Expr) -> bool {
        let value = group.origin(value);
        if !names(group, value) {
            return false;
        }
        match &value.kind {
            ExprKind::CallerId | ExprKind::Unknown => true,
            ExprKind::Input(input) if self.inputs.contains(input) => true,
            ExprKind::Attribute(item, name)
                if self.has_item(*item)
                    && !group.entity_of(*item).is_some_and(|of| {
                        self.loose.has(of, name) || self.loose.is_common(of, name)
                    }) =>
            {
                true
            }
            ExprKind::Text(pieces) if self.has_piece(group, pieces) => true,
            _ => self.values.iter().any(|other| {
                // A value that is tied stays so, whether or not it can be compared with others.
                std::ptr::eq(group.origin(other), value) || group.alike(other, value, None)
            }),
        }
    }

    /// Whether a part of a text is tied.
    fn has_piece(&self, group: &Group<'a>, pieces: &'a [TextPiece]) -> bool {
        pieces.iter().any(|piece| match piece {
            // Many have one day, or one name in lower case.
            TextPiece::Value(_, Some(format)) if format.is_lossy() => false,
            TextPiece::Value(value, _) => self.has(group, value),
            TextPiece::Literal(_) => false,
        })
    }

    /// Whether the beginning of a key is tied. A part that the beginning does not close is that of every value that
    /// begins alike: `al` and `alice`.
    fn has_beginning(&self, group: &Group<'a>, text: &'a Expr) -> bool {
        let text = plain(&group.lets, text);
        let ExprKind::Text(pieces) = &text.kind else {
            return is_closed(text, None) && self.has(group, text);
        };
        let closed = match pieces.split_last() {
            Some((TextPiece::Value(last, format), before)) if !is_closed(last, *format) => before,
            _ => pieces,
        };
        self.has_piece(group, closed)
    }

    /// Whether a part of a key is tied. A part that the key does not tell is that of other items, too.
    fn has_key(&self, group: &Group<'a>, entity: EntityId, key: &'a [Given]) -> bool {
        let shape = &group.model.entities[entity].key;
        let mut told = key.iter().filter(|given| shape.tells(&given.attribute));
        let parts = || key.iter().map(|given| (given.attribute.as_str(), &given.value));
        told.any(|given| self.has(group, &given.value)) && !self.is_beyond(group, parts())
    }

    /// Whether a part of a key is another than that of the caller's grant, and is not tied by itself.
    fn is_beyond(
        &self,
        group: &Group<'a>,
        mut parts: impl Iterator<Item = (&'a str, &'a Expr)>,
    ) -> bool {
        parts.any(|(name, value)| differs(group, &[], (name, value)) && !self.has(group, value))
    }

    fn has_read(&self, group: &Group<'a>, read: &'a Read) -> bool {
        match &read.what {
            What::Get(key) => self.has_key(group, read.entity, key),
            What::Batch(batch) => self.has_key(group, read.entity, &batch.key),
            What::Query(query) => {
                let sort = || match &query.range {
                    Range::Equal(text) => self.has(group, text),
                    Range::BeginsWith(text) => self.has_beginning(group, text),
                    _ => false,
                };
                let lossy = |shape: &&KeyShape| {
                    shape.partition.holes().chain(shape.sort.holes()).any(Hole::is_lossy)
                };
                let plain = || query.partition.iter().any(|text| self.has(group, text)) || sort();
                read.entities().all(|entity| {
                    let shape = group.model.entities[entity].place(query.by);
                    let beyond = || {
                        let parts = shape.map(|shape| given_by(group, shape, query));
                        parts.is_some_and(|parts| self.is_beyond(group, parts.into_iter()))
                    };
                    let found = || {
                        shape.filter(lossy).map_or_else(plain, |shape| {
                            shape.attributes().into_iter().any(|name| {
                                let part = group.queried_part(entity, query, name);
                                part.is_some_and(|part| self.has(group, part))
                            })
                        })
                    };
                    self.keeps_own(group, query.test_of(entity)) || (!beyond() && found())
                })
            }
            What::Part(part) => self.has_item(part.of),
        }
    }

    /// Whether each item that a filter keeps has a tied value.
    fn keeps_own(&self, group: &Group<'a>, keep: Option<&'a Expr>) -> bool {
        let kept = keep.into_iter().flat_map(|test| Passed::new(test, true).atoms(&group.lets));
        kept.into_iter().any(|test| self.is_mine(group, &test))
    }

    /// Whether a condition asks for a stored item of the caller: one of its attributes is tied, or the caller owns it.
    pub(super) fn is_mine(&self, group: &Group<'a>, test: &Passed<'a>) -> bool {
        fixes(test).is_some_and(|(_, value)| self.has(group, value))
            || matches!(&test.test.kind, ExprKind::Owns(thing)
                if test.truth && plain(&group.lets, thing).stored_root().is_some())
    }

    /// What a test that was passed ties.
    fn test(&mut self, group: &Group<'a>, passed: &Passed<'a>) {
        match (&passed.test.kind, passed.truth) {
            (ExprKind::Owns(thing), true) => self.tie(group, thing),
            (ExprKind::Binary(Op::Equal, a, b), true)
            | (ExprKind::Binary(Op::NotEqual, a, b), false) => {
                if self.has(group, a) {
                    self.tie(group, b);
                } else if self.has(group, b) {
                    self.tie(group, a);
                }
            }
            _ => {}
        }
    }

    /// The item that a test tied before it was written. Its values are others by now.
    fn test_before(&mut self, group: &Group<'a>, passed: &Passed<'a>) {
        let side = match (&passed.test.kind, passed.truth) {
            (ExprKind::Owns(thing), true) => Some(&**thing),
            _ => passed.equality().and_then(|(a, b)| {
                match (self.has(group, a), self.has(group, b)) {
                    (true, false) => Some(b),
                    (false, true) => Some(a),
                    _ => None,
                }
            }),
        };
        if let Some(ExprKind::Attribute(item, _)) = side.map(|side| &plain(&group.lets, side).kind)
            && !self.has_item(*item)
        {
            self.items.push(*item);
        }
    }

    /// Ties a value that names something, and the item it is an attribute of.
    pub(super) fn tie(&mut self, group: &Group<'a>, value: &'a Expr) {
        if !names(group, group.origin(value)) {
            return;
        }
        if let ExprKind::Attribute(binding, _) = &plain(&group.lets, value).kind
            && !self.items.contains(binding)
        {
            self.items.push(*binding);
        }
        if !self.has(group, value) {
            self.values.push(value);
        }
    }

    /// What the keys of tied items were given as is tied with them: an input, or an attribute of another item. A key at
    /// which nothing was found ties nothing.
    fn keys(&mut self, group: &Group<'a>, around: &[Passed<'a>]) {
        for (read, _) in &group.way.reads {
            let Some(binding) = read.binding else { continue };
            let known = self.items.contains(&binding) && is_found(group, around, binding);
            match &read.what {
                // Where a right is an attribute of an item of the caller, `escalation` looks at who makes such items.
                What::Get(key)
                    if known
                        && !self.loose.is_mute(read.entity)
                        && is_ranked(group, binding, key) =>
                {
                    key.iter().for_each(|given| self.tie(group, &given.value));
                }
                What::Get(key) if known => self.tie_key(group, read.entity, key),
                What::Part(part) if known && part.one => self.parts(group, read.entity, binding),
                What::Query(query) if known && query.limit == Some(Limit::First(1)) => {
                    self.parts(group, read.entity, binding);
                }
                What::Get(_) | What::Batch(_) | What::Query(_) | What::Part(_) => {}
            }
        }
    }

    /// Ties what the key of an item was given as. A part that callers can point anywhere says nothing, as any other
    /// attribute.
    pub(super) fn tie_key(&mut self, group: &Group<'a>, entity: EntityId, key: &'a [Given]) {
        let shape = &group.model.entities[entity].key;
        for given in key.iter().filter(|given| shape.tells(&given.attribute)) {
            if !self.loose.has(entity, &given.attribute) {
                self.tie(group, &given.value);
            }
        }
    }

    /// Ties what a query gave as the key of its one item.
    fn parts(&mut self, group: &Group<'a>, entity: EntityId, item: BindingId) {
        let names = group.model.entities[entity].key.attributes();
        for name in names {
            if let Some(value) =
                group.key_part(item, name).filter(|_| !self.loose.has(entity, name))
            {
                self.tie(group, value);
            }
        }
    }
}

/// Whether no value begins with another of the same type and form.
fn is_closed(value: &Expr, format: Option<Format>) -> bool {
    match &value.of {
        Kind::Value(Type::Ulid | Type::Time | Type::Date) => true,
        Kind::Value(Type::Int { .. }) => matches!(format, Some(Format::Padded(_))),
        _ => false,
    }
}

/// Whether a value names one thing among many: an id, a text, or a number by which something was read. Two things with
/// one word or one level have nothing else in common, nor have two that are equal to one constant.
fn names<'a>(group: &Group<'a>, value: &'a Expr) -> bool {
    if let ExprKind::Text(pieces) = &value.kind
        && pieces.iter().all(|piece| matches!(piece, TextPiece::Literal(_)))
    {
        return false;
    }
    match &value.of {
        Kind::Value(Type::Id | Type::Ulid | Type::Text { .. }) | Kind::Unknown => true,
        Kind::Value(Type::Int { .. } | Type::Number { .. }) => {
            let in_partition = |entity: EntityId, name: &str| {
                let partition = &group.model.entities[entity].key.partition;
                partition.holes().any(|hole| hole.attribute == name)
            };
            group.way.reads.iter().any(|(read, _)| match (&value.kind, &read.what) {
                (ExprKind::Attribute(binding, name), _) if read.binding == Some(*binding) => {
                    in_partition(read.entity, name)
                }
                (_, What::Get(key)) => key.iter().any(|given| {
                    in_partition(read.entity, &given.attribute)
                        && group.alike(&given.value, value, None)
                }),
                _ => false,
            })
        }
        _ => false,
    }
}

/// Whether the item of a read was there: the read answers when nothing is found, or a test found it. A write since then
/// takes nothing away.
pub(super) fn is_found<'a>(group: &Group<'a>, around: &[Passed<'a>], binding: BindingId) -> bool {
    let is_of_item = |thing: &'a Expr| match &plain(&group.lets, thing).kind {
        ExprKind::Binding(other) | ExprKind::Attribute(other, _) => *other == binding,
        _ => false,
    };
    let mut tests =
        group.way.tests.iter().chain(around).flat_map(|passed| passed.atoms(&group.lets));
    group.way.found.iter().any(|(other, found, _)| *other == binding && *found)
        || tests.any(|passed| match (&passed.test.kind, passed.truth) {
            (ExprKind::Present(thing), true) | (ExprKind::Absent(thing), false) => {
                is_of_item(thing)
            }
            _ => false,
        })
}

/// The items that tests, or the reads themselves, found not to be there.
fn absent<'a>(group: &Group<'a>, tests: &[Passed<'a>]) -> Vec<BindingId> {
    let looked = group.way.found.iter().filter(|(_, found, _)| !found).map(|(item, ..)| *item);
    let tested = tests.iter().filter_map(|passed| match (&passed.test.kind, passed.truth) {
        (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => {
            match &plain(&group.lets, thing).kind {
                ExprKind::Binding(item) => Some(*item),
                _ => None,
            }
        }
        _ => None,
    });
    looked.chain(tested).collect()
}
