//! The service over HTTP: a get next to a bare axum handler, a change next to the store's own figure.

pub(crate) mod client;
mod lockers;
pub(crate) mod peer;
pub(crate) mod process;
pub(crate) mod reply;
mod status;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::Result;
use crate::load::{median, percentile, runtime};
use crate::report::{Table, count, micros, progress, ratio, whole};
use client::{Ask, Done, Signing, Work};
use lockers::{Lockers, Versions};
use peer::Peer;
use process::{Log, Server};
use reply::Reply;
use status::Direct;

/// Headers that every server adds by itself.
const ADDED: [&str; 2] = ["content-length", "date"];

const LOGGING: &str = "latchkey";
const QUIET: &str = "latchkey, LATCHKEY_LOG=warn";
const RS256: &str = "latchkey, RS256 tokens";
const LIMITED: &str = "latchkey, limited callers";

/// What a get is to reach of the bare handler's throughput.
const AIM: f64 = 0.5;

/// What a get is to reach of a plain one if its token is one of an identity provider, which is remembered, or if the
/// calls of its caller are counted.
const EXTRA_AIM: f64 = 0.95;

/// How much is compared.
pub(crate) struct Extent {
    /// How many lockers are read; as many are changed.
    pub(crate) lockers: u64,
    pub(crate) time: Duration,
    pub(crate) rounds: u32,
    /// Whether the figures are good enough to say what they mean.
    pub(crate) judged: bool,
}

/// Everything that is measured: the service with and without its log of requests, and with tokens of an identity
/// provider, and with a limit on callers that none of them reaches; and the two it stands next to.
struct Sides {
    lockers: Lockers,
    logging: Service,
    quiet: Service,
    rs256: Service,
    limited: Service,
    bare: Server,
    direct: Arc<Direct>,
    /// The bytes of the body of every get.
    body_bytes: usize,
}

/// The service on a store of its own.
struct Service {
    server: Server,
    versions: Arc<Versions>,
    signing: Signing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Get,
    Change,
}

/// One request at one number of connections: a run a round of each side.
struct Cell {
    request: Request,
    clients: u64,
    /// What the service stands next to.
    peer: Vec<Run>,
    logging: Vec<Run>,
    quiet: Vec<Run>,
    /// For a get alone: what a token and a limit cost does not depend on the request.
    rs256: Vec<Run>,
    limited: Vec<Run>,
}

/// The runs of one side.
type RunsOf = fn(&Cell) -> &[Run];

/// What one run came to.
#[derive(Debug)]
struct Run {
    /// Requests a second.
    rate: f64,
    p50: Duration,
    p99: Duration,
    /// What the server's process used of its processors for a request.
    cpu: Option<Duration>,
}

/// Compares, and prints what came of it.
pub(crate) fn compare(directory: &Path, extent: &Extent) -> Result<()> {
    let runtime = runtime()?;
    let lockers = Lockers { read: extent.lockers };
    let sides = Sides::start(directory, &runtime, lockers)?;
    let cells = [(Request::Get, 64), (Request::Change, 64), (Request::Change, 256)];
    let mut cells = cells.map(|(request, clients)| Cell::new(request, clients));
    for round in 0..extent.rounds {
        for cell in &mut cells {
            let (number, rounds, clients) = (round + 1, extent.rounds, cell.clients);
            let name = cell.request.name();
            progress(&format!("round {number} of {rounds}: {name}, {clients} connections"));
            cell.round(&runtime, &sides, extent.time, round)?;
        }
    }
    progress("");
    println!(
        "{} lockers, {} rounds of {:?} a run, {} cores, a body of {} bytes\n",
        count(lockers.total()),
        extent.rounds,
        extent.time,
        std::thread::available_parallelism()?,
        sides.body_bytes,
    );
    let (gets, changes): (Vec<_>, Vec<_>) =
        cells.iter().partition(|cell| cell.request == Request::Get);
    println!("`{}`\n\n{}", Request::Get.name(), table(&gets));
    println!("`{}`\n\n{}", Request::Change.name(), table(&changes));
    println!("{}", rounds(&cells));
    if extent.judged {
        let reached = gets.iter().map(|cell| median(cell.ratios(&cell.logging)));
        let reached = reached.fold(f64::INFINITY, f64::min);
        let verdict = if reached >= AIM { "reached" } else { "missed" };
        println!("A get is at {} of the bare handler; {AIM} is {verdict}.", ratio(reached));
        let extras: [(&str, RunsOf); 2] = [
            ("With remembered RS256 tokens", |cell| &cell.rs256),
            ("With a limit on callers", |cell| &cell.limited),
        ];
        for (name, runs) in extras {
            let extra = gets.iter().flat_map(|cell| {
                let pairs = runs(cell).iter().zip(&cell.logging);
                pairs.map(|(extra, logging)| extra.rate / logging.rate)
            });
            let extra = median(extra.collect());
            let verdict = if extra >= EXTRA_AIM { "reached" } else { "missed" };
            println!("{name} it is at {} of that; {EXTRA_AIM} is {verdict}.", ratio(extra));
        }
    }
    Ok(())
}

