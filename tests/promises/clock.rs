//! A bad clock hurts nobody: it jumps hours ahead and back while people ask for seats and workers decide. No request is
//! lost or decided twice, and once the clock is right again nothing waits for an instant that was never meant.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use latchkey_embedded::Store;
use latchkey_runtime::{Call, Caller, Options, Runtime, Source, System, SystemSource};
use latchkey_table::Value;
use serde_json::Value as Json;

use crate::serve::chance::Chance;
use crate::serve::promise::{self, Progress};

const QUEUE: &str = "participations";
const SEATS: i64 = 20;
const CALLERS: usize = 6;
const WORKERS: usize = 3;

/// How far it jumps: seconds, hours, a day, a month, ahead or back.
const JUMPS_MS: [i64; 8] = [
    1_000,
    -1_000,
    3_600_000,
    -3_600_000,
    86_400_000,
    -86_400_000,
    30 * 86_400_000,
    -30 * 86_400_000,
];

/// The machine's clock, and so much beside it.
struct Jumping(AtomicI64);

impl Source for Jumping {
    fn now(&self) -> i64 {
        SystemSource.now() + self.0.load(Ordering::SeqCst)
    }

    fn steady(&self) -> Option<i64> {
        SystemSource.steady()
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        SystemSource.random(bytes)
    }
}

async fn ask(runtime: &Runtime, call: Call) -> (u16, Json) {
    let outcome = runtime.call(call).await;
    let body = outcome.body().to_string();
    (outcome.status(), serde_json::from_str(&body).unwrap_or(Json::Null))
}

fn admin(contract: &str) -> Call {
    Call::new(contract, Caller::new("ada").role("admin")).input("eventId", "e")
}

/// Works on what there is; how much that was.
async fn work(runtime: &Runtime) -> usize {
    let queue = runtime.queue(QUEUE).unwrap();
    let received = queue.queue().receive(4, Duration::ZERO).await.unwrap();
    for one in &received {
        // It may be another's by now: a jump ends every lease.
        drop(queue.handle(one).await);
    }
    received.len()
}

/// How many requests are decided, and how many there are.
async fn decided(runtime: &Runtime) -> (i64, i64) {
    let (status, summary) = ask(runtime, admin("AD-06")).await;
    assert_eq!(status, 200, "{summary}");
    let count = |name: &str| summary["byStatus"][name].as_i64().unwrap();
    let open = count("RECEIVED") + count("QUEUED") + count("PROCESSING");
    let over = count("SUCCEEDED") + count("REJECTED");
    assert_eq!(count("FAILED_FINAL"), 0, "{summary}");
    (over, over + open)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jumps_of_the_clock_under_load_lose_nothing() {
    let jumps = promise::rounds(40);
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/participation.md");
    let system = System::read(&std::fs::read_to_string(text).unwrap()).unwrap();
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let clock = Arc::new(Jumping(AtomicI64::new(0)));
    let options = Options { cursor_secret: b"the same for all".to_vec(), source: clock.clone() };
    let runtime = Runtime::start(system, store, options).await.unwrap();
    let made = admin("AD-04").input("title", "E").input("mode", "FIRST_COME");
    assert_eq!(ask(&runtime, made.json("capacity", Value::from(SEATS))).await.0, 201);

    let (over, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for caller in 0..CALLERS {
        let (runtime, over, asked) = (runtime.clone(), Arc::clone(&over), Arc::clone(&asked));
        tasks.push(tokio::spawn(async move {
            for n in 0.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let person = Caller::new(format!("p{caller}-{n}").as_str());
                let (status, body) =
                    ask(&runtime, Call::new("EP-01", person).input("eventId", "e")).await;
                assert_eq!(status, 202, "{body}");
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }));
    }
    for _ in 0..WORKERS {
        let (runtime, over) = (runtime.clone(), Arc::clone(&over));
        tasks.push(tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                if work(&runtime).await == 0 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        }));
    }
    let (mut chance, mut progress) = (Chance::new(3), Progress::new("clock", jumps));
    for _ in 0..jumps {
        tokio::time::sleep(Duration::from_millis(10)).await;
        clock.0.fetch_add(chance.of(&JUMPS_MS), Ordering::SeqCst);
        progress.add(1);
    }
    over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    // The clock is right again, and a minute passes: every lease is over.
    clock.0.store(0, Ordering::SeqCst);
    for _ in 0..60 {
        while work(&runtime).await > 0 {}
        clock.0.fetch_add(1_000, Ordering::SeqCst);
    }
    let asked = i64::try_from(asked.load(Ordering::SeqCst)).unwrap();
    assert_eq!(decided(&runtime).await, (asked, asked), "decided, and asked for");
    let (_, event) = ask(&runtime, admin("EP-05")).await;
    assert_eq!(event["capacityRemaining"], (SEATS - asked).max(0), "{event}");
    let depth = runtime.queue(QUEUE).unwrap().depth().await.unwrap();
    let left = depth.visible.counted + depth.delayed.counted + depth.in_flight.counted;
    assert_eq!(left, 0, "{depth:?}");
    println!("{jumps} jumps, {asked} requests, each decided once, in {:?}", progress.spent());
}
