//! What a write rests on: the tests and reads that lead to it.

mod alike;
mod divided;
mod given;
mod way;

use std::rc::Rc;

pub(super) use way::{Branch, LeftOut, Reading, Refusal, Way};

use super::each_step;
use super::truth::{Lets, Passed, each, plain};
use crate::lower::ends;
use crate::model::{
    BindingId, Contract, Each, Ending, EntityId, Expr, ExprKind, FailureKind, Leg, Model,
    OnFailure, Read, Send, Step, StepKind, Trigger, What,
};

/// How a call ends.
#[derive(Clone, Copy)]
pub(super) enum End<'a> {
    /// With the answer of a step, or with its refusal.
    Said,
    /// With a message that is done, as the step says.
    Done,
    /// With the last statement of a block that answers nobody.
    Off,
    /// With a quotient that cannot be computed, for this divisor may be 0.
    Uncomputed(&'a Expr),
}

/// Writes that happen together, and the way to them.
pub(super) struct Group<'a> {
    /// The step: a transaction, or a write by itself.
    pub(super) step: &'a Step,
    /// How the call ends here, if it does.
    pub(super) end: Option<End<'a>>,
    pub(super) legs: Vec<Placed<'a>>,
    pub(super) sends: Vec<Sent<'a>>,
    pub(super) way: Way<'a>,
    pub(super) lets: Rc<Lets<'a>>,
    /// The elements that an `each` goes through, and the result that each is of.
    pub(super) elements: Rc<[(BindingId, BindingId)]>,
    pub(super) model: &'a Model,
}

/// A leg of a group.
#[derive(Clone)]
pub(super) struct Placed<'a> {
    pub(super) leg: &'a Leg,
    pub(super) step: &'a Step,
    /// The tests around it within the transaction. An `each` is one of them: its list, without which there is no leg.
    pub(super) guards: Vec<Passed<'a>>,
    /// The `each` that it is in.
    pub(super) each: Option<&'a Each>,
}

impl Placed<'_> {
    /// Whether a test keeps it apart from another leg of its transaction.
    pub(super) fn excludes(&self, other: &Placed<'_>) -> bool {
        let is_other =
            |a: &Passed<'_>, b: &Passed<'_>| std::ptr::eq(a.test, b.test) && a.truth != b.truth;
        self.guards.iter().any(|a| other.guards.iter().any(|b| is_other(a, b)))
    }
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

/// Every answer, refusal and end of a contract or a worker as a group: without writes, or with the legs of a
/// transaction up to the one that is refused. A worker that ends with `later` or `fail` decides again, and has not ended.
pub(super) fn moments<'a>(model: &'a Model, contract: &'a Contract) -> Vec<Group<'a>> {
    let all = walk(model, contract, Extra::Refusals);
    all.into_iter().filter(|group| group.end.is_some()).collect()
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
    /// Answers, and all refusals.
    Refusals,
    Tests,
}

fn walk<'a>(model: &'a Model, contract: &'a Contract, extra: Extra) -> Vec<Group<'a>> {
    let lets = Rc::new(lets(contract));
    let mut walk = Walk { model, lets, elements: elements(contract), extra, groups: Vec::new() };
    let way = walk.steps(&contract.steps, Way::default());
    let runs_off = contract.trigger != Trigger::Request && !ends(&contract.steps);
    if let (Extra::Refusals, true, Some(last)) = (extra, runs_off, contract.steps.last()) {
        walk.end(last, End::Off, Vec::new(), &way);
    }
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

/// The elements of results that a contract goes through with an `each` or a `get … for`.
fn elements(contract: &Contract) -> Rc<[(BindingId, BindingId)]> {
    let mut found = Vec::new();
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Each(each) => {
            found.extend(each.result().map(|result| (each.element, result)));
        }
        StepKind::Read(read) => {
            if let What::Batch(batch) = &read.what {
                found.extend(batch.result().map(|(result, element)| (element, result)));
            }
        }
        _ => {}
    });
    found.into()
}

struct Walk<'a> {
    model: &'a Model,
    lets: Rc<Lets<'a>>,
    elements: Rc<[(BindingId, BindingId)]>,
    extra: Extra,
    groups: Vec<Group<'a>>,
}

