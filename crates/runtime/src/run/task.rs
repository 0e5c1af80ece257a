//! Runs without a caller: a worker with its message, and the `accepted` or `refused` of a send.

use std::time::Duration;

use latchkey_model::model::Told;
use latchkey_queue::{Embedded, Received, TryFailure};
use latchkey_table::{Leg, Map, Value};
use latchkey_value::time;
use tokio::time::{Instant, timeout_at};

use super::{Ended, GRACE, Session};
use crate::bug::Bug;
use crate::call::Caller;
use crate::input;
use crate::plan::{Contract, Op};
use crate::problem::Problem;
use crate::runtime::Runtime;
use crate::turn::{Comes, Turn};
use crate::work::{CLASS_REFUSED, CLASS_TIMEOUT, Ending, Worked};

/// Something to be run without a caller.
pub(crate) struct Task<'a> {
    pub(crate) contract: &'a Contract,
    /// Its inputs, by their names.
    pub(crate) given: &'a Map,
    pub(crate) told: Vec<(Told, Value)>,
    pub(crate) now: i64,
    pub(crate) deadline: Instant,
    pub(crate) trace: bool,
    /// The message it works on.
    pub(crate) held: Option<Held<'a>>,
}

/// A message in hand.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    /// Its queue, where it lies in the table its worker writes to.
    pub(crate) within: Option<&'a Embedded>,
    pub(crate) received: &'a Received,
    /// Whether it keeps an order, so that whoever lost it may write nothing any more.
    pub(crate) ordered: bool,
    /// Whether it goes with the last write.
    pub(crate) removes: bool,
    /// Its turn among the messages of its group.
    pub(crate) turn: Option<&'a Turn>,
    /// Whether the message before it may still be there, so that the next write insists that it is gone.
    pub(crate) behind: bool,
}

/// The legs of a write that insist on the message's turn and on its being held.
#[derive(Default)]
pub(super) struct Fence {
    /// The message before it is gone.
    pub(super) before: Option<Leg>,
    /// The message is held by the same lease; or its removal, under the same condition.
    pub(super) own: Option<Leg>,
    /// Whether the message is removed.
    pub(super) removes: bool,
}

impl Session<'_> {
    /// The fence of a write. It removes the message if nothing comes after the write but that the message is done.
    pub(super) fn fence(&mut self, next: usize) -> Fence {
        let Some(held) = self.call.held else { return Fence::default() };
        let Some(queue) = held.within else { return Fence::default() };
        let before = held.turn.and_then(|turn| turn.before.as_ref()).filter(|_| held.behind);
        let before = before.and_then(|before| queue.gone(&before.received));
        if held.removes && matches!(self.preview(next), Some(Ended::Over(Ending::Done))) {
            return Fence { before, own: queue.removal(held.received), removes: true };
        }
        let own = if held.ordered { queue.fence(held.received) } else { None };
        Fence { before, own, removes: false }
    }

    /// The next write need not insist that the message before it is gone.
    pub(super) fn stand_first(&mut self) {
        self.call.held.iter_mut().for_each(|held| held.behind = false);
    }

    /// Runs up to the first operation that does more than read single items, and says which that is; nothing if it
    /// ends before.
    async fn run_ahead(&mut self) -> Option<usize> {
        let mut at = 0;
        loop {
            match self.call.contract.program.get(at)? {
                Op::Query(_) | Op::Write(_) | Op::Transact(_) => return Some(at),
                _ => at = self.step(at).await.ok()?,
            }
        }
    }

    /// Runs ahead, and waits for the message's turn. Says where to go on, if not at the beginning; nothing if the turn
    /// does not come.
    async fn await_turn(&mut self) -> Option<Option<usize>> {
        // A message is given up in its turn alone, which has come.
        let turn = self.call.held.filter(|held| held.removes).and_then(|held| held.turn);
        let turn = turn.filter(|turn| turn.before.is_some());
        let Some(turn) = turn else { return Some(None) };
        let from = self.run_ahead().await;
        let next = from.and_then(|at| self.call.contract.program.get(at));
        match turn.comes(matches!(next, Some(Op::Write(_) | Op::Transact(_)))).await {
            Comes::Never => None,
            Comes::Over { stands } => Some(from.filter(|_| stands)),
            Comes::Behind => {
                self.call.held.iter_mut().for_each(|held| held.behind = true);
                Some(from)
            }
        }
    }

    /// Moves `now` to the instant of the message before, if that one is later.
    fn keep_order_of_time(&mut self) -> Result<(), Ended> {
        let Some(turn) = self.call.held.and_then(|held| held.turn) else { return Ok(()) };
        let now = turn.not_before();
        if now <= self.call.now {
            return Ok(());
        }
        turn.worked_at(now);
        self.call.now = now;
        self.frame.now = time::format(now).map(Value::Text);
        self.frame.new_values.clear();
        self.make_values(now)
    }

    /// Runs it in its turn until it ends, but not forever; nothing if its turn does not come, or the time is up.
    async fn in_turn(&mut self, time_max: Duration) -> Result<Ended, NotEnded> {
        let mut from = self.await_turn().await.ok_or(NotEnded::Skipped)?;
        loop {
            // Its time begins with its turn.
            self.call.deadline = Instant::now() + time_max;
            if from.is_none()
                && let Err(ended) = self.keep_order_of_time()
            {
                return Ok(ended);
            }
            let attempts = timeout_at(self.call.deadline + GRACE, self.attempts(from.take()));
            match attempts.await.map_err(|_| NotEnded::Late)? {
                Ended::Early => {
                    self.stand_first();
                    self.leaves_lanes();
                    let free = match self.call.held.and_then(|held| held.turn) {
                        Some(turn) => turn.is_free().await,
                        None => return Ok(Bug::new("a message without a turn is early").into()),
                    };
                    if !free {
                        return Err(NotEnded::Skipped);
                    }
                }
                ended => return Ok(ended),
            }
        }
    }
}

