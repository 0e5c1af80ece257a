//! Who gets which message of an ordered queue.
//!
//! A message that is due has its place in its group and keeps it until it is done. A *run* is some messages from
//! the head of one group, leased together to one receiver, who works on one after the other; a group has one run
//! at a time. Groups have their turn one after the other, in the order of their names.
//!
//! A lease is a number in the item, so that whoever lost it cannot end the message. How long it lasts is known
//! to this process alone: a store has one process, and what another one held is void when this one begins.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use latchkey_embedded::{Pending, Stamp};
use latchkey_table::{Error as TableError, Leg, Number, Text, Transact, Transacted};

use super::Shared;
use super::mend::is_pause;
use super::stored::{Part, Place, Stored, behind};
use crate::limits::{PAGE_MAX, TIME_MAX};
use crate::{Error, Received, TryFailure};

/// The most messages of one run.
const RUN_MAX: usize = 16;

/// How many timers take their places in one transaction, of two legs each.
const TRANSACTION_TIMERS_MAX: usize = 50;

/// How many groups are looked at before others have their turn.
const GROUPS_STEP: usize = 100;

/// How many groups are looked through for those that are blocked.
const BLOCKED_LOOK_MAX: usize = 10_000;

/// A group whose first message failed or was put off: those behind it wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The group.
    pub group: Text,
    /// The message that holds it.
    pub id: Text,
    /// How often that was tried.
    pub tries: u32,
    /// Since when it has had its place.
    pub since: i64,
    /// How its last try failed; nothing if it was put off.
    pub failure: Option<TryFailure>,
}

/// The groups that someone works on.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    runs: HashMap<Text, Run>,
    /// The group that had its turn last.
    last: Text,
    /// When the next message that holds its group is worked on again, as the last look found it.
    next: Option<i64>,
}

/// How far a look reaches.
#[derive(Debug, Clone, Copy)]
struct Horizon {
    /// What is due later waits. It never goes back, also where the clock does.
    due: i64,
    /// What has a later place waits for the next look, so that timers of its time have their places.
    place: i64,
    /// Whether the clock is moved by hand: what was sent by a later time is of that time.
    by_hand: bool,
}

impl Horizon {
    fn reaches(self, stored: &Stored) -> bool {
        let due = stored.due_at <= self.due || (stored.at_once && !self.by_hand);
        due && stored.place.at() <= self.place
    }
}

/// Messages of a group in someone's hands.
#[derive(Debug)]
struct Run {
    /// Until when the first of them is held, by the steady clock.
    until: i64,
    leases: Vec<Number>,
}

impl Shared {
    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a lease ends that begins now, by the steady clock.
    fn lease_end(&self) -> i64 {
        self.clock.steady().saturating_add(self.lease_ms)
    }

    /// Leases runs of so many groups at most.
    pub(super) async fn take_runs(&self, now: i64, wanted: usize) -> Result<Vec<Received>, Error> {
        let horizon = Horizon {
            due: self.seen.fetch_max(now, Ordering::Relaxed).max(now),
            place: now.max(self.store.last_stamp().at),
            by_hand: self.clock.is_moved_by_hand(),
        };
        self.place_timers(now).await?;
        let mut pending = Vec::new();
        for run in self.first_runs(now, horizon, wanted).await? {
            let held = self.lease_run(&run);
            let legs = run.iter().zip(&held).flat_map(|(old, new)| old.moved_to(new, &self.home));
            // All are handed in before the first is awaited: the store commits them together.
            pending.push((self.store.transact(Transact { legs: legs.collect() }), held));
        }
        let (mut received, mut failed) = (Vec::new(), None);
        for (pending, held) in pending {
            match pending.await {
                Ok(_) => received.extend(held.into_iter().map(Received::leased)),
                Err(error) => {
                    held.first().into_iter().for_each(|first| self.stop_run(first));
                    // One of them has gone since it was read: the next look finds the rest.
                    if !matches!(error, TableError::ConditionFailed(_)) {
                        failed = Some(error);
                    } else {
                        self.look.notify_one();
                    }
                }
            }
        }
        match failed {
            Some(error) if received.is_empty() => Err(error.into()),
            _ => Ok(received),
        }
    }

