//! A backend from outside the runtime decides when each request of each call happens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::Store;
use latchkey_runtime::{Options, Runtime, Storage, System};
use latchkey_table::{Answer, Answering, Backend, Error, Need, PrepareError, Request, Tables};
use tokio::sync::watch;

use crate::support::{NOW, Told, after, call, document};

const SMARTLOCKER: &str = include_str!("../../../../systems/smartlocker.md");

const TILLS: &str = r#"
entity Till "TILL" {
  PK = "TILL#{tillId}"
  SK = "META"
  tillId id, left int, version counter
}
entity Note "NOTE" {
  PK = "NOTE#{noteId}"
  SK = "META"
  noteId id, state NEW | READ = NEW, version counter
}
contract OPEN "Open a till" {
  POST /tills
  input tillId id, left int
  allow true
  till = put Till { tillId, left } if absent else 409 there
  return 201 till
  facts
}
contract PAY "Pay out" {
  POST /tills/{tillId}/pay
  input amount int
  till = get Till strong else 404 gone
  allow true
  require till.left >= amount else 409 too-little
  paid = update till set left = .left - amount, version = .version + 1 if unchanged else retry
  return paid
  facts
}
queue notes {
  noteId id
  lease 30s
  tries 3
}
contract TELL "Tell" {
  POST /notes
  input noteId id
  allow true
  transact {
    note = put Note { noteId } if absent else 409 there
    send notes { noteId }
  }
  return 201 note
  facts
}
worker READER "Read notes" {
  on notes { noteId }
  note = get Note strong else done
  when note.state == NEW {
    update note set state = READ, version = .version + 1 if unchanged else retry
  }
  done
  facts
}
"#;

/// Lets the requests of one caller through when it is that caller's turn.
#[derive(Debug)]
struct Scheduled {
    who: char,
    /// Whose request is next, and whose come after it.
    turns: Arc<watch::Sender<String>>,
    store: Arc<Store>,
}

impl Backend for Scheduled {
    fn execute(&self, request: Request, until: Instant) -> Answering<'_, Result<Answer, Error>> {
        Answering::waiting(async move {
            let mut turns = self.turns.subscribe();
            turns.wait_for(|turns| turns.starts_with(self.who)).await.unwrap();
            let answer = self.store.execute(request, until).await;
            self.turns.send_modify(|turns| {
                turns.remove(0);
            });
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

/// Two callers of one system, whose requests happen in the order of their letters.
pub(crate) async fn two(
    text: &str,
    turns: &str,
) -> (Arc<watch::Sender<String>>, [Runtime; 2], Arc<Store>) {
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let system = Arc::new(System::read(text).unwrap());
    let turns = Arc::new(watch::Sender::new(turns.to_owned()));
    let start = async |who| {
        let (turns, items) = (Arc::clone(&turns), Arc::clone(&store));
        let backend = Arc::new(Scheduled { who, turns, store: items });
        let storage = Storage::on(backend).with_queues_in(Arc::clone(&store));
        Runtime::start(Arc::clone(&system), storage, Options::default()).await.unwrap()
    };
    let callers = [start('a').await, start('b').await];
    (turns, callers, store)
}

/// Orders of two calls' requests, each a read and a commit: what is left in the till goes to one of them.
#[tokio::test]
async fn requests_of_two_calls_happen_in_the_order_that_is_chosen() {
    // In what order, and who is paid. A call that commits second finds its ground changed, reads once more, and is
    // refused; one that reads second is refused at once.
    let orders = [("aab", 'a'), ("bba", 'b'), ("ababb", 'a'), ("abbaa", 'b'), ("baabb", 'a')];
    for (order, paid) in orders {
        let opened = if order.starts_with('b') { "b" } else { "a" };
        let (turns, [a, b], _) = two(&document(TILLS), opened).await;
        let opener = if opened == "b" { &b } else { &a };
        let told = Told(opener.call(call("OPEN", r#"{"tillId": "t", "left": 5}"#)).await);
        assert_eq!(told.status(), 201, "{}", told.body());
        turns.send_replace(order.to_owned());
        let pay = || call("PAY", r#"{"tillId": "t", "amount": 5}"#);
        let (told_a, told_b) = tokio::join!(a.call(pay()), b.call(pay()));
        let (told_a, told_b) = (Told(told_a), Told(told_b));
        let wanted = if paid == 'a' { (200, 409) } else { (409, 200) };
        assert_eq!((told_a.status(), told_b.status()), wanted, "{order}");
        assert_eq!(*turns.borrow(), "", "{order}: each asked as often as its letters say");
    }
}

/// The queue of such a system is in the store behind the backend: a message is a leg of its transaction.
#[tokio::test]
async fn queues_are_in_the_store_behind_such_a_backend() {
    let (_, [a, _], _) = two(&document(TILLS), "aaaa").await;
    let told = Told(a.call(call("TELL", r#"{"noteId": "n"}"#)).await);
    assert_eq!(told.status(), 201, "{}", told.body());
    let queue = a.queue("notes").unwrap();
    let received = queue.queue().receive(10, Duration::ZERO).await.unwrap();
    assert_eq!(received.len(), 1);
    assert!(!queue.handle(&received[0]).await.unwrap().stale);
    assert!(queue.queue().receive(10, Duration::ZERO).await.unwrap().is_empty());
}

/// A reservation that was cancelled between the reads of its slot and of itself used to be answered as the active one.
#[tokio::test]
async fn a_reservation_that_is_cancelled_while_it_is_read_is_not_the_active_one() {
    let (turns, [a, b], _) = two(SMARTLOCKER, "aaaaa").await;
    let made = Told(a.call(call("QC-11", r#"{"lockerId": "L1", "ownerId": "alice"}"#)).await);
    assert_eq!(made.status(), 201, "{}", made.body());
    let reserved = format!(
        r#"{{"lockerId": "L1", "reservationId": "R1", "ownerId": "alice", "startAt": "{}", "endAt": "{}"}}"#,
        after(1_000),
        after(9_000)
    );
    let made = Told(a.call(call("QC-04", &reserved)).await);
    assert_eq!(made.status(), 201, "{}", made.body());
    // Its timer is late, so the slot is asked. It is cancelled before the reservation is read; all is read again.
    turns.send_replace("aabbbbbbbaaaaaa".to_owned());
    let mut active = call("QC-07", r#"{"lockerId": "L1"}"#);
    let mut cancel = call("QC-12", r#"{"lockerId": "L1", "reservationId": "R1"}"#);
    (active.at, cancel.at) = (Some(NOW + 2_000), Some(NOW + 2_000));
    let (active, cancel) = tokio::join!(a.call(active), b.call(cancel));
    let (active, cancel) = (Told(active), Told(cancel));
    assert_eq!(cancel.status(), 200, "{}", cancel.body());
    assert_eq!(active.told(), (404, "no-active-reservation".to_owned()), "{}", active.body());
    assert_eq!(*turns.borrow(), "", "each asked as often as its letters say");
}
