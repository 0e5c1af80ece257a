//! A call, from its inputs to its outcome.

mod begin;
mod decide;
mod each;
mod kept;
mod lane;
mod listing;
mod precondition;
mod read;
mod record;
mod remember;
mod send;
mod shards;
mod task;
mod write;

use std::pin::pin;
use std::time::Duration;

use latchkey_model::model::EntityId;
use latchkey_table::{
    Answer as TableAnswer, Answering, Capacity, Error, Item, Key, Request, Text, Value,
};
use tokio::time::{Instant, timeout};

use crate::answer::{Answer, Outcome};
use crate::bug::{Bug, Damage};
use crate::cache::Change;
use crate::call::{Call, Caller, IfMatch};
use crate::evaluate::{Bound, Elements, Fault, Found, Frame};
use crate::idempotency::Named;
use crate::plan::{Contract, Op, Sight, System};
use crate::problem::Problem;
use crate::request::Filler;
use crate::runtime::Runtime;
use crate::shape::Seen;
use crate::time;
use crate::trace::{Step, Trace, blackened, consumed, outcome};
use crate::work::Ending;

use lane::InLine;
use precondition::{any_changes, changes};
use remember::Memory;
pub(crate) use task::{Held, Task, perform};

/// How much longer than its time a call may take, for a backend that keeps to the time to say how it
/// ended.
const GRACE: Duration = Duration::from_millis(250);

/// A request on its way.
type Asking<'a> = Answering<'a, Result<TableAnswer, Error>>;

/// How an attempt ends.
enum Ended {
    Answered(Answer),
    /// Answered from the record of an earlier call.
    Replayed(Answer),
    Refused(Problem),
    /// The ground has changed: the contract is run again.
    Again,
    /// A worker's run, which has no caller to answer.
    Over(Ending),
    /// Nothing was written, for the message before this one is not gone.
    Early,
    /// A state that cannot be. Nothing is tried again.
    Bug(Bug),
}

impl From<Bug> for Ended {
    fn from(bug: Bug) -> Ended {
        Ended::Bug(bug)
    }
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Ended {
        match fault {
            Fault::Bug(bug) => Ended::Bug(bug),
            Fault::OutOfRange => Ended::Refused(Problem::does_not_fit()),
            Fault::DividedByZero => Ended::Refused(Problem::not_computable(
                "a value that is computed from inputs and stored items is divided by zero",
            )),
            Fault::Invalid(invalid) => Ended::Refused(Problem::untaken(&invalid)),
        }
    }
}

/// What is fixed for a call, however often its contract is run.
struct CallContext<'a> {
    runtime: &'a Runtime,
    system: &'a System,
    contract: &'a Contract,
    /// The instant of the call.
    now: i64,
    /// Whether the caller gave the instant, so that no clock is asked.
    given_now: bool,
    /// When the call must be over.
    deadline: Instant,
    /// The versions in the `If-Match` header, if the contract asks for a version.
    if_match: Option<IfMatch>,
    /// Whether the first write may only make something new.
    makes_alone: bool,
    /// The name that an `Idempotency-Key` gives the call.
    named: Option<Named>,
    page_size: Option<u32>,
    cursor: Option<Text>,
    /// The inputs a cursor is bound to.
    sealed_inputs: Vec<Option<Value>>,
    /// The message the call works on.
    held: Option<Held<'a>>,
}

/// One call under way: what is fixed, what it has done so far, and the values of the attempt that runs now.
struct Session<'a> {
    call: CallContext<'a>,
    /// The values of the call and of this attempt. Each attempt begins with no name bound.
    frame: Frame<'a>,
    /// Whether this attempt has compared the versions in `If-Match`.
    matched: bool,
    /// Whether this attempt has written the record of the call with its effect.
    recorded: bool,
    /// The claim of the call, once it has written and its answer is not known.
    claim: Option<Text>,
    /// Whether a write is on its way, so that nobody can tell whether it happens.
    writing: bool,
    /// Whether the message was removed with the last write.
    removed: bool,
    /// What all attempts consumed.
    capacity: Capacity,
    /// What all attempts asked of the table, if the caller wants to know.
    trace: Option<Trace>,
    /// Whether nobody knows whether a write of the call happened.
    unsure: bool,
    /// What earlier calls have read, if the contract has a cache.
    memory: Option<Memory<'a>>,
    /// Where the call stands in line.
    line: InLine,
}

