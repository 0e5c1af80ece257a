//! What becomes of a send once its transaction has happened: a queue outside the store is asked, what
//! follows its answer is done, and its record is removed. A sweep relays records that were left behind.

use std::pin::Pin;
use std::time::Duration;

use latchkey_model::model::Told;
use latchkey_queue::outbox::{self, Record};
use latchkey_queue::{Error as QueueError, Stranded};
use latchkey_table::{Capacity, Error, Map, Page, Resume, Value, Wrote};
use tokio::time::{Instant, timeout_at};

use crate::call::CALL_TIME_MAX;
use crate::plan;
use crate::queue_handle::QueueHandle;
use crate::queues::{Line, Sent};
use crate::run::{Task, perform};
use crate::runtime::Runtime;
use crate::time;
use crate::work::{CLASS_REFUSED, Ending, Worked};

/// How many records one step of a sweep looks at.
const STEP_RECORDS: usize = 25;

/// How many records one step of a look ahead looks at: it relays few of them.
const AHEAD_RECORDS: usize = 100;

/// How long a queue may take to take a message: what is not taken by then is swept later, and a call has to be
/// answered.
const ASK_TIME_MAX: Duration = Duration::from_secs(3);

/// How long the record of a send that is in no document any more waits for one that has it: another version may
/// still run somewhere.
const UNKNOWN_MS: i64 = 60 * 60 * 1_000;

/// What a step of a sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relayed {
    /// How many records are over and gone.
    pub relayed: usize,
    /// How many were tried and stay: the queue could not be asked, or what follows could not be done.
    pub left: usize,
    /// Where to go on; nothing at the end. What stays does not keep others from their turn.
    pub after: Option<Resume>,
}

/// A send that has happened, and for whom it is followed.
pub(crate) struct Following<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) send: &'a plan::Send,
    pub(crate) now: i64,
    /// Whether that instant is used in place of the clock's.
    pub(crate) given_now: bool,
    pub(crate) deadline: Instant,
    pub(crate) trace: bool,
}

impl Following<'_> {
    /// When the queue answered.
    fn answered_at(&self) -> i64 {
        if self.given_now { self.now } else { self.runtime.source.now().max(self.now) }
    }
}

/// What follows may send again, so its type must end somewhere.
type Followed<'a> = Pin<Box<dyn Future<Output = Worked> + Send + 'a>>;

