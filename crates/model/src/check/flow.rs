//! What a write rests on: the tests and reads that lead to it.

use std::rc::Rc;

use super::each_step;
use super::truth::{Lets, PARTS_MAX, Passed, each, plain};
use crate::lower::ends;
use crate::model::{
    BindingId, Contract, Expr, ExprKind, FailureKind, Given, Leg, Model, OnFailure, Piece, Query,
    Range, Read, Send, Step, StepKind, Template, TextPiece, What,
};
use latchkey_language::Span;

/// What has happened on the way to a place of a contract.
#[derive(Clone, Default)]
pub(super) struct Way<'a> {
    /// What every `allow` asked.
    pub(super) allows: Vec<&'a Expr>,
    /// The tests, and how they came out.
    pub(super) tests: Vec<Passed<'a>>,
    /// The reads, in order, each with how many of the writes came before it.
    pub(super) reads: Vec<(&'a Read, usize)>,
    /// The bindings of reads that answer when nothing is found, whether something was, and where that is said.
    pub(super) found: Vec<(BindingId, bool, Span)>,
    /// The writes that may have happened.
    pub(super) written: Vec<&'a Leg>,
}

/// Writes that happen together, and the way to them.
pub(super) struct Group<'a> {
    /// The step: a transaction, or a write by itself.
    pub(super) step: &'a Step,
    pub(super) legs: Vec<Placed<'a>>,
    pub(super) sends: Vec<Sent<'a>>,
    pub(super) way: Way<'a>,
    pub(super) lets: Rc<Lets<'a>>,
    pub(super) model: &'a Model,
}

/// A leg of a group.
pub(super) struct Placed<'a> {
    pub(super) leg: &'a Leg,
    pub(super) step: &'a Step,
    /// The tests around it within the transaction.
    pub(super) guards: Vec<Passed<'a>>,
}

/// A send of a group.
pub(super) struct Sent<'a> {
    pub(super) send: &'a Send,
    pub(super) step: &'a Step,
    /// The tests around it within the transaction.
    pub(super) guards: Vec<Passed<'a>>,
}

/// Every group of writes of a contract.
pub(super) fn groups<'a>(model: &'a Model, contract: &'a Contract) -> Vec<Group<'a>> {
    walk(model, contract, Extra::Nothing)
}

/// Every group of writes of a contract, and every answer and problem as a group without any.
pub(super) fn places<'a>(model: &'a Model, contract: &'a Contract) -> Vec<Group<'a>> {
    walk(model, contract, Extra::Answers)
}

/// Every group of writes of a contract, and every test as a group without any; a test comes before what it leads to.
pub(super) fn tests<'a>(model: &'a Model, contract: &'a Contract) -> Vec<Group<'a>> {
    walk(model, contract, Extra::Tests)
}

/// What is wanted beside the groups of writes, as groups without any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    Nothing,
    Answers,
    Tests,
}

fn walk<'a>(model: &'a Model, contract: &'a Contract, extra: Extra) -> Vec<Group<'a>> {
    let lets = Rc::new(lets(contract));
    let mut walk = Walk { model, lets, extra, groups: Vec::new() };
    walk.steps(&contract.steps, Way::default());
    walk.groups
}

/// The values a contract names.
pub(super) fn lets(contract: &Contract) -> Lets<'_> {
    let mut lets = Lets::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Let(binding, value) = &step.kind {
            lets.insert(*binding, plain(&lets, value));
        }
    });
    lets
}

struct Walk<'a> {
    model: &'a Model,
    lets: Rc<Lets<'a>>,
    extra: Extra,
    groups: Vec<Group<'a>>,
}

