//! Who gets which message.
//!
//! Receivers say how many they want, and one task looks for all of them: one query and one commit
//! lease as many messages as are wanted, so that receivers never race for the same one. When nothing
//! is due the task sleeps until the next message is, or until it is told to look again. It ends when
//! nobody waits any more.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_embedded::Pending;
use latchkey_table::{Error as TableError, Leg, SortRange, Transact, Transacted};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::stored::{Part, Stored};
use crate::limits::{RECEIVE_MAX, TIME_MAX};
use crate::received::runs;
use crate::{Error, Received};

/// How many messages are leased in one round.
const ROUND_MAX: usize = 500;

/// How many messages are leased in one transaction, of two legs each.
const TRANSACTION_LEASES_MAX: usize = 50;

/// The longest sleep: the clock may be set anew while the task sleeps.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// The longest a receiver waits.
const WAIT_MAX: Duration = Duration::from_secs(3600);

type Answer = Result<Vec<Received>, Error>;

/// A receiver that waits.
#[derive(Debug)]
struct Demand {
    max: usize,
    deadline: Instant,
    reply: oneshot::Sender<Answer>,
}

/// What the task has not seen yet.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Receivers that wait.
    demands: Vec<Demand>,
    /// Messages whose receiver left before it saw them.
    returned: Vec<Received>,
    /// Those who wait until such messages are given back.
    leaving: Vec<oneshot::Sender<()>>,
    /// Whether the task runs.
    running: bool,
}

/// Waits for messages. Dropped before it has them, it returns what was leased for it.
pub(crate) async fn receive(shared: &Arc<Shared>, max: usize, wait: Duration) -> Answer {
    let (reply, answer) = oneshot::channel();
    let deadline = Instant::now() + wait.min(WAIT_MAX);
    let demand = Demand { max: max.clamp(1, RECEIVE_MAX), deadline, reply };
    let running = {
        let mut waiting = shared.waiting();
        waiting.demands.push(demand);
        std::mem::replace(&mut waiting.running, true)
    };
    if running {
        shared.look.notify_one();
    } else {
        tokio::spawn(run(Running { shared: Arc::clone(shared), ended: false }));
    }
    let mut asking = Asking { shared, answer, answered: false };
    let answer = (&mut asking.answer).await;
    asking.answered = true;
    let stopped = || TableError::Unavailable { reason: "the queue stopped".to_owned() };
    answer.unwrap_or_else(|_| Err(stopped().into()))
}

/// Waits until nothing is leased for receivers that have left.
pub(crate) async fn settled(shared: &Shared) {
    let (reply, answer) = oneshot::channel();
    {
        let mut waiting = shared.waiting();
        if !waiting.running {
            return;
        }
        waiting.leaving.push(reply);
    }
    shared.look.notify_one();
    // A task that ended leases nothing any more.
    let _ = answer.await;
}

struct Asking<'a> {
    shared: &'a Arc<Shared>,
    answer: oneshot::Receiver<Answer>,
    answered: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        self.answer.close();
        let received = self.answer.try_recv().ok().and_then(Result::ok).unwrap_or_default();
        let mut waiting = self.shared.waiting();
        waiting.returned.extend(received);
        let idle = !waiting.running && !waiting.returned.is_empty();
        // Without a runtime to run the task on, they come back when their leases are over.
        if idle && let Ok(runtime) = Handle::try_current() {
            waiting.running = true;
            let shared = Arc::clone(self.shared);
            runtime.spawn(run(Running { shared, ended: false }));
        }
        drop(waiting);
        self.shared.look.notify_one();
    }
}

/// The task's hold on the queue; however it ends, another can begin.
struct Running {
    shared: Arc<Shared>,
    /// Whether it ended as it should, and may have a successor.
    ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody waits in vain: those who wait are told that the queue stopped.
            *self.shared.waiting() = Waiting::default();
        }
    }
}

