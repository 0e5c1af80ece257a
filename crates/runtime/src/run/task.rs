//! What runs without a caller: a worker's message, and what follows a send.

use latchkey_model::model::Told;
use latchkey_queue::{Embedded, Failure as TryFailure, Received};
use latchkey_table::{Leg, Map, Value};
use tokio::time::{Instant, timeout_at};

use super::{Ended, GRACE, Session};
use crate::bug::Bug;
use crate::call::Caller;
use crate::input;
use crate::plan::Contract;
use crate::problem::Problem;
use crate::runtime::Runtime;
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
    /// The message it works on, where that lies in the same table.
    pub(crate) held: Option<Held<'a>>,
}

/// A message in hand that lies in the table its worker writes to.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) queue: &'a Embedded,
    pub(crate) received: &'a Received,
    /// Whether it keeps an order, so that whoever lost it may write nothing any more.
    pub(crate) ordered: bool,
    /// Whether it goes with the last write.
    pub(crate) removes: bool,
}

impl Session<'_> {
    /// The leg of a write that insists on the message's being held: its removal, if nothing comes after the
    /// write but that the message is done.
    pub(super) fn fence(&mut self, next: usize) -> Option<Leg> {
        let held = self.held?;
        if held.removes && matches!(self.preview(next), Some(Ended::Over(Ending::Done))) {
            return held.queue.removal(held.received);
        }
        if held.ordered { held.queue.fence(held.received) } else { None }
    }
}

/// Runs it until it ends, but not forever.
pub(crate) async fn perform(runtime: &Runtime, task: Task<'_>) -> Worked {
    let Task { contract, given, told, now, deadline, trace, held } = task;
    let caller = Caller::default();
    let mut session = Session::new(runtime, contract, &caller, now, deadline);
    session.trace = trace.then(Vec::new);
    session.held = held;
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
    let ended = match begun {
        Err(ended) => Ok(ended),
        Ok(()) => timeout_at(deadline + GRACE, session.attempts()).await,
    };
    let bug = |bug: &Bug| runtime.faults.bug(&contract.info.id, bug);
    let ending = match ended {
        Ok(Ended::Over(ending)) => ending,
        // Others kept changing what it depends on.
        Ok(Ended::Again) => Ending::Later,
        Ok(Ended::Refused(problem)) => refused(&problem),
        Ok(Ended::Bug(found)) => refused(&bug(&found)),
        Ok(Ended::Answered(_) | Ended::Replayed(_)) => {
            refused(&bug(&Bug::new("a worker ended as a contract does")))
        }
        Err(_) => Ending::Failed(TryFailure::new(CLASS_TIMEOUT, "timeout", "it took too long")),
    };
    let (capacity, removed) = (session.capacity, session.removed);
    let trace = session.trace.unwrap_or_default();
    Worked { ending, capacity, trace, removed, unavailable }
}

/// What a problem means where nobody is told of it. A store that cannot be used is not the message's fault.
fn refused(problem: &Problem) -> Ending {
    match problem.status {
        503 => Ending::Later,
        _ => Ending::Failed(TryFailure::new(CLASS_REFUSED, &problem.code, &problem.detail)),
    }
}
