//! Whom a contract admits, and in which order it lists.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::{Diagnostic, Rule};

use super::answers::allows;
use super::{FEW, odd_one};
use crate::check::truth::each;
use crate::check::{Report, each_leg, each_read, each_step, flow};
use crate::model::{
    Contract, EntityId, Expr, ExprKind, InputId, Limit, Method, Model, Order, Read, Step, StepKind,
    Verb, What,
};

pub(super) fn check(model: &Model, report: &mut Report) {
    let (mut changed, mut shown) = (BTreeMap::new(), BTreeMap::new());
    // What is for anyone says so, and is no pattern for others.
    for contract in model.contracts.iter().filter(|contract| contract.open.is_none()) {
        let gets = contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
        let entities = if gets { shows(contract) } else { changes(model, contract) };
        let to = if gets { &mut shown } else { &mut changed };
        for (entity, fields) in entities {
            to.entry(entity).or_insert_with(Vec::new).push((contract, fields));
        }
        orders(contract, report);
    }
    for (entity, all) in changed {
        open(model, entity, &all, "change", report);
    }
    for (entity, all) in shown {
        open(model, entity, &all, "read", report);
    }
}

/// A contract, and what it shows of an entity; nothing where it shows all.
type Reach<'a> = (&'a Contract, BTreeSet<&'a str>);

/// The entities of which a contract changes or removes items that are there. A guard whose counter moves is as it was:
/// it is what the guard is for that changes.
fn changes<'a>(model: &Model, contract: &'a Contract) -> BTreeMap<EntityId, BTreeSet<&'a str>> {
    let mut all = BTreeMap::new();
    each_leg(contract, |leg, _| {
        let counter = model.entities[leg.entity].counter().map(|counter| &counter.name);
        let counts = leg.verb == Verb::Update
            && leg.adds.is_empty()
            && leg.removes.is_empty()
            && leg.values.iter().all(|given| Some(&given.attribute) == counter);
        if matches!(leg.verb, Verb::Update | Verb::Delete) && !counts {
            all.insert(leg.entity, BTreeSet::new());
        }
    });
    all
}

/// The entities that a contract shows, and what of them.
fn shows(contract: &Contract) -> BTreeMap<EntityId, BTreeSet<&str>> {
    let mut all = BTreeMap::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Return(answer) = &step.kind
            && let Some(binding) = answer.binding
            && let Some(entity) = contract.bindings[binding].kind.entity()
        {
            all.insert(entity, answer.fields.iter().map(String::as_str).collect());
        }
    });
    all
}

/// The one contract that admits everybody to what all others admit few to.
fn open(model: &Model, id: EntityId, all: &[Reach<'_>], what: &str, report: &mut Report) {
    let places = all.iter().map(|it| (it.0.span, !is_open(it.0), it));
    let Some(odd) = odd_one(places, FEW) else { return };
    let Some((contract, fields)) = odd.odd.first() else { return };
    // Less of an item may be for everybody.
    let no_less =
        |other: &Reach<'_>| fields.is_empty() || (!other.1.is_empty() && other.1.is_subset(fields));
    if !all.iter().any(|other| !is_open(other.0) && no_less(other)) {
        return;
    }
    let mut allow: Option<&Step> = None;
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Allow(_) = &step.kind {
            allow = allow.or(Some(step));
        }
    });
    let Some(allow) = allow else { return };
    let entity = &model.entities[id].name;
    let message = format!("everybody may {what} a `{entity}` here");
    let diagnostic = Diagnostic::new(Rule::Uneven, allow.span, message)
        .other(odd.other, "not everybody may here, and in no other contract")
        .why(format!("all {} other contracts that {what} a `{entity}` ask who calls", odd.count))
        .help("write who may; or waive this and say why everybody may");
    report.raise(diagnostic, &allow.waivers);
}

/// Whether a contract admits everybody, and does the same for everybody.
fn is_open(contract: &Contract) -> bool {
    let allows = allows(contract);
    let mut asks = false;
    each_step(&contract.steps, &mut |step| {
        step_exprs(step, &mut |expr| {
            expr.walk(&mut |part| {
                asks |= matches!(
                    part.kind,
                    ExprKind::CallerId | ExprKind::Owns(_) | ExprKind::HasRole(_)
                );
            });
        });
    });
    let all = allows.iter().all(|test| matches!(test.kind, ExprKind::Bool(true)));
    !allows.is_empty() && all && !asks
}

/// Hands what a step tests, reads by and writes to a function.
fn step_exprs<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Expr)) {
    match &step.kind {
        StepKind::Allow(test)
        | StepKind::Require(test, _)
        | StepKind::Match(test, _)
        | StepKind::When(test, ..)
        | StepKind::Let(_, test) => visit(test),
        StepKind::Read(read) => match &read.what {
            What::Get(key) => key.iter().for_each(|given| visit(&given.value)),
            What::Batch(batch) => batch.values().for_each(visit),
            What::Query(query) => query.values().for_each(visit),
            What::Part(_) => {}
        },
        StepKind::Write(leg) => {
            let given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
            given.map(|given| &given.value).chain(&leg.condition).for_each(visit);
        }
        StepKind::Send(send) => send.values.iter().for_each(|given| visit(&given.value)),
        StepKind::Each(each) => visit(&each.over),
        StepKind::Transact(_) | StepKind::Return(_) | StepKind::End(_) => {}
    }
}

/// Two pages of one contract that differ by a part of their key, and list in another order.
fn orders(contract: &Contract, report: &mut Report) {
    let mut pages: Vec<(&Read, &Step, bool, BTreeSet<InputId>)> = Vec::new();
    let lets = flow::lets(contract);
    let inputs = |expr, found: &mut BTreeSet<InputId>| {
        each(&lets, expr, &mut |part| {
            if let ExprKind::Input(input) = &part.kind {
                found.insert(*input);
            }
        });
    };
    each_read(contract, |read, step| {
        let What::Query(query) = &read.what else { return };
        let down = match query.order {
            Order::Ascending => false,
            Order::Descending => true,
            Order::DescendingWhen(_) => return,
        };
        if matches!(query.limit, Some(Limit::Page { .. })) {
            let mut found = BTreeSet::new();
            query.values().for_each(|value| inputs(value, &mut found));
            pages.push((read, step, down, found));
        }
    });
    let (mut asked, mut only_inputs) = (BTreeSet::new(), true);
    each_step(&contract.steps, &mut |step| {
        if let StepKind::When(test, ..) = &step.kind {
            inputs(test, &mut asked);
            each(&lets, test, &mut |part| {
                only_inputs &= !matches!(part.kind, ExprKind::Attribute(..));
            });
        }
    });
    let used: BTreeSet<InputId> = pages.iter().flat_map(|page| page.3.iter().copied()).collect();
    // A word of the caller that says nothing but the order is meant to change it.
    if !only_inputs || asked.is_empty() || !asked.is_subset(&used) {
        return;
    }
    let Some((first, _, down, _)) = pages.first() else { return };
    let other = pages.iter().find(|page| page.0.entity == first.entity && page.2 != *down);
    let Some((read, step, ..)) = other else { return };
    let message = "this lists in the other order";
    let diagnostic = Diagnostic::new(Rule::Uneven, read.span, message)
        .other(first.span, "the same call lists in this order")
        .why("the two differ by what is listed; a caller who asks for a part gets it the other way round")
        .help("write the same `order` in both");
    report.raise(diagnostic, &step.waivers);
}
