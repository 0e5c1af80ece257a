//! A message is never lost, whatever steps its sender, its relay and its worker are killed between.
//!
//! The table is on a service that speaks DynamoDB's protocol, and the queue on SQS. All that a process changes there is
//! a request. A process is killed before each of these requests, and after each, when it was carried out and the
//! process has not heard of it. Others go on behind it. `tests/store/messages.rs` is the same for the embedded store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::event::{Event, QUEUE, Told};
use crate::serve::fate::{Fate, Proxy, Seen};
use crate::serve::promise::{self, Progress};
use crate::serve::services::{Kind, Service};
use crate::serve::sqs::Sqs;
use crate::serve::{Client, until};
use crate::world::{Address, Patient, Process, World, token};

/// What changes something. A kill around any other request leaves what a kill around one of these leaves.
const CHANGES: [&str; 8] = [
    "TransactWriteItems",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "SendMessage",
    "DeleteMessage",
    "ChangeMessageVisibility",
    "SendMessageBatch",
];

/// Short leases, so that what a dead worker held is soon free.
const LEASE: [(&str, &str); 1] = [("\n  lease 30s\n", "\n  lease 2s\n")];

/// How many points are tried at once: almost all of their time is waiting.
const AT_ONCE: usize = 8;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    /// The server that takes a request and relays its message.
    Intake,
    /// The worker, with the message in the queue.
    Worker,
    /// The worker, which has to relay the message first, because the server died before it did.
    Sweep,
}

/// Where: before or behind which change, if anywhere.
#[derive(Debug, Clone, Copy)]
struct Point {
    change: usize,
    behind: bool,
}

/// The ways to both services, on which a point is waited for.
struct Ways {
    runtime: tokio::runtime::Runtime,
    proxies: Vec<Proxy>,
    /// The changes that came by.
    changes: Arc<Mutex<Vec<String>>>,
    reached: Arc<AtomicBool>,
}

impl Ways {
    fn to(world: &World, point: Option<Point>) -> Ways {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
        let (changes, reached) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let endpoints =
            [world.service.as_ref().unwrap().endpoint(), world.sqs.as_ref().unwrap().endpoint()];
        let start = |endpoint: &&str| {
            let (changes, reached) = (Arc::clone(&changes), Arc::clone(&reached));
            let decide = move |_, seen: &Seen| decide(seen, point, &changes, &reached);
            runtime.block_on(Proxy::start_by(endpoint, decide))
        };
        let proxies = endpoints.iter().map(start).collect();
        Ways { runtime, proxies, changes, reached }
    }

    /// A process that goes these ways.
    fn start(&self, world: &World, command: &str, more: &[&str]) -> Process {
        let [table, queue] = [0, 1].map(|at: usize| self.proxies[at].endpoint.as_str());
        world.through_ways(command, more, &[("--endpoint", table), ("--sqs-endpoint", queue)])
    }

    fn is_reached(&self) -> bool {
        self.reached.load(Ordering::SeqCst)
    }

    fn changes(&self) -> Vec<String> {
        self.changes.lock().unwrap().clone()
    }
}

/// Behind the point nobody is answered any more: whoever asks is as good as dead, and is killed.
fn decide(
    seen: &Seen,
    point: Option<Point>,
    changes: &Mutex<Vec<String>>,
    reached: &AtomicBool,
) -> Fate {
    let mut changes = changes.lock().unwrap();
    if reached.load(Ordering::SeqCst) {
        return Fate::Hang;
    }
    // To see whether the table can be written, a process asks for a transaction that changes nothing.
    let asks = seen.body.contains("LATCHKEY#READY");
    if asks || !CHANGES.contains(&seen.operation.as_str()) {
        return Fate::Pass;
    }
    changes.push(seen.operation.clone());
    match point {
        Some(Point { change, behind }) if change + 1 == changes.len() => {
            reached.store(true, Ordering::SeqCst);
            if behind { Fate::Lost } else { Fate::Hang }
        }
        _ => Fate::Pass,
    }
}

/// A world of its own for each point, on services that all share.
struct Services {
    dynamodb: Service,
    sqs: Arc<Sqs>,
    count: AtomicUsize,
}

impl Services {
    fn world(&self) -> World {
        let name = format!("{QUEUE}=steps-{}", self.count.fetch_add(1, Ordering::SeqCst));
        let both = (self.dynamodb.for_another(), Arc::clone(&self.sqs));
        World::on_both("participation", &LEASE, &name, both)
    }
}

const EVENT: Event<'_> = Event { id: "steps", seats: 1 };

/// Asks to take part, and does not mind that nobody answers.
fn ask(process: &Process) {
    let address = process.address.clone();
    thread::spawn(move || {
        let mut client = Client::new(&address).with_token(&token("ann", &[]));
        // The server may be killed before it answers.
        let _ = client.try_send("POST", "/events/steps/participations", &[], None);
    });
}

/// Whether a victim has done all it has to: the record is struck off, the message is removed.
fn is_done(victim: Victim, changes: &[String]) -> bool {
    let last: &[&str] = match victim {
        Victim::Intake => &["DeleteItem"],
        Victim::Worker => &["DeleteMessage"],
        Victim::Sweep => &["DeleteItem", "DeleteMessage"],
    };
    last.iter().all(|last| changes.iter().any(|one| one == last))
}

