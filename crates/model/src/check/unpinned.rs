//! `unpinned`: a write that rests on a fact which may have changed since it was read.
//!
//! A fact is an attribute of an item that was read, or that the item was there, or was not. A write rests on
//! it if a test on the way to the write asked for it, or if the write's own key or values hold it. It is
//! *pinned* if no contract can change it; if a leg of the same transaction insists that it is as it was; or
//! if its entity is guarded, and the guard was read first and is unchanged in the transaction.

use latchkey_language::{Diagnostic, Span};

use super::Report;
use super::flow::{Changes, Group, conjuncts, fixes, groups};
use crate::model::{Contract, Expr, ExprKind, Kind, Leg, Model, PutMode, StepKind, Verb};

/// Something that was read and relied on.
#[derive(Clone, PartialEq, Eq)]
enum Fact<'a> {
    /// The value of an attribute.
    Attribute(usize, &'a str),
    /// That the item is there.
    There(usize),
    /// That the item is not there.
    NotThere(usize),
}

impl Fact<'_> {
    fn binding(&self) -> usize {
        match self {
            Fact::Attribute(binding, _) | Fact::There(binding) | Fact::NotThere(binding) => {
                *binding
            }
        }
    }
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    for contract in &model.contracts {
        for group in groups(contract) {
            if group.legs.iter().all(|placed| placed.leg.verb == Verb::Check) {
                continue;
            }
            let mut told: Vec<Fact<'_>> = Vec::new();
            for (fact, used) in facts(model, &group) {
                if told.contains(&fact) || is_pinned(model, contract, &group, &fact) {
                    continue;
                }
                let culprits = culprits(model, contract, &changes, &fact);
                if culprits.is_empty() {
                    continue;
                }
                told.push(fact.clone());
                let diagnostic = story(model, contract, &group, &fact, used, &culprits);
                report.raise(diagnostic, &group.step.waivers);
            }
        }
    }
}

/// Every fact a group rests on, and where it is used.
fn facts<'a>(model: &'a Model, group: &Group<'a>) -> Vec<(Fact<'a>, Span)> {
    let mut found = Vec::new();
    for passed in group.all_tests() {
        collect(passed.test, passed.truth, &mut found);
    }
    for placed in &group.legs {
        let leg = placed.leg;
        let values = leg.key.iter().chain(&leg.values).chain(&leg.adds);
        for given in values {
            collect(&given.value, true, &mut found);
        }
        if let Some(condition) = &leg.condition {
            collect(condition, true, &mut found);
        }
        // A view written from an item holds every attribute it copies.
        if let (Verb::Put, Some(of)) = (leg.verb, leg.of)
            && let Some(view) = model.entities.get(leg.entity)
        {
            let copied = view.attributes.iter().filter(|attribute| attribute.copied);
            found.extend(
                copied.map(|attribute| (Fact::Attribute(of, attribute.name.as_str()), leg.span)),
            );
            found.push((Fact::There(of), leg.span));
        }
    }
    // Only what was read can have changed since.
    found.retain(|(fact, _)| group.read_of(fact.binding()).is_some());
    found
}

/// The facts an expression asks for.
fn collect<'a>(expr: &'a Expr, truth: bool, found: &mut Vec<(Fact<'a>, Span)>) {
    expr.walk(&mut |part| match &part.kind {
        ExprKind::Attribute(binding, name) => {
            found.push((Fact::Attribute(*binding, name), part.span));
            found.push((Fact::There(*binding), part.span));
        }
        ExprKind::Present(thing) | ExprKind::Absent(thing) => {
            if let ExprKind::Binding(binding) = &thing.kind {
                let there = matches!(&part.kind, ExprKind::Present(_)) == truth;
                // Within a larger test it is not known which way this part came out.
                let whole = std::ptr::eq(part, expr);
                let fact = if there { Fact::There(*binding) } else { Fact::NotThere(*binding) };
                if whole || !there {
                    found.push((fact, part.span));
                }
            }
        }
        _ => {}
    });
}

fn entity_of(contract: &Contract, binding: usize) -> Option<usize> {
    match contract.bindings.get(binding).map(|binding| &binding.kind) {
        Some(Kind::Item(entity) | Kind::Page(entity)) => Some(*entity),
        _ => None,
    }
}

/// The contracts that can make a fact untrue.
fn culprits<'a>(
    model: &'a Model,
    contract: &Contract,
    changes: &Changes<'a>,
    fact: &Fact<'a>,
) -> Vec<&'a Contract> {
    let Some(entity) = entity_of(contract, fact.binding()) else { return Vec::new() };
    match fact {
        Fact::Attribute(_, name) => {
            // What an item's key is made of never changes while it is the same item.
            let in_key = model
                .entities
                .get(entity)
                .is_some_and(|entity| entity.key.attributes().contains(name));
            if in_key { Vec::new() } else { changes.attribute(entity, name) }
        }
        Fact::There(_) => changes.removal(entity).to_vec(),
        Fact::NotThere(_) => changes.making(entity).to_vec(),
    }
}

