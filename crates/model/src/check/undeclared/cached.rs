//! A `cache` that its contract cannot have: nothing is ever answered from it.

use std::collections::HashSet;

use latchkey_language::{Diagnostic, Rule, Span};

use super::super::{Report, each_read};
use crate::model::{
    BindingId, Contract, Expr, ExprKind, Method, Read, Step, StepKind, Strong, TextPiece, What,
    each_step,
};

pub(super) fn check(contract: &Contract, report: &mut Report) {
    let facts = &contract.facts;
    let Some(span) = facts.cache.as_ref().map(|stated| stated.span) else { return };
    let is_get = contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
    if !is_get {
        let message = "nothing but a GET is answered from a cache";
        let why = "other methods and messages ask for an effect, which each of them must have";
        report.raise(unusable(span, message, why), &facts.waivers);
        return;
    }
    let mut reads = false;
    each_read(contract, |_, _| reads = true);
    if !reads {
        let message = "this contract reads nothing that a cache could keep";
        let why = "a cache keeps what the table has answered, and the contract runs for each call";
        report.raise(unusable(span, message, why), &facts.waivers);
    }
    let mut write = None;
    each_step(&contract.steps, &mut |step| {
        if matches!(step.kind, StepKind::Write(_) | StepKind::Transact(_)) {
            write = write.or(Some(step.span));
        }
    });
    if let Some(write) = write {
        let message = "a contract that writes is never answered from a cache";
        let why = "a write must not rest on what was read for another call";
        let diagnostic = unusable(span, message, why).other(write, "it writes here");
        report.raise(diagnostic, &facts.waivers);
        return;
    }
    // A name is bound above its uses.
    let mut moving = HashSet::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Let(binding, value) = &step.kind
            && very_now(value, &moving).is_some()
        {
            moving.insert(*binding);
        }
    });
    each_read(contract, |read, step| judge(read, step, &moving, span, report));
}

/// The names of values that change with every instant.
type Moving = HashSet<BindingId>;

/// A read that no cache can answer.
fn judge(read: &Read, step: &Step, moving: &Moving, stated: Span, report: &mut Report) {
    let diagnostic = if matches!(read.what, What::Part(_)) {
        // It asks nothing of the table.
        return;
    } else if matches!(read.strong, Strong::Yes) {
        let message = "this read is never answered from a cache, and no call that makes it is";
        Diagnostic::new(Rule::Undeclared, read.span, message)
            .why("it promises every earlier write, also those of other processes")
            .help("let it be eventual, or delete the `cache`")
    } else if let Some(now) = instant(read, moving) {
        let message = "no two calls make this read, so none is answered from the cache";
        Diagnostic::new(Rule::Undeclared, now, message)
            .why("`now` is another instant in each call")
            .help("read by a part of the time, as in `{now:hour}`, or delete the `cache`")
    } else {
        return;
    };
    report.raise(diagnostic.other(stated, "stated here"), &step.waivers);
}

/// Where a read asks for the very instant of the call.
fn instant(read: &Read, moving: &Moving) -> Option<Span> {
    let found = |value: &Expr| very_now(value, moving);
    match &read.what {
        What::Get(key) => key.iter().map(|given| &given.value).find_map(found),
        What::Batch(batch) => batch.values().find_map(found),
        What::Query(query) => query.values().find_map(found),
        What::Part(_) => None,
    }
}

/// Where a value changes with every instant. A part of `now` is the same for many calls.
fn very_now(value: &Expr, moving: &Moving) -> Option<Span> {
    let within = |value: &Expr| very_now(value, moving);
    match &value.kind {
        ExprKind::Now => Some(value.span),
        ExprKind::Binding(id) => moving.contains(id).then_some(value.span),
        ExprKind::Text(pieces) => pieces.iter().find_map(|piece| match piece {
            TextPiece::Value(value, None) => within(value),
            TextPiece::Value(_, Some(_)) | TextPiece::Literal(_) => None,
        }),
        ExprKind::Binary(_, a, b) => within(a).or_else(|| within(b)),
        ExprKind::Between(a, b, c) => [a, b, c].into_iter().find_map(|part| within(part)),
        ExprKind::Greatest(all) | ExprKind::Least(all) | ExprKind::Coalesce(all) => {
            all.iter().find_map(within)
        }
        _ => None,
    }
}

fn unusable(span: Span, message: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Rule::Undeclared, span, message).why(why).help("delete the `cache`")
}
