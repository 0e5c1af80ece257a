//! Queues on what speaks SQS's protocol.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

mod service;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use latchkey_queue::{Clock, Error, Home, Message, Queue, Received, Sqs, TryFailure, dead};
use latchkey_table::{Map, Schema, Value};
use latchkey_value::limits::MESSAGE_BYTES_MAX;

use service::Service;

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

fn clock() -> Clock {
    Clock::new(now)
}

/// How a try failed.
fn oops() -> TryFailure {
    TryFailure::new("FAILED", "OOPS", "")
}

fn message(id: &str, group: &str) -> Message {
    Message::new(id, Map::from([("orderId", id), ("group", group)]), 1_700_000_000_123).unwrap()
}

fn ids(received: &[Received]) -> Vec<&str> {
    received.iter().map(|received| received.message.id().as_str()).collect()
}

/// Ends the lease of a delivery, as if its time were over.
async fn lease_ends(queue: &Sqs, received: Received) {
    queue.release(vec![received]).await;
}

async fn is_empty(queue: &Sqs) -> bool {
    let depth = queue.depth().await.unwrap();
    [depth.visible, depth.delayed, depth.in_flight].iter().all(|count| count.counted == 0)
}

/// What comes within two seconds.
async fn receive(queue: &Sqs) -> Vec<Received> {
    queue.receive(10, Duration::from_secs(2)).await.unwrap()
}

async fn receive_one(queue: &Sqs) -> Received {
    let mut received = receive(queue).await;
    assert_eq!(received.len(), 1, "{received:?}");
    received.pop().unwrap()
}

#[tokio::test]
async fn a_standard_queue_delivers_until_it_is_done() {
    let service = Service::start().await;
    let queue = service.queue("orders", &[], clock()).await;
    let sent = message("A", "g");
    queue.send(&sent, 0).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().visible.to_string(), "1");

    let received = receive_one(&queue).await;
    assert_eq!((&*received.message, received.tries), (&sent, 1));
    assert_eq!(queue.depth().await.unwrap().in_flight.to_string(), "1");
    lease_ends(&queue, received).await;
    let received = receive_one(&queue).await;
    assert_eq!(received.tries, 2, "the lease ran out");
    queue.failed(&received, now(), oops()).await.unwrap();
    let received = receive_one(&queue).await;
    assert_eq!(received.tries, 3, "a failure is a try");
    queue.later(&received, now()).await.unwrap();
    let received = receive_one(&queue).await;
    assert_eq!((&*received.message, received.tries), (&sent, 3), "later is none");

    queue.done(&received).await.unwrap();
    assert!(is_empty(&queue).await);
}

#[tokio::test]
async fn copies_of_one_delivery_leave_one_message() {
    let service = Service::start().await;
    let queue = service.queue("orders", &[], clock()).await;
    queue.send(&message("A", "g"), 0).await.unwrap();
    let received = receive_one(&queue).await;
    let copy = received.clone();
    queue.later(&received, now()).await.unwrap();
    assert_eq!(queue.later(&copy, now()).await, Err(Error::Stale));
    assert_eq!(queue.failed(&copy, now(), oops()).await, Err(Error::Stale));
    let again = receive_one(&queue).await;
    // Gone is gone, whoever says it.
    queue.done(&again).await.unwrap();
    assert_eq!(queue.later(&again, now()).await, Err(Error::Stale));
    assert!(is_empty(&queue).await);
}

#[tokio::test]
async fn messages_come_when_they_are_due_however_long_sqs_can_wait() {
    let service = Service::start().await;
    let queue = service.queue("timers", &[], clock()).await;
    let due = now() + 1_500;
    queue.send(&message("SOON", "g"), due).await.unwrap();
    let mut received = Vec::new();
    while received.is_empty() {
        received = queue.receive(10, Duration::from_secs(4)).await.unwrap();
    }
    assert_eq!(ids(&received), ["SOON"]);
    assert!(now() >= due);
    queue.done(&received[0]).await.unwrap();

    // To whoever is an hour ahead it is due: SQS delivers it at once, and the receiver puts it off.
    let far = now() + 3_600_000;
    let ahead = service.open("timers", Clock::new(|| now() + 3_600_000)).await.unwrap();
    ahead.send(&message("FAR", "g"), far).await.unwrap();
    assert_eq!(queue.receive(10, Duration::ZERO).await, Ok(vec![]));
    let depth = queue.depth().await.unwrap();
    assert_eq!([depth.visible, depth.delayed].map(|count| count.counted), [0, 1]);
}

