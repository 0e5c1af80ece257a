//! Workers in this process: messages that come three times at once, a stop half-way, and what is metered.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]
#![expect(clippy::panic, reason = "a test that goes wrong should fail, where it went wrong")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use latchkey_embedded::Store;
use latchkey_queue::{Message, Which, leg};
use latchkey_runtime::{Call, Caller, Options, Purged, Runtime, Source, System, SystemSource};
use latchkey_table::{Map, Transact, Value};
use latchkey_value::json;
use latchkey_worker::{Meters, Settings, Workers};

const DOCUMENT: &str = include_str!("../../../systems/participation.md");
const QUEUE: &str = "participations";

async fn open(store: &Arc<Store>) -> Runtime {
    let system = System::read(DOCUMENT).unwrap();
    let backend = Arc::clone(store);
    Runtime::start(system, backend, Options::default()).await.unwrap()
}

fn in_memory() -> Arc<Store> {
    Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap())
}

/// Makes an event, and has people ask for its seats.
async fn ask(runtime: &Runtime, seats: i64, people: usize) {
    let admin = Caller::new("ada").role("admin");
    let event = Call::new("AD-04", admin)
        .input("eventId", "e")
        .input("title", "E")
        .input("mode", "FIRST_COME")
        .json("capacity", Value::from(seats));
    assert_eq!(runtime.call(event).await.status(), 201);
    for n in 0..people {
        let caller = Caller::new(format!("u{n}").as_str());
        let call = Call::new("EP-01", caller).input("eventId", "e");
        assert_eq!(runtime.call(call).await.status(), 202);
    }
}

/// How many requests have a status.
async fn count(runtime: &Runtime, status: &str) -> i64 {
    let admin = Caller::new("ada").role("admin");
    let outcome = runtime.call(Call::new("AD-06", admin).input("eventId", "e")).await;
    let body = json::read(outcome.body().as_bytes(), json::Limits::default()).unwrap();
    let Value::Map(body) = body else { panic!("{}", outcome.body()) };
    let Some(Value::Map(counts)) = body.get("byStatus") else { panic!("{}", outcome.body()) };
    counts.get(status).and_then(Value::as_number).unwrap().to_i64().unwrap()
}

/// Waits until nothing is left to be done, but not forever.
async fn emptied(runtime: &Runtime) {
    for _ in 0..6_000 {
        let depth = runtime.queue(QUEUE).unwrap().depth().await.unwrap();
        let left = depth.visible.counted + depth.delayed.counted + depth.in_flight.counted;
        if left == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the queue is not empty: {:?}", runtime.queue(QUEUE).unwrap().depth().await);
}

fn metric(text: &str, name: &str, label: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name) && line.contains(label));
    line.and_then(|line| line.rsplit(' ').next()).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_three_times_at_once_happens_once_and_is_metered() {
    let runtime = open(&in_memory()).await;
    ask(&runtime, 20, 150).await;
    let meters = Arc::new(Meters::new(vec![runtime.clone()]));
    let text = meters.render().await;
    assert_eq!(metric(&text, "latchkey_queue_messages", "visible"), 150);
    let settings = Settings { at_once: 16, deliveries: 3 };
    let workers = Workers::start(&meters, settings).await.unwrap();
    emptied(&runtime).await;
    workers.stop().await;
    assert_eq!((count(&runtime, "SUCCEEDED").await, count(&runtime, "REJECTED").await), (20, 130));
    let text = meters.render().await;
    let ended = |ending: &str| metric(&text, "latchkey_worker_messages_total", ending);
    assert_eq!(ended("dead"), 0);
    assert_eq!(ended("failed"), 0);
    // Of three, one at most has the message in the end.
    assert!(ended("\"done\"") <= 150 && ended("stale") >= 150, "{text}");
    assert_eq!(metric(&text, "latchkey_worker_in_flight", ""), 0);
    assert_eq!(metric(&text, "latchkey_queue_dead_letters", ""), 0);
    assert!(metric(&text, "latchkey_worker_write_units_total", "") > 150 * 4, "{text}");
}

/// How long one scrape takes, of many.
async fn scrape_time(meters: &Meters) -> Duration {
    let mut all = Vec::new();
    for _ in 0..500 {
        let began = Instant::now();
        meters.render().await;
        all.push(began.elapsed());
    }
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap()
}