/// Runs the statements that follow the answer of a queue. It runs to its end even if the call is dropped.
pub(crate) fn follow(of: Following<'_>, sent: Sent, sent_at: i64, kept: Map) -> Followed<'_> {
    Box::pin(async move {
        let contract = match sent {
            Sent::Accepted => of.send.accepted.as_ref(),
            Sent::Refused => of.send.refused.as_ref(),
        };
        let Some(contract) = contract else { return Worked::nothing(Ending::Done) };
        let now = of.answered_at().max(sent_at);
        let sent_at = time::format(sent_at).map(|at| (Told::SentAt, Value::Text(at)));
        let told = sent_at.into_iter().collect();
        let Following { deadline, trace, .. } = of;
        let task = Task { contract, given: &kept, told, now, deadline, trace, held: None };
        let worked = perform(of.runtime, task).await;
        if worked.ending != Ending::Done {
            let (send, ending) = (&of.send.id, &worked.ending);
            tracing::warn!(%send, ?ending, "what follows a send was not done");
        }
        worked
    })
}

/// Asks a queue outside the store to take what a record says. Until all is done the record stays.
pub(crate) fn relay(of: Following<'_>, record: Record) -> Followed<'_> {
    Box::pin(async move {
        let line = &of.runtime.lines[of.send.queue];
        let (runtime, deadline) = (of.runtime, of.deadline);
        let Some((sent, sent_at)) = ask(&of, line, &record).await else {
            return Worked::nothing(Ending::Later);
        };
        let mut worked = follow(of, sent, sent_at, record.kept().clone()).await;
        let over = match &worked.ending {
            Ending::Done => true,
            // What follows can never be done: the record is of another version of the document.
            Ending::Failed(why) => why.class == CLASS_REFUSED,
            Ending::Later => false,
        };
        if over {
            worked.ending = Ending::Done;
            let delete = record.delete(&line.home);
            match runtime.backend.ask::<Wrote>(delete, deadline.into_std()).await {
                Ok(wrote) => worked.capacity += wrote.capacity,
                // It is relayed again, which everything behind it can take.
                Err(error) => tracing::warn!(%error, "what was sent could not be struck off"),
            }
        }
        worked
    })
}

/// The queue's answer and its instant. None if the queue could not be asked, or refused without a `refused` block.
async fn ask(of: &Following<'_>, line: &Line, record: &Record) -> Option<(Sent, i64)> {
    let (refusable, now) = (of.send.refused.is_some(), of.answered_at());
    if refusable && of.runtime.sending.says(line.home.queue()) == Sent::Refused {
        return Some((Sent::Refused, now));
    }
    let message = record.message().sent_again(now);
    let until = of.deadline.min(Instant::now() + ASK_TIME_MAX);
    match timeout_at(until, line.queue.send(&message, record.due())).await {
        Ok(Ok(sent_at)) => Some((Sent::Accepted, sent_at)),
        Ok(Err(error)) if error.is_refusal() && refusable => Some((Sent::Refused, now)),
        Ok(Err(error)) => {
            tracing::warn!(send = %of.send.id, %error, "a queue could not be sent to");
            None
        }
        Err(_) => {
            tracing::warn!(send = %of.send.id, "a queue did not answer in time");
            None
        }
    }
}

impl Runtime {
    /// Does what follows a send whose queue has answered at an instant, and nothing else: neither the record nor
    /// the queue changes. Nothing if no document has the send.
    pub async fn follow(&self, record: &Record, sent: Sent, at: i64) -> Option<Worked> {
        let (runtime, send) = (self, self.system.send(record.send())?);
        let deadline = Instant::now() + CALL_TIME_MAX;
        let of = Following { runtime, send, now: at, given_now: true, deadline, trace: false };
        Some(follow(of, sent, at, record.kept().clone()).await)
    }
}

impl QueueHandle<'_> {
    /// Brings messages to a queue outside the store that lie in the table as if it were within: the items of
    /// an embedded store were moved. Says how many. A message may be brought twice, never lost.
    pub async fn adopt(&self) -> Result<usize, QueueError> {
        let (runtime, line) = (self.runtime, self.line);
        let Some(ahead_ms) = line.ahead_ms else { return Ok(0) };
        let mut adopted = 0;
        for query in Stranded::queries(&line.home, runtime.source.now().saturating_add(ahead_ms)) {
            loop {
                let page: Page = runtime.ask(query.clone()).await?;
                let read = |item| Stranded::read(&line.home, item);
                let stranded: Vec<Stranded> = page.items.into_iter().filter_map(read).collect();
                let before = adopted;
                for Stranded { message, due, sequel, delete } in stranded {
                    if let Some(sequel) = &sequel
                        && self.follow_left(sequel, CALL_TIME_MAX).await.ending == Ending::Later
                    {
                        self.leave_to_sweep(&message, due, sequel).await?;
                        runtime.ask::<Wrote>(delete).await?;
                        adopted += 1;
                        continue;
                    }
                    match line.queue.send(&message, due).await {
                        Ok(_) => {}
                        // It stays where it is, and keeps no other from its turn.
                        Err(error) if error.is_refusal() => {
                            let queue = line.home.queue();
                            tracing::error!(%queue, id = %message.id(), %error, "it cannot be sent");
                            continue;
                        }
                        Err(error) => return Err(error),
                    }
                    runtime.ask::<Wrote>(delete).await?;
                    adopted += 1;
                }
                if adopted == before {
                    break;
                }
            }
        }
        Ok(adopted)
    }

    /// Looks at some of what is due to be sent to a queue, in one shard of its outbox, and relays what nobody
    /// else is at. A queue in the store has an outbox only where its items were moved there.
    pub async fn sweep_outbox(&self, shard: u64, after: Option<Resume>) -> Result<Relayed, Error> {
        let (runtime, line) = (self.runtime, self.line);
        let mut relayed = Relayed::default();
        let now = runtime.source.now();
        let query = outbox::due(&line.home, shard, now, STEP_RECORDS, after);
        let page: Page = runtime.ask(query).await?;
        relayed.after = page.resume;
        for record in page.items.into_iter().filter_map(|item| Record::read(&line.home, item)) {
            self.relay_left(record, now, &mut relayed).await?;
        }
        Ok(relayed)
    }

    /// Looks at some of what no sweep may take yet, and relays what was to be relayed at once: it is of a clock that
    /// was ahead, and whoever wrote it did not relay it.
    pub async fn sweep_ahead(&self, shard: u64, after: Option<Resume>) -> Result<Relayed, Error> {
        let (runtime, line) = (self.runtime, self.line);
        let mut relayed = Relayed::default();
        let now = runtime.source.now();
        let query = outbox::ahead(&line.home, shard, now, AHEAD_RECORDS, after);
        let page: Page = runtime.ask(query).await?;
        relayed.after = page.resume;
        let records = page.items.into_iter().filter_map(|item| Record::read(&line.home, item));
        for record in records.filter_map(|record| record.held_up(now)) {
            self.relay_left(record, now, &mut relayed).await?;
        }
        Ok(relayed)
    }

    /// Relays a record that was left behind, unless someone else is at it.
    async fn relay_left(
        &self,
        record: Record,
        now: i64,
        relayed: &mut Relayed,
    ) -> Result<(), Error> {
        let (runtime, line) = (self.runtime, self.line);
        if record.is_claimed(now) {
            return Ok(());
        }
        let now = runtime.source.now();
        let send = runtime.system.send(record.send());
        if send.is_none() && record.sweep_at().saturating_add(UNKNOWN_MS) > now {
            relayed.left += 1;
            return Ok(());
        }
        let deadline = Instant::now() + CALL_TIME_MAX;
        let claim = record.claim(&line.home, now);
        match runtime.backend.ask::<Wrote>(claim, deadline.into_std()).await {
            Ok(_) => {}
            // It is gone, or another is at it.
            Err(Error::ConditionFailed(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        let over = match send {
            None => self.relay_alone(&record, deadline).await,
            Some(send) => {
                let following =
                    Following { runtime, send, now, given_now: false, deadline, trace: false };
                relay(following, record).await.ending == Ending::Done
            }
        };
        match over {
            true => relayed.relayed += 1,
            false => relayed.left += 1,
        }
        Ok(())
    }
}

impl QueueHandle<'_> {
    /// How many items of the queue could not be read. Their keys are in the log.
    pub fn unreadable(&self) -> u64 {
        let outside = self.embedded().filter(|_| self.line.ahead_ms.is_some());
        self.line.home.unreadable() + outside.map_or(0, |queue| queue.home().unreadable())
    }

    /// Sends what a record says whose statement is in no document any more: it was to be sent, and nobody is
    /// left to do what would follow. False if it stays.
    async fn relay_alone(&self, record: &Record, deadline: Instant) -> bool {
        let (runtime, line) = (self.runtime, self.line);
        tracing::warn!(send = %record.send(), id = %record.message().id(), "no document has this send");
        let message = record.message().sent_again(runtime.source.now());
        let id = message.id();
        match timeout_at(deadline, line.queue.send(&message, record.due())).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(%id, %error, "a queue could not be sent to");
                return false;
            }
            Err(_) => {
                tracing::warn!(%id, "a queue did not answer in time");
                return false;
            }
        }
        let delete = record.delete(&line.home);
        let struck = runtime.backend.ask::<Wrote>(delete, deadline.into_std()).await;
        if let Err(error) = &struck {
            tracing::warn!(%id, %error, "what was sent could not be struck off");
        }
        struck.is_ok()
    }
}

impl Worked {
    /// Nothing was to be done.
    pub(crate) fn nothing(ending: Ending) -> Worked {
        let (capacity, trace) = (Capacity::ZERO, Vec::new());
        Worked { ending, capacity, trace, removed: false, unavailable: false, skipped: false }
    }
}
