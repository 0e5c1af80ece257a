//! Many at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use latchkey_queue::{Error, Which};

use crate::world::{LEASE_MS, World, failure};

const RECEIVERS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_receivers_one_gets_each_message() {
    const MESSAGES: usize = 5_000;
    let world = Arc::new(World::new());
    let done = Arc::new(AtomicUsize::new(0));
    let receivers: Vec<_> = (0..RECEIVERS)
        .map(|n| {
            let (world, done) = (Arc::clone(&world), Arc::clone(&done));
            tokio::spawn(async move {
                let mut got = Vec::new();
                while done.load(Ordering::SeqCst) < MESSAGES {
                    let wait = Duration::from_millis(100);
                    for received in world.queue.receive(1 + n % 7, wait).await.unwrap() {
                        world.queue.done(&received).await.unwrap();
                        done.fetch_add(1, Ordering::SeqCst);
                        got.push((received.message.id().clone(), received.tries));
                    }
                }
                got
            })
        })
        .collect();
    let senders = (0..4).map(|sender| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            for n in 0..MESSAGES / 4 {
                world.send(&format!("{sender}-{n}"), 0).await;
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    let mut seen = HashMap::new();
    for receiver in receivers {
        for (id, tries) in receiver.await.unwrap() {
            assert_eq!(tries, 1);
            *seen.entry(id).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), MESSAGES);
    assert!(seen.values().all(|times| *times == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_holders_of_one_message_one_ends_it() {
    let world = Arc::new(World::new());
    for round in 0..50 {
        world.send("A", world.now()).await;
        let mut holders = Vec::new();
        for _ in 0..4 {
            holders.push(world.receive_one().await);
            world.set(world.now() + i64::from(LEASE_MS));
        }
        let endings = holders.into_iter().enumerate().map(|(at, held)| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let ended = match (at + round) % 3 {
                    0 => world.queue.done(&held).await,
                    1 => world.queue.dead(&held, &failure()).await,
                    _ => world.queue.later(&held, 0).await,
                };
                (at, ended)
            })
        });
        for ending in endings.collect::<Vec<_>>() {
            let (at, ended) = ending.await.unwrap();
            assert_eq!(ended, if at == 3 { Ok(()) } else { Err(Error::Stale) }, "holder {at}");
        }
        for which in [Which::Waiting, Which::Held, Which::Dead] {
            world.queue.purge(which).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_beside_receivers_harms_nobody() {
    let world = Arc::new(World::new());
    for n in 0..2_000 {
        world.send(&format!("M{n:04}"), 0).await;
    }
    let purge = {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.queue.purge(Which::Waiting).await.unwrap() })
    };
    let mut got = 0;
    loop {
        let received = world.receive(20).await;
        if received.is_empty() && purge.is_finished() {
            break;
        }
        got += u64::try_from(received.len()).unwrap();
    }
    assert_eq!(got + purge.await.unwrap(), 2_000);
}
