//! A clock that jumps: a day ahead, and back.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use latchkey_embedded::{Options, Store};
use latchkey_queue::{Clock, Embedded, Home, Message, Received};
use latchkey_table::Map;

use crate::world::{LEASE_MS, failure, ids, message, table};

const DAY: i64 = 86_400_000;

const HOUR: i64 = 3_600_000;

const LEASE: i64 = LEASE_MS as i64;

/// A queue with a clock that is set, and one that is not.
struct Jumpy {
    store: Arc<Store>,
    queue: Embedded,
    now: Arc<AtomicI64>,
    steady: Arc<AtomicI64>,
}

fn home(ordered: bool) -> Home {
    let home = Home::new(table(), "type", "orders").unwrap();
    home.ordered_by(ordered.then(|| "orderId".into()))
}

impl Jumpy {
    fn new(ordered: bool) -> Jumpy {
        let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
        store.create_table(&table()).wait().unwrap();
        Jumpy::on(store, ordered, DAY)
    }

    fn on(store: Arc<Store>, ordered: bool, now: i64) -> Jumpy {
        let (now, steady) = (Arc::new(AtomicI64::new(now)), Arc::new(AtomicI64::new(0)));
        let read = |of: &Arc<AtomicI64>| {
            let of = Arc::clone(of);
            move || of.load(Ordering::SeqCst)
        };
        let clock = Clock::new(read(&now)).with_steady({
            let steady = read(&steady);
            move || Some(steady())
        });
        let queue = Embedded::new(Arc::clone(&store), home(ordered), LEASE_MS, clock);
        Jumpy { store, queue, now, steady }
    }

