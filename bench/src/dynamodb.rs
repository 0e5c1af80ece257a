//! A contract on DynamoDB next to the bare call of the SDK.

mod bare;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_dynamodb::{DynamoDb, Settings};
use latchkey_runtime::{Call, Caller, Options, Runtime, Storage, System};

use crate::Result;
use crate::load::{median, percentile, runtime};
use crate::report::{Table, count, micros, progress, ratio};
use bare::Bare;

const DOCUMENT: &str = include_str!("dynamodb/doors.md");

/// What starts DynamoDB Local.
const SERVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/services/dynamodb-local.sh");

/// What a contract may add to the time of the bare call.
const AIM: f64 = 1.10;

/// How many calls nobody counts: connections are made, and the service warms up.
const WARM: u32 = 300;

/// How much is compared.
pub(crate) struct Extent {
    /// How many calls a side makes in a round.
    pub(crate) calls: u32,
    pub(crate) rounds: u32,
    /// Whether the figures are good enough to say what they mean.
    pub(crate) judged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Get,
    Change,
}

/// Both sides, each with a door of its own.
struct Sides {
    bare: Bare,
    runtime: Runtime,
    service: DynamoDb,
    /// The version of the runtime's door.
    version: u64,
}

/// What the rounds of an operation came to.
#[derive(Default)]
struct Seen {
    bare: Vec<Duration>,
    ours: Vec<Duration>,
    ratios: Vec<f64>,
}

/// DynamoDB Local in a process of its own, which ends when its input is closed.
pub(crate) struct Service {
    child: Child,
    pub(crate) endpoint: String,
}

/// Compares, on a service of its own unless an endpoint is given.
pub(crate) fn compare(endpoint: Option<String>, extent: &Extent) -> Result<()> {
    progress("starting DynamoDB Local");
    let service = if endpoint.is_none() { Some(Service::start()?) } else { None };
    let endpoint = endpoint.or_else(|| service.as_ref().map(|service| service.endpoint.clone()));
    let endpoint = endpoint.ok_or("there is no endpoint")?;
    let (get, change) = runtime()?.block_on(async {
        let mut sides = Sides::prepare(&endpoint).await?;
        for operation in [Operation::Get, Operation::Change] {
            sides.round(operation, WARM, &mut Seen::default()).await?;
        }
        let (mut get, mut change) = (Seen::default(), Seen::default());
        for round in 1..=extent.rounds {
            progress(&format!("round {round} of {}", extent.rounds));
            sides.round(Operation::Get, extent.calls, &mut get).await?;
            sides.round(Operation::Change, extent.calls, &mut change).await?;
        }
        sides.service.delete_table(&sides.runtime.system().table().name).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((get, change))
    })?;
    progress("");
    report(extent, get, change);
    Ok(())
}

impl Sides {
    async fn prepare(endpoint: &str) -> Result<Sides> {
        let config = bare::config(endpoint);
        let service = DynamoDb::connect_from(config, &Settings::default()).await;
        let system = System::read(DOCUMENT).map_err(|mistakes| mistakes.to_string())?;
        // Its own, in whichever service.
        let system = system.on_table(&format!("latchkey-bench-{}", std::process::id()));
        service.create(system.table()).await?;
        let bare = Bare::connect(bare::config(endpoint), system.table().name.to_string()).await;
        let backend = Storage::on(Arc::new(service.clone()));
        let runtime = Runtime::start(system, backend, Options::default()).await?;
        for door in ["bare", "ours"] {
            let make = Call::new("MAKE", Caller::new("alice")).input("doorId", door);
            let made = runtime.call(make.input("note", "x".repeat(200).as_str())).await;
            if made.status() != 200 {
                return Err(format!("no door was made: {}", made.body()).into());
            }
        }
        Ok(Sides { bare, runtime, service, version: 1 })
    }

    /// The sides take turns, call by call.
    async fn round(&mut self, operation: Operation, calls: u32, seen: &mut Seen) -> Result<()> {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for call in 0..calls {
            // Whoever comes second meets a service that is still clearing up: each does every other time.
            let bare_first = call.is_multiple_of(2);
            for bare_now in [bare_first, !bare_first] {
                let started = Instant::now();
                match (bare_now, operation) {
                    (true, Operation::Get) => self.bare.get().await?,
                    (true, Operation::Change) => self.bare.change().await?,
                    (false, operation) => self.call(operation).await?,
                }
                let side = if bare_now { &mut bare } else { &mut ours };
                side.push(started.elapsed());
            }
        }
        let middle = |times: &[Duration]| median(times.iter().map(Duration::as_secs_f64).collect());
        seen.ratios.push(middle(&ours) / middle(&bare));
        seen.bare.append(&mut bare);
        seen.ours.append(&mut ours);
        Ok(())
    }

    async fn call(&mut self, operation: Operation) -> Result<()> {
        let door = |id: &str| Call::new(id, Caller::new("alice")).input("doorId", "ours");
        let call = match operation {
            Operation::Get => door("GET"),
            Operation::Change => {
                let state = if self.version.is_multiple_of(2) { "SHUT" } else { "OPEN" };
                let expected = self.version.to_string();
                self.version += 1;
                door("CHANGE").input("state", state).input("expectedVersion", expected.as_str())
            }
        };
        let outcome = self.runtime.call(call).await;
        if outcome.status() == 200 { Ok(()) } else { Err(outcome.body().into()) }
    }
}

impl Service {
    pub(crate) fn start() -> Result<Service> {
        let mut child =
            Command::new(SERVICE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("the service has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let endpoint =
            line.trim().strip_prefix("listening ").ok_or("the service does not start")?;
        Ok(Service { child, endpoint: endpoint.to_owned() })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn report(extent: &Extent, get: Seen, change: Seen) {
    println!(
        "DynamoDB Local, one client, {} rounds of {} calls a side, turn by turn\n",
        extent.rounds,
        count(extent.calls.into())
    );
    let mut table = Table::new(["call", "side", "p50", "p99", "ratio of p50", "round by round"]);
    let mut worst = 0.0_f64;
    for (name, mut seen) in [("get", get), ("conditional update", change)] {
        seen.bare.sort_unstable();
        seen.ours.sort_unstable();
        let middle = median(seen.ratios.clone());
        worst = worst.max(middle);
        let rounds: Vec<String> = seen.ratios.iter().map(|one| ratio(*one)).collect();
        for (side, times, of, each) in [
            ("bare SDK", &seen.bare, ratio(1.0), String::new()),
            ("contract", &seen.ours, ratio(middle), rounds.join(" ")),
        ] {
            table.row([
                name.to_owned(),
                side.to_owned(),
                micros(percentile(times, 50)),
                micros(percentile(times, 99)),
                of,
                each,
            ]);
        }
    }
    println!("{table}");
    if extent.judged {
        let verdict = if worst <= AIM { "kept" } else { "missed" };
        println!("A contract adds {:.1}% at most; 10% is {verdict}.", (worst - 1.0) * 100.0);
    }
}