/// Why something came to no end.
enum NotEnded {
    /// Its turn did not come.
    Skipped,
    /// It took too long.
    Late,
}

/// Runs it until it ends, but not forever.
pub(crate) async fn perform(runtime: &Runtime, task: Task<'_>) -> Worked {
    let Task { contract, given, told, now, deadline, trace, held } = task;
    let caller = Caller::default();
    let mut session = Session::new(runtime, contract, &caller, now, deadline);
    session.trace = trace.then(Vec::new);
    session.call.held = held;
    held.and_then(|held| held.turn).into_iter().for_each(|turn| turn.worked_at(now));
    session.frame.told = told;
    let begun = input::kept(contract, given).map_err(Ended::Refused).and_then(|inputs| {
        session.frame.inputs = inputs;
        session.make_values(now)
    });
    let mut unavailable = false;
    let mut refused = |problem: &Problem| {
        unavailable = problem.status == 503;
        refused(problem)
    };
    let time_max = deadline.saturating_duration_since(Instant::now());
    let ended = match begun {
        Err(ended) => Ok(ended),
        Ok(()) => session.in_turn(time_max).await,
    };
    if matches!(ended, Err(NotEnded::Skipped)) {
        return Worked {
            capacity: session.capacity,
            skipped: true,
            ..Worked::nothing(Ending::Later)
        };
    }
    let bug = |bug: &Bug| runtime.faults.bug(&contract.info.id, bug);
    let ending = match ended {
        Ok(Ended::Over(ending)) => ending,
        // Others kept changing what it depends on.
        Ok(Ended::Again) => Ending::Later,
        Ok(Ended::Refused(problem)) => refused(&problem),
        Ok(Ended::Bug(found)) => refused(&bug(&found)),
        Ok(Ended::Answered(_) | Ended::Replayed(_) | Ended::Early) => {
            refused(&bug(&Bug::new("a worker ended as a contract does")))
        }
        Err(_) => Ending::Failed(TryFailure::new(CLASS_TIMEOUT, "timeout", "it took too long")),
    };
    let (capacity, removed) = (session.capacity, session.removed);
    let trace = session.trace.unwrap_or_default();
    Worked { ending, capacity, trace, removed, unavailable, skipped: false }
}

/// What a problem means where nobody is told of it. A store that cannot be used is not the message's fault.
fn refused(problem: &Problem) -> Ending {
    match problem.status {
        503 => Ending::Later,
        _ => Ending::Failed(TryFailure::new(CLASS_REFUSED, &problem.code, &problem.detail)),
    }
}
