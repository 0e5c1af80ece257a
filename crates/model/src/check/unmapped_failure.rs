//! `unmapped-failure`: a failure with no answer.

use latchkey_language::{Diagnostic, Span};

use super::{Report, each_step};
use crate::model::{Failure, Leg, Model, PutMode, Step, StepKind, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        each_step(&contract.steps, &mut |step| {
            if let Some((span, message)) = breach(step) {
                let diagnostic = Diagnostic::new("unmapped-failure", span, message)
                    .why("the caller would be told nothing it could act on")
                    .help("add `else 409 name-of-the-problem`, or `else retry` where another try may succeed");
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// What a step does where it fails.
pub(super) fn failure(step: &Step) -> Option<&Failure> {
    match &step.kind {
        StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure.as_ref(),
        StepKind::Read(read) => read.failure.as_ref(),
        StepKind::Write(leg) => leg.failure.as_ref(),
        _ => None,
    }
}

fn breach(step: &Step) -> Option<(Span, &'static str)> {
    match &step.kind {
        StepKind::Require(_, None) => {
            Some((step.span, "this requirement can fail, and nothing answers"))
        }
        StepKind::Match(_, None) => Some((step.span, "this match can fail, and nothing answers")),
        StepKind::Write(leg) if leg.failure.is_none() && can_fail(leg) => {
            Some((leg.span, "this write can be refused, and nothing answers"))
        }
        _ => None,
    }
}

/// Whether a write has a condition, its own or the one it implies.
fn can_fail(leg: &Leg) -> bool {
    leg.condition.is_some()
        || leg.put == Some(PutMode::IfAbsent)
        || matches!(leg.verb, Verb::Update | Verb::Check)
}
