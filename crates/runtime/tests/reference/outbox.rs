//! Queues outside the store: what is sent waits in an outbox until the queue has taken it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_embedded::Store;
use latchkey_queue::outbox::Record;
use latchkey_queue::{Clock, Embedded, Home, Message, Peeked, Queue, Which};
use latchkey_runtime::{Ending, Options, Outside, Relayed, Runtime, Sending, Sent, Source, System};
use latchkey_table::{Item, Map, Put, Returning, Schema, Transact};
use latchkey_value::limits::OUTBOX_SHARDS;

use crate::queues::{Moved, SHOP};
use crate::support::{NOW, World, after, call, dies_after, document};

const QUEUE: &str = "packing";

/// The shop, with its queue in a store of its own.
pub(crate) struct Apart {
    pub(crate) world: World,
    queue: Embedded,
    pub(crate) clock: Arc<Moved>,
}

impl Apart {
    async fn open() -> Apart {
        Apart::of(&document(SHOP)).await
    }

    /// The same with another document.
    pub(crate) async fn of(text: &str) -> Apart {
        let in_memory =
            || Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
        let clock = Arc::new(Moved(AtomicI64::new(NOW)));
        let (store, other) = (in_memory(), in_memory());
        let table = Arc::new(Schema::new("Queues"));
        other.create_table(&table).await.unwrap();
        let home = Home::new(table, "kind", QUEUE).unwrap();
        let ticks = clock.clone();
        // What passes is what the clock goes ahead; if it goes back, it was set.
        let (ahead, passed) = (clock.clone(), AtomicI64::new(0));
        let steady = move || {
            let now = ahead.now();
            Some(passed.fetch_max(now, Ordering::SeqCst).max(now))
        };
        let ticks = Clock::new(move || ticks.now()).with_steady(steady);
        let queue = Embedded::new(other, home, 30_000, ticks);
        let system = System::read(text).unwrap();
        let options = Options { source: clock.clone(), ..Options::default() };
        let outside = vec![Outside::new(QUEUE, Queue::Embedded(queue.clone()))];
        let backend = store.clone();
        let runtime = Runtime::start_with(system, backend, options, outside).await.unwrap();
        Apart { world: World { runtime, store }, queue, clock }
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.peek(Which::Waiting, 100, None).unwrap().0.len()
    }

    pub(crate) fn unsent(&self) -> usize {
        self.world.all("LATCHKEY#OUTBOX#packing#").len()
    }

    fn state(&self, id: &str) -> Option<String> {
        self.world.attribute(&format!("ORDER#{id}"), "META", "state")
    }

    /// Waits for writes that were handed in by calls that were cut off: a store makes its writes in their order.
    async fn settled(&self) {
        let table = self.world.runtime.system().table();
        self.world.store.create_table(table).await.unwrap();
    }

    async fn sweep(&self) -> Relayed {
        let mut all = Relayed::default();
        for shard in 0..OUTBOX_SHARDS {
            let mut after = None;
            loop {
                let swept = self
                    .world
                    .runtime
                    .queue(QUEUE)
                    .unwrap()
                    .sweep_outbox(shard, after)
                    .await
                    .unwrap();
                all.relayed += swept.relayed;
                all.left += swept.left;
                after = swept.after;
                if after.is_none() {
                    break;
                }
            }
        }
        all
    }
}

