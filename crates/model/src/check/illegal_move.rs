//! `illegal-move`: a write of a status from which that move is not declared.

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::flow::{Group, Placed, groups};
use super::truth::{Supposed, declared, plain};
use crate::model::{Attribute, Entity, Expr, ExprKind, Kind, Model, PutMode, Verb};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for placed in &group.legs {
                let entity = &model.entities[placed.leg.entity];
                let replaces = placed.leg.put == Some(PutMode::Replace);
                if replaces || matches!(placed.leg.verb, Verb::Update | Verb::Upsert) {
                    writes(&group, placed, entity, report);
                }
            }
        }
    }
}

fn writes<'a>(group: &Group<'a>, placed: &Placed<'a>, entity: &'a Entity, report: &mut Report) {
    for moved in moves(group, placed, entity, false) {
        if let Some(breach) = moved.pairs.first() {
            raise(placed, moved.attribute, *breach, moved.span, report);
        }
    }
}

/// Moves of an attribute that a write can make.
pub(super) struct Moved<'a> {
    pub(super) attribute: &'a Attribute,
    /// From which word to which.
    pub(super) pairs: Vec<(&'a str, &'a str)>,
    /// Where the write says so.
    span: Span,
}

/// The moves that a write can make, of each attribute that declares moves: those that are declared, or those that are
/// not.
pub(super) fn moves<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    entity: &'a Entity,
    are_declared: bool,
) -> Vec<Moved<'a>> {
    let mut all_moved = Vec::new();
    for attribute in &entity.attributes {
        let (Some(moves), Type::Enum(all)) = (&attribute.moves, &attribute.kind) else { continue };
        let given = placed.leg.values.iter().find(|given| given.attribute == attribute.name);
        // A put sets each attribute that it does not give to its default.
        let initial = attribute.default.as_ref().filter(|_| placed.leg.verb == Verb::Put);
        let initial = initial.and_then(|default| default.as_text()).map(|text| text.as_str());
        let (value, targets, span): (_, Vec<&str>, _) = match given {
            Some(given) => (Some(&given.value), words(group, &given.value, all), given.span),
            None => (None, initial.into_iter().collect(), placed.leg.span),
        };
        let pairs = all.iter().flat_map(|from| targets.iter().map(move |to| (from.as_str(), *to)));
        let pairs = pairs.filter(|(from, to)| {
            declared(moves, from, to) == are_declared
                && is_possible(group, placed, (attribute, moves), (from, to), value)
        });
        all_moved.push(Moved { attribute, pairs: pairs.collect(), span });
    }
    all_moved
}

/// The words a value can be.
pub(super) fn words<'a>(group: &Group<'a>, value: &'a Expr, all: &'a [String]) -> Vec<&'a str> {
    let value = plain(&group.lets, value);
    match (&value.kind, &value.of) {
        (ExprKind::Word(word), _) => vec![word],
        (ExprKind::Unknown, _) => Vec::new(),
        (_, Kind::Value(Type::Enum(values))) => values.iter().map(String::as_str).collect(),
        _ => all.iter().map(String::as_str).collect(),
    }
}

/// Whether the item can have the one value before the write, and the write give it the other, for all that the
/// tests on the way and the write's own condition say.
pub(super) fn is_possible<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    (attribute, moves): (&'a Attribute, &'a [(String, Vec<String>)]),
    (from, to): (&'a str, &'a str),
    value: Option<&'a Expr>,
) -> bool {
    let word = |expr: &'a Expr| match &expr.kind {
        ExprKind::Stored(name) => (*name == attribute.name).then_some(from),
        ExprKind::Attribute(binding, name)
            if *name == attribute.name && group.is_on(placed.leg, *binding) =>
        {
            Some(from)
        }
        _ => value.filter(|value| group.alike(expr, value, None)).map(|_| to),
    };
    let supposed = Supposed { lets: &group.lets, moves, word: &word, there: &|_| None };
    let known = group.known(&placed.guards).into_iter().chain(group.insists(placed.leg));
    known.into_iter().all(|test| supposed.outcome(test.test) != Some(!test.truth))
}

fn raise(
    placed: &Placed<'_>,
    attribute: &Attribute,
    (from, to): (&str, &str),
    span: Span,
    report: &mut Report,
) {
    let name = &attribute.name;
    let message = format!("this can move `{name}` from {from} to {to}, which is not declared");
    let help = match placed.leg.verb {
        Verb::Put => format!("`update` the item, once it is known that its `{name}` may move so"),
        _ => format!(
            "test it first: `require ….{name} moves to … else 409 illegal-transition`, or write \
             `if .{name} == …` on the update; or declare the move"
        ),
    };
    let diagnostic = Diagnostic::new(Rule::IllegalMove, span, message)
        .other(attribute.span, "its moves are declared with it")
        .why("a status nobody foresaw is one no other contract is written for")
        .help(help);
    report.raise(diagnostic, &placed.step.waivers);
}