impl<'a> Walk<'a> {
    /// Goes along the steps, and tells what has happened by their end.
    fn steps(&mut self, steps: &'a [Step], mut way: Way<'a>) -> Way<'a> {
        for step in steps {
            self.test(step, &way);
            match &step.kind {
                StepKind::Allow(test) => {
                    way.allows.push(test);
                    way.pass(test, true);
                }
                StepKind::Require(test, failure) | StepKind::Match(test, failure) => {
                    self.failed(step, failure.as_ref(), &way, |way| way.pass(test, false));
                    way.pass(test, true);
                }
                StepKind::When(test, yes, no) => self.when(test, yes, no, &mut way),
                StepKind::Read(read) => {
                    way.reads.push((read, way.written.len()));
                    self.failed(step, read.failure.as_ref(), &way, |way| way.find(read, false));
                    way.find(read, true);
                }
                StepKind::Write(leg) => {
                    let alone = vec![Placed { leg, step, guards: Vec::new() }];
                    self.group(step, alone, Vec::new(), &way);
                    self.wrote(&mut way, [&**leg]);
                }
                StepKind::Transact(inner) => {
                    self.tests_within(inner, &mut way.clone());
                    let (mut legs, mut sends) = (Vec::new(), Vec::new());
                    place(inner, &mut Vec::new(), &mut legs, &mut sends);
                    let all: Vec<&Leg> = legs.iter().map(|placed| placed.leg).collect();
                    self.group(step, legs, sends, &way);
                    self.wrote(&mut way, all);
                }
                StepKind::Return(_) if self.extra == Extra::Answers => {
                    self.group(step, Vec::new(), Vec::new(), &way);
                }
                StepKind::Let(..) | StepKind::Send(_) | StepKind::Return(_) | StepKind::End(_) => {}
            }
        }
        way
    }

    fn when(&mut self, test: &'a Expr, yes: &'a [Step], no: &'a [Step], way: &mut Way<'a>) {
        let mut written = Vec::new();
        let mut known = Vec::new();
        for (block, truth) in [(yes, true), (no, false)] {
            let mut inner = way.clone();
            inner.pass(test, truth);
            let inner = self.steps(block, inner);
            // Where one way ends the call, what follows has gone the other.
            if ends(block) {
                let after = way.written.len();
                known.push(Passed { after, ..Passed::new(test, !truth) });
            } else {
                written.extend(inner.written.into_iter().skip(way.written.len()));
            }
        }
        way.tests.extend(known);
        self.wrote(way, written);
    }

    /// Takes a test as a group, where tests are wanted.
    fn test(&mut self, step: &'a Step, way: &Way<'a>) {
        let is_test = matches!(
            step.kind,
            StepKind::Allow(_) | StepKind::Require(..) | StepKind::Match(..) | StepKind::When(..)
        );
        if is_test && self.extra == Extra::Tests {
            self.group(step, Vec::new(), Vec::new(), way);
        }
    }

    /// Takes the tests around the legs of a transaction, where tests are wanted.
    fn tests_within(&mut self, steps: &'a [Step], way: &mut Way<'a>) {
        if self.extra != Extra::Tests {
            return;
        }
        for step in steps {
            self.test(step, way);
            if let StepKind::When(test, yes, no) = &step.kind {
                for (block, truth) in [(yes, true), (no, false)] {
                    let mut inner = way.clone();
                    inner.pass(test, truth);
                    self.tests_within(block, &mut inner);
                }
            }
            step.walk(&mut |step| {
                if let StepKind::Write(leg) = &step.kind {
                    self.wrote(way, [&**leg]);
                }
            });
        }
    }

    /// Goes along what a failure does; takes a problem as a group, where answers are wanted.
    fn failed(
        &mut self,
        step: &'a Step,
        failure: Option<&'a OnFailure>,
        way: &Way<'a>,
        known: impl FnOnce(&mut Way<'a>),
    ) {
        let Some(failure) = failure else { return };
        let mut way = way.clone();
        known(&mut way);
        match &failure.kind {
            FailureKind::Steps(steps) => {
                self.steps(steps, way);
            }
            FailureKind::Problem { .. } if self.extra == Extra::Answers => {
                self.group(step, Vec::new(), Vec::new(), &way);
            }
            FailureKind::Problem { .. } | FailureKind::Retry | FailureKind::End(_) => {}
        }
    }

    fn group(
        &mut self,
        step: &'a Step,
        legs: Vec<Placed<'a>>,
        sends: Vec<Sent<'a>>,
        way: &Way<'a>,
    ) {
        // A leg that fails leaves everything as it was.
        for placed in &legs {
            self.failed(placed.step, placed.leg.failure.as_ref(), way, |way| {
                way.tests.extend(placed.guards.iter().copied());
            });
        }
        let (lets, model) = (Rc::clone(&self.lets), self.model);
        self.groups.push(Group { step, legs, sends, way: way.clone(), lets, model });
    }

    /// Takes in writes: what was known of their items is known no more.
    fn wrote(&self, way: &mut Way<'a>, legs: impl IntoIterator<Item = &'a Leg>) {
        for leg in legs {
            way.written.push(leg);
            for passed in &mut way.tests {
                each(&self.lets, passed.test, &mut |part| {
                    if let ExprKind::Attribute(binding, _) | ExprKind::Binding(binding) = &part.kind
                    {
                        passed.stale |= [leg.target, leg.result].contains(&Some(*binding));
                    }
                });
            }
        }
    }
}