#[tokio::test]
async fn what_is_due_is_relayed_before_the_answer() {
    let apart = Apart::open().await;
    let told = apart.world.call("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!((told.status(), told.member("state")), (202, "QUEUED".into()));
    assert_eq!((apart.waiting(), apart.unsent()), (1, 0));
    let received = apart.queue.receive(1, Duration::ZERO).await.unwrap().pop().unwrap();
    let handled = apart.world.runtime.queue(QUEUE).unwrap().handle(&received).await.unwrap();
    assert_eq!(handled.worked.ending, Ending::Done);
    assert_eq!(apart.state("a").as_deref(), Some("\"PACKED\""));
    assert_eq!(apart.waiting(), 0);
}

#[tokio::test]
async fn what_is_refused_leaves_no_record() {
    let mut apart = Apart::open().await;
    let refuses = Sending::new(|_| Sent::Refused);
    apart.world.runtime = apart.world.runtime.clone().with_sending(refuses);
    let told = apart.world.call("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!((told.status(), told.member("state")), (202, "LOST".into()));
    assert_eq!((apart.waiting(), apart.unsent()), (0, 0));
}

#[tokio::test]
async fn a_timer_waits_in_the_outbox() {
    let apart = Apart::open().await;
    let day = 24 * 60 * 60 * 1000;
    let due = format!(r#"{{"orderId": "a", "dueAt": {:?}}}"#, after(400 * day));
    apart.world.ok("ORDER-AT", &due).await;
    apart.pass(400 * day - 1);
    assert_eq!(apart.sweep().await, Relayed::default());
    assert_eq!((apart.waiting(), apart.unsent()), (0, 1));
    apart.pass(1);
    assert_eq!(apart.sweep().await.relayed, 1);
    assert_eq!((apart.waiting(), apart.unsent()), (1, 0));
    assert_eq!(apart.sweep().await.relayed, 0);
}

// A call that is cut off at any point leaves nothing, or what a sweep brings to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_got_to_is_swept() {
    let apart = Apart::open().await;
    let mut done = 0;
    for n in 0..60 {
        let order = call("ORDER", &format!(r#"{{"orderId": "o{n}"}}"#));
        // A caller looks often for the answer to a write, before it sleeps.
        done += usize::from(dies_after(1 << (n % 15), apart.world.made(order)).await);
    }
    assert!((1..59).contains(&done), "some were cut off: {done} were not");
    // A sweep leaves alone what someone may still be at.
    apart.settled().await;
    assert_eq!(apart.sweep().await, Relayed::default());
    apart.pass(15_001);
    let unsent = apart.unsent();
    assert!(unsent > 0, "some of them in between: {unsent}");
    assert_eq!(apart.sweep().await, Relayed { relayed: unsent, left: 0, after: None });
    assert_eq!(apart.unsent(), 0);
    let made: Vec<String> =
        (0..60).map(|n| format!("o{n}")).filter(|id| apart.state(id).is_some()).collect();
    for id in &made {
        assert_eq!(apart.state(id).as_deref(), Some("\"QUEUED\""), "{id}");
    }
    let waiting = apart.queue.peek(Which::Waiting, 100, None).unwrap().0;
    for id in &made {
        let named = |one: &&latchkey_queue::Peeked| {
            one.message.body().get("orderId").and_then(|id| id.as_text()).is_some_and(|o| o == id)
        };
        assert!(waiting.iter().find(named).is_some(), "{id} was never sent");
    }
}

/// The shop on a store, with its queue in another or in the same.
async fn reopened(store: &Arc<Store>, clock: &Arc<Moved>, outside: Vec<Outside>) -> Runtime {
    let system = System::read(&document(SHOP)).unwrap();
    let options = Options { source: clock.clone(), ..Options::default() };
    let backend = Arc::clone(store);
    Runtime::start_with(system, backend, options, outside).await.unwrap()
}

// Items that are moved to another store take their messages along, whichever way the queue is reached there.
#[tokio::test]
async fn a_table_that_is_moved_takes_its_messages_along() {
    let apart = Apart::open().await;
    let store = &apart.world.store;
    let within = reopened(store, &apart.clock, Vec::new()).await;
    let day = 24 * 60 * 60 * 1000;
    for id in ["a", "b", "c"] {
        let order = call("ORDER", &format!(r#"{{"orderId": "{id}"}}"#));
        assert_eq!(within.call(order).await.status(), 202);
    }
    let timer = format!(r#"{{"orderId": "t", "dueAt": {:?}}}"#, after(2 * day));
    assert_eq!(within.call(call("ORDER-AT", &timer)).await.status(), 202);
    // One was being worked on.
    within.queue(QUEUE).unwrap().embedded().unwrap().receive(1, Duration::ZERO).await.unwrap();

    let runtime = &apart.world.runtime;
    assert_eq!(runtime.queue(QUEUE).unwrap().adopt().await.unwrap(), 3);
    assert_eq!(runtime.queue(QUEUE).unwrap().adopt().await.unwrap(), 0, "each once");
    assert_eq!(apart.waiting(), 3);
    assert_eq!(apart.world.all("LATCHKEY#QUEUE#packing").len(), 1, "the timer has time");
    apart.pass(2 * day);
    assert_eq!(runtime.queue(QUEUE).unwrap().adopt().await.unwrap(), 1);
    assert_eq!(apart.waiting(), 4);

    // And back: what waits in the outbox is found by a queue in the store.
    let timer = format!(r#"{{"orderId": "u", "dueAt": {:?}}}"#, after(4 * day));
    apart.world.ok("ORDER-AT", &timer).await;
    assert_eq!(apart.unsent(), 1);
    let within = reopened(store, &apart.clock, Vec::new()).await;
    apart.pass(2 * day);
    for shard in 0..OUTBOX_SHARDS {
        within.queue(QUEUE).unwrap().sweep_outbox(shard, None).await.unwrap();
    }
    assert_eq!(apart.unsent(), 0);
    let queue = within.queue(QUEUE).unwrap().embedded().unwrap();
    assert_eq!(queue.peek(Which::Waiting, 10, None).unwrap().0.len(), 1);
}

// A message that no worker can read is given up all the same: `on dead` cannot read it either.
#[tokio::test]
async fn a_message_that_does_not_fit_becomes_a_letter() {
    let apart = Apart::open().await;
    let message = Message::new("X", Map::from([("text", "hello")]), NOW).unwrap();
    apart.queue.send(message, NOW).await.unwrap();
    for _ in 0..20 {
        for received in apart.queue.receive(1, Duration::ZERO).await.unwrap() {
            apart.world.runtime.queue(QUEUE).unwrap().handle(&received).await.unwrap();
        }
        apart.pass(5 * 60 * 1000);
    }
    assert_eq!(apart.waiting(), 0);
    let letters = apart.queue.peek(Which::Dead, 10, None).unwrap().0;
    let class = letters.first().unwrap().failure.as_ref().map(|failure| failure.class.clone());
    assert_eq!((letters.len(), class.as_deref()), (1, Some("REFUSED")));
}

// A record that cannot be read was passed over without a word.
#[tokio::test]
async fn a_record_that_cannot_be_read_is_counted() {
    let apart = Apart::open().await;
    let table = apart.world.runtime.system().table().clone();
    for key in ["LATCHKEY#OUTBOX#packing#00", "LATCHKEY#OUTBOX#packing#07"] {
        let item = Item::from([("PK", key), ("SK", "000000000000001#junk")]);
        let put = Put { table: table.clone(), item, condition: None };
        apart.world.store.put(put, Returning::Nothing).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(apart.sweep().await, Relayed::default());
        assert_eq!(apart.world.runtime.queue(QUEUE).unwrap().unreadable(), 2);
    }
}

// What a document sent that is no longer there was sent all the same, and keeps no other from its turn.
#[tokio::test]
async fn a_record_of_a_send_that_is_in_no_document_is_sent_in_the_end() {
    let apart = Apart::open().await;
    let table = apart.world.runtime.system().table().clone();
    let home = Home::new(table, "kind", QUEUE).unwrap();
    let message = Message::new("X", Map::from([("orderId", "a")]), NOW).unwrap();
    let record = Record::new(message, NOW, "GONE/packing", Map::new());
    apart.world.store.transact(Transact { legs: vec![record.leg(&home)] }).await.unwrap();
    apart.pass(59 * 60 * 1000);
    let left = apart.sweep().await;
    assert_eq!((left.relayed, left.left), (0, 1), "another version may still run");
    apart.pass(60 * 1000);
    assert_eq!(apart.sweep().await.relayed, 1);
    assert_eq!((apart.waiting(), apart.unsent()), (1, 0));
}

const JOBS: &str = r#"
entity Job "JOB" {
  PK = "JOB#{jobId}"
  SK = "META"
  jobId id, ready bool = false, taken bool = false, version counter
}
queue jobs { jobId id, n int 0..9 }
contract MAKE "Make" {
  POST /jobs/{jobId}
  input n int
  allow true
  transact {
    job = put Job { jobId } if absent else 409 there
    send jobs { jobId, n }
      accepted {
        made = get Job(jobId = jobId) strong else done
        when not made.ready { later }
        update made set taken = true, version = .version + 1 if unchanged and .taken == false else done
      }
      refused { done }
  }
  return 202 job
  facts
}
contract READY "Ready" {
  POST /jobs/{jobId}/ready
  allow true
  job = get Job strong else 404 not-found
  update job set ready = true, version = .version + 1 if unchanged else retry
  return job
  facts
}
worker WORK "Work" {
  on jobs { jobId, n }
  job = get Job strong else done
  when job.taken and n > 5 { later }
  done
  facts
}
"#;

#[tokio::test]
async fn a_message_that_would_not_fit_is_refused_before_it_is_sent() {
    let world = World::start(JOBS).await;
    let told = world.call("MAKE", r#"{"jobId": "a", "n": 10}"#).await;
    assert_eq!((told.status(), told.member("code")), (400, "invalid-input".into()));
    assert!(told.body().contains("/n"), "{}", told.body());
    assert_eq!(world.all("JOB#").len(), 0, "nothing was done");
    assert_eq!(world.call("MAKE", r#"{"jobId": "a", "n": 9}"#).await.status(), 202);
}

// What follows a send and says `later` is run again, also where the queue is in the store.
#[tokio::test]
async fn what_follows_later_is_swept() {
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let clock = Arc::new(Moved(AtomicI64::new(NOW)));
    let options = Options { source: clock.clone(), ..Options::default() };
    let system = System::read(&document(JOBS)).unwrap();
    let backend = Arc::clone(&store);
    let runtime = Runtime::start(system, backend, options).await.unwrap();
    let world = World { runtime, store };
    let sweep = async || {
        clock.0.fetch_add(20_000, Ordering::SeqCst);
        for shard in 0..OUTBOX_SHARDS {
            world.runtime.queue("jobs").unwrap().sweep_outbox(shard, None).await.unwrap();
        }
    };
    let taken = || world.attribute("JOB#a", "META", "taken");
    world.ok("MAKE", r#"{"jobId": "a", "n": 1}"#).await;
    sweep().await;
    assert_eq!(taken().as_deref(), Some("false"));
    world.ok("READY", r#"{"jobId": "a"}"#).await;
    sweep().await;
    assert_eq!(taken().as_deref(), Some("true"));
    assert_eq!(world.all("LATCHKEY#OUTBOX#").len(), 0);
}

// Whoever wrote it died by a clock that was a day ahead.
#[tokio::test]
async fn what_a_clock_ahead_left_in_the_outbox_is_relayed() {
    let apart = Apart::open().await;
    let day = 24 * 60 * 60 * 1000;
    let mut cut = 0;
    while apart.unsent() == 0 {
        let order = call("ORDER", &format!(r#"{{"orderId": "o{cut}"}}"#));
        dies_after(1 << (cut % 15), apart.world.made(order)).await;
        apart.settled().await;
        cut += 1;
        assert!(cut < 100, "none was cut off in between");
    }
    let due = format!(r#"{{"orderId": "timer", "dueAt": {:?}}}"#, after(400 * day));
    apart.world.ok("ORDER-AT", &due).await;
    let (waiting, unsent) = (apart.waiting(), apart.unsent());
    apart.pass(-day);
    assert_eq!(apart.sweep().await, Relayed::default());
    let queue = apart.world.runtime.queue(QUEUE).unwrap();
    for shard in 0..OUTBOX_SHARDS {
        queue.sweep_ahead(shard, None).await.unwrap();
    }
    assert_eq!((apart.waiting(), apart.unsent()), (waiting + unsent - 1, 1), "the timer stays");
    // One that was sent before it was cut off is sent again, under the same id.
    let found = apart.queue.receive(50, Duration::ZERO).await.unwrap();
    let waiting = apart.queue.peek(Which::Waiting, 100, None).unwrap().0;
    let twin = |one: &Peeked| found.iter().any(|found| found.message.id() == one.message.id());
    assert!(!found.is_empty() && waiting.iter().all(twin), "one waits for a day: {waiting:?}");
}
