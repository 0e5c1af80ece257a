//! Running ahead: the next message of a group reads while the one before it is written, and writes in its turn.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use latchkey_embedded::{Options as StoreOptions, Store};
use latchkey_queue::Received;
use latchkey_runtime::{Ending, Handled, Options, Runtime, Source, Storage, System, SystemSource};
use latchkey_table::{
    Action, Answer, Answering, Backend, Error, Get, Key, Leg, Need, PrepareError, Request,
    Returning, Schema, Tables, Update,
};
use tokio::sync::watch;

use crate::support::{Told, call, document, written};

const DESKS: &str = r#"
entity Ticket "TICKET" {
  PK = "TICKET#{ticketId}"
  SK = "META"
  ticketId id, desk id, state NEW | SEEN | CALLED = NEW, number int?, seenAt time?, version counter
  state moves {
    NEW  -> SEEN
    SEEN -> CALLED
  }
}
entity Desk "DESK" {
  PK = "DESK#{desk}"
  SK = "META"
  desk id, called int = 0, version counter
}
queue calls ordered by desk {
  ticketId id, desk id, hint text(40)
  lease 30s
  tries 3
}
queue numbers ordered by desk {
  ticketId id, desk id, hint text(40)
  lease 30s
  tries 3
}
contract TAKE "Take a ticket" {
  POST /desks/{desk}/tickets/{ticketId}
  input hint text(40)
  allow true
  transact {
    ticket = put Ticket { ticketId, desk } if absent else 409 there
    send calls { ticketId, desk, hint }
    send numbers { ticketId, desk, hint }
  }
  return 202 ticket
  facts
}
worker CALL "Call, in two writes that share no item with those of other tickets" {
  on calls { ticketId, hint }
  ticket = get Ticket strong else done
  when hint == "torn" { fail TORN "the ticket is torn" }
  when hint == "later" { later }
  when ticket.state == NEW {
    update ticket set state = SEEN, seenAt = now, version = .version + 1 if unchanged else retry
  }
  when ticket.state == SEEN {
    update ticket set state = CALLED, version = .version + 1 if unchanged else retry
  }
  done
  facts
}
worker NUMBER "Number tickets, by an item that all of a desk share" {
  on numbers { ticketId, hint }
  ticket = get Ticket strong else done
  when ticket.number is present { done }
  counted = get Desk(desk = ticket.desk) strong
  when counted is absent {
    when hint == "open" {
      transact {
        put Desk { desk = ticket.desk, called = 1 } if absent else retry
        update ticket set number = 1, version = .version + 1 if unchanged else retry
      }
      done
    }
    fail CLOSED "the desk is not open"
  }
  transact {
    update ticket set number = counted.called + 1, version = .version + 1 if unchanged else retry
    update counted set called = .called + 1, version = .version + 1 if unchanged else retry
  }
  done
  facts
}
"#;

/// A write of a worker, as the store was asked for it.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    /// The tickets it writes.
    tickets: Vec<String>,
    removes: bool,
    /// Whether it was done; nothing before it is answered.
    done: Option<bool>,
}

/// A store that tells what it is asked to write, and can hold and spoil it.
#[derive(Debug)]
struct Watched {
    store: Arc<Store>,
    asked: watch::Sender<Vec<Asked>>,
    /// The write of this number that removes a message is answered only when there is another behind it.
    holds: bool,
    /// A ticket that someone else changes before the write that removes its message.
    spoils: Mutex<Option<String>>,
}

impl Watched {
    /// What someone else does to a ticket.
    fn spoil(&self, ticket: &str, table: &Arc<Schema>) {
        let mut spoils = self.spoils.lock().unwrap();
        if spoils.take_if(|spoiled| spoiled == ticket).is_some() {
            let add = Action::Add("version".into(), 1.into());
            let (table, key) = (Arc::clone(table), Key::new(format!("TICKET#{ticket}"), "META"));
            let update = Update { table, key, actions: vec![add], condition: None };
            self.store.update(update, Returning::Nothing).wait().unwrap();
        }
    }
}

fn ticket(leg: &Leg) -> Option<String> {
    let key = leg.key().unwrap();
    key.partition.strip_prefix("TICKET#").map(str::to_owned)
}