impl<'a> Walk<'a> {
    /// Goes along the steps, and tells what has happened by their end.
    fn steps(&mut self, steps: &'a [Step], mut way: Way<'a>) -> Way<'a> {
        for step in steps {
            self.test(step, &way);
            if self.extra == Extra::Refusals {
                for divisor in divided::divisors(step, &way, &self.lets) {
                    self.end(step, End::Uncomputed(divisor), Vec::new(), &way);
                }
            }
            match &step.kind {
                StepKind::Allow(test) => {
                    if self.extra == Extra::Refusals {
                        let mut refused = way.clone();
                        refused.pass(test, false);
                        self.end(step, End::Said, Vec::new(), &refused);
                    }
                    way.allows.push(test);
                    way.rights.push(test);
                    way.pass(test, true);
                }
                StepKind::Require(test, failure) | StepKind::Match(test, failure) => {
                    self.failed(step, failure.as_ref(), &way, &[], |way| way.pass(test, false));
                    way.rights.extend(failure.iter().filter(|it| it.forbids()).map(|_| test));
                    way.pass(test, true);
                }
                StepKind::When(test, yes, no) => self.when(test, yes, no, &mut way),
                StepKind::Read(read) => {
                    way.reads.push((read, way.written.len()));
                    way.readings.push(Reading { read, commits: Some(way.commits) });
                    self.failed(step, read.failure.as_ref(), &way, &[], |way| {
                        way.find(read, false)
                    });
                    way.find(read, true);
                }
                StepKind::Write(leg) => {
                    let alone = vec![Placed { leg, step, guards: Vec::new(), each: None }];
                    self.group(step, alone, Vec::new(), &way);
                    self.wrote(&mut way, [&**leg]);
                    way.commits += 1;
                }
                StepKind::Transact(inner) => {
                    self.tests_within(inner, &mut way.clone());
                    let (mut legs, mut sends) = (Vec::new(), Vec::new());
                    place(inner, (&mut Vec::new(), None), &mut legs, &mut sends);
                    let all: Vec<&Leg> = legs.iter().map(|placed| placed.leg).collect();
                    self.group(step, legs, sends, &way);
                    self.wrote(&mut way, all);
                    way.commits += 1;
                }
                StepKind::Return(_) if self.wants_answers() => {
                    self.end(step, End::Said, Vec::new(), &way);
                }
                StepKind::End(ending) if self.is_end(ending) => {
                    self.end(step, End::Done, Vec::new(), &way);
                }
                StepKind::Let(_, value) => {
                    way.named.push((plain(&self.lets, value), way.written.len()));
                }
                StepKind::Each(_) | StepKind::Send(_) | StepKind::Return(_) | StepKind::End(_) => {}
            }
        }
        way
    }

    fn when(&mut self, test: &'a Expr, yes: &'a [Step], no: &'a [Step], way: &mut Way<'a>) {
        let mut written = Vec::new();
        let mut known = Vec::new();
        let mut beside = Vec::new();
        let mut writing = Vec::new();
        for (block, truth) in [(yes, true), (no, false)] {
            let mut inner = way.clone();
            inner.pass(test, truth);
            let inner = self.steps(block, inner);
            // Where one way ends the call, what follows has gone the other.
            if ends(block) {
                let after = way.written.len();
                known.push(Passed { after, ..Passed::new(test, !truth) });
                continue;
            }
            let own = inner.written.iter().copied().skip(way.written.len());
            writing.push(own.len() > 0);
            written.extend(own);
            beside.push((inner, Passed::new(test, truth)));
        }
        way.leave_out(&beside, &writing);
        way.take_in(beside);
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
            match &step.kind {
                StepKind::When(test, yes, no) => {
                    for (block, truth) in [(yes, true), (no, false)] {
                        let mut inner = way.clone();
                        inner.pass(test, truth);
                        self.tests_within(block, &mut inner);
                    }
                }
                StepKind::Each(each) => self.tests_within(&each.body, &mut way.clone()),
                _ => {}
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
        legs: &[Placed<'a>],
        known: impl FnOnce(&mut Way<'a>),
    ) {
        let Some(failure) = failure else { return };
        let mut way = way.clone();
        known(&mut way);
        match &failure.kind {
            FailureKind::Steps(steps) => {
                self.steps(steps, way);
            }
            FailureKind::Problem { .. } if self.wants_answers() => {
                let refusals = self.extra == Extra::Refusals;
                let legs = if refusals { legs.to_vec() } else { Vec::new() };
                self.end(step, End::Said, legs, &way);
            }
            FailureKind::End(ending) if self.is_end(ending) => {
                self.end(step, End::Done, legs.to_vec(), &way);
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
        for (at, placed) in legs.iter().enumerate() {
            for failure in placed.step.failures() {
                let tried = legs.get(..=at).unwrap_or_default();
                let before = legs.iter().take(at).filter(|other| !other.excludes(placed));
                self.failed(placed.step, Some(failure), way, tried, |way| {
                    way.tests.extend(placed.guards.iter().copied());
                    way.refused.push(Refusal {
                        leg: placed.leg,
                        absent: placed
                            .leg
                            .absent
                            .as_ref()
                            .is_some_and(|it| std::ptr::eq(it, failure)),
                        passed: before.map(|other| other.leg).collect(),
                        reads: way.readings.len(),
                        tests: way.tests.len(),
                        commits: way.commits,
                    });
                });
            }
        }
        self.push(step, legs, sends, way, None);
    }

    /// Takes a place where the call ends, as a group.
    fn end(&mut self, step: &'a Step, end: End<'a>, legs: Vec<Placed<'a>>, way: &Way<'a>) {
        self.push(step, legs, Vec::new(), way, Some(end));
    }

    /// Whether an end of a worker is wanted: one after which the message does not come again.
    fn is_end(&self, ending: &Ending) -> bool {
        self.extra == Extra::Refusals && matches!(ending, Ending::Done)
    }

    fn push(
        &mut self,
        step: &'a Step,
        legs: Vec<Placed<'a>>,
        sends: Vec<Sent<'a>>,
        way: &Way<'a>,
        end: Option<End<'a>>,
    ) {
        let (lets, elements) = (Rc::clone(&self.lets), Rc::clone(&self.elements));
        let (way, model) = (way.clone(), self.model);
        self.groups.push(Group { step, end, legs, sends, way, lets, elements, model });
    }

    fn wants_answers(&self) -> bool {
        matches!(self.extra, Extra::Answers | Extra::Refusals)
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

fn place<'a>(
    steps: &'a [Step],
    (guards, each): (&mut Vec<Passed<'a>>, Option<&'a Each>),
    legs: &mut Vec<Placed<'a>>,
    sends: &mut Vec<Sent<'a>>,
) {
    for step in steps {
        match &step.kind {
            StepKind::Write(leg) => legs.push(Placed { leg, step, guards: guards.clone(), each }),
            StepKind::Each(each) => {
                guards.push(Passed::new(&each.over, true));
                place(&each.body, (guards, Some(each)), legs, sends);
                guards.pop();
            }
            StepKind::Send(send) => sends.push(Sent { send, step, guards: guards.clone() }),
            StepKind::When(test, yes, no) => {
                for (block, truth) in [(yes, true), (no, false)] {
                    guards.push(Passed::new(test, truth));
                    place(block, (&mut *guards, each), legs, sends);
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

    /// The read a binding comes from, and its place among the reads. An element of a result comes from the read of
    /// the result.
    pub(super) fn read_of(&self, binding: BindingId) -> Option<(usize, &'a Read)> {
        let binding = self.result_of(binding).unwrap_or(binding);
        let mut reads = self.way.readings.iter().map(|reading| reading.read).enumerate();
        reads.find(|(_, read)| read.binding == Some(binding))
    }

    /// The entity of the item of a binding, or of its items.
    pub(super) fn entity_of(&self, binding: BindingId) -> Option<EntityId> {
        let read = self.read_of(binding).map(|(_, read)| read.entity);
        let legs = self.legs.iter().map(|placed| placed.leg);
        let mut all = legs.chain(self.way.written.iter().copied());
        read.or_else(|| all.find(|leg| leg.result == Some(binding)).map(|leg| leg.entity))
    }

    /// The result that a binding is an element of.
    pub(super) fn result_of(&self, element: BindingId) -> Option<BindingId> {
        let mut all = self.elements.iter();
        all.find(|(other, _)| *other == element).map(|(_, result)| *result)
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
