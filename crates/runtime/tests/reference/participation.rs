//! A whole system on the embedded queue: many ask at once, workers die half-way, messages come three times.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_queue::{Received, Which};
use latchkey_runtime::{Caller, Work};
use serde_json::Value as Json;

use crate::queues::Moved;
use crate::support::{NOW, Told, World, all_of, call_by, dies_after};

const SYSTEM: &str = include_str!("../../../../systems/participation.md");

const QUEUE: &str = "participations";

struct Hall {
    world: World,
    clock: Arc<Moved>,
}

impl Hall {
    async fn open() -> Hall {
        let clock = Arc::new(Moved(AtomicI64::new(NOW)));
        Hall { world: World::of(SYSTEM, clock.clone()).await, clock }
    }

    async fn ask(&self, caller: Caller, contract: &str, inputs: &str) -> Told {
        let mut call = call_by(caller, contract, inputs);
        call.at = None;
        self.world.made(call).await
    }

    async fn admin(&self, contract: &str, inputs: &str) -> Json {
        let told = self.ask(Caller::new("ada").role("admin"), contract, inputs).await;
        assert!(told.status() < 300, "{contract} {inputs}: {}", told.body());
        told.json()
    }

    /// Everyone clicks three times at once; each has one request.
    async fn rush(&self, users: usize) -> BTreeMap<String, String> {
        let names: Vec<String> = (0..users).map(|user| format!("user{user}")).collect();
        let clicks = names.iter().flat_map(|name| [name; 3]);
        let asked =
            clicks.map(|name| self.ask(Caller::new(name.as_str()), "EP-01", r#"{"eventId": "e"}"#));
        let mut requests = BTreeMap::new();
        for (told, name) in
            all_of(asked.collect()).await.iter().zip(names.iter().flat_map(|name| [name; 3]))
        {
            assert!([200, 202].contains(&told.status()), "{}", told.body());
            let id = told.member("requestId").as_str().unwrap().to_owned();
            let first = requests.entry(name.clone()).or_insert_with(|| id.clone());
            assert_eq!(*first, id, "{name} has one request");
        }
        requests
    }

    /// Works on a message three times at once. One of them may die on the way.
    async fn thrice(&self, received: &Received, polls: Option<usize>) {
        let runtime = &self.world.runtime;
        let work = Work { tries: received.tries, ..Work::new(QUEUE, received.message.clone()) };
        let again = async { drop(runtime.work(&work).await) };
        let and_again = async { drop(runtime.work(&work).await) };
        let handled = async {
            let queue = runtime.queue(QUEUE).unwrap();
            let handled = queue.handle(received);
            match polls {
                Some(polls) => drop(dies_after(polls, handled).await),
                None => drop(handled.await.unwrap()),
            }
        };
        tokio::join!(again, handled, and_again);
    }

    async fn work_off(&self) {
        let queue = self.world.runtime.queue(QUEUE).unwrap().embedded().unwrap();
        for round in 0..60 {
            let received = queue.receive(50, Duration::ZERO).await.unwrap();
            let waits = |which| !queue.peek(which, 1, None).unwrap().0.is_empty();
            if received.is_empty() && !waits(Which::Waiting) && !waits(Which::Held) {
                return;
            }
            let works = received.iter().enumerate().map(|(at, received)| {
                // Only on the first rounds, for dying too often is the end.
                self.thrice(received, (round < 2 && at % 2 == 0).then_some(1 << (at / 2 % 15)))
            });
            all_of(works.collect()).await;
            // Past what was put off, and past the leases of those that died.
            self.clock.0.fetch_add(31_000, Ordering::SeqCst);
        }
        panic!("there is still something to do");
    }

    /// What is stored of requests, logs and seats is one story.
    async fn tells_one_story(
        &self,
        requests: &BTreeMap<String, String>,
    ) -> BTreeMap<String, usize> {
        let mut outcomes = BTreeMap::new();
        for (user, id) in requests {
            let request = self.admin("AD-02", &format!(r#"{{"requestId": {id:?}}}"#)).await;
            assert_eq!(request["userId"], user.as_str());
            let times: Vec<&str> = ["requestedAt", "queuedAt", "startedAt", "finishedAt"]
                .iter()
                .filter_map(|name| request[*name].as_str())
                .collect();
            assert!(times.is_sorted() && times.len() == 4, "{request}");
            let logs = self.admin("AD-03", &format!(r#"{{"requestId": {id:?}}}"#)).await;
            let logs: Vec<&str> = logs["items"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|log| log["status"].as_str())
                .collect();
            let end = request["status"].as_str().unwrap();
            assert_eq!(logs, ["RECEIVED", "QUEUED", "PROCESSING", end], "{request}");
            let result = request["uiResult"].as_str().unwrap_or("none");
            *outcomes.entry(format!("{end} {result}")).or_insert(0) += 1;
        }
        outcomes
    }
}

// 100 race for 10 seats; everyone clicks three times, every message comes three times, workers die.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_win_as_there_are_seats() {
    let hall = Hall::open().await;
    let event = r#"{"eventId": "e", "title": "E", "mode": "FIRST_COME", "capacity": 10}"#;
    hall.admin("AD-04", event).await;
    let requests = hall.rush(100).await;
    assert_eq!(requests.values().collect::<BTreeSet<_>>().len(), 100);
    hall.work_off().await;
    let outcomes = hall.tells_one_story(&requests).await;
    let expected = [("REJECTED REJECTED_CAPACITY", 90), ("SUCCEEDED SUCCESS", 10)];
    assert_eq!(outcomes, expected.map(|(what, count)| (what.to_owned(), count)).into());
    let seats = hall.admin("EP-05", r#"{"eventId": "e"}"#).await;
    assert_eq!(seats["capacityRemaining"], 0);
    let summary = hall.admin("AD-06", r#"{"eventId": "e"}"#).await;
    let by_status =
        r#"{"FAILED_FINAL":0,"PROCESSING":0,"QUEUED":0,"RECEIVED":0,"REJECTED":90,"SUCCEEDED":10}"#;
    assert_eq!(summary["byStatus"].to_string(), by_status);
    let letters = hall
        .world
        .runtime
        .queue(QUEUE)
        .unwrap()
        .embedded()
        .unwrap()
        .peek(Which::Dead, 1, None)
        .unwrap()
        .0;
    assert_eq!(letters, []);
}

// A message that cannot be worked on reaches the dead letters, and its request says why.
#[tokio::test]
async fn a_poisoned_message_is_given_up() {
    let hall = Hall::open().await;
    let event = r#"{"eventId": "e", "title": "E", "mode": "FIRST_COME", "capacity": 10}"#;
    hall.admin("AD-04", event).await;
    let requests = hall.rush(1).await;
    // Its event goes away, which no contract of the document does.
    let table = hall.world.runtime.system().table().clone();
    let key = latchkey_table::Key::new("EVENT#e", "META");
    let delete = latchkey_table::Delete { table, key, condition: None };
    hall.world.store.delete(delete, latchkey_table::Returning::Nothing).await.unwrap();
    let queue = hall.world.runtime.queue(QUEUE).unwrap().embedded().unwrap();
    let mut tries = 0;
    while tries < 5 {
        for received in queue.receive(1, Duration::ZERO).await.unwrap() {
            tries = received.tries;
            hall.world.runtime.queue(QUEUE).unwrap().handle(&received).await.unwrap();
        }
        hall.clock.0.fetch_add(31_000, Ordering::SeqCst);
    }
    let id = &requests["user0"];
    let request = hall.admin("AD-02", &format!(r#"{{"requestId": {id:?}}}"#)).await;
    let told = ["status", "failureClass", "errorCode", "errorMessage"].map(|name| &request[name]);
    assert_eq!(told, ["FAILED_FINAL", "FAILED", "EVENT_GONE", "there is no such event"]);
    let letters = queue.peek(Which::Dead, 10, None).unwrap().0;
    assert_eq!((letters.len(), letters[0].tries), (1, 5));
}
