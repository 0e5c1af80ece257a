//! A run that dies between two commits, and whose second run ends before it gets to the second of them.
//!
//! The first commit stops a second run, and what stops it says that all is done. But only the first commit is.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Around;
use crate::check::flow::{Group, Placed};
use crate::check::truth::Passed;
use crate::model::{Ending, FailureKind, OnFailure, Step, StepKind, Verb, Waiver, each_step};

/// What is wrong with a commit behind which the run makes another, with the waivers for it.
pub(super) fn tell<'a>(
    around: &Around<'a, '_>,
    all: &[Group<'a>],
) -> Option<(Diagnostic, &'a [Waiver])> {
    let group = around.group;
    let is_own = |leg| group.legs.iter().any(|placed| std::ptr::eq(placed.leg, leg));
    let later = all.iter().find(|later| {
        let writes = |placed: &Placed<'_>| placed.leg.verb != Verb::Check;
        let acts = later.legs.iter().any(writes) || !later.sends.is_empty();
        acts && later.way.written.iter().any(|leg| is_own(*leg))
    })?;
    let mut ends = group.legs.iter().filter(|placed| placed.guards.is_empty());
    let end = ends.find_map(|placed| ended(around, placed))?;
    let then = later.legs.iter().find(|placed| placed.leg.verb != Verb::Check);
    let then = then.map(|placed| placed.leg.span);
    let then = then.or_else(|| later.sends.first().map(|sent| sent.send.span))?;
    let message = "after a crash, a second run ends here, and the rest is never done";
    let diagnostic = Diagnostic::new(Rule::NotIdempotent, end, message)
        .other(then, "the rest")
        .why("the run may die between the two commits: the message comes again, meets what the first has left, and is \
              taken for done")
        .help("make both writes in one `transact { … }`; or have the last commit stop a second run, and not the first");
    Some((diagnostic, &group.step.waivers))
}

/// Where a second run is taken for done, once a leg has happened.
fn ended<'a>(around: &Around<'a, '_>, placed: &Placed<'a>) -> Option<Span> {
    let leg = placed.leg;
    let itself = (around.is_once(leg) && around.is_stable(leg)) || around.shuts_itself(leg);
    if itself && let Some(span) = leg.failure.as_ref().and_then(done) {
        return Some(span);
    }
    let way = &around.group.way;
    let tests = way.tests.iter().filter(|test| !test.stale);
    let by_test = tests.filter_map(|test| {
        let span = done_by(around, test)?;
        let atoms = test.atoms(&around.group.lets);
        let turned = atoms.iter().any(|atom| around.turns_way(placed, atom));
        turned.then_some(span)
    });
    let by_find = way.found.iter().filter_map(|(binding, found, _)| {
        let read = around.group.read_of(*binding)?.1;
        let turned = around.group.is_on(leg, *binding)
            && around.leaves_item(leg).is_some_and(|there| there != *found);
        read.failure.as_ref().and_then(done).filter(|_| turned)
    });
    by_test.chain(by_find).next()
}

/// Where a failure takes the run for done.
fn done(failure: &OnFailure) -> Option<Span> {
    match &failure.kind {
        FailureKind::End(Ending::Done) => Some(failure.span),
        FailureKind::Steps(steps) => done_at_once(steps),
        _ => None,
    }
}

/// Where steps take the run for done, and do nothing else.
fn done_at_once(steps: &[Step]) -> Option<Span> {
    match steps {
        [Step { kind: StepKind::End(Ending::Done), span, .. }] => Some(*span),
        _ => None,
    }
}

/// Where the run is taken for done if a test on the way comes out otherwise.
fn done_by(around: &Around<'_, '_>, passed: &Passed<'_>) -> Option<Span> {
    let mut found = None;
    each_step(&around.contract.steps, &mut |step| match &step.kind {
        StepKind::Require(test, Some(failure)) | StepKind::Match(test, Some(failure))
            if std::ptr::eq(test, passed.test) =>
        {
            found = done(failure);
        }
        StepKind::When(test, yes, no) if std::ptr::eq(test, passed.test) => {
            found = done_at_once(if passed.truth { no } else { yes });
        }
        _ => {}
    });
    found
}
