//! The rules a document is held to: one file a rule, named as the rule.

mod blind_put;
mod changes;
mod cost;
mod drift;
mod endless_retry;
mod escalation;
mod eventual_decision;
mod filter;
mod first_put;
mod flow;
mod foreign_allow;
mod foreign_items;
mod forged_key;
mod half_done;
mod hot_partition;
mod illegal_move;
mod impossible_example;
mod item_size;
mod key_order;
mod keys;
mod leaves;
mod left_behind;
mod loose_copy;
mod misleading;
mod missing_bump;
mod moving_index_key;
mod never;
mod never_listed;
mod never_written;
mod no_allow;
mod not_idempotent;
mod partial_list;
mod price;
mod range_as_count;
mod route_clash;
mod scan;
mod shared_key;
pub(crate) mod size;
mod stale_copy;
mod tally;
mod transaction;
mod truth;
mod unbounded;
mod undeclared;
mod uneven;
mod unmade;
mod unmapped_failure;
mod unpinned;
mod unreleased;
mod unused;
mod writes;

use std::collections::BTreeSet;

use latchkey_language::{Diagnostic, Rule, Span};

pub use cost::WorstCosts;
pub(crate) use first_put::first_puts;
pub(crate) use impossible_example::asked;

use crate::model::{Contract, Leg, Model, Read, Send, Step, StepKind, Waiver, each_step};

/// A rule, and how it is kept.
struct Check {
    rule: Rule,
    /// Looks for breaches.
    check: fn(&Model, &mut Report),
    /// Why it cannot be waived; `None` where the waived document has a meaning, which stands on the rule's page.
    refusal: Option<&'static str>,
}

impl Check {
    const fn waivable(rule: Rule, check: fn(&Model, &mut Report)) -> Check {
        Check { rule, check, refusal: None }
    }

    const fn strict(rule: Rule, check: fn(&Model, &mut Report), refusal: &'static str) -> Check {
        Check { rule, check, refusal: Some(refusal) }
    }
}

/// Every rule, in the order of `docs/rules`.
const RULES: &[Check] = &[
    Check::strict(
        Rule::BlindPut,
        blind_put::check,
        "where overwriting is meant, `replace` says so, and the other rules look for it",
    ),
    Check::waivable(Rule::Cost, cost::check),
    Check::waivable(Rule::Drift, drift::check),
    Check::waivable(Rule::EndlessRetry, endless_retry::check),
    Check::waivable(Rule::Escalation, escalation::check),
    Check::waivable(Rule::EventualDecision, eventual_decision::check),
    Check::waivable(Rule::Filter, filter::check),
    Check::waivable(Rule::ForeignAllow, foreign_allow::check),
    Check::strict(
        Rule::ForeignItems,
        foreign_items::check,
        "a query answers items of the entities it lists, and does not go on reading where it meets others",
    ),
    Check::waivable(Rule::ForgedKey, forged_key::check),
    Check::waivable(Rule::HalfDone, half_done::check),
    Check::waivable(Rule::HotPartition, hot_partition::check),
    Check::waivable(Rule::IllegalMove, illegal_move::check),
    Check::strict(
        Rule::ImpossibleExample,
        impossible_example::check,
        "an example has no statement that a waiver could stand above; mend the example, or the contract",
    ),
    Check::waivable(Rule::ItemSize, item_size::check),
    Check::waivable(Rule::KeyOrder, key_order::check),
    Check::waivable(Rule::LeftBehind, left_behind::check),
    Check::waivable(Rule::LooseCopy, loose_copy::check),
    Check::waivable(Rule::Misleading, misleading::check),
    Check::waivable(Rule::MissingBump, missing_bump::check),
    Check::waivable(Rule::MovingIndexKey, moving_index_key::check),
    Check::waivable(Rule::Never, never::check),
    Check::waivable(Rule::NeverListed, never_listed::check),
    Check::waivable(Rule::NeverWritten, never_written::check),
    Check::waivable(Rule::NoAllow, no_allow::check),
    Check::waivable(Rule::NotIdempotent, not_idempotent::check),
    Check::waivable(Rule::PartialList, partial_list::check),
    Check::waivable(Rule::RangeAsCount, range_as_count::check),
    Check::waivable(Rule::RouteClash, route_clash::check),
    Check::waivable(Rule::Scan, scan::check),
    Check::waivable(Rule::SharedKey, shared_key::check),
    Check::waivable(Rule::StaleAnswer, unpinned::check_answers),
    Check::waivable(Rule::StaleCopy, stale_copy::check),
    Check::waivable(Rule::Tally, tally::check),
    Check::waivable(Rule::Transaction, transaction::check),
    Check::strict(Rule::Unbounded, unbounded::check, "no query reads more than 100 items at once"),
    Check::waivable(Rule::Undeclared, undeclared::check),
    Check::waivable(Rule::Uneven, uneven::check),
    Check::waivable(Rule::Unmade, unmade::check),
    Check::strict(Rule::UnmappedFailure, unmapped_failure::check, "every failure has an answer"),
    Check::waivable(Rule::Unpinned, unpinned::check),
    Check::waivable(Rule::Unreleased, unreleased::check),
    Check::waivable(Rule::Unused, unused::check),
];

