//! The counters of the server, for Prometheus.
//!
//! Every counter exists from the start, so recording is a few atomic additions: no lock, no look-up, no
//! allocation.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latchkey_runtime::{CacheCount, Runtime};

use crate::bug::{self, bug};
use crate::service::Counts;

/// The upper bounds of the latency buckets, in microseconds, and as they are shown, in seconds.
const BOUNDS: [(u64, &str); 14] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
];

/// The upper bounds of the latency buckets, in microseconds.
pub(crate) fn bounds() -> impl Iterator<Item = u64> {
    BOUNDS.iter().map(|(bound, _)| *bound)
}

const STATUS_MIN: u16 = 100;

/// One counter for each status from 100 to 599, and a last one for all others.
const STATUSES: usize = 501;

/// The name under which requests that no contract matched are counted.
const UNMATCHED: &str = "unmatched";

/// The counters of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    in_flight: AtomicU64,
    contracts: Vec<Counters>,
    unmatched: Counters,
    answers_refused: AtomicU64,
}

/// A request being answered; it counts as in flight until this is dropped.
#[derive(Debug)]
#[must_use = "the request is in flight only while this lives"]
pub(crate) struct InFlight<'a>(&'a AtomicU64);

/// What is counted for one contract.
#[derive(Debug)]
struct Counters {
    /// `system="…",contract="…"`, escaped once.
    labels: String,
    statuses: Box<[AtomicU64]>,
    /// Requests by the lowest bound that they are within. The last counter is for those above all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
    read_halves: AtomicU64,
    write_units: AtomicU64,
    limited: AtomicU64,
}

