//! Measures the embedded store next to bare redb, on this machine's disk, the service next to a bare axum
//! handler, contracts on DynamoDB next to the bare SDK, and the check of documents.

#![expect(clippy::print_stdout, reason = "the tables are the program's output")]
#![expect(clippy::print_stderr, reason = "progress is for the person who waits")]

mod bare;
mod check;
mod dynamodb;
mod growth;
mod http;
mod items;
mod latchkey;
mod load;
mod participation;
mod repair;
mod report;
mod store;
mod victim;
mod windows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tempfile::TempDir;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const EXAMPLES: &str = "\
Examples:
  latchkey-bench store                      the whole comparison, about 4 minutes
  latchkey-bench store --quick              a look, under 30 seconds
  latchkey-bench store --clients 1,64 --rounds 9
  latchkey-bench growth --dir /mnt/disk     10 thousand to 1 million items
  latchkey-bench growth --items 10000000 --seconds 5
  latchkey-bench repair                     what redb's quick repair costs and saves
  latchkey-bench http                       the service over HTTP, about 2 minutes
  latchkey-bench http --quick               a second, to see that it works
  latchkey-bench dynamodb                   contracts on DynamoDB Local next to the bare SDK
  latchkey-bench participation              taking part and deciding, about 6 minutes
  latchkey-bench windows                    callers who book windows of one locker
  latchkey-bench check                      the check of larger and larger documents";

/// Measures Latchkey's embedded store next to bare redb, its service next to bare axum, and the check of
/// documents. Prints Markdown.
#[derive(Debug, Parser)]
#[command(name = "latchkey-bench", after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, Subcommand)]
enum Measure {
    /// Each operation at 1 to 256 clients, next to the bare loop that does the same with no
    /// conditions, no indexes and no capacity.
    Store {
        #[command(flatten)]
        common: Common,
        /// How many items each side holds [default: 200000, or 20000 if quick].
        #[arg(long, value_parser = clap::value_parser!(u64).range(10_000..=10_000_000))]
        items: Option<u64>,
        /// How long each run takes [default: 0.8, or 0.1 if quick].
        #[arg(long, value_parser = seconds)]
        seconds: Option<Duration>,
        /// How often every run is repeated; both sides take turns [default: 5, or 3 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: Option<u32>,
        /// How many clients at once.
        #[arg(
            long,
            value_delimiter = ',',
            default_value = "1,8,64,256",
            value_parser = clap::value_parser!(u64).range(1..=2000)
        )]
        clients: Vec<u64>,
    },
    /// The store at 10 thousand, 100 thousand and 1 million items.
    Growth {
        #[command(flatten)]
        common: Common,
        /// How many items [default: 10000,100000,1000000, or the first two if quick].
        #[arg(
            long,
            value_delimiter = ',',
            value_parser = clap::value_parser!(u64).range(10_000..=10_000_000)
        )]
        items: Vec<u64>,
        /// How long each run takes [default: 1, or 0.2 if quick].
        #[arg(long, value_parser = seconds)]
        seconds: Option<Duration>,
    },
    /// Bare redb with and without quick repair: commits, and opening a file of about 1 GB after its
    /// writer was killed.
    Repair {
        #[command(flatten)]
        common: Common,
    },
    /// A get of the service next to a bare axum handler that answers a constant of the same size, and a
    /// change next to the same transaction on the store itself.
    Http {
        #[command(flatten)]
        common: Common,
        /// How long each run takes [default: 1.5, or 0.05 if quick].
        #[arg(long, value_parser = seconds)]
        seconds: Option<Duration>,
        /// How often every run is repeated; the sides take turns [default: 9, or 1 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: Option<u32>,
    },
    /// A get and a conditional update as contracts next to the bare calls of the SDK.
    Dynamodb {
        /// Where to ask; without it, a DynamoDB Local of its own is started.
        #[arg(long, value_name = "URL")]
        endpoint: Option<String>,
        /// How many calls each side makes in a round [default: 1000, or 20 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        calls: Option<u32>,
        /// How many rounds [default: 9, or 1 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: Option<u32>,
        /// Shorter: to see that it works, not to quote.
        #[arg(long)]
        quick: bool,
    },
    /// Taking part in events and deciding who wins: what comes in at 256 connections, what workers get done, what it
    /// costs, and what becomes of it where all write one item.
    Participation {
        #[command(flatten)]
        common: Common,
        /// How many take part in each event [default: 10000, or 40 if quick].
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        users: Option<u64>,
        /// How often every event is held [default: 3, or 1 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
        rounds: Option<u32>,
        /// How many connections ask at once.
        #[arg(long, default_value = "256", value_parser = clap::value_parser!(u64).range(1..=2000))]
        connections: u64,
    },
    /// Callers who book windows of one locker that do not overlap: rate, waits and refusals.
    Windows {
        #[command(flatten)]
        common: Common,
        /// How many callers at once.
        #[arg(
            long,
            value_delimiter = ',',
            default_value = "1,16,64",
            value_parser = clap::value_parser!(u64).range(1..=336)
        )]
        callers: Vec<u64>,
        /// How many lockers, one after the other [default: 20, or 1 if quick].
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        lockers: Option<u32>,
    },
    /// The check of a document of 50 to 2,000 contracts.
    Check {
        /// How often each document is checked.
        #[arg(long, default_value = "9", value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
    },
    #[command(hide = true)]
    Victim(victim::Victim),
    #[command(hide = true)]
    HttpPeer(http::peer::Peer),
}

