//! `unused`: an entity, an attribute, an index, a read, a queue or a field of its messages that nothing uses.

use std::collections::HashSet;

use latchkey_language::{Diagnostic, Rule};

use super::{Report, each_leg, each_read, each_send, each_step};
use crate::lower::is_required;
use crate::model::{
    BindingId, By, Contract, Ending, Entity, EntityId, Expr, ExprKind, FailureKind, IndexId, Kind,
    Model, QueueId, StepKind, Strong, Trigger, What,
};

/// What the contracts make use of.
#[derive(Default)]
struct Used<'a> {
    entities: HashSet<EntityId>,
    indexes: HashSet<(EntityId, IndexId)>,
    attributes: HashSet<(EntityId, &'a str)>,
    /// The bindings of the contract that is looked at.
    bindings: HashSet<BindingId>,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut used = Used::default();
    for contract in model.bodies() {
        used.bindings.clear();
        take_in(model, contract, &mut used);
        reads(contract, &used, report);
        // The other bodies have what a contract or a worker gives them.
        if matches!(contract.trigger, Trigger::Request | Trigger::Message(_)) {
            inputs(contract, report);
        }
    }
    for invariant in &model.invariants {
        used.bindings.clear();
        take_in(model, &invariant.body, &mut used);
        reads(&invariant.body, &used, report);
    }
    queues(model, report);
    for (id, entity) in model.entities.enumerate() {
        if !used.entities.contains(&id) {
            let message = format!("nothing uses the entity `{}`", entity.name);
            let diagnostic = Diagnostic::new(Rule::Unused, entity.span, message)
                .help("delete it, or write the contract it is for");
            report.raise(diagnostic, &entity.waivers);
            continue;
        }
        for index in &entity.indexes {
            let used = used.indexes.contains(&(id, index.index));
            // An index on attributes holds the item, whether or not a query reads it there.
            if !used && !is_required(model, entity, index) {
                let message = format!("no query reads the index `{}`", index.name);
                let diagnostic = Diagnostic::new(Rule::Unused, index.span, message)
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
                let diagnostic = Diagnostic::new(Rule::Unused, attribute.span, message)
                    .help("delete it, or return it somewhere");
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
}

/// The attributes that something reads.
pub(super) fn read_attributes(model: &Model) -> HashSet<(EntityId, &str)> {
    let mut used = Used::default();
    model.bodies().into_iter().for_each(|contract| take_in(model, contract, &mut used));
    model.invariants.iter().for_each(|invariant| take_in(model, &invariant.body, &mut used));
    used.attributes
}

/// A queue nothing sends to, or nothing works through; a field no worker asks for.
fn queues(model: &Model, report: &mut Report) {
    let sends: Vec<QueueId> = {
        let bodies = model.bodies();
        bodies.iter().flat_map(|body| body.sends()).map(|send| send.queue).collect()
    };
    for (id, queue) in model.queues.enumerate() {
        let worker = model.workers.iter().find(|worker| worker.queue == id);
        let (message, help) = match (sends.contains(&id), worker) {
            (false, _) => ("nothing is sent to", "delete it, or `send` to it in a transaction"),
            (true, None) => ("nothing works through", "write `worker ID \"…\" { on … }` for it"),
            (true, Some(_)) => ("", ""),
        };
        if !message.is_empty() {
            let message = format!("{message} the queue `{}`", queue.name);
            let diagnostic = Diagnostic::new(Rule::Unused, queue.span, message).help(help);
            report.raise(diagnostic, &queue.waivers);
            continue;
        }
        let asked = |name: &str| {
            worker.is_some_and(|worker| worker.body.inputs.iter().any(|input| input.name == name))
                || queue.group().is_some_and(|group| group.name == name)
        };
        for field in queue.fields.iter().filter(|field| !asked(&field.name)) {
            let message = format!("no worker asks for `{}` of `{}`", field.name, queue.name);
            let help = "delete it, or ask for it: `on QUEUE { … }`";
            let diagnostic = Diagnostic::new(Rule::Unused, field.span, message).help(help);
            report.raise(diagnostic, &queue.waivers);
        }
    }
}

fn inputs(contract: &Contract, report: &mut Report) {
    for input in contract.inputs.iter().filter(|input| !input.used) {
        let message = format!("nothing uses the input `{}`", input.name);
        let diagnostic =
            Diagnostic::new(Rule::Unused, input.span, message).help("delete it, or use it");
        report.raise(diagnostic, &contract.facts.waivers);
    }
}

/// A read that answers nothing itself, and that nothing looks at.
fn reads(contract: &Contract, used: &Used<'_>, report: &mut Report) {
    each_read(contract, |read, step| {
        let seen = read.binding.is_none_or(|binding| used.bindings.contains(&binding));
        if read.failure.is_none() && !seen {
            let message = "nothing looks at what is read here";
            let diagnostic = Diagnostic::new(Rule::Unused, read.span, message)
                .why("it is paid for, and the decision that should rest on it is missing")
                .help("write the test it is for, or delete it");
            report.raise(diagnostic, &step.waivers);
        }
    });
}

/// Whether an attribute makes a key, counts the changes, or is the end.
fn is_part(entity: &Entity, name: &str) -> bool {
    let in_index = entity.indexes.iter().any(|index| index.key.attributes().contains(&name));
    in_index
        || entity.is_end(name)
        || entity.key.attributes().contains(&name)
        || entity.counter().is_some_and(|counter| counter.name == name)
}

fn take_in_reads<'a>(contract: &'a Contract, used: &mut Used<'a>) {
    each_read(contract, |read, _| {
        used.entities.extend(read.entities());
        if let Strong::When(test) = &read.strong {
            attributes(contract, test, used);
        }
        if let What::Query(query) = &read.what
            && let By::Index(index) = query.by
        {
            used.indexes.extend(read.entities().map(|entity| (entity, index)));
        }
        match &read.what {
            What::Get(key) => {
                key.iter().for_each(|given| attributes(contract, &given.value, used));
            }
            What::Batch(batch) => {
                batch.values().for_each(|value| attributes(contract, value, used));
            }
            What::Query(query) => {
                query.deciding().for_each(|value| attributes(contract, value, used));
                for entity in read.entities() {
                    let kept = query.kept_by(entity).into_iter();
                    used.attributes.extend(kept.map(|name| (entity, name)));
                }
            }
            What::Part(part) => drop(used.bindings.insert(part.of)),
        }
    });
}

fn take_in<'a>(model: &'a Model, contract: &'a Contract, used: &mut Used<'a>) {
    take_in_reads(contract, used);
    each_leg(contract, |leg, _| {
        used.entities.insert(leg.entity);
        used.bindings.extend([leg.target, leg.of].into_iter().flatten());
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
        let view = &model.entities[leg.entity];
        if let Some(source) = view.view_of {
            let copied = view.attributes.iter().filter(|attribute| attribute.copied);
            used.attributes.extend(copied.map(|attribute| (source, attribute.name.as_str())));
        }
    });
    each_step(&contract.steps, &mut |step| {
        step.failures().for_each(|failure| match &failure.kind {
            FailureKind::Problem { message, with, .. } => {
                let told = with.iter().map(|given| &given.value).chain(message);
                told.for_each(|value| attributes(contract, value, used));
            }
            FailureKind::End(Ending::Fail { message, .. }) => {
                message.iter().for_each(|value| attributes(contract, value, used));
            }
            _ => {}
        });
    });
    each_send(contract, |send, _| {
        let values = send.values.iter().chain(&send.record).map(|given| &given.value);
        values.chain(&send.at).for_each(|value| attributes(contract, value, used));
    });
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Each(each) => attributes(contract, &each.over, used),
        StepKind::Allow(test)
        | StepKind::Require(test, _)
        | StepKind::Match(test, _)
        | StepKind::When(test, _, _)
        | StepKind::Let(_, test) => attributes(contract, test, used),
        StepKind::Return(returned) => {
            used.bindings.extend(returned.binding);
            let kind = returned.binding.map(|id| &contract.bindings[id].kind);
            for entity in kind.into_iter().flat_map(Kind::entities) {
                let shown = names(model, *entity).filter(|name| {
                    returned.fields.is_empty() || returned.fields.iter().any(|field| field == name)
                });
                used.attributes.extend(shown.map(|name| (*entity, name)));
            }
            // A list is shown with all attributes.
            for entity in returned.with.iter().filter_map(|given| given.value.of.entity()) {
                used.attributes.extend(names(model, entity).map(|name| (entity, name)));
            }
            returned.with.iter().for_each(|given| attributes(contract, &given.value, used));
        }
        StepKind::End(Ending::Fail { message, .. }) => {
            message.iter().for_each(|value| attributes(contract, value, used));
        }
        _ => {}
    });
}

/// The names of an entity's attributes.
fn names(model: &Model, entity: EntityId) -> impl Iterator<Item = &str> {
    model.entities[entity].attributes.iter().map(|attribute| attribute.name.as_str())
}

fn attributes<'a>(contract: &'a Contract, expr: &'a Expr, used: &mut Used<'a>) {
    expr.walk(&mut |part| {
        if let ExprKind::Attribute(binding, _)
        | ExprKind::Binding(binding)
        | ExprKind::Count(binding)
        | ExprKind::CountBy(binding, ..)
        | ExprKind::Sum(binding, _) = &part.kind
        {
            used.bindings.insert(*binding);
        }
        if let ExprKind::Attribute(binding, name)
        | ExprKind::CountBy(binding, name, _)
        | ExprKind::Sum(binding, name) = &part.kind
            && let Some(entity) = contract.bindings[*binding].kind.entity()
        {
            used.attributes.insert((entity, name));
        }
    });
}
