//! `undeclared`: a contract that does not state its consistency, cardinality and rate, or states a
//! consistency, an idempotency or a cache it has not.

mod cached;
mod limited;

use latchkey_language::{Diagnostic, Level, Rule, Span};

use super::flow::{Group, groups};
use super::{Report, each_read};
use crate::model::{Contract, EntityId, Leg, Method, Model, PutMode, Strong, Verb, What};

pub(super) fn check(model: &Model, report: &mut Report) {
    let workers = model.workers.iter().map(|worker| &worker.body);
    for contract in model.contracts.iter().chain(workers) {
        claims(contract, report);
        remembers(model, contract, report);
        cached::check(contract, report);
        limited::check(contract, report);
        let facts = &contract.facts;
        let missing: Vec<&str> = [
            ("consistency eventual", facts.consistency.is_none()),
            ("expect 1 item", facts.expect.is_none()),
            ("rate 10/s", facts.rate.is_none()),
        ]
        .into_iter()
        .filter_map(|(fact, missing)| missing.then_some(fact))
        .collect();
        if missing.is_empty() {
            continue;
        }
        let words: Vec<&str> = missing.iter().filter_map(|fact| fact.split(' ').next()).collect();
        let message = format!("`{}` does not state its {}", contract.id, words.join(", "));
        let examples: Vec<String> = missing.iter().map(|fact| format!("`{fact}`")).collect();
        let diagnostic = Diagnostic::new(Rule::Undeclared, contract.span, message)
            .why("an access pattern nobody has estimated cannot be judged, nor its cost checked")
            .help(format!(
                "add {} before the closing brace, with your own figures",
                examples.join(", ")
            ));
        let waivers = contract.steps.first().map_or(&[][..], |step| &step.waivers);
        report.raise(diagnostic, waivers);
    }
}

/// A contract that says it is strong reads nothing that may be behind, and one that says it is not reads something.
fn claims(contract: &Contract, report: &mut Report) {
    let Some(stated) = contract.facts.consistency.as_ref() else { return };
    if !stated.value {
        let mut behind = false;
        each_read(contract, |read, _| {
            let asks = !matches!(read.what, What::Part(_));
            behind |= asks && !matches!(read.strong, Strong::Yes);
        });
        if !behind {
            report.raise(understated(stated.span), &contract.facts.waivers);
        }
        return;
    }
    each_read(contract, |read, step| {
        // Of a part, it is told where the whole is read.
        if matches!(read.strong, Strong::Yes) || matches!(read.what, What::Part(_)) {
            return;
        }
        let message = "this read may be out of date, and the contract says it is consistent";
        let diagnostic = Diagnostic::new(Rule::Undeclared, read.span, message)
            .other(stated.span, "stated here")
            .why("a caller who relies on it would miss what was written a moment ago")
            .help("write `strong` behind the read, or state `consistency eventual`");
        report.raise(diagnostic, &step.waivers);
    });
}

/// A contract that says it may be behind, and never is.
fn understated(span: Span) -> Diagnostic {
    let message = "no read of this contract may be out of date, and it says that it may be";
    let mut diagnostic = Diagnostic::new(Rule::Undeclared, span, message)
        .why("callers ask again for what they have; or a read costs twice what it is worth")
        .help(
            "state `consistency strong`; or leave `strong` out where no decision rests on the read",
        );
    diagnostic.level = Level::Warning;
    diagnostic
}

/// A contract that is idempotent by itself leaves in every effect what a repeated call finds.
fn remembers(model: &Model, contract: &Contract, report: &mut Report) {
    let facts = &contract.facts;
    let waivers = &facts.waivers;
    let is_post = contract.route.as_ref().is_some_and(|route| route.method == Method::Post);
    let by_entity = facts.idempotent.as_ref().map(|stated| stated.span);
    if let (Some(span), Some(anyone)) = (facts.by_key, contract.open) {
        let message = "anyone may call this, so no record can tell whose `Idempotency-Key` it is";
        let diagnostic = Diagnostic::new(Rule::Undeclared, span, message)
            .other(anyone, "said here")
            .why("a record is kept for a caller, and here there may be none: each call would be refused")
            .help("delete it, or recognise a repeated call by an entity: `idempotent by ENTITY`");
        report.raise(diagnostic, waivers);
    }
    if let (Some(span), Some(_)) = (facts.by_key, by_entity) {
        let message = "this contract is `idempotent by` two things";
        let diagnostic = Diagnostic::new(Rule::Undeclared, span, message)
            .why("with an entity, the contract recognises a repeated call, and no key is recorded")
            .help("delete one of them");
        report.raise(diagnostic, waivers);
    }
    if let Some(span) = facts.by_key.or(by_entity).filter(|_| !is_post) {
        let message = "nothing but a POST is called by an `Idempotency-Key`";
        let diagnostic = Diagnostic::new(Rule::Undeclared, span, message)
            .why("no record of other calls is ever kept, so none is kept in its place")
            .help("delete it");
        report.raise(diagnostic, waivers);
        return;
    }
    let Some(stated) = &facts.idempotent else { return };
    let entity = &model.entities[stated.value];
    let name = &entity.name;
    if entity.is_expiring() {
        let message =
            format!("a `{name}` ends, and does not recognise a call that is repeated after that");
        let diagnostic = Diagnostic::new(Rule::Undeclared, stated.span, message)
            .other(entity.span, "an item of this ends")
            .why(TWICE)
            .help("name an entity whose items stay, or state `idempotent by key`");
        report.raise(diagnostic, waivers);
    }
    let mut groups = groups(model, contract);
    groups.retain(|group| {
        let writes = group.legs.iter().any(|placed| placed.leg.verb != Verb::Check);
        writes || !group.sends.is_empty()
    });
    if groups.is_empty() {
        let message = format!("`{}` writes no `{name}`", contract.id);
        report.raise(forgets(stated.span, message, TWICE, name), waivers);
    }
    for group in &groups {
        let (message, why) =
            match group.legs.iter().find(|placed| is_mark(placed.leg, stated.value)) {
                None => (format!("this writes without `put {name} … if absent`"), TWICE),
                Some(put) if !put.guards.is_empty() => (
                    format!("this writes without `put {name}` where a `when` leaves it out"),
                    TWICE,
                ),
                Some(put) if !finds(group, put.leg) => {
                    (format!("the `{name}` that is put here was not read before"), REFUSED)
                }
                Some(_) => continue,
            };
        let diagnostic = forgets(group.step.span, message, why, name);
        report.raise(diagnostic.other(stated.span, "stated here"), waivers);
    }
}

const TWICE: &str = "no record is kept of this contract's calls, so one that is repeated would have its effect twice";
const REFUSED: &str =
    "a repeated call would be refused for what the first has left, and never answered";

fn forgets(span: Span, message: String, why: &str, name: &str) -> Diagnostic {
    Diagnostic::new(Rule::Undeclared, span, message).why(why).help(format!(
        "first `get {name}(…) strong` and answer if it is there; then write in one transaction with \
         `put {name} {{ … }} if absent else retry`"
    ))
}

/// Whether a leg is refused once it has happened, by what it leaves.
fn is_mark(leg: &Leg, entity: EntityId) -> bool {
    leg.verb == Verb::Put && leg.entity == entity && leg.put == Some(PutMode::IfAbsent)
}

/// Whether what a leg leaves was looked for on the way to it.
fn finds<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    group.way.reads.iter().any(|(read, _)| {
        let bound = read.binding.is_some_and(|binding| group.is_on(leg, binding));
        bound && matches!(read.what, What::Get(_))
    })
}
