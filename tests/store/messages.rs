//! A message is never lost, whatever steps of its intake and its worker lie around a kill or a loss of power.
//!
//! All that a process leaves behind is what it changed on its disk. So the process is killed, or the power is lost,
//! after every change of a run in which people ask for seats and a worker decides. `tests/workers/steps.rs` is the same
//! for a queue on SQS.

use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::{Options, Part, Store};
use latchkey_model::model::Model;
use latchkey_runtime::{Call, Caller, Runtime, System};
use latchkey_testing::promise::{self, Progress};
use latchkey_value::Value;
use serde_json::{Value as Json, json};

use crate::disk::{Disk, Event, Parts, apply};
use crate::torn::{Fate, befall};

const DOCUMENT: &str = include_str!("../../systems/participation.md");
/// What the worker does about a request whose `accepted` has not run.
const REPAIRS: &str = "when request.status == RECEIVED {
    do queued(request, max(message.sentAt, request.requestedAt))
  }
  require";

/// The same of a worker that relies on it: without `accepted` the message would wait for ever.
const WAITS: &str = "when request.status == RECEIVED { later }
  require";

const QUEUE: &str = "participations";
const PEOPLE: [&str; 3] = ["ann", "ben", "cleo"];
const SEATS: i64 = 2;

/// What someone was told, and from which change on.
struct Told {
    from: usize,
    person: &'static str,
    request: Json,
}

async fn open(model: &Model, disk: &Disk) -> Runtime {
    let options = Options { fold_after: Duration::from_secs(3600), ..Options::default() };
    let store = Arc::new(Store::open_on(disk.opener(), &options).unwrap());
    let system = System::plan(model).unwrap();
    Runtime::start(system, store, latchkey_runtime::Options::default()).await.unwrap()
}

async fn ask(runtime: &Runtime, call: Call, statuses: &[u16]) -> Json {
    let outcome = runtime.call(call).await;
    let body = outcome.body().to_string();
    assert!(statuses.contains(&outcome.status()), "{} {body}", outcome.status());
    serde_json::from_str(&body).unwrap()
}

fn admin(contract: &str) -> Call {
    Call::new(contract, Caller::new("ada").role("admin"))
}

async fn take_part(runtime: &Runtime, person: &str) -> Json {
    let call = Call::new("EP-01", Caller::new(person)).input("eventId", "e");
    ask(runtime, call, &[200, 202]).await["requestId"].clone()
}

/// Works until nothing is left.
async fn work(runtime: &Runtime) {
    let queue = runtime.queue(QUEUE).unwrap();
    for _ in 0..100 {
        let received = queue.queue().receive(10, Duration::ZERO).await.unwrap();
        if received.is_empty() {
            return;
        }
        for one in received {
            queue.handle(&one).await.unwrap();
        }
    }
    panic!("the queue is never empty");
}

/// A run in which everything happens, with what was told when, and the change at which it begins.
async fn record(model: &Model, disk: &Disk) -> (usize, Vec<Told>) {
    let runtime = open(model, disk).await;
    let made = admin("AD-04").input("eventId", "e").input("title", "E");
    let made = made.input("mode", "FIRST_COME").json("capacity", Value::from(SEATS));
    ask(&runtime, made, &[201]).await;
    let start = disk.events();
    let mut told = Vec::new();
    for person in PEOPLE {
        let request = take_part(&runtime, person).await;
        told.push(Told { from: disk.events(), person, request });
        // The second waits behind the first of the third's run.
        if person != "ben" {
            work(&runtime).await;
        }
    }
    (start, told)
}