/// Carries a call out.
pub(crate) async fn run(runtime: &Runtime, contract: &Contract, call: Call) -> Outcome {
    let time_max = call.time_max;
    let Call { caller, inputs, if_match, if_none_match, idempotency_key, trace, at, .. } = call;
    let now = at.unwrap_or_else(|| runtime.source.now());
    let deadline = Instant::now() + time_max;
    let mut session = Session::new(runtime, contract, &caller, now, deadline);
    session.trace = trace.then(Vec::new);
    session.call.given_now = at.is_some();
    session.call.makes_alone = if_none_match;
    let ended = match session.begin(inputs, if_match, idempotency_key.as_deref(), now) {
        Err(ended) => ended,
        Ok(()) => {
            // In its place: the future is large, and `timeout` would move it three times.
            let ended = timeout(time_max + GRACE, pin!(session.attempts(None))).await;
            let late = || if session.writing { unknown() } else { too_late() };
            ended.unwrap_or_else(|_| Ended::Refused(late()))
        }
    };
    let bug = |bug: &Bug| Err(runtime.faults.bug(&contract.info.id, bug));
    let (result, replayed) = match ended {
        Ended::Answered(answer) => (Ok(answer), false),
        Ended::Replayed(answer) => (Ok(answer), true),
        Ended::Refused(problem) => (Err(problem), false),
        Ended::Over(_) | Ended::Early => {
            (bug(&Bug::new("a contract ended as a worker does")), false)
        }
        Ended::Bug(found) => (bug(&found), false),
        Ended::Again => {
            let detail = "others kept changing what this depends on; try again in a moment";
            (Err(Problem::later("busy", detail)), false)
        }
    };
    let memory = session.memory.take();
    let status = result.as_ref().map_or_else(|problem| problem.status, |answer| answer.status);
    let fresh = memory.and_then(|memory| {
        let lasts_ms = session.first_end().map(|end| end.saturating_sub(now));
        memory.ends(status, now, lasts_ms, contract.info.open)
    });
    Outcome {
        contract: Some(contract.info.id.clone()),
        result,
        capacity: session.capacity,
        replayed,
        fresh,
        trace: session.trace.unwrap_or_default(),
    }
}

