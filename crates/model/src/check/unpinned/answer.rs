//! `stale-answer`: an answer that no order of the calls would give, although every write is in order.
//!
//! Four mistakes lead there. An answer shows an attribute that was read before a write, and the write does not pin
//! it. A `delete` removes an item that was found before, and does not insist that the item is still there. A leg
//! answers before the leg that notices that the decision is out of date. A leg answers a lost race with a reason of
//! its own.

use latchkey_language::{Diagnostic, Rule, Span};

use super::pin::{Pin, held, leg_pins};
use super::{Act, Changes, Fact, Report, Use, collect, culprits, entity_of, lost, moments, uses};
use crate::check::each_leg;
use crate::check::flow::{Group, Placed, groups, places};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, FailureKind, Kind, Leg, Model, PutMode, Return,
    StepKind, Verb, What,
};

pub(in crate::check) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    lost::check(model, &changes, report);
    moments::check(model, &changes, report);
    for contract in &model.contracts {
        let writes = groups(model, contract);
        let mut removed = Vec::new();
        for group in &writes {
            let deleted = removed_twice(model, contract, group);
            removed.extend(deleted.iter().map(|(binding, _)| *binding));
            let hasty = hasty(model, contract, &changes, group);
            for told in deleted.map(|(_, told)| told).into_iter().chain(hasty) {
                report.raise(told, &group.step.waivers);
            }
        }
        for group in places(model, contract) {
            if let StepKind::Return(answer) = &group.step.kind
                && let Some(told) =
                    shown(model, contract, &changes, (&writes, &removed), &group, answer)
            {
                report.raise(told, &group.step.waivers);
            }
        }
    }
}

/// An answer with an attribute that was read before a write which does not pin it.
fn shown<'a>(
    model: &'a Model,
    contract: &'a Contract,
    changes: &Changes<'a>,
    (writes, removed): (&[Group<'a>], &[BindingId]),
    group: &Group<'a>,
    answer: &'a Return,
) -> Option<Diagnostic> {
    if let Some(told) = collection(contract, group, answer) {
        return Some(told);
    }
    for used in shown_facts(model, contract, group, answer) {
        let binding = used.fact.binding();
        // That mistake has been told.
        if removed.contains(&binding) {
            continue;
        }
        let place = group.way.reads.iter().find(|(read, _)| read.binding == Some(binding));
        let Some((read, before)) = place.filter(|(read, _)| !matches!(read.what, What::Batch(_)))
        else {
            continue;
        };
        // After an update a name means the item that the update left.
        let left = |leg: &&Leg| {
            [leg.target, leg.result].contains(&Some(binding))
                && !matches!(leg.verb, Verb::Delete | Verb::Check)
        };
        if group.way.written.iter().skip(*before).any(left) {
            continue;
        }
        let follows = |write: &&Group<'a>| {
            let happened = |leg: &Leg| group.way.written.iter().any(|it| std::ptr::eq(*it, leg));
            write.way.written.len() == *before
                && write.read_of(binding).is_some_and(|(_, other)| std::ptr::eq(other, *read))
                && write.legs.iter().any(|placed| happened(placed.leg))
        };
        for write in writes.iter().filter(follows) {
            let made = |placed: &Placed<'_>| placed.leg.verb != Verb::Check;
            let wrote: Vec<EntityId> = write
                .legs
                .iter()
                .filter(|placed| made(placed))
                .map(|placed| placed.leg.entity)
                .collect();
            let mut others = culprits(model, contract, changes, &used.fact).into_iter();
            let meets = others.find(|other| touches(other, &wrote));
            if let Some(other) = meets
                && held(model, contract, write, &[], &used) == Pin::Nothing
            {
                let Fact::Attribute(_, name) = used.fact else { continue };
                let shown = format!("{}.{name}", contract.bindings[binding].name);
                let message =
                    format!("this answer may show `{shown}` as it was before another call");
                return Some(
                    Diagnostic::new(Rule::StaleAnswer, used.span, message)
                        .other(read.span, "read here")
                        .other(begin(write), "and not looked at again when this is written")
                        .why(format!(
                            "between the read and the write, {} may change `{name}`: the answer shows the old value, \
                             though the write came later",
                            by(contract, other)
                        ))
                        .help(format!(
                            "write `if unchanged else retry` where the item is written, add a `check` of it to the \
                             transaction, or leave `{name}` out of the answer"
                        )),
                );
            }
        }
    }
    None
}