/// What is left is enough: whoever was answered has that request, and all that asked are decided.
async fn check(model: &Model, parts: Parts, changes: usize, told: &[Told], context: &str) {
    let runtime = open(model, &Disk::with_parts(parts)).await;
    let queue = runtime.queue(QUEUE).unwrap();
    // As a worker does when it starts: what a dead one held is free.
    queue.embedded().unwrap().recover().await.unwrap();
    let before = statuses(&runtime).await;
    let asked: i64 = before.iter().map(|(_, count)| count).sum();
    let acknowledged = told.iter().filter(|told| told.from <= changes).count();
    assert!(asked >= i64::try_from(acknowledged).unwrap(), "{context}: {before:?}");
    work(&runtime).await;
    let open = |status: &&(String, i64)| ["RECEIVED", "QUEUED", "PROCESSING"].contains(&&*status.0);
    let after = statuses(&runtime).await;
    let left: i64 = after.iter().filter(open).map(|(_, count)| count).sum();
    assert_eq!(left, 0, "{context}: a message is lost: {after:?}");
    assert_eq!(after.iter().map(|(_, count)| count).sum::<i64>(), asked, "{context}");
    for Told { from, person, request } in told {
        let again = take_part(&runtime, person).await;
        assert!(*from > changes || again == *request, "{context}: {person} has another request");
        work(&runtime).await;
        let logs = admin("AD-03").input("requestId", again.as_str().unwrap());
        let logs = ask(&runtime, logs, &[200]).await;
        let logged: Vec<&str> = logs["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l["status"].as_str().unwrap())
            .collect();
        assert_eq!(logged[..3], ["RECEIVED", "QUEUED", "PROCESSING"], "{context}");
        assert_eq!(logged.len(), 4, "{context}: {logged:?}");
    }
    let counts: Vec<_> = statuses(&runtime).await.into_iter().filter(|one| one.1 != 0).collect();
    let wanted = [("REJECTED".to_owned(), 1), ("SUCCEEDED".to_owned(), SEATS)];
    assert_eq!(counts, wanted, "{context}");
    let event = admin("EP-05").input("eventId", "e");
    assert_eq!(ask(&runtime, event, &[200]).await["capacityRemaining"], json!(0), "{context}");
    let depth = queue.depth().await.unwrap();
    let waiting = depth.visible.counted + depth.delayed.counted + depth.in_flight.counted;
    assert_eq!(waiting, 0, "{context}");
}

async fn statuses(runtime: &Runtime) -> Vec<(String, i64)> {
    let summary = ask(runtime, admin("AD-06").input("eventId", "e"), &[200]).await;
    let counts = summary["byStatus"].as_object().unwrap().iter();
    counts.map(|(status, count)| (status.clone(), count.as_i64().unwrap())).collect()
}

/// How the process ended.
fn ends(round: u64, at: u64) -> Vec<(&'static str, Option<Fate>)> {
    let seed = round * 1_000_003 + at;
    vec![
        ("killed", None),
        ("power lost", Some(Fate::Lost)),
        ("power lost, some kept", Some(Fate::Some(seed))),
        ("power lost, torn", Some(Fate::Torn(seed))),
    ]
}

#[test]
fn a_message_survives_an_end_after_any_change() {
    survives("messages", DOCUMENT);
}

// A process that died between the commit and `accepted` left a message whose worker waited for ever.
#[test]
fn what_follows_a_send_survives_an_end_after_any_change() {
    assert!(DOCUMENT.contains(REPAIRS));
    survives("sequels of messages", &DOCUMENT.replacen(REPAIRS, WAITS, 1));
}

fn survives(name: &'static str, document: &str) {
    let rounds = u64::try_from(promise::rounds(1)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let model = latchkey_model::check(document).model;
        let disk = Disk::default();
        let (start, told) = record(&model, &disk).await;
        let history = disk.history();
        let points = history.len() - start;
        let mut progress = Progress::new(name, points * usize::try_from(rounds).unwrap());
        let mut images = 0;
        for round in 0..rounds {
            let (mut whole, mut durable) = (Parts::new(), Parts::new());
            let mut unsynced: Vec<(Part, Event)> = Vec::new();
            for (at, (part, event)) in history.iter().enumerate() {
                apply(whole.entry(*part).or_default(), event);
                if matches!(event, Event::Sync) {
                    let (synced, rest) = unsynced.into_iter().partition(|(other, _)| other == part);
                    unsynced = rest;
                    let synced: Vec<(Part, Event)> = synced;
                    let apply_one = |(part, event): &(Part, Event)| {
                        apply(durable.entry(*part).or_default(), event);
                    };
                    synced.iter().for_each(apply_one);
                } else {
                    unsynced.push((*part, event.clone()));
                }
                if at < start {
                    continue;
                }
                for (end, fate) in ends(round, at as u64) {
                    let parts = match fate {
                        None => whole.clone(),
                        Some(fate) => {
                            let mut parts = durable.clone();
                            befall(&mut parts, &unsynced, fate);
                            parts
                        }
                    };
                    check(&model, parts, at + 1, &told, &format!("{end} after change {at}")).await;
                    images += 1;
                }
                progress.add(1);
            }
        }
        assert!(points > 20, "{points}");
        let spent = progress.spent();
        promise::tell(&format!(
            "{points} points, {images} ends, 0 of the {name} lost, in {spent:?}"
        ));
    });
}
