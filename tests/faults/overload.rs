//! Ten times as many callers as keep the server busy, among clients that are slow, half open, never read or send too
//! much: memory stays bounded, `/health` is answered, and afterwards all is as before.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::crowds::memory;
use crate::serve::backend::on_backend;
use crate::serve::promise::{self, Progress};
use crate::serve::{Client, until};
use crate::wire::{self, Wire};
use crate::world::{Own, outcome, register};

/// As many callers as keep two cores busy, each with one request at a time.
const ENOUGH: usize = 16;

const OVERLOAD: usize = 10 * ENOUGH;

/// How many clients of each bad kind there are.
const BAD: usize = 40;

/// More than any request may have.
const HUGE: usize = 3 * 1024 * 1024;

/// How much the process may grow, in KiB.
const GROWTH_MAX: usize = 400 * 1024;

/// Reads and writes, one after the other, until it is over. Counts how each was answered.
fn call(
    client: &mut Client,
    number: usize,
    over: &AtomicBool,
    told: &Mutex<BTreeMap<String, usize>>,
) {
    for n in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("o{number}-{n}");
        let reply = match n % 3 {
            0 => {
                client.post("/lockers", &json!({ "lockerId": id, "ownerId": format!("o{number}") }))
            }
            1 => client.get("/lockers/busy?consistent=true"),
            _ => client.get("/owners/everyone/lockers"),
        };
        *told.lock().unwrap().entry(outcome(&reply)).or_default() += 1;
    }
}

/// Clients that keep to no rule, until it is over. Those that are cut off come again.
fn misbehave(address: &str, token: &str, over: &AtomicBool, cut: &AtomicUsize) {
    let pipelined = wire::request("GET", "/lockers/busy", token, "").repeat(200);
    let huge = wire::request("POST", "/lockers", token, &" ".repeat(HUGE));
    let open = |kind: usize| {
        let mut wire = Wire::open(address);
        wire.0.get_ref().set_nonblocking(true).unwrap();
        let bytes = match kind {
            // Half open, slow, never reading, too much.
            0 | 1 => "",
            2 => &*pipelined,
            _ => &*huge,
        };
        // What does not fit is not sent.
        let _ = wire.send(bytes);
        wire
    };
    let mut wires: Vec<(usize, Wire)> = (0..4 * BAD).map(|n| (n % 4, open(n % 4))).collect();
    for round in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        for (kind, wire) in &mut wires {
            let head =
                b"POST /lockers HTTP/1.1\r\nhost: t\r\nx-long: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy";
            let slow = head.get(round % head.len()..round % head.len() + 1).unwrap();
            let sent = match kind {
                0 => Ok(()),
                1 => wire.0.get_mut().write_all(slow),
                _ => wire.0.get_mut().write_all(b"x"),
            };
            let full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
            if sent.is_err_and(|error| !full(&error)) {
                cut.fetch_add(1, Ordering::Relaxed);
                *wire = open(*kind);
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// How long each of some answers took.
struct Times(Vec<Duration>);

impl Times {
    fn at(&mut self, share: f64) -> Duration {
        self.0.sort();
        let count = u32::try_from(self.0.len()).unwrap();
        let at = (f64::from(count - 1) * share).round();
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list"
        )]
        self.0[at as usize]
    }
}

#[test]
fn load_is_shed_and_everything_is_as_before_afterwards() {
    let seconds = promise::rounds(4);
    let directory = tempfile::tempdir().unwrap();
    let mut command = on_backend("serve", directory.path(), &[]);
    command.args(["--listen", "127.0.0.1:0"]).env("LATCHKEY_LOG", "error");
    let mut server = Own::start(&mut command);
    let token = crate::serve::token(directory.path(), "dev", &["admin", "device"], &[]);
    let client = || Client::new(&server.address).with_token(&token);
    register(&mut client(), "busy", "everyone");
    let before = memory(&server, "VmHWM");
    let (over, cut) = (AtomicBool::new(false), AtomicUsize::new(0));
    let told = Mutex::new(BTreeMap::new());
    let mut progress = Progress::new("overload", seconds);
    let mut times = Times(Vec::new());
    thread::scope(|scope| {
        for number in 0..OVERLOAD {
            let (mut client, over, told) = (client(), &over, &told);
            scope.spawn(move || call(&mut client, number, over, told));
        }
        scope.spawn(|| misbehave(&server.address, &token, &over, &cut));
        for _ in 0..seconds {
            let second = Instant::now();
            while second.elapsed() < Duration::from_secs(1) {
                let started = Instant::now();
                let reply = Client::new(&server.address).get("/health");
                times.0.push(started.elapsed());
                assert_eq!(reply.status, 200, "{reply:?}");
                thread::sleep(Duration::from_millis(20));
            }
            progress.add(1);
        }
        over.store(true, Ordering::Relaxed);
    });
    let most = memory(&server, "VmHWM");
    let ended = Instant::now();
    // All is as before: a read, a write, and nothing of what was refused is left.
    let mut after = client();
    assert_eq!(after.get("/lockers/busy?consistent=true").status, 200);
    register(&mut after, "after", "everyone");
    let recovered = ended.elapsed();
    until("its connections are gone", || {
        let metrics = after.get("/metrics").text;
        let left =
            metrics.lines().find_map(|line| line.strip_prefix("latchkey_requests_memory_bytes "));
        left.unwrap() == "0"
    });
    let told = told.into_inner().unwrap();
    // A refusal says when to come back, and is no failure.
    let fits = |one: &String| ["200", "201"].contains(&one.as_str()) || one.starts_with("503 ");
    assert!(told.keys().all(fits), "{told:?}");
    assert!(told["200"] > 0 && told["201"] > 0, "{told:?}");
    assert!(most - before < GROWTH_MAX, "{before} KiB before, {most} KiB at most");
    println!(
        "{OVERLOAD} callers and {} bad clients for {seconds} s: {told:?}, {} bad ones cut; /health {} times: half in \
         {:?}, 99% in {:?}, all in {:?}; memory from {} to at most {} MiB, then {} MiB; answered again after {recovered:?}",
        4 * BAD,
        cut.load(Ordering::Relaxed),
        times.0.len(),
        times.at(0.5),
        times.at(0.99),
        times.at(1.0),
        before / 1024,
        most / 1024,
        memory(&server, "VmRSS") / 1024
    );
    assert_eq!(server.stop().code(), Some(0));
}
