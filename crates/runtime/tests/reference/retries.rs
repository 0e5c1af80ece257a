//! `else retry`: the contract runs again from its start with the same inputs, `now` and `new` values, at most 5
//! times, then answers 503 `busy`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use latchkey_runtime::Source;
use latchkey_table::{Leg, Request};

use crate::support::{NOW, Told, World, all_of, call};

/// Counts how often time and chance are asked; never gives the same twice.
#[derive(Default)]
struct Counting {
    now: AtomicU64,
    random: AtomicU64,
    /// The longest time that each attempt might wait.
    waits: Mutex<Vec<Duration>>,
}

impl Source for Counting {
    fn now(&self) -> i64 {
        NOW + i64::try_from(self.now.fetch_add(1, Ordering::SeqCst)).unwrap()
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        let n = self.random.fetch_add(1, Ordering::SeqCst) + 1;
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = n.to_le_bytes()[at % 8] ^ u8::try_from(at % 251).unwrap();
        }
        Ok(())
    }

    fn wait(&self, most: Duration) -> Duration {
        self.waits.lock().unwrap().push(most);
        Duration::ZERO
    }
}

const NEVER: &str = r#"
entity Draft "DRAFT" {
  PK = "DRAFT#{draftId}"
  SK = "META"
  draftId id, at time, seed ulid, version counter
}
entity Copy "COPY" {
  PK = "COPY#{copyId}"
  SK = "META"
  copyId id, at time, seed ulid
}
contract COPY "A copy" {
  GET /copies/{copyId}
  copy = get Copy else 404 gone
  allow true
  return copy
  facts
}
contract MAKE "Make" {
  POST /drafts
  input draftId id
  allow true
  draft = put Draft { draftId, at = now, seed = new ulid } if absent else 409 there
  return 201 draft
  facts
}
contract AGAIN "Never to be" {
  POST /drafts/{draftId}/again
  input seed ulid = new ulid
  draft = get Draft strong else 404 gone
  allow true
  update draft set at = now, seed = seed, version = .version + 1 if unchanged and .at == now else retry
  return draft
  facts
}
contract REFUSE "Never to be either" {
  POST /drafts/{draftId}/refuse
  input seed ulid = new ulid
  draft = get Draft strong else 404 gone
  allow true
  require draft.at > now + 1d else retry
  return draft with { drawn = seed }
  facts
}
contract TRANSACT "Nor this" {
  POST /drafts/{draftId}/transact
  input other ulid = new ulid
  draft = get Draft strong else 404 gone
  allow true
  transact {
    put Copy { copyId = other, at = now, seed = new ulid } if absent else 409 there
    update draft set at = now, version = .version + 1 if unchanged and .at == now else retry
  }
  return draft
  facts
}
contract READ "Nor what is not there" {
  POST /drafts/{draftId}/read
  allow true
  draft = get Draft strong else retry
  return draft
  facts
}
"#;

fn legs(told: &Told) -> Vec<String> {
    let requests = told.0.trace.iter().filter_map(|step| match &step.request {
        Request::Update(update, _) => Some(format!("{:?}", update.actions)),
        Request::Transact(transact) => Some(
            transact
                .legs
                .iter()
                .map(|leg| match leg {
                    Leg::Put(put) => format!("{:?}", put.item),
                    Leg::Update(update) => format!("{:?}", update.actions),
                    other => format!("{other:?}"),
                })
                .collect(),
        ),
        _ => None,
    });
    requests.collect()
}

