//! Taking part and deciding: what comes in at 256 connections, what workers get done, and what each participation
//! costs next to what its contracts declare.

pub(crate) mod connection;
mod contention;
mod cost;
mod hall;
mod recorded;
mod rush;
mod stand_in;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Result;
use crate::dynamodb::Service;
use crate::load::{median, percentile, runtime};
use crate::report::{Table, count, micros, progress, ratio, whole};
use contention::Place;
use cost::Costs;
use hall::{Hall, Mode, Workers};
use recorded::{Recorded, event_name, replay, replay_work};
use rush::{Rush, Rushed};

/// How many events are worked on at once unless told otherwise.
const WORKERS: usize = 32;

/// How much is measured.
pub(crate) struct Extent {
    /// How many take part in each event.
    pub(crate) users: u64,
    pub(crate) rounds: u32,
    pub(crate) connections: u64,
    /// How many events are decided side by side.
    pub(crate) events: Vec<u64>,
    /// How many take part where seats are contended for on a store that speaks DynamoDB's protocol.
    pub(crate) contenders: u64,
    /// How long a transaction takes where conflicts are made as AWS documents them.
    pub(crate) transactions: Vec<Duration>,
}

/// What one run of requests came to.
struct Run {
    rate: f64,
    p50: Duration,
    p99: Duration,
    /// What the server's process used of its processors for a request.
    cpu: Option<Duration>,
}

impl Run {
    fn new(time: Duration, mut latencies: Vec<Duration>, used: Option<Duration>) -> Run {
        latencies.sort_unstable();
        let requests = u32::try_from(latencies.len()).unwrap_or(u32::MAX);
        Run {
            rate: f64::from(requests) / time.as_secs_f64(),
            p50: percentile(&latencies, 50),
            p99: percentile(&latencies, 99),
            cpu: used.map(|used| used / requests.max(1)),
        }
    }
}

/// The runs of intake, one of each a round and mode.
#[derive(Default)]
struct Intake {
    alone: Vec<Run>,
    served: Vec<Run>,
    /// With workers at the same queue.
    beside: Vec<Run>,
    /// Decisions a second then, until the last request is answered.
    meanwhile: Vec<f64>,
    /// Decisions a second then, from the first request to the last decision.
    decided: Vec<f64>,
}

/// Decisions a second of one mode and number of events.
struct Work {
    mode: Mode,
    events: u64,
    recorded: Recorded,
    alone: Vec<f64>,
    served: Vec<f64>,
}

impl Work {
    /// How many take part in each event, of so many in all.
    fn users(events: u64, all: u64) -> u64 {
        (all / events.max(1)).max(1)
    }
}

/// Measures, and prints what came of it.
pub(crate) fn measure(directory: &Path, extent: &Extent) -> Result<()> {
    let runtime = runtime()?;
    let (mut intake, mut costs) = (Intake::default(), Costs::default());
    let mut works = Vec::new();
    for mode in Mode::ALL {
        let mut of_mode = Vec::new();
        for events in extent.events.iter().copied() {
            progress(&format!("{}: recording", mode.name()));
            let users = Work::users(events, extent.users);
            let recorded = runtime.block_on(Recorded::record(mode, events, users))?;
            of_mode.push(Work { mode, events, recorded, alone: Vec::new(), served: Vec::new() });
        }
        if let Some(first) = of_mode.first() {
            runtime.block_on(costs.record(mode, &first.recorded))?;
        }
        for round in 0..extent.rounds {
            progress(&format!("{}: round {} of {}", mode.name(), round + 1, extent.rounds));
            let scratch = directory.join(format!("{mode:?}-{round}"));
            let mut one = Round { scratch, extent, mode, intake: &mut intake, costs: &mut costs };
            runtime.block_on(async {
                // Whoever comes second meets a disk that is still busy: each does every other time.
                if round % 2 == 0 {
                    one.alone(&mut of_mode).await?;
                    one.served(&mut of_mode).await
                } else {
                    one.served(&mut of_mode).await?;
                    one.alone(&mut of_mode).await
                }
            })?;
            std::fs::remove_dir_all(&one.scratch)?;
        }
        works.append(&mut of_mode);
    }
    let contended = runtime.block_on(contend(directory, extent))?;
    progress("");
    report(extent, &intake, &works);
    println!("{}", costs.table()?);
    println!(
        "Events with a seat for everyone: {} take part on this machine's store, {} on others\n\n{}",
        count(extent.users),
        count(extent.contenders),
        contention::table(&contended)
    );
    Ok(())
}

/// One round of one mode.
struct Round<'a> {
    scratch: PathBuf,
    extent: &'a Extent,
    mode: Mode,
    intake: &'a mut Intake,
    costs: &'a mut Costs,
}

