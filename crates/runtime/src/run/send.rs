//! Sends: legs of a transaction, and what follows once the queue has answered.

use std::time::Duration;

use latchkey_queue::outbox::Record;
use latchkey_queue::{Embedded, Message, Stamp, leg, leg_with};
use latchkey_table::{Error, Leg, Map, Request, Transact, Transacted, Wrote};
use tokio::time::Instant;

use super::write::{FilledLeg, Legs};
use super::{Ended, Session};
use crate::evaluate::{Fault, Values};
use crate::input;
use crate::plan;
use crate::problem::Problem;
use crate::queues::{Line, Sent};
use crate::relay::{Following, follow, relay};
use crate::time;
use crate::turn::Turn;
use crate::work::{CLASS_TIMEOUT, Ending};

/// Something that is sent with a transaction.
pub(super) struct Sending<'a> {
    send: &'a plan::Send,
    message: Message,
    /// When it is due; when it is sent, unless that is said.
    at: Option<i64>,
    /// What the queue in the store says to it.
    sent: Sent,
    /// Its leg; a queue in the store that refuses it has none.
    leg: Option<usize>,
    /// Whether it waits in an outbox.
    outside: bool,
    /// Whether it is relayed once it is committed, or else when it is due.
    at_once: bool,
    /// What is kept for what follows it.
    kept: Map,
    /// Whether that may never be done.
    open: Open<'a>,
}

/// A send on a queue in the store that something follows. If nobody comes to that, whoever receives the message does
/// it: the call was cut off, or does not know whether its transaction happened.
#[derive(Default)]
struct Open<'a>(Option<&'a Embedded>);

impl Open<'_> {
    /// What follows is done or never will be, or the message was never sent.
    fn close(&mut self) {
        self.0 = None;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.into_iter().for_each(Embedded::begin_another_life);
    }
}

/// How long it may take to leave something to a sweep.
const FOLLOW_LATER_TIME_MAX: Duration = Duration::from_secs(2);

impl<'a> Session<'a> {
    /// Fills a send: on the queue in the store, the message itself; for any other, a record of it.
    pub(super) fn fill_send(
        &mut self,
        send: &'a plan::Send,
        legs: &mut Legs<'a>,
    ) -> Result<(), Ended> {
        let line = &self.call.runtime.lines[send.queue];
        let body = self.filler().map(&send.values)?;
        if let Some(worker) = &self.call.system.queues[send.queue].worker {
            // Better refused now than given up later.
            input::kept(&worker.body, &body).map_err(Ended::Refused)?;
        }
        let id = self.frame.text(&send.message)?;
        let at = match &send.at {
            Some(at) => Some(time::parse(&self.frame.text(at)?).ok_or(Fault::OutOfRange)?),
            None => None,
        };
        let message = Message::new(id, body, self.call.now);
        let message = message.map_err(|error| Ended::Refused(Problem::bad(error.to_string())))?;
        let sent = match &send.refused {
            Some(_) if line.ahead_ms.is_none() => self.call.runtime.sending.says(line.home.queue()),
            // Without a way to refuse it, it is sent until it is taken.
            _ => Sent::Accepted,
        };
        let outside = line.ahead_ms.is_some();
        let leg = (sent == Sent::Accepted).then_some(legs.filled.len());
        let soon = |ahead| at.is_none_or(|at| at <= self.call.now.saturating_add(ahead));
        let at_once = line.ahead_ms.is_none_or(soon);
        let (kept, open) = (Map::new(), Open::default());
        let sending = Sending { send, message, at, sent, leg, outside, at_once, kept, open };
        if leg.is_some() {
            // The queue in the store gives a message its place when the transaction is handed in.
            let stamp = Stamp { at: self.call.now, seq: 0 };
            let leg = if outside {
                sending.record().leg(&line.home)
            } else {
                sending.placed(line, stamp, self.call.now)
            };
            legs.filled.push(FilledLeg {
                leg,
                plan: None,
                asked: None,
                element: None,
                spares: None,
            });
        }
        legs.sends.push(sending);
        Ok(())
    }

    /// Keeps what follows the sends needs, as the transaction leaves it.
    pub(super) fn keep(&self, legs: &mut Legs<'a>) -> Result<(), Ended> {
        for sending in &mut legs.sends {
            sending.kept = self.filler().map(&sending.send.kept)?;
            let line = &self.call.runtime.lines[sending.send.queue];
            let leg = sending.leg.filter(|_| sending.outside);
            if let Some(filled) = leg.and_then(|at| legs.filled.get_mut(at)) {
                filled.leg = sending.record().leg(&line.home);
            }
        }
        Ok(())
    }

