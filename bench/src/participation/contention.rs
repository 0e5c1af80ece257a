//! Decisions of first-come events, each of which writes the seats of its event: how fast one event and several
//! are decided, and how often transactions get into each other's way.

use std::path::Path;
use std::time::Duration;

use super::hall::{Hall, Mode, Remote, Used, Workers};
use super::recorded::event_name;
use super::rush::Rush;
use super::stand_in::StandIn;
use super::{WORKERS, Work};
use crate::Result;
use crate::report::{Table, progress, whole};

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
    events: u64,
    /// Calls of EP-01 a second, before.
    intake: f64,
    /// Decisions a second.
    rate: f64,
    used: Used,
    /// Of a call of EP-01 and of a decision, where someone counts.
    conflicts: Option<(f64, f64)>,
}

impl Decided {
    /// For whoever waits for the rest.
    pub(crate) fn told(&self) -> String {
        let Decided { name, events, intake, rate, conflicts, .. } = self;
        let (intake, rate) = (whole(*intake), whole(*rate));
        format!("{name}: {intake}/s, {events} events {rate}/s, conflicts {conflicts:?}")
    }
}

/// Has so many ask in all to take part in some events, and then decides them.
pub(crate) async fn decide(
    directory: &Path,
    place: &Place,
    events: u64,
    all: u64,
) -> Result<Decided> {
    progress(&format!("{}: {events} events", place.name));
    let users = Work::users(events, all);
    let names: Vec<String> = (0..events).map(event_name).collect();
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
    let conflicts = || stand_in.as_ref().map(StandIn::conflicts);
    let mut time = Duration::ZERO;
    for name in &names {
        hall.make(name, Mode::Seats).await?;
    }
    let begun = conflicts();
    for name in &names {
        let rush = Rush::prepare(name, CONNECTIONS.min(users), users)?;
        time += rush.run(hall.address()).await?.time;
    }
    drop(hall);
    let taken = conflicts();

    let mut hall = Hall::open(directory, Workers::Some(WORKERS), remote.as_ref()).await?;
    let rate = hall.rate_of_deciding(&names, users).await?;
    let used = hall.used().await?;
    let all = users * events;
    let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    Ok(Decided {
        name: place.name.clone(),
        events,
        intake: number(all) / time.as_secs_f64(),
        rate,
        used,
        conflicts: begun.zip(taken).zip(conflicts()).map(|((begun, taken), end)| {
            (number(taken - begun) / number(all), number(end - taken) / number(all))
        }),
    })
}

pub(crate) fn table(all: &[Decided]) -> Table {
    let mut table = Table::new([
        "store",
        "taken/s",
        "conflicts each",
        "events",
        "decided/s",
        "conflicts each",
        "a decision takes",
        "put off",
    ]);
    for one in all {
        let (taking, deciding) = match one.conflicts {
            None => ("none".to_owned(), "none".to_owned()),
            Some((taking, deciding)) => (format!("{taking:.2}"), format!("{deciding:.2}")),
        };
        let handled = (one.used.done + one.used.later).max(1.0);
        table.row([
            one.name.clone(),
            whole(one.intake),
            taking,
            one.events.to_string(),
            whole(one.rate),
            deciding,
            format!("{:.1} ms", one.used.seconds / handled * 1e3),
            whole(one.used.later),
        ]);
    }
    table
}