/// Why `waive` itself cannot be waived.
const WAIVE_REFUSAL: &str = "a waiver that nothing needs is deleted";

/// The rules that a model is held to: those that a waiver can name.
pub fn rules() -> impl Iterator<Item = Rule> {
    RULES.iter().map(|check| check.rule).chain([Rule::Waive])
}

/// Why a rule cannot be waived, if it cannot.
pub fn waiver_refusal(rule: Rule) -> Option<&'static str> {
    match RULES.iter().find(|check| check.rule == rule) {
        Some(check) => check.refusal,
        None => (rule == Rule::Waive).then_some(WAIVE_REFUSAL),
    }
}

/// Holds a model to every rule.
pub(crate) fn check(model: &Model) -> Vec<Diagnostic> {
    let mut report = Report::default();
    for rule in RULES {
        (rule.check)(model, &mut report);
    }
    waivers(model, &mut report);
    told_once(report.diagnostics)
}

/// Of a decision by a part of some items, that others may change the items is not told as well. Of a move that is not
/// declared, that it is another than the one that was tested is not told as well.
fn told_once(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let of_parts = diagnostics.iter().filter(|found| found.rule == Rule::RangeAsCount);
    let parts: BTreeSet<Span> = of_parts.flat_map(|found| &found.others).map(|it| it.0).collect();
    // Both rules show the read of the items first.
    let is_told = |found: &Diagnostic| found.others.first().is_some_and(|it| parts.contains(&it.0));
    diagnostics.retain(|found| found.rule != Rule::Unpinned || !is_told(found));
    // A move that is not declared is not told as well as one that was not tested.
    let illegal = diagnostics.iter().filter(|found| found.rule == Rule::IllegalMove);
    let illegal: BTreeSet<Span> = illegal.map(|found| found.span).collect();
    diagnostics.retain(|found| found.rule != Rule::Unmade || !illegal.contains(&found.span));
    diagnostics
}

/// What the rules have found.
#[derive(Default)]
pub(crate) struct Report {
    diagnostics: Vec<Diagnostic>,
    /// The waivers that were needed.
    used: Vec<Span>,
}

impl Report {
    /// Reports a breach, unless one of the waivers is for its rule and the rule can be waived.
    fn raise(&mut self, diagnostic: Diagnostic, waivers: &[Waiver]) {
        let refused = waiver_refusal(diagnostic.rule).is_some();
        match waivers.iter().find(|waiver| waiver.rule == diagnostic.rule && !refused) {
            Some(waiver) => self.used.push(waiver.span),
            None => self.diagnostics.push(diagnostic),
        }
    }
}

/// A waiver nothing needs is a mistake too: what it excused is gone, or was never there.
fn waivers(model: &Model, report: &mut Report) {
    let mut all: Vec<&Waiver> = model.entities.iter().flat_map(|entity| &entity.waivers).collect();
    all.extend(model.queues.iter().flat_map(|queue| &queue.waivers));
    for contract in model.bodies() {
        each_step(&contract.steps, &mut |step| all.extend(&step.waivers));
        all.extend(&contract.facts.waivers);
    }
    // Steps that are done twice have each waiver twice.
    all.sort_by_key(|waiver| waiver.span);
    all.dedup_by_key(|waiver| waiver.span);
    for waiver in all {
        if let Some(why) = waiver_refusal(waiver.rule) {
            let message = format!("`{}` cannot be waived", waiver.rule);
            let help = "delete the waiver, and write what the rule asks for";
            let diagnostic = Diagnostic::new(Rule::Waive, waiver.span, message).why(why);
            report.diagnostics.push(diagnostic.help(help));
        } else if waiver.reason.trim().is_empty() {
            let message = "a waiver without a reason";
            let why = "the next reader must be able to judge whether the reason still holds";
            report.diagnostics.push(Diagnostic::new(Rule::Waive, waiver.span, message).why(why));
        } else if !report.used.contains(&waiver.span) {
            let message = format!("nothing here breaks `{}`", waiver.rule);
            let diagnostic =
                Diagnostic::new(Rule::Waive, waiver.span, message).help("delete the waiver");
            report.diagnostics.push(diagnostic);
        }
    }
}

/// Every read of a contract, with its step.
fn each_read<'a>(contract: &'a Contract, mut visit: impl FnMut(&'a Read, &'a Step)) {
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Read(read) = &step.kind {
            visit(read, step);
        }
    });
}

/// Every send of a contract, with its step.
fn each_send<'a>(contract: &'a Contract, mut visit: impl FnMut(&'a Send, &'a Step)) {
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Send(send) = &step.kind {
            visit(send, step);
        }
    });
}

/// Every write of a contract, with its step.
fn each_leg<'a>(contract: &'a Contract, mut visit: impl FnMut(&'a Leg, &'a Step)) {
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Write(leg) = &step.kind {
            visit(leg, step);
        }
    });
}
