//! What redb's quick repair costs each commit, and what it saves after a kill. Bare redb only.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bare::{Bare, file};
use crate::items::Items;
use crate::load::{Operation, Work, median, percentile, run, runtime};
use crate::report::{Table, count, megabytes, micros, millis, progress, whole};
use crate::victim::{What, kill_while_writing};

/// Alone, and in groups.
const CLIENTS: [u64; 2] = [1, 64];

/// How much is measured.
pub(crate) struct Extent {
    pub(crate) items: u64,
    pub(crate) time: Duration,
    pub(crate) rounds: u32,
}

/// What one way of committing came to.
#[derive(Default)]
struct Way {
    rates: [Vec<f64>; 2],
    alone: Vec<Duration>,
    opened: Vec<f64>,
}

/// Measures both ways in turn on one file, and prints them.
pub(crate) fn measure(directory: &Path, extent: &Extent) -> Result<()> {
    let items = Items::new(extent.items);
    progress(&format!("loading {} items", count(items.total())));
    Bare::load(directory, items)?;
    let mut ways = [Way::default(), Way::default()];
    for round in 0..extent.rounds {
        for (way, quick_repair) in ways.iter_mut().zip([false, true]) {
            let name = if quick_repair { "quick repair" } else { "without" };
            progress(&format!("round {} of {}: {name}", round + 1, extent.rounds));
            way.round(directory, items, extent.time, round, quick_repair)?;
        }
    }
    progress("");
    let mut table = Table::new([
        "quick repair",
        "update /s, 1 client",
        "p50, 1 client",
        "update /s, 64 clients",
        "open after kill -9",
    ]);
    for (mut way, name) in ways.into_iter().zip(["off", "on"]) {
        way.alone.sort();
        let [one, many] = way.rates.map(|rates| whole(median(rates)));
        let alone = micros(percentile(&way.alone, 50));
        let opened = millis(Duration::from_secs_f64(median(way.opened)));
        table.row([name.to_owned(), one, alone, many, opened]);
    }
    println!(
        "Bare redb, {} items, a file of {}, medians of {} rounds of {:?} a run\n",
        count(items.total()),
        megabytes(&file(directory))?,
        extent.rounds,
        extent.time
    );
    println!("{table}");
    Ok(())
}

impl Way {
    fn round(
        &mut self,
        directory: &Path,
        items: Items,
        time: Duration,
        seed: u32,
        quick_repair: bool,
    ) -> Result<()> {
        let bare = Arc::new(Bare::open(directory, items, quick_repair)?);
        let runtime = runtime()?;
        for (clients, rates) in CLIENTS.into_iter().zip(&mut self.rates) {
            let run =
                run(&runtime, &bare, Work { operation: Operation::Update, clients, time, seed })?;
            rates.push(run.rate);
            if clients == 1 {
                self.alone.extend(run.latencies);
            }
        }
        drop(runtime);
        drop(bare);
        let what = if quick_repair { What::BareQuickRepair } else { What::Bare };
        kill_while_writing(what, directory, items)?;
        let start = Instant::now();
        let bare = Bare::open(directory, items, quick_repair)?;
        self.opened.push(start.elapsed().as_secs_f64());
        drop(bare);
        Ok(())
    }
}