impl<'a> Way<'a> {
    fn pass(&mut self, test: &'a Expr, truth: bool) {
        let after = self.written.len();
        self.tests.push(Passed { after, ..Passed::new(test, truth) });
    }

    fn find(&mut self, read: &Read, found: bool) {
        if let (Some(binding), Some(failure)) = (read.binding, &read.failure) {
            self.found.push((binding, found, failure.span));
        }
    }
}

fn place<'a>(
    steps: &'a [Step],
    guards: &mut Vec<Passed<'a>>,
    legs: &mut Vec<Placed<'a>>,
    sends: &mut Vec<Sent<'a>>,
) {
    for step in steps {
        match &step.kind {
            StepKind::Write(leg) => legs.push(Placed { leg, step, guards: guards.clone() }),
            StepKind::Send(send) => sends.push(Sent { send, step, guards: guards.clone() }),
            StepKind::When(test, yes, no) => {
                for (block, truth) in [(yes, true), (no, false)] {
                    guards.push(Passed::new(test, truth));
                    place(block, guards, legs, sends);
                    guards.pop();
                }
            }
            _ => {}
        }
    }
}

/// Whether what stands within the inner tests happens whenever what stands within the outer ones does.
pub(super) fn within(outer: &[Passed<'_>], inner: &[Passed<'_>]) -> bool {
    inner.iter().all(|test| {
        outer.iter().any(|other| std::ptr::eq(test.test, other.test) && test.truth == other.truth)
    })
}