#[derive(Debug, Args)]
struct Common {
    /// Smaller and shorter: to see that it works, not to quote.
    #[arg(long)]
    quick: bool,
    /// Where to put the files while it runs; a disk, not memory.
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

fn main() -> Result<ExitCode> {
    if http::process::is_latchkey() {
        return Ok(latchkey_cli::main());
    }
    measure(Arguments::parse().measure).map(|()| ExitCode::SUCCESS)
}

fn measure(measure: Measure) -> Result<()> {
    match measure {
        Measure::Store { common, items, seconds, rounds, clients } => {
            let (few, short, seldom) =
                if common.quick { (20_000, 0.1, 3) } else { (200_000, 0.8, 5) };
            let extent = store::Extent {
                items: items.unwrap_or(few),
                time: seconds.unwrap_or(Duration::from_secs_f64(short)),
                rounds: rounds.unwrap_or(seldom),
                clients,
            };
            store::compare(scratch(&common.dir)?.path(), &extent)
        }
        Measure::Growth { common, items, seconds } => {
            let mut sizes = items;
            if sizes.is_empty() {
                sizes.extend([10_000, 100_000]);
                sizes.extend((!common.quick).then_some(1_000_000));
            }
            let time = Duration::from_secs_f64(if common.quick { 0.2 } else { 1.0 });
            growth::grow(scratch(&common.dir)?.path(), &sizes, seconds.unwrap_or(time))
        }
        Measure::Repair { common } => {
            let (items, time, rounds) =
                if common.quick { (100_000, 0.3, 1) } else { (2_000_000, 2.0, 3) };
            let time = Duration::from_secs_f64(time);
            let extent = repair::Extent { items, time, rounds };
            repair::measure(scratch(&common.dir)?.path(), &extent)
        }
        Measure::Http { common, seconds, rounds } => {
            let (lockers, time, often) =
                if common.quick { (512, 0.05, 1) } else { (10_000, 1.5, 9) };
            let extent = http::Extent {
                lockers,
                time: seconds.unwrap_or(Duration::from_secs_f64(time)),
                rounds: rounds.unwrap_or(often),
                judged: !common.quick,
            };
            http::compare(scratch(&common.dir)?.path(), &extent)
        }
        Measure::Dynamodb { endpoint, calls, rounds, quick } => {
            let (few, often) = if quick { (20, 1) } else { (1000, 9) };
            let calls = calls.unwrap_or(few);
            let rounds = rounds.unwrap_or(often);
            dynamodb::compare(endpoint, &dynamodb::Extent { calls, rounds, judged: !quick })
        }
        Measure::Participation { common, users, rounds, connections } => {
            let (few, often, contenders) =
                if common.quick { (40, 1, 10) } else { (10_000, 3, 300) };
            let (events, milliseconds): (Vec<u64>, Vec<u64>) =
                if common.quick { (vec![1, 2], vec![1]) } else { (vec![1, 16], vec![5, 10]) };
            let extent = participation::Extent {
                users: users.unwrap_or(few),
                rounds: rounds.unwrap_or(often),
                connections,
                events,
                contenders,
                transactions: milliseconds.into_iter().map(Duration::from_millis).collect(),
            };
            participation::measure(scratch(&common.dir)?.path(), &extent)
        }
        Measure::Windows { common, callers, lockers } => {
            let lockers = lockers.unwrap_or(if common.quick { 1 } else { 20 });
            windows::measure(scratch(&common.dir)?.path(), &callers, lockers)
        }
        Measure::Check { rounds } => check::measure(rounds),
        Measure::Victim(victim) => victim::write(&victim),
        Measure::HttpPeer(peer) => http::peer::run(peer),
    }
}

/// A directory that is removed when the program ends.
fn scratch(around: &Path) -> Result<TempDir> {
    std::fs::create_dir_all(around)?;
    Ok(tempfile::Builder::new().prefix("latchkey-bench-").tempdir_in(around)?)
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.01..=60.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("not between 0.01 and 60".to_owned())
    }
}
