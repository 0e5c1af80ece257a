//! `endless-retry`: a write that is tried again, and fails again, because nothing that the call reads has shown that it
//! can happen.
//!
//! A retry helps against another call that came between a read and the write. It does not help where what was read is
//! itself the reason: the next attempt reads the same.

use latchkey_language::{Diagnostic, Rule};

use super::Report;
use super::flow::{Group, Placed, groups};
use super::truth::{Passed, Supposed, plain};
use crate::model::{
    Attribute, Expr, ExprKind, FailureKind, Given, Leg, Model, PutMode, Read, TextPiece, What,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for placed in group.legs.iter().filter(|placed| retries(placed.leg)) {
                // What this call has written before is not what it has read.
                let written = group.way.written.iter().any(|leg| leg.entity == placed.leg.entity);
                let found = match placed.leg.put {
                    _ if written => None,
                    Some(PutMode::IfAbsent) => there_already(model, &group, placed),
                    _ => another_word(model, &group, placed),
                };
                found.into_iter().for_each(|told| report.raise(told, &placed.step.waivers));
            }
        }
    }
}

fn retries(leg: &Leg) -> bool {
    leg.failure.as_ref().is_some_and(|failure| matches!(failure.kind, FailureKind::Retry))
}

/// A word that the item may have been read with, and that the condition of the write refuses.
fn another_word<'a>(
    model: &'a Model,
    group: &Group<'a>,
    placed: &Placed<'a>,
) -> Option<Diagnostic> {
    let (_, read) = group.read_of(placed.leg.target?)?;
    model.entities[placed.leg.entity].attributes.iter().find_map(|attribute| {
        let Type::Enum(all) = &attribute.kind else { return None };
        let refused: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|word| is_refused(group, placed, read, attribute, word))
            .collect();
        (!refused.is_empty()).then(|| tell_word(placed, read, attribute, &refused))
    })
}

/// Whether an item can have a word by the tests on the way, and cannot by the condition of the write.
fn is_refused<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    read: &'a Read,
    attribute: &'a Attribute,
    supposed: &'a str,
) -> bool {
    let word = |expr: &'a Expr| {
        let is_meant = match &expr.kind {
            ExprKind::Stored(name) => *name == attribute.name,
            ExprKind::Attribute(binding, name) => {
                *name == attribute.name && group.is_on(placed.leg, *binding)
            }
            _ => false,
        };
        is_meant.then_some(supposed)
    };
    let moves = attribute.moves.as_deref().unwrap_or_default();
    let supposed = Supposed { lets: &group.lets, moves, word: &word, there: &|_| None };
    // A filter finds no item that it would drop.
    let whole = match &read.what {
        What::Part(part) => group.read_of(part.of).map(|(_, whole)| whole),
        What::Get(_) | What::Batch(_) | What::Query(_) => Some(read),
    };
    let keep = match whole.map(|whole| &whole.what) {
        Some(What::Query(query)) => query.test_of(read.entity),
        _ => None,
    };
    let kept = keep.into_iter().flat_map(|test| Passed::new(test, true).atoms(&group.lets));
    let is_possible = group
        .known(&placed.guards)
        .into_iter()
        .chain(kept)
        .all(|test| supposed.outcome(test.test) != Some(!test.truth));
    let mut insists = group.insists(placed.leg).into_iter();
    is_possible && insists.any(|test| supposed.outcome(test.test) == Some(!test.truth))
}

fn tell_word(
    placed: &Placed<'_>,
    read: &Read,
    attribute: &Attribute,
    refused: &[&str],
) -> Diagnostic {
    let (name, words) = (&attribute.name, refused.join(" or "));
    let failure = placed.leg.failure.as_ref().map_or(placed.leg.span, |failure| failure.span);
    let message = format!("trying again does not help where `{name}` is {words}");
    Diagnostic::new(Rule::EndlessRetry, failure, message)
        .other(read.span, format!("`{name}` is read here, and may be {words}"))
        .why(WHY)
        .help(format!(
            "test `{name}` before the write, and answer by what it is; or answer here: `else 409 …`"
        ))
}

const WHY: &str = "the next attempt reads the same and fails in the same way; after the last one the answer is 503";

/// A `put … if absent` of an item that nothing has looked for, under a key that is the same in every attempt.
fn there_already<'a>(
    model: &'a Model,
    group: &Group<'a>,
    placed: &Placed<'a>,
) -> Option<Diagnostic> {
    let leg = placed.leg;
    let is_read = group.way.reads.iter().any(|(read, _)| read.entity == leg.entity);
    let is_fixed = leg.key.iter().all(|given| is_fixed(group, &given.value));
    // Where another item of the same key refuses the transaction, this one may never be found.
    let is_refused_first = group.legs.iter().any(|other| {
        let tests = other.leg.condition.is_some() || other.leg.put == Some(PutMode::IfAbsent);
        let answers = tests && other.leg.failure.is_some() && !retries(other.leg);
        answers && other.leg.key.iter().all(|part| has_part(group, leg, part))
    });
    if is_read || !is_fixed || is_refused_first || leg.key.is_empty() {
        return None;
    }
    let name = &model.entities[leg.entity].name;
    let failure = leg.failure.as_ref().map_or(leg.span, |failure| failure.span);
    let message = format!("trying again does not help where the `{name}` is there already");
    let diagnostic = Diagnostic::new(Rule::EndlessRetry, failure, message)
        .why(WHY)
        .help(format!("answer here: `else 409 …`; or `get {name}` first, and answer by what it is; or `replace` it"));
    Some(diagnostic)
}

fn has_part<'a>(group: &Group<'a>, leg: &'a Leg, part: &'a Given) -> bool {
    leg.key.iter().any(|given| group.alike(&given.value, &part.value, None))
}

/// Whether a value is the same in every attempt of a call, and not new.
fn is_fixed<'a>(group: &Group<'a>, value: &'a Expr) -> bool {
    let value = plain(&group.lets, group.origin(value));
    match &value.kind {
        ExprKind::Input(_)
        | ExprKind::CallerId
        | ExprKind::Word(_)
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Told(_) => true,
        ExprKind::Shard(inner, _) => is_fixed(group, inner),
        ExprKind::Text(pieces) => pieces.iter().all(|piece| match piece {
            TextPiece::Literal(_) => true,
            TextPiece::Value(value, _) => is_fixed(group, value),
        }),
        _ => false,
    }
}
