//! Decisions of one first-come event, all of which write its seats: how often they get into each other's way.

use std::path::Path;
use std::time::{Duration, Instant};

use super::hall::{Hall, Mode, Remote, Used, Workers};
use super::rush::Rush;
use super::stand_in::{Seen, StandIn};
use crate::Result;
use crate::report::{Table, count, progress, whole};

/// Who asks to take part at once, before anything is decided.
const CONNECTIONS: u64 = 32;

/// Where the seats are.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// A store that speaks DynamoDB's protocol, and how long a transaction on it takes; this machine's own, where
    /// it is nothing.
    pub(crate) remote: Option<(String, Option<Duration>)>,
}

/// What deciding came to at one place.
#[derive(Debug)]
pub(crate) struct Decided {
    name: String,
    workers: usize,
    all: u64,
    /// Decisions a second.
    rate: f64,
    used: Used,
    /// Of one decision, where someone counts.
    seen: Option<Seen>,
    /// Write units of a call of EP-01.
    pub(crate) intake_writes: f64,
    /// Read units of a call of EP-01.
    pub(crate) intake_reads: f64,
}

impl Decided {
    /// What a decision consumes.
    pub(crate) fn units(&self) -> (f64, f64) {
        let done = self.used.done.max(1.0);
        (self.used.read_units / done, self.used.write_units / done)
    }
}

/// Has so many ask, and then decides them by so many workers.
pub(crate) async fn decide(
    directory: &Path,
    place: &Place,
    workers: usize,
    all: u64,
) -> Result<Decided> {
    progress(&format!("{}: {workers} workers", place.name));
    let stand_in = match &place.remote {
        None => None,
        Some((endpoint, time)) => Some(StandIn::open(endpoint, *time).await?),
    };
    let remote = stand_in.as_ref().map(|stand_in| Remote {
        endpoint: stand_in.endpoint(),
        table: format!(
            "bench-{}",
            directory.file_name().and_then(|name| name.to_str()).unwrap_or("")
        ),
    });
    if let Some(remote) = &remote {
        remote.create()?;
    }
    let mut hall = Hall::open(directory, Workers::None, remote.as_ref()).await?;
    hall.make("seats", Mode::Seats).await?;
    let rushed = Rush::prepare("seats", CONNECTIONS.min(all), all)?.run(hall.address()).await?;
    drop(hall);
    let before = stand_in.as_ref().map(StandIn::seen);

    let start = Instant::now();
    let mut hall = Hall::open(directory, Workers::Some(workers), remote.as_ref()).await?;
    let first = hall.progress("seats").await?;
    let end = hall.until_decided("seats", all).await?;
    let used = hall.used().await?;
    let seen = stand_in.as_ref().zip(before).map(|(stand_in, before)| {
        let seen = stand_in.seen();
        Seen {
            transactions: seen.transactions - before.transactions,
            conflicts: seen.conflicts - before.conflicts,
        }
    });
    // All may be over before the first look.
    let (left, since) = match all.saturating_sub(first.decided) {
        0 => (all, start),
        left => (left, first.at),
    };
    let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    Ok(Decided {
        name: place.name.clone(),
        workers,
        all,
        rate: number(left) / (end - since).as_secs_f64(),
        used,
        seen,
        intake_writes: rushed.write_units / number(all),
        intake_reads: rushed.read_units / number(all),
    })
}

pub(crate) fn table(all: &[Decided]) -> Table {
    let mut table = Table::new([
        "store",
        "workers",
        "decided",
        "decisions/s",
        "conflicts a decision",
        "a decision takes",
        "put off",
    ]);
    for one in all {
        let done = one.used.done.max(1.0);
        let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let conflicts = match one.seen {
            None => "none: one writer".to_owned(),
            Some(seen) => format!("{:.2}", number(seen.conflicts) / number(one.all)),
        };
        table.row([
            one.name.clone(),
            one.workers.to_string(),
            count(one.all),
            whole(one.rate),
            conflicts,
            format!("{:.1} ms", one.used.seconds / (done + one.used.later) * 1e3),
            whole(one.used.later),
        ]);
    }
    table
}
