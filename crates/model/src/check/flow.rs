//! What a write rests on: the tests and reads that lead to it.

use std::collections::HashMap;

use crate::lower::ends;
use crate::model::{
    Contract, Expr, ExprKind, FailureKind, Given, Leg, Model, Op, PutMode, Read, Step, StepKind,
    TextPiece, Verb,
};

/// A test, and how it came out.
#[derive(Clone, Copy)]
pub(super) struct Passed<'a> {
    pub(super) test: &'a Expr,
    pub(super) truth: bool,
}

/// Writes that happen together, and the way to them.
pub(super) struct Group<'a> {
    /// The step: a transaction, or a write by itself.
    pub(super) step: &'a Step,
    pub(super) legs: Vec<Placed<'a>>,
    /// The tests on the way.
    pub(super) tests: Vec<Passed<'a>>,
    /// The reads on the way, in order.
    pub(super) reads: Vec<&'a Read>,
}

/// A leg of a group.
pub(super) struct Placed<'a> {
    pub(super) leg: &'a Leg,
    pub(super) step: &'a Step,
    /// The tests around it within the transaction.
    pub(super) guards: Vec<Passed<'a>>,
}

/// Every group of writes of a contract.
pub(super) fn groups(contract: &Contract) -> Vec<Group<'_>> {
    let mut found = Vec::new();
    walk(&contract.steps, Vec::new(), Vec::new(), &mut found);
    found
}

fn walk<'a>(
    steps: &'a [Step],
    mut tests: Vec<Passed<'a>>,
    mut reads: Vec<&'a Read>,
    found: &mut Vec<Group<'a>>,
) {
    for step in steps {
        let failure = match &step.kind {
            StepKind::Allow(test) => {
                tests.push(Passed { test, truth: true });
                continue;
            }
            StepKind::Require(test, failure) | StepKind::Match(test, failure) => {
                tests.push(Passed { test, truth: true });
                failure
            }
            StepKind::When(test, yes, no) => {
                for (block, truth) in [(yes, true), (no, false)] {
                    let mut inner = tests.clone();
                    inner.push(Passed { test, truth });
                    walk(block, inner, reads.clone(), found);
                    // Where one way ends the call, what follows has gone the other.
                    if ends(block) {
                        tests.push(Passed { test, truth: !truth });
                    }
                }
                continue;
            }
            StepKind::Read(read) => {
                reads.push(read);
                &read.failure
            }
            StepKind::Write(leg) => {
                let legs = vec![Placed { leg, step, guards: Vec::new() }];
                found.push(Group { step, legs, tests: tests.clone(), reads: reads.clone() });
                &leg.failure
            }
            StepKind::Transact(inner) => {
                let mut legs = Vec::new();
                place(inner, &mut Vec::new(), &mut legs);
                found.push(Group { step, legs, tests: tests.clone(), reads: reads.clone() });
                continue;
            }
            StepKind::Let(..) | StepKind::Return(_) => continue,
        };
        if let Some(failure) = failure
            && let FailureKind::Steps(steps) = &failure.kind
        {
            walk(steps, tests.clone(), reads.clone(), found);
        }
    }
}

fn place<'a>(steps: &'a [Step], guards: &mut Vec<Passed<'a>>, legs: &mut Vec<Placed<'a>>) {
    for step in steps {
        match &step.kind {
            StepKind::Write(leg) => legs.push(Placed { leg, step, guards: guards.clone() }),
            StepKind::When(test, yes, no) => {
                for (block, truth) in [(yes, true), (no, false)] {
                    guards.push(Passed { test, truth });
                    place(block, guards, legs);
                    guards.pop();
                }
            }
            _ => {}
        }
    }
}

impl<'a> Group<'a> {
    /// Every test the group rests on, those around its legs too.
    pub(super) fn all_tests(&self) -> impl Iterator<Item = Passed<'a>> {
        let around = self.legs.iter().flat_map(|placed| placed.guards.iter().copied());
        self.tests.iter().copied().chain(around)
    }

    /// The read a binding comes from, and its place among the reads.
    pub(super) fn read_of(&self, binding: usize) -> Option<(usize, &'a Read)> {
        let reads = self.reads.iter().copied().enumerate();
        reads.into_iter().find(|(_, read)| read.binding == Some(binding))
    }

    /// Whether a leg is on the very item of a binding.
    pub(super) fn is_on(&self, leg: &Leg, binding: usize) -> bool {
        if leg.target == Some(binding) {
            return true;
        }
        let Some((_, read)) = self.read_of(binding) else { return false };
        match &read.what {
            crate::model::What::Get(key) => {
                leg.target.is_none() && leg.entity == read.entity && same_key(&leg.key, key)
            }
            crate::model::What::Query(_) => false,
        }
    }
}

fn same_key(a: &[Given], b: &[Given]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| a.attribute == b.attribute && same(&a.value, &b.value))
}

