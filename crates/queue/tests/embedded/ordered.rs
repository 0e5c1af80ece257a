//! A queue that keeps an order: what is decided before what.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_queue::{Clock, Embedded, Error, Home, Message, Received, TryFailure, Which, runs};
use latchkey_table::{Item, Map, Put, Returning, Transact};

use crate::world::{LEASE_MS, failure, ids, table};

const LEASE: i64 = LEASE_MS as i64;

struct Ordered {
    store: Arc<Store>,
    queue: Embedded,
    now: Arc<AtomicI64>,
}

fn home() -> Home {
    Home::new(table(), "type", "orders").unwrap().ordered_by(Some("shop".into()))
}

fn message(id: &str) -> Message {
    // The first letter of an id is its shop.
    let body = Map::from([("shop", id.get(..1).unwrap()), ("orderId", id)]);
    Message::new(id, body, 0).unwrap()
}

impl Ordered {
    fn new() -> Ordered {
        let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
        store.create_table(&table()).wait().unwrap();
        Ordered::on(store, 0)
    }

    fn on(store: Arc<Store>, now: i64) -> Ordered {
        let now = Arc::new(AtomicI64::new(now));
        let clock = Clock::new({
            let now = Arc::clone(&now);
            move || now.load(Ordering::SeqCst)
        });
        let queue = Embedded::new(Arc::clone(&store), home(), LEASE_MS, clock);
        Ordered { store, queue, now }
    }

    fn set(&self, now: i64) {
        self.now.store(now, Ordering::SeqCst);
        self.queue.look_again();
    }

    async fn send(&self, ids: &[&str]) {
        for id in ids {
            let now = self.now.load(Ordering::SeqCst);
            self.queue.send(message(id).sent_again(now), now.min(0)).await.unwrap();
        }
    }

    async fn receive(&self, max: usize) -> Vec<Received> {
        self.queue.receive(max, Duration::ZERO).await.unwrap()
    }
}

#[tokio::test]
async fn a_group_is_one_run_at_a_time_in_the_order_of_its_sends() {
    let world = Ordered::new();
    // Not the order of the ids.
    world.send(&["a2", "b9", "a1", "a3"]).await;
    let first = world.receive(10).await;
    let found: Vec<Vec<&str>> = vec![vec!["a2", "a1", "a3"], vec!["b9"]];
    assert_eq!(runs(first.clone()).iter().map(|run| ids(run)).collect::<Vec<_>>(), found);
    // Their groups wait behind them.
    world.send(&["a4", "b0", "c1"]).await;
    let other = world.receive(10).await;
    assert_eq!(ids(&other), ["c1"]);
    world.queue.done(&first[0]).await.unwrap();
    world.queue.done(&first[1]).await.unwrap();
    assert_eq!(world.receive(10).await, []);
    world.queue.done(&first[2]).await.unwrap();
    assert_eq!(ids(&world.receive(10).await), ["a4"]);
    world.queue.done(&first[3]).await.unwrap();
    assert_eq!(ids(&world.receive(10).await), ["b0"]);
}

#[tokio::test]
async fn groups_have_their_turn_whatever_their_names_and_lengths() {
    let world = Ordered::new();
    for n in 0..40 {
        world.send(&[&format!("a{n:02}")]).await;
    }
    world.send(&["b1", "c1"]).await;
    let mut turns = Vec::new();
    for _ in 0..4 {
        let run = world.receive(1).await;
        turns.push(run[0].group().unwrap().to_string());
        for one in &run {
            world.queue.done(one).await.unwrap();
        }
    }
    assert_eq!(turns, ["a", "b", "c", "a"]);
}

