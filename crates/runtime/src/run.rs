//! A call, from its inputs to its outcome.

mod read;
mod record;
mod send;
mod task;
mod write;

use std::time::Duration;

use latchkey_model::model::BindingId;
use latchkey_queue::Failure as TryFailure;
use latchkey_table::{Answer as TableAnswer, Answering, Capacity, Error, Request, Text, Value};
use tokio::time::{Instant, sleep, timeout};

use crate::answer::{Answer, Outcome, answer};
use crate::call::{Call, Caller, IfMatch};
use crate::draw::KEY_BYTES;
use crate::evaluate::{Bound, Fault, Frame, Inputs, Scope};
use crate::idempotency::{KEY_CHARS_MAX, Named};
use crate::input;
use crate::plan::{Code, Contract, EndOp, Failure, New, Op, ProblemOp, System};
use crate::problem::{FieldError, Problem};
use crate::request::Filler;
use crate::runtime::Runtime;
use crate::time;
use crate::trace::{Step, Trace, blackened, consumed, outcome};
use crate::work::{CLASS_FAILED, Ending};

pub(crate) use task::{Held, Task, perform};

/// How often a contract is run again when it finds its ground changed.
const RETRIES_MAX: u32 = 5;

/// The longest wait before the first retry that waits; it doubles with each.
const WAIT_MS: u32 = 5;

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
    /// Nobody waits for an answer.
    Over(Ending),
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Ended {
        Ended::Refused(fault.into())
    }
}

/// One call under way.
struct Session<'a> {
    runtime: &'a Runtime,
    system: &'a System,
    contract: &'a Contract,
    frame: Frame<'a>,
    /// The instant of the call.
    now: i64,
    /// Whether it was given, so that no clock tells anything else.
    given_now: bool,
    /// The versions the caller has in mind, if the contract asks for one and they came in a header.
    if_match: Option<IfMatch>,
    named: Option<Named>,
    /// Whether the record of the call was written with its effect.
    recorded: bool,
    /// What the call is claimed by, once its first effect is had and its answer is not known.
    claim: Option<Text>,
    page_size: Option<u32>,
    cursor: Option<Text>,
    /// The inputs a cursor is bound to.
    sealed_inputs: Vec<Option<Value>>,
    capacity: Capacity,
    trace: Option<Trace>,
    /// When it must be over.
    deadline: Instant,
    /// Whether a write is on its way, so that nobody can tell whether it happens.
    writing: bool,
    /// The message it works on, where that lies in the same table.
    held: Option<Held<'a>>,
    /// Whether the message was removed with the last write.
    removed: bool,
}

