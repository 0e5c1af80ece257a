//! `half-done`: a call that is refused, or runs again, after it has written something.
//!
//! Looks at what answers a caller. A worker runs again by its nature, and `not-idempotent` holds it to that.

mod implied;

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use crate::lower::ends;
use crate::model::{FailureKind, Model, OnFailure, Step, StepKind, Verb, Waiver};
use implied::Asked;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        let answers_again = contract.facts.idempotent.is_some();
        let asked = Asked::default();
        Walk { model, answers_again, asked, report }.steps(&contract.steps, None, false);
    }
}

struct Walk<'a, 'r> {
    model: &'a Model,
    /// Whether the contract answers a call that has had its effect, instead of having it again.
    answers_again: bool,
    /// What the tests so far have asked for.
    asked: Asked<'a>,
    report: &'r mut Report,
}

impl<'a> Walk<'a, '_> {
    /// Goes along steps. Takes what was written before them, and whether something is written after them; tells what
    /// was written first by their end.
    fn steps(&mut self, steps: &'a [Step], mut first: Option<Span>, more: bool) -> Option<Span> {
        let last = steps.iter().rposition(writes);
        let more_after = more && !ends(steps);
        for (at, step) in steps.iter().enumerate() {
            let more = more_after || last.is_some_and(|last| at < last);
            self.implied(step, first, &step.waivers);
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

    fn legs(&mut self, steps: &'a [Step], first: Option<Span>, waivers: &[Waiver]) {
        for step in steps {
            self.implied(step, first, waivers);
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

    /// What a statement refuses by itself, after a first write; and what it asks for.
    fn implied(&mut self, step: &'a Step, first: Option<Span>, waivers: &[Waiver]) {
        match &step.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..) => self.asked.take(test),
            StepKind::Write(leg) => leg.condition.iter().for_each(|test| self.asked.take(test)),
            _ => {}
        }
        let mut division = None;
        step.expressions(&mut |value| {
            division = division.or_else(|| self.asked.division(value));
        });
        if let Some(by) = division {
            let message = "this may refuse the call after a write: it divides by what can be 0";
            let help = "ask for it before the first write, as in `require beds > 0`; or divide by `max(1, beds)`";
            self.tell_of(by.span, first, (message, IMPLIED, help), waivers);
        }
        // A write that has a problem of its own is told of for that.
        let refuses = |failure: &OnFailure| matches!(failure.kind, FailureKind::Problem { .. });
        if let StepKind::Write(leg) = &step.kind
            && !step.failures().any(refuses)
            && let Some((given, what)) = self.asked.misfit(&self.model.entities[leg.entity], leg)
        {
            let message = format!("this may refuse the call after a write: {what}");
            self.tell_of(given.span, first, (&message, IMPLIED, HELP), waivers);
        }
    }

    /// What a statement does if it fails, after a first write.
    fn failure(&mut self, step: &'a Step, first: Option<Span>, counts: bool, waivers: &[Waiver]) {
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
        self.tell_of(span, first, (message, why, HELP), waivers);
    }

    fn tell_of(
        &mut self,
        span: Span,
        first: Option<Span>,
        (message, why, help): (&str, &str, &str),
        waivers: &[Waiver],
    ) {
        let Some(first) = first else { return };
        let diagnostic = Diagnostic::new(Rule::HalfDone, span, message)
            .other(first, "written by then")
            .why(why)
            .help(help);
        self.report.raise(diagnostic, waivers);
    }
}

const IMPLIED: &str = "the caller is told that nothing was done, but the first write stays; no `else` catches a 400 of this kind";
const HELP: &str = "make all writes in one `transact { … }`, and every test before it";

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