#[tokio::test]
async fn a_fifo_queue_keeps_the_order_of_a_group_and_sends_once() {
    let service = Service::start().await;
    let queue = service.queue("seats.fifo", &[(Attribute::FifoQueue, "true")], clock()).await;
    for id in ["A1", "A2", "A1", "B1"] {
        let (group, due) = (id.get(..1).unwrap(), 7);
        queue.send(&message(id, group), due).await.unwrap();
    }
    let first = queue.receive(1, Duration::from_secs(2)).await.unwrap();
    assert_eq!(ids(&first), ["A1"]);
    let other = receive_one(&queue).await;
    assert_eq!(other.message.id(), "B1", "its group waits behind the first, others do not");
    queue.done(&other).await.unwrap();
    queue.later(&first[0], now()).await.unwrap();
    let again = queue.receive(1, Duration::from_secs(2)).await.unwrap();
    assert_eq!(
        (ids(&again), again[0].tries),
        (vec!["A1"], 1),
        "later keeps its place, and is no try"
    );
    queue.failed(&again[0], now(), oops()).await.unwrap();
    let again = queue.receive(1, Duration::from_secs(2)).await.unwrap();
    assert_eq!((ids(&again), again[0].tries), (vec!["A1"], 2));
    assert_eq!(again[0].failure, Some(oops()));
    queue.done(&again[0]).await.unwrap();
    let last = receive_one(&queue).await;
    assert_eq!(last.message.id(), "A2");
    queue.done(&last).await.unwrap();
    // A group's messages come together; those that were not worked on are given back, and keep their order.
    for id in ["C1", "C2", "C3"] {
        queue.send(&message(id, "C"), 7).await.unwrap();
    }
    let mut run = queue.receive(10, Duration::from_secs(2)).await.unwrap();
    assert_eq!(ids(&run), ["C1", "C2", "C3"]);
    assert!(run.iter().all(|one| one.group().is_some_and(|group| group == "C")));
    let rest = run.split_off(1);
    queue.failed(&run[0], now(), oops()).await.unwrap();
    queue.release(rest).await;
    let again = queue.receive(10, Duration::from_secs(2)).await.unwrap();
    assert_eq!(ids(&again), ["C1", "C2", "C3"]);
    for one in &again {
        queue.done(one).await.unwrap();
    }
    // Sent again on purpose, for another time, within the minutes in which SQS takes it for the same.
    queue.send(&message("A1", "A"), 8).await.unwrap();
    assert_eq!(receive_one(&queue).await.message.id(), "A1");
}

#[tokio::test]
async fn messages_that_cannot_be_given_back_are_counted() {
    let service = Service::start().await;
    let queue = service.queue("kept", &[], clock()).await;
    for id in ["K1", "K2"] {
        queue.send(&message(id, "K"), 7).await.unwrap();
    }
    let mut received = Vec::new();
    while received.len() < 2 {
        received.extend(receive(&queue).await);
    }
    let other = received.pop().unwrap();
    queue.release(received).await;
    assert_eq!(queue.not_given_back(), 0);
    drop(service);
    queue.release(vec![other]).await;
    assert_eq!(Queue::Sqs(Box::new(queue)).not_given_back(), 1);
}

#[tokio::test]
async fn what_sqs_gives_up_by_itself_can_be_received_and_becomes_a_letter() {
    let service = Service::start().await;
    service.queue("orders-dead", &[], clock()).await;
    let arn = "arn:aws:sqs:us-east-1:123456789012:orders-dead";
    let policy = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"2"}}"#);
    let queue = service.queue("orders", &[(Attribute::RedrivePolicy, &policy)], clock()).await;
    let sent = message("POISON", "g");
    queue.send(&sent, 0).await.unwrap();
    for _ in 0..2 {
        // Whoever has it dies.
        let held = receive_one(&queue).await;
        lease_ends(&queue, held).await;
    }
    assert_eq!(queue.receive(1, Duration::ZERO).await, Ok(vec![]));
    let given_up = queue.receive_dead(10, Duration::from_secs(2)).await.unwrap();
    assert_eq!(ids(&given_up), ["POISON"]);
    assert_eq!(*given_up[0].message, sent);

    let home = Home::new(Arc::new(Schema::new("Things")), "type", "orders").unwrap();
    let failure = TryFailure::new("TECHNICAL", "GIVEN_UP", "");
    let put = dead::put(&home, &given_up[0].message, given_up[0].tries, &failure, now());
    assert_eq!(dead::read(&home, put.item).unwrap().message, sent);
    let queue = Queue::Sqs(Box::new(queue));
    assert!(!queue.keeps_letters());
    queue.dead(&given_up[0], &failure).await.unwrap();
    assert!(is_empty(&service.open("orders-dead", clock()).await.unwrap()).await);
}

#[tokio::test]
async fn refusals_are_told_from_failures() {
    let service = Service::start().await;
    assert!(matches!(service.open("nowhere", clock()).await, Err(Error::Refused { .. })));
    let queue = service.queue("orders", &[], clock()).await;

    // Within the limit as a map, beyond it as a text.
    let large = "\n".repeat(MESSAGE_BYTES_MAX - 1);
    let large = Message::new("L", Map::from([("x", Value::from(large.as_str()))]), 0).unwrap();
    let refused = queue.send(&large, 0).await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. }) && refused.is_refusal());

    // What others send is a message too, and what is none is not lost.
    let url = service.url("orders").await;
    for text in [r#"{"orderId":"7"}"#, "not ours"] {
        service.client.send_message().queue_url(&url).message_body(text).send().await.unwrap();
    }
    let mut received = receive(&queue).await;
    received.extend(queue.receive(10, Duration::ZERO).await.unwrap());
    let mut bodies: Vec<_> = received.iter().map(|r| r.message.body().clone()).collect();
    bodies.sort_by_key(|body| body.get("text").is_some());
    assert_eq!(bodies, [Map::from([("orderId", "7")]), Map::from([("text", "not ours")])]);
    assert!(received.iter().all(|r| (now() - r.message.sent_at()).abs() < 60_000));

    service.client.delete_queue().queue_url(&url).send().await.unwrap();
    let refused = queue.send(&message("A", "g"), 0).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }) && refused.is_refusal(), "{refused}");
    drop(service);
    let failed = queue.send(&message("A", "g"), 0).await.unwrap_err();
    assert!(matches!(failed, Error::Unavailable { .. }) && !failed.is_refusal(), "{failed}");
}