impl<'a> Group<'a> {
    /// What is known where a leg stands within some tests: those on the way to it that nothing has made stale, taken
    /// apart.
    pub(super) fn known(&self, guards: &[Passed<'a>]) -> Vec<Passed<'a>> {
        let tests = self.way.tests.iter().chain(guards).filter(|passed| !passed.stale);
        tests.flat_map(|passed| passed.atoms(&self.lets)).collect()
    }

    /// What a leg insists on, taken apart.
    pub(super) fn insists(&self, leg: &'a Leg) -> Vec<Passed<'a>> {
        let condition = leg.condition.iter();
        condition.flat_map(|test| Passed::new(test, true).atoms(&self.lets)).collect()
    }

    /// The read a binding comes from, and its place among the reads.
    pub(super) fn read_of(&self, binding: BindingId) -> Option<(usize, &'a Read)> {
        let mut reads = self.way.reads.iter().map(|(read, _)| *read).enumerate();
        reads.find(|(_, read)| read.binding == Some(binding))
    }

    /// What a part of the key of a binding's item was given as.
    pub(super) fn key_part(&self, binding: BindingId, attribute: &str) -> Option<&'a Expr> {
        let of_key = |key: &'a [Given]| {
            key.iter().find(|given| given.attribute == attribute).map(|given| &given.value)
        };
        if let Some((_, read)) = self.read_of(binding) {
            return match &read.what {
                What::Get(key) => of_key(key),
                What::Batch(batch) => of_key(&batch.key),
                What::Query(query) => self.queried_part(read, query, attribute),
            };
        }
        let legs =
            self.legs.iter().map(|placed| placed.leg).chain(self.way.written.iter().copied());
        let made = legs.into_iter().find(|leg| leg.result == Some(binding) && leg.target.is_none());
        made.and_then(|leg| of_key(&leg.key))
    }

    fn queried_part(&self, read: &'a Read, query: &'a Query, name: &str) -> Option<&'a Expr> {
        let entity = &self.model.entities[read.entity];
        let shape = entity.place(query.by)?;
        let partition = query.partition.as_ref();
        let partition = partition.and_then(|text| self.hole(&shape.partition, text, name));
        partition.or_else(|| match &query.range {
            Range::Equal(text) => self.hole(&shape.sort, text, name),
            _ => None,
        })
    }