#[tokio::test]
async fn what_fails_or_is_put_off_holds_its_group_and_no_other() {
    let world = Ordered::new();
    world.send(&["a1", "a2", "b1", "b2"]).await;
    let mut received = world.receive(1).await;
    let rest = received.split_off(1);
    world.queue.failed(&received[0], 500, failure()).await.unwrap();
    world.queue.release(rest).await;
    let blocked = world.queue.blocked().await.unwrap();
    let told =
        |one: &latchkey_queue::Blocked| (one.group.to_string(), one.id.to_string(), one.tries);
    assert_eq!(blocked.iter().map(told).collect::<Vec<_>>(), [("a".into(), "a1".into(), 1)]);
    assert_eq!(blocked[0].failure, Some(failure()));
    let depth = world.queue.depth().await.unwrap();
    assert_eq!((depth.visible.counted, depth.delayed.counted), (3, 1), "one is tried again later");
    assert_eq!((depth.in_flight.counted, depth.blocked), (0, Some(1)));

    let other = world.receive(10).await;
    assert_eq!(ids(&other), ["b1", "b2"]);
    world.queue.later(&other[0], 500).await.unwrap();
    world.queue.release(other[1..].to_vec()).await;
    assert_eq!(world.receive(10).await, []);
    world.set(500);
    let mut again = world.receive(10).await;
    again.sort_by_key(|one| one.message.id().clone());
    assert_eq!(ids(&again), ["a1", "a2", "b1", "b2"]);
    let tries: Vec<u32> = again.iter().map(|one| one.tries).collect();
    assert_eq!(tries, [2, 1, 1, 1], "to be given back or put off is no try");
    world.queue.dead(&again[0], &failure()).await.unwrap();
    for one in &again[1..] {
        world.queue.done(one).await.unwrap();
    }
    assert_eq!(world.queue.blocked().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_sent_again_goes_last() {
    let world = Ordered::new();
    world.send(&["a1", "a2"]).await;
    let received = world.receive(1).await;
    world.queue.dead(&received[0], &failure()).await.unwrap();
    world.queue.release(received[1..].to_vec()).await;
    world.send(&["a3"]).await;
    assert!(world.queue.redrive("a1").await.unwrap());
    assert_eq!(ids(&world.receive(1).await), ["a2", "a3", "a1"]);
}

#[tokio::test]
async fn a_timer_takes_its_place_when_it_falls_due() {
    let world = Ordered::new();
    world.queue.send(message("a-timer"), 100).await.unwrap();
    world.queue.send(message("b-timer"), 300).await.unwrap();
    world.set(99);
    world.send(&["a-before"]).await;
    world.set(200);
    world.send(&["a-after"]).await;
    let received = world.receive(10).await;
    assert_eq!(ids(&received), ["a-before", "a-timer", "a-after"]);
    let sent: Vec<i64> = received.iter().map(|one| one.message.sent_at()).collect();
    assert_eq!(sent, [99, 100, 200], "a timer counts as sent when it takes its place");
    assert_eq!(world.queue.first_due().await.unwrap(), Some(0), "as it was sent");
    world.set(300);
    assert_eq!(ids(&world.receive(10).await), ["b-timer"]);
}

#[tokio::test]
async fn whoever_lost_a_run_can_end_none_of_it() {
    let world = Ordered::new();
    world.send(&["a1", "a2"]).await;
    let lost = world.receive(1).await;
    world.set(LEASE - 1);
    assert_eq!(world.receive(1).await, []);
    world.set(LEASE);
    let held = world.receive(1).await;
    assert_eq!(ids(&held), ["a1", "a2"]);
    for one in &lost {
        let removal = world.queue.removal(one).unwrap();
        assert!(world.store.transact(Transact { legs: vec![removal] }).await.is_err());
        let fence = world.queue.fence(one).unwrap();
        assert!(world.store.transact(Transact { legs: vec![fence] }).await.is_err());
        assert_eq!(world.queue.later(one, 0).await, Err(Error::Stale));
        assert_eq!(world.queue.failed(one, 0, failure()).await, Err(Error::Stale));
        assert_eq!(world.queue.dead(one, &failure()).await, Err(Error::Stale));
    }
    world.queue.release(lost).await;
    // Who ends one message has a whole lease for the next.
    world.set(2 * LEASE - 1);
    let removal = world.queue.removal(&held[0]).unwrap();
    world.store.transact(Transact { legs: vec![removal] }).await.unwrap();
    world.queue.removed(&held[0]);
    world.set(3 * LEASE - 2);
    assert_eq!(world.receive(1).await, []);
    world.queue.done(&held[1]).await.unwrap();
    assert_eq!(world.queue.depth().await.unwrap().visible.counted, 0);
}

#[tokio::test]
async fn a_process_that_begins_goes_on_at_once_and_in_order() {
    let world = Ordered::new();
    world.send(&["a1", "a2", "a3"]).await;
    let lost = world.receive(1).await;
    world.queue.done(&lost[0]).await.unwrap();
    // The clock has gone back, too.
    let next = Ordered::on(Arc::clone(&world.store), -1_000_000);
    next.send(&["a0"]).await;
    let held = next.receive(1).await;
    assert_eq!(ids(&held), ["a2", "a3", "a0"]);
    let tries: Vec<u32> = held.iter().map(|one| one.tries).collect();
    assert_eq!(tries, [2, 1, 1], "the one that may have been worked on counts it as a try");
    let failed = [Some(TryFailure::crashed()), None, None];
    assert!(held.iter().map(|one| &one.failure).eq(&failed), "{held:?}");
    // Put off, it blocks its group, and the last thing known of it is that its worker died.
    next.queue.later(&held[0], -999_000).await.unwrap();
    let blocked = next.queue.blocked().await.unwrap();
    assert_eq!(blocked[0].failure, Some(TryFailure::crashed()));
    assert_eq!(world.queue.done(&lost[1]).await, Err(Error::Stale));
}

#[tokio::test]
async fn a_queue_gets_an_order_or_loses_it() {
    let world = Ordered::new();
    let plain = || {
        let home = Home::new(table(), "type", "orders").unwrap();
        Embedded::new(Arc::clone(&world.store), home, LEASE_MS, Clock::new(|| 0))
    };
    let without = plain();
    for id in ["a1", "a2"] {
        without.send(message(id), 0).await.unwrap();
    }
    assert_eq!(without.receive(1, Duration::ZERO).await.unwrap().len(), 1);
    world.queue.recover().await.unwrap();
    world.send(&["a3"]).await;
    let held = world.receive(1).await;
    assert_eq!(ids(&held), ["a1", "a2", "a3"]);
    let without = plain();
    without.recover().await.unwrap();
    assert_eq!(without.receive(10, Duration::ZERO).await.unwrap().len(), 3);
}

#[tokio::test]
async fn what_was_leased_for_a_receiver_that_left_is_given_back() {
    let world = Ordered::new();
    for wait in [Duration::ZERO, Duration::from_secs(3600)] {
        world.send(&["a1", "a2"]).await;
        // It is dropped at each point where it can be.
        for polls in 0..20 {
            let mut receiving = Box::pin(world.queue.receive(1, wait));
            let mut received = None;
            for _ in 0..polls {
                let mut once = std::pin::pin!(tokio::task::yield_now());
                tokio::select! {
                    biased;
                    some = &mut receiving => { received = Some(some.unwrap()); break }
                    () = &mut once => {}
                }
            }
            drop(receiving);
            if let Some(received) = received {
                world.queue.release(received).await;
            }
            world.queue.settled().await;
            let depth = world.queue.depth().await.unwrap();
            assert_eq!((depth.visible.counted, depth.in_flight.counted), (2, 0), "{polls}");
        }
        world.queue.purge(Which::Waiting).await.unwrap();
    }
}

// An item that cannot be read was passed over without a word; enough of them hid all messages behind them.
#[tokio::test]
async fn items_that_cannot_be_read_are_counted_and_hide_nothing() {
    let world = Ordered::new();
    world.send(&["a1", "a2", "b1"]).await;
    world.queue.send(message("c-timer"), 500).await.unwrap();
    for n in 0..120 {
        for place in ["DUE#000000000000000", "GROUP#a#000000000000000#000000"] {
            let sort = format!("{place}#0junk-{n:03}");
            let item = Item::from([("PK", "LATCHKEY#QUEUE#orders"), ("SK", sort.as_str())]);
            let put = Put { table: table(), item, condition: None };
            world.store.put(put, Returning::Nothing).await.unwrap();
        }
    }
    world.set(500);
    let received = world.receive(10).await;
    assert_eq!(ids(&received), ["a1", "a2", "b1", "c-timer"]);
    assert_eq!(world.queue.home().unreadable(), 240);
    world.queue.release(received).await;
    assert_eq!(world.receive(10).await.len(), 4);
    assert_eq!(world.queue.home().unreadable(), 240, "each once");
}

#[tokio::test]
async fn messages_can_be_looked_at_and_removed() {
    let world = Ordered::new();
    world.send(&["a1", "a2", "b1"]).await;
    world.queue.send(message("b-timer"), 500).await.unwrap();
    assert_eq!(world.receive(1).await.len(), 2);
    let peek = |which| world.queue.peek(which, 10, None).unwrap().0.len();
    assert_eq!((peek(Which::Waiting), peek(Which::Held)), (2, 2));
    assert_eq!(world.queue.purge(Which::Waiting).await.unwrap(), 2);
    assert_eq!((peek(Which::Waiting), peek(Which::Held)), (0, 2));
    assert_eq!(world.queue.purge(Which::Held).await.unwrap(), 2);
    assert_eq!((peek(Which::Waiting), peek(Which::Held)), (0, 0));
}
