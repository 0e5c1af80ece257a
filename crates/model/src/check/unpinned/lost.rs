//! A leg that answers a lost race with a reason of its own, or takes a message for done that has lost one.

use latchkey_language::{Diagnostic, Rule, Span};

use super::answer::by;
use super::pin::needs_item;
use super::{Changes, Report, asked_before};
use crate::check::flow::{Group, Placed, fixes, groups};
use crate::check::truth::{Passed, each, plain};
use crate::model::{
    BindingId, Contract, Ending, ExprKind, FailureKind, Given, Leg, Model, OnFailure, PutMode,
    StepKind, Verb, each_step,
};

pub(super) fn check<'a>(model: &'a Model, changes: &Changes<'a>, report: &mut Report) {
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for placed in &group.legs {
                let found = Found { model, contract, changes, group: &group, placed };
                let told = found.race().or_else(|| found.taken()).or_else(|| found.gone());
                let told = told
                    .or_else(|| asked_before::tell(model, contract, (changes, &group), placed.leg));
                if let Some(told) = told {
                    report.raise(told, &placed.step.waivers);
                }
            }
        }
    }
}

/// A problem that is answered: its status, its name and the members beside its text.
type Problem<'a> = (u16, &'a str, &'a [Given]);

fn problem(failure: &OnFailure) -> Option<Problem<'_>> {
    match &failure.kind {
        FailureKind::Problem { status, code, with, .. } => Some((*status, code, with)),
        FailureKind::Retry | FailureKind::Steps(_) | FailureKind::End(_) => None,
    }
}

struct Found<'a, 'g> {
    model: &'a Model,
    contract: &'a Contract,
    changes: &'g Changes<'a>,
    group: &'g Group<'a>,
    placed: &'g Placed<'a>,
}

