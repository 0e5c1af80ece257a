//! What a clock leaves behind that was ahead and has been set back: messages that wait for instants which nobody meant.
//!
//! A message that was to be worked on at once, or that waits to be tried again, waits by the clock of that moment. If
//! that clock was a day ahead, it would wait for a day. No pause is longer than [`PAUSE_MS_MAX`], and what was to be
//! worked on at once waits for nothing, so such a message is due. A timer stays: its instant is the document's.
//!
//! A clock is seen to go back by the time of the last look, and by a stamp of the store that was not there then. Then
//! all messages that wait for a later time are looked through, some at each look for messages, and once more a minute
//! later: what was begun by the old clock is in the store by then.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use latchkey_table::{Error as TableError, Resume, Transact};

use super::Shared;
use super::stored::{Part, Place, Stored};
use crate::Error;
use crate::limits::{PAGE_MAX, PAUSE_MS_MAX};

/// By how much a clock has to go back to be looked after. By less, messages are that much late.
const SET_BACK_MS: i64 = 10_000;

/// After how long it is looked through once more.
const AGAIN_MS: i64 = 60_000;

/// How many pages are looked through before others have their turn.
const STEP_PAGES: usize = 5;

/// What is to be looked through.
#[derive(Debug, Default)]
pub(crate) struct Mending {
    pass: Option<Pass>,
    /// When the next pass begins, by the steady clock.
    again_at: Option<i64>,
}

/// One way through the messages that wait.
#[derive(Debug)]
struct Pass {
    /// The time at its start.
    from: i64,
    resume: Option<Resume>,
    moved: usize,
}

impl Shared {
    fn mending(&self) -> MutexGuard<'_, Mending> {
        self.mending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time. Whoever asks notices if the clock was set back.
    pub(super) fn now(&self) -> i64 {
        let now = self.clock.now();
        let mut latest = self.last_now.swap(now, Ordering::SeqCst);
        // Something was sent by a clock that nobody has asked here.
        let stamp = self.store.last_stamp().at;
        if stamp > self.last_stamp.swap(stamp, Ordering::SeqCst) {
            latest = latest.max(stamp);
        }
        let back = latest.saturating_sub(now);
        if back >= SET_BACK_MS && !self.clock.is_moved_by_hand() {
            let queue = self.home.queue();
            tracing::warn!(%queue, by_ms = back, "the clock was set back; messages that would wait too long are due");
            let pass = Some(Pass { from: now, resume: None, moved: 0 });
            let again_at = Some(self.clock.steady().saturating_add(AGAIN_MS));
            *self.mending() = Mending { pass, again_at };
        }
        now
    }

    /// Whether stamps are of a clock that has been set back since.
    pub(super) fn clock_was_ahead(&self, now: i64) -> bool {
        let ahead = self.store.last_stamp().at.saturating_sub(now);
        ahead >= SET_BACK_MS && !self.clock.is_moved_by_hand()
    }

    fn next_pass(&self, now: i64) -> Option<Pass> {
        let mut mending = self.mending();
        if mending.pass.is_none() && mending.again_at.is_some_and(|at| at <= self.clock.steady()) {
            *mending = Mending::default();
            return Some(Pass { from: now, resume: None, moved: 0 });
        }
        mending.pass.take()
    }

    /// Goes on with the pass that is under way, for some pages. True if there is more to look through.
    pub(super) async fn mend(&self, now: i64) -> Result<bool, Error> {
        let Some(mut pass) = self.next_pass(now) else { return Ok(false) };
        for _ in 0..STEP_PAGES {
            let range = Part::Waiting.after(pass.from);
            let messages = self.home.messages();
            let query = self.home.query(messages, range, PAGE_MAX, pass.resume.take());
            let page = self.store.query(&query).inspect_err(|_| self.begin_anew(now))?;
            let read = |item| Stored::read(&self.home, item);
            let found: Vec<Stored> = page.items.into_iter().filter_map(read).collect();
            let moves: Vec<_> = found
                .iter()
                .filter_map(|stored| Some((stored, stored.mended(now)?)))
                .map(|(stored, mended)| Transact { legs: stored.moved_to(&mended, &self.home) })
                .map(|transact| self.store.transact(transact))
                .collect();
            for pending in moves {
                match pending.await {
                    Ok(_) => pass.moved += 1,
                    // Someone has taken it meanwhile.
                    Err(TableError::ConditionFailed(_)) => {}
                    Err(error) => {
                        self.begin_anew(now);
                        return Err(error.into());
                    }
                }
            }
            pass.resume = page.resume;
            if pass.resume.is_none() {
                if pass.moved > 0 {
                    let (queue, count) = (self.home.queue(), pass.moved);
                    tracing::warn!(%queue, count, "messages waited by a clock that was ahead; they are due");
                }
                return Ok(false);
            }
        }
        let mut mending = self.mending();
        if mending.pass.is_none() {
            mending.pass = Some(pass);
        }
        Ok(true)
    }

    /// A pass that could not be ended begins anew.
    fn begin_anew(&self, now: i64) {
        self.mending().pass.get_or_insert(Pass { from: now, resume: None, moved: 0 });
    }
}

impl Stored {
    /// It, where it belongs, if it waits for longer than can be.
    fn mended(&self, now: i64) -> Option<Stored> {
        let Place::At(Part::Waiting, at) = self.place else { return None };
        let is_pause = at != self.due_at;
        let longest = if is_pause { PAUSE_MS_MAX } else { 0 };
        if (is_pause || self.at_once) && at > now.saturating_add(longest) {
            let due = if self.at_once { self.due_at.min(now) } else { self.due_at };
            let due_at = due;
            let place = Place::At(Part::Waiting, due.max(now));
            return Some(Stored { due_at, place, ..self.clone() })
                .filter(|new| new.place != self.place);
        }
        None
    }
}

/// Whether a pause until an instant is no longer than one can be.
pub(super) fn is_pause(until: i64, now: i64) -> bool {
    until > now && until.saturating_sub(now) <= PAUSE_MS_MAX
}
