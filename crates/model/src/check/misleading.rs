//! `misleading`: a status or a code that says something else than what happened.

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::lets;
use super::truth::{Lets, each};
use super::{Report, each_step};
use crate::model::{
    BindingId, Contract, Expr, ExprKind, FailureKind, Given, Model, OnFailure, Place, PutMode,
    Read, Return, Step, StepKind, What,
};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        let lets = lets(contract);
        each_step(&contract.steps, &mut |step| {
            if let Some(diagnostic) = told(contract, &lets, step) {
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// What has happened where a problem is answered, what its status should be, and why.
struct Case {
    what: &'static str,
    fits: &'static [u16],
    why: &'static str,
    help: &'static str,
}

const MISSING: Case = Case {
    what: "there is no such item",
    fits: &[401, 402, 403, 404, 410, 451],
    why: "the path names an item that is not there, and no other status tells a client so",
    help: "write `404 …`",
};
const TAKEN: Case = Case {
    what: "the item is there already",
    fits: &[401, 402, 403, 409, 412, 422, 423, 429],
    why: "the request is well-formed and found: what it would make is there already",
    help: "write `409 …`",
};
const OUTDATED: Case = Case {
    what: "the item is another than the caller has seen",
    fits: &[409, 412, 428],
    why: "`match` compares what the caller says of the item; a client reads the item again at 409 or 412",
    help: "write `409 …`; or `require`, if the caller says nothing of the item",
};
const WRONG: Case = Case {
    what: "the request contradicts itself",
    fits: &[400, 401, 402, 403, 413, 415, 422, 429],
    why: "nothing that is stored is asked for, so the same request never comes out otherwise",
    help: "write `400 …`",
};

fn told<'a>(contract: &'a Contract, lets: &Lets<'a>, step: &'a Step) -> Option<Diagnostic> {
    if let StepKind::Return(answer) = &step.kind {
        return placed(step, answer);
    }
    let failure = failure(step)?;
    let (status, code) = problem(failure)?;
    let case = match &step.kind {
        StepKind::Read(read) if is_named_by_path(contract, read) => Some(MISSING),
        StepKind::Write(leg) if leg.put == Some(PutMode::IfAbsent) => Some(TAKEN),
        StepKind::Match(..) => Some(OUTDATED),
        StepKind::Require(test, _) if is_of_request(contract, lets, test) => Some(WRONG),
        _ => None,
    };
    let wrong = case.filter(|case| (400..500).contains(&status) && !case.fits.contains(&status));
    if let Some(Case { what, why, help, .. }) = wrong {
        let message = format!("`{status} {code}` does not say that {what}");
        return Some(Diagnostic::new(Rule::Misleading, failure.span, message).why(why).help(help));
    }
    let other = shared(contract, lets, step, (status, code))?;
    let message = format!("`{status} {code}` is answered for two reasons");
    Some(
        Diagnostic::new(Rule::Misleading, failure.span, message)
            .other(other, "and here, where something else is asked")
            .why("a client that gets it does not know which, nor whether to read the item again")
            .help("give each reason its own code"),
    )
}

/// What a step does where it fails, though its item be there.
fn failure(step: &Step) -> Option<&OnFailure> {
    match &step.kind {
        StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure.as_ref(),
        StepKind::Read(read) => read.failure.as_ref(),
        StepKind::Write(leg) => leg.failure.as_ref(),
        _ => None,
    }
}

fn problem(failure: &OnFailure) -> Option<(u16, &str)> {
    match &failure.kind {
        FailureKind::Problem { status, code, .. } => Some((*status, code)),
        FailureKind::Retry | FailureKind::Steps(_) | FailureKind::End(_) => None,
    }
}

/// An answer that says where the thing can be found, and not that it was made.
fn placed(step: &Step, answer: &Return) -> Option<Diagnostic> {
    let status = answer.status;
    answer.at.as_ref().filter(|_| !matches!(status, 201 | 202))?;
    let message = format!("this answers {status}, and says where something new is");
    Some(
        Diagnostic::new(Rule::Misleading, step.span, message)
            .why("a client looks for the place of something new at a 201 or a 202 alone")
            .help("write `return 201 …`; or leave the place out"),
    )
}

/// Whether all parts of the key of a read stand in the path.
fn is_named_by_path(contract: &Contract, read: &Read) -> bool {
    let of_path = |given: &Given| match given.value.kind {
        ExprKind::Input(input) => contract.inputs[input].place == Place::Path,
        _ => false,
    };
    matches!(&read.what, What::Get(key) if key.iter().all(of_path))
}

/// Whether a test asks only for what stands in the query string or the body.
fn is_of_request<'a>(contract: &Contract, lets: &Lets<'a>, test: &'a Expr) -> bool {
    let (mut asks, mut only) = (false, true);
    each(lets, test, &mut |part| match &part.kind {
        ExprKind::Input(input) => {
            asks = true;
            only &= matches!(contract.inputs[*input].place, Place::Query | Place::Body);
        }
        ExprKind::Binding(binding) => only &= lets.contains_key(binding),
        ExprKind::Word(_)
        | ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Duration(_)
        | ExprKind::Bool(_)
        | ExprKind::Present(_)
        | ExprKind::Absent(_)
        | ExprKind::Not(_)
        | ExprKind::Binary(..)
        | ExprKind::BeginsWith(..)
        | ExprKind::Between(..)
        | ExprKind::In(..)
        | ExprKind::Greatest(_)
        | ExprKind::Coalesce(_)
        | ExprKind::Least(_) => {}
        _ => only = false,
    });
    asks && only
}

/// Another statement of the contract that has the same answer for another reason: a test of something else than the
/// version that a `match` compares, or than the item that a read did not find.
fn shared<'a>(
    contract: &'a Contract,
    lets: &Lets<'a>,
    step: &'a Step,
    answer: (u16, &str),
) -> Option<Span> {
    let missing = match &step.kind {
        StepKind::Match(..) => None,
        // Where the item of a path is hidden, it is as if there were none.
        StepKind::Read(read) if !MISSING.fits.contains(&answer.0) => Some(read.binding?),
        _ => return None,
    };
    let mut found = None;
    each_step(&contract.steps, &mut |other| {
        let same = failure(other).and_then(problem) == Some(answer);
        let another = match &other.kind {
            StepKind::Require(test, _) => missing.is_none_or(|item| !mentions(lets, test, item)),
            _ => false,
        };
        if same && another && !std::ptr::eq(other, step) {
            found = found.or(failure(other).map(|failure| failure.span));
        }
    });
    found
}

fn mentions<'a>(lets: &Lets<'a>, test: &'a Expr, item: BindingId) -> bool {
    let mut found = false;
    each(lets, test, &mut |part| {
        found |= matches!(&part.kind, ExprKind::Attribute(binding, _) | ExprKind::Binding(binding)
            if *binding == item);
    });
    found
}
