//! `cost`: a contract that states less than its most expensive way costs.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::{Capacity, Number};

use super::Report;
use super::price::{Prices, worst};
use crate::model::{CapacityUnit, Contract, Model};

pub(super) fn check(model: &Model, report: &mut Report) {
    let costs = WorstCosts::new(model);
    for contract in model.bodies() {
        let Some(stated) = &contract.facts.cost else { continue };
        let Capacity { read_halves, write } = costs.of(contract);
        let (reads, writes) =
            (stated.value.of(CapacityUnit::Read), stated.value.of(CapacityUnit::Write));
        // Reads are counted in halves of a unit. A sum that is no number any more is enough.
        let read_enough = reads.checked_add(reads).is_ok_and(|twice| twice >= read_halves.into());
        if read_enough && writes >= Number::from(write) {
            continue;
        }
        let half = if read_halves.is_multiple_of(2) { "" } else { ".5" };
        let worst = format!("{}{half} rcu, {write} wcu", read_halves / 2);
        let message =
            format!("`{}` can cost {worst}, and says `cost {}`", contract.id, stated.value);
        let diagnostic = Diagnostic::new(Rule::Cost, stated.span, message)
            .why("capacity that is planned by the stated cost runs out")
            .help(format!("state `cost {worst}`, or lower what items and pages may hold"));
        report.raise(diagnostic, &contract.facts.waivers);
    }
}

/// What one attempt of a call of each contract of a model takes at most: with items as large as they are declared, on the
/// most expensive way. The record behind an `Idempotency-Key` comes on top.
pub struct WorstCosts<'a>(Prices<'a>);

impl<'a> WorstCosts<'a> {
    /// The costs in a model.
    pub fn new(model: &'a Model) -> WorstCosts<'a> {
        WorstCosts(Prices::new(model))
    }

    /// The most that a call of one of its contracts takes.
    pub fn of(&self, contract: &Contract) -> Capacity {
        let of = |pick: fn(&Capacity) -> u64| total(&self.0, contract, pick);
        Capacity { read_halves: of(|units| units.read_halves), write: of(|units| units.write) }
    }
}

/// What a call takes from all partitions, at most.
fn total(prices: &Prices<'_>, contract: &Contract, pick: fn(&Capacity) -> u64) -> u64 {
    worst(&contract.steps, &|step, in_transaction| {
        let all = prices.charges(step, in_transaction);
        let units = all.iter().flat_map(|charge| [&charge.largest, &charge.ended]);
        units.map(pick).fold(0, u64::saturating_add)
    })
}
