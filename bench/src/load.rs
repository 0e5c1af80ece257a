//! Clients that load a side, and what they saw.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, yield_now};

use crate::Result;
use crate::items::Items;

/// Threads the clients share.
const WORKERS: usize = 2;

/// One of the two that are compared. Every call checks that it did what it was asked.
pub(crate) trait Side: Send + Sync + 'static {
    /// How many items it holds.
    fn items(&self) -> Items;
    /// Reads a single.
    fn get(&self, single: u64) -> Result<()>;
    /// Reads the beginning of a list; `pick` chooses which.
    fn query(&self, pick: u64) -> Result<()>;
    /// Writes a single whole.
    fn put(&self, single: u64) -> impl Future<Output = Result<()>> + Send;
    /// Changes a single if it is as expected.
    fn update(&self, single: u64) -> impl Future<Output = Result<()>> + Send;
    /// Changes two singles if both are as expected.
    fn transact(&self, one: u64, other: u64) -> impl Future<Output = Result<()>> + Send;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Get,
    Query,
    Put,
    Update,
    Transact,
}

impl Operation {
    pub(crate) const ALL: [Operation; 5] =
        [Operation::Get, Operation::Query, Operation::Put, Operation::Update, Operation::Transact];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Get => "get",
            Operation::Query => "query of 25",
            Operation::Put => "put",
            Operation::Update => "conditional update",
            Operation::Transact => "2-leg transaction",
        }
    }

    pub(crate) fn writes(self) -> bool {
        !matches!(self, Operation::Get | Operation::Query)
    }

    /// How many reads a client makes before it lets another have the thread.
    fn reads_in_a_row(self) -> u32 {
        if self == Operation::Query { 8 } else { 64 }
    }
}

/// What clients do in one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) operation: Operation,
    pub(crate) clients: u64,
    pub(crate) time: Duration,
    /// Two runs of the same seed pick the same items.
    pub(crate) seed: u32,
}

/// What one run came to.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Operations a second.
    pub(crate) rate: f64,
    /// How long each write took.
    pub(crate) latencies: Vec<Duration>,
}

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?)
}

/// Has clients do one operation over and over for a time.
pub(crate) fn run<S: Side>(runtime: &Runtime, side: &Arc<S>, work: Work) -> Result<Run> {
    runtime.block_on(async {
        let start = Instant::now();
        let end = start + work.time;
        let mut tasks = JoinSet::new();
        for client in 0..work.clients {
            let picks = Picks::new(side.items(), client, &work);
            tasks.spawn(client_loop(Arc::clone(side), work.operation, picks, end));
        }
        let (mut count, mut latencies) = (0, Vec::new());
        while let Some(done) = tasks.join_next().await {
            let done = done??;
            count += done.count;
            latencies.extend(done.latencies);
        }
        Ok(Run { rate: f64::from(count) / start.elapsed().as_secs_f64(), latencies })
    })
}

#[derive(Default)]
struct Done {
    count: u32,
    latencies: Vec<Duration>,
}

async fn client_loop<S: Side>(
    side: Arc<S>,
    operation: Operation,
    mut picks: Picks,
    end: Instant,
) -> Result<Done> {
    let mut done = Done::default();
    let mut now = Instant::now();
    while now < end {
        match operation {
            Operation::Get | Operation::Query => {
                for _ in 0..operation.reads_in_a_row() {
                    match operation {
                        Operation::Query => side.query(picks.any())?,
                        _ => side.get(picks.own())?,
                    }
                }
                done.count += operation.reads_in_a_row();
                yield_now().await;
                now = Instant::now();
                continue;
            }
            Operation::Put => side.put(picks.own()).await?,
            Operation::Update => side.update(picks.own()).await?,
            Operation::Transact => {
                let (one, other) = picks.own_two();
                side.transact(one, other).await?;
            }
        }
        let answered = Instant::now();
        done.latencies.push(answered - now);
        done.count += 1;
        now = answered;
    }
    Ok(done)
}

/// A client's choices: random, and its own, so that no other client changes the item between its
/// writes.
struct Picks {
    state: u64,
    client: u64,
    clients: u64,
    own: u64,
}

impl Picks {
    fn new(items: Items, client: u64, work: &Work) -> Picks {
        let (clients, own) = (work.clients, items.singles / work.clients);
        Picks { state: (u64::from(work.seed) << 32) + client, client, clients, own }
    }

    /// Any number (splitmix64).
    fn any(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A single of this client.
    fn own(&mut self) -> u64 {
        let at = self.any() % self.own;
        at * self.clients + self.client
    }

    /// Two singles of this client.
    fn own_two(&mut self) -> (u64, u64) {
        let (one, other) = (self.any() % self.own, self.any() % self.own);
        let other = if one == other { (other + 1) % self.own } else { other };
        (one * self.clients + self.client, other * self.clients + self.client)
    }
}

/// The middle of some numbers; 0 of none.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let upper = numbers.get(numbers.len() / 2).copied().unwrap_or(0.0);
    let lower = numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    lower.midpoint(upper)
}

/// The time that so many of a hundred stay within; 0 of none.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_pick_apart() {
        let items = Items::new(1000);
        let (operation, time) = (Operation::Update, Duration::ZERO);
        let work = Work { operation, clients: 8, time, seed: 1 };
        for client in 0..8 {
            let mut picks = Picks::new(items, client, &work);
            for _ in 0..1000 {
                let (one, other) = picks.own_two();
                assert_ne!(one, other);
                for single in [one, other, picks.own()] {
                    assert!(single < items.singles && single % 8 == client, "{single}");
                }
            }
        }
    }

    #[test]
    fn the_middle_is_found() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(Vec::new()), 0.0);
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 99), Duration::from_millis(199));
    }
}
