//! `never`: a test that cannot hold, a test that always holds, and statements that no way leads to.
//!
//! The statements of `steps` are looked at wherever they are done, and told only if they are wrong in all those places.
//! A test that nothing decides is let through. The condition of a write is about what is stored by then, and is not
//! looked at.

mod decide;
mod range;

use std::collections::{BTreeMap, HashMap};

use latchkey_language::{Diagnostic, Level, Rule, Span};

use super::Report;
use super::flow::{Group, tests};
use crate::lower::ends;
use crate::model::{Contract, Expr, ExprKind, FailureKind, Model, Step, StepKind, Waiver};
use decide::{Verdict, decide};

/// How many earlier tests are shown with a test that they decide.
const SHOWN_MAX: usize = 2;

/// A test, and its outcome in every place where it stands.
struct Tested<'a> {
    step: &'a Step,
    outcomes: Vec<Option<bool>>,
    /// The tests that decide it in the first place.
    by: Vec<Span>,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut tested: BTreeMap<Span, Tested<'_>> = BTreeMap::new();
    let mut reached: BTreeMap<Span, (&[Waiver], bool)> = BTreeMap::new();
    for contract in model.bodies() {
        look(model, contract, &mut tested);
        reach(&contract.steps, &mut reached);
    }
    for (span, tested) in tested {
        if let Some(diagnostic) = tell(span, &tested) {
            report.raise(diagnostic, &tested.step.waivers);
        }
    }
    for (span, (waivers, is_reached)) in reached {
        if !is_reached {
            let diagnostic = Diagnostic::new(Rule::Never, span, "no way leads to this statement")
                .why("every way ends before it")
                .help("delete it, or move it before the statement that ends the way");
            report.raise(diagnostic, waivers);
        }
    }
}

/// Decides every test of a contract. What stands behind a test that cannot hold is not looked at: that test is told.
fn look<'a>(model: &'a Model, contract: &'a Contract, tested: &mut BTreeMap<Span, Tested<'a>>) {
    let mut decided: HashMap<*const Expr, bool> = HashMap::new();
    for group in tests(model, contract) {
        let Some(test) = test_of(group.step) else { continue };
        let passed = &group.way.tests;
        if passed.iter().any(|one| decided.get(&std::ptr::from_ref(one.test)) == Some(&!one.truth))
        {
            continue;
        }
        let (outcome, by) = match verdict(model, contract, &group, test) {
            Some((truth, by)) => (Some(truth), by),
            None => (None, Vec::new()),
        };
        decided.extend(outcome.map(|truth| (std::ptr::from_ref(test), truth)));
        let new = || Tested { step: group.step, outcomes: Vec::new(), by };
        tested.entry(test.span).or_insert_with(new).outcomes.push(outcome);
    }
}

fn test_of(step: &Step) -> Option<&Expr> {
    match &step.kind {
        StepKind::Allow(test)
        | StepKind::Require(test, _)
        | StepKind::Match(test, _)
        | StepKind::When(test, ..) => Some(test),
        _ => None,
    }
}

fn verdict<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    test: &'a Expr,
) -> Verdict {
    // `allow true` says that everyone may.
    let open = matches!(group.step.kind, StepKind::Allow(_));
    if open && matches!(test.kind, ExprKind::Bool(true)) {
        return None;
    }
    decide(model, contract, group, test)
}

fn tell(span: Span, tested: &Tested<'_>) -> Option<Diagnostic> {
    let first = tested.outcomes.first().copied().flatten()?;
    if !tested.outcomes.iter().all(|outcome| *outcome == Some(first)) {
        return None;
    }
    let otherwise = matches!(&tested.step.kind, StepKind::When(_, _, no) if !no.is_empty());
    let (message, help) = match first {
        false => ("this never holds", "correct the test, or delete what stands behind it"),
        true if otherwise => ("this always holds, so no way leads to its `else`", ALWAYS),
        true => ("this always holds", ALWAYS),
    };
    let why = match (tested.by.is_empty(), first) {
        (true, true) => "it is true for all values that its parts can have",
        (true, false) => "it is false for all values that its parts can have",
        (false, true) => "it is true on every way here, by what was found before",
        (false, false) => "it is false on every way here, by what was found before",
    };
    let mut diagnostic = Diagnostic::new(Rule::Never, span, message).why(why).help(help);
    for by in tested.by.iter().take(SHOWN_MAX) {
        diagnostic = diagnostic.other(*by, "found here");
    }
    if first && !otherwise {
        diagnostic.level = Level::Warning;
    }
    Some(diagnostic)
}

const ALWAYS: &str = "correct the test, or delete it";

/// Notes of every statement whether a way leads to it. Of those in a block that no way leads to, only the first counts.
fn reach<'a>(steps: &'a [Step], reached: &mut BTreeMap<Span, (&'a [Waiver], bool)>) {
    let mut ended = false;
    for step in steps {
        let note = reached.entry(step.span).or_insert((&step.waivers, false));
        note.1 |= !ended;
        if ended {
            return;
        }
        match &step.kind {
            StepKind::When(_, yes, no) => {
                reach(yes, reached);
                reach(no, reached);
                ended = ends(yes) && ends(no);
            }
            StepKind::Transact(legs) => reach(legs, reached),
            StepKind::Each(each) => reach(&each.body, reached),
            StepKind::Return(_) | StepKind::End(_) => ended = true,
            _ => {}
        }
        for failure in step.failures() {
            if let FailureKind::Steps(steps) = &failure.kind {
                reach(steps, reached);
            }
        }
    }
}
