//! Messages: what a worker makes of one, and what then becomes of it.

use std::sync::Arc;
use std::time::Duration;

use latchkey_model::model::Told;
use latchkey_queue::{Error, Failure, Message, Received, dead};
use latchkey_table::{Capacity, Text, Value, Wrote};
use tokio::time::Instant;

use crate::plan::{Contract, Queue};
use crate::queues::Line;
use crate::run::{Held, Task, perform};
use crate::runtime::Runtime;
use crate::time;
use crate::trace::Trace;

/// The class of a failure the worker itself has declared.
pub(crate) const CLASS_FAILED: &str = "FAILED";

/// The class of a failure where what is stored, or what the message says, does not allow it.
pub(crate) const CLASS_REFUSED: &str = "REFUSED";

/// The class of a failure for want of time.
pub(crate) const CLASS_TIMEOUT: &str = "TIMEOUT";

/// The class of a failure nobody could tell of.
const CLASS_CRASHED: &str = "CRASHED";

/// After how long a message comes again that was put off.
const LATER_MS: i64 = 1_000;

/// The longest wait before a message is tried again; it doubles from the above.
const BACKOFF_MS_MAX: i64 = 5 * 60 * 1_000;

/// The same, where others wait behind it.
const BACKOFF_ORDERED_MS_MAX: i64 = 1_000;

/// After how short a time a message comes again that was put off and that others wait behind.
const LATER_ORDERED_MS_MIN: i64 = 10;

/// For how long a message that others wait behind may say `later`: from then on that is a failed try.
const LATER_ORDERED_AGE_MS_MAX: i64 = 15 * 60 * 1_000;

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
}

/// How the work on a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All is done; the message goes.
    Done,
    /// Not yet: the message comes again, and this was no failed try.
    Later,
    /// A failed try.
    Failed(Failure),
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
    pub async fn dead(&self, work: &Work, failure: &Failure) -> Worked {
        self.run_dead(work, failure, None).await
    }

    async fn run_dead(&self, work: &Work, failure: &Failure, held: Option<Held<'_>>) -> Worked {
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

    /// Works on a message that was received, and says to its queue what came of it.
    pub(crate) async fn handle(&self, queue: &str, received: &Received) -> Result<Handled, Error> {
        let (planned, line) = self.planned(queue)?;
        if let Some(failure) = given_up(planned, received) {
            return self.end(queue, received, failure, Capacity::ZERO).await;
        }
        let Some(worker) = &planned.worker else {
            let said = line.queue.later(received, self.source.now() + LATER_MS).await;
            return handled(said, Worked::nothing(Ending::Later), false);
        };
        let work = as_work(queue, planned, received);
        let held = held(planned, line, received, true);
        let worked = self.run(&worker.body, &work, Vec::new(), held).await;
        let now = self.source.now();
        let said = match self.ending(planned, received, &worked, now) {
            _ if worked.removed => {
                line.within().into_iter().for_each(|queue| queue.removed(received));
                Ok(())
            }
            Ending::Done => line.queue.done(received).await,
            Ending::Later => {
                let after = match planned.ordered_by {
                    None => LATER_MS,
                    // Those behind it wait too: a message that has just come is soon looked at again.
                    Some(_) => age(received, now).clamp(LATER_ORDERED_MS_MIN, LATER_MS),
                };
                line.queue.later(received, now.saturating_add(after)).await
            }
            Ending::Failed(failure) if received.tries >= planned.tries => {
                return self.end(queue, received, failure, worked.capacity).await;
            }
            Ending::Failed(failure) => {
                let until = now.saturating_add(backoff(planned, received.tries));
                line.queue.failed(received, until, failure).await
            }
        };
        handled(said, worked, false)
    }

    /// How the work on a message ended, as far as the message goes: one that others wait behind is not put off
    /// for ever. A store that could not be used is not the message's fault.
    fn ending(&self, planned: &Queue, received: &Received, worked: &Worked, now: i64) -> Ending {
        let overdue = planned.ordered_by.is_some()
            && !worked.unavailable
            && age(received, now) > LATER_ORDERED_AGE_MS_MAX;
        match &worked.ending {
            Ending::Later if overdue => {
                let message = "it said `later` for too long, and others wait behind it";
                Ending::Failed(Failure::new(CLASS_TIMEOUT, "later", message))
            }
            ending => ending.clone(),
        }
    }

    /// Gives up a message that its queue has given up by itself, without asking anyone.
    pub(crate) async fn give_up(&self, queue: &str, received: &Received) -> Result<Handled, Error> {
        let failure = received.failure.clone().unwrap_or_else(crashed);
        self.end(queue, received, failure, Capacity::ZERO).await
    }

    async fn end(
        &self,
        queue: &str,
        received: &Received,
        failure: Failure,
        tried: Capacity,
    ) -> Result<Handled, Error> {
        let (planned, line) = self.planned(queue)?;
        let held = held(planned, line, received, false);
        let mut worked = self.run_dead(&as_work(queue, planned, received), &failure, held).await;
        worked.capacity += tried;
        let dead = match &worked.ending {
            Ending::Done => true,
            // It will never be otherwise: better a letter without its `on dead` than none.
            Ending::Failed(why) if why.class == CLASS_REFUSED => {
                tracing::error!(%queue, id = %received.message.id(), ?why, "`on dead` was not done");
                true
            }
            Ending::Failed(_) | Ending::Later => false,
        };
        let said = if dead {
            self.bury(line, received, &failure).await
        } else {
            // It was tried often enough; what is left is to give it up.
            line.queue.failed(received, self.source.now() + LATER_MS, failure).await
        };
        handled(said, worked, dead)
    }

    fn planned(&self, queue: &str) -> Result<(&Queue, &Line), Error> {
        let planned = self.system.queue(queue).map(|(_, planned)| planned);
        let planned = planned.ok_or_else(|| Error::Name { name: queue.to_owned() })?;
        Ok((planned, self.line(queue)?))
    }
}