impl<'a> Session<'a> {
    fn new(
        runtime: &'a Runtime,
        contract: &'a Contract,
        caller: &'a Caller,
        now: i64,
        deadline: Instant,
    ) -> Session<'a> {
        let frame = Frame {
            caller,
            caller_id: Value::Text(caller.id.clone()),
            now: time::format(now).map(Value::Text),
            inputs: contract.inputs.map(|_, _| None),
            new_values: Vec::new(),
            incarnation: None,
            commits: 0,
            told: Vec::new(),
            assumed: Vec::new(),
            found: Found::default(),
            own: None,
            elements: Elements::default(),
            bound: contract.bindings.map(|_, _| Bound::Nothing),
        };
        let call = CallContext {
            runtime,
            system: &runtime.system,
            contract,
            now,
            given_now: false,
            deadline,
            if_match: None,
            makes_alone: false,
            named: None,
            page_size: None,
            cursor: None,
            sealed_inputs: Vec::new(),
            held: None,
        };
        Session {
            call,
            frame,
            matched: false,
            recorded: false,
            claim: None,
            writing: false,
            removed: false,
            capacity: Capacity::ZERO,
            trace: None,
            unsure: false,
            memory: Memory::of(runtime, contract.cache.as_ref()),
            line: InLine::default(),
        }
    }

    /// Forgets what the attempt before has read.
    fn begin_attempt(&mut self) {
        self.matched = false;
        self.recorded = false;
        self.frame.bound.iter_mut().for_each(|bound| *bound = Bound::Nothing);
        self.frame.assumed.clear();
    }

    /// Runs the contract until it ends, but not forever. The first attempt may go on at an operation.
    async fn attempts(&mut self, mut from: Option<usize>) -> Ended {
        for attempt in 0.. {
            if attempt > 0 && !self.waits_again().await {
                break;
            }
            if from.is_none() {
                self.begin_attempt();
            }
            if attempt > 0 {
                self.memory.iter_mut().for_each(Memory::begins_again);
            }
            match self.attempt(from.take().unwrap_or(0)).await {
                Ended::Again => {}
                Ended::Refused(problem) if problem.status < 500 => {
                    // A call of the same name may have had its effect in between, and be the reason.
                    return match self.replay().await {
                        Ok(None) => Ended::Refused(problem),
                        Ok(Some(ended)) => ended,
                        Err(ended) => ended,
                    };
                }
                ended => return ended,
            }
        }
        Ended::Again
    }

    async fn attempt(&mut self, mut at: usize) -> Ended {
        match self.replay().await {
            Ok(None) => {}
            Ok(Some(ended)) | Err(ended) => return ended,
        }
        loop {
            match self.step(at).await {
                Ok(next) => at = next,
                Err(Ended::Answered(answer)) => return self.record_alone(answer).await,
                Err(ended) => return ended,
            }
        }
    }

    /// Does one operation, and says which is next.
    async fn step(&mut self, at: usize) -> Result<usize, Ended> {
        let contract: &'a Contract = self.call.contract;
        match contract.program.get(at) {
            Some(Op::Get(op)) => self.get(op, at).await,
            Some(Op::Snapshot(op)) => self.snapshot(op, at).await,
            Some(Op::Batch(op)) => self.batch(op, at).await,
            Some(Op::Query(op)) => self.query(op, at).await,
            Some(Op::Write(leg)) => {
                self.refuse_change(changes(leg))?;
                let change = self.change(std::slice::from_ref(&leg.entity));
                let next = self.write_one(leg, at).await;
                self.changed(change);
                next
            }
            Some(Op::Transact(op)) => {
                self.refuse_change(op.legs.iter().any(any_changes))?;
                let change = self.change(&op.writes);
                let next = self.transact(&op.legs, at).await;
                self.changed(change);
                next
            }
            Some(op) => self.decide(op, at),
            None => Err(Ended::Bug(Bug::new("the contract goes on past its end"))),
        }
    }

    /// A write of some entities begins. What was read of them is not used any more.
    fn change(&self, entities: &'a [EntityId]) -> Option<Change<'a>> {
        let at = self.call.given_now.then_some(self.call.now);
        Change::begin(self.call.runtime, entities, at)
    }

    /// A write has ended.
    fn changed(&self, change: Option<Change<'a>>) {
        change.into_iter().for_each(|change| change.end(!self.unsure));
    }

    fn filler(&self) -> Filler<'_, Frame<'a>> {
        Filler { system: self.call.system, scope: &self.frame }
    }

    /// Asks the table.
    async fn ask<T>(&mut self, request: impl Into<Request>) -> Result<T, Error>
    where
        T: TryFrom<TableAnswer, Error = Error>,
    {
        let request = request.into();
        if let Some(answer) = self.remembered(&request) {
            return T::try_from(answer?);
        }
        let (kept, answering) = self.begin_to_ask(request);
        self.answered(kept, answering).await
    }

    /// Asks the table. The request is kept if someone wants to know.
    fn begin_to_ask(&mut self, request: Request) -> (Option<Request>, Asking<'a>) {
        let records = self.memory.as_ref().is_some_and(Memory::records);
        let kept = (records || self.trace.is_some()).then(|| request.clone());
        self.call.held.and_then(|held| held.turn).into_iter().for_each(|turn| turn.note(&request));
        self.writing = request.writes();
        (kept, self.call.runtime.backend.execute(request, self.call.deadline.into_std()))
    }

    /// Waits for the answer, and counts what it consumed.
    async fn answered<T>(
        &mut self,
        kept: Option<Request>,
        answering: Asking<'a>,
    ) -> Result<T, Error>
    where
        T: TryFrom<TableAnswer, Error = Error>,
    {
        let answer = answering.await;
        self.writing = false;
        self.note(kept, answer)
    }

    /// Counts what a request consumed, and keeps it with what became of it if someone wants to know.
    fn note<T>(
        &mut self,
        kept: Option<Request>,
        answer: Result<TableAnswer, Error>,
    ) -> Result<T, Error>
    where
        T: TryFrom<TableAnswer, Error = Error>,
    {
        self.unsure |= matches!(answer, Err(Error::OutcomeUnknown { .. }));
        if let (Some(memory), Some(request), Ok(answer)) = (&mut self.memory, &kept, &answer) {
            memory.record(request, answer);
        }
        if let Some(capacity) = consumed(&answer) {
            self.capacity += capacity;
            if let (Some(trace), Some(request)) = (&mut self.trace, kept) {
                let outcome = outcome(&request, &answer);
                let request = blackened(self.call.system, request);
                trace.push(Step { request, outcome, capacity });
            }
        }
        T::try_from(answer?)
    }

    /// An item that was read, as the contract sees it; nothing, if it is of another type or has ended.
    fn seen(&self, entity: EntityId, item: Item) -> Result<Option<Seen>, Ended> {
        if let Some(end) = &self.call.system.entities[entity].end {
            let now = self.frame.now.as_ref().ok_or(Fault::OutOfRange)?;
            if end.is_past(&item, now) {
                return Ok(None);
            }
        }
        self.left(entity, item)
    }

    /// An item of which an index holds a part, as the contract sees it; nothing, if it has ended.
    fn seen_part(
        &self,
        entity: EntityId,
        item: Item,
        sight: &Sight,
    ) -> Result<Option<Seen>, Ended> {
        let seen = self.whole(entity, item, Some(sight))?;
        if let Some(end) = &self.call.system.entities[entity].end {
            let now = self.frame.now.as_ref().ok_or(Fault::OutOfRange)?;
            // The end may stand in a key alone.
            if end.is_past(&seen.item, now) {
                return Ok(None);
            }
        }
        Ok(Some(seen))
    }

    /// An item that a write has left, as the contract sees it; nothing, if it is of another type. The write may have
    /// ended it.
    fn left(&self, entity: EntityId, item: Item) -> Result<Option<Seen>, Ended> {
        let is_own =
            self.call.system.entities[entity].is_type_of(&self.call.system.discriminator, &item);
        if is_own { self.whole(entity, item, None).map(Some) } else { Ok(None) }
    }

    /// An item of an entity, with what it has beside what is stored.
    fn whole(&self, entity: EntityId, item: Item, sight: Option<&Sight>) -> Result<Seen, Ended> {
        let entity = &self.call.system.entities[entity];
        // The key is made for the log alone: this runs for every item that is read.
        let unstored = entity.examine_shape(&item, sight).map_err(|damage| {
            match self.call.system.table.key.of(&item) {
                Some(key) => self.damaged(&entity.name, &key, &damage),
                None => Bug::new("an item was read that has no key").into(),
            }
        })?;
        Ok(entity.with_unstored(item, unstored)?)
    }

    fn damaged(&self, entity: &str, key: &Key, damage: &Damage) -> Ended {
        let contract = &self.call.contract.info.id;
        Ended::Refused(self.call.runtime.faults.damaged(contract, entity, key, damage))
    }

    /// What a table's refusal means to the caller. What is behind it stays in the log.
    fn refused(&self, error: &Error) -> Ended {
        let contract = &self.call.contract.info.id;
        Ended::Refused(match error {
            Error::Conflict | Error::ConditionFailed(_) => return Ended::Again,
            Error::Invalid { reason, .. } => {
                tracing::warn!(%contract, %error, "the table refused a request");
                Problem::untaken(reason)
            }
            Error::Throttled => {
                let detail =
                    "the store is asked for more than it can do now; try again in a moment";
                Problem::later("busy", detail)
            }
            Error::NoTable { .. } | Error::Unavailable { .. } => {
                tracing::error!(%contract, %error, "the store is unavailable");
                Problem::later("store-unavailable", UNAVAILABLE)
            }
            Error::Damaged { what } => self.call.runtime.faults.unreadable(contract, what),
            // The store has logged it, once.
            Error::ReadOnly { why } => Problem::read_only(*why),
            Error::OutcomeUnknown { .. } => {
                tracing::error!(%contract, %error, "the outcome of a write is unknown");
                unknown()
            }
        })
    }
}

const UNAVAILABLE: &str =
    "the store cannot be used now, and nothing was done; try again in a moment";

fn too_late() -> Problem {
    Problem::later("busy", "the call took longer than it may; try again in a moment")
}

fn unknown() -> Problem {
    let detail = "it is not known whether this was done; read before you try again";
    Problem::later("outcome-unknown", detail)
}
