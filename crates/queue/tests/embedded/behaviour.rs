//! What becomes of a message.

use std::time::Duration;

use latchkey_queue::{Error, Stamp, TryFailure, Which, leg};
use latchkey_table::{Check, Condition, Key, Leg, Transact};

use crate::world::{LEASE_MS, World, failure, home, ids, message, table};

const LEASE: i64 = LEASE_MS as i64;

#[tokio::test]
async fn messages_come_by_when_they_are_due() {
    let world = World::new();
    let far = 100 * 365 * 86_400_000;
    for (id, due) in [("D", 300), ("A", 100), ("FAR", far), ("C", 200), ("B", 200)] {
        world.send(id, due).await;
    }
    assert_eq!(ids(&world.receive(10).await), [""; 0]);
    world.set(200);
    assert_eq!(ids(&world.receive(2).await), ["A", "B"]);
    assert_eq!(ids(&world.receive(2).await), ["C"]);
    world.set(299);
    assert_eq!(ids(&world.receive(2).await), [""; 0]);
    world.set(300);
    assert_eq!(ids(&world.receive(2).await), ["D"]);
    world.set(far);
    // Those before were received first, and their leases have long been over.
    assert_eq!(ids(&world.receive(10).await), ["A", "B", "C", "D", "FAR"]);
}

#[tokio::test]
async fn a_send_happens_exactly_if_its_transaction_does() {
    let world = World::new();
    let there = Check {
        table: table(),
        key: Key::new("DOOR#1", "META"),
        condition: Condition::Exists("PK".into()),
    };
    let send = leg(&home(), message("A", 0), 0, Stamp::default());
    let refused = Transact { legs: vec![send.clone(), Leg::Check(there)] };
    assert!(world.store.transact(refused).await.is_err());
    assert_eq!(ids(&world.receive(1).await), [""; 0]);
    world.store.transact(Transact { legs: vec![send] }).await.unwrap();
    let received = world.receive_one().await;
    assert_eq!(*received.message, message("A", 0));
    assert_eq!((received.tries, received.failure), (1, None));
}

#[tokio::test]
async fn a_lease_that_runs_out_lets_the_message_come_back_and_fences_its_holder() {
    let world = World::new();
    world.send("A", 0).await;
    let first = world.receive_one().await;
    world.set(LEASE - 1);
    assert_eq!(world.receive(1).await, []);
    world.set(LEASE);
    let second = world.receive_one().await;
    assert_eq!(second.tries, 2);
    let queue = &world.queue;
    assert_eq!(queue.done(&first).await, Err(Error::Stale));
    assert_eq!(queue.later(&first, 0).await, Err(Error::Stale));
    assert_eq!(queue.failed(&first, 0, failure()).await, Err(Error::Stale));
    assert_eq!(queue.dead(&first, &failure()).await, Err(Error::Stale));
    assert_eq!(queue.done(&second).await, Ok(()));
    assert_eq!(queue.done(&second).await, Err(Error::Stale));
    world.set(10 * LEASE);
    assert_eq!(world.receive(1).await, []);
}

#[tokio::test]
async fn a_lease_that_is_over_still_counts_until_someone_else_has_the_message() {
    let world = World::new();
    world.send("A", 0).await;
    let received = world.receive_one().await;
    world.set(5 * LEASE);
    assert_eq!(world.queue.done(&received).await, Ok(()));
    assert_eq!(world.receive(1).await, []);
}

#[tokio::test]
async fn a_clock_that_goes_back_makes_no_lease_current_again() {
    let world = World::new();
    world.send("A", 0).await;
    let first = world.receive_one().await;
    world.set(LEASE);
    let second = world.receive_one().await;
    world.queue.later(&second, 0).await.unwrap();
    world.set(0);
    // Its lease ends when the first's did.
    let third = world.receive_one().await;
    assert_eq!(world.queue.done(&first).await, Err(Error::Stale));
    assert_eq!(world.queue.done(&third).await, Ok(()));
}

#[tokio::test]
async fn later_is_no_try_and_failed_is_one() {
    let world = World::new();
    world.send("A", 0).await;
    let received = world.receive_one().await;
    world.queue.later(&received, 10).await.unwrap();
    assert_eq!(world.receive(1).await, []);
    world.set(10);
    let received = world.receive_one().await;
    assert_eq!((received.tries, &received.failure), (1, &None));
    world.queue.failed(&received, 20, failure()).await.unwrap();
    world.set(20);
    let received = world.receive_one().await;
    assert_eq!((received.tries, &received.failure), (2, &Some(failure())));
    world.queue.later(&received, 20).await.unwrap();
    let received = world.receive_one().await;
    assert_eq!((received.tries, received.failure), (2, Some(failure())));
    assert_eq!(received.message.sent_at(), 0);
}

