//! `half-done`: a call that is refused, or runs again, after it has written something.
//!
//! Looks at what answers a caller. A worker runs again by its nature, and `not-idempotent` holds it to that.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use crate::lower::ends;
use crate::model::{FailureKind, Model, OnFailure, Step, StepKind, Verb, Waiver};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        let answers_again = contract.facts.idempotent.is_some();
        Walk { answers_again, report }.steps(&contract.steps, None, false);
    }
}

struct Walk<'r> {
    /// Whether the contract answers a call that has had its effect, instead of having it again.
    answers_again: bool,
    report: &'r mut Report,
}

impl Walk<'_> {
    /// Goes along steps. Takes what was written before them, and whether something is written after them; tells what
    /// was written first by their end.
    fn steps(&mut self, steps: &[Step], mut first: Option<Span>, more: bool) -> Option<Span> {
        let last = steps.iter().rposition(writes);
        let more_after = more && !ends(steps);
        for (at, step) in steps.iter().enumerate() {
            let more = more_after || last.is_some_and(|last| at < last);
            match &step.kind {
                StepKind::When(_, yes, no) => {
                    let sides = [yes, no].map(|side| (self.steps(side, first, more), ends(side)));
                    let open = sides.into_iter().filter(|(_, ends)| !ends);
                    first = first.or(open.filter_map(|(first, _)| first).next());
                }
                StepKind::Transact(legs) => self.legs(legs, first, &step.waivers),
                StepKind::Allow(_) => self.refuses(step.span, first, &step.waivers),
                // A read for the answer alone may find nothing.
                StepKind::Read(_) => self.failure(step, first, more, &step.waivers),
                StepKind::Require(..) | StepKind::Match(..) | StepKind::Write(_) => {
                    self.failure(step, first, true, &step.waivers);
                }
                StepKind::Let(..)
                | StepKind::Each(_)
                | StepKind::Send(_)
                | StepKind::Return(_)
                | StepKind::End(_) => {}
            }
            let commits = matches!(step.kind, StepKind::Write(_) | StepKind::Transact(_));
            if commits && writes(step) {
                first = first.or(Some(step.span));
            }
        }
        first
    }

    fn legs(&mut self, steps: &[Step], first: Option<Span>, waivers: &[Waiver]) {
        for step in steps {
            match &step.kind {
                StepKind::When(_, yes, no) => {
                    self.legs(yes, first, waivers);
                    self.legs(no, first, waivers);
                }
                StepKind::Each(each) => self.legs(&each.body, first, waivers),
                _ => self.failure(step, first, true, waivers),
            }
        }
    }

    /// What a statement does if it fails, after a first write.
    fn failure(&mut self, step: &Step, first: Option<Span>, counts: bool, waivers: &[Waiver]) {
        for OnFailure { kind, span } in step.failures() {
            match kind {
                FailureKind::Retry if !self.answers_again => {
                    let message = "this runs the contract again after a write";
                    let why = "the first write stays, and happens again";
                    self.tell(*span, first, message, why, waivers);
                }
                FailureKind::Problem { .. } if counts => self.refuses(*span, first, waivers),
                FailureKind::Steps(steps) => {
                    self.steps(steps, first, false);
                }
                FailureKind::Retry | FailureKind::Problem { .. } | FailureKind::End(_) => {}
            }
        }
    }

    fn refuses(&mut self, span: Span, first: Option<Span>, waivers: &[Waiver]) {
        let why = "the caller is told that nothing was done, but the first write stays";
        self.tell(span, first, "this refuses the call after a write", why, waivers);
    }

    fn tell(
        &mut self,
        span: Span,
        first: Option<Span>,
        message: &str,
        why: &str,
        waivers: &[Waiver],
    ) {
        let Some(first) = first else { return };
        let diagnostic = Diagnostic::new(Rule::HalfDone, span, message)
            .other(first, "written by then")
            .why(why)
            .help("make all writes in one `transact { … }`, and every test before it");
        self.report.raise(diagnostic, waivers);
    }
}

/// Whether a step, or one within it, writes. A `check` writes nothing.
fn writes(step: &Step) -> bool {
    match &step.kind {
        StepKind::Write(leg) => leg.verb != Verb::Check,
        StepKind::Send(_) => true,
        StepKind::Transact(steps) => steps.iter().any(writes),
        StepKind::Each(each) => each.body.iter().any(writes),
        StepKind::When(_, yes, no) => yes.iter().chain(no).any(writes),
        _ => false,
    }
}
