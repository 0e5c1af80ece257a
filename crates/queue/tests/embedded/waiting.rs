//! Nobody works while nothing is due.

use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::{Options, Store};
use latchkey_queue::{Clock, Embedded, Stamp, leg};
use latchkey_table::Transact;
use tokio::time::{Instant, timeout};

use crate::world::{World, home, ids, message, table};

const HOUR_MS: i64 = 3_600_000;

/// A queue whose clock is tokio's, which jumps over every sleep.
fn queue(lease_ms: u32) -> (Arc<Store>, Embedded) {
    let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
    store.create_table(&table()).wait().unwrap();
    let start = Instant::now();
    let clock = Clock::new(move || i64::try_from(start.elapsed().as_millis()).unwrap());
    (Arc::clone(&store), Embedded::new(store, home(), lease_ms, clock))
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_waiting_takes_a_handful_of_looks() {
    let (_, queue) = queue(1_000);
    let start = Instant::now();
    let receivers = (0..64).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.receive(10, Duration::from_secs(3_600)).await })
    });
    for receiver in receivers.collect::<Vec<_>>() {
        assert_eq!(receiver.await.unwrap(), Ok(vec![]));
    }
    assert_eq!(start.elapsed().as_secs(), 3_600);
    // One a minute, for the clock may be set, and one for each who came.
    assert!(queue.looks() <= 60 + 64 + 2, "{}", queue.looks());
}

#[tokio::test(start_paused = true)]
async fn a_timer_wakes_its_receiver_on_time_and_not_before() {
    let (store, queue) = queue(1_000);
    for (id, due) in [("NOT_YET", 2 * HOUR_MS), ("A", HOUR_MS / 2)] {
        let legs = vec![leg(&home(), message(id, 0), due, Stamp::default())];
        store.transact(Transact { legs }).wait().unwrap();
    }
    let received = queue.receive(10, Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(ids(&received), ["A"]);
    assert!(queue.looks() <= 33, "{}", queue.looks());
}

#[tokio::test]
async fn sends_that_are_due_later_wake_nobody() {
    let world = World::new();
    world.send("FIRST", 10_000).await;
    let waiting = {
        let queue = world.queue.clone();
        tokio::spawn(async move { queue.receive(1, Duration::from_secs(600)).await.unwrap() })
    };
    // On one thread, whoever has looked and found nothing sleeps before another runs.
    while world.queue.looks() == 0 {
        tokio::task::yield_now().await;
    }
    let before = world.queue.looks();
    for n in 0..100 {
        world.send(&format!("T{n}"), 20_000 + n).await;
    }
    assert_eq!(world.queue.looks(), before);
    world.send("NOW", 0).await;
    assert_eq!(ids(&waiting.await.unwrap()), ["NOW"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_leaves_takes_nothing_with_it() {
    let world = World::new();
    let (mut sent, mut got) = (0, 0);
    for n in 0..400_u64 {
        let queue = world.queue.clone();
        let patience = Duration::from_micros(n * 7 % 1_500);
        let receiving = tokio::spawn(timeout(patience, async move {
            queue.receive(3, Duration::from_secs(1)).await
        }));
        world.send(&format!("M{n:03}"), 0).await;
        sent += 1;
        if let Ok(Ok(received)) = receiving.await.unwrap() {
            got += received.len();
            for received in &received {
                assert_eq!(received.tries, 1, "what nobody saw was no try");
                world.queue.done(received).await.unwrap();
            }
        }
    }
    // The clock stands still: no lease runs out.
    while got < sent {
        let received = world.queue.receive(50, Duration::from_secs(2)).await.unwrap();
        assert!(!received.is_empty(), "{got} of {sent}");
        got += received.len();
        assert!(received.iter().all(|received| received.tries == 1));
    }
    assert_eq!(got, sent);
}

#[tokio::test]
async fn what_was_leased_for_a_receiver_that_left_comes_to_the_next() {
    // Its answer was on the way when it left, and went with it until the lease was over.
    for others in [0, 2] {
        let world = World::new();
        let mut receiving = Box::pin(world.queue.receive(1, Duration::from_secs(600)));
        tokio::select! {
            biased;
            _ = &mut receiving => panic!("nothing was sent"),
            () = std::future::ready(()) => {}
        }
        world.send("A", 0).await;
        while world.queue.depth().await.unwrap().in_flight.counted == 0 {
            tokio::task::yield_now().await;
        }
        // Until the answer is there too; the receiver is not polled any more.
        world.queue.settled().await;
        let others: Vec<_> = (0..others)
            .map(|_| {
                let queue = world.queue.clone();
                tokio::spawn(async move { queue.receive(1, Duration::from_millis(300)).await })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(receiving);
        let mut received = Vec::new();
        for other in others {
            received.extend(other.await.unwrap().unwrap());
        }
        if received.is_empty() {
            received = world.queue.receive(1, Duration::from_secs(5)).await.unwrap();
        }
        assert_eq!(ids(&received), ["A"]);
        assert_eq!(received[0].tries, 1);
        world.queue.done(&received[0]).await.unwrap();
    }
}
