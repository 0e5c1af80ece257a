//! The rules a document is held to: one file a rule, named as the rule.

mod blind_put;
mod changes;
mod cost;
mod eventual_decision;
mod filter;
mod flow;
mod foreign_items;
mod forged_key;
mod hot_partition;
mod illegal_move;
mod item_size;
mod key_order;
mod keys;
mod missing_bump;
mod moving_index_key;
mod no_allow;
mod not_idempotent;
mod price;
mod route_clash;
mod scan;
mod shared_key;
mod size;
mod stale_copy;
mod transaction;
mod truth;
mod unbounded;
mod undeclared;
mod unmapped_failure;
mod unpinned;
mod unused;

use latchkey_language::{Diagnostic, Rule, Span};

use crate::model::{Contract, Leg, Model, Read, Send, Step, StepKind, Waiver, each_step};

/// A rule, and what looks for breaches of it.
type Check = (Rule, fn(&Model, &mut Report));

/// Every rule, in the order of `docs/rules`.
const RULES: &[Check] = &[
    (Rule::BlindPut, blind_put::check),
    (Rule::Cost, cost::check),
    (Rule::EventualDecision, eventual_decision::check),
    (Rule::Filter, filter::check),
    (Rule::ForeignItems, foreign_items::check),
    (Rule::ForgedKey, forged_key::check),
    (Rule::HotPartition, hot_partition::check),
    (Rule::IllegalMove, illegal_move::check),
    (Rule::ItemSize, item_size::check),
    (Rule::KeyOrder, key_order::check),
    (Rule::MissingBump, missing_bump::check),
    (Rule::MovingIndexKey, moving_index_key::check),
    (Rule::NoAllow, no_allow::check),
    (Rule::NotIdempotent, not_idempotent::check),
    (Rule::RouteClash, route_clash::check),
    (Rule::Scan, scan::check),
    (Rule::SharedKey, shared_key::check),
    (Rule::StaleCopy, stale_copy::check),
    (Rule::Transaction, transaction::check),
    (Rule::Unbounded, unbounded::check),
    (Rule::Undeclared, undeclared::check),
    (Rule::UnmappedFailure, unmapped_failure::check),
    (Rule::Unpinned, unpinned::check),
    (Rule::Unused, unused::check),
];

/// The rules that a model is held to: those that a waiver can name.
pub fn rules() -> impl Iterator<Item = Rule> {
    RULES.iter().map(|(rule, _)| *rule).chain([Rule::Waive])
}

/// Holds a model to every rule.
pub(crate) fn check(model: &Model) -> Vec<Diagnostic> {
    let mut report = Report::default();
    for (_, rule) in RULES {
        rule(model, &mut report);
    }
    waivers(model, &mut report);
    report.diagnostics
}

/// What the rules have found.
#[derive(Default)]
pub(crate) struct Report {
    diagnostics: Vec<Diagnostic>,
    /// The waivers that were needed.
    used: Vec<Span>,
}

impl Report {
    /// Reports a breach, unless one of the waivers is for its rule.
    fn raise(&mut self, diagnostic: Diagnostic, waivers: &[Waiver]) {
        match waivers.iter().find(|waiver| waiver.rule == diagnostic.rule) {
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
        if waiver.reason.trim().is_empty() {
            let message = "a waiver without a reason";
            let why = "whoever reads this next must be able to judge whether it still holds";
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
