//! Walks the steps of a contract: the steps inside a step, and the steps it does when it fails.

use super::{Ending, Expr, FailureKind, OnFailure, Read, Step, StepKind, Strong, What};

impl Step {
    /// What it does where it fails: if its item is not there, where that has an answer of its own, and in other cases.
    pub fn failures(&self) -> impl Iterator<Item = &OnFailure> {
        let failure = match &self.kind {
            StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure.as_ref(),
            StepKind::Read(read) => read.failure.as_ref(),
            StepKind::Write(leg) => leg.failure.as_ref(),
            StepKind::Allow(_)
            | StepKind::When(..)
            | StepKind::Let(..)
            | StepKind::Transact(_)
            | StepKind::Each(_)
            | StepKind::Send(_)
            | StepKind::Return(_)
            | StepKind::End(_) => None,
        };
        let absent = match &self.kind {
            StepKind::Write(leg) => leg.absent.as_ref(),
            _ => None,
        };
        absent.into_iter().chain(failure)
    }

    /// The steps directly within it: both ways of a `when`, the legs of a transaction, the block of an `else`. What
    /// follows a send is a contract of its own, and not among them.
    pub fn children(&self) -> impl Iterator<Item = &Step> {
        let (first, second): (&[Step], &[Step]) = match &self.kind {
            StepKind::When(_, yes, no) => (yes, no),
            StepKind::Transact(legs) => (legs, &[]),
            StepKind::Each(each) => (&each.body, &[]),
            _ => (&[], &[]),
        };
        let failed = self.failures().flat_map(|failure| match &failure.kind {
            FailureKind::Steps(steps) => steps.as_slice(),
            FailureKind::Problem { .. } | FailureKind::Retry | FailureKind::End(_) => &[],
        });
        first.iter().chain(second).chain(failed)
    }

    /// Hands every expression of its own to a function, and none of the steps within it.
    pub fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..)
            | StepKind::Let(_, test) => visit(test),
            StepKind::Read(read) => read.expressions(visit),
            StepKind::Write(leg) => {
                let given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
                given.map(|given| &given.value).chain(&leg.condition).for_each(&mut *visit);
            }
            StepKind::Send(send) => {
                let given = send.values.iter().chain(&send.record).map(|given| &given.value);
                given.chain(&send.at).for_each(&mut *visit);
            }
            StepKind::Each(each) => visit(&each.over),
            StepKind::Return(returned) => {
                returned.with.iter().for_each(|given| visit(&given.value));
            }
            StepKind::End(ending) => ending.message().into_iter().for_each(&mut *visit),
            StepKind::Transact(_) => {}
        }
        for failure in self.failures() {
            match &failure.kind {
                FailureKind::Problem { message, with, .. } => {
                    with.iter().map(|given| &given.value).chain(message).for_each(&mut *visit);
                }
                FailureKind::End(ending) => ending.message().into_iter().for_each(&mut *visit),
                FailureKind::Retry | FailureKind::Steps(_) => {}
            }
        }
    }

    /// Hands it and all steps within it to a function, in the order of the text.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Step)) {
        visit(self);
        self.children().for_each(|step| step.walk(visit));
    }
}

impl Ending {
    /// The text for a person, if there is one.
    fn message(&self) -> Option<&Expr> {
        match self {
            Ending::Fail { message, .. } => message.as_ref(),
            Ending::Done | Ending::Later => None,
        }
    }
}

impl Read {
    /// Hands every expression that says what is read to a function.
    fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        if let Strong::When(test) = &self.strong {
            visit(test);
        }
        match &self.what {
            What::Get(key) => key.iter().for_each(|given| visit(&given.value)),
            What::Batch(batch) => batch.values().for_each(visit),
            What::Query(query) => query.deciding().for_each(visit),
            What::Part(_) => {}
        }
    }
}

/// Hands every step to a function, those within others too.
pub fn each_step<'a>(steps: &'a [Step], visit: &mut impl FnMut(&'a Step)) {
    steps.iter().for_each(|step| step.walk(visit));
}