/// Whether two expressions are written alike, and so have one value.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Input(a), ExprKind::Input(b)) | (ExprKind::Word(a), ExprKind::Word(b)) => a == b,
        (ExprKind::Binding(a), ExprKind::Binding(b)) => a == b,
        (ExprKind::Attribute(a, x), ExprKind::Attribute(b, y)) => a == b && x == y,
        (ExprKind::Stored(a), ExprKind::Stored(b)) => a == b,
        (ExprKind::Number(a), ExprKind::Number(b)) => a == b,
        (ExprKind::Duration(a), ExprKind::Duration(b)) => a == b,
        (ExprKind::Bool(a), ExprKind::Bool(b)) => a == b,
        (ExprKind::Now, ExprKind::Now) | (ExprKind::CallerId, ExprKind::CallerId) => true,
        (ExprKind::Binary(o, a, b), ExprKind::Binary(p, c, d)) => {
            o == p && same(a, c) && same(b, d)
        }
        (ExprKind::Text(a), ExprKind::Text(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| match (a, b) {
                    (TextPiece::Literal(a), TextPiece::Literal(b)) => a == b,
                    (TextPiece::Value(a, w), TextPiece::Value(b, v)) => w == v && same(a, b),
                    _ => false,
                })
        }
        _ => false,
    }
}

/// The tests that all hold if this one does.
pub(super) fn conjuncts(test: &Expr) -> impl Iterator<Item = &Expr> {
    let mut all = Vec::new();
    let mut open = vec![test];
    while let Some(test) = open.pop() {
        match &test.kind {
            ExprKind::Binary(Op::And, a, b) => open.extend([&**b, &**a]),
            _ => all.push(test),
        }
    }
    all.into_iter()
}

/// Whether an expression is a stored attribute.
pub(super) fn is_stored(expr: &Expr, attribute: &str) -> bool {
    matches!(&expr.kind, ExprKind::Stored(name) if name == attribute)
}

/// The stored attribute a condition fixes, and to what: `.x == y`.
pub(super) fn fixes(test: &Expr) -> Option<(&str, &Expr)> {
    let ExprKind::Binary(Op::Equal, a, b) = &test.kind else { return None };
    match (&a.kind, &b.kind) {
        (ExprKind::Stored(name), _) => Some((name, b)),
        (_, ExprKind::Stored(name)) => Some((name, a)),
        _ => None,
    }
}

/// Who may change what: for every entity, which contract writes which attribute.
pub(super) struct Changes<'a> {
    by_attribute: HashMap<(usize, &'a str), Vec<&'a Contract>>,
    replaced: HashMap<usize, Vec<&'a Contract>>,
    made: HashMap<usize, Vec<&'a Contract>>,
    removed: HashMap<usize, Vec<&'a Contract>>,
}

impl<'a> Changes<'a> {
    pub(super) fn new(model: &'a Model) -> Changes<'a> {
        let mut changes = Changes {
            by_attribute: HashMap::new(),
            replaced: HashMap::new(),
            made: HashMap::new(),
            removed: HashMap::new(),
        };
        for contract in &model.contracts {
            super::each_leg(contract, |leg, _| changes.take_in(contract, leg));
        }
        changes
    }

    fn take_in(&mut self, contract: &'a Contract, leg: &'a Leg) {
        let of_entity = |map: &mut HashMap<usize, Vec<&'a Contract>>| {
            map.entry(leg.entity).or_default().push(contract);
        };
        match leg.verb {
            Verb::Put => {
                of_entity(&mut self.made);
                if leg.put != Some(PutMode::IfAbsent) {
                    of_entity(&mut self.replaced);
                }
            }
            Verb::Upsert => of_entity(&mut self.made),
            Verb::Delete => of_entity(&mut self.removed),
            Verb::Update | Verb::Check => {}
        }
        if matches!(leg.verb, Verb::Update | Verb::Upsert) {
            let set = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
            for attribute in set.chain(leg.removes.iter().map(String::as_str)) {
                self.by_attribute.entry((leg.entity, attribute)).or_default().push(contract);
            }
        }
    }

    /// Who may change an attribute of an item that is there.
    pub(super) fn attribute(&self, entity: usize, attribute: &'a str) -> Vec<&'a Contract> {
        let mut all = self.by_attribute.get(&(entity, attribute)).cloned().unwrap_or_default();
        all.extend(self.replaced.get(&entity).into_iter().flatten());
        // Removed and made anew, it may be another.
        if self.made.contains_key(&entity) {
            all.extend(self.removed.get(&entity).into_iter().flatten());
        }
        all
    }

    /// Who may remove an item.
    pub(super) fn removal(&self, entity: usize) -> &[&'a Contract] {
        self.removed.get(&entity).map_or(&[], Vec::as_slice)
    }

    /// Who may make an item.
    pub(super) fn making(&self, entity: usize) -> &[&'a Contract] {
        self.made.get(&entity).map_or(&[], Vec::as_slice)
    }
}
