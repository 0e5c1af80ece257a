//! Messages: what a worker makes of one, and what then becomes of it.

use std::sync::Arc;
use std::time::Duration;

use latchkey_model::model::Told;
use latchkey_queue::limits::PAUSE_MS_MAX;
use latchkey_queue::{Error, Message, Received, TryFailure, dead};
use latchkey_table::{Capacity, Text, Value, Wrote};
use tokio::time::Instant;

use crate::plan::{Contract, Queue};
use crate::queue_handle::QueueHandle;
use crate::run::{Held, Task, perform};
use crate::runtime::Runtime;
use crate::time;
use crate::trace::Trace;
use crate::turn::{InTurn, Progress, Stage, Turn};

/// The class of a failure the worker itself has declared.
pub(crate) const CLASS_FAILED: &str = "FAILED";

/// The class of a failure that the stored items or the message itself cause.
pub(crate) const CLASS_REFUSED: &str = "REFUSED";

/// The class of a failure for want of time.
pub(crate) const CLASS_TIMEOUT: &str = "TIMEOUT";

/// After how long a message comes again that was put off.
const LATER_MS: i64 = 1_000;

/// The longest wait before a message is tried again that others wait behind. Where none do it is [`PAUSE_MS_MAX`].
const BACKOFF_ORDERED_MS_MAX: i64 = 1_000;

/// After how short a time a message comes again that was put off and that others wait behind.
const LATER_ORDERED_MS_MIN: i64 = 10;

/// For how long a message may say `later` that others may wait behind: from then on that is a failed try.
const LATER_ORDERED_MS_MAX: i64 = 15 * 60 * 1_000;

/// A message to be worked on.
#[derive(Debug, Clone)]
pub struct Work {
    /// The queue's name.
    pub queue: Text,
    /// The message.
    pub message: Arc<Message>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// How long it may take.
    pub time_max: Duration,
    /// Whether to keep what was asked of the table.
    pub trace: bool,
    /// The instant of the work, in milliseconds, instead of the clock's.
    pub at: Option<i64>,
}

/// What the work on a message came to.
#[derive(Debug, Clone)]
pub struct Worked {
    /// How it ended.
    pub ending: Ending,
    /// What it consumed.
    pub capacity: Capacity,
    /// What was asked of the table, if that was to be kept.
    pub trace: Trace,
    /// Whether the message was removed with the last write.
    pub(crate) removed: bool,
    /// Whether it ended for want of a store.
    pub(crate) unavailable: bool,
    /// Whether its turn did not come, for the message before it in its group stays.
    pub(crate) skipped: bool,
}

/// How the work on a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All is done; the message goes.
    Done,
    /// Not yet: the message comes again, and this was no failed try.
    Later,
    /// A failed try.
    Failed(TryFailure),
}

/// What became of a message that was received.
#[derive(Debug, Clone)]
pub struct Handled {
    /// What the worker made of it; of one that was given up, what `on dead` made of it.
    pub worked: Worked,
    /// Whether it was given up.
    pub dead: bool,
    /// Whether it was no longer held at the end: another has received it, and decides.
    pub stale: bool,
    /// Whether the message is gone, so that those behind it in its group can be worked on.
    pub over: bool,
}

impl Work {
    /// The first try of a message.
    pub fn new(queue: impl Into<Text>, message: impl Into<Arc<Message>>) -> Work {
        Work {
            queue: queue.into(),
            message: message.into(),
            tries: 1,
            time_max: crate::call::CALL_TIME_MAX,
            trace: false,
            at: None,
        }
    }
}

impl Runtime {
    /// Has a queue's worker work on a message. Nothing becomes of the message itself.
    pub async fn work(&self, work: &Work) -> Worked {
        let worker = self.system.queue(&work.queue).and_then(|(_, queue)| queue.worker.as_ref());
        match worker {
            Some(worker) => self.run(&worker.body, work, Vec::new(), None).await,
            // It waits for a document that has one.
            None => Worked::nothing(Ending::Later),
        }
    }

