//! What workers have done and what waits for them, for Prometheus.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latchkey_queue::Depth;
use latchkey_runtime::model::QueueId;
use latchkey_runtime::{Ending, Handled, QueueHandle, QueueInfo, Runtime};

use crate::fullness::{Gauge, Readers, Reading};

const NOT_GIVEN_BACK: &str =
    "Messages that could not be given back, and come again when their leases are over.";

const UNANSWERED: &str =
    "Requests for messages that SQS had not answered when the process stopped.";

/// What is counted of all queues.
#[derive(Debug)]
pub struct Meters {
    runtimes: Vec<Runtime>,
    /// One for each queue of each runtime, in their order.
    queues: Vec<Arc<Meter>>,
    readers: Readers,
}

/// What is counted of one queue, by this process.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) runtime: Runtime,
    id: QueueId,
    pub(crate) name: String,
    /// `system="…",queue="…"`
    labels: String,
    /// How full the queue is, as it said last.
    pub(crate) gauge: Gauge,
    in_flight: AtomicU64,
    /// Messages that were received, and neither ended nor given back.
    held: AtomicU64,
    unanswered: AtomicU64,
    redeliveries: AtomicU64,
    done: AtomicU64,
    later: AtomicU64,
    failed: AtomicU64,
    dead: AtomicU64,
    stale: AtomicU64,
    relayed: AtomicU64,
    micros: AtomicU64,
    read_halves: AtomicU64,
    write_units: AtomicU64,
}

/// A message being worked on, until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight<'a>(&'a Meter);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Messages of one run in this process's hands, until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    meter: Arc<Meter>,
    left: AtomicU64,
}

impl Held {
    pub(crate) fn new(meter: &Arc<Meter>, count: usize) -> Held {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        meter.held.fetch_add(count, Ordering::Relaxed);
        Held { meter: Arc::clone(meter), left: AtomicU64::new(count) }
    }

