//! `no-allow`: a path to a write or a return that no `allow` stands before.

use latchkey_language::Diagnostic;

use super::Report;
use crate::model::{FailureKind, Model, Step, StepKind};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        walk(&contract.steps, false, report);
    }
}

/// Goes along the steps; whether an `allow` stands before what follows them.
fn walk(steps: &[Step], mut allowed: bool, report: &mut Report) -> bool {
    for step in steps {
        let failure = match &step.kind {
            StepKind::Allow(_) => {
                allowed = true;
                continue;
            }
            StepKind::Return(_) if !allowed => {
                raise(step, "this answers whoever asks", report);
                continue;
            }
            StepKind::Transact(_) | StepKind::Write(_) if !allowed => {
                raise(step, "this writes for whoever asks", report);
                continue;
            }
            StepKind::When(_, yes, no) => {
                let (yes, no) = (walk(yes, allowed, report), walk(no, allowed, report));
                allowed = allowed || (yes && no);
                continue;
            }
            StepKind::Transact(legs) => {
                walk(legs, allowed, report);
                continue;
            }
            StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure,
            StepKind::Read(read) => &read.failure,
            StepKind::Write(leg) => &leg.failure,
            StepKind::Return(_) | StepKind::Let(..) => continue,
        };
        if let Some(failure) = failure
            && let FailureKind::Steps(steps) = &failure.kind
        {
            walk(steps, allowed, report);
        }
    }
    allowed
}

fn raise(step: &Step, message: &str, report: &mut Report) {
    let diagnostic = Diagnostic::new("no-allow", step.span, message)
        .why("without an `allow` before it, any signed-in caller gets here")
        .help("write `allow caller owns …` or `allow caller is ROLE` on every way to it");
    report.raise(diagnostic, &step.waivers);
}