impl<'a> Found<'a, '_> {
    /// A condition that the item is as it was read, and an `else` that neither runs again nor says so.
    fn race(&self) -> Option<Diagnostic> {
        let leg = self.placed.leg;
        let failure = leg.failure.as_ref()?;
        let insists = self.group.insists(leg);
        let (binding, name, span) = insists.iter().find_map(|test| self.as_read(test))?;
        let culprits = self.changes.overwrites(leg.entity, name);
        let other = culprits.iter().find(|other| !std::ptr::eq(**other, self.contract));
        let why = |other: &Contract| {
            format!(
                "the condition is false once {} has written the item, and says nothing else about it",
                by(self.contract, other)
            )
        };
        if let Some(problem) = problem(failure) {
            let other = other.or(culprits.first())?;
            if self.is_said_before(problem, binding, name) {
                return None;
            }
            let (status, code, _) = problem;
            let message = format!("a call that loses a race is told `{status} {code}`");
            return Some(
                Diagnostic::new(Rule::StaleAnswer, failure.span, message)
                    .other(span, "false if another call came first")
                    .why(why(other))
                    .help("write `else retry`: the call runs again, and decides on the item as it is then"),
            );
        }
        // If only the worker itself moves what it insists on, then another delivery has done the work.
        let FailureKind::End(Ending::Done) = &failure.kind else { return None };
        let message = "a message that loses a race is taken for done";
        Some(
            Diagnostic::new(Rule::StaleAnswer, failure.span, message)
                .other(span, "false if another call came first")
                .why(why(other?))
                .help("write `else retry`, or `else later`: the message is worked on again"),
        )
    }

    /// The attribute that a condition compares with what was read of the same item.
    fn as_read(&self, test: &Passed<'a>) -> Option<(BindingId, &'a str, Span)> {
        let leg = self.placed.leg;
        if matches!(test.test.kind, ExprKind::Unchanged) && test.truth {
            let counter = self.model.entities[leg.entity].counter()?;
            return Some((leg.target?, &counter.name, test.test.span));
        }
        let (name, value) = fixes(test)?;
        match &plain(&self.group.lets, value).kind {
            ExprKind::Attribute(binding, read)
                if read == name && self.group.is_on(leg, *binding) =>
            {
                Some((*binding, name, test.test.span))
            }
            _ => None,
        }
    }

    /// Whether a test on the way has the same answer for an item of which the attribute is another.
    fn is_said_before(&self, refusal: Problem<'a>, binding: BindingId, name: &str) -> bool {
        let lets = &self.group.lets;
        let counter = self.model.entities[self.placed.leg.entity].counter();
        let counts = counter.is_some_and(|counter| counter.name == name);
        let asks = |atom: &Passed<'a>| {
            let mut asks = false;
            each(lets, atom.test, &mut |part| {
                asks |= matches!(&part.kind, ExprKind::Attribute(other, read)
                    if *other == binding && read == name);
            });
            // That a counter is another is sure only where the caller has said which it is to be.
            asks && (!counts || atom.equality().is_some())
        };
        self.tested_with(refusal, &asks)
    }

    /// Whether a `require` or `match` on the way has such a test, and refuses in the same words.
    fn tested_with(&self, refusal: Problem<'a>, asks: &dyn Fn(&Passed<'a>) -> bool) -> bool {
        let tests = self.group.way.tests.iter();
        let mut such = tests.filter(|passed| passed.atoms(&self.group.lets).iter().any(asks));
        such.any(|passed| {
            let mut same = false;
            each_step(&self.contract.steps, &mut |step| {
                if let StepKind::Require(test, Some(failure))
                | StepKind::Match(test, Some(failure)) = &step.kind
                    && std::ptr::eq(test, passed.test)
                {
                    same |= problem(failure).is_some_and(|other| self.is_same(refusal, other));
                }
            });
            same
        })
    }

    fn is_same(&self, a: Problem<'a>, b: Problem<'a>) -> bool {
        let reads = |given: &Given| {
            let mut reads = false;
            given.value.walk(&mut |part| reads |= matches!(part.kind, ExprKind::Attribute(..)));
            reads
        };
        (a.0, a.1, a.2.len()) == (b.0, b.1, b.2.len())
            && a.2.iter().zip(b.2).all(|(a, b)| {
                a.attribute == b.attribute
                    && self.group.alike(&a.value, &b.value, None)
                    // What is shown is as it was read, and not what made the condition false.
                    && !reads(a)
            })
    }

    /// A condition that is false as well if the item is gone, with another answer than the read that found it.
    fn gone(&self) -> Option<Diagnostic> {
        let leg: &Leg = self.placed.leg;
        let failure = leg.failure.as_ref().filter(|_| leg.absent.is_none())?;
        let (status, code, _) = problem(failure)?;
        let conditional = leg.condition.is_some() || leg.verb == Verb::Update;
        let other = self.changes.removal(leg.entity).first().filter(|_| conditional)?;
        let mut found = self.group.way.found.iter().filter(|(_, there, _)| *there);
        let (binding, _, span) = found.find(|(binding, ..)| self.group.is_on(leg, *binding))?;
        let (_, read) = self.group.read_of(*binding)?;
        let (first, named, _) = problem(read.failure.as_ref()?)?;
        // A leg before it that needs the item is refused first.
        let mut before = self.group.legs.iter().map(|placed| placed.leg);
        let mut before = before.by_ref().take_while(|other| !std::ptr::eq(*other, leg));
        let held = before.any(|other| {
            self.group.is_on(other, *binding) && self.group.insists(other).iter().any(needs_item)
        });
        if (first, named) == (status, code) || held {
            return None;
        }
        let message = format!("a call that loses a race is told `{status} {code}`");
        Some(
            Diagnostic::new(Rule::StaleAnswer, failure.span, message)
                .other(*span, "a call that comes second is answered here")
                .why(format!(
                    "{} may remove the item after it was found, and the write is then refused for that",
                    by(self.contract, other)
                ))
                .help(format!("write `else absent {first} {named}` before the `else`")),
        )
    }

    /// A write with a condition behind a read that found nothing, with another answer than the test of that read:
    /// another call has made the item.
    fn taken(&self) -> Option<Diagnostic> {
        let leg: &Leg = self.placed.leg;
        let is_put = leg.put == Some(PutMode::IfAbsent);
        let conditional = is_put || leg.condition.is_some();
        let failure = leg.failure.as_ref().filter(|_| conditional)?;
        let refusal = problem(failure)?;
        let is_absent = |atom: &Passed<'a>| match (&atom.test.kind, atom.truth) {
            (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => {
                let thing = plain(&self.group.lets, thing);
                matches!(thing.kind, ExprKind::Binding(binding) if self.group.is_on(leg, binding))
            }
            _ => false,
        };
        let known = self.group.known(&self.placed.guards);
        let tested = known.iter().find(|atom| is_absent(atom)).map(|atom| atom.test.span);
        let mut found = self.group.way.found.iter().filter(|(_, there, _)| !there);
        let found = || found.find(|(item, ..)| self.group.is_on(leg, *item)).map(|it| it.2);
        let tested = tested.or_else(found)?;
        if self.tested_with(refusal, &is_absent) {
            return None;
        }
        let why = match is_put {
            true => {
                "both calls find the item that the other has made, and are answered differently"
                    .to_owned()
            }
            false => {
                let maker = self.changes.making(leg.entity).first()?;
                let who = by(self.contract, maker);
                format!(
                    "{who} may make the item after none was found, and the write is refused for that alone"
                )
            }
        };
        let (status, code, _) = refusal;
        let message = format!("a call that loses a race is told `{status} {code}`");
        Some(
            Diagnostic::new(Rule::StaleAnswer, failure.span, message)
                .other(tested, "a call that comes second is answered here")
                .other(leg.span, "a call that comes at the same time is refused here")
                .why(why)
                .help("write `else retry`: the call runs again and finds the item; or give the same answer in both places"),
        )
    }
}
