//! Walks the steps of a contract: the steps inside a step, and the steps it does when it fails.

use super::{FailureKind, OnFailure, Step, StepKind};

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

    /// Hands it and all steps within it to a function, in the order of the text.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Step)) {
        visit(self);
        self.children().for_each(|step| step.walk(visit));
    }
}

/// Hands every step to a function, those within others too.
pub fn each_step<'a>(steps: &'a [Step], visit: &mut impl FnMut(&'a Step)) {
    steps.iter().for_each(|step| step.walk(visit));
}