    fn now(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    /// The clock is set, and nothing passes.
    fn jump(&self, by: i64) {
        self.now.fetch_add(by, Ordering::SeqCst);
        self.queue.look_again();
    }

    /// Time passes.
    fn pass(&self, ms: i64) {
        self.steady.fetch_add(ms, Ordering::SeqCst);
        self.jump(ms);
    }

    async fn send(&self, id: &str, after: i64) {
        self.queue.send(message(id, self.now()), self.now() + after).await.unwrap();
    }

    async fn receive(&self) -> Vec<Received> {
        self.queue.receive(50, Duration::ZERO).await.unwrap()
    }
}

#[tokio::test]
async fn a_lease_lasts_as_long_as_it_lasts() {
    for ordered in [false, true] {
        let world = Jumpy::new(ordered);
        world.send("A", 0).await;
        let first = world.receive().await;
        for by in [DAY, -2 * DAY, DAY] {
            world.jump(by);
            assert_eq!(ids(&world.receive().await), [""; 0], "its holder is at it");
        }
        world.jump(DAY);
        world.pass(LEASE - 1);
        assert_eq!(ids(&world.receive().await), [""; 0]);
        world.jump(-DAY);
        world.pass(1);
        let second = world.receive().await;
        assert_eq!((ids(&second), second[0].tries), (vec!["A"], 2));
        assert!(world.queue.done(&first[0]).await.is_err());
        world.queue.done(&second[0]).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_to_be_done_at_once_waits_for_no_clock() {
    for (ordered, reopened) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut world = Jumpy::new(ordered);
        world.send("timer", HOUR).await;
        world.jump(DAY);
        for id in ["sent", "later", "failed", "returned"] {
            world.send(id, 0).await;
        }
        // Those in hand go three ways; one stays where it was sent.
        let received = world.receive().await;
        for one in received {
            let queue = &world.queue;
            let until = world.now() + 1_000;
            match one.message.id().as_str() {
                "later" => queue.later(&one, until).await.unwrap(),
                "failed" => queue.failed(&one, until, failure()).await.unwrap(),
                // Of a clock that is ahead it is due.
                "timer" => queue.failed(&one, until, failure()).await.unwrap(),
                _ => queue.release(vec![one]).await,
            }
        }
        world.jump(-DAY);
        if reopened {
            world = Jumpy::on(Arc::clone(&world.store), ordered, world.now());
            world.queue.recover().await.unwrap();
        }
        let mut found = Vec::new();
        for _ in 0..8 {
            let received = world.receive().await;
            found.extend(ids(&received).into_iter().map(str::to_owned));
            for one in &received {
                world.queue.done(one).await.unwrap();
            }
        }
        found.sort();
        let mut due = vec!["failed", "later", "returned", "sent"];
        if ordered {
            // It fell due by the clock of then, and has its place.
            due.push("timer");
        }
        assert_eq!(found, due, "{ordered} {reopened}");
        world.pass(HOUR);
        let timer = world.receive().await;
        assert_eq!(timer.len(), usize::from(!ordered), "a timer has an instant of its own");
    }
}

#[tokio::test]
async fn timers_set_after_the_clock_went_back_wait_for_their_time() {
    for ordered in [false, true] {
        let world = Jumpy::new(ordered);
        world.jump(DAY);
        world.send("ahead", 0).await;
        world.jump(-DAY);
        world.send("timer", HOUR).await;
        world.send("now", 0).await;
        let mut found = world.receive().await;
        found.extend(world.receive().await);
        let mut first = ids(&found);
        first.sort_unstable();
        assert_eq!(first, ["ahead", "now"], "ordered: {ordered}");
        for one in &found {
            world.queue.done(one).await.unwrap();
        }
        world.pass(HOUR - 1);
        assert_eq!(ids(&world.receive().await), [""; 0]);
        world.pass(1);
        assert_eq!(ids(&world.receive().await), ["timer"]);
    }
}

// A call that began by the clock of before commits after the first look.
#[tokio::test]
async fn what_comes_late_from_the_clock_of_before_is_found_too() {
    let world = Jumpy::new(false);
    let ahead = world.now() + DAY;
    world.jump(DAY + HOUR);
    world.send("first", 0).await;
    world.jump(-DAY - HOUR);
    assert_eq!(ids(&world.receive().await), ["first"]);
    world.queue.send(message("slow", ahead), ahead).await.unwrap();
    assert_eq!(ids(&world.receive().await), [""; 0]);
    world.pass(60_000);
    assert_eq!(ids(&world.receive().await), ["first", "slow"]);
}

#[tokio::test]
async fn a_redrive_moves_dead_letters_alone() {
    let world = Jumpy::new(false);
    for id in ["dead", "held", "paused"] {
        world.send(id, 0).await;
    }
    world.send("timer", HOUR).await;
    world.jump(DAY);
    let received = world.receive().await;
    for one in &received {
        match one.message.id().as_str() {
            "dead" => world.queue.dead(one, &failure()).await.unwrap(),
            "paused" => {
                world.queue.failed(one, world.now() + 1_000, failure()).await.unwrap();
            }
            _ => {}
        }
    }
    world.send("sent", 0).await;
    world.jump(-DAY);
    assert_eq!(world.queue.redrive_all().await, Ok(1));
    assert_eq!(world.queue.redrive_all().await, Ok(0));
    let mut found = world.receive().await;
    found.extend(world.receive().await);
    let tries = |id: &str| found.iter().find(|one| one.message.id() == id).map(|one| one.tries);
    assert_eq!((tries("dead"), tries("paused"), tries("sent")), (Some(1), Some(2), Some(1)));
    assert_eq!((tries("held"), tries("timer")), (None, None), "{found:?}");
}

/// Many send and work while the clock jumps to and fro.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jumps_under_load_lose_nothing_and_hold_nothing_back() {
    for ordered in [false, true] {
        let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
        store.create_table(&table()).wait().unwrap();
        let (offset, started) = (Arc::new(AtomicI64::new(0)), Instant::now());
        let elapsed = move || i64::try_from(started.elapsed().as_millis()).unwrap();
        let now = {
            let offset = Arc::clone(&offset);
            move || 10 * DAY + elapsed() + offset.load(Ordering::SeqCst)
        };
        let clock = Clock::new(now.clone()).with_steady(move || Some(elapsed()));
        let queue = Embedded::new(Arc::clone(&store), home(ordered), 30_000, clock);
        let jumps = {
            let (offset, queue) = (Arc::clone(&offset), queue.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    for by in [DAY, 0, -DAY, 0] {
                        offset.store(by, Ordering::SeqCst);
                        queue.look_again();
                        tokio::time::sleep(Duration::from_millis(40)).await;
                    }
                }
            })
        };
        let senders: Vec<_> = (0..4)
            .map(|sender| {
                let (queue, now) = (queue.clone(), now.clone());
                tokio::spawn(async move {
                    for n in 0..250 {
                        let group = format!("g{}", n % 20);
                        let body = Map::from([("orderId", group.as_str())]);
                        let message = Message::new(format!("{sender}-{n}"), body, now()).unwrap();
                        let due = message.sent_at();
                        queue.send(message, due).await.unwrap();
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                })
            })
            .collect();
        let (mut done, mut received, mut failed) = (HashSet::new(), 0, HashSet::new());
        let deadline = Instant::now() + Duration::from_secs(60);
        while done.len() < 1_000 {
            assert!(Instant::now() < deadline, "ordered {ordered}: {} of 1000", done.len());
            let wait = Duration::from_millis(100);
            for run in latchkey_queue::runs(queue.receive(20, wait).await.unwrap()) {
                let mut left = run.into_iter();
                for one in left.by_ref() {
                    received += 1;
                    let id = one.message.id().clone();
                    // Every tenth fails once, and is tried again in a moment.
                    if id.ends_with('7') && failed.insert(id.clone()) {
                        queue.failed(&one, now() + 10, failure()).await.unwrap();
                        break;
                    }
                    queue.done(&one).await.unwrap();
                    assert!(done.insert(id), "done twice");
                }
                queue.release(left.collect()).await;
            }
        }
        for sender in senders {
            sender.await.unwrap();
        }
        jumps.await.unwrap();
        let depth = queue.depth().await.unwrap();
        assert_eq!([depth.visible, depth.delayed, depth.in_flight].map(|c| c.counted), [0; 3]);
        assert_eq!(received, 1_000 + failed.len(), "each try is counted once");
        println!("ordered {ordered}: 1000 messages done, {} of them tried twice", failed.len());
    }
}