#[tokio::test]
async fn dead_letters_keep_their_failure_until_they_are_sent_again() {
    let world = World::new();
    for id in ["A", "B", "C"] {
        world.send(id, 0).await;
    }
    for received in world.receive(10).await {
        let code = format!("CODE_{}", received.message.id());
        world.queue.dead(&received, &TryFailure::new("POISON", &code, "")).await.unwrap();
    }
    world.set(LEASE);
    assert_eq!(world.receive(10).await, []);
    let (letters, _) = world.queue.peek(Which::Dead, 10, None).unwrap();
    let codes: Vec<_> = letters.iter().map(|l| l.failure.as_ref().unwrap().code.as_str()).collect();
    assert_eq!(codes, ["CODE_A", "CODE_B", "CODE_C"]);
    assert_eq!((letters[0].tries, letters[0].at), (1, 0));

    assert_eq!(world.queue.redrive("B").await, Ok(true));
    assert_eq!(world.queue.redrive("B").await, Ok(false));
    let received = world.receive_one().await;
    assert_eq!((received.message.id().as_str(), received.tries), ("B", 1));
    world.queue.dead(&received, &failure()).await.unwrap();
    assert_eq!(world.queue.redrive_all().await, Ok(3));
    assert_eq!(world.queue.redrive_all().await, Ok(0));
    assert_eq!(ids(&world.receive(10).await), ["A", "B", "C"]);
    assert_eq!(world.queue.letters().await.unwrap().to_string(), "0");
}

#[tokio::test]
async fn a_message_sent_twice_never_blocks_the_queue_nor_has_two_holders() {
    let world = World::new();
    world.send("A", 0).await;
    // It is one, as long as it waits.
    world.send("A", 0).await;
    let first = world.receive_one().await;
    // Relayed again by who did not hear that it was taken.
    world.send("A", 0).await;
    world.send("B", 0).await;
    let second = world.receive(10).await;
    assert_eq!(ids(&second), ["B"], "its lease would lie where the first's does");
    world.queue.done(&first).await.unwrap();
    let third = world.receive_one().await;
    assert_eq!(world.queue.done(&first).await, Err(Error::Stale));
    world.queue.done(&third).await.unwrap();

    for due in [10, 20] {
        world.send("C", due).await;
    }
    world.set(LEASE);
    let mut seen = world.receive(10).await;
    assert_eq!(ids(&seen), ["C", "B"], "two of one id in one round");
    world.set(LEASE + 1);
    seen.extend(world.receive(10).await);
    assert_eq!(ids(&seen), ["C", "B", "C"]);
    for received in &seen {
        assert_eq!(world.queue.done(received).await, Ok(()));
    }
}

#[tokio::test]
async fn a_new_process_ends_the_leases_of_the_old() {
    let world = World::new();
    for id in ["A", "B"] {
        world.send(id, 0).await;
    }
    world.set(7);
    let old = world.receive(10).await;
    assert_eq!(world.queue.recover().await, Ok(2));
    let new = world.receive(10).await;
    assert_eq!(ids(&new), ["A", "B"]);
    assert!(new.iter().all(|received| received.tries == 2), "a try that killed the process is one");
    assert_eq!(world.queue.done(&old[0]).await, Err(Error::Stale));
    assert_eq!(world.queue.done(&new[0]).await, Ok(()));
}

#[tokio::test]
async fn a_purge_removes_what_is_meant_and_nothing_else() {
    let world = World::new();
    for id in 0..250 {
        world.send(&format!("W{id}"), 1_000_000).await;
    }
    for id in ["H", "D"] {
        world.send(id, 0).await;
    }
    let received = world.receive(10).await;
    assert_eq!(ids(&received), ["D", "H"]);
    world.queue.dead(&received[0], &failure()).await.unwrap();
    let left = async || {
        let depth = world.queue.depth().await.unwrap();
        let letters = world.queue.letters().await.unwrap();
        [depth.delayed, depth.in_flight, letters].map(|count| count.counted)
    };
    assert_eq!(left().await, [250, 1, 1]);
    assert_eq!(world.queue.purge(Which::Waiting).await, Ok(250));
    assert_eq!(left().await, [0, 1, 1]);
    assert_eq!(world.queue.purge(Which::Dead).await, Ok(1));
    assert_eq!(left().await, [0, 1, 0]);
    assert_eq!(world.queue.purge(Which::Held).await, Ok(1));
    assert_eq!(left().await, [0, 0, 0]);
    assert_eq!(world.queue.done(&received[1]).await, Err(Error::Stale));
}

#[tokio::test]
async fn a_receiver_that_waits_gets_what_is_sent_meanwhile() {
    let world = World::new();
    let waiting = {
        let queue = world.queue.clone();
        tokio::spawn(async move { queue.receive(1, Duration::from_secs(600)).await.unwrap() })
    };
    tokio::task::yield_now().await;
    world.send("A", 0).await;
    assert_eq!(ids(&waiting.await.unwrap()), ["A"]);
}
