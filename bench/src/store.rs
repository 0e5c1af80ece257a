//! The embedded store next to bare redb, operation by operation.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::Result;
use crate::bare::{self, Bare};
use crate::items::Items;
use crate::latchkey::{self, Indexes, Latchkey};
use crate::load::{Operation, Run, Work, median, percentile, run, runtime};
use crate::report::{Table, count, megabytes, micros, progress, ratio, whole};

const PAGE_BYTES: usize = 4096;

/// How many pages redb writes to commit a lone write to 200,000 items, by a trace of its calls.
const COMMIT_PAGES: u64 = 8;

/// Syncs measured at a time.
const SYNCS: u64 = 64;

const SYNC_FILE_PAGES: u64 = 16_384;

/// How much is compared.
pub(crate) struct Extent {
    pub(crate) items: u64,
    pub(crate) time: Duration,
    pub(crate) rounds: u32,
    pub(crate) clients: Vec<u64>,
}

/// Both sides, and the embedded store once more with an index.
struct Sides {
    bare: Arc<Bare>,
    plain: Arc<Latchkey>,
    indexed: Arc<Latchkey>,
}

/// One operation at one number of clients: a run a round of each side.
struct Cell {
    operation: Operation,
    clients: u64,
    bare: Vec<Run>,
    plain: Vec<Run>,
    /// Empty where an index makes no difference.
    indexed: Vec<Run>,
}

/// How long one sync of so many pages took, beside every run of a lone writer.
struct Syncs {
    pages: u64,
    runs: Vec<Vec<Duration>>,
}

/// Compares, and prints what came of it.
pub(crate) fn compare(directory: &Path, extent: &Extent) -> Result<()> {
    let items = Items::new(extent.items);
    let sides = load(directory, items)?;
    let runtime = runtime()?;
    let mut cells = Vec::new();
    for operation in Operation::ALL {
        for clients in extent.clients.iter().copied() {
            let (bare, plain, indexed) = (Vec::new(), Vec::new(), Vec::new());
            cells.push(Cell { operation, clients, bare, plain, indexed });
        }
    }
    let sync_file = sync_file(directory)?;
    let mut syncs = [1, COMMIT_PAGES].map(|pages| Syncs { pages, runs: Vec::new() });
    for round in 0..extent.rounds {
        for cell in &mut cells {
            let (number, rounds, clients) = (round + 1, extent.rounds, cell.clients);
            let name = cell.operation.name();
            progress(&format!("round {number} of {rounds}: {name}, {clients} clients"));
            cell.round(&runtime, &sides, extent.time, round)?;
            if cell.is_lone_writer() {
                for syncs in &mut syncs {
                    syncs.runs.push(sync_times(&sync_file, syncs.pages)?);
                }
            }
        }
    }
    progress("");
    println!(
        "{} items, {} rounds of {:?} a run, {} cores\n",
        count(items.total()),
        extent.rounds,
        extent.time,
        std::thread::available_parallelism()?
    );
    println!("{}", rates(&cells));
    println!("{}", lone_writer(&cells, &syncs));
    println!(
        "Files at the end: bare {}, latchkey {}, latchkey with an index {}.",
        megabytes(&bare::file(directory))?,
        megabytes(&latchkey::file(&directory.join("plain")))?,
        megabytes(&latchkey::file(&directory.join("indexed")))?,
    );
    Ok(())
}

fn load(directory: &Path, items: Items) -> Result<Sides> {
    progress(&format!("loading {} items three times", count(items.total())));
    Bare::load(directory, items)?;
    let plain = Latchkey::open(&directory.join("plain"), items, Indexes::None)?;
    plain.load()?;
    let indexed = Latchkey::open(&directory.join("indexed"), items, Indexes::One)?;
    indexed.load()?;
    Ok(Sides {
        bare: Arc::new(Bare::open(directory, items, false)?),
        plain: Arc::new(plain),
        indexed: Arc::new(indexed),
    })
}

impl Cell {
    /// Runs every side once, back to back; which goes first changes from round to round.
    fn round(
        &mut self,
        runtime: &Runtime,
        sides: &Sides,
        time: Duration,
        round: u32,
    ) -> Result<()> {
        let Cell { operation, clients, .. } = *self;
        let work = Work { operation, clients, time, seed: round };
        let bare_first = round.is_multiple_of(2);
        if bare_first {
            self.bare.push(run(runtime, &sides.bare, work)?);
        }
        self.plain.push(run(runtime, &sides.plain, work)?);
        if !bare_first {
            self.bare.push(run(runtime, &sides.bare, work)?);
        }
        if matches!(operation, Operation::Query | Operation::Put | Operation::Update) {
            self.indexed.push(run(runtime, &sides.indexed, work)?);
        }
        Ok(())
    }

