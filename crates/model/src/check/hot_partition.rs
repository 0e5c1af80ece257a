//! `hot-partition`: a constant partition key, or a declared rate that one partition cannot keep up with.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::Capacity;
use latchkey_value::limits::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS};

use super::price::{Charge, Prices, worst};
use super::{Report, each_step};
use crate::model::{Contract, Entity, Hole, Model, Piece, Rate, Step, StepKind, Template, Waiver};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        constant(entity, None, &entity.key.partition, report);
        for index in &entity.indexes {
            constant(entity, Some(&index.name), &index.key.partition, report);
        }
    }
    let prices = Prices::new(model);
    for contract in model.bodies() {
        let Some(stated) = &contract.facts.rate else { continue };
        let rate = Calls::of(stated.value);
        for load in loads(&prices, contract) {
            load.judge(&prices, contract, &rate, report);
        }
    }
}

/// A partition key that is always the same.
fn constant(entity: &Entity, index: Option<&str>, partition: &Template, report: &mut Report) {
    if !partition.whole || partition.holes().any(|hole| !is_fixed(hole)) {
        return;
    }
    let shape = shape(partition);
    let whose = match index {
        Some(index) => format!("every `{}` is in one partition of index `{index}`", entity.name),
        None => format!("every `{}` is in one partition", entity.name),
    };
    let help = format!(
        "put something into the key that differs, or a shard, `{shape}#{{shard:02}}` of an `int 0..15`; or say why it \
         is enough: `waive hot-partition \"fewer than 1,000 of them\"`"
    );
    let diagnostic = Diagnostic::new(
        Rule::HotPartition,
        partition.span,
        format!("{whose}, `{shape}`"),
    )
    .why("a partition takes 1,000 write and 3,000 read units a second, however large the table")
    .help(help);
    report.raise(diagnostic, &entity.waivers);
}

/// Whether a hole has one value only.
fn is_fixed(hole: &Hole) -> bool {
    match &hole.kind {
        Type::Enum(words) => words.len() < 2,
        Type::Int { .. } => shards(hole) == Some(1),
        _ => false,
    }
}

/// Over how many values a hole spreads, if it is a whole number with both bounds.
fn shards(hole: &Hole) -> Option<u64> {
    let Type::Int { low: Some(low), high: Some(high) } = &hole.kind else { return None };
    Some(high.abs_diff(*low).saturating_add(1)).filter(|_| low <= high)
}

/// Whether a template becomes a few texts only.
fn is_one_of_few(template: &Template) -> bool {
    template.whole
        && template.holes().all(|hole| match &hole.kind {
            Type::Enum(_) | Type::Bool => true,
            Type::Int { .. } => shards(hole).is_some(),
            _ => false,
        })
}

/// A template as it is written.
fn shape(template: &Template) -> String {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Hole(hole) => format!("{{{}}}", hole.attribute),
    });
    pieces.collect()
}

/// What one call takes from the partitions of one shape.
struct Load<'a> {
    place: (Option<&'a str>, String),
    partition: &'a Template,
    /// What all steps take, whichever way is gone.
    all: Capacity,
    /// The steps that come to it.
    steps: Vec<&'a Step>,
    /// Where the step that takes the most of it stands, and how much that is.
    heaviest: (Span, u64),
}

/// The index and the shape of a partition. Two partitions of one shape may be the same one, whatever the names of
/// their attributes.
fn place_of<'a>(charge: &Charge<'a>) -> (Option<&'a str>, String) {
    let pieces = charge.partition.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => text.as_str(),
        Piece::Hole(_) => "{}",
    });
    (charge.index, pieces.collect())
}

/// What counts of a charge. All calls meet in a partition of which there are few. How many meet in one of many,
/// nobody knows, so only what it could not stand in any case counts: calls for items that are small.
fn counted(charge: &Charge<'_>) -> Capacity {
    let units = if is_one_of_few(charge.partition) { charge.largest } else { charge.smallest };
    // What one call takes from some of the shards counts as if it took as much from each.
    let all = charge.partition.holes().filter_map(shards).fold(1, u64::saturating_mul);
    units.times(charge.over.map_or(1, |over| all.div_ceil(over.max(1)).max(1)))
}