    /// Leases the messages of a run, which is the only one of its group from here on.
    fn lease_run(&self, run: &[Stored]) -> Vec<Stored> {
        let until = self.lease_end();
        let key_until = self.now().saturating_add(self.lease_ms).min(TIME_MAX);
        let held: Vec<Stored> = run
            .iter()
            .enumerate()
            .map(|(at, stored)| {
                let held = stored.held(self.leases.fetch_add(1, Ordering::Relaxed), key_until);
                // A process that died held it, but was not at it yet: that was no try.
                let untried = at > 0 && stored.lease.is_some();
                let (tries, failure) = (stored.tries, stored.failure.clone());
                if untried { Stored { tries, failure, ..held } } else { held }
            })
            .collect();
        if let Some(group) = run.first().and_then(Stored::group) {
            let leases = held.iter().filter_map(|held| held.lease).collect();
            self.groups().runs.insert(group.clone(), Run { until, leases });
        }
        held
    }

    /// The first messages of groups that nobody works on and that nothing holds.
    async fn first_runs(
        &self,
        now: i64,
        horizon: Horizon,
        wanted: usize,
    ) -> Result<Vec<Vec<Stored>>, Error> {
        let start = {
            let mut groups = self.groups();
            let steady = self.clock.steady();
            groups.runs.retain(|_, run| run.until > steady);
            let next = groups.runs.values().map(|run| run.until).min();
            groups.next = next.map(|until| now.saturating_add(until.saturating_sub(steady)));
            groups.last.clone()
        };
        let (mut runs, mut last, mut around) = (Vec::new(), start.clone(), start.is_empty());
        for looked in 1_usize.. {
            let Some((group, run)) = self.run_behind(&last, horizon)? else {
                if around {
                    break;
                }
                (around, last) = (true, Text::default());
                continue;
            };
            if around && !start.is_empty() && group > start {
                break;
            }
            last = group;
            if self.may_begin(&run, now) {
                runs.push(run);
            }
            if runs.len() >= wanted {
                break;
            }
            if looked.is_multiple_of(GROUPS_STEP) {
                tokio::task::yield_now().await;
            }
        }
        self.groups().last = last;
        Ok(runs)
    }

    /// Whether a run can be worked on: nobody is at its group, and its first message is not put off.
    fn may_begin(&self, run: &[Stored], now: i64) -> bool {
        // Without one, the group's first message is beyond what this look is about.
        let Some(first) = run.first() else { return false };
        let mut groups = self.groups();
        if first.group().is_none_or(|group| groups.runs.contains_key(group)) {
            return false;
        }
        match first.again_at {
            Some(again) if is_pause(again, now) => {
                groups.next = groups.next.into_iter().chain([again]).min();
                false
            }
            _ => true,
        }
    }

    /// The first group behind another, and its first messages up to a time; none of them where someone is at them.
    fn run_behind(
        &self,
        last: &str,
        horizon: Horizon,
    ) -> Result<Option<(Text, Vec<Stored>)>, Error> {
        if !self.groups().runs.is_empty() {
            // Every send has all groups looked at: of a group that has its run one message is read, for its name.
            let head = self.first(behind(last), 1)?.pop();
            let Some(group) = head.as_ref().and_then(Stored::group) else { return Ok(None) };
            if self.groups().runs.contains_key(group) {
                return Ok(Some((group.clone(), Vec::new())));
            }
        }
        let mut found = self.first(behind(last), RUN_MAX)?.into_iter().peekable();
        let Some(group) = found.peek().and_then(Stored::group).cloned() else { return Ok(None) };
        let run =
            found.take_while(|stored| stored.group() == Some(&group) && horizon.reaches(stored));
        let run = run.collect();
        Ok(Some((group, run)))
    }

