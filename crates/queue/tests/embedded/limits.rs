//! What is bounded stays bounded.

use latchkey_queue::limits::{COUNT_MAX, PAGE_MAX, RECEIVE_MAX};
use latchkey_queue::{Message, Stamp, Which, leg};
use latchkey_table::{Map, Transact, Value};
use latchkey_value::limits::MESSAGE_BYTES_MAX;

use crate::world::{World, home, message};

async fn fill(world: &World, count: u64, due: i64) {
    let numbers: Vec<u64> = (0..count).collect();
    for batch in numbers.chunks(100) {
        let send = |n| leg(&home(), message(&format!("M{n:08}"), 0), due, Stamp::default());
        let legs = batch.iter().map(send).collect();
        world.store.transact(Transact { legs }).await.unwrap();
    }
}

#[tokio::test]
async fn the_largest_messages_are_received_by_and_by() {
    let world = World::new();
    let body = || Map::from([("x", Value::from("x".repeat(MESSAGE_BYTES_MAX - 1).as_str()))]);
    for n in 0..30 {
        let message = Message::new(format!("M{n:02}"), body(), 0).unwrap();
        world.queue.send(message, 0).await.unwrap();
    }
    let mut received = Vec::new();
    while received.len() < 30 {
        let more = world.receive(usize::MAX).await;
        assert!((1..=8).contains(&more.len()), "a round reads little at once: {}", more.len());
        received.extend(more);
    }
    for (n, received) in received.iter().enumerate() {
        assert_eq!(*received.message.id(), format!("M{n:02}"));
        assert_eq!(*received.message.body(), body());
    }
}

#[tokio::test]
async fn a_receive_and_a_look_have_a_most() {
    let world = World::new();
    fill(&world, 1_000, 0).await;
    assert_eq!(world.receive(usize::MAX).await.len(), RECEIVE_MAX);
    let (page, resume) = world.queue.peek(Which::Waiting, usize::MAX, None).unwrap();
    assert_eq!(page.len(), PAGE_MAX);
    let (next, _) = world.queue.peek(Which::Waiting, 1, resume).unwrap();
    assert!(next[0].message.id() > page[PAGE_MAX - 1].message.id());
}

#[tokio::test]
async fn counts_end_where_they_get_dear() {
    let world = World::new();
    fill(&world, COUNT_MAX, 5).await;
    assert_eq!(world.queue.depth().await.unwrap().delayed.to_string(), "10,000");
    world.set(11);
    let depth = world.queue.depth().await.unwrap();
    assert_eq!(depth.visible.to_string(), "10,000");
    assert_eq!((depth.delayed.counted, depth.oldest_ms), (0, Some(6)));
    world.send("Z", 11).await;
    assert_eq!(world.queue.depth().await.unwrap().visible.to_string(), "10,000+");
    let received = world.receive(3).await;
    world.send("Y", 12).await;
    let depth = world.queue.depth().await.unwrap();
    assert_eq!(depth.visible.to_string(), "9,998");
    assert_eq!(depth.in_flight.to_string(), received.len().to_string());
    assert_eq!(depth.delayed.to_string(), "1");
}