async fn run(mut running: Running) {
    let shared = Arc::clone(&running.shared);
    let (mut demands, mut returned) = (Vec::new(), Vec::new());
    while shared.gather(&mut demands, &mut returned) {
        if demands.is_empty() {
            shared.give_back(std::mem::take(&mut returned)).await;
            continue;
        }
        // Awake, it is told of every message that is sent.
        shared.wakes_at.store(i64::MAX, Ordering::SeqCst);
        shared.looks.fetch_add(1, Ordering::Relaxed);
        let now = shared.now();
        let wanted = demands.iter().map(|demand| demand.max).sum();
        let found = match std::mem::take(&mut returned) {
            none if none.is_empty() => shared.look(now, wanted).await,
            some => Ok(some),
        };
        let next = match found {
            Ok(received) if received.is_empty() && shared.home.is_ordered() => {
                shared.next_of_groups(now)
            }
            Ok(received) if received.is_empty() => shared.next_due(now),
            Ok(received) => {
                returned = hand_out(&mut demands, received);
                continue;
            }
            Err(error) => Err(error),
        };
        match next {
            Ok(next) => {
                answer_late(&mut demands);
                shared.sleep(&demands, now, next).await;
            }
            // Whoever receives decides whether to try again, and when.
            Err(error) => demands.drain(..).for_each(|d| drop(d.reply.send(Err(error.clone())))),
        }
    }
    running.ended = true;
}

/// Gives each receiver its share: as even as can be, for who takes more than others keeps what they
/// could begin with. A run stays whole. Returns what nobody took.
fn hand_out(demands: &mut Vec<Demand>, received: Vec<Received>) -> Vec<Received> {
    let mut left = VecDeque::from(runs(received));
    let mut waiting = std::mem::take(demands).into_iter();
    while !left.is_empty()
        && let Some(demand) = waiting.next()
    {
        let share = left.len().div_ceil(waiting.len() + 1).min(demand.max);
        if let Err(Ok(refused)) = demand.reply.send(Ok(left.drain(..share).flatten().collect())) {
            runs(refused).into_iter().rev().for_each(|run| left.push_front(run));
        }
    }
    demands.extend(waiting);
    left.into_iter().flatten().collect()
}

