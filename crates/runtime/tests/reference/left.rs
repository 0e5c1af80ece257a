//! What follows a send is done although whoever sent the message died: before a worker gets the message.

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use latchkey_embedded::Store;
use latchkey_queue::{Received, Which};
use latchkey_runtime::{Call, Ending, Handled, Options, Runtime, Storage, System};
use latchkey_table::{
    Answer, Answering, Backend, Error, Need, PrepareError, Put, Request, Returning, Tables, Value,
};
use tokio::sync::Notify;

use crate::ordered::DESKS;
use crate::outbox::Apart;
use crate::queues::{Moved, SHOP};
use crate::support::{NOW, World, after, call, document};

/// How a process ends, or a store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Not at all.
    Well,
    /// Nobody is told of the transaction, nor of anything after it.
    Untold,
    /// Nobody is told of anything after the transaction.
    Told,
    /// It is not known whether the transaction was made.
    Unknown,
    /// Every request is refused for now.
    Down,
    /// Every request takes a second.
    Slow,
}

/// A store as one process has it.
#[derive(Debug)]
struct Fated {
    store: Arc<Store>,
    clock: Arc<Moved>,
    fate: Mutex<Fate>,
    /// The process is dead.
    dead: Notify,
}

impl Fated {
    fn meets(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }

    fn is(&self, fate: Fate) -> bool {
        *self.fate.lock().unwrap() == fate
    }
}

impl Backend for Fated {
    fn execute(&self, request: Request, until: Instant) -> Answering<'_, Result<Answer, Error>> {
        if self.is(Fate::Well) {
            return self.store.execute(request, until);
        }
        if self.is(Fate::Down) {
            return Answering::ready(Err(Error::Unavailable { reason: "it is down".to_owned() }));
        }
        if self.is(Fate::Slow) {
            self.clock.0.fetch_add(1_000, Ordering::SeqCst);
            return self.store.execute(request, until);
        }
        let is_transaction = matches!(request, Request::Transact(_));
        Answering::waiting(async move {
            if !is_transaction && self.is(Fate::Told) {
                self.dead.notify_one();
                return pending().await;
            }
            let answer = self.store.execute(request, until).await;
            if is_transaction && self.is(Fate::Untold) {
                self.dead.notify_one();
                return pending().await;
            }
            if is_transaction && self.is(Fate::Unknown) {
                return Err(Error::OutcomeUnknown { reason: "nobody knows".to_owned() });
            }
            answer
        })
    }

    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>> {
        self.store.prepare(tables, need)
    }
}

/// A store that processes come and go on.
struct House {
    store: Arc<Store>,
    clock: Arc<Moved>,
    document: String,
    queue: &'static str,
}

/// One process.
struct Life {
    world: World,
    fated: Arc<Fated>,
    queue: &'static str,
}

impl House {
    fn new(declarations: &str, queue: &'static str) -> House {
        let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
        let clock = Arc::new(Moved(AtomicI64::new(NOW)));
        House { store: Arc::new(store), clock, document: document(declarations), queue }
    }

    async fn life(&self) -> Life {
        let store = Arc::clone(&self.store);
        let (fate, clock) = (Mutex::new(Fate::Well), Arc::clone(&self.clock));
        let fated = Fated { store: Arc::clone(&store), clock, fate, dead: Notify::new() };
        let fated = Arc::new(fated);
        let storage = Storage::on(fated.clone()).with_queues_in(Arc::clone(&store));
        let system = System::read(&self.document).unwrap();
        let options = Options { source: self.clock.clone(), ..Options::default() };
        let runtime = Runtime::start(system, storage, options).await.unwrap();
        Life { world: World { runtime, store }, fated, queue: self.queue }
    }