// `/metrics` read every message of a queue: 22 ms with 36,000 of them, for whoever asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scrape_reads_no_queue_and_costs_the_same_whatever_waits() {
    let (empty, full) = (open(&in_memory()).await, open(&in_memory()).await);
    let queue = full.queue(QUEUE).unwrap().embedded().unwrap();
    let sent = 36_000;
    for n in 0..sent / 50 {
        let stamping = queue.stamp(0);
        let send = |n: u32| {
            let message = Message::new(format!("m{n}"), Map::from([("eventId", "e")]), 0).unwrap();
            leg(queue.home(), message, 0, stamping.stamp())
        };
        let sending = queue.transact(Transact { legs: (n * 50..n * 50 + 50).map(send).collect() });
        drop(stamping);
        sending.await.unwrap();
    }
    let [empty, full] = [empty, full].map(|runtime| Meters::new(vec![runtime]));
    // The first scrape begins the readings, and waits for the first of them.
    let began = Instant::now();
    let text = full.render().await;
    let first = began.elapsed();
    assert_eq!(metric(&text, "latchkey_queue_messages", "visible"), 10_000);
    empty.render().await;
    let (readings, began) = (full.readings(), Instant::now());
    let times = [scrape_time(&empty).await, scrape_time(&full).await];
    // Tasks of their own read, every two seconds at most.
    let most = readings + 1 + began.elapsed().as_secs() / 2;
    assert!(full.readings() <= most, "{} readings, at most {most}", full.readings());
    assert!(times[1] < times[0] * 4 + Duration::from_millis(1), "{times:?}");
    println!(
        "{sent} messages: first {first:?}, then {:?} a scrape; none: {:?}",
        times[1], times[0]
    );

    // What was read is not read again at once, and says how old it is.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let text = full.render().await;
    let age = text.lines().find(|l| l.starts_with("latchkey_queue_figures_age_seconds")).unwrap();
    let age: f64 = age.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((0.0..30.0).contains(&age), "{age}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_follow_what_waits() {
    let runtime = open(&in_memory()).await;
    ask(&runtime, 1, 3).await;
    let meters = Meters::new(vec![runtime.clone()]);
    assert_eq!(metric(&meters.render().await, "latchkey_queue_messages", "visible"), 3);
    let purged = runtime.queue(QUEUE).unwrap().purge(Which::Waiting).await.unwrap();
    assert_eq!(purged, Purged::Counted(3));
    let began = Instant::now();
    while metric(&meters.render().await, "latchkey_queue_messages", "visible") > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the figures stand still");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_at_hand_is_finished_and_the_rest_is_left() {
    let store = in_memory();
    let runtime = open(&store).await;
    ask(&runtime, 1_000, 200).await;
    let meters = Arc::new(Meters::new(vec![runtime.clone()]));
    let settings = Settings { at_once: 4, deliveries: 1 };
    let workers = Workers::start(&meters, settings).await.unwrap();
    while count(&runtime, "SUCCEEDED").await < 10 {
        tokio::task::yield_now().await;
    }
    workers.stop().await;
    assert_eq!(count(&runtime, "PROCESSING").await, 0, "none is left half-way");
    let depth = runtime.queue(QUEUE).unwrap().depth().await.unwrap();
    assert_eq!(depth.in_flight.counted, 0, "what was leased as the workers left is given back");
    let done = count(&runtime, "SUCCEEDED").await;
    assert_eq!(i64::try_from(depth.visible.counted).unwrap() + done, 200);

    // Whoever comes next goes on.
    let workers = Workers::start(&meters, settings).await.unwrap();
    emptied(&runtime).await;
    workers.stop().await;
    assert_eq!(count(&runtime, "SUCCEEDED").await, 200);
}

/// The clock of the machine, set ahead or back.
#[derive(Debug, Default)]
struct Jumpy(AtomicI64);

impl Source for Jumpy {
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

// Requests stayed QUEUED for a day after the clock had been a day ahead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_under_load_leaves_nobody_queued() {
    let clock = Arc::new(Jumpy::default());
    let options = Options { source: clock.clone(), ..Options::default() };
    let system = System::read(DOCUMENT).unwrap();
    let runtime = Runtime::start(system, in_memory(), options).await.unwrap();
    let meters = Arc::new(Meters::new(vec![runtime.clone()]));
    let settings = Settings { at_once: 16, deliveries: 1 };
    let workers = Workers::start(&meters, settings).await.unwrap();
    let jumps = tokio::spawn({
        let clock = clock.clone();
        async move {
            for by in [1, 0, -1, 0, 1, 0, 1, 0] {
                tokio::time::sleep(Duration::from_millis(60)).await;
                clock.0.store(by * 86_400_000, Ordering::SeqCst);
            }
        }
    });
    ask(&runtime, 40, 400).await;
    jumps.await.unwrap();
    let began = Instant::now();
    emptied(&runtime).await;
    println!("400 messages, empty {:?} after the last jump", began.elapsed());
    workers.stop().await;
    assert_eq!((count(&runtime, "SUCCEEDED").await, count(&runtime, "REJECTED").await), (40, 360));
    let text = meters.render().await;
    assert_eq!(metric(&text, "latchkey_queue_dead_letters", ""), 0);
    assert_eq!(metric(&text, "latchkey_worker_redeliveries_total", ""), 0, "{text}");
    assert_eq!(runtime.queue(QUEUE).unwrap().redrive(None).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_held_is_taken_up_at_once() {
    let store = in_memory();
    let runtime = open(&store).await;
    ask(&runtime, 5, 10).await;
    // Received, and never heard of again.
    let held = runtime.queue(QUEUE).unwrap().queue().receive(10, Duration::ZERO).await.unwrap();
    assert_eq!(held.len(), 10);
    let again = open(&store).await;
    let meters = Arc::new(Meters::new(vec![again.clone()]));
    let settings = Settings { at_once: 4, deliveries: 1 };
    let workers = Workers::start(&meters, settings).await.unwrap();
    emptied(&again).await;
    workers.stop().await;
    assert_eq!(count(&again, "SUCCEEDED").await, 5);
    let text = meters.render().await;
    // All ten are of one group: the dead process was at the first of them, and had not tried the others yet.
    assert_eq!(metric(&text, "latchkey_worker_redeliveries_total", ""), 1);
}