/// An answer with all that a query of several entities found before a write.
fn collection(contract: &Contract, group: &Group<'_>, answer: &Return) -> Option<Diagnostic> {
    let binding = answer.binding?;
    let of_several = matches!(contract.bindings[binding].kind, Kind::Collection(_));
    let mut reads = group.way.reads.iter().filter(|_| of_several);
    let (read, before) = reads.find(|(read, _)| read.binding == Some(binding))?;
    let written = group.way.written.iter().skip(*before).find(|leg| leg.verb != Verb::Check)?;
    let message = "this answer shows items as they were before a write";
    let diagnostic = Diagnostic::new(Rule::StaleAnswer, group.step.span, message)
        .other(read.span, "read here")
        .other(written.span, "and written since")
        .why("the answer has neither what this call wrote nor what others wrote in between");
    Some(diagnostic.help("return what was written, and let the caller read the list again"))
}

/// The attributes that an answer shows.
pub(super) fn shown_facts<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    answer: &'a Return,
) -> Vec<Use<'a>> {
    let mut facts = Vec::new();
    if let Some(binding) = answer.binding
        && let Some(entity) = entity_of(contract, binding)
    {
        let attributes = model.entities[entity].attributes.iter();
        let names = attributes.map(|attribute| attribute.name.as_str());
        let names = names
            .filter(|name| answer.fields.is_empty() || answer.fields.iter().any(|it| it == name));
        let shown = |name| Use::new(Fact::Attribute(binding, name), group.step.span, None);
        facts.extend(names.map(shown));
    }
    for given in &answer.with {
        collect(group, &given.value, None, &mut facts);
        // A list shows all attributes of its items.
        if let (ExprKind::Binding(list), Kind::Page(entity)) = (&given.value.kind, &given.value.of)
        {
            let attributes = model.entities[*entity].attributes.iter();
            facts.extend(attributes.map(|attribute| {
                Use::new(Fact::Attribute(*list, &attribute.name), given.span, None)
            }));
        }
    }
    facts.retain(|used| matches!(used.fact, Fact::Attribute(..)));
    facts
}

/// Whether a contract reads or writes items of one of some entities.
fn touches(contract: &Contract, entities: &[EntityId]) -> bool {
    let mut found = false;
    super::each_step(&contract.steps, &mut |step| {
        found |= match &step.kind {
            StepKind::Read(read) => read.entities().any(|entity| entities.contains(&entity)),
            StepKind::Write(leg) => entities.contains(&leg.entity),
            _ => false,
        };
    });
    found
}

/// A `delete` after which two calls are both told that they removed the item.
fn removed_twice<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
) -> Option<(BindingId, Diagnostic)> {
    let insists = |placed: &Placed<'_>| {
        let Leg { condition, absent, put, .. } = placed.leg;
        condition.is_some() || absent.is_some() || *put == Some(PutMode::IfAbsent)
    };
    if group.legs.iter().any(insists) {
        return None;
    }
    let mut found = group.way.found.iter().filter(|(_, there, _)| *there);
    found.find_map(|(binding, _, span)| {
        let on_it = |placed: &&Placed<'a>| {
            placed.leg.verb == Verb::Delete && group.is_on(placed.leg, *binding)
        };
        let leg = group.legs.iter().find(on_it)?.leg;
        let used = Use::new(Fact::There(*binding), *span, None);
        if held(model, contract, group, &[], &used) != Pin::Nothing {
            return None;
        }
        let entity = &model.entities[leg.entity];
        let (name, attribute) = (&entity.name, entity.key.attributes().into_iter().next()?);
        let message = format!("two calls may both be told that they removed one `{name}`");
        let told =
            Diagnostic::new(Rule::StaleAnswer, leg.span, message)
                .other(*span, "the item is found here")
                .why("the `delete` succeeds even if the item is gone by then, so only the read tells the two apart")
                .help(format!("write `if .{attribute} is present else …`, or `if unchanged else retry` for an entity with a counter"));
        Some((*binding, told))
    })
}