impl Metrics {
    /// Counters for contracts, each named by its system and its id. A contract's position is its number for
    /// [`Metrics::record`].
    pub(crate) fn new<'a>(contracts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Metrics {
        let contracts = contracts.into_iter().map(|(system, id)| Counters::new(system, id));
        Metrics {
            started: Instant::now(),
            in_flight: AtomicU64::new(0),
            contracts: contracts.collect(),
            // No system has an empty name, so no contract has these labels.
            unmatched: Counters::new("", UNMATCHED),
            answers_refused: AtomicU64::new(0),
        }
    }

    /// Counts a request as in flight from now on.
    pub(crate) fn start(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// Counts an answered request of a contract, by its number.
    pub(crate) fn record(
        &self,
        contract: usize,
        status: u16,
        micros: u64,
        read_halves: u64,
        write_units: u64,
    ) {
        let Some(counters) = self.contracts.get(contract) else {
            drop(bug(format!("no contract has number {contract} in the metrics")));
            return;
        };
        counters.record(status, micros);
        // Most requests only read or only write.
        if read_halves > 0 {
            counters.read_halves.fetch_add(read_halves, Ordering::Relaxed);
        }
        if write_units > 0 {
            counters.write_units.fetch_add(write_units, Ordering::Relaxed);
        }
    }

    /// Counts a call that a limit refused, by the number of its contract.
    pub(crate) fn record_limited(&self, contract: usize) {
        match self.contracts.get(contract) {
            Some(counters) => drop(counters.limited.fetch_add(1, Ordering::Relaxed)),
            None => drop(bug(format!("no contract has number {contract} in the metrics"))),
        }
    }

    /// Counts an answered request that no contract matched.
    pub(crate) fn record_unmatched(&self, status: u16, micros: u64) {
        self.unmatched.record(status, micros);
    }

    /// Counts an answer for which there was no memory until it is sent.
    pub(crate) fn record_answer_refused(&self) {
        self.answers_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters of a contract, by its number.
    pub(crate) fn counts(&self, contract: usize) -> Counts {
        match self.contracts.get(contract) {
            Some(counters) => counters.counts(),
            None => {
                drop(bug(format!("no contract has number {contract} in the metrics")));
                Counts::default()
            }
        }
    }

    /// How long the server has run, and how many requests are being answered.
    pub(crate) fn since(&self) -> (Duration, u64) {
        (self.started.elapsed(), self.in_flight.load(Ordering::Relaxed))
    }

    /// Writes everything in Prometheus's text format, version 0.0.4.
    ///
    /// `taken` is the memory that requests take, and that answers take. A request that ends meanwhile may be in some
    /// figures and not in others. The parts of one histogram always agree.
    pub(crate) fn render(&self, lines_lost: Option<u64>, taken: (usize, usize), out: &mut String) {
        // A `String` takes whatever is written.
        let _ = self.write(lines_lost, taken, out);
    }

    fn write(
        &self,
        lines_lost: Option<u64>,
        taken: (usize, usize),
        out: &mut String,
    ) -> fmt::Result {
        let all = || self.contracts.iter().chain([&self.unmatched]);
        family(out, "requests_total", "counter", "Requests answered, by status.")?;
        all().try_for_each(|counters| counters.write_statuses(out))?;

        family(out, "request_errors_total", "counter", "Requests answered with a status of 5xx.")?;
        for counters in all() {
            let errors = counters.errors();
            writeln!(out, "latchkey_request_errors_total{{{}}} {errors}", counters.labels)?;
        }

        let help = "Time from a request's arrival to its answer.";
        family(out, "request_duration_seconds", "histogram", help)?;
        all().try_for_each(|counters| counters.write_durations(out))?;

        let help = "Capacity units consumed; an eventual read of up to 4 KB is half a unit.";
        family(out, "consumed_capacity_units_total", "counter", help)?;
        self.contracts.iter().try_for_each(|counters| counters.write_capacity(out))?;

        family(out, "limited_total", "counter", "Calls refused by a limit on callers.")?;
        for counters in &self.contracts {
            let limited = counters.limited.load(Ordering::Relaxed);
            writeln!(out, "latchkey_limited_total{{{}}} {limited}", counters.labels)?;
        }

        family(out, "requests_in_flight", "gauge", "Requests being answered now.")?;
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        writeln!(out, "latchkey_requests_in_flight {in_flight}")?;

        let (requests, answers) = taken;
        let help =
            "Memory that heads and bodies of requests take, beyond the first 16 KiB of each.";
        family(out, "requests_memory_bytes", "gauge", help)?;
        writeln!(out, "latchkey_requests_memory_bytes {requests}")?;

        let help = "Memory that answers take until they are sent, beyond the first 16 KiB of each.";
        family(out, "answers_memory_bytes", "gauge", help)?;
        writeln!(out, "latchkey_answers_memory_bytes {answers}")?;

        let help =
            "Answers to reads that were refused, since unread answers took all of that memory.";
        family(out, "answers_refused_total", "counter", help)?;
        let refused = self.answers_refused.load(Ordering::Relaxed);
        writeln!(out, "latchkey_answers_refused_total {refused}")?;

        let help = "States of the server that cannot be, each in the log.";
        family(out, "server_bugs_total", "counter", help)?;
        writeln!(out, "latchkey_server_bugs_total {}", bug::count())?;

        if let Some(lost) = lines_lost {
            let help =
                "Log lines that were dropped: nobody read the log, or it could not be written.";
            family(out, "log_lines_lost_total", "counter", help)?;
            writeln!(out, "latchkey_log_lines_lost_total {lost}")?;
        }

        family(out, "uptime_seconds", "gauge", "Time since the server started.")?;
        let uptime = self.started.elapsed();
        writeln!(out, "latchkey_uptime_seconds {}.{:03}", uptime.as_secs(), uptime.subsec_millis())
    }
}

/// Writes how often contracts with a cache were answered from memory; nothing where none has one.
pub(crate) fn render_caches(runtimes: &[Runtime], out: &mut String) {
    // A `String` takes whatever is written.
    let _ = write_caches(runtimes, out);
}

fn write_caches(runtimes: &[Runtime], out: &mut String) -> fmt::Result {
    let all: Vec<(&str, CacheCount<'_>)> = runtimes
        .iter()
        .flat_map(|runtime| runtime.cache_counts().map(|count| (runtime.system().name(), count)))
        .collect();
    if all.is_empty() {
        return Ok(());
    }
    let mut write = |name: &str, help: &str, count: fn(&CacheCount<'_>) -> u64| {
        family(out, name, "counter", help)?;
        all.iter().try_for_each(|(system, counted)| {
            let labels = labels(system, counted.contract);
            writeln!(out, "latchkey_{name}{{{labels}}} {}", count(counted))
        })
    };
    write("cache_hits_total", "Calls answered from memory.", |counted| counted.hits)?;
    let help = "Calls of contracts with a cache that asked the table.";
    write("cache_misses_total", help, |counted| counted.misses)
}

/// The labels of a contract, escaped.
fn labels(system: &str, contract: &str) -> String {
    format!("system=\"{}\",contract=\"{}\"", Escaped(system), Escaped(contract))
}

/// The two lines that begin a family of samples.
pub(crate) fn family(out: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(out, "# HELP latchkey_{name} {help}")?;
    writeln!(out, "# TYPE latchkey_{name} {kind}")
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
    fn new(system: &str, contract: &str) -> Counters {
        Counters {
            labels: labels(system, contract),
            statuses: std::iter::repeat_with(AtomicU64::default).take(STATUSES).collect(),
            buckets: Default::default(),
            micros: AtomicU64::new(0),
            read_halves: AtomicU64::new(0),
            write_units: AtomicU64::new(0),
            limited: AtomicU64::new(0),
        }
    }

    fn record(&self, status: u16, micros: u64) {
        let at = status.checked_sub(STATUS_MIN).map_or(STATUSES, usize::from);
        if let Some(count) = self.statuses.get(at).or_else(|| self.statuses.last()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let at = BOUNDS.partition_point(|(bound, _)| *bound < micros);
        if let Some(count) = self.buckets.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// The statuses answered so far with their counts; no status for those outside 100 to 599.
    fn seen(&self) -> impl Iterator<Item = (Option<u16>, u64)> {
        let known = (STATUS_MIN..600).map(Some).chain([None]);
        let counts = self.statuses.iter().map(|count| count.load(Ordering::Relaxed));
        known.zip(counts).filter(|(_, count)| *count > 0)
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts {
            latencies: self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            read_halves: self.read_halves.load(Ordering::Relaxed),
            write_units: self.write_units.load(Ordering::Relaxed),
            ..Counts::default()
        };
        for (status, count) in self.seen() {
            counts.calls += count;
            match status {
                Some(400..500) => counts.refused += count,
                Some(500..) => counts.failed += count,
                Some(_) | None => {}
            }
        }
        counts
    }

    fn errors(&self) -> u64 {
        let failed = |status: Option<u16>| status.is_some_and(|status| status >= 500);
        self.seen().filter(|(status, _)| failed(*status)).map(|(_, count)| count).sum()
    }

    fn write_statuses(&self, out: &mut String) -> fmt::Result {
        for (status, count) in self.seen() {
            write!(out, "latchkey_requests_total{{{},status=\"", self.labels)?;
            match status {
                Some(status) => write!(out, "{status}")?,
                None => out.push_str("other"),
            }
            writeln!(out, "\"}} {count}")?;
        }
        Ok(())
    }

    fn write_durations(&self, out: &mut String) -> fmt::Result {
        const NAME: &str = "latchkey_request_duration_seconds";
        let labels = &self.labels;
        let micros = self.micros.load(Ordering::Relaxed);
        let mut total = 0u64;
        let bounds = BOUNDS.iter().map(|(_, shown)| *shown).chain(["+Inf"]);
        for (bound, count) in bounds.zip(&self.buckets) {
            total = total.saturating_add(count.load(Ordering::Relaxed));
            writeln!(out, "{NAME}_bucket{{{labels},le=\"{bound}\"}} {total}")?;
        }
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        writeln!(out, "{NAME}_sum{{{labels}}} {seconds}.{micros:06}")?;
        writeln!(out, "{NAME}_count{{{labels}}} {total}")
    }

    fn write_capacity(&self, out: &mut String) -> fmt::Result {
        const NAME: &str = "latchkey_consumed_capacity_units_total";
        let labels = &self.labels;
        let halves = self.read_halves.load(Ordering::Relaxed);
        let (read, half) = (halves / 2, if halves.is_multiple_of(2) { "" } else { ".5" });
        writeln!(out, "{NAME}{{{labels},kind=\"read\"}} {read}{half}")?;
        let write = self.write_units.load(Ordering::Relaxed);
        writeln!(out, "{NAME}{{{labels},kind=\"write\"}} {write}")
    }
}

/// A label's value, escaped for the text format.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            _ => f.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests;
