//! What the server did lately: a ring of counters that one task fills while the console is served.
//!
//! A page that is opened shows the last minutes at once. The ring has [`STEPS`] steps of [`STEP`]: 24 bytes for each
//! contract and step, and the latencies of the last minute, which are 60 bytes for each contract and step. A hundred
//! contracts take about 500 kB.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use latchkey_http::{ContractFigures, Counts, Response, Service, latency_bounds};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use crate::session::Visitor;
use crate::{Console, answer, operations};

/// How long a step is.
const STEP: Duration = Duration::from_secs(5);

/// How many steps are kept: 15 minutes.
const STEPS: usize = 180;

/// The most contracts that one request tells more closely.
const CLOSELY_MAX: usize = 20;

/// How many steps a minute has.
const MINUTE: usize = 12;

/// The steps that are kept.
#[derive(Debug, Default)]
pub(crate) struct Traffic(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    /// The counters when the last step ended, and when that was.
    before: Option<(Instant, Vec<Counts>)>,
    /// The steps, the oldest first.
    steps: VecDeque<Step>,
    /// The latencies of each contract in each step of the last minute.
    latencies: VecDeque<Vec<Vec<u32>>>,
}

/// What was counted in a step.
#[derive(Debug)]
struct Step {
    /// How long it was.
    ms: u32,
    /// By contract.
    contracts: Vec<Few>,
}

/// What was counted for a contract in a step.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Few {
    calls: u32,
    refused: u32,
    failed: u32,
    read_halves: u32,
    write_units: u32,
    /// The numbers of the bounds that half of the calls were within, and 99 in a hundred.
    p50: Option<u8>,
    p99: Option<u8>,
}

impl Few {
    /// The sum. Quantiles have none.
    fn plus(self, other: Few) -> Few {
        Few {
            calls: self.calls.saturating_add(other.calls),
            refused: self.refused.saturating_add(other.refused),
            failed: self.failed.saturating_add(other.failed),
            read_halves: self.read_halves.saturating_add(other.read_halves),
            write_units: self.write_units.saturating_add(other.write_units),
            p50: None,
            p99: None,
        }
    }

    /// What was counted between two looks.
    fn between(before: &Counts, now: &Counts) -> Few {
        let latencies: Vec<u64> = grown(&before.latencies, &now.latencies).map(u64::from).collect();
        let within = |percent| within(&latencies, percent).and_then(|at| u8::try_from(at).ok());
        Few {
            calls: small(now.calls, before.calls),
            refused: small(now.refused, before.refused),
            failed: small(now.failed, before.failed),
            read_halves: small(now.read_halves, before.read_halves),
            write_units: small(now.write_units, before.write_units),
            p50: within(50),
            p99: within(99),
        }
    }

    /// Units that one call took in the mean; null where there was none.
    fn each(self, units: f64) -> Value {
        match self.calls {
            0 => Value::Null,
            calls => json!(hundredths(units / f64::from(calls))),
        }
    }
}

/// What counters have grown by.
fn grown(before: &[u64], now: &[u64]) -> impl Iterator<Item = u32> {
    now.iter().zip(before).map(|(now, before)| small(*now, *before))
}

/// A number of a step. More than four thousand million in five seconds are shown as that many.
fn small(now: u64, before: u64) -> u32 {
    u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX)
}

impl Ring {
    /// Adds what was counted since the last time.
    fn add(&mut self, at: Instant, now: Vec<Counts>) {
        if let Some((since, before)) = &self.before {
            let pairs = || now.iter().zip(before);
            let contracts = pairs().map(|(now, before)| Few::between(before, now));
            let ms = at.saturating_duration_since(*since).as_millis();
            let ms = u32::try_from(ms).unwrap_or(u32::MAX).max(1);
            self.steps.push_back(Step { ms, contracts: contracts.collect() });
            let latencies =
                pairs().map(|(now, before)| grown(&before.latencies, &now.latencies).collect());
            self.latencies.push_back(latencies.collect());
        }
        while self.steps.len() > STEPS {
            self.steps.pop_front();
        }
        while self.latencies.len() > MINUTE {
            self.latencies.pop_front();
        }
        self.before = Some((at, now));
    }

    /// The steps of some contracts together, for a script: calls a second, and what went wrong a second.
    fn told(&self, own: &[usize]) -> Value {
        let per_second = |few: fn(Few) -> u32| {
            let steps = self.steps.iter().map(|step| {
                let sum = own.iter().filter_map(|at| step.contracts.get(*at));
                let sum = sum.fold(Few::default(), |sum, one| sum.plus(*one));
                hundredths(f64::from(few(sum)) * 1000.0 / f64::from(step.ms))
            });
            steps.collect::<Vec<_>>()
        };
        json!({
            "calls": per_second(|few| few.calls),
            "failed": per_second(|few| few.failed),
            "minute": self.minute(own),
        })
    }

