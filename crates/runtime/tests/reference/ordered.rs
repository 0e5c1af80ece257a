//! Ordered queues: what a worker may write, and what becomes of a message that others wait behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_queue::{Embedded, Error, Received, Which};
use latchkey_runtime::{Ending, Handled};

use crate::queues::Moved;
use crate::support::{NOW, World, after, document};

pub(crate) const DESKS: &str = r#"
entity Ticket "TICKET" {
  PK = "TICKET#{ticketId}"
  SK = "META"
  ticketId id, desk id, state NEW | WAITING | SEEN | CALLED | DEAD = NEW
  takenAt time?, sentAt time?, problem text(1200)?, version counter
  state moves {
    NEW     -> WAITING, SEEN, DEAD
    WAITING -> SEEN, DEAD
    SEEN    -> CALLED, DEAD
  }
}
entity Desk "DESK" {
  PK = "DESK#{desk}"
  SK = "META"
  desk id, called int = 0
}
queue calls ordered by desk {
  ticketId id, desk id, hint text(40)?
  lease 30s
  tries 3
}
contract TAKE "Take a ticket" {
  POST /desks/{desk}/tickets/{ticketId}
  input hint text(40)?
  allow true
  transact {
    ticket = put Ticket { ticketId, desk } if absent else 409 there
    send calls { ticketId, desk, hint }
      accepted {
        taken = get Ticket(ticketId = ticketId) strong else done
        when taken.state == NEW {
          update taken set state = WAITING, takenAt = sent.at, version = .version + 1 if unchanged else retry
        }
      }
      refused { done }
  }
  return 202 ticket
  facts
}
contract CALLED "How many were called" {
  GET /desks/{desk}
  allow true
  counted = get Desk strong else 404 not-found
  return counted
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
  on calls { ticketId, hint }
  ticket = get Ticket strong else done
  when ticket.state in (CALLED, DEAD) { done }
  when hint is present and hint == "later" { later }
  when hint is present and hint == "torn" { fail TORN "the ticket is torn" }
  when ticket.state in (NEW, WAITING) {
    update ticket set state = SEEN, sentAt = message.sentAt, version = .version + 1 if unchanged else retry
  }
  transact {
    update ticket set state = CALLED, version = .version + 1 if unchanged and .state == SEEN else retry
    upsert Desk(desk = ticket.desk) add called = 1
  }
  done
  on dead {
    given_up = get Ticket strong else done
    when given_up.state in (CALLED, DEAD) { done }
    update given_up set state = DEAD, problem = failure.code, version = .version + 1 if unchanged else retry
  }
  facts
}
"#;

struct Hall {
    world: World,
    clock: Arc<Moved>,
}

impl Hall {
    async fn open() -> Hall {
        let clock = Arc::new(Moved(AtomicI64::new(NOW)));
        let world = World::of(&document(DESKS), clock.clone()).await;
        Hall { world, clock }
    }