    /// One of them has ended.
    pub(crate) fn one_ended(&self) {
        self.left.fetch_sub(1, Ordering::Relaxed);
        self.meter.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.meter.held.fetch_sub(self.left.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Meter {
    /// How many messages are in this process's hands.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// A request for messages was not answered when the process stopped.
    pub(crate) fn unanswered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    /// The queue.
    pub(crate) fn queue(&self) -> QueueHandle<'_> {
        self.runtime.queue_by_id(self.id)
    }

    pub(crate) fn start(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    /// A message came that was worked on so often, this time included.
    pub(crate) fn received(&self, tries: u32) {
        if tries > 1 {
            self.redeliveries.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn record(&self, handled: &Handled, took: Duration) {
        let ended = match &handled.worked.ending {
            _ if handled.stale => &self.stale,
            _ if handled.dead => &self.dead,
            Ending::Done => &self.done,
            Ending::Later => &self.later,
            Ending::Failed(_) => &self.failed,
        };
        ended.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        let capacity = handled.worked.capacity;
        self.read_halves.fetch_add(capacity.read_halves, Ordering::Relaxed);
        self.write_units.fetch_add(capacity.write, Ordering::Relaxed);
    }

    pub(crate) fn relayed(&self, count: usize) {
        self.relayed.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Meters {
    /// Meters of every queue of these runtimes.
    pub fn new(runtimes: Vec<Runtime>) -> Meters {
        let mut queues = Vec::new();
        for runtime in &runtimes {
            let meters = runtime.system().queues().map(|queue| Meter::new(runtime, &queue));
            queues.extend(meters.map(Arc::new));
        }
        Meters { runtimes, queues, readers: Readers::default() }
    }

    pub(crate) fn queues(&self) -> &[Arc<Meter>] {
        &self.queues
    }

    /// How often queues were asked how full they are, all together.
    pub fn readings(&self) -> u64 {
        self.queues.iter().map(|meter| meter.gauge.readings()).sum()
    }

    /// Everything in Prometheus's text format. How full queues are is what they said last: tasks ask them now and then,
    /// which the first call begins and waits for.
    pub async fn render(&self) -> String {
        self.readers.first(&self.queues).await;
        let all: Vec<Option<Reading>> =
            self.queues.iter().map(|meter| meter.gauge.last()).collect();
        let mut out = String::new();
        // A `String` takes whatever is written.
        let _ = self.write(&all, &mut out);
        out
    }

    fn write(&self, all: &[Option<Reading>], out: &mut String) -> fmt::Result {
        self.write_faults(out)?;
        if self.queues.is_empty() {
            return Ok(());
        }
        let read = || {
            self.queues.iter().zip(all).filter_map(|(meter, last)| Some((meter, last.as_ref()?)))
        };
        family(out, "queue_figures_age_seconds", "gauge", "How old the figures of a queue are.")?;
        for (meter, last) in read() {
            let ms = last.age_ms();
            let (labels, name) = (&meter.labels, "latchkey_queue_figures_age_seconds");
            writeln!(out, "{name}{{{labels}}} {}.{:03}", ms / 1_000, ms % 1_000)?;
        }
        let both = || read().map(|(meter, last)| (meter, &last.said));
        family(out, "queue_messages", "gauge", "Messages of a queue, by where they stand.")?;
        for (meter, said) in both() {
            let Some(depth) = &said.depth else { continue };
            let Depth { visible, delayed, in_flight, .. } = depth;
            for (state, count) in
                [("visible", visible), ("delayed", delayed), ("in_flight", in_flight)]
            {
                let labels = &meter.labels;
                writeln!(
                    out,
                    "latchkey_queue_messages{{{labels},state=\"{state}\"}} {}",
                    count.counted
                )?;
            }
        }
        family(out, "queue_oldest_seconds", "gauge", "How long the oldest visible message waits.")?;
        for (meter, said) in both() {
            // SQS does not tell.
            let Some(Depth { visible, oldest_ms, .. }) = &said.depth else { continue };
            let ms = match oldest_ms {
                Some(ms) => *ms,
                None if visible.counted == 0 => 0,
                None => continue,
            };
            let labels = &meter.labels;
            writeln!(
                out,
                "latchkey_queue_oldest_seconds{{{labels}}} {}.{:03}",
                ms / 1_000,
                ms % 1_000
            )?;
        }
        family(
            out,
            "queue_blocked_groups",
            "gauge",
            "Groups of an ordered queue that their first message holds up.",
        )?;
        for (meter, said) in both() {
            let Some(blocked) = said.depth.and_then(|depth| depth.blocked) else { continue };
            writeln!(out, "latchkey_queue_blocked_groups{{{}}} {blocked}", meter.labels)?;
        }
        family(out, "queue_dead_letters", "gauge", "Messages that were given up and are kept.")?;
        for (meter, said) in both() {
            let Some(letters) = &said.letters else { continue };
            writeln!(out, "latchkey_queue_dead_letters{{{}}} {}", meter.labels, letters.counted)?;
        }
        self.write_work(out)
    }

    /// What should not be, by system: from the start, so that the first can be seen to come.
    fn write_faults(&self, out: &mut String) -> fmt::Result {
        family(out, "bugs_total", "counter", "States that cannot be, each in the log.")?;
        for runtime in &self.runtimes {
            let (system, count) = (runtime.system().name(), runtime.faults().bugs());
            writeln!(out, "latchkey_bugs_total{{system=\"{system}\"}} {count}")?;
        }
        let help = "Reads of items that are not as the document declares them; items of queues that cannot be read.";
        family(out, "damaged_items_total", "counter", help)?;
        for runtime in &self.runtimes {
            let system = runtime.system();
            let queues = system.queues().filter_map(|queue| runtime.queue(queue.name));
            let unreadable: u64 = queues.map(|queue| queue.unreadable()).sum();
            let (system, count) = (system.name(), runtime.faults().damaged_items() + unreadable);
            writeln!(out, "latchkey_damaged_items_total{{system=\"{system}\"}} {count}")?;
        }
        Ok(())
    }

    fn write_work(&self, out: &mut String) -> fmt::Result {
        family(out, "worker_in_flight", "gauge", "Messages this process works on.")?;
        for meter in &self.queues {
            let value = meter.in_flight.load(Ordering::Relaxed);
            writeln!(out, "latchkey_worker_in_flight{{{}}} {value}", meter.labels)?;
        }
        family(out, "worker_messages_total", "counter", "Messages worked on, by how it ended.")?;
        for meter in &self.queues {
            let endings = [
                ("done", &meter.done),
                ("later", &meter.later),
                ("failed", &meter.failed),
                ("dead", &meter.dead),
                ("stale", &meter.stale),
            ];
            for (ending, count) in endings {
                let (labels, value) = (&meter.labels, count.load(Ordering::Relaxed));
                writeln!(
                    out,
                    "latchkey_worker_messages_total{{{labels},ending=\"{ending}\"}} {value}"
                )?;
            }
        }
        type Read = fn(&Meter) -> String;
        let rest: [(&str, &str, Read); 7] = [
            ("worker_redeliveries_total", "Messages received that were tried before.", |meter| {
                meter.redeliveries.load(Ordering::Relaxed).to_string()
            }),
            ("worker_not_given_back_total", NOT_GIVEN_BACK, |meter| {
                meter.queue().queue().not_given_back().to_string()
            }),
            ("worker_unanswered_receives_total", UNANSWERED, |meter| {
                meter.unanswered.load(Ordering::Relaxed).to_string()
            }),
            ("worker_relayed_total", "Messages relayed from an outbox by a sweep.", |meter| {
                meter.relayed.load(Ordering::Relaxed).to_string()
            }),
            ("worker_seconds_total", "Time spent on messages.", |meter| {
                let micros = meter.micros.load(Ordering::Relaxed);
                format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
            }),
            ("worker_read_units_total", "Read capacity consumed by messages.", |meter| {
                let halves = meter.read_halves.load(Ordering::Relaxed);
                format!("{}.{}", halves / 2, halves % 2 * 5)
            }),
            ("worker_write_units_total", "Write capacity consumed by messages.", |meter| {
                meter.write_units.load(Ordering::Relaxed).to_string()
            }),
        ];
        for (name, help, read) in rest {
            family(out, name, "counter", help)?;
            for meter in &self.queues {
                writeln!(out, "latchkey_{name}{{{}}} {}", meter.labels, read(meter))?;
            }
        }
        Ok(())
    }
}

impl Meter {
    fn new(runtime: &Runtime, queue: &QueueInfo<'_>) -> Meter {
        let (system, name) = (runtime.system().name(), queue.name);
        Meter {
            runtime: runtime.clone(),
            id: queue.id,
            name: name.to_owned(),
            // Both are names of the language: nothing in them needs an escape.
            labels: format!("system=\"{system}\",queue=\"{name}\""),
            gauge: Gauge::default(),
            in_flight: AtomicU64::new(0),
            held: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            redeliveries: AtomicU64::new(0),
            done: AtomicU64::new(0),
            later: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dead: AtomicU64::new(0),
            stale: AtomicU64::new(0),
            relayed: AtomicU64::new(0),
            micros: AtomicU64::new(0),
            read_halves: AtomicU64::new(0),
            write_units: AtomicU64::new(0),
        }
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(out, "# HELP latchkey_{name} {help}\n# TYPE latchkey_{name} {kind}")
}
