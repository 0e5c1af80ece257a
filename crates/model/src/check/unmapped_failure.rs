//! `unmapped-failure`: a failure with no answer.

use latchkey_language::{Diagnostic, Rule, Span};

use super::{Report, each_step};
use crate::model::{Contract, Model, Step, StepKind, Trigger};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        each_step(&contract.steps, &mut |step| {
            if let Some((span, message)) = breach(step) {
                let (why, help) = remedy(contract, step);
                let diagnostic =
                    Diagnostic::new(Rule::UnmappedFailure, span, message).why(why).help(help);
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

fn remedy(contract: &Contract, step: &Step) -> (&'static str, &'static str) {
    match (&step.kind, contract.trigger) {
        (StepKind::Send(_), _) => (
            "what waits to hear that the message was taken would wait for ever",
            "add `refused { … }`, with what becomes of it then",
        ),
        (_, Trigger::Request) => (
            "the caller would be told nothing it could act on",
            "add `else 409 name-of-the-problem`, or `else retry` where another try may succeed",
        ),
        _ => (
            "nobody would know whether the message is done with",
            "add `else later` where another try may succeed, or `else done` where all is done already",
        ),
    }
}

fn breach(step: &Step) -> Option<(Span, &'static str)> {
    match &step.kind {
        StepKind::Require(_, None) => {
            Some((step.span, "this requirement can fail, and nothing answers"))
        }
        StepKind::Match(_, None) => Some((step.span, "this match can fail, and nothing answers")),
        StepKind::Write(leg) if leg.failure.is_none() && leg.can_fail() => {
            Some((leg.span, "this write can be refused, and nothing answers"))
        }
        StepKind::Send(send) if send.accepted.is_some() && send.refused.is_none() => {
            Some((send.span, "the queue may refuse this, and nothing says what then"))
        }
        _ => None,
    }
}
