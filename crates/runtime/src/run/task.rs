//! What runs without a caller: a worker's message, and what follows a send.

use latchkey_model::model::Told;
use latchkey_queue::Failure as TryFailure;
use latchkey_table::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::{Ended, GRACE, Session};
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
}

/// Runs it until it ends, but not forever.
pub(crate) async fn perform(runtime: &Runtime, task: Task<'_>) -> Worked {
    let Task { contract, given, told, now, deadline, trace } = task;
    let caller = Caller::default();
    let mut session = Session::new(runtime, contract, &caller, now, deadline);
    session.trace = trace.then(Vec::new);
    session.frame.told = told;
    let begun = input::kept(contract, given).and_then(|inputs| {
        session.frame.inputs = inputs;
        session.make_values(now)
    });
    let ending = match begun {
        Err(problem) => refused(&problem),
        Ok(()) => match timeout_at(deadline + GRACE, session.attempts()).await {
            Ok(Ended::Over(ending)) => ending,
            // Others kept changing what it depends on.
            Ok(Ended::Again) => Ending::Later,
            Ok(Ended::Refused(problem)) => refused(&problem),
            Ok(Ended::Answered(_) | Ended::Replayed(_)) => {
                tracing::error!(contract = %contract.info.id, "nobody waits for this answer");
                Ending::Done
            }
            Err(_) => Ending::Failed(TryFailure::new(CLASS_TIMEOUT, "timeout", "it took too long")),
        },
    };
    Worked { ending, capacity: session.capacity, trace: session.trace.unwrap_or_default() }
}

/// What a problem means where nobody is told of it. A store that cannot be used is not the message's fault.
fn refused(problem: &Problem) -> Ending {
    match problem.status {
        503 => Ending::Later,
        _ => Ending::Failed(TryFailure::new(CLASS_REFUSED, &problem.code, &problem.detail)),
    }
}