/// A message that was received, as work.
fn as_work(queue: &str, planned: &Queue, received: &Received) -> Work {
    Work {
        tries: received.tries,
        time_max: time_max(planned),
        ..Work::new(queue, Arc::clone(&received.message))
    }
}

/// A message in hand, where it lies in the table its worker writes to.
fn held<'a>(
    planned: &Queue,
    line: &'a Line,
    received: &'a Received,
    removes: bool,
) -> Option<Held<'a>> {
    let queue = line.within()?;
    Some(Held { queue, received, ordered: planned.ordered_by.is_some(), removes })
}

/// For how long a message has had its place.
fn age(received: &Received, now: i64) -> i64 {
    now.saturating_sub(received.since())
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

impl Runtime {
    /// Gives a message up for good. It is kept before it goes; two letters of one message are one.
    async fn bury(&self, line: &Line, received: &Received, failure: &Failure) -> Result<(), Error> {
        if !line.queue.keeps_letters() {
            let (message, now) = (&received.message, self.source.now());
            let put = dead::put(&line.home, message, received.tries, failure, now);
            self.ask::<Wrote>(put).await?;
        }
        line.queue.dead(received, failure).await
    }
}

/// How the last try failed of a message that was tried too often.
fn given_up(queue: &Queue, received: &Received) -> Option<Failure> {
    (received.tries > queue.tries).then(|| received.failure.clone().unwrap_or_else(crashed))
}

fn crashed() -> Failure {
    let message = "its worker died, or was not done when its lease was over";
    Failure::new(CLASS_CRASHED, "crashed", message)
}

/// Less than the lease, so that whoever works on a message still holds it at the end.
fn time_max(queue: &Queue) -> Duration {
    let ms = u64::from(queue.lease_ms);
    Duration::from_millis(ms - ms / 4).min(crate::call::CALL_TIME_MAX)
}

/// How long a message waits that failed so often.
fn backoff(queue: &Queue, tries: u32) -> i64 {
    let most = match queue.ordered_by {
        None => BACKOFF_MS_MAX,
        Some(_) => BACKOFF_ORDERED_MS_MAX,
    };
    LATER_MS.saturating_mul(1 << tries.saturating_sub(1).min(20)).min(most)
}
