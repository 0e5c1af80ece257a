//! What becomes of the embedded store as it grows.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options, Store};

use crate::Result;
use crate::items::Items;
use crate::latchkey::{Indexes, Latchkey, file};
use crate::load::{Operation, Run, Work, median, percentile, run, runtime};
use crate::report::{Table, count, megabytes, millis, progress, whole};
use crate::victim::{What, kill_while_writing};

const CLIENTS: u64 = 64;

/// How often each thing is measured; the table has the median.
const REPEATS: u32 = 3;

/// Measures each size in turn, and prints a row for each.
pub(crate) fn grow(directory: &Path, sizes: &[u64], time: Duration) -> Result<()> {
    let mut table = Table::new([
        "items",
        "load",
        "get /s",
        "query of 25 /s",
        "conditional update /s",
        "p99",
        "longest wait",
        "file",
        "open after close",
        "open after kill -9",
    ]);
    for size in sizes {
        let directory = directory.join(size.to_string());
        table.row(measure(&directory, Items::new(*size), time)?);
        std::fs::remove_dir_all(directory)?;
    }
    progress("");
    println!(
        "{CLIENTS} clients, medians of {REPEATS}, the longest wait of all; the file is in the system's cache\n"
    );
    println!("{table}");
    Ok(())
}

fn measure(directory: &Path, items: Items, time: Duration) -> Result<[String; 10]> {
    let progress = |doing: &str| progress(&format!("{} items: {doing}", count(items.total())));
    progress("loading");
    let start = Instant::now();
    let store = Latchkey::open(directory, items, Indexes::None)?;
    store.load()?;
    let loaded = start.elapsed();
    let store = Arc::new(store);
    let runtime = runtime()?;
    let runs = |operation: Operation| -> Result<Vec<Run>> {
        progress(operation.name());
        let work = |seed| Work { operation, clients: CLIENTS, time, seed };
        (0..REPEATS).map(|seed| run(&runtime, &store, work(seed))).collect()
    };
    let rate = |runs: &[Run]| whole(median(runs.iter().map(|run| run.rate).collect()));
    let (get, query) = (rate(&runs(Operation::Get)?), rate(&runs(Operation::Query)?));
    let updates = runs(Operation::Update)?;
    let update = rate(&updates);
    let mut waits: Vec<Duration> = updates.into_iter().flat_map(|run| run.latencies).collect();
    waits.sort_unstable();
    let [p99, longest] = [99, 100].map(|percent| millis(percentile(&waits, percent)));
    drop(runtime);
    drop(store);
    progress("opening");
    let closed = open_time(directory, || Ok(()))?;
    let size = megabytes(&file(directory))?;
    progress("opening after a kill");
    let killed = open_time(directory, || kill_while_writing(What::Latchkey, directory, items))?;
    let (loaded, closed, killed) = (millis(loaded), millis(closed), millis(killed));
    Ok([count(items.total()), loaded, get, query, update, p99, longest, size, closed, killed])
}

/// How long the store takes to open after something was done to it.
fn open_time(directory: &Path, before: impl Fn() -> Result<()>) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        before()?;
        let start = Instant::now();
        let store = Store::open(directory, &Options::default())?;
        times.push(start.elapsed().as_secs_f64());
        drop(store);
    }
    Ok(Duration::from_secs_f64(median(times)))
}