/// The loads of a contract, each partition once, in the order it comes to them.
fn loads<'a>(prices: &Prices<'a>, contract: &'a Contract) -> Vec<Load<'a>> {
    let mut loads: Vec<Load<'a>> = Vec::new();
    let mut known: HashMap<(Option<&'a str>, String), usize> = HashMap::new();
    let sends = contract.sends();
    let blocks = sends.iter().flat_map(|send| [&send.accepted, &send.refused]).flatten();
    let mut steps: Vec<(&'a Step, u64)> = Vec::new();
    for all in std::iter::once(&contract.steps).chain(blocks.map(|block| &block.steps)) {
        let mut repeated: HashMap<Span, u64> = HashMap::new();
        each_step(all, &mut |step| {
            if let StepKind::Each(each) = &step.kind {
                each_step(&each.body, &mut |step| repeated.extend([(step.span, each.most)]));
            }
            steps.push((step, repeated.get(&step.span).copied().unwrap_or(1)));
        });
    }
    for (step, times) in steps {
        // At most, each write is one of a transaction.
        for charge in prices.charges(step, true) {
            let (place, units) = (place_of(&charge), counted(&charge).times(times));
            let at = *known.entry(place.clone()).or_insert(loads.len());
            if at == loads.len() {
                let (all, heaviest) = (Capacity::ZERO, (Span::default(), 0));
                let partition = charge.partition;
                loads.push(Load { place, partition, all, steps: Vec::new(), heaviest });
            }
            let Some(load) = loads.get_mut(at) else { continue };
            load.steps.push(step);
            load.all += units;
            // A partition writes a sixth of the half units it reads.
            let heat = units.write.saturating_mul(6).saturating_add(units.read_halves);
            if heat > load.heaviest.1 {
                load.heaviest = (place_of_step(step), heat);
            }
        }
    }
    loads
}

/// The line of the read or the write itself, without what happens if it fails.
fn place_of_step(step: &Step) -> Span {
    match &step.kind {
        StepKind::Read(read) => read.span,
        StepKind::Write(leg) => leg.span,
        StepKind::Send(send) => send.span,
        _ => step.span,
    }
}

impl Load<'_> {
    fn judge(&self, prices: &Prices<'_>, contract: &Contract, rate: &Calls, report: &mut Report) {
        // Most are far from it, whichever way is gone.
        if self.excess(self.all, rate).is_none() {
            return;
        }
        let of = |pick: fn(&Capacity) -> u64| {
            worst(&contract.steps, &|step, in_transaction| {
                let charges = prices.charges(step, in_transaction);
                let ours = charges.iter().filter(|charge| place_of(charge) == self.place);
                ours.map(|charge| pick(&counted(charge))).fold(0, u64::saturating_add)
            })
        };
        let units =
            Capacity { read_halves: of(|units| units.read_halves), write: of(|units| units.write) };
        let Some(what) = self.excess(units, rate) else { return };
        let shape = shape(self.partition);
        let of = self.place.0.map_or_else(String::new, |index| format!(" of index `{index}`"));
        let message = format!("one partition `{shape}`{of} may be asked for {what}");
        let mut diagnostic = Diagnostic::new(Rule::HotPartition, self.heaviest.0, message)
            .why("the store refuses what is above it, whatever else it has to spare")
            .help(
                "spread the load with a shard in the key, read or write less in a call, or state a lower rate; if the \
                 calls are for many partitions, say so: `waive hot-partition \"spread over all customers\"`",
            );
        if let Some(stated) = &contract.facts.rate {
            diagnostic = diagnostic.other(stated.span, "called so often");
        }
        let waivers = self.steps.iter().flat_map(|step| &step.waivers);
        let waivers: Vec<Waiver> = waivers.chain(&contract.facts.waivers).cloned().collect();
        report.raise(diagnostic, &waivers);
    }

    /// What a second asks of one partition, if that is too much.
    fn excess(&self, units: Capacity, rate: &Calls) -> Option<String> {
        // Shards spread evenly. Other values may not: all calls may ask for one of them.
        let spread = self.partition.holes().filter_map(shards).fold(1, u64::saturating_mul);
        let (reads, writes) =
            (rate.over(units.read_halves, spread), rate.over(units.write, spread));
        if writes > u128::from(PARTITION_WRITE_UNITS) {
            return Some(format!("{writes} write units a second, and it has 1,000"));
        }
        // Reads are counted in halves of a unit.
        let reads = reads.div_ceil(2);
        (reads > u128::from(PARTITION_READ_UNITS))
            .then(|| format!("{reads} read units a second, and it has 3,000"))
    }
}

/// How often a contract is called: so many times in so many seconds.
struct Calls {
    calls: u128,
    seconds: u128,
}

impl Calls {
    fn of(rate: Rate) -> Calls {
        let (count, seconds) = (rate.calls, u128::from(rate.per.seconds()));
        let power = 10u128.saturating_pow(u32::from(count.exponent().unsigned_abs()));
        if count.exponent() < 0 {
            Calls { calls: count.coefficient(), seconds: power.saturating_mul(seconds) }
        } else {
            Calls { calls: count.coefficient().saturating_mul(power), seconds }
        }
    }

    /// The units a second that so many a call make for each of some partitions, rounded up.
    fn over(&self, units: u64, partitions: u64) -> u128 {
        let units = self.calls.saturating_mul(u128::from(units));
        units.div_ceil(self.seconds.saturating_mul(u128::from(partitions)).max(1))
    }
}
