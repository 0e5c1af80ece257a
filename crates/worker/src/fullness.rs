//! How full queues are. A task for each queue asks it now and then, and whoever scrapes is told the last figures and
//! their age: a scrape asks no queue, however often it comes and however many messages there are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use latchkey_queue::{Count, Depth, Error};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::meter::Meter;

/// How long a queue may take to say how full it is.
const ASK_TIME_MAX: Duration = Duration::from_secs(2);

/// How long a queue on this machine is left alone between two readings.
const EVERY: Duration = Duration::from_secs(2);

/// The same of a queue elsewhere, where each reading is paid for.
const EVERY_ELSEWHERE: Duration = Duration::from_secs(15);

/// A queue is left alone for so many times as long as the last reading took, at least: readings take a fiftieth of the
/// time of one processor at most.
const REST: u32 = 50;

/// How full a queue is, by its own account. Nothing where the queue could not be asked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fullness {
    pub(crate) depth: Option<Depth>,
    pub(crate) letters: Option<Count>,
}

/// What a queue said last, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) said: Fullness,
    at: Instant,
}

impl Reading {
    /// How old the figures are, in milliseconds.
    pub(crate) fn age_ms(&self) -> u128 {
        self.at.elapsed().as_millis()
    }
}

/// The last reading of a queue.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    last: Mutex<Option<Reading>>,
    /// How often the queue was read.
    readings: AtomicU64,
}

impl Gauge {
    fn lock(&self) -> MutexGuard<'_, Option<Reading>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn last(&self) -> Option<Reading> {
        *self.lock()
    }

    pub(crate) fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }
}

/// The tasks that read queues. They end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    tasks: Mutex<Option<(JoinSet<()>, watch::Receiver<usize>)>>,
}

impl Readers {
    /// Waits until each queue was read once. The first call begins the readings.
    pub(crate) async fn first(&self, meters: &[Arc<Meter>]) {
        let mut read = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            let (_, read) = tasks.get_or_insert_with(|| begin(meters));
            read.clone()
        };
        // A task that is gone reads nothing any more: those who ask are told what there is.
        let _ = read.wait_for(|read| *read >= meters.len()).await;
    }
}

fn begin(meters: &[Arc<Meter>]) -> (JoinSet<()>, watch::Receiver<usize>) {
    let (send, read) = watch::channel(0);
    let mut tasks = JoinSet::new();
    for meter in meters {
        tasks.spawn(keep_reading(Arc::downgrade(meter), send.clone()));
    }
    (tasks, read)
}

async fn keep_reading(meter: Weak<Meter>, read: watch::Sender<usize>) {
    let mut first = Some(read);
    // The meter holds the store open: nobody holds the meter while it rests.
    while let Some(meter) = meter.upgrade() {
        let (began, gauge) = (Instant::now(), &meter.gauge);
        let was_told = gauge.last().is_some_and(|last| last.said.depth.is_none());
        let said = Fullness::ask(&meter, was_told).await;
        gauge.readings.fetch_add(1, Ordering::Relaxed);
        *gauge.lock() = Some(Reading { said, at: Instant::now() });
        first.take().into_iter().for_each(|read| read.send_modify(|read| *read += 1));
        let every = if meter.queue().embedded().is_some() { EVERY } else { EVERY_ELSEWHERE };
        let rest = every.max(began.elapsed().saturating_mul(REST));
        drop(meter);
        sleep(rest).await;
    }
}

impl Fullness {
    /// Asks a queue. The log says if it could not be asked, unless it says so already.
    async fn ask(meter: &Meter, was_told: bool) -> Fullness {
        let queue = meter.queue();
        let asked = async { (queue.depth().await, queue.letters().await) };
        let name = &meter.name;
        match timeout(ASK_TIME_MAX, asked).await {
            Ok((depth, letters)) => Fullness {
                depth: answer(name, depth, was_told),
                letters: answer(name, letters, was_told),
            },
            Err(_) if was_told => Fullness::default(),
            Err(_) => {
                tracing::warn!(queue = %name, "a queue did not say in time how full it is");
                Fullness::default()
            }
        }
    }
}

fn answer<T>(queue: &str, said: Result<T, Error>, was_told: bool) -> Option<T> {
    if let (Err(error), false) = (&said, was_told) {
        tracing::warn!(%queue, %error, "a queue could not be asked");
    }
    said.ok()
}