fn is_pinned(model: &Model, contract: &Contract, group: &Group<'_>, fact: &Fact<'_>) -> bool {
    let binding = fact.binding();
    let by_leg = group
        .legs
        .iter()
        .any(|placed| group.is_on(placed.leg, binding) && leg_pins(model, placed.leg, fact));
    by_leg || is_guarded(model, contract, group, binding)
}

fn leg_pins(model: &Model, leg: &Leg, fact: &Fact<'_>) -> bool {
    if let Fact::NotThere(_) = fact {
        return leg.put == Some(PutMode::IfAbsent);
    }
    let counted = model.entities.get(leg.entity).is_some_and(|entity| entity.counter().is_some());
    let unchanged = counted && insists_unchanged(leg);
    match fact {
        Fact::Attribute(_, name) => {
            unchanged
                || leg.condition.as_ref().is_some_and(|condition| {
                    conjuncts(condition)
                        .any(|test| fixes(test).is_some_and(|(fixed, _)| fixed == *name))
                })
        }
        Fact::There(_) => unchanged || leg.condition.is_some() || leg.verb == Verb::Update,
        Fact::NotThere(_) => false,
    }
}

fn insists_unchanged(leg: &Leg) -> bool {
    leg.condition.as_ref().is_some_and(|condition| {
        conjuncts(condition).any(|test| matches!(test.kind, ExprKind::Unchanged))
    })
}

/// Whether the guard of an entity was read before it and is unchanged in the transaction.
fn is_guarded(model: &Model, contract: &Contract, group: &Group<'_>, binding: usize) -> bool {
    let entity = entity_of(contract, binding).and_then(|entity| model.entities.get(entity));
    let Some(guard) = entity.and_then(|entity| entity.guarded_by) else { return false };
    let Some((at, _)) = group.read_of(binding) else { return false };
    group.reads.iter().take(at).any(|read| {
        read.entity == guard
            && read.binding.is_some_and(|guard| {
                group
                    .legs
                    .iter()
                    .any(|placed| placed.leg.target == Some(guard) && insists_unchanged(placed.leg))
            })
    })
}

fn story(
    model: &Model,
    contract: &Contract,
    group: &Group<'_>,
    fact: &Fact<'_>,
    used: Span,
    culprits: &[&Contract],
) -> Diagnostic {
    let binding = fact.binding();
    let name = contract.bindings.get(binding).map_or("", |binding| &binding.name);
    let culprit = culprits
        .iter()
        .find(|culprit| culprit.id != contract.id)
        .map_or("another call of this contract".to_owned(), |culprit| format!("`{}`", culprit.id));
    let (what, change) = match fact {
        Fact::Attribute(_, attribute) => {
            (format!("`{name}.{attribute}`"), format!("change `{attribute}`"))
        }
        Fact::There(_) => (format!("`{name}` being there"), format!("remove `{name}`")),
        Fact::NotThere(_) => (format!("`{name}` being absent"), format!("make `{name}`")),
    };
    let span = match &group.step.kind {
        StepKind::Write(leg) => leg.span,
        _ => Span::new(group.step.span.start, group.step.span.start + "transact".len()),
    };
    let read = group.read_of(binding).map_or(span, |(_, read)| read.span);
    Diagnostic::new(
        "unpinned",
        span,
        format!("this write rests on {what}, which may no longer hold"),
    )
    .label("written here")
    .other(read, format!("`{name}` is read here"))
    .other(used, "and relied on here")
    .why(format!(
        "between the read and this write, {culprit} may {change}; the write would then act on \
             something that is no longer so"
    ))
    .help(remedy(model, contract, fact))
}

fn remedy(model: &Model, contract: &Contract, fact: &Fact<'_>) -> String {
    let binding = fact.binding();
    let name = contract.bindings.get(binding).map_or("", |binding| &binding.name);
    let entity = entity_of(contract, binding).and_then(|entity| model.entities.get(entity));
    let counted = entity.is_some_and(|entity| entity.counter().is_some());
    let guard = entity.and_then(|entity| entity.guarded_by).and_then(|id| model.entities.get(id));
    match (fact, guard) {
        (_, Some(guard)) => format!(
            "read its `{}` before it, and `update` that in the transaction `if unchanged else retry`",
            guard.name
        ),
        (Fact::NotThere(_), None) => "put it `if absent` in the same transaction".to_owned(),
        (_, None) if counted => format!(
            "write `if unchanged else retry` on the write of `{name}`, or add \
             `check {name} if unchanged else retry` to the transaction"
        ),
        (Fact::Attribute(_, attribute), None) => format!(
            "add `if .{attribute} == {name}.{attribute} else retry` to a leg on `{name}`, in the same transaction"
        ),
        (_, None) => format!("add a leg on `{name}` with an `if` to the same transaction"),
    }
}