    /// A process takes calls, and is killed at the first one's transaction or right behind it; the others find another.
    async fn killed_in(&self, fate: Fate, contract: &str, inputs: &str) {
        let life = self.life().await;
        life.fated.meets(fate);
        let call = Call { at: None, ..call(contract, inputs) };
        let mut calling = pin!(life.world.made(call));
        tokio::select! {
            biased;
            told = &mut calling => panic!("{told:?}"),
            () = life.fated.dead.notified() => {}
        }
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Life {
    async fn receive(&self) -> Vec<Received> {
        let queue = self.world.runtime.queue(self.queue).unwrap();
        queue.queue().receive(1, Duration::ZERO).await.unwrap()
    }

    async fn handle(&self) -> Option<Handled> {
        let received = self.receive().await.pop()?;
        let queue = self.world.runtime.queue(self.queue).unwrap().traced();
        Some(queue.handle(&received).await.unwrap())
    }

    fn waiting(&self) -> usize {
        let queue = self.world.runtime.queue(self.queue).unwrap();
        queue.embedded().unwrap().peek(Which::Waiting, 100, None).unwrap().0.len()
    }

    fn order(&self, attribute: &str) -> Option<String> {
        self.world.attribute("ORDER#a", "META", attribute)
    }

    fn ticket(&self, id: &str, attribute: &str) -> Option<String> {
        self.world.attribute(&format!("TICKET#{id}"), "META", attribute)
    }
}

/// Processes with their queue in the store, and after them one with its queue in another.
async fn apart(declarations: &str) -> (Apart, House) {
    let document = document(declarations);
    let apart = Apart::of(&document).await;
    let (store, clock) = (Arc::clone(&apart.world.store), Arc::clone(&apart.clock));
    (apart, House { store, clock, document, queue: "packing" })
}

fn quoted(text: &str) -> Option<String> {
    Some(format!("{text:?}"))
}

/// The desks, with a worker that relies on what follows a send.
fn patient() -> String {
    let eager = "when ticket.state in (NEW, WAITING) {";
    let patient = "when ticket.state == NEW { later }\n  when ticket.state == WAITING {";
    assert!(DESKS.contains(eager));
    DESKS.replacen(eager, patient, 1)
}

// A process that was killed between the commit and `accepted` lost what `accepted` does.
#[tokio::test]
async fn another_life_does_what_follows_before_its_worker_has_the_message() {
    for fate in [Fate::Untold, Fate::Told] {
        let house = House::new(SHOP, "packing");
        house.killed_in(fate, "ORDER", r#"{"orderId": "a"}"#).await;
        let life = house.life().await;
        assert_eq!((life.order("state"), life.order("takenAt")), (quoted("NEW"), None), "{fate:?}");
        house.pass(5_000);
        let handled = life.handle().await.unwrap();
        assert_eq!((handled.worked.ending, handled.dead), (Ending::Done, false));
        assert_eq!(life.order("state"), quoted("PACKED"));
        // The worker takes a packed order for done, so `accepted` was before it; and it was there once.
        assert_eq!(life.order("takenAt"), quoted(&after(0)), "{fate:?}");
        assert_eq!(life.order("version").as_deref(), Some("3"));
        assert_eq!(life.waiting(), 0);
    }
}

// What was done once in a life is not done again, although the message comes again.
#[tokio::test]
async fn another_life_does_what_follows_once() {
    let house = House::new(SHOP, "packing");
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a", "hint": "later"}"#).await;
    let life = house.life().await;
    let handled = life.handle().await.unwrap();
    assert_eq!(handled.worked.ending, Ending::Later);
    assert_eq!(handled.worked.trace.len(), 3, "a read and a write, and the worker's read");
    assert_eq!(life.order("state"), quoted("QUEUED"));
    house.pass(1_000);
    let handled = life.handle().await.unwrap();
    assert_eq!(handled.worked.trace.len(), 1, "the worker's read");
    house.pass(1_000);
    // The next life has nothing left to do either.
    assert_eq!(house.life().await.handle().await.unwrap().worked.trace.len(), 1);
}

// A message of the same life costs what it cost.
#[tokio::test]
async fn a_life_does_what_follows_its_own_sends_by_itself() {
    let house = House::new(SHOP, "packing");
    let life = house.life().await;
    assert_eq!(life.world.ok("ORDER", r#"{"orderId": "a"}"#).await["state"], "QUEUED");
    let handled = life.handle().await.unwrap();
    assert_eq!(handled.worked.ending, Ending::Done);
    assert_eq!(handled.worked.trace.len(), 2, "the worker's read and its write");
    assert_eq!(life.order("version").as_deref(), Some("3"));
}

// A call that was cut off, or does not know whether its transaction happened, left a message that waits for ever.
#[tokio::test]
async fn a_life_does_what_its_own_call_did_not_come_to() {
    for fate in [Fate::Untold, Fate::Told, Fate::Unknown] {
        let house = House::new(SHOP, "packing");
        let life = house.life().await;
        life.fated.meets(fate);
        {
            let mut calling = pin!(life.world.call("ORDER", r#"{"orderId": "a"}"#));
            tokio::select! {
                biased;
                told = &mut calling => assert_eq!((told.status(), fate), (503, Fate::Unknown)),
                () = life.fated.dead.notified() => {}
            }
        }
        life.fated.meets(Fate::Well);
        assert_eq!(life.order("takenAt"), None);
        assert_eq!(life.handle().await.unwrap().worked.ending, Ending::Done);
        assert_eq!(life.order("takenAt"), quoted(&after(0)), "{fate:?}");
    }
}

// A transaction that was refused sent nothing, so the life goes on: its messages are as they were.
#[tokio::test]
async fn a_refused_call_leaves_nothing_behind() {
    let house = House::new(SHOP, "packing");
    let life = house.life().await;
    life.world.ok("ORDER", r#"{"orderId": "a"}"#).await;
    assert_eq!(life.world.call("ORDER", r#"{"orderId": "a"}"#).await.status(), 409);
    assert_eq!(life.handle().await.unwrap().worked.trace.len(), 2);
}

// Releases before this one kept nothing with the message.
#[tokio::test]
async fn a_message_of_an_earlier_release_is_worked_on() {
    let house = House::new(SHOP, "packing");
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a"}"#).await;
    let life = house.life().await;
    let mut item = life.world.all("LATCHKEY#QUEUE#packing").pop().unwrap();
    assert!(item.remove("accepted").is_some());
    let table = life.world.runtime.system().table().clone();
    house.store.put(Put { table, item, condition: None }, Returning::Nothing).await.unwrap();
    assert_eq!(life.handle().await.unwrap().worked.ending, Ending::Done);
    assert_eq!((life.order("state"), life.order("takenAt")), (quoted("PACKED"), None));
}

// What cannot be read is not taken for a message that nothing follows.
#[tokio::test]
async fn a_message_that_says_something_else_is_left_alone() {
    let house = House::new(SHOP, "packing");
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a"}"#).await;
    let life = house.life().await;
    let mut item = life.world.all("LATCHKEY#QUEUE#packing").pop().unwrap();
    item.insert("accepted", Value::Bool(true));
    let table = life.world.runtime.system().table().clone();
    house.store.put(Put { table, item, condition: None }, Returning::Nothing).await.unwrap();
    assert!(life.handle().await.is_none());
    assert_eq!(life.world.runtime.queue("packing").unwrap().unreadable(), 1);
}

// What cannot be done now puts the message off, and this is no try; the message stays as it is.
#[tokio::test]
async fn what_cannot_be_done_yet_puts_the_message_off() {
    let house = House::new(SHOP, "packing");
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a"}"#).await;
    let life = house.life().await;
    for _ in 0..5 {
        life.fated.meets(Fate::Down);
        assert_eq!(life.handle().await.unwrap().worked.ending, Ending::Later);
        assert!(life.handle().await.is_none(), "not at once");
        house.pass(1_000);
    }
    life.fated.meets(Fate::Well);
    let received = life.receive().await.pop().unwrap();
    assert_eq!(received.tries, 1);
    life.world.runtime.queue("packing").unwrap().handle(&received).await.unwrap();
    assert_eq!(life.order("takenAt"), quoted(&after(0)));
    assert_eq!(life.order("state"), quoted("PACKED"));
}

// What can never be done keeps no worker from the message.
#[tokio::test]
async fn a_message_whose_send_is_in_no_document_is_worked_on() {
    let mut house = House::new(SHOP, "packing");
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a"}"#).await;
    house.document = document(&SHOP.replace("contract ORDER ", "contract ORDERED "));
    let life = house.life().await;
    assert_eq!(life.handle().await.unwrap().worked.ending, Ending::Done);
    assert_eq!((life.order("state"), life.order("takenAt")), (quoted("PACKED"), None));
}

// A worker that waited for `accepted` blocked its group, and the message died of it.
#[tokio::test]
async fn nothing_stays_blocked() {
    let house = House::new(&patient(), "calls");
    for id in ["a", "b", "c", "d"] {
        let inputs = format!(r#"{{"desk": "north", "ticketId": "{id}"}}"#);
        house.killed_in(Fate::Told, "TAKE", &inputs).await;
        house.pass(1_000);
    }
    let life = house.life().await;
    let run = life.receive().await;
    assert_eq!(run.len(), 4);
    let mut handled = Vec::new();
    let queue = life.world.runtime.queue("calls").unwrap();
    let report = |_: &Received, one: Result<Handled, _>, _| {
        handled.push(one.unwrap().worked.ending);
        true
    };
    queue.handle_run(run, report).await;
    assert_eq!(handled, vec![Ending::Done; 4]);
    for (n, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        assert_eq!(life.ticket(id, "state"), quoted("CALLED"), "{id}");
        let sent_at = quoted(&after(1_000 * i64::try_from(n).unwrap()));
        assert_eq!(life.ticket(id, "takenAt"), sent_at, "{id}");
        assert_eq!(life.ticket(id, "sentAt"), sent_at, "{id}");
        assert_eq!(life.ticket(id, "version").as_deref(), Some("4"), "{id}");
    }
    assert_eq!(life.waiting(), 0);
    assert_eq!(life.world.ok("CALLED", r#"{"desk": "north"}"#).await["called"], 4);
}

/// Tickets whose `accepted` writes what the workers of others read.
const BOARD: &str = r#"
entity Ticket "TICKET" {
  PK = "TICKET#{ticketId}"
  SK = "META"
  ticketId id, desk id, state NEW | WAITING | CALLED = NEW, waitingAt time?, calledAt time?, heard id?
  version counter
}
entity Board "BOARD" {
  PK = "BOARD#{desk}"
  SK = "META"
  desk id, last id
}
queue calls ordered by desk {
  ticketId id, desk id
  lease 30s
  tries 3
}
contract TAKE "Take a ticket" {
  POST /desks/{desk}/tickets/{ticketId}
  allow true
  transact {
    ticket = put Ticket { ticketId, desk } if absent else 409 there
    send calls { ticketId, desk }
      accepted {
        taken = get Ticket(ticketId = ticketId) strong else done
        when taken.state != NEW { done }
        transact {
          update taken set state = WAITING, waitingAt = now, version = .version + 1 if unchanged else retry
          upsert Board(desk = taken.desk) set last = taken.ticketId
        }
      }
      refused { done }
  }
  return 202 ticket
  facts
}
contract GET "Get" {
  GET /tickets/{ticketId}
  allow true
  ticket = get Ticket strong else 404 not-found
  return ticket
  facts
}
worker CALL "Call" {
  on calls { ticketId, desk }
  ticket = get Ticket strong else done
  board = get Board strong else done
  when ticket.state != WAITING { done }
  waive unpinned "whoever is called has looked at the board when it was their turn"
  update ticket
    set state = CALLED, calledAt = now, heard = board.last, version = .version + 1
    if unchanged else retry
  done
  facts
}
"#;

/// A message of another life, and one of this life behind it, in one run.
async fn one_of_each(fate: Fate) -> Life {
    let house = House::new(BOARD, "calls");
    house.killed_in(Fate::Told, "TAKE", r#"{"desk": "north", "ticketId": "a"}"#).await;
    let life = house.life().await;
    life.world.ok("TAKE", r#"{"desk": "north", "ticketId": "b"}"#).await;
    let run = life.receive().await;
    assert_eq!(run.len(), 2);
    life.fated.meets(fate);
    life.world.runtime.queue("calls").unwrap().handle_run(run, |_, _, _| true).await;
    assert_eq!(life.ticket("b", "state"), quoted("CALLED"));
    life
}

// The next message had run ahead, and did not see what follows the send of the one before it.
#[tokio::test]
async fn the_next_message_sees_what_follows() {
    let life = one_of_each(Fate::Well).await;
    assert_eq!((life.ticket("a", "heard"), life.ticket("b", "heard")), (quoted("a"), quoted("a")));
}

// A worker's `now` is not before that of what follows the send of its message.
#[tokio::test]
async fn a_worker_comes_after_what_follows() {
    let life = one_of_each(Fate::Slow).await;
    let (waiting, called) = (life.ticket("a", "waitingAt"), life.ticket("a", "calledAt"));
    assert!(waiting.is_some() && waiting <= called, "{waiting:?} {called:?}");
}

// A timer of an ordered queue counts as sent when it is due; what follows its send is told when it was sent.
#[tokio::test]
async fn a_timer_was_sent_when_it_was_sent() {
    let day = 24 * 60 * 60 * 1_000;
    let document = patient().replace("input hint text(40)?\n", "input hint text(40)?, at time\n");
    let document =
        document.replace("desk, hint }\n      accepted", "desk, hint } at at\n      accepted");
    let house = House::new(&document, "calls");
    let inputs = format!(r#"{{"desk": "north", "ticketId": "a", "at": {:?}}}"#, after(day));
    house.killed_in(Fate::Told, "TAKE", &inputs).await;
    house.pass(day);
    let life = house.life().await;
    assert_eq!(life.handle().await.unwrap().worked.ending, Ending::Done);
    assert_eq!(life.ticket("a", "takenAt"), quoted(&after(0)));
    assert_eq!(life.ticket("a", "sentAt"), quoted(&after(day)));
}

// A message in a table that was moved takes along what follows its send.
#[tokio::test]
async fn a_message_of_a_table_that_was_moved_leaves_nothing_behind() {
    let (apart, house) = apart(SHOP).await;
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a"}"#).await;
    house.pass(5_000);
    let taken_at = || apart.world.attribute("ORDER#a", "META", "takenAt");
    assert_eq!(taken_at(), None);
    assert_eq!(apart.world.runtime.queue("packing").unwrap().adopt().await.unwrap(), 1);
    assert_eq!((apart.waiting(), taken_at()), (1, quoted(&after(0))));
}

// What cannot be done yet when a table was moved is left to a sweep, with the message.
#[tokio::test]
async fn what_cannot_be_done_when_a_table_was_moved_is_swept() {
    let asks = "when taken.state == NEW {\n          update taken set state = QUEUED";
    let later = format!("when taken.hint is present {{ later }}\n        {asks}");
    let later = SHOP.replacen(asks, &later, 1);
    let later = later.replacen("takenAt time?", "hint text(40)?, takenAt time?", 1);
    let later = later.replacen("put Order { orderId }", "put Order { orderId, hint }", 1);
    let (apart, house) = apart(&later).await;
    house.killed_in(Fate::Told, "ORDER", r#"{"orderId": "a", "hint": "later"}"#).await;
    assert_eq!(apart.world.runtime.queue("packing").unwrap().adopt().await.unwrap(), 1);
    assert_eq!((apart.waiting(), apart.unsent()), (0, 1));
    assert_eq!(apart.world.all("LATCHKEY#QUEUE#packing").len(), 0);
}