    fn pass(&self, milliseconds: i64) {
        self.clock.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn queue(&self) -> &Embedded {
        self.world.runtime.queue("calls").and_then(|queue| queue.embedded()).unwrap()
    }

    async fn take(&self, ticket: &str, hint: &str) {
        let given = format!(r#"{{"desk": "north", "ticketId": "{ticket}", "hint": "{hint}"}}"#);
        assert_eq!(self.world.call("TAKE", &given).await.status(), 202);
    }

    async fn receive(&self) -> Vec<Received> {
        self.queue().receive(1, Duration::ZERO).await.unwrap()
    }

    async fn handle(&self, received: &Received) -> Handled {
        self.world.runtime.queue("calls").unwrap().handle(received).await.unwrap()
    }

    /// Works on the first message of the run, and gives the rest back.
    async fn handle_first(&self) -> Option<Handled> {
        let mut run = self.receive().await.into_iter();
        let handled = self.handle(&run.next()?).await;
        self.queue().release(run.collect()).await;
        Some(handled)
    }

    fn ticket(&self, id: &str, attribute: &str) -> Option<String> {
        self.world.attribute(&format!("TICKET#{id}"), "META", attribute)
    }
}

fn quoted(text: &str) -> Option<String> {
    Some(format!("{text:?}"))
}

// `sent.at` and `message.sentAt` are one instant: that of the message's place.
#[tokio::test]
async fn a_message_was_sent_when_it_got_its_place() {
    let hall = Hall::open().await;
    hall.take("a", "").await;
    assert!(hall.handle_first().await.unwrap().over);
    // The clock goes back; places do not.
    hall.pass(-5_000);
    hall.take("b", "").await;
    assert!(hall.handle_first().await.unwrap().over);
    for id in ["a", "b"] {
        assert_eq!(hall.ticket(id, "takenAt"), quoted(&after(0)), "{id}");
        assert_eq!(hall.ticket(id, "sentAt"), quoted(&after(0)), "{id}");
        assert_eq!(hall.ticket(id, "state"), quoted("CALLED"), "{id}");
    }
}

// The removal of a message is a leg of its last transaction.
#[tokio::test]
async fn a_message_goes_with_the_last_write() {
    let hall = Hall::open().await;
    hall.take("a", "").await;
    let received = hall.receive().await.pop().unwrap();
    let handled = hall.handle(&received).await;
    assert_eq!((handled.worked.ending, handled.stale, handled.over), (Ending::Done, false, true));
    assert_eq!(hall.queue().done(&received).await, Err(Error::Stale));
    assert_eq!(hall.queue().depth().await.unwrap().in_flight.counted, 0);
    assert_eq!(hall.queue().peek(Which::Waiting, 10, None).unwrap().0, []);
}

// Whoever has lost the lease writes nothing: neither the first write nor the last.
#[tokio::test]
async fn whoever_lost_a_message_writes_nothing() {
    let hall = Hall::open().await;
    hall.take("a", "").await;
    let lost = hall.receive().await.pop().unwrap();
    hall.pass(30_001);
    let held = hall.receive().await.pop().unwrap();
    let handled = hall.handle(&lost).await;
    assert!(handled.stale && !handled.over);
    assert_eq!(hall.ticket("a", "state"), quoted("WAITING"));
    assert!(hall.handle(&held).await.over);
    assert_eq!(hall.world.ok("CALLED", r#"{"desk": "north"}"#).await["called"], 1);
}

// A failed try holds the group, a second at most; it is dead before the group goes on.
#[tokio::test]
async fn what_fails_holds_its_group_until_it_is_dead() {
    let hall = Hall::open().await;
    hall.take("a", "torn").await;
    hall.take("b", "").await;
    for _ in 0..2 {
        let handled = hall.handle_first().await.unwrap();
        assert!(!handled.over && !handled.dead);
        assert!(hall.receive().await.is_empty(), "its group waits");
        hall.pass(1_000);
    }
    let handled = hall.handle_first().await.unwrap();
    assert!(handled.dead && handled.over);
    assert_eq!(hall.ticket("a", "problem"), quoted("TORN"));
    assert_eq!(hall.ticket("b", "state"), quoted("WAITING"));
    assert!(hall.handle_first().await.unwrap().over);
    assert_eq!(hall.ticket("b", "state"), quoted("CALLED"));
}

// `later` holds the group, but not for ever: once the message is old, it is a failed try.
#[tokio::test]
async fn what_is_put_off_for_too_long_has_failed() {
    let hall = Hall::open().await;
    hall.take("a", "later").await;
    for _ in 0..20 {
        let handled = hall.handle_first().await.unwrap();
        assert_eq!((handled.worked.ending, handled.over), (Ending::Later, false));
        hall.pass(1_000);
    }
    assert_eq!(hall.queue().blocked().await.unwrap()[0].failure, None);
    hall.pass(15 * 60 * 1_000);
    for dead in [false, false, true] {
        assert_eq!(hall.handle_first().await.unwrap().dead, dead);
        hall.pass(1_000);
    }
    assert_eq!(hall.ticket("a", "problem"), quoted("later"));
}

// A message that waited behind one that was put off for too long has its own time to say `later`.
#[tokio::test]
async fn one_that_is_put_off_does_not_take_those_behind_it_along() {
    let hall = Hall::open().await;
    hall.take("a", "later").await;
    hall.take("b", "later").await;
    assert_eq!(hall.handle_first().await.unwrap().worked.ending, Ending::Later);
    hall.pass(15 * 60 * 1_000 + 1);
    for dead in [false, false, true] {
        assert_eq!(hall.handle_first().await.unwrap().dead, dead);
        hall.pass(1_000);
    }
    for _ in 0..3 {
        let handled = hall.handle_first().await.unwrap();
        assert_eq!((handled.worked.ending, handled.over), (Ending::Later, false));
        hall.pass(14 * 60 * 1_000 / 3);
    }
    assert_eq!(hall.queue().blocked().await.unwrap()[0].failure, None);
    assert_eq!(hall.ticket("b", "problem"), None);
}