impl Sides {
    fn start(directory: &Path, runtime: &Runtime, lockers: Lockers) -> Result<Sides> {
        progress(&format!("registering {} lockers", count(lockers.total())));
        let filled = directory.join("filled");
        runtime.block_on(lockers::load(&filled, lockers))?;
        let start = |name: &str, log, signing, flags: &[&str]| {
            let directory = copy(&filled, directory.join(name))?;
            Service::start(&directory, log, signing, flags, lockers)
        };
        let logging = start("logging", Log::Requests, Signing::Hs256, &[])?;
        let quiet = start("quiet", Log::Warnings, Signing::Hs256, &[])?;
        let rs256 = start("rs256", Log::Requests, Signing::Rs256, &[])?;
        let limit = ["--limit-per-caller", "1000000/s"];
        let limited = start("limited", Log::Requests, Signing::Hs256, &limit)?;
        let direct = copy(&filled, directory.join("direct"))?;
        let direct = Arc::new(Direct::open(&direct, Versions::new(lockers))?);

        let get = |body_bytes| Work {
            lockers,
            ask: Ask::Get { body_bytes },
            signing: Signing::Hs256,
            clients: 1,
            time: Duration::ZERO,
            seed: 0,
        };
        let sample = client::sample(runtime, logging.server.address, &get(0))?;
        let ours = Reply::read(&sample)?.ok_or("half an answer")?;
        let bare = Server::peer(directory, &like(&ours)?)?;
        let sample = client::sample(runtime, bare.address, &get(ours.body.len()))?;
        let theirs = Reply::read(&sample)?.ok_or("half an answer")?;
        let same = (theirs.status, theirs.head.len(), theirs.body)
            == (ours.status, ours.head.len(), ours.body);
        if ours.status != 200 || !same {
            return Err(format!("the answers differ: {ours:?}, {theirs:?}").into());
        }
        let body_bytes = ours.body.len();
        Ok(Sides { lockers, logging, quiet, rs256, limited, bare, direct, body_bytes })
    }
}

/// A handler that answers the same, always.
fn like(reply: &Reply<'_>) -> Result<Peer> {
    let mut headers = Vec::new();
    for (name, value) in reply.headers() {
        let (name, value) = (std::str::from_utf8(name)?, std::str::from_utf8(value)?);
        if !ADDED.iter().any(|added| name.eq_ignore_ascii_case(added)) {
            headers.push(format!("{name}:{value}"));
        }
    }
    Ok(Peer { body: std::str::from_utf8(reply.body)?.to_owned(), headers })
}

/// Copies a store that no one has open.
pub(crate) fn copy(from: &Path, to: PathBuf) -> Result<PathBuf> {
    latchkey_embedded::private::make_directory(&to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        // A server that was killed leaves the socket it was told things by.
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(to)
}

impl Service {
    fn start(
        directory: &Path,
        log: Log,
        signing: Signing,
        flags: &[&str],
        lockers: Lockers,
    ) -> Result<Service> {
        let server = Server::latchkey(directory, log, signing, flags)?;
        Ok(Service { server, versions: Arc::new(Versions::new(lockers)), signing })
    }
}

impl Request {
    fn name(self) -> &'static str {
        match self {
            Request::Get => "GET /lockers/{id}",
            Request::Change => "PUT /lockers/{id}/status",
        }
    }
}

impl Cell {
    fn new(request: Request, clients: u64) -> Cell {
        let none = Vec::new;
        let (peer, logging, quiet, rs256, limited) = (none(), none(), none(), none(), none());
        Cell { request, clients, peer, logging, quiet, rs256, limited }
    }

