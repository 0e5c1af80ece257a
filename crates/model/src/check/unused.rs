//! `unused`: an entity, an attribute or an index nothing uses.

use std::collections::HashSet;

use latchkey_language::Diagnostic;

use super::{Report, each_leg, each_read, each_step};
use crate::model::{Contract, Entity, Expr, ExprKind, Kind, Model, StepKind, What};

/// What the contracts make use of.
#[derive(Default)]
struct Used<'a> {
    entities: HashSet<usize>,
    indexes: HashSet<(usize, &'a str)>,
    attributes: HashSet<(usize, &'a str)>,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut used = Used::default();
    for contract in &model.contracts {
        take_in(model, contract, &mut used);
    }
    for (id, entity) in model.entities.iter().enumerate() {
        if !used.entities.contains(&id) {
            let message = format!("nothing uses the entity `{}`", entity.name);
            let diagnostic = Diagnostic::new("unused", entity.span, message)
                .help("delete it, or write the contract it is for");
            report.raise(diagnostic, &entity.waivers);
            continue;
        }
        for index in &entity.indexes {
            if !used.indexes.contains(&(id, index.name.as_str())) {
                let message = format!("no query reads the index `{}`", index.name);
                let diagnostic = Diagnostic::new("unused", index.span, message)
                    .why("every write of the item pays for it")
                    .help("delete it, or write the contract it is for");
                report.raise(diagnostic, &entity.waivers);
            }
        }
        for attribute in &entity.attributes {
            if !used.attributes.contains(&(id, attribute.name.as_str()))
                && !is_part(entity, &attribute.name)
            {
                let message = format!("nothing reads `{}` of `{}`", attribute.name, entity.name);
                let diagnostic = Diagnostic::new("unused", attribute.span, message)
                    .help("delete it, or return it somewhere");
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
}

/// Whether an attribute makes a key, or counts the changes.
fn is_part(entity: &Entity, name: &str) -> bool {
    let in_index = entity.indexes.iter().any(|index| index.key.attributes().contains(&name));
    in_index
        || entity.key.attributes().contains(&name)
        || entity.counter().is_some_and(|counter| counter.name == name)
}

fn take_in<'a>(model: &'a Model, contract: &'a Contract, used: &mut Used<'a>) {
    each_read(contract, |read, _| {
        used.entities.insert(read.entity);
        if let What::Query(query) = &read.what
            && let Some(index) = &query.index
        {
            used.indexes.insert((read.entity, index));
        }
        if let What::Get(key) = &read.what {
            key.iter().for_each(|given| attributes(contract, &given.value, used));
        }
    });
    each_leg(contract, |leg, _| {
        used.entities.insert(leg.entity);
        let values = leg.key.iter().chain(&leg.values).chain(&leg.adds).map(|given| &given.value);
        for value in values.chain(&leg.condition) {
            attributes(contract, value, used);
            value.walk(&mut |part| {
                if let ExprKind::Stored(name) = &part.kind {
                    used.attributes.insert((leg.entity, name));
                }
            });
        }
        // A view takes what it copies from its source.
        if let Some(view) = model.entities.get(leg.entity)
            && let Some(source) = view.view_of
        {
            let copied = view.attributes.iter().filter(|attribute| attribute.copied);
            used.attributes.extend(copied.map(|attribute| (source, attribute.name.as_str())));
        }
    });
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Allow(test)
        | StepKind::Require(test, _)
        | StepKind::Match(test, _)
        | StepKind::When(test, _, _)
        | StepKind::Let(_, test) => attributes(contract, test, used),
        StepKind::Return(returned) => {
            let kind = returned.binding.and_then(|id| contract.bindings.get(id)).map(|b| &b.kind);
            if let Some(Kind::Item(entity) | Kind::Page(entity)) = kind
                && let Some(shown) = model.entities.get(*entity)
            {
                let all = shown.attributes.iter().map(|attribute| attribute.name.as_str());
                let shown = all.filter(|name| {
                    returned.fields.is_empty() || returned.fields.iter().any(|field| field == name)
                });
                used.attributes.extend(shown.map(|name| (*entity, name)));
            }
            returned.with.iter().for_each(|given| attributes(contract, &given.value, used));
        }
        _ => {}
    });
}

fn attributes<'a>(contract: &'a Contract, expr: &'a Expr, used: &mut Used<'a>) {
    expr.walk(&mut |part| {
        if let ExprKind::Attribute(binding, name) = &part.kind
            && let Some(Kind::Item(entity)) = contract.bindings.get(*binding).map(|b| &b.kind)
        {
            used.attributes.insert((*entity, name));
        }
    });
}