    fn is_lone_writer(&self) -> bool {
        self.clients == 1 && self.operation.writes()
    }

    fn row(&self, table: &mut Table, name: &str, latchkey: &[Run]) {
        let rate = |runs: &[Run]| median(runs.iter().map(|run| run.rate).collect());
        let ratios = self.bare.iter().zip(latchkey).map(|(bare, ours)| ours.rate / bare.rate);
        table.row([
            name.to_owned(),
            self.clients.to_string(),
            whole(rate(&self.bare)),
            whole(rate(latchkey)),
            ratio(median(ratios.collect())),
        ]);
    }
}

fn rates(cells: &[Cell]) -> Table {
    let mut table = Table::new(["operation", "clients", "bare ops/s", "latchkey ops/s", "ratio"]);
    for cell in cells {
        cell.row(&mut table, cell.operation.name(), &cell.plain);
    }
    for cell in cells.iter().filter(|cell| !cell.indexed.is_empty()) {
        let name = match cell.operation {
            Operation::Query => "query of 25 by index".to_owned(),
            operation => format!("{}, 1 index", operation.name()),
        };
        cell.row(&mut table, &name, &cell.indexed);
    }
    table
}

/// What a write costs a client that is alone, next to what a sync costs.
fn lone_writer(cells: &[Cell], syncs: &[Syncs]) -> Table {
    let mut table = Table::new([
        "a lone client",
        "bare p50",
        "bare p99",
        "latchkey p50",
        "latchkey p99",
        "p50 in syncs",
    ]);
    let sync = syncs.first().map(|syncs| typical(&syncs.runs, 50)).unwrap_or_default();
    let in_syncs = |time: Duration| ratio(time.as_secs_f64() / sync.as_secs_f64());
    for Syncs { pages, runs } in syncs {
        let (p50, p99, none) = (typical(runs, 50), typical(runs, 99), || "–".to_owned());
        let name = format!("write {pages} × 4 KB, fdatasync");
        table.row([name, micros(p50), micros(p99), none(), none(), in_syncs(p50)]);
    }
    for cell in cells.iter().filter(|cell| cell.is_lone_writer()) {
        let times = |runs: &[Run]| runs.iter().map(|run| run.latencies.clone()).collect::<Vec<_>>();
        let (bare, plain) = (times(&cell.bare), times(&cell.plain));
        let p50 = typical(&plain, 50);
        table.row([
            cell.operation.name().to_owned(),
            micros(typical(&bare, 50)),
            micros(typical(&bare, 99)),
            micros(p50),
            micros(typical(&plain, 99)),
            in_syncs(p50),
        ]);
    }
    table
}

/// The median, over runs, of the time that so many of a hundred stay within.
fn typical(runs: &[Vec<Duration>], percent: usize) -> Duration {
    let times = runs.iter().map(|run| {
        let mut sorted = run.clone();
        sorted.sort();
        percentile(&sorted, percent).as_secs_f64()
    });
    Duration::from_secs_f64(median(times.collect()))
}

/// How long so many pages, apart from each other, take to reach the disk with one sync, in a file that
/// has them already.
fn sync_times(file: &File, pages: u64) -> Result<Vec<Duration>> {
    let page = [7; PAGE_BYTES];
    let mut times = Vec::new();
    for sync in 0..SYNCS {
        let start = Instant::now();
        for at in 0..pages {
            // Two primes, so that no page is near the one before or those of the sync before.
            let at = (at * 1009 + sync * 211) % SYNC_FILE_PAGES;
            file.write_all_at(&page, at * u64::try_from(PAGE_BYTES)?)?;
        }
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// A file to sync, all of it written.
fn sync_file(directory: &Path) -> Result<File> {
    let mut file = File::create(directory.join("pages"))?;
    let page = [7; PAGE_BYTES];
    for _ in 0..SYNC_FILE_PAGES {
        file.write_all(&page)?;
    }
    file.sync_all()?;
    Ok(file)
}