    /// The steps of one contract more closely, for a script: latencies in microseconds, and units a call.
    fn closely(&self, at: usize) -> Value {
        let bounds: Vec<u64> = latency_bounds().collect();
        let each = |value: &dyn Fn(Few) -> Value| {
            let steps = self.steps.iter().map(|step| step.contracts.get(at));
            steps.map(|few| few.map_or(Value::Null, |few| value(*few))).collect::<Vec<_>>()
        };
        // What took longer than every bound is drawn at the last.
        let us = |bound: Option<u8>| {
            let bound = bound.and_then(|at| bounds.get(usize::from(at)).or(bounds.last()));
            bound.map_or(Value::Null, |us| json!(us))
        };
        json!({
            "p50": each(&|few| us(few.p50)),
            "p99": each(&|few| us(few.p99)),
            "rcu": each(&|few| few.each(f64::from(few.read_halves) / 2.0)),
            "wcu": each(&|few| few.each(f64::from(few.write_units))),
        })
    }

    /// The last minute of some contracts together.
    fn minute(&self, own: &[usize]) -> Value {
        let (mut sum, mut ms) = (Few::default(), 0.0);
        for step in self.steps.iter().rev().take(MINUTE) {
            let few = own.iter().filter_map(|at| step.contracts.get(*at));
            sum = few.fold(sum, |sum, one| sum.plus(*one));
            ms += f64::from(step.ms);
        }
        let mut counts: Vec<u64> = Vec::new();
        for step in &self.latencies {
            for latencies in own.iter().filter_map(|at| step.get(*at)) {
                counts.resize(counts.len().max(latencies.len()), 0);
                counts.iter_mut().zip(latencies).for_each(|(sum, one)| *sum += u64::from(*one));
            }
        }
        let rate = if ms > 0.0 { hundredths(f64::from(sum.calls) * 1000.0 / ms) } else { 0.0 };
        json!({
            "perSecond": rate,
            "calls": sum.calls,
            "refused": sum.refused,
            "failed": sum.failed,
            "p50": quantile(&counts, 50),
            "p99": quantile(&counts, 99),
        })
    }
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// The number of the bound that a share of the calls in percent was within; none where there was no call.
fn within(counts: &[u64], percent: u64) -> Option<usize> {
    let total: u64 = counts.iter().sum();
    let mut seen = 0;
    let mut all = counts.iter().enumerate();
    let found = all.find(|(_, count)| {
        seen += **count;
        total > 0 && seen * 100 >= total * percent
    });
    found.map(|(at, _)| at)
}

/// The bound, in microseconds, that a share of the calls in percent was within. `above` says that it was above all
/// bounds, of which the last is then told; null says that there was no call.
fn quantile(counts: &[u64], percent: u64) -> Value {
    let Some(at) = within(counts, percent) else { return Value::Null };
    let bound = latency_bounds().nth(at);
    json!({ "us": bound.or_else(|| latency_bounds().last()), "above": bound.is_none() })
}

impl Traffic {
    /// Looks at the counters again and again. It never ends by itself.
    pub(crate) async fn watch(&self, service: &Service) {
        let mut ticks = interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let _ = ticks.tick().await;
            let figures = service.figures().contracts;
            let counts = figures.into_iter().map(|one: ContractFigures| one.counts).collect();
            // A step is added as a whole or not at all.
            let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            ring.add(Instant::now(), counts);
        }
    }
}

/// What happened lately, for the scripts of the pages: on the whole, by system, and by contract. The contracts that the
/// query names (`closely=SYSTEM ID`) are told more closely.
pub(crate) fn answer(
    console: &Console,
    service: &Service,
    visitor: &Visitor,
    query: &str,
) -> Response {
    if !visitor.admin {
        return operations::refused(console);
    }
    let named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "closely");
    let named: Vec<String> = named.map(|(_, value)| value.into_owned()).take(CLOSELY_MAX).collect();
    let contracts = service.figures().contracts;
    let ring = console.traffic.0.lock().unwrap_or_else(PoisonError::into_inner);
    let systems = console.systems.iter().enumerate().map(|(system, document)| {
        let of = |(at, one): (usize, &ContractFigures)| (one.system == system).then_some(at);
        let own: Vec<usize> = contracts.iter().enumerate().filter_map(of).collect();
        let all = own.iter().filter_map(|at| {
            let one = contracts.get(*at).filter(|one| one.counts.calls > 0)?;
            let id = one.contract.as_str();
            let closely = named.contains(&format!("{} {id}", document.model.system));
            let closely = closely.then(|| ring.closely(*at));
            Some(json!({ "id": id, "lately": ring.told(&[*at]), "closely": closely }))
        });
        let contracts: Vec<Value> = all.collect();
        json!({ "system": document.model.system, "lately": ring.told(&own), "contracts": contracts })
    });
    let systems: Vec<Value> = systems.collect();
    let all: Vec<usize> = (0..contracts.len()).collect();
    let told = json!({
        "stepMs": u64::try_from(STEP.as_millis()).unwrap_or(u64::MAX),
        "minute": ring.minute(&all),
        "systems": systems,
    });
    answer::json(StatusCode::OK, &told)
}

#[cfg(test)]
mod tests;