/// Tells those whose time is up that there is nothing. All of them waited while it was looked.
fn answer_late(demands: &mut Vec<Demand>) {
    let now = Instant::now();
    for late in demands.extract_if(.., |demand| demand.deadline <= now) {
        drop(late.reply.send(Ok(Vec::new())));
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what has come and lets go of those who have left. False if there is nothing to do:
    /// the task must then end, for the next receiver begins another.
    fn gather(&self, demands: &mut Vec<Demand>, returned: &mut Vec<Received>) -> bool {
        let mut waiting = self.waiting();
        demands.append(&mut waiting.demands);
        returned.append(&mut waiting.returned);
        demands.retain(|demand| !demand.reply.is_closed());
        if returned.is_empty() {
            // Whoever waits may have left, too.
            waiting.leaving.drain(..).for_each(|leaving| {
                let _ = leaving.send(());
            });
        }
        waiting.running = !demands.is_empty() || !returned.is_empty();
        waiting.running
    }

    /// Looks for messages that can be received, and leases them.
    async fn look(&self, now: i64, wanted: usize) -> Answer {
        if self.mend(now).await? {
            // It goes on with the next look, which is at once.
            self.look.notify_one();
        }
        match self.home.is_ordered() {
            true => self.take_runs(now, wanted).await,
            false => self.take(now, wanted).await,
        }
    }

    /// Leases messages that are due, the oldest first.
    async fn take(&self, now: i64, wanted: usize) -> Answer {
        self.load_holds(now)?;
        let found = self.due(now, wanted.min(ROUND_MAX))?;
        let until = now.saturating_add(self.lease_ms).min(TIME_MAX);
        let mut leases: Vec<_> = found
            .into_iter()
            .map(|stored| {
                let held = stored.held(self.leases.fetch_add(1, Ordering::Relaxed), until);
                (stored, held)
            })
            .collect();
        let mut batches = Vec::new();
        while !leases.is_empty() {
            let rest = leases.split_off(leases.len().min(TRANSACTION_LEASES_MAX));
            let batch = std::mem::replace(&mut leases, rest);
            // All are handed in before the first is awaited: the store commits them together.
            batches.push((self.lease(&batch), batch));
        }
        let mut received = Vec::new();
        let mut failed = None;
        for (pending, batch) in batches {
            match pending.await {
                Ok(_) => received.extend(batch.into_iter().map(|lease| self.leased(lease))),
                // One of them has gone since it was read.
                Err(TableError::ConditionFailed(_)) => {
                    self.lease_each(batch, &mut received, &mut failed).await;
                }
                Err(error) => {
                    batch.iter().for_each(|(_, held)| self.in_doubt(held, &error));
                    failed = Some(error);
                }
            }
        }
        match failed {
            Some(error) if received.is_empty() => Err(error.into()),
            _ => Ok(received),
        }
    }

    /// A lease was made; the one before it is over.
    fn leased(&self, (old, held): (Stored, Stored)) -> Received {
        self.let_go(old.lease);
        Received::leased(held)
    }

    fn lease(&self, leases: &[(Stored, Stored)]) -> Pending<Transacted> {
        leases.iter().for_each(|(_, held)| self.hold(held));
        let legs = |(old, new): &(Stored, Stored)| -> Vec<Leg> { old.moved_to(new, &self.home) };
        self.store.transact(Transact { legs: leases.iter().flat_map(legs).collect() })
    }

    async fn lease_each(
        &self,
        leases: Vec<(Stored, Stored)>,
        received: &mut Vec<Received>,
        failed: &mut Option<TableError>,
    ) {
        let pending: Vec<_> = leases
            .into_iter()
            .map(|lease| (self.lease(std::slice::from_ref(&lease)), lease))
            .collect();
        for (pending, lease) in pending {
            match pending.await {
                Ok(_) => received.push(self.leased(lease)),
                Err(TableError::ConditionFailed(_)) => self.not_leased(&lease.0, &lease.1),
                Err(error) => {
                    self.in_doubt(&lease.1, &error);
                    *failed = Some(error);
                }
            }
        }
    }

    /// Messages that are due and those whose lease is over, by when they were.
    fn due(&self, now: i64, limit: usize) -> Result<Vec<Stored>, Error> {
        let mut found = self.first(Part::Waiting.until(now), limit)?;
        found.append(&mut self.lapsed());
        let by = |stored: &Stored| (stored.place.at(), stored.message.id().clone());
        found.sort_by_cached_key(by);
        // Of two under one id, the second waits for the next round: their leases would lie in one place.
        let mut ids = HashSet::new();
        found.retain(|stored| ids.insert(stored.message.id().clone()));
        found.truncate(limit);
        Ok(found)
    }

    /// When the next message is due or the next lease over, if there is one.
    fn next_due(&self, now: i64) -> Result<Option<i64>, Error> {
        let found = self.first(Part::Waiting.after(now), 1)?;
        let lapse = self.next_lapse().map(|ms| now.saturating_add(ms));
        Ok(found.iter().map(|stored| stored.place.at()).chain(lapse).min())
    }

    /// The first messages of a range, as many as one query finds. A page of which none can be read is passed over.
    pub(super) fn first(&self, range: SortRange, limit: usize) -> Result<Vec<Stored>, Error> {
        let mut resume = None;
        loop {
            let query = self.home.query(self.home.messages(), range.clone(), limit, resume);
            let page = self.store.query(&query)?;
            let read = |item| Stored::read(&self.home, item);
            let found: Vec<Stored> = page.items.into_iter().filter_map(read).collect();
            resume = page.resume;
            if !found.is_empty() || resume.is_none() {
                return Ok(found);
            }
        }
    }

    /// Lets messages wait again that nobody came to see.
    pub(super) async fn give_back(&self, received: Vec<Received>) {
        let held: Vec<&Stored> = received.iter().filter_map(Received::stored).collect();
        let now = self.now();
        let legs = |held: &&Stored| held.moved_to(&held.returned(now), &self.home);
        let pending: Vec<_> =
            held.iter().map(|held| self.store.transact(Transact { legs: legs(held) })).collect();
        for (pending, held) in pending.into_iter().zip(&held) {
            match pending.await {
                // Whoever holds it now has moved it.
                Ok(_) | Err(TableError::ConditionFailed(_)) => self.let_go(held.lease),
                Err(error) => {
                    let (queue, id) = (self.home.queue(), held.message.id());
                    tracing::warn!(%queue, %id, %error, "a message was not given back; it comes when its lease is over");
                }
            }
        }
        held.into_iter().filter(|held| held.group().is_some()).for_each(|held| self.over(held));
    }

    /// Sleeps until there may be something to do.
    async fn sleep(&self, demands: &[Demand], now: i64, next: Option<i64>) {
        let Some(deadline) = demands.iter().map(|demand| demand.deadline).min() else { return };
        let ms = next.map(|next| u64::try_from(next.saturating_sub(now)).unwrap_or(0));
        let due = ms.map_or(SLEEP_MAX, Duration::from_millis).min(SLEEP_MAX);
        self.wakes_at.store(next.unwrap_or(i64::MAX), Ordering::SeqCst);
        tokio::select! {
            () = self.look.notified() => {}
            () = sleep(due.min(deadline.saturating_duration_since(Instant::now()))) => {}
        }
    }
}