    /// Has a queue's worker give a message up. Nothing becomes of the message itself.
    pub async fn dead(&self, work: &Work, failure: &TryFailure) -> Worked {
        self.run_dead(work, failure, None).await
    }

    async fn run_dead(&self, work: &Work, failure: &TryFailure, held: Option<Held<'_>>) -> Worked {
        let worker = self.system.queue(&work.queue).and_then(|(_, queue)| queue.worker.as_ref());
        let Some(dead) = worker.and_then(|worker| worker.dead.as_ref()) else {
            return Worked::nothing(Ending::Done);
        };
        let told = vec![
            (Told::FailureClass, Value::Text(failure.class.clone())),
            (Told::FailureCode, Value::Text(failure.code.clone())),
            (Told::FailureMessage, Value::Text(failure.message.clone())),
        ];
        self.run(dead, work, told, held).await
    }

    async fn run(
        &self,
        contract: &Contract,
        work: &Work,
        mut told: Vec<(Told, Value)>,
        held: Option<Held<'_>>,
    ) -> Worked {
        let sent_at = time::format(work.message.sent_at());
        told.extend(sent_at.map(|at| (Told::MessageSentAt, Value::Text(at))));
        told.push((Told::MessageTries, Value::from(i64::from(work.tries))));
        let task = Task {
            contract,
            given: work.message.body(),
            told,
            now: work.at.unwrap_or_else(|| self.source.now()),
            deadline: Instant::now() + work.time_max,
            trace: work.trace,
            held,
        };
        perform(self, task).await
    }
}