impl Backend for Watched {
    fn execute(&self, request: Request, until: Instant) -> Answering<'_, Result<Answer, Error>> {
        let Request::Transact(transact) = &request else {
            return self.store.execute(request, until);
        };
        let fenced = |leg: &Leg| {
            let queue = |key: Key| key.partition.starts_with("LATCHKEY#QUEUE#");
            leg.condition().is_some() && leg.key().is_ok_and(queue)
        };
        if !transact.legs.iter().any(fenced) {
            return self.store.execute(request, until);
        }
        let removes = |leg: &Leg| matches!(leg, Leg::Delete(_)) && fenced(leg);
        let asked = Asked {
            tickets: transact.legs.iter().filter_map(ticket).collect(),
            removes: transact.legs.iter().any(removes),
            done: None,
        };
        if asked.removes {
            asked.tickets.iter().for_each(|one| self.spoil(one, transact.legs[0].table()));
        }
        let mut at = 0;
        self.asked.send_modify(|all| {
            at = all.len();
            all.push(asked.clone());
        });
        let answering = self.store.execute(request, until);
        Answering::waiting(async move {
            let answer = answering.await;
            if self.holds && asked.removes && at == 1 {
                let mut behind = self.asked.subscribe();
                behind.wait_for(|all| all.len() > at + 1).await.unwrap();
            }
            self.asked.send_modify(|all| all[at].done = Some(answer.is_ok()));
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

struct Hall {
    runtime: Runtime,
    watched: Arc<Watched>,
}

impl Hall {
    async fn open(holds: bool, spoils: Option<&str>) -> Hall {
        Hall::open_with(holds, spoils, Options::default()).await
    }

    async fn open_with(holds: bool, spoils: Option<&str>, options: Options) -> Hall {
        let store = Arc::new(Store::in_memory(&StoreOptions::default()).unwrap());
        let spoils = Mutex::new(spoils.map(str::to_owned));
        let asked = watch::Sender::default();
        let watched = Arc::new(Watched { store: Arc::clone(&store), asked, holds, spoils });
        let system = System::read(&document(DESKS)).unwrap();
        let backend: Arc<dyn Backend> = watched.clone();
        let storage = Storage::on(backend).with_queues_in(store);
        let runtime = Runtime::start(system, storage, options).await.unwrap();
        Hall { runtime, watched }
    }

    async fn take(&self, tickets: &[(&str, &str)]) {
        for (ticket, hint) in tickets {
            let given = format!(r#"{{"desk": "north", "ticketId": "{ticket}", "hint": "{hint}"}}"#);
            let told = Told(self.runtime.call(call("TAKE", &given)).await);
            assert_eq!(told.status(), 202, "{}", told.body());
        }
    }

    /// Works on the run of a queue, and says what was reported.
    async fn work(&self, queue: &str) -> Vec<(String, Handled)> {
        let queue = self.runtime.queue(queue).unwrap();
        let run = queue.queue().receive(1, Duration::ZERO).await.unwrap();
        let mut reported = Vec::new();
        let report = |received: &Received, handled: Result<Handled, _>, _| {
            let ticket = received.message.body().get("ticketId").unwrap();
            reported.push((ticket.as_text().unwrap().to_string(), handled.unwrap()));
            true
        };
        // Nothing here takes long; what waits for something that never comes fails.
        let work = queue.handle_run(run, report);
        tokio::time::timeout(Duration::from_secs(600), work).await.unwrap();
        reported
    }

    fn asked(&self) -> Vec<(String, bool, Option<bool>)> {
        let all = self.watched.asked.borrow();
        all.iter().map(|one| (one.tickets.join(","), one.removes, one.done)).collect()
    }

    fn ticket(&self, id: &str, attribute: &str) -> Option<String> {
        let table = Arc::clone(self.runtime.system().table());
        let key = Key::new(format!("TICKET#{id}"), "META");
        let get = Get { table, key, consistency: latchkey_table::Consistency::Strong };
        let item = self.watched.store.get(&get).unwrap().item;
        item.and_then(|item| item.get(attribute).map(written))
    }
}

fn names(reported: &[(String, Handled)]) -> Vec<&str> {
    reported.iter().map(|(name, _)| name.as_str()).collect()
}

// The write that ends a message is not answered here before the next message's first write is handed in.
#[tokio::test]
async fn the_next_message_writes_behind_the_one_before_it() {
    let hall = Hall::open(true, None).await;
    hall.take(&[("a", ""), ("b", ""), ("c", "")]).await;
    let reported = hall.work("calls").await;
    assert_eq!(names(&reported), ["a", "b", "c"]);
    assert!(reported.iter().all(|(_, handled)| handled.over));
    let done = |name: &str, removes| (name.to_owned(), removes, Some(true));
    let all = ["a", "b", "c"].map(|name| [done(name, false), done(name, true)]);
    assert_eq!(hall.asked(), all.concat());
}

// The last write of `a` fails once, with the first of `b` behind it: `b` waits until `a` is over.
#[tokio::test]
async fn none_commits_behind_one_that_fails() {
    let hall = Hall::open(true, Some("a")).await;
    hall.take(&[("a", ""), ("b", "")]).await;
    let reported = hall.work("calls").await;
    assert_eq!(names(&reported), ["a", "b"]);
    assert!(reported.iter().all(|(_, handled)| handled.over));
    let asked = |name: &str, removes, done| (name.to_owned(), removes, Some(done));
    assert_eq!(
        hall.asked(),
        [
            asked("a", false, true),
            asked("a", true, false),
            asked("b", false, false),
            asked("a", true, true),
            asked("b", false, true),
            asked("b", true, true),
        ]
    );
}

// A message that stays is not written past, and to have run ahead of it was no try.
#[tokio::test]
async fn what_stays_keeps_those_behind_it_from_writing() {
    for (hint, ending) in [("torn", "failed"), ("later", "later")] {
        let hall = Hall::open(false, None).await;
        hall.take(&[("a", hint), ("b", ""), ("c", "")]).await;
        let reported = hall.work("calls").await;
        assert_eq!(names(&reported), ["a"], "{ending}");
        let queue = hall.runtime.queue("calls").and_then(|queue| queue.embedded()).unwrap();
        assert_eq!(queue.depth().await.unwrap().in_flight.counted, 0, "{ending}");
        assert_eq!(hall.ticket("b", "state"), Some("\"NEW\"".to_owned()), "{ending}");
        assert_eq!(hall.asked(), [], "{ending}");
    }
}

// What `b` and `c` read ahead is what the one before them writes: they begin anew, and nothing is written in vain.
#[tokio::test]
async fn what_was_read_before_the_one_before_wrote_it_does_not_count() {
    let hall = Hall::open(false, None).await;
    hall.take(&[("a", "open"), ("b", ""), ("c", "")]).await;
    let reported = hall.work("numbers").await;
    assert_eq!(names(&reported), ["a", "b", "c"]);
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        assert_eq!(reported[at].1.worked.ending, Ending::Done, "{name}");
        assert_eq!(hall.ticket(name, "number"), Some((at + 1).to_string()), "{name}");
    }
    let asked = |name: &str| (name.to_owned(), true, Some(true));
    assert_eq!(hall.asked(), [asked("a"), asked("b"), asked("c")]);
}

/// A clock that a second is taken from at every look, as if it were set back again and again.
struct Backwards(AtomicI64);

impl Source for Backwards {
    fn now(&self) -> i64 {
        self.0.fetch_sub(1_000, Ordering::Relaxed)
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        bytes.fill(7);
        Ok(())
    }
}

// `b` runs ahead at an earlier instant than `a`. No message is worked on before the one before it in its group.
#[tokio::test]
async fn now_never_goes_back_within_a_group() {
    let source: Arc<dyn Source> = Arc::new(Backwards(AtomicI64::new(SystemSource.now())));
    let hall = Hall::open_with(false, None, Options { source, ..Options::default() }).await;
    let names = ["a", "b", "c", "d"];
    hall.take(&names.map(|name| (name, ""))).await;
    assert_eq!(hall.work("calls").await.len(), names.len());
    let seen = names.map(|name| hall.ticket(name, "seenAt").unwrap());
    assert!(seen.is_sorted(), "{seen:?}");
}