#[tokio::test]
async fn a_contract_that_never_holds_is_run_six_times() {
    for (contract, requests, made) in
        [("AGAIN", 12, 1), ("REFUSE", 6, 1), ("TRANSACT", 12, 2), ("READ", 6, 0)]
    {
        let source = Arc::new(Counting::default());
        let world = World::with(NEVER, source.clone()).await;
        let mut make = call("MAKE", r#"{"draftId": "d"}"#);
        make.at = Some(NOW - 5_000);
        world.made(make).await;
        let (nows, randoms) =
            (source.now.load(Ordering::SeqCst), source.random.load(Ordering::SeqCst));
        let draft = if contract == "READ" { "none" } else { "d" };
        let mut tried = call(contract, &format!(r#"{{"draftId": "{draft}"}}"#));
        tried.trace = true;
        tried.at = None;
        let told = world.made(tried).await;
        assert_eq!(told.told(), (503, "busy".to_owned()), "{contract}");
        assert_eq!(told.problem().retry_after, Some(1), "{contract}");
        assert_eq!(told.0.trace.len(), requests, "{contract}: one attempt and five more");
        assert_eq!(source.now.load(Ordering::SeqCst) - nows, 1, "{contract}: one instant a call");
        let drawn = source.random.load(Ordering::SeqCst) - randoms;
        assert_eq!(drawn, made, "{contract}: what `new` makes, once");
        let waits = std::mem::take(&mut *source.waits.lock().unwrap());
        // A call that has lost on an item is in line for it, and those it could lose to there are soon through.
        let in_line = ["AGAIN", "TRANSACT"].contains(&contract);
        let milliseconds: &[u64] = if in_line { &[20, 40] } else { &[20, 40, 80, 160] };
        let milliseconds: Vec<Duration> =
            milliseconds.iter().copied().map(Duration::from_millis).collect();
        assert_eq!(waits, milliseconds, "{contract}: the first retries are at once");
        let distinct: BTreeSet<String> = legs(&told).into_iter().collect();
        let expected = usize::from(["AGAIN", "TRANSACT"].contains(&contract));
        assert_eq!(distinct.len(), expected, "{contract}: every attempt with the same values");
        assert_eq!(world.all("").len(), 1, "{contract}: nothing was made");
    }
}

// What an attempt consumed is counted, whether or not it came to anything.
#[tokio::test]
async fn every_attempt_is_paid_for() {
    let world = World::start(NEVER).await;
    let mut make = call("MAKE", r#"{"draftId": "d"}"#);
    make.at = Some(NOW - 5_000);
    world.made(make).await;
    let told = world.call("AGAIN", r#"{"draftId": "d"}"#).await;
    assert_eq!(told.capacity(), "rcu=6, wcu=6", "six strong reads, six refused writes");
    let mut traced = call("TRANSACT", r#"{"draftId": "d"}"#);
    traced.trace = true;
    let told = world.made(traced).await;
    let sum: latchkey_table::Capacity = told.0.trace.iter().map(|step| step.capacity).sum();
    assert_eq!(told.0.capacity, sum, "the trace says what each cost");
}

// A call that finds its ground changed does it again, so that none of many is lost.
#[tokio::test]
async fn those_who_lose_a_race_run_again() {
    let text = r#"
entity Tally "TALLY" {
  PK = "TALLY#{tallyId}"
  SK = "META"
  tallyId id, sum int = 0, version counter
}
contract MAKE "Make" {
  POST /tallies
  input tallyId id
  allow true
  tally = put Tally { tallyId } if absent else 409 there
  return 201 tally
  facts
}
contract ADD "Add" {
  POST /tallies/{tallyId}
  tally = get Tally strong else 404 gone
  allow true
  sum = tally.sum + 1
  update tally set sum = sum, version = .version + 1 if unchanged else retry
  return tally
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("MAKE", r#"{"tallyId": "t"}"#).await;
    let calls = (0..4).map(|_| world.call("ADD", r#"{"tallyId": "t"}"#)).collect();
    let told = all_of(calls).await;
    let done: BTreeSet<i64> = told
        .iter()
        .filter(|told| told.status() == 200)
        .map(|told| told.member("sum").as_i64().unwrap())
        .collect();
    let sum = world.attribute("TALLY#t", "META", "sum").unwrap();
    assert_eq!(done.len().to_string(), sum, "each that was done counts once");
    assert!(told.iter().all(|told| [200, 503].contains(&told.status())));
    assert!(!done.is_empty(), "someone wins");
}