    /// Gives every timer that is due its place, by when it was due.
    async fn place_timers(&self, now: i64) -> Result<(), Error> {
        loop {
            let mut due = self.first(Part::Waiting.until(now), PAGE_MAX)?;
            if due.is_empty() {
                return Ok(());
            }
            let mut pending = Vec::new();
            if self.clock_was_ahead(now) {
                pending.extend(due.iter().map(|stored| self.place_last(stored, now)));
                due.clear();
            }
            for some in due.chunks(TRANSACTION_TIMERS_MAX) {
                let legs: Vec<Leg> =
                    some.iter().flat_map(|stored| self.place_timer(stored)).collect();
                pending.push(self.store.transact(Transact { legs }));
            }
            for pending in pending {
                match pending.await {
                    // One was removed since it was read; it is looked again.
                    Ok(_) | Err(TableError::ConditionFailed(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Gives a timer the last place. Its time is before the places of messages that were taken before it, since those
    /// are of a clock that was ahead.
    fn place_last(&self, stored: &Stored, now: i64) -> Pending<Transacted> {
        let stamping = self.store.stamp(now);
        let group = self.home.group(&stored.message);
        let placed = group.map(|group| stored.placed(group, stamping.stamp()));
        let legs = placed.map(|placed| stored.moved_to(&placed, &self.home)).unwrap_or_default();
        self.store.transact(Transact { legs })
    }

    fn place_timer(&self, stored: &Stored) -> Vec<Leg> {
        let Some(group) = self.home.group(&stored.message) else { return Vec::new() };
        let placed = stored.placed(group, Stamp { at: stored.place.at(), seq: 0 });
        stored.moved_to(&placed, &self.home)
    }

    /// When there may be something to do, as the last look found it.
    pub(super) fn next_of_groups(&self, now: i64) -> Result<Option<i64>, Error> {
        let timer = self.first(Part::Waiting.after(now), 1)?;
        let timer = timer.iter().map(|stored| stored.place.at());
        Ok(self.groups().next.into_iter().chain(timer).min())
    }

    /// A message of a run is over: its successor has a whole lease from here on.
    pub(super) fn over(&self, held: &Stored) {
        let Some(group) = held.group() else { return self.let_go(held.lease) };
        let until = self.lease_end();
        let mut groups = self.groups();
        let Some(run) = groups.runs.get_mut(group) else { return };
        let before = run.leases.len();
        run.leases.retain(|lease| Some(*lease) != held.lease);
        if run.leases.len() == before {
            return;
        }
        run.until = until;
        if run.leases.is_empty() {
            groups.runs.remove(group);
            drop(groups);
            self.look.notify_one();
        }
    }

    /// A message holds its group: its run ends here.
    pub(super) fn stop_run(&self, held: &Stored) {
        let Some(group) = held.group() else { return self.let_go(held.lease) };
        let mut groups = self.groups();
        let run = groups.runs.get(group);
        if run.is_some_and(|run| run.leases.iter().any(|lease| Some(*lease) == held.lease)) {
            groups.runs.remove(group);
        }
    }

    /// How many messages are in someone's hands.
    pub(super) fn in_hand(&self) -> usize {
        let (steady, groups) = (self.clock.steady(), self.groups());
        groups.runs.values().filter(|run| run.until > steady).map(|run| run.leases.len()).sum()
    }

    /// Whether a message is in someone's hands.
    pub(super) fn is_in_hand(&self, stored: &Stored) -> bool {
        let (steady, groups) = (self.clock.steady(), self.groups());
        let run = stored.group().and_then(|group| groups.runs.get(group));
        run.is_some_and(|run| {
            run.until > steady && run.leases.iter().any(|lease| Some(*lease) == stored.lease)
        })
    }

    /// The first message of each group, as far as is looked.
    pub(super) async fn heads(&self) -> Result<Vec<Stored>, Error> {
        let (mut heads, mut last) = (Vec::new(), Text::default());
        for looked in 1..=BLOCKED_LOOK_MAX {
            let Some(head) = self.first(behind(&last), 1)?.pop() else { break };
            let Some(group) = head.group() else { break };
            last = group.clone();
            heads.push(head);
            if looked.is_multiple_of(GROUPS_STEP) {
                tokio::task::yield_now().await;
            }
        }
        Ok(heads)
    }
}

impl Blocked {
    /// What a group's first message says of it; nothing where it holds nobody up.
    pub(super) fn by(head: Stored) -> Option<Blocked> {
        if head.failure.is_none() && head.again_at.is_none() {
            return None;
        }
        let Place::Group(group, place) = head.place else { return None };
        Some(Blocked {
            group,
            id: head.message.id().clone(),
            tries: u32::try_from(head.tries).unwrap_or(u32::MAX),
            since: place.at,
            failure: head.failure,
        })
    }
}
