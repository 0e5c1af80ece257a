//! Told to stop under load, what works through a queue stops soon, and holds nothing any more.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::event::{Event, QUEUE};
use crate::race::crowd;
use crate::serve::fate::{Fate, Proxy, Seen};
use crate::serve::{HANG, until};
use crate::world::{Address, Patient, World};

const EVENT: Event<'static> = Event { id: "drained", seats: 7 };

#[test]
fn a_server_finishes_what_it_holds() {
    let world = World::embedded("participation", &[]);
    let mut server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    EVENT.open(&address);
    let users = 2_000;
    let told = crowd(&EVENT, &address, users, 32);
    assert_eq!(world.depth(), [2_000, 0, 0, 0]);
    assert_eq!(server.stop().code(), Some(0));
    let mut stops = 0;
    loop {
        let [before, ..] = world.depth();
        let mut server = world.serve(&["--test-deliveries", "3"]);
        until("it has begun to work", || world.depth()[0] < before);
        assert_eq!(server.stop().code(), Some(0));
        let [visible, held, later, dead] = world.depth();
        assert_eq!((held, dead), (0, 0), "nothing is held, {visible} wait, {later} come later");
        stops += 1;
        if visible == 0 || stops == 6 {
            break;
        }
    }
    println!("stopped {stops} times until all was done");
    let server = world.serve(&[]);
    address.is_now(&server);
    EVENT.wait(&address, users);
    EVENT.is_settled(&world, &address, &told);
}

#[test]
fn a_worker_finishes_what_it_holds() {
    let world = World::on_sqs("participation", &[], QUEUE, "drained");
    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    EVENT.open(&address);
    let users = 60;
    let told = crowd(&EVENT, &address, users, 8);
    let mut client = Patient::new(&address);
    for round in 0..4 {
        let decided = EVENT.decided(&mut client);
        let log = world.path().join(format!("log-{round}"));
        let mut worker = world.work_logged(&["--workers", "8"], &[], &log);
        while EVENT.decided(&mut client) == decided && decided < users {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(worker.stop().code(), Some(0));
        is_accounted_for(&world, &log);
    }
    let _worker = world.work(&[]);
    EVENT.wait(&address, users);
    EVENT.is_settled(&world, &address, &told);
}

#[test]
fn messages_that_come_after_the_stop_are_given_back() {
    // The worker left after a second, and what SQS handed out to it was held for a whole lease.
    let (held, told) = stopped_while_asking("late", |operation| match operation {
        "ReceiveMessage" => Fate::Late(Duration::from_secs(3)),
        _ => Fate::Pass,
    });
    assert_eq!((held, told), (0, Told::default()), "all are given back");
}

#[test]
fn messages_that_cannot_be_given_back_are_told() {
    let (held, told) = stopped_while_asking("kept", |operation| match operation {
        "ReceiveMessage" => Fate::Late(Duration::from_secs(3)),
        "ChangeMessageVisibility" => Fate::Answer(400, "{}".to_owned()),
        _ => Fate::Pass,
    });
    assert!(held > 0, "SQS has handed out some");
    assert_eq!(told, Told { messages: held, requests: 0 }, "each has a line");
}

#[test]
fn a_request_for_messages_that_is_never_answered_is_told() {
    let (held, told) = stopped_while_asking("never", |operation| match operation {
        "ReceiveMessage" => Fate::Late(HANG),
        _ => Fate::Pass,
    });
    assert!(held > 0, "SQS has handed out some");
    // One is for messages, and one for those that SQS has given up.
    assert_eq!(told, Told { messages: 0, requests: 2 });
}

/// Stops a worker to which SQS has handed out messages that it has not heard of. Gives how many are held then, and what
/// the log tells of them.
fn stopped_while_asking(queue: &str, fate: fn(&str) -> Fate) -> (u64, Told) {
    let world = World::on_sqs("participation", &[], QUEUE, queue);
    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    EVENT.open(&address);
    let users = 20;
    crowd(&EVENT, &address, users, 4);
    let sqs = world.sqs.as_ref().unwrap();
    until("all are in the queue", || sqs.depth(queue)[0] == 20);
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
    let decide = move |_, seen: &Seen| fate(&seen.operation);
    let way = runtime.block_on(Proxy::start_by(sqs.endpoint(), decide));
    let log = world.path().join("log");
    let ways = [("--sqs-endpoint", way.endpoint.as_str())];
    let mut worker = world.work_logged(&["--workers", "8"], &ways, &log);
    until("SQS has handed some out", || sqs.depth(queue)[1] > 0);
    assert_eq!(worker.stop().code(), Some(0));
    let decided = EVENT.decided(&mut Patient::new(&address));
    let [visible, held, later] = sqs.depth(queue);
    let all = visible + held + later + u64::try_from(decided).unwrap();
    assert_eq!(all, 20, "{visible} wait, {held} are held, {later} come later, {decided} are done");
    (held, Told::read(&log))
}

/// How lines begin that tell of one message each.
const ONE_MESSAGE: [&str; 2] =
    ["a message was not given back", "the queue was not told what became of a message"];

/// What the log of a worker that has stopped tells of messages that it has neither worked on nor given back.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    messages: u64,
    /// Requests that were not answered, each for ten messages at most.
    requests: u64,
}

impl Told {
    fn read(log: &Path) -> Told {
        let mut told = Told::default();
        for line in fs::read_to_string(log).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let message = line["message"].as_str().unwrap();
            let is = |start: &str| message.starts_with(start);
            if ONE_MESSAGE.iter().any(|start| is(start)) {
                told.messages += 1;
            } else if is("messages are left half-way") {
                told.messages += line["count"].as_u64().unwrap();
            } else if is("SQS has not answered a request for messages") {
                told.requests += 1;
            }
        }
        told
    }
}

/// Every message is worked on, given back, or told of in the log.
fn is_accounted_for(world: &World, log: &Path) {
    let [_, held, _] = world.sqs.as_ref().unwrap().depth("drained");
    let told = Told::read(log);
    assert!(held <= told.messages + 10 * told.requests, "{held} are held, and told is {told:?}");
}
