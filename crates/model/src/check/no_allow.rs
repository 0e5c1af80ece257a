//! `no-allow`: a path to a write or an answer that no `allow` stands before.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use crate::lower::ends;
use crate::model::{ExprKind, FailureKind, Model, OnFailure, Step, StepKind};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        walk(&contract.steps, false, report);
        if contract.open.is_some() {
            open_writes(&contract.steps, report);
        }
    }
}

/// The writes of a contract that anyone may call.
fn open_writes(steps: &[Step], report: &mut Report) {
    for step in steps {
        if matches!(step.kind, StepKind::Transact(_) | StepKind::Write(_)) {
            let message = "this writes for anyone, with a token or without";
            let diagnostic = Diagnostic::new(Rule::NoAllow, step.span, message)
                .why("whoever reaches the server can do this, as often as they like, and nobody knows who it was")
                .help("ask for a caller: `allow true`; or say why anyone may: `waive no-allow \"…\"` above it");
            report.raise(diagnostic, &step.waivers);
        }
        match &step.kind {
            // The legs are told of as one; what a leg does when it is refused is not.
            StepKind::Transact(legs) => legs.iter().for_each(|leg| refused_writes(leg, report)),
            _ => step.children().for_each(|child| open_writes(std::slice::from_ref(child), report)),
        }
    }
}

fn refused_writes(leg: &Step, report: &mut Report) {
    match &leg.kind {
        StepKind::When(_, yes, no) => {
            yes.iter().chain(no).for_each(|leg| refused_writes(leg, report));
        }
        _ => leg.children().for_each(|child| open_writes(std::slice::from_ref(child), report)),
    }
}

/// Goes along the steps; whether an `allow` stands before what follows them.
fn walk(steps: &[Step], mut allowed: bool, report: &mut Report) -> bool {
    for step in steps {
        match &step.kind {
            StepKind::Allow(_) => {
                allowed = true;
                continue;
            }
            StepKind::Return(_) if !allowed => {
                raise(step, step.span, "this answers any caller", report);
                continue;
            }
            StepKind::Transact(_) | StepKind::Write(_) if !allowed => {
                raise(step, step.span, "this writes for any caller", report);
                // One `allow` before it is before what follows, too.
                allowed = true;
                continue;
            }
            StepKind::When(_, yes, no) => {
                // A way that ends is no way to what follows.
                let (on, off) = (walk(yes, allowed, report), walk(no, allowed, report));
                allowed = allowed || ((on || ends(yes)) && (off || ends(no)));
                continue;
            }
            StepKind::Transact(legs) => {
                walk(legs, allowed, report);
                continue;
            }
            StepKind::Each(each) => {
                walk(&each.body, allowed, report);
                continue;
            }
            _ => {}
        }
        for failure in step.failures() {
            match &failure.kind {
                FailureKind::Steps(steps) => {
                    walk(steps, allowed, report);
                }
                FailureKind::Problem { .. } if !allowed => {
                    if let Some(span) = tells(failure) {
                        raise(step, span, "this shows an item to any caller", report);
                    }
                }
                _ => {}
            }
        }
    }
    allowed
}

/// Where a problem tells something of an item, if it does.
fn tells(failure: &OnFailure) -> Option<Span> {
    let FailureKind::Problem { message, with, .. } = &failure.kind else { return None };
    let mut found = None;
    for told in with.iter().map(|given| &given.value).chain(message) {
        told.walk(&mut |part| {
            if matches!(part.kind, ExprKind::Attribute(..) | ExprKind::Binding(_)) {
                found = found.or(Some(part.span));
            }
        });
    }
    found
}

fn raise(step: &Step, span: Span, message: &str, report: &mut Report) {
    let diagnostic = Diagnostic::new(Rule::NoAllow, span, message)
        .why("without an `allow` before it, any signed-in caller gets here")
        .help("write `allow caller owns …` or `allow caller is ROLE` on every way to it");
    report.raise(diagnostic, &step.waivers);
}
