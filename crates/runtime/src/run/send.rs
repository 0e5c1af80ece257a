//! Sends: legs of a transaction, and what follows once the queue has answered.

use std::time::Duration;

use latchkey_queue::outbox::Record;
use latchkey_queue::{Message, Queue};
use latchkey_table::{Leg, Map, Wrote};
use tokio::time::Instant;

use super::write::Legs;
use super::{Ended, Session};
use crate::evaluate::{Fault, Scope};
use crate::input;
use crate::plan::{self, Failure};
use crate::problem::Problem;
use crate::queues::Sent;
use crate::relay::{Following, follow, relay};
use crate::time;
use crate::work::{CLASS_TIMEOUT, Ending};

/// Something that is sent with a transaction.
pub(super) struct Sending<'a> {
    send: &'a plan::Send,
    message: Message,
    due: i64,
    /// What the queue in the store says to it.
    sent: Sent,
    /// Its leg, where it waits in an outbox.
    leg: Option<usize>,
    /// Whether it is relayed once it is committed, or else when it is due.
    at_once: bool,
    /// What is kept for what follows it.
    kept: Map,
}

/// How long it may take to leave something to a sweep.
const FOLLOW_LATER_TIME_MAX: Duration = Duration::from_secs(2);

/// A queue refuses no leg.
static NEVER_REFUSED: Failure = Failure::Nothing;

impl<'a> Session<'a> {
    /// Fills a send: on the queue in the store, the message itself; for any other, a record of it.
    pub(super) fn fill_send(
        &mut self,
        send: &'a plan::Send,
        legs: &mut Legs<'a>,
    ) -> Result<(), Ended> {
        let line = &self.runtime.lines[send.queue];
        let body = self.filler().map(&send.values)?;
        if let Some(worker) = &self.system.queues[send.queue].worker {
            // Better refused now than given up later.
            input::kept(&worker.body, &body).map_err(Ended::Refused)?;
        }
        let id = self.frame.text(&send.message)?;
        let due = match &send.at {
            Some(at) => time::parse(&self.frame.text(at)?).ok_or(Fault::OutOfRange)?,
            None => self.now,
        };
        let message = Message::new(id, body, self.now);
        let message = message.map_err(|error| Ended::Refused(Problem::bad(error.to_string())))?;
        let sent = match &send.refused {
            Some(_) if line.ahead_ms.is_none() => self.runtime.sending.says(line.home.queue()),
            // Without a way to refuse it, it is sent until it is taken.
            _ => Sent::Accepted,
        };
        let leg = line.ahead_ms.is_some().then_some(legs.legs.len());
        let at_once = line.ahead_ms.is_none_or(|ahead| due <= self.now.saturating_add(ahead));
        let sending = Sending { send, message, due, sent, leg, at_once, kept: Map::new() };
        if sent == Sent::Accepted {
            legs.legs.push(match leg {
                Some(_) => sending.record().leg(&line.home),
                None => latchkey_queue::leg(&line.home, sending.message.clone(), due),
            });
            legs.failures.push(&NEVER_REFUSED);
            legs.plans.push(None);
            legs.asked.push(None);
        }
        legs.sends.push(sending);
        Ok(())
    }

    /// Keeps what follows the sends needs, as the transaction leaves it.
    pub(super) fn keep(&self, legs: &mut Legs<'a>) -> Result<(), Ended> {
        for sending in &mut legs.sends {
            sending.kept = self.filler().map(&sending.send.kept)?;
            let line = &self.runtime.lines[sending.send.queue];
            if let Some(leg) = sending.leg.and_then(|at| legs.legs.get_mut(at)) {
                *leg = sending.record().leg(&line.home);
            }
        }
        Ok(())
    }

    /// Tells the queues what was sent, and does what follows.
    pub(super) async fn sent(&mut self, sends: Vec<Sending<'a>>) {
        // At once: whoever is cut off below has sent all the same.
        for Sending { send, due, sent, leg, .. } in &sends {
            let line = &self.runtime.lines[send.queue];
            if let (Queue::Embedded(queue), None, Sent::Accepted) = (&line.queue, leg, sent) {
                queue.sent(*due);
            }
        }
        for sending in sends {
            let (now, deadline, trace) = (self.now, self.deadline, self.trace.is_some());
            let (runtime, send) = (self.runtime, sending.send);
            let given_now = self.given_now;
            let following = Following { runtime, send, now, given_now, deadline, trace };
            let relayed = match sending.leg {
                Some(_) if !sending.at_once => continue,
                Some(_) => relay(following, sending.record()).await,
                None => {
                    let record = sending.record();
                    let followed = follow(following, sending.sent, sending.kept).await;
                    self.follow_later(send, record, &followed.ending).await;
                    followed
                }
            };
            self.capacity += relayed.capacity;
            self.trace.iter_mut().for_each(|trace| trace.extend(relayed.trace.iter().cloned()));
        }
    }
}

impl Session<'_> {
    /// Leaves what follows a send on the queue in the store to a sweep, if it could not be done yet. The message
    /// then comes once more, too.
    async fn follow_later(&self, send: &plan::Send, record: Record, ending: &Ending) {
        let again = match ending {
            Ending::Later => true,
            Ending::Failed(why) => why.class == CLASS_TIMEOUT,
            Ending::Done => false,
        };
        let line = &self.runtime.lines[send.queue];
        if let Some(Leg::Put(put)) = again.then(|| record.leg(&line.home)) {
            let deadline = Instant::now() + FOLLOW_LATER_TIME_MAX;
            let put = self.runtime.backend.ask::<Wrote>(put, deadline.into_std()).await;
            if let Err(error) = put {
                tracing::warn!(send = %send.id, %error, "what follows a send is not done");
            }
        }
    }
}

impl Sending<'_> {
    fn record(&self) -> Record {
        let (message, id, kept) = (self.message.clone(), self.send.id.clone(), self.kept.clone());
        let record = Record::new(message, self.due, id, kept);
        if self.at_once { record.relayed_at_once() } else { record }
    }
}