/// Carries a call out.
pub(crate) async fn run(runtime: &Runtime, contract: &Contract, call: Call) -> Outcome {
    let time_max = call.time_max;
    let Call { caller, inputs, if_match, idempotency_key, trace, at, .. } = call;
    let refused = |problem| Outcome {
        contract: Some(contract.info.id.clone()),
        result: Err(problem),
        capacity: Capacity::ZERO,
        replayed: false,
        trace: Vec::new(),
    };
    let now = at.unwrap_or_else(|| runtime.source.now());
    let deadline = Instant::now() + time_max;
    let mut session = Session::new(runtime, contract, &caller, now, deadline);
    session.trace = trace.then(Vec::new);
    session.given_now = at.is_some();
    if let Err(problem) = session.begin(inputs, if_match, idempotency_key.as_deref(), now) {
        return refused(problem);
    }
    let ended = match timeout(time_max + GRACE, session.attempts()).await {
        Ok(ended) => ended,
        Err(_) if session.writing => Ended::Refused(unknown()),
        Err(_) => Ended::Refused(Problem::later(
            "busy",
            "the call took longer than it may; try again in a moment",
        )),
    };
    let (result, replayed) = match ended {
        Ended::Answered(answer) => (Ok(answer), false),
        Ended::Replayed(answer) => (Ok(answer), true),
        Ended::Refused(problem) => (Err(problem), false),
        // The model lets no contract that is called end so.
        Ended::Again | Ended::Over(_) => {
            let detail = "others kept changing what this depends on; try again in a moment";
            (Err(Problem::later("busy", detail)), false)
        }
    };
    Outcome {
        contract: Some(contract.info.id.clone()),
        result,
        capacity: session.capacity,
        replayed,
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
            now: Value::Text(time::format(now).unwrap_or_default()),
            inputs: contract.inputs.map(|_, _| None),
            new_values: Vec::new(),
            told: Vec::new(),
            bound: contract.bindings.map(|_, _| Bound::Nothing),
        };
        Session {
            runtime,
            system: &runtime.system,
            contract,
            frame,
            now,
            given_now: false,
            if_match: None,
            named: None,
            recorded: false,
            claim: None,
            page_size: None,
            cursor: None,
            sealed_inputs: Vec::new(),
            capacity: Capacity::ZERO,
            trace: None,
            deadline,
            writing: false,
            held: None,
            removed: false,
        }
    }

    /// Reads the inputs, and fixes what must not change while the contract runs again.
    fn begin(
        &mut self,
        inputs: Vec<(Text, crate::call::Given)>,
        if_match: Option<IfMatch>,
        key: Option<&str>,
        now: i64,
    ) -> Result<(), Problem> {
        let contract = self.contract;
        let safe = contract.info.method == "GET";
        if if_match.is_some() && contract.version_input.is_none() && !safe {
            return Err(Problem::bad(
                "this contract has no version to match; leave `If-Match` out",
            ));
        }
        let versioned = contract.version_input.filter(|_| if_match.is_some());
        let typed = input::read(contract, inputs, versioned)?;
        if let Some(input) = versioned.filter(|input| typed.given[*input].is_some()) {
            let detail = "is given in `If-Match` too; give it once";
            let name = &contract.inputs[input].name;
            return Err(Problem::invalid(vec![FieldError::named(name, detail)]));
        }
        if contract.info.method == "POST"
            && let Some(key) = key
        {
            let key = bare(key)?;
            let named = || self.name(key, &typed.given, if_match.as_ref(), now);
            self.named = contract.takes_names().then(named);
        }
        self.if_match = if_match.filter(|_| versioned.is_some());
        self.page_size = typed.page_size;
        self.cursor = typed.cursor;
        self.make_values(now)?;
        self.frame.inputs = typed.given;
        for (id, input) in contract.inputs.enumerate() {
            let constant = matches!(&input.default, None | Some(Code::Constant(_)));
            let given = self.frame.given(id).is_some();
            if let Some(code) = input.default.as_ref().filter(|_| !given) {
                let value = self.frame.value(code).map_err(Problem::from)?.map(|v| v.into_owned());
                if let (Some(value), false) = (&value, constant) {
                    input::fits(input, value)?;
                }
                self.frame.inputs[id] = value;
            }
            if contract.paging.is_some() {
                // What is made anew in every call cannot bind the next.
                let sealed = if given || constant { self.frame.given(id).cloned() } else { None };
                self.sealed_inputs.push(sealed);
            }
        }
        Ok(())
    }

    fn name(&self, key: &str, given: &Inputs, if_match: Option<&IfMatch>, now: i64) -> Named {
        let caller = &self.frame.caller.id;
        let tag = if_match.map(|tag| format!("{tag:?}")).unwrap_or_default();
        Named::new(self.system, self.contract, caller, given, &tag, key, now)
    }

    /// What `new` makes is made once.
    fn make_values(&mut self, now: i64) -> Result<(), Problem> {
        for new in &self.contract.new_values {
            let mut random = [0; KEY_BYTES];
            if let Err(error) = self.runtime.source.random(&mut random) {
                tracing::error!(%error, "there are no random bytes");
                return Err(Problem::later(
                    "store-unavailable",
                    "no random bytes are available; try again in a moment",
                ));
            }
            let value = match new {
                New::Key => Value::Bytes(random.to_vec()),
                New::Ulid => {
                    let mut low = [0; 16];
                    low.iter_mut().zip(random).for_each(|(to, from)| *to = from);
                    let milliseconds = u64::try_from(now).unwrap_or(0);
                    let ulid = ulid::Ulid::from_parts(milliseconds, u128::from_le_bytes(low));
                    Value::from(ulid.to_string().as_str())
                }
            };
            self.frame.new_values.push(value);
        }
        Ok(())
    }

    /// Runs the contract until it ends, but not forever.
    async fn attempts(&mut self) -> Ended {
        for attempt in 0..=RETRIES_MAX {
            if attempt > 1 {
                sleep(self.wait(attempt)).await;
            }
            self.recorded = false;
            self.frame.bound.iter_mut().for_each(|bound| *bound = Bound::Nothing);
            match self.attempt().await {
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

    /// A random part of a time that doubles with each attempt: those who collided part.
    fn wait(&self, attempt: u32) -> Duration {
        let mut random = [0; 2];
        // Without chance they wait alike, and some of them longer.
        let _ = self.runtime.source.random(&mut random);
        let most = u64::from(WAIT_MS << attempt.min(8)) * 1000;
        let part = u64::from(u16::from_le_bytes(random)) * most / u64::from(u16::MAX);
        Duration::from_micros(part)
    }

    async fn attempt(&mut self) -> Ended {
        match self.replay().await {
            Ok(None) => {}
            Ok(Some(ended)) | Err(ended) => return ended,
        }
        let mut at = 0;
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
        let contract: &'a Contract = self.contract;
        match contract.program.get(at) {
            Some(Op::Get(op)) => self.get(op, at).await,
            Some(Op::Batch(op)) => self.batch(op, at).await,
            Some(Op::Query(op)) => self.query(op, at).await,
            Some(Op::Write(leg)) => self.write_one(leg, at).await,
            Some(Op::Transact(op)) => self.transact(&op.legs, at).await,
            Some(op) => self.decide(op, at),
            None => {
                // Every way through a checked contract ends in a return.
                tracing::error!(contract = %contract.info.id, "the contract goes on past its end");
                Err(Ended::Refused(Problem::later("store-unavailable", "it cannot be run")))
            }
        }
    }

    /// Does an operation that asks nothing of the table.
    fn decide(&mut self, op: &Op, at: usize) -> Result<usize, Ended> {
        match op {
            Op::Allow(test) => {
                if self.frame.test(test)? {
                    return Ok(at + 1);
                }
                let detail = "the caller does not have the right to do this";
                Err(Ended::Refused(Problem::new(403, "forbidden", detail)))
            }
            Op::Require(test, failure) => {
                if self.frame.test(test)? {
                    return Ok(at + 1);
                }
                self.fail(failure)
            }
            Op::Match(test, failure, versioned) => {
                self.matches(test, failure, versioned.as_ref(), at)
            }
            Op::JumpUnless(test, target) => {
                Ok(if self.frame.test(test)? { at + 1 } else { *target })
            }
            Op::Jump(target) => Ok(*target),
            Op::Let(binding, code) => {
                let value = self.frame.value(code)?.map(|value| value.into_owned());
                self.frame.bind(*binding, value.map_or(Bound::Nothing, Bound::Value));
                Ok(at + 1)
            }
            Op::Return(op) => Err(Ended::Answered(answer(&self.frame, op)?)),
            Op::End(op) => Err(Ended::Over(self.ending(op)?)),
            Op::Get(_) | Op::Batch(_) | Op::Query(_) | Op::Write(_) | Op::Transact(_) => {
                Err(Ended::Again)
            }
        }
    }

    /// A caller's precondition. One that came in a header has a status of its own.
    fn matches(
        &mut self,
        test: &Code,
        failure: &Failure,
        versioned: Option<&(BindingId, Text)>,
        at: usize,
    ) -> Result<usize, Ended> {
        let tags = match self.if_match.take_if(|_| versioned.is_some()) {
            None => {
                let holds = self.frame.test(test)?;
                return if holds { Ok(at + 1) } else { self.fail(failure) };
            }
            Some(tags) => tags,
        };
        let holds = match &tags {
            IfMatch::Any => {
                // Whichever there is: from here on, that is what the caller gave.
                let version = versioned.and_then(|(binding, counter)| {
                    self.frame.item(*binding).and_then(|item| item.get(counter)).cloned()
                });
                if let Some(input) = self.contract.version_input {
                    self.frame.inputs[input] = version;
                }
                true
            }
            IfMatch::OneOf(versions) => self.any_version(test, versions)?,
        };
        self.if_match = Some(tags);
        if holds {
            return Ok(at + 1);
        }
        match self.fail(failure) {
            Err(Ended::Refused(problem)) => Err(Ended::Refused(Problem { status: 412, ..problem })),
            other => other,
        }
    }

    fn any_version(
        &mut self,
        test: &Code,
        versions: &[latchkey_table::Number],
    ) -> Result<bool, Fault> {
        let Some(input) = self.contract.version_input else { return Ok(false) };
        // With none at all, a version that no item has.
        let none = [latchkey_table::Number::ZERO];
        let versions = if versions.is_empty() { &none } else { versions };
        for version in versions {
            self.frame.inputs[input] = Some(Value::Number(*version));
            if self.frame.test(test)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What happens when something did not.
    fn fail(&self, failure: &Failure) -> Result<usize, Ended> {
        match failure {
            Failure::Problem(op) => Err(Ended::Refused(self.problem(op)?)),
            Failure::Retry => Err(Ended::Again),
            Failure::End(op) => Err(Ended::Over(self.ending(op)?)),
            Failure::Goto { start, .. } => Ok(*start),
            Failure::Nothing => {
                let detail = "what is stored does not allow this; read it before you try again";
                Err(Ended::Refused(Problem::new(409, "conflict", detail)))
            }
        }
    }

    fn ending(&self, op: &EndOp) -> Result<Ending, Fault> {
        Ok(match op {
            EndOp::Done => Ending::Done,
            EndOp::Later => Ending::Later,
            EndOp::Fail { code, message } => {
                let message = match message {
                    Some(message) => self.frame.text(message)?,
                    None => Text::default(),
                };
                Ending::Failed(TryFailure::new(CLASS_FAILED, code, &message))
            }
        })
    }

    fn problem(&self, op: &ProblemOp) -> Result<Problem, Fault> {
        let detail = match &op.message {
            Some(message) => self.frame.text(message)?.into(),
            None => op.detail.clone(),
        };
        let mut problem = Problem::new(op.status, op.code.clone(), detail);
        for assign in &op.with {
            if let Some(value) = self.frame.value(&assign.value)? {
                problem.with.push((assign.attribute.clone(), value.into_owned()));
            }
        }
        if op.status == 503 {
            problem.retry_after = Some(1);
        }
        Ok(problem)
    }

    fn filler(&self) -> Filler<'_, Frame<'a>> {
        Filler { system: self.system, scope: &self.frame }
    }

    /// Asks the table.
    async fn ask<T>(&mut self, request: impl Into<Request>) -> Result<T, Error>
    where
        T: TryFrom<TableAnswer, Error = Error>,
    {
        let (kept, answering) = self.begin_to_ask(request.into());
        self.answered(kept, answering).await
    }

    /// Asks the table. The request is kept if someone wants to know.
    fn begin_to_ask(&mut self, request: Request) -> (Option<Request>, Asking<'a>) {
        let kept = self.trace.is_some().then(|| request.clone());
        self.writing = request.writes();
        (kept, self.runtime.backend.execute(request, self.deadline.into_std()))
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
        if let Some(capacity) = consumed(&answer) {
            self.capacity += capacity;
            if let (Some(trace), Some(request)) = (&mut self.trace, kept) {
                let outcome = outcome(&request, &answer);
                let request = blackened(self.system, request);
                trace.push(Step { request, outcome, capacity });
            }
        }
        T::try_from(answer?)
    }

    /// What a table's refusal means to the caller. What is behind it stays in the log.
    fn refused(&self, error: &Error) -> Ended {
        let contract = &self.contract.info.id;
        Ended::Refused(match error {
            Error::Conflict | Error::ConditionFailed(_) => return Ended::Again,
            Error::Invalid { reason, .. } => {
                tracing::warn!(%contract, %error, "the table refused a request");
                Problem::bad(reason.to_string())
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
            Error::OutcomeUnknown { .. } => {
                tracing::error!(%contract, %error, "the outcome of a write is unknown");
                unknown()
            }
        })
    }
}

const UNAVAILABLE: &str =
    "the store cannot be used now, and nothing was done; try again in a moment";

fn unknown() -> Problem {
    let detail = "it is not known whether this was done; read before you try again";
    Problem::later("outcome-unknown", detail)
}

/// An `Idempotency-Key` without its quotes.
fn bare(key: &str) -> Result<&str, Problem> {
    let bare = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    let visible = bare.bytes().all(|b| (b' '..=b'~').contains(&b));
    if bare.is_empty() || bare.len() > KEY_CHARS_MAX || !visible {
        let detail = format!("`Idempotency-Key` must have 1 to {KEY_CHARS_MAX} visible characters");
        return Err(Problem::bad(detail));
    }
    Ok(bare)
}
