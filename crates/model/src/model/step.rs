//! Walks the steps of a contract: the steps inside a step, and the steps it does when it fails.

use super::{FailureKind, OnFailure, Step, StepKind};

impl Step {
    /// What it does where it fails.
    pub fn failure(&self) -> Option<&OnFailure> {
        match &self.kind {
            StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure.as_ref(),
            StepKind::Read(read) => read.failure.as_ref(),
            StepKind::Write(leg) => leg.failure.as_ref(),
            StepKind::Allow(_)
            | StepKind::When(..)
            | StepKind::Let(..)
            | StepKind::Transact(_)
            | StepKind::Send(_)
            | StepKind::Return(_)
            | StepKind::End(_) => None,
        }
    }

    /// The steps directly within it: both ways of a `when`, the legs of a transaction, the block of an `else`. What
    /// follows a send is a contract of its own, and not among them.
    pub fn children(&self) -> impl Iterator<Item = &Step> {
        let (first, second): (&[Step], &[Step]) = match &self.kind {
            StepKind::When(_, yes, no) => (yes, no),
            StepKind::Transact(legs) => (legs, &[]),
            _ => match self.failure().map(|failure| &failure.kind) {
                Some(FailureKind::Steps(steps)) => (steps, &[]),
                _ => (&[], &[]),
            },
        };
        first.iter().chain(second)
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
