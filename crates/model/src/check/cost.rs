//! `cost`: a contract that states less than its most expensive way costs.

use latchkey_language::Diagnostic;
use latchkey_value::{Capacity, Number};

use super::Report;
use super::price::{Prices, worst};
use crate::model::{Contract, Model};

pub(super) fn check(model: &Model, report: &mut Report) {
    let prices = Prices::new(model);
    for contract in model.bodies() {
        let Some(stated) = &contract.facts.cost else { continue };
        let of = |pick: fn(&Capacity) -> u64| total(&prices, contract, pick);
        let (read_halves, write) = (of(|units| units.read_halves), of(|units| units.write));
        let stated_units = |unit: &str| units(&stated.value, unit);
        // Reads are counted in halves of a unit.
        let reads = stated_units("rcu").and_then(|units| units.checked_add(units).ok());
        let enough = |stated: Option<Number>, needed: u64| {
            stated.is_some_and(|stated| stated >= Number::from(needed))
        };
        if enough(reads, read_halves) && enough(stated_units("wcu"), write) {
            continue;
        }
        let half = if read_halves.is_multiple_of(2) { "" } else { ".5" };
        let worst = format!("{}{half} rcu, {write} wcu", read_halves / 2);
        let message =
            format!("`{}` can cost {worst}, and says `cost {}`", contract.id, stated.value);
        let diagnostic = Diagnostic::new("cost", stated.span, message)
            .why("whoever plans for what is stated here runs out of capacity")
            .help(format!("state `cost {worst}`, or lower what items and pages may hold"));
        report.raise(diagnostic, &contract.facts.waivers);
    }
}

/// What a call takes from all partitions, at most.
fn total(prices: &Prices<'_>, contract: &Contract, pick: fn(&Capacity) -> u64) -> u64 {
    worst(&contract.steps, &|step, in_transaction| {
        let all = prices.charges(step, in_transaction);
        all.iter().map(|charge| pick(&charge.largest)).fold(0, u64::saturating_add)
    })
}

/// How much of a unit is stated.
fn units(stated: &str, unit: &str) -> Option<Number> {
    let mut all = stated.split(", ").filter_map(|one| one.split_once(' '));
    match all.find(|(_, other)| *other == unit) {
        Some((count, _)) => count.parse().ok(),
        None => Some(Number::ZERO),
    }
}