/// Runs a victim up to a point and kills it, or lets it do all it has to. Gives the changes it made, and whether it came
/// to the point.
fn run(world: &World, victim: Victim, point: Option<Point>) -> (Vec<String>, bool) {
    let serve = ["--no-workers"];
    let mut first = world.serve(&serve);
    EVENT.open(&Address::of(&first));
    match victim {
        Victim::Intake => {}
        Victim::Worker => drop(EVENT.click(&mut Patient::new(&Address::of(&first)), "ann")),
        Victim::Sweep => {
            // Killed once the request is stored, before its message is sent.
            let ways = Ways::to(world, Some(Point { change: 0, behind: true }));
            let mut dying = ways.start(world, "serve", &serve);
            ask(&dying);
            until("it has stored the request", || ways.is_reached());
            dying.kill();
        }
    }
    first.kill();
    let ways = Ways::to(world, point);
    let mut dying = match victim {
        Victim::Intake => ways.start(world, "serve", &serve),
        Victim::Worker | Victim::Sweep => ways.start(world, "work", &["--workers", "1"]),
    };
    if victim == Victim::Intake {
        ask(&dying);
    }
    until("the point is reached, or all is done", || {
        ways.is_reached() || is_done(victim, &ways.changes())
    });
    dying.kill();
    let changes = ways.changes();
    let reached = ways.is_reached();
    ways.runtime.shutdown_background();
    (changes, reached)
}

/// Kills a victim at a point, and has others finish. Gives the changes, and whether it came to the point.
fn kill_at(services: &Services, victim: Victim, point: Option<Point>) -> (Vec<String>, bool) {
    let world = services.world();
    let (changes, reached) = run(&world, victim, point);
    let server = world.serve(&[]);
    let address = Address::of(&server);
    let mut client = Patient::new(&address);
    let mut acknowledged = || EVENT.summary(&mut client).values().sum::<usize>();
    let context = format!("{victim:?} {point:?} {changes:?}");
    let stored = victim != Victim::Intake || point.is_none_or(|at| at.change > 0 || at.behind);
    if stored {
        // The service may still be at it, for the change was let through before the kill.
        until(&format!("it is stored: {context}"), || acknowledged() == 1);
    } else {
        assert_eq!(acknowledged(), 0, "{context}");
    }
    // Nobody but those who go on by themselves decides it; only then the caller asks again.
    if stored {
        EVENT.wait(&address, 1);
    }
    let told = Told::from([("ann".to_owned(), EVENT.click(&mut client, "ann"))]);
    EVENT.wait(&address, 1);
    EVENT.is_settled(&world, &address, &told);
    (changes, reached)
}

/// All points, so many at once.
fn kill_everywhere(victims: &[Victim], rounds: usize) {
    let services = Services {
        dynamodb: Service::start(Kind::Dynoxide, 0, None),
        sqs: Arc::new(Sqs::start()),
        count: AtomicUsize::new(0),
    };
    let counted = thread::scope(|scope| {
        let count = |victim: &Victim| {
            let (services, victim) = (&services, *victim);
            scope.spawn(move || (victim, kill_at(services, victim, None).0))
        };
        let counting: Vec<_> = victims.iter().map(count).collect();
        counting.into_iter().map(|one| one.join().unwrap()).collect::<BTreeMap<_, _>>()
    });
    let points = counted.iter().flat_map(|(victim, changes)| {
        let points = (0..changes.len()).flat_map(|change| [(change, false), (change, true)]);
        points.map(move |(change, behind)| (*victim, Point { change, behind }))
    });
    let points: Vec<(Victim, Point)> = points.collect();
    let all = points.len() * rounds;
    let (next, progress) = (AtomicUsize::new(0), Mutex::new(Progress::new("messages", all)));
    let missed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    if at >= all {
                        return;
                    }
                    let (victim, point) = points[at % points.len()];
                    let (changes, reached) = kill_at(&services, victim, Some(point));
                    // A sweep and the worker beside it may mark a request as queued at the same time; whoever comes
                    // second makes one change more, and only then.
                    let sweeps = victim == Victim::Sweep;
                    assert!(reached || sweeps, "{victim:?} never came to {point:?}: {changes:?}");
                    missed.fetch_add(usize::from(!reached), Ordering::SeqCst);
                    progress.lock().unwrap().add(1);
                }
            });
        }
    });
    let (missed, spent) = (missed.into_inner(), progress.lock().unwrap().spent());
    assert!(missed <= all / 10, "{missed} of {all} points were never reached");
    promise::tell(&format!(
        "{} points x {rounds}, of which {missed} were not reached, 0 messages lost, in {spent:?}: {counted:?}",
        points.len()
    ));
}

#[test]
fn a_message_survives_a_kill_between_any_two_steps_on_sqs() {
    kill_everywhere(&[Victim::Intake, Victim::Worker], 1);
}

/// A sweep waits until a record was surely left behind: this takes half a minute for each point.
#[test]
#[ignore = "`./reliability.sh messages` runs it"]
fn a_message_survives_a_kill_between_any_two_steps_of_a_sweep_on_sqs() {
    kill_everywhere(&[Victim::Intake, Victim::Worker, Victim::Sweep], promise::rounds(3));
}
