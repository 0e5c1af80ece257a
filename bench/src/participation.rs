//! Taking part and deciding: what comes in at 256 connections, what workers get done, and what each participation
//! costs next to what its contracts declare.

mod connection;
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
use crate::http::copy;
use crate::load::{median, percentile, runtime};
use crate::report::{Table, count, micros, progress, ratio, whole};
use contention::Place;
use cost::Costs;
use hall::{Hall, Mode, Workers};
use recorded::{Recorded, replay};
use rush::{Rush, Rushed};

/// How many messages are worked on at once unless told otherwise.
const WORKERS: usize = 32;

/// How much is measured.
pub(crate) struct Extent {
    /// How many take part in each event.
    pub(crate) users: u64,
    pub(crate) rounds: u32,
    pub(crate) connections: u64,
    /// How many workers are compared.
    pub(crate) workers: Vec<usize>,
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
    /// Decisions a second then, from the first request to the last decision.
    decided: Vec<f64>,
}

/// Messages a second of one mode and number of workers.
struct Work {
    mode: Mode,
    workers: usize,
    alone: Vec<f64>,
    served: Vec<f64>,
}

/// Measures, and prints what came of it.
pub(crate) fn measure(directory: &Path, extent: &Extent) -> Result<()> {
    let runtime = runtime()?;
    let (mut intake, mut costs) = (Intake::default(), Costs::default());
    let mut works = Vec::new();
    for mode in Mode::ALL {
        let recorded = runtime.block_on(async {
            progress(&format!("{}: recording", mode.name()));
            let recorded = Recorded::record(mode, extent.users).await?;
            costs.record(mode, &recorded).await?;
            Result::Ok(recorded)
        })?;
        let work = |workers| Work { mode, workers, alone: Vec::new(), served: Vec::new() };
        let mut of_mode: Vec<Work> = extent.workers.iter().copied().map(work).collect();
        for round in 0..extent.rounds {
            progress(&format!("{}: round {} of {}", mode.name(), round + 1, extent.rounds));
            let scratch = directory.join(format!("{mode:?}-{round}"));
            let mut one = Round { scratch, extent, mode, intake: &mut intake, costs: &mut costs };
            runtime.block_on(async {
                // Whoever comes second meets a disk that is still busy: each does every other time.
                if round % 2 == 0 {
                    one.alone(&recorded, &mut of_mode).await?;
                    one.served(&mut of_mode).await
                } else {
                    one.served(&mut of_mode).await?;
                    one.alone(&recorded, &mut of_mode).await
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
        "One event with a seat for everyone: {} take part on this machine's store, {} on others\n\n{}",
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
    async fn alone(&mut self, recorded: &Recorded, works: &mut [Work]) -> Result<()> {
        let filled = self.scratch.join("alone");
        std::fs::create_dir_all(&filled)?;
        let store = recorded.open(&filled).await?;
        let connections = usize::try_from(self.extent.connections)?;
        let done = replay(&store, &recorded.intake, connections).await?;
        self.intake.alone.push(Run::new(done.time, done.latencies, None));
        drop(store);
        for work in works {
            let place = copy(&filled, self.scratch.join(format!("alone-{}", work.workers)))?;
            let store = recorded.reopen(&place)?;
            let done = replay(&store, &recorded.work, work.workers).await?;
            work.alone.push(Run::new(done.time, done.latencies, None).rate);
        }
        Ok(())
    }

    /// What is served, first without workers, then by them alone, then both at once.
    async fn served(&mut self, works: &mut [Work]) -> Result<()> {
        let filled = self.scratch.join("served");
        let mut hall = Hall::open(&filled, Workers::None, None).await?;
        hall.make("event", self.mode).await?;
        let (run, rushed) = self.rush(&hall).await?;
        self.intake.served.push(run);
        drop(hall);
        for work in works {
            let place = copy(&filled, self.scratch.join(format!("served-{}", work.workers)))?;
            let start = Instant::now();
            let mut hall = Hall::open(&place, Workers::Some(work.workers), None).await?;
            let first = hall.progress("event").await?;
            let end = hall.until_decided("event", self.extent.users).await?;
            // All may be over before the first look.
            let (left, since) = match self.extent.users.saturating_sub(first.decided) {
                0 => (self.extent.users, start),
                left => (left, first.at),
            };
            work.served.push(rate(left, end - since));
            if work.workers == WORKERS {
                self.costs.metered(self.mode, &rushed, &hall.used().await?);
            }
        }
        let mut hall =
            Hall::open(&self.scratch.join("beside"), Workers::Some(WORKERS), None).await?;
        hall.make("event", self.mode).await?;
        let start = Instant::now();
        let (run, _) = self.rush(&hall).await?;
        let end = hall.until_decided("event", self.extent.users).await?;
        self.intake.beside.push(run);
        self.intake.decided.push(rate(self.extent.users, end - start));
        Ok(())
    }

    async fn rush(&self, hall: &Hall) -> Result<(Run, Rushed)> {
        let rush = Rush::prepare("event", self.extent.connections, self.extent.users)?;
        let before = hall.server.cpu();
        let mut rushed = rush.run(hall.address()).await?;
        let used =
            hall.server.cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
        let latencies = std::mem::take(&mut rushed.latencies);
        Ok((Run::new(rushed.time, latencies, used), rushed))
    }
}

fn rate(of: u64, time: Duration) -> f64 {
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
        for workers in &extent.workers {
            let users = if place.remote.is_none() { extent.users } else { extent.contenders };
            let scratch = directory.join(format!("contention-{at}-{workers}"));
            let decided = contention::decide(&scratch, place, *workers, users).await?;
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
    let decided = whole(median(intake.decided.clone()));
    println!(
        "From the first request to the last decision, with workers beside it: {decided} participations/s.\n"
    );

    let mut table = Table::new([
        "deciding",
        "workers",
        "store alone, messages/s",
        "latchkey, messages/s",
        "ratio",
    ]);
    for work in works {
        let pairs = work.alone.iter().zip(&work.served);
        table.row([
            work.mode.name().to_owned(),
            work.workers.to_string(),
            whole(median(work.alone.clone())),
            whole(median(work.served.clone())),
            ratio(median(pairs.map(|(alone, served)| served / alone).collect())),
        ]);
    }
    println!("{table}");
}
