//! A write whose condition asks again what a test on the way has asked, with another answer: a call that comes second is
//! told the one, and a call that comes at the same time the other.
//!
//! The condition need not be the test in the same words. It is enough that the test comes out the same for every item
//! that meets the condition: where another call makes the test fail, the condition fails too.

use latchkey_language::{Diagnostic, Rule, Span};

use super::answer::by;
use super::pin::asks_again;
use super::{Changes, Fact, Use, tested};
use crate::check::each_leg;
use crate::check::flow::Group;
use crate::check::truth::{Passed, Supposed, truth_word};
use crate::model::{
    Contract, Expr, ExprKind, FailureKind, Given, Leg, Model, StepKind, Verb, each_step,
};

/// What a call is told where a test does not hold.
enum Answer<'a> {
    /// A refusal, with its status and its code.
    Problem(u16, &'a str),
    /// Something else than a refusal.
    Other,
}

/// A condition that a test on the way has asked before, with another answer.
pub(super) fn tell<'a>(
    model: &'a Model,
    contract: &'a Contract,
    (changes, group): (&Changes<'a>, &Group<'a>),
    leg: &'a Leg,
) -> Option<Diagnostic> {
    let failure = leg.failure.as_ref()?;
    let FailureKind::Problem { status, code, .. } = &failure.kind else { return None };
    let insists = group.insists(leg);
    let tests = group.way.tests.iter().filter(|_| !insists.is_empty());
    let (asked, own, answer, other) = tests.into_iter().find_map(|passed| {
        let mut facts = Vec::new();
        tested(group, *passed, &mut facts);
        facts.retain(|used| group.is_on(leg, used.fact.binding()));
        facts.iter().find_map(|used| {
            let mut again = insists.iter();
            let own = again.find(|own| asks_again(model, group, leg, own, used))?;
            let (span, answer) = answered(contract, passed)?;
            if matches!(answer, Answer::Problem(a, b) if (a, b) == (*status, code.as_str())) {
                return None;
            }
            let other = fails(model, (changes, group), leg, used)?;
            Some((span, own, answer, other))
        })
    })?;
    let message = format!("a call that loses a race is told `{status} {code}`");
    let help = match answer {
        Answer::Problem(first, named) => {
            format!("write `else {first} {named}`, as above, or `else retry`: the call runs again")
        }
        Answer::Other => "write `else retry`: the call runs again".to_owned(),
    };
    Some(
        Diagnostic::new(Rule::StaleAnswer, failure.span, message)
            .other(asked, "a call that comes second is answered here")
            .other(own.test.span, "and asked the same again here")
            .why(format!(
                "{} may change the item after it was read, and the write is then refused for that",
                by(contract, other)
            ))
            .help(help),
    )
}

/// Where a call is answered if a test comes out otherwise than it did, and how.
fn answered<'a>(contract: &'a Contract, passed: &Passed<'a>) -> Option<(Span, Answer<'a>)> {
    let is_it = |test: &Expr| std::ptr::eq(test, passed.test);
    let mut found = None;
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Allow(test) if is_it(test) => {
            found = Some((step.span, Answer::Problem(403, "forbidden")));
        }
        StepKind::Require(test, Some(failure)) | StepKind::Match(test, Some(failure))
            if is_it(test) =>
        {
            if let FailureKind::Problem { status, code, .. } = &failure.kind {
                found = Some((failure.span, Answer::Problem(*status, code)));
            }
        }
        StepKind::When(test, yes, no) if is_it(test) => {
            let last = if passed.truth { no.last() } else { yes.last() };
            let answer = last.filter(|step| matches!(step.kind, StepKind::Return(_)));
            found = answer.map(|step| (step.span, Answer::Other));
        }
        _ => {}
    });
    found
}

/// Who can make a test come out otherwise that a leg's item has passed: not one that only gives the attribute words of
/// which the test comes out the same.
fn fails<'a>(
    model: &'a Model,
    (changes, group): (&Changes<'a>, &Group<'a>),
    leg: &Leg,
    used: &Use<'a>,
) -> Option<&'a Contract> {
    let (Some(test), Fact::Attribute(binding, name)) = (used.test, &used.fact) else { return None };
    let attribute = model.entities[leg.entity].attribute(name);
    let moves = attribute.and_then(|attribute| attribute.moves.as_deref()).unwrap_or_default();
    let keeps = |given: &'a Given| {
        let word = match &given.value.kind {
            ExprKind::Word(word) => word.as_str(),
            ExprKind::Bool(truth) => truth_word(*truth),
            _ => return false,
        };
        let is_it = |expr: &'a Expr| {
            let it = matches!(&expr.kind, ExprKind::Attribute(other, attribute)
                if other == binding && attribute == name);
            it.then_some(word)
        };
        let supposed = Supposed { lets: &group.lets, moves, word: &is_it, there: &|_| None };
        given.is_whole() && supposed.outcome(test.test) == Some(test.truth)
    };
    let all = changes.overwrites(leg.entity, name);
    all.into_iter().find(|other| {
        let mut breaks = false;
        each_leg(other, |it, _| {
            let own = it.entity == leg.entity && matches!(it.verb, Verb::Update | Verb::Upsert);
            let mut given = it.values.iter().filter(|given| given.attribute == *name);
            let other_way = it.verb == Verb::Put
                || it.removes.iter().any(|other| other == name)
                || it.adds.iter().any(|given| given.attribute == *name);
            let wrote = own && given.any(|given| !keeps(given));
            breaks |= it.entity == leg.entity && (wrote || other_way);
        });
        breaks
    })
}
