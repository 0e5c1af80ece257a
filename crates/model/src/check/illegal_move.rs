//! `illegal-move`: a write of a status from which that move is not declared.

use latchkey_language::Diagnostic;

use super::Report;
use super::flow::{Group, Placed, conjuncts, fixes, groups, same};
use crate::model::{Attribute, Expr, ExprKind, Given, Kind, Model, Op, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
        for group in groups(contract) {
            for placed in &group.legs {
                if !matches!(placed.leg.verb, Verb::Update | Verb::Upsert) {
                    continue;
                }
                let Some(entity) = model.entities.get(placed.leg.entity) else { continue };
                for given in &placed.leg.values {
                    let Some(attribute) = entity.attribute(&given.attribute) else { continue };
                    if let Some(moves) = &attribute.moves {
                        check_move(&group, placed, given, attribute, moves, report);
                    }
                }
            }
        }
    }
}

fn check_move(
    group: &Group<'_>,
    placed: &Placed<'_>,
    given: &Given,
    attribute: &Attribute,
    moves: &[(String, Vec<String>)],
    report: &mut Report,
) {
    let name = &attribute.name;
    if is_required(group, placed, name, &given.value) {
        return;
    }
    let all: Vec<String> = match &attribute.kind {
        crate::types::Type::Enum(values) => values.clone(),
        _ => return,
    };
    let origins = origins(group, placed, name).unwrap_or_else(|| all.clone());
    let targets = match (&given.value.kind, &given.value.of) {
        (ExprKind::Word(word), _) => vec![word.clone()],
        (_, Kind::Value(crate::types::Type::Enum(values))) => values.clone(),
        _ => all,
    };
    let declared = |from: &String, to: &String| {
        moves.iter().any(|(origin, targets)| origin == from && targets.contains(to))
    };
    let breach = origins
        .iter()
        .flat_map(|from| targets.iter().map(move |to| (from, to)))
        .find(|(from, to)| !declared(from, to));
    if let Some((from, to)) = breach {
        let message = format!("this can move `{name}` from {from} to {to}, which is not declared");
        let diagnostic = Diagnostic::new("illegal-move", given.span, message)
            .other(attribute.span, "its moves are declared with it")
            .why("a status nobody foresaw is one no other contract is written for")
            .help(format!(
                "test it first: `require ….{name} moves to … else 409 illegal-transition`, or write \
                 `if .{name} == …` on the update; or declare the move"
            ));
        report.raise(diagnostic, &placed.step.waivers);
    }
}

/// Whether a test on the way asked that the very move be declared.
fn is_required(group: &Group<'_>, placed: &Placed<'_>, name: &str, value: &Expr) -> bool {
    let tests = group.tests.iter().chain(&placed.guards);
    tests.filter(|passed| passed.truth).flat_map(|passed| conjuncts(passed.test)).any(|test| {
        match &test.kind {
            ExprKind::MovesTo(from, to) => {
                let of_item = matches!(&from.kind, ExprKind::Attribute(binding, attribute)
                    if attribute == name && group.is_on(placed.leg, *binding));
                of_item && same(to, value)
            }
            _ => false,
        }
    })
}

/// The values the attribute can have before the write, if something narrows them.
fn origins(group: &Group<'_>, placed: &Placed<'_>, name: &str) -> Option<Vec<String>> {
    let word = |expr: &Expr| match &expr.kind {
        ExprKind::Word(word) => Some(word.clone()),
        _ => None,
    };
    let by_condition = placed.leg.condition.iter().flat_map(conjuncts).find_map(|test| {
        let (fixed, value) = fixes(test)?;
        if fixed == name { word(value).map(|word| vec![word]) } else { None }
    });
    if by_condition.is_some() {
        return by_condition;
    }
    let on_item = |expr: &Expr| {
        matches!(&expr.kind, ExprKind::Attribute(binding, attribute)
            if attribute == name && group.is_on(placed.leg, *binding))
    };
    let tests = group.tests.iter().chain(&placed.guards).filter(|passed| passed.truth);
    tests.flat_map(|passed| conjuncts(passed.test)).find_map(|test| match &test.kind {
        ExprKind::Binary(Op::Equal, a, b) if on_item(a) => word(b).map(|word| vec![word]),
        ExprKind::In(a, values) if on_item(a) => values.iter().map(word).collect(),
        _ => None,
    })
}