impl QueueHandle<'_> {
    /// Has the worker work on a message that was received, and tells the queue what became of it.
    pub async fn handle(&self, received: &Received) -> Result<Handled, Error> {
        self.handle_in_turn(received, None).await
    }

    /// Has the worker work on messages of one group in their order, and tells the queue what became of each. Reports
    /// each message with what became of it and how long that took. Where one is not over, or the report says to stop,
    /// those that were not begun are given back.
    pub async fn handle_run(
        &self,
        run: Vec<Received>,
        mut report: impl FnMut(&Received, Result<Handled, Error>, Duration) -> bool,
    ) {
        let (mut left, mut not_begun) = (run.into_iter(), Vec::new());
        let Some(first) = left.next() else { return };
        let (mut current, mut since, mut go_on) = (self.begin(first, None), Instant::now(), true);
        loop {
            let next = if go_on { left.next() } else { None };
            let mut ahead = next.map(|next| self.begin(next, Some(&current.progress)));
            let handled = current.ends(ahead.as_mut()).await;
            let received = &current.progress.received;
            match handled {
                Ok(handled) if handled.worked.skipped => not_begun.push(received.clone()),
                handled => {
                    go_on &= handled.as_ref().is_ok_and(|handled| handled.over);
                    go_on &= report(received, handled, since.elapsed());
                    since = Instant::now();
                }
            }
            match ahead {
                Some(next) => current = next,
                None => break,
            }
        }
        not_begun.extend(left);
        if !not_begun.is_empty() {
            self.queue().release(not_begun).await;
        }
    }

    /// Begins the work on a message, which waits for the message before it.
    fn begin(
        &self,
        received: Received,
        before: Option<&Arc<Progress>>,
    ) -> InTurn<'_, Result<Handled, Error>> {
        // Taken here, in the order of the messages: the next one is asked to go on first.
        let now = self.runtime.source.now();
        let (own, before) = (Progress::new(received, now), before.map(Arc::clone));
        let turn = Turn { own: Arc::clone(&own), before };
        InTurn::new(own, async move {
            let handled = self.handle_in_turn(&turn.own.received, Some(&turn)).await;
            let over = handled.as_ref().is_ok_and(|handled| handled.over);
            turn.own.reach(if over { Stage::Over } else { Stage::Held });
            handled
        })
    }

    /// Has the worker work on a message in its turn, and tells the queue what became of it. Nothing of what follows its
    /// send is left to be done. So much of its time is spent.
    pub(crate) async fn work_in_turn(
        &self,
        received: &Received,
        turn: Option<&Turn>,
        spent: Duration,
    ) -> Result<Handled, Error> {
        let (runtime, planned, queue) = (self.runtime, self.planned, self.queue());
        let is_free = async || match turn {
            Some(turn) => turn.is_free().await,
            None => true,
        };
        if let Some(failure) = given_up(planned, received) {
            return match is_free().await {
                true => self.end(received, turn, failure, Capacity::ZERO).await,
                false => Ok(Handled::skipped(Capacity::ZERO)),
            };
        }
        let Some(worker) = &planned.worker else {
            // It waits for a document that has one.
            let said = queue.later(received, runtime.source.now() + LATER_MS).await;
            return handled(said, Worked::nothing(Ending::Later), false);
        };
        let held = self.held(received, turn, true);
        let work = self.as_work(received);
        let time_max = work.time_max.saturating_sub(spent);
        let work = Work { at: turn.map(Turn::now), time_max, ..work };
        let worked = runtime.run(&worker.body, &work, Vec::new(), Some(held)).await;
        // It is not for a message to say what becomes of it while the one before it is there.
        if worked.skipped || !(worked.removed || is_free().await) {
            return Ok(Handled::skipped(worked.capacity));
        }
        self.say(received, turn, worked).await
    }

    /// Tells the queue what became of a message, by what came of the work on it.
    pub(crate) async fn say(
        &self,
        received: &Received,
        turn: Option<&Turn>,
        worked: Worked,
    ) -> Result<Handled, Error> {
        let (planned, queue) = (self.planned, self.queue());
        let now = self.runtime.source.now();
        let said = match self.ending(received, &worked, now) {
            _ if worked.removed => {
                self.line.within().into_iter().for_each(|queue| queue.removed(received));
                Ok(())
            }
            Ending::Done => queue.done(received).await,
            Ending::Later => {
                let after = match planned.ordered_by {
                    None => LATER_MS,
                    // Those behind it wait too: a message that was just put off is soon looked at again.
                    Some(_) => put_off_for(received, now).clamp(LATER_ORDERED_MS_MIN, LATER_MS),
                };
                let mut put_off = received.clone();
                if !worked.unavailable {
                    // The clock may have been set back since it was first put off.
                    let since = received.put_off_since.filter(|since| *since <= now);
                    put_off.put_off_since = Some(since.unwrap_or(now));
                }
                queue.later(&put_off, now.saturating_add(after)).await
            }
            Ending::Failed(failure) if received.tries >= planned.tries => {
                return self.end(received, turn, failure, worked.capacity).await;
            }
            Ending::Failed(failure) => {
                let until = now.saturating_add(backoff(planned, received.tries));
                queue.failed(received, until, failure).await
            }
        };
        handled(said, worked, false)
    }

    /// How the work on a message ended, as far as the message goes: one that others wait behind is not put off
    /// for ever. A store that could not be used is not the message's fault.
    fn ending(&self, received: &Received, worked: &Worked, now: i64) -> Ending {
        let overdue = self.planned.ordered_by.is_some()
            && !worked.unavailable
            && put_off_for(received, now) > LATER_ORDERED_MS_MAX;
        match &worked.ending {
            Ending::Later if overdue => {
                let message = "it has said `later` for more than 15 minutes";
                Ending::Failed(TryFailure::new(CLASS_TIMEOUT, "later", message))
            }
            ending => ending.clone(),
        }
    }

    /// Gives up a message that the queue has given up by itself, without asking anyone.
    pub async fn give_up(&self, received: &Received) -> Result<Handled, Error> {
        let failure = received.failure.clone().unwrap_or_else(TryFailure::crashed);
        self.end(received, None, failure, Capacity::ZERO).await
    }

    async fn end(
        &self,
        received: &Received,
        turn: Option<&Turn>,
        failure: TryFailure,
        tried: Capacity,
    ) -> Result<Handled, Error> {
        let (runtime, queue) = (self.runtime, self.queue());
        let held = self.held(received, turn, false);
        let mut worked = runtime.run_dead(&self.as_work(received), &failure, Some(held)).await;
        worked.capacity += tried;
        let dead = match &worked.ending {
            Ending::Done => true,
            // It will never be otherwise: better a letter without its `on dead` than none.
            Ending::Failed(why) if why.class == CLASS_REFUSED => {
                let (queue, id) = (self.line.home.queue(), received.message.id());
                tracing::error!(%queue, %id, ?why, "`on dead` was not done");
                true
            }
            Ending::Failed(_) | Ending::Later => false,
        };
        let said = if dead {
            self.bury(received, &failure).await
        } else {
            // It was tried often enough; what is left is to give it up.
            queue.failed(received, runtime.source.now() + LATER_MS, failure).await
        };
        handled(said, worked, dead)
    }

    /// Gives a message up for good. It is kept before it goes; two letters of one message are one.
    async fn bury(&self, received: &Received, failure: &TryFailure) -> Result<(), Error> {
        let (runtime, queue) = (self.runtime, self.queue());
        if !queue.keeps_letters() {
            let (message, now) = (&received.message, runtime.source.now());
            let put = dead::put(&self.line.home, message, received.tries, failure, now);
            runtime.ask::<Wrote>(put).await?;
        }
        queue.dead(received, failure).await
    }

    /// A message that was received, as work.
    fn as_work(&self, received: &Received) -> Work {
        Work {
            tries: received.tries,
            time_max: time_max(self.planned),
            trace: self.trace,
            ..Work::new(self.planned.name.clone(), Arc::clone(&received.message))
        }
    }

    /// A message in hand.
    fn held<'a>(
        &'a self,
        received: &'a Received,
        turn: Option<&'a Turn>,
        removes: bool,
    ) -> Held<'a> {
        let (within, ordered) = (self.line.within(), self.planned.ordered_by.is_some());
        Held { within, received, ordered, removes, turn, behind: false }
    }
}