    /// Hands a transaction in, with the messages it sends in their places: whoever wants a place meanwhile has a
    /// later one. Says when they were sent. If it removes the message that is worked on, the next one's turn comes.
    pub(super) async fn hand_in(
        &mut self,
        mut transact: Transact,
        sends: &mut [Sending<'a>],
        offset: usize,
        removes: bool,
    ) -> (i64, Result<Transacted, Error>) {
        let turn = self.call.held.and_then(|held| held.turn);
        if sends.is_empty() {
            let (kept, answering) = self.begin_to_ask(Request::Transact(transact));
            turn.filter(|_| removes).into_iter().for_each(Turn::leaves);
            return (self.call.now, self.answered(kept, answering).await);
        }
        turn.into_iter().for_each(Turn::writes_more);
        let runtime = self.call.runtime;
        let mut within: Vec<&mut Sending<'a>> =
            sends.iter_mut().filter(|sending| !sending.outside && sending.leg.is_some()).collect();
        let queue = within.iter().find_map(|sending| runtime.lines[sending.send.queue].within());
        let Some(queue) = queue else {
            return (self.call.now, self.ask(transact).await);
        };
        let now = self.call.runtime.source.now();
        let now = if self.call.given_now { self.call.now } else { now.max(self.call.now) };
        let (stamp, kept, answering) = {
            let stamping = queue.stamp(now);
            for sending in &mut within {
                let line = &runtime.lines[sending.send.queue];
                let leg = sending.leg.and_then(|at| transact.legs.get_mut(at + offset));
                if let Some(leg) = leg {
                    *leg = sending.placed(line, stamping.stamp(), now);
                    sending.open = Open(line.within().filter(|_| sending.send.accepted.is_some()));
                }
            }
            // The store has it before the next can have a place.
            let (kept, answering) = self.begin_to_ask(Request::Transact(transact));
            (stamping.stamp(), kept, answering)
        };
        let done = self.answered(kept, answering).await;
        if done.as_ref().is_err_and(|error| !matches!(error, Error::OutcomeUnknown { .. })) {
            within.into_iter().for_each(|sending| sending.open.close());
        }
        (stamp.at, done)
    }

    /// Tells the queues what was sent, and does what follows.
    pub(super) async fn sent(&mut self, sends: Vec<Sending<'a>>, sent_at: i64) {
        // At once: whoever is cut off below has sent all the same.
        for sending in sends.iter().filter(|sending| sending.leg.is_some()) {
            if let Some(queue) = self.call.runtime.lines[sending.send.queue].within() {
                queue.sent(sending.at.unwrap_or(sent_at));
            }
        }
        for mut sending in sends {
            let (now, deadline, trace) = (self.call.now, self.call.deadline, self.trace.is_some());
            let (runtime, send) = (self.call.runtime, sending.send);
            let given_now = self.call.given_now;
            let following = Following { runtime, send, now, given_now, deadline, trace };
            let relayed = match sending.outside {
                true if !sending.at_once => continue,
                true => relay(following, sending.record()).await,
                false => {
                    let record = sending.record();
                    let kept = std::mem::replace(&mut sending.kept, Map::new());
                    let followed = follow(following, sending.sent, sent_at, kept).await;
                    if self.follow_later(send, record, &followed.ending).await {
                        sending.open.close();
                    }
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
    /// then comes once more, too. False if it is neither done nor left to a sweep.
    async fn follow_later(&self, send: &plan::Send, record: Record, ending: &Ending) -> bool {
        let again = match ending {
            Ending::Later => true,
            Ending::Failed(why) => why.class == CLASS_TIMEOUT,
            Ending::Done => false,
        };
        let line = &self.call.runtime.lines[send.queue];
        let Some(Leg::Put(put)) = again.then(|| record.leg(&line.home)) else { return true };
        let deadline = Instant::now() + FOLLOW_LATER_TIME_MAX;
        let put = self.call.runtime.backend.ask::<Wrote>(put, deadline.into_std()).await;
        if let Err(error) = &put {
            tracing::warn!(send = %send.id, %error, "what follows a send is not done");
        }
        put.is_ok()
    }
}

impl Sending<'_> {
    fn record(&self) -> Record {
        let (message, id, kept) = (self.message.clone(), self.send.id.clone(), self.kept.clone());
        let due = self.at.unwrap_or_else(|| message.sent_at());
        let record = Record::new(message, due, id, kept);
        if self.at_once { record.relayed_at_once() } else { record }
    }

    /// The message in its place, on the queue in the store, handed in at a time of the clock.
    fn placed(&self, line: &Line, stamp: Stamp, now: i64) -> Leg {
        // By the clock: a place may be ahead of it.
        let due = self.at.unwrap_or_else(|| self.message.sent_at());
        let (home, message) = (&line.home, self.message.sent_again(now));
        match line.within().filter(|_| self.send.accepted.is_some()) {
            Some(queue) => {
                let sequel = queue.sequel(self.send.id.clone(), self.kept.clone());
                leg_with(home, message, due, stamp, sequel)
            }
            None => leg(home, message, due, stamp),
        }
    }
}
