//! With which words a call ends. Where two tests end it with the same, it does not matter which of them did.

use std::collections::HashMap;

use crate::check::flow::{End, Group};
use crate::model::{Contract, Ending, Expr, FailureKind, OnFailure, Step, StepKind, each_step};

/// The words of an end that shows nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Words<'a> {
    /// A refusal, with its status and its code.
    Problem(u16, &'a str),
    /// A message is done.
    Done,
}

/// How a test ends the call, by the test and by how it comes out where the call goes on.
pub(super) type Failures<'a> = HashMap<(*const Expr, bool), Words<'a>>;

/// How the tests of a contract end the call.
pub(super) fn failures(contract: &Contract) -> Failures<'_> {
    let mut found = Failures::new();
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Require(test, Some(failure)) | StepKind::Match(test, Some(failure)) => {
            found.extend(refusal(failure).map(|words| ((std::ptr::from_ref(test), true), words)));
        }
        StepKind::When(test, yes, no) => {
            for (block, goes_on) in [(yes, false), (no, true)] {
                let words = only(block).and_then(ending);
                found.extend(words.map(|words| ((std::ptr::from_ref(test), goes_on), words)));
            }
        }
        _ => {}
    });
    found
}

/// The words of a block that has an end and nothing else.
fn only(block: &[Step]) -> Option<&Ending> {
    match block {
        [Step { kind: StepKind::End(ending), .. }] => Some(ending),
        _ => None,
    }
}

fn ending(ending: &Ending) -> Option<Words<'_>> {
    matches!(ending, Ending::Done).then_some(Words::Done)
}

/// The words of a refusal.
pub(super) fn refusal(failure: &OnFailure) -> Option<Words<'_>> {
    match &failure.kind {
        FailureKind::Problem { status, code, with, .. } if with.is_empty() => {
            Some(Words::Problem(*status, code))
        }
        FailureKind::End(end) => ending(end),
        FailureKind::Problem { .. } | FailureKind::Retry | FailureKind::Steps(_) => None,
    }
}

/// The words with which the call ends at a place, if the step there ends it in one way.
pub(super) fn words<'a>(group: &Group<'a>) -> Option<Words<'a>> {
    match group.end? {
        End::Off | End::Done => Some(Words::Done),
        End::Uncomputed(_) => Some(Words::Problem(400, "not-computable")),
        End::Said => {
            let mut failures = group.step.failures();
            let first = failures.next().and_then(refusal);
            first.filter(|_| failures.next().is_none())
        }
    }
}