    /// The value that a text has where a template has an attribute, if both have the same literal parts.
    fn hole(&self, template: &Template, text: &'a Expr, name: &str) -> Option<&'a Expr> {
        let ExprKind::Text(pieces) = &plain(&self.lets, text).kind else { return None };
        let mut found = None;
        for (piece, text) in template.pieces.iter().zip(pieces) {
            match (piece, text) {
                (Piece::Literal(a), TextPiece::Literal(b)) if a == b => {}
                (Piece::Hole(hole), TextPiece::Value(value, _)) => {
                    if hole.attribute == name {
                        found = Some(value);
                    }
                }
                _ => return None,
            }
        }
        found.filter(|_| template.pieces.len() == pieces.len())
    }

    /// An expression as it was first given: a part of an item's key is what the item was asked for by.
    pub(super) fn origin(&self, expr: &'a Expr) -> &'a Expr {
        let mut expr = plain(&self.lets, expr);
        // A read names only what is above it, so this ends.
        while let ExprKind::Attribute(binding, name) = &expr.kind
            && let Some(given) = self.key_part(*binding, name)
        {
            expr = plain(&self.lets, given);
        }
        expr
    }

    /// Whether a leg is on the very item of a binding.
    pub(super) fn is_on(&self, leg: &'a Leg, binding: BindingId) -> bool {
        let asked = self.read_of(binding).is_some_and(|(_, read)| read.entity == leg.entity);
        leg.target == Some(binding)
            || asked
                && leg.key.iter().all(|given| {
                    let value = plain(&self.lets, &given.value);
                    matches!(&value.kind, ExprKind::Attribute(other, name)
                        if *other == binding && *name == given.attribute)
                        || self
                            .key_part(binding, &given.attribute)
                            .is_some_and(|part| self.alike(part, value, None))
                })
    }

    /// Whether two expressions have one value. Within the second, what is stored stands for the item of a
    /// binding, if one is given.
    pub(super) fn alike(&self, a: &'a Expr, b: &'a Expr, item: Option<BindingId>) -> bool {
        self.compare(a, b, item, &mut PARTS_MAX.clone())
    }

    /// Whether two values are equal where a leg stands within some tests: by themselves, or by tests that found them
    /// equal.
    pub(super) fn equal(&self, guards: &[Passed<'a>], a: &'a Expr, b: &'a Expr) -> bool {
        let pairs: Vec<_> = self.known(guards).iter().filter_map(Passed::equality).collect();
        let mut same = vec![a];
        let mut at = 0;
        while let Some(one) = same.get(at).copied() {
            if self.alike(one, b, None) {
                return true;
            }
            at += 1;
            for (left, right) in pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
                let new = !same.iter().any(|other| std::ptr::eq(*other, right));
                if new && self.alike(one, left, None) {
                    same.push(right);
                }
            }
        }
        false
    }

    fn compare(&self, a: &'a Expr, b: &'a Expr, item: Option<BindingId>, left: &mut usize) -> bool {
        use ExprKind as E;
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        let (a, b) = (self.origin(a), self.origin(b));
        let mut both = |a: &'a Expr, b: &'a Expr| self.compare(a, b, item, left);
        match (&a.kind, &b.kind) {
            // Something that was reported is not reported again.
            (E::Unknown, _) | (_, E::Unknown) => true,
            _ if std::ptr::eq(a, b) => true,
            (E::Attribute(binding, a), E::Stored(b)) => item == Some(*binding) && a == b,
            (E::Input(a), E::Input(b)) => a == b,
            (E::Word(a), E::Word(b)) => a == b,
            (E::Binding(a), E::Binding(b)) => a == b,
            (E::Attribute(a, x), E::Attribute(b, y)) => a == b && x == y,
            (E::Stored(a), E::Stored(b)) => item.is_none() && a == b,
            (E::Number(a), E::Number(b)) => a == b,
            (E::Duration(a), E::Duration(b)) => a == b,
            (E::Bool(a), E::Bool(b)) => a == b,
            (E::HasRole(a), E::HasRole(b)) => a == b,
            (E::Now, E::Now) | (E::CallerId, E::CallerId) => true,
            (E::Told(a), E::Told(b)) => a == b,
            (E::Shard(a, m), E::Shard(b, n)) => m == n && both(a, b),
            (E::Commitment(a), E::Commitment(b)) | (E::Reveal(a), E::Reveal(b)) => both(a, b),
            (E::Draw(a, b), E::Draw(c, d)) => both(a, c) && both(b, d),
            (E::Greatest(a), E::Greatest(b)) | (E::Least(a), E::Least(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| both(a, b))
            }
            (E::Not(a), E::Not(b))
            | (E::Owns(a), E::Owns(b))
            | (E::Present(a), E::Present(b))
            | (E::Absent(a), E::Absent(b)) => both(a, b),
            (E::Binary(o, a, b), E::Binary(p, c, d)) => o == p && both(a, c) && both(b, d),
            (E::MovesTo(a, b), E::MovesTo(c, d)) | (E::BeginsWith(a, b), E::BeginsWith(c, d)) => {
                both(a, c) && both(b, d)
            }
            (E::Between(a, b, c), E::Between(d, e, f)) => both(a, d) && both(b, e) && both(c, f),
            (E::In(a, values), E::In(b, others)) => {
                both(a, b)
                    && values.len() == others.len()
                    && values.iter().zip(others).all(|(a, b)| both(a, b))
            }
            (E::Text(a), E::Text(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| match (a, b) {
                        (TextPiece::Literal(a), TextPiece::Literal(b)) => a == b,
                        (TextPiece::Value(a, w), TextPiece::Value(b, v)) => w == v && both(a, b),
                        _ => false,
                    })
            }
            _ => false,
        }
    }
}

/// Whether an expression is a stored attribute.
pub(super) fn is_stored(expr: &Expr, attribute: &str) -> bool {
    matches!(&expr.kind, ExprKind::Stored(name) if name == attribute)
}

/// The stored attribute a test fixes, and to what: `.x == y`.
pub(super) fn fixes<'a>(passed: &Passed<'a>) -> Option<(&'a str, &'a Expr)> {
    let (a, b) = passed.equality()?;
    match (&a.kind, &b.kind) {
        (ExprKind::Stored(name), _) => Some((name, b)),
        (_, ExprKind::Stored(name)) => Some((name, a)),
        _ => None,
    }
}