/// A leg that answers before the leg that notices that the decision is out of date.
fn hasty<'a>(
    model: &'a Model,
    contract: &'a Contract,
    changes: &Changes<'a>,
    group: &Group<'a>,
) -> Option<Diagnostic> {
    for (at, early) in group.legs.iter().enumerate() {
        let mut failures = early.step.failures();
        let answers = failures.any(|failure| matches!(failure.kind, FailureKind::Problem { .. }));
        let made_new =
            early.leg.key.iter().any(|given| matches!(given.value.kind, ExprKind::New(_)));
        if !answers || made_new {
            continue;
        }
        let facts = uses(model, contract, group, (Act::Write(early.leg), &early.guards));
        let pins = |placed: &Placed<'a>, used: &Use<'a>| {
            group.is_on(placed.leg, used.fact.binding())
                && leg_pins(model, group, &placed.guards, placed.leg, used)
        };
        for used in &facts {
            let (before, after) = group.legs.split_at(at);
            let Some((_, after)) = after.split_first() else { continue };
            if before.iter().chain([early]).any(|placed| pins(placed, used)) {
                continue;
            }
            let Some(late) = after.iter().find(|placed| pins(placed, used)) else { continue };
            let others = culprits(model, contract, changes, &used.fact);
            let mut others = others.into_iter().filter(|other| writes(other, early.leg.entity));
            if let Some(other) = others.next() {
                return Some(out_of_order(contract, early.leg, late.leg, used.span, other));
            }
        }
    }
    None
}

fn out_of_order(
    contract: &Contract,
    early: &Leg,
    late: &Leg,
    decided: Span,
    other: &Contract,
) -> Diagnostic {
    let message = "this write answers before the write that notices an outdated decision";
    Diagnostic::new(Rule::StaleAnswer, early.span, message)
        .other(decided, "decided here")
        .other(late.span, "whether that still holds is looked at here")
        .why(format!(
            "if {} comes in between and both writes are refused, the first decides the answer, and the call does not \
             decide again",
            by(contract, other)
        ))
        .help(match renamed(early, late) {
            None => "move the second write before this one: the first that is refused decides the answer".to_owned(),
            Some(name) => format!(
                "write `else retry` here, so that the call decides again; or move the second write before this one, and \
                 name `{name}` above the transaction: behind the second write it is the new value"
            ),
        })
}

/// An attribute that one leg uses, and that another writes: where they change places, it is another value.
fn renamed(early: &Leg, late: &Leg) -> Option<String> {
    let (item, mut found) = (late.target?, None);
    let mut look = |expr: &Expr| {
        expr.walk(&mut |part| {
            if let ExprKind::Attribute(of, name) = &part.kind
                && *of == item
                && writes_to(late, name)
            {
                found = found.take().or(Some(name.clone()));
            }
        });
    };
    let given = early.key.iter().chain(&early.values).chain(&early.adds);
    given.map(|given| &given.value).chain(&early.condition).for_each(&mut look);
    found
}

fn writes_to(leg: &Leg, name: &str) -> bool {
    let given = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
    given.chain(leg.removes.iter().map(String::as_str)).any(|other| other == name)
}

/// Whether a contract writes items of an entity.
fn writes(contract: &Contract, entity: EntityId) -> bool {
    let mut found = false;
    each_leg(contract, |leg, _| found |= leg.entity == entity && leg.verb != Verb::Check);
    found
}

/// A contract in words.
pub(super) fn by(contract: &Contract, other: &Contract) -> String {
    match other.id == contract.id {
        true => "another call of this contract".to_owned(),
        false => format!("`{}`", other.id),
    }
}

/// The word with which writes begin.
fn begin(group: &Group<'_>) -> Span {
    match &group.step.kind {
        StepKind::Write(leg) => leg.span,
        _ => Span::new(group.step.span.start, group.step.span.start + "transact".len()),
    }
}
