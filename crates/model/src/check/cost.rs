//! `cost`: a contract that states less than its most expensive way costs.

use latchkey_language::Diagnostic;

use super::Report;
use super::price::{Prices, Units, worst};
use crate::model::{Contract, Model};

pub(super) fn check(model: &Model, report: &mut Report) {
    let prices = Prices::new(model);
    for contract in model.bodies() {
        let Some(stated) = &contract.facts.cost else { continue };
        let of = |pick: fn(&Units) -> u64| total(&prices, contract, pick);
        let (read_halves, write) = (of(|units| units.read_halves), of(|units| units.write));
        let enough = |unit: &str, needed: u64, parts: u64| {
            units(&stated.value, unit).is_some_and(|stated| {
                // Both in billionths of a unit.
                stated.saturating_mul(u128::from(parts))
                    >= u128::from(needed).saturating_mul(BILLION)
            })
        };
        if enough("rcu", read_halves, 2) && enough("wcu", write, 1) {
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

const BILLION: u128 = 1_000_000_000;

/// What a call takes from all partitions, at most.
fn total(prices: &Prices<'_>, contract: &Contract, pick: fn(&Units) -> u64) -> u64 {
    worst(&contract.steps, &|step, in_transaction| {
        let all = prices.charges(step, in_transaction);
        all.iter().map(|charge| pick(&charge.largest)).fold(0, u64::saturating_add)
    })
}

/// How much of a unit is stated, in billionths; nothing where it is not.
fn units(stated: &str, unit: &str) -> Option<u128> {
    let mut all = stated.split(", ").filter_map(|one| one.split_once(' '));
    let Some((count, _)) = all.find(|(_, other)| *other == unit) else { return Some(0) };
    let (whole, fraction) = count.split_once('.').unwrap_or((count, ""));
    let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    format!("{whole}{fraction}").parse().ok()
}