/// For how long a message has been put off. That it waited behind others before is not its own doing.
fn put_off_for(received: &Received, now: i64) -> i64 {
    received.put_off_since.map_or(0, |since| now.saturating_sub(since))
}

/// What became of a message, by what its queue answered.
fn handled(said: Result<(), Error>, worked: Worked, dead: bool) -> Result<Handled, Error> {
    let stale = match said {
        Ok(()) => false,
        Err(Error::Stale) => true,
        Err(error) => return Err(error),
    };
    let over = !stale && (dead || worked.removed || worked.ending == Ending::Done);
    Ok(Handled { worked, dead, stale, over })
}

impl Handled {
    /// Its turn did not come: the message before it stays, and so does this one.
    pub(crate) fn skipped(capacity: Capacity) -> Handled {
        let worked = Worked { capacity, skipped: true, ..Worked::nothing(Ending::Later) };
        Handled { worked, dead: false, stale: false, over: false }
    }

    /// The same, with what was done before it.
    pub(crate) fn after(mut self, followed: Worked) -> Handled {
        self.worked.capacity += followed.capacity;
        self.worked.trace.splice(0..0, followed.trace);
        self
    }
}

/// How the last try failed of a message that was tried too often.
fn given_up(queue: &Queue, received: &Received) -> Option<TryFailure> {
    (received.tries > queue.tries)
        .then(|| received.failure.clone().unwrap_or_else(TryFailure::crashed))
}

/// Less than the lease, so that a worker still holds its message at the end.
pub(crate) fn time_max(queue: &Queue) -> Duration {
    let ms = u64::from(queue.lease_ms);
    Duration::from_millis(ms - ms / 4).min(crate::call::CALL_TIME_MAX)
}

/// How long a message waits that failed so often.
fn backoff(queue: &Queue, tries: u32) -> i64 {
    let most = match queue.ordered_by {
        None => PAUSE_MS_MAX,
        Some(_) => BACKOFF_ORDERED_MS_MAX,
    };
    LATER_MS.saturating_mul(1 << tries.saturating_sub(1).min(20)).min(most)
}
