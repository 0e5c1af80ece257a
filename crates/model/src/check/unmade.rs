//! `unmade`: a change that a contract speaks of and does not make.
//!
//! It tests that a status may move to a word, and writes the item without that word. It sets the time of a change, and
//! changes nothing. Its method says that something changes, and no way through it writes or sends.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::{Group, Placed, groups};
use super::truth::plain;
use super::uneven::changed;
use super::{Report, each_leg, each_step};
use crate::model::{Contract, ExprKind, Kind, Leg, Method, Model, Step, StepKind, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut told = BTreeSet::new();
    let bodies = model.bodies();
    let all: Vec<(&Contract, Vec<Group<'_>>)> =
        bodies.into_iter().map(|contract| (contract, groups(model, contract))).collect();
    for (contract, groups) in &all {
        for (group, placed) in groups.iter().flat_map(|it| it.legs.iter().map(move |leg| (it, leg)))
        {
            if let Some(diagnostic) = unmoved(contract, group, placed) {
                told.insert(placed.leg.span);
                report.raise(diagnostic, &placed.step.waivers);
            }
        }
    }
    let groups: Vec<&Group<'_>> = all.iter().flat_map(|(_, groups)| groups).collect();
    idle(model, &groups, &told, report);
    for contract in &model.contracts {
        if let Some((diagnostic, step)) = silent(contract) {
            report.raise(diagnostic, &step.waivers);
        }
    }
}

/// An update behind the test that a status may move to a word, if nothing moves it there.
fn unmoved<'a>(
    contract: &'a Contract,
    group: &Group<'a>,
    placed: &Placed<'a>,
) -> Option<Diagnostic> {
    let leg = placed.leg;
    if leg.verb != Verb::Update {
        return None;
    }
    group.known(&placed.guards).iter().find_map(|passed| {
        let (ExprKind::MovesTo(from, to), true) = (&passed.test.kind, passed.truth) else {
            return None;
        };
        let ExprKind::Attribute(binding, name) = &plain(&group.lets, from).kind else {
            return None;
        };
        let mut made = !group.is_on(leg, *binding);
        each_leg(contract, |other, _| {
            let given = other.values.iter().find(|given| given.attribute == *name);
            let same = given.is_some_and(|given| group.alike(&given.value, to, None));
            made |= other.entity == leg.entity && same;
        });
        if made {
            return None;
        }
        let set = leg.values.iter().find(|given| given.attribute == *name);
        let (span, message) = match set {
            Some(given) => (given.span, format!("this moves `{name}` to another word than was tested")),
            None => (leg.span, format!("this update leaves `{name}` as it was")),
        };
        Some(
            Diagnostic::new(Rule::Unmade, span, message)
                .other(passed.test.span, "the move is tested here")
                .why("a call that passes the test is answered as if the move were made")
                .help(format!("set `{name}` to what was tested; or test what the contract needs to know, such as `== …`")),
        )
    })
}

/// An update that sets the time of a change and changes nothing, where all other updates with that time do.
fn idle(model: &Model, groups: &[&Group<'_>], told: &BTreeSet<Span>, report: &mut Report) {
    let mut by_name: BTreeMap<&str, (BTreeSet<Span>, Vec<&Placed<'_>>)> = BTreeMap::new();
    for (group, placed) in groups.iter().flat_map(|it| it.legs.iter().map(move |leg| (it, leg))) {
        if placed.leg.verb != Verb::Update {
            continue;
        }
        let changes = changed(model, placed.leg);
        for name in &changes {
            if !is_now(group, placed.leg, name) {
                continue;
            }
            let (others, alone) = by_name.entry(name).or_default();
            match changes.len() {
                1 => alone.push(placed),
                _ => {
                    others.insert(placed.leg.span);
                }
            }
        }
    }
    for (name, (others, alone)) in by_name {
        let places: BTreeSet<Span> = alone.iter().map(|placed| placed.leg.span).collect();
        let (Some(placed), Some(other)) = (alone.first(), others.first()) else { continue };
        if places.len() != 1 || others.len() < 2 || told.contains(&placed.leg.span) {
            continue;
        }
        let message = format!("this update sets `{name}` and changes nothing");
        let diagnostic = Diagnostic::new(Rule::Unmade, placed.leg.span, message)
            .other(*other, format!("with `{name}` something changes here, as in all others"))
            .why(format!("`{name}` is the time of a change, and there is none"))
            .help("set what is to change; or leave the write out");
        report.raise(diagnostic, &placed.step.waivers);
    }
}

/// Whether a write sets an attribute to `now`. A time that lies ahead, such as `now + 14d`, is no time of a change.
fn is_now<'a>(group: &Group<'a>, leg: &'a Leg, name: &str) -> bool {
    let mut set = leg.values.iter().filter(|given| given.attribute == name && !given.maybe);
    set.any(|given| matches!(plain(&group.lets, &given.value).kind, ExprKind::Now))
}

/// The last answer of a contract whose method says that it changes something, if no way writes or sends.
fn silent(contract: &Contract) -> Option<(Diagnostic, &Step)> {
    let route = contract.route.as_ref().filter(|route| route.method != Method::Get)?;
    let (mut acts, mut answer, mut lists) = (false, None, false);
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Write(leg) => acts |= leg.verb != Verb::Check,
        StepKind::Send(_) => acts = true,
        StepKind::Return(shown) => {
            answer = Some(step);
            let kind = shown.binding.map(|binding| &contract.bindings[binding].kind);
            lists |= matches!(kind, Some(Kind::Page(_) | Kind::Collection(_)));
        }
        _ => {}
    });
    // A search whose terms are too long for a query string is a POST.
    if acts || (lists && route.method == Method::Post) {
        return None;
    }
    let step = answer?;
    let message = "this contract changes nothing";
    let diagnostic = Diagnostic::new(Rule::Unmade, route.span, message)
        .other(step.span, "answered as if something had changed")
        .why("its method says that a call changes something, and no way through it writes or sends")
        .help("write what is to change; or make it a GET");
    Some((diagnostic, step))
}