impl Round<'_> {
    /// What the store does alone of what is asked of it.
    async fn alone(&mut self, works: &mut [Work]) -> Result<()> {
        let connections = usize::try_from(self.extent.connections)?;
        for work in works {
            let place = self.scratch.join(format!("alone-{}", work.events));
            latchkey_embedded::private::make_directory(&place)?;
            let store = work.recorded.open(&place).await?;
            let done = replay(&store, &work.recorded.intake, connections).await?;
            if work.events == 1 {
                self.intake.alone.push(Run::new(done.time, done.latencies, None));
            }
            let all = work.events * Work::users(work.events, self.extent.users);
            work.alone.push(rate(all, replay_work(&store, &work.recorded).await?));
        }
        Ok(())
    }

    /// What is served, first without workers, then by them alone, then both at once.
    async fn served(&mut self, works: &mut [Work]) -> Result<()> {
        for work in works {
            let place = self.scratch.join(format!("served-{}", work.events));
            let users = Work::users(work.events, self.extent.users);
            let names: Vec<String> = (0..work.events).map(event_name).collect();
            let mut hall = Hall::open(&place, Workers::None, None).await?;
            let mut last = None;
            for name in &names {
                hall.make(name, self.mode).await?;
                last = Some(self.rush(&hall, name, users).await?);
            }
            let (run, rushed) = last.ok_or("no event")?;
            drop(hall);
            let mut hall = Hall::open(&place, Workers::Some(WORKERS), None).await?;
            work.served.push(hall.rate_of_deciding(&names, users).await?);
            if work.events == 1 {
                self.intake.served.push(run);
                self.costs.metered(self.mode, &rushed, &hall.used().await?);
            }
        }
        let mut hall =
            Hall::open(&self.scratch.join("beside"), Workers::Some(WORKERS), None).await?;
        hall.make("event", self.mode).await?;
        let start = Instant::now();
        let (run, _) = self.rush(&hall, "event", self.extent.users).await?;
        let meanwhile = hall.progress("event").await?;
        self.intake.meanwhile.push(rate(meanwhile.decided, meanwhile.at - start));
        let end = hall.until_decided("event", self.extent.users).await?;
        self.intake.beside.push(run);
        self.intake.decided.push(rate(self.extent.users, end - start));
        Ok(())
    }

    async fn rush(&self, hall: &Hall, event: &str, users: u64) -> Result<(Run, Rushed)> {
        let rush = Rush::prepare(event, self.extent.connections, users)?;
        let before = hall.server.cpu();
        let mut rushed = rush.run(hall.address()).await?;
        let used =
            hall.server.cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        let latencies = std::mem::take(&mut rushed.latencies);
        Ok((Run::new(rushed.time, latencies, used), rushed))
    }
}

pub(crate) fn rate(of: u64, time: Duration) -> f64 {
    f64::from(u32::try_from(of).unwrap_or(u32::MAX)) / time.as_secs_f64()
}

/// Decides a first-come event on this machine's store and on those that speak DynamoDB's protocol.
async fn contend(directory: &Path, extent: &Extent) -> Result<Vec<contention::Decided>> {
    progress("starting DynamoDB Local");
    let service = Service::start()?;
    let (local, dynoxide) = (service.endpoint.clone(), stand_in::dynoxide().await?);
    let remote = |name: String, endpoint: &str, time| Place {
        name,
        remote: Some((endpoint.to_owned(), time)),
    };
    let mut places = vec![
        Place { name: "embedded".to_owned(), remote: None },
        remote("DynamoDB Local".to_owned(), &local, None),
        remote("dynoxide".to_owned(), &dynoxide, None),
    ];
    for time in &extent.transactions {
        places.push(remote(format!("as on AWS, {time:?} a transaction"), &dynoxide, Some(*time)));
    }
    let mut all = Vec::new();
    for (at, place) in places.iter().enumerate() {
        for events in &extent.events {
            let users = if place.remote.is_none() { extent.users } else { extent.contenders };
            let scratch = directory.join(format!("contention-{at}-{events}"));
            let decided = contention::decide(&scratch, place, *events, users).await?;
            progress(&decided.told());
            all.push(decided);
        }
    }
    Ok(all)
}

fn report(extent: &Extent, intake: &Intake, works: &[Work]) {
    println!(
        "{} take part in each event, {} rounds of each mode, {} cores\n",
        count(extent.users),
        extent.rounds,
        std::thread::available_parallelism().map_or(0, usize::from),
    );
    println!("`POST /events/{{id}}/participations`, {} connections\n", extent.connections);
    let mut table = Table::new(["side", "requests/s", "ratio", "p50", "p99", "server's CPU"]);
    let beside = format!("latchkey, {WORKERS} workers beside it");
    for (name, runs) in [
        ("the store alone", &intake.alone),
        ("latchkey, no workers", &intake.served),
        (beside.as_str(), &intake.beside),
    ] {
        let typical = |time: fn(&Run) -> Option<Duration>| {
            let times = runs.iter().filter_map(time).map(|time| time.as_secs_f64());
            Duration::from_secs_f64(median(times.collect()))
        };
        let cpu = match typical(|run| run.cpu) {
            Duration::ZERO => "–".to_owned(),
            cpu => micros(cpu),
        };
        let pairs = intake.alone.iter().zip(runs.iter());
        table.row([
            name.to_owned(),
            whole(median(runs.iter().map(|run| run.rate).collect())),
            ratio(median(pairs.map(|(alone, ours)| ours.rate / alone.rate).collect())),
            micros(typical(|run| Some(run.p50))),
            micros(typical(|run| Some(run.p99))),
            cpu,
        ]);
    }
    println!("{table}");
    let mut table = Table::new(["with workers beside it", "decisions/s"]);
    for (until, rates) in [
        ("until the last request is answered", &intake.meanwhile),
        ("until the last decision", &intake.decided),
    ] {
        table.row([until.to_owned(), whole(median(rates.clone()))]);
    }
    println!("{table}");

    let mut table = Table::new([
        "deciding",
        "events",
        "store alone, decisions/s",
        "latchkey, decisions/s",
        "ratio",
    ]);
    for work in works {
        let pairs = work.alone.iter().zip(&work.served);
        table.row([
            work.mode.name().to_owned(),
            work.events.to_string(),
            whole(median(work.alone.clone())),
            whole(median(work.served.clone())),
            ratio(median(pairs.map(|(alone, served)| served / alone).collect())),
        ]);
    }
    println!("{table}");
}