    /// Runs every side once, back to back; which goes first changes from round to round.
    fn round(
        &mut self,
        runtime: &Runtime,
        sides: &Sides,
        time: Duration,
        round: u32,
    ) -> Result<()> {
        let turns = match self.request {
            Request::Get => 5,
            Request::Change => 3,
        };
        for turn in 0..turns {
            let run = |service| self.run_service(runtime, sides, service, time, round);
            match (round + turn) % turns {
                0 => self.peer.push(self.run_peer(runtime, sides, time, round)?),
                1 => self.logging.push(run(&sides.logging)?),
                2 => self.quiet.push(run(&sides.quiet)?),
                3 => self.rs256.push(run(&sides.rs256)?),
                _ => self.limited.push(run(&sides.limited)?),
            }
        }
        Ok(())
    }

    fn work(&self, sides: &Sides, service: &Service, time: Duration, seed: u32) -> Work {
        let ask = match self.request {
            Request::Get => Ask::Get { body_bytes: sides.body_bytes },
            Request::Change => Ask::Change(Arc::clone(&service.versions)),
        };
        let (lockers, clients, signing) = (sides.lockers, self.clients, service.signing);
        Work { lockers, ask, signing, clients, time, seed }
    }

    fn run_peer(&self, runtime: &Runtime, sides: &Sides, time: Duration, seed: u32) -> Result<Run> {
        // The store minds its versions itself.
        let work = self.work(sides, &sides.logging, time, seed);
        match self.request {
            Request::Get => load(runtime, &sides.bare, &work),
            Request::Change => Ok(Run::new(status::run(runtime, &sides.direct, &work)?, None)),
        }
    }

    fn run_service(
        &self,
        runtime: &Runtime,
        sides: &Sides,
        service: &Service,
        time: Duration,
        seed: u32,
    ) -> Result<Run> {
        load(runtime, &service.server, &self.work(sides, service, time, seed))
    }

    /// The rates of some runs next to the peer's, round by round.
    fn ratios(&self, runs: &[Run]) -> Vec<f64> {
        self.peer.iter().zip(runs).map(|(peer, ours)| ours.rate / peer.rate).collect()
    }

    fn sides(&self) -> impl Iterator<Item = (&'static str, &[Run])> {
        let peer = match self.request {
            Request::Get => "bare axum",
            Request::Change => "the store alone",
        };
        let sides = [
            (peer, self.peer.as_slice()),
            (LOGGING, &self.logging),
            (QUIET, &self.quiet),
            (RS256, &self.rs256),
            (LIMITED, &self.limited),
        ];
        sides.into_iter().filter(|(_, runs)| !runs.is_empty())
    }
}

fn load(runtime: &Runtime, server: &Server, work: &Work) -> Result<Run> {
    server.empty_log()?;
    let before = server.cpu();
    let done = client::run(runtime, server.address, work)?;
    let used = server.cpu().zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(Run::new(done, used))
}

impl Run {
    fn new(done: Done, used: Option<Duration>) -> Run {
        let Done { time, mut latencies } = done;
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

fn table(cells: &[&Cell]) -> Table {
    let mut table =
        Table::new(["side", "connections", "requests/s", "ratio", "p50", "p99", "server's CPU"]);
    for cell in cells {
        for (name, runs) in cell.sides() {
            let typical = |time: fn(&Run) -> Option<Duration>| {
                let times = runs.iter().filter_map(time).map(|time| time.as_secs_f64());
                Duration::from_secs_f64(median(times.collect()))
            };
            let cpu = match typical(|run| run.cpu) {
                Duration::ZERO => "–".to_owned(),
                cpu => format!("{:.1} µs", cpu.as_secs_f64() * 1e6),
            };
            table.row([
                name.to_owned(),
                cell.clients.to_string(),
                whole(median(runs.iter().map(|run| run.rate).collect())),
                ratio(median(cell.ratios(runs))),
                micros(typical(|run| Some(run.p50))),
                micros(typical(|run| Some(run.p99))),
                cpu,
            ]);
        }
    }
    table
}

/// The ratios of every round.
fn rounds(cells: &[Cell]) -> Table {
    let mut table =
        Table::new(["ratios, round by round", "connections", LOGGING, QUIET, RS256, LIMITED]);
    for cell in cells {
        let ratios = |runs| {
            let ratios: Vec<_> = cell.ratios(runs).into_iter().map(ratio).collect();
            ratios.join(" ")
        };
        table.row([
            cell.request.name().to_owned(),
            cell.clients.to_string(),
            ratios(&cell.logging),
            ratios(&cell.quiet),
            ratios(&cell.rs256),
            ratios(&cell.limited),
        ]);
    }
    table
}
