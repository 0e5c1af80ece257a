//! What workers have done and what waits for them, for Prometheus.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latchkey_queue::{Count, Depth};
use latchkey_runtime::{Ending, Handled, Runtime};

/// How long a queue may take to say how full it is.
const ASK_TIME_MAX: Duration = Duration::from_secs(2);

/// What is counted of all queues.
#[derive(Debug)]
pub struct Meters {
    runtimes: Vec<Runtime>,
    /// One for each queue of each runtime, in their order.
    queues: Vec<Meter>,
}

/// What is counted of one queue, by this process.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The runtime it belongs to.
    pub(crate) runtime: usize,
    pub(crate) name: String,
    /// `system="…",queue="…"`
    labels: String,
    in_flight: AtomicU64,
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

impl Meter {
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

/// What a queue says of itself; nothing where it could not be asked.
struct Told {
    depth: Option<Depth>,
    letters: Option<Count>,
}

impl Meters {
    /// Meters of every queue of these runtimes.
    pub fn new(runtimes: Vec<Runtime>) -> Meters {
        let mut queues = Vec::new();
        for (at, runtime) in runtimes.iter().enumerate() {
            let system = runtime.system();
            queues.extend(system.queues().map(|queue| Meter::new(at, system.name(), queue.name)));
        }
        Meters { runtimes, queues }
    }

    pub(crate) fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    pub(crate) fn queues(&self) -> &[Meter] {
        &self.queues
    }

    /// Everything in Prometheus's text format. Each queue is asked how full it is.
    pub async fn render(&self) -> String {
        let mut told = Vec::new();
        for meter in &self.queues {
            told.push(self.ask(meter).await);
        }
        let mut out = String::new();
        // A `String` takes whatever is written.
        let _ = self.write(&told, &mut out);
        out
    }

    async fn ask(&self, meter: &Meter) -> Told {
        let runtime = self.runtimes.get(meter.runtime);
        let Some(queue) = runtime.and_then(|runtime| runtime.queue(&meter.name)) else {
            return Told { depth: None, letters: None };
        };
        let asked = async { (queue.depth().await, queue.letters().await) };
        match tokio::time::timeout(ASK_TIME_MAX, asked).await {
            Ok((depth, letters)) => {
                Told { depth: told(meter, depth), letters: told(meter, letters) }
            }
            Err(_) => {
                tracing::warn!(queue = %meter.name, "a queue did not say in time how full it is");
                Told { depth: None, letters: None }
            }
        }
    }

    fn write(&self, told: &[Told], out: &mut String) -> fmt::Result {
        self.write_faults(out)?;
        if self.queues.is_empty() {
            return Ok(());
        }
        let both = || self.queues.iter().zip(told);
        family(out, "queue_messages", "gauge", "Messages of a queue, by where they stand.")?;
        for (meter, told) in both() {
            let Some(depth) = &told.depth else { continue };
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
        for (meter, told) in both() {
            // SQS does not tell.
            let Some(Depth { visible, oldest_ms, .. }) = &told.depth else { continue };
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
        for (meter, told) in both() {
            let Some(blocked) = told.depth.and_then(|depth| depth.blocked) else { continue };
            writeln!(out, "latchkey_queue_blocked_groups{{{}}} {blocked}", meter.labels)?;
        }
        family(out, "queue_dead_letters", "gauge", "Messages that were given up and are kept.")?;
        for (meter, told) in both() {
            let Some(letters) = &told.letters else { continue };
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
        let rest: [(&str, &str, Read); 5] = [
            ("worker_redeliveries_total", "Messages received that were tried before.", |meter| {
                meter.redeliveries.load(Ordering::Relaxed).to_string()
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
    fn new(runtime: usize, system: &str, queue: &str) -> Meter {
        Meter {
            runtime,
            name: queue.to_owned(),
            // Both are names of the language: nothing in them needs an escape.
            labels: format!("system=\"{system}\",queue=\"{queue}\""),
            in_flight: AtomicU64::new(0),
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

/// What a queue said; that it could not be asked is in the log.
fn told<T>(meter: &Meter, said: Result<T, latchkey_queue::Error>) -> Option<T> {
    let queue = &meter.name;
    said.inspect_err(|error| tracing::warn!(%queue, %error, "a queue could not be asked")).ok()
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(out, "# HELP latchkey_{name} {help}\n# TYPE latchkey_{name} {kind}")
}
