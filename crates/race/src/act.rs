//! What runs in a search: a call, a message's delivery, or what follows a send; and what it comes to.

use std::sync::Arc;
use std::time::Duration;

use latchkey_queue::outbox::Record;
use latchkey_queue::{Message, TryFailure};
use latchkey_runtime::{Call, Ending, Outcome, Runtime, Sent, Work, Worked};
use latchkey_table::{Item, Text};
use latchkey_value::json;

/// Something that runs, at an instant.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) kind: Kind,
    /// The instant, in milliseconds.
    pub(crate) now: i64,
    /// The contract or worker, by its id in the model.
    pub(crate) body: Text,
}

/// What kind of thing runs.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A request of a caller.
    Call(Arc<Call>),
    /// A delivery of a message.
    Work {
        /// The queue.
        queue: Text,
        /// The message.
        message: Arc<Message>,
    },
    /// What is done about a message that was tried too often.
    Dead {
        /// The queue.
        queue: Text,
        /// The message.
        message: Arc<Message>,
    },
    /// What follows a send once the queue has answered.
    Follow {
        /// The record of the send.
        record: Arc<Record>,
        /// What the queue has answered.
        sent: Sent,
    },
}

/// What a call that ended tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status; 0 where nobody waits for an answer.
    pub(crate) status: u16,
    /// The body, or how the work ended.
    pub(crate) body: String,
    pub(crate) etag: Option<String>,
    pub(crate) found_at: Option<String>,
    /// The code of a problem.
    pub(crate) code: Option<Text>,
}

/// How long a call may take: a search decides by the schedule alone.
const TIME_MAX: Duration = Duration::from_hours(24);

impl Act {
    /// A call at an instant.
    pub(crate) fn call(call: Call, now: i64) -> Act {
        let body = call.contract.clone();
        let call = Call { at: Some(now), time_max: TIME_MAX, trace: false, ..call };
        Act { kind: Kind::Call(Arc::new(call)), now, body }
    }

    /// Whether it is an act of one of these contracts or workers, or follows a send of one.
    pub(crate) fn is_of(&self, ids: &[String]) -> bool {
        ids.iter().any(|id| {
            let rest = self.body.strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The same with an `Idempotency-Key` of its own, if it has one: calls with one key are one call.
    pub(crate) fn keyed(self, key: &str) -> Act {
        match &self.kind {
            Kind::Call(call) if call.idempotency_key.is_some() => {
                let call = Call { idempotency_key: Some(key.into()), ..Call::clone(call) };
                Act { kind: Kind::Call(Arc::new(call)), ..self }
            }
            Kind::Call(_) | Kind::Work { .. } | Kind::Dead { .. } | Kind::Follow { .. } => self,
        }
    }

    /// Runs it to its end. Nothing is told by one that stopped before: 503, `later`.
    pub(crate) async fn run(self, runtime: Runtime) -> Option<Reply> {
        match self.kind {
            Kind::Call(call) => answered(&runtime.call(Call::clone(&call)).await),
            Kind::Work { queue, message } => {
                let at = Some(self.now);
                let work = Work { at, time_max: TIME_MAX, ..Work::new(queue, message) };
                worked(&runtime.work(&work).await)
            }
            Kind::Dead { queue, message } => {
                let at = Some(self.now);
                let work = Work { at, time_max: TIME_MAX, ..Work::new(queue, message) };
                let [class, code, message] =
                    ["error", "gave-up", "tried too often"].map(Text::from);
                worked(&runtime.dead(&work, &TryFailure { class, code, message }).await)
            }
            Kind::Follow { record, sent } => {
                worked(&runtime.follow(&record, sent, self.now).await?)
            }
        }
    }
}

fn answered(outcome: &Outcome) -> Option<Reply> {
    let status = outcome.status();
    if status == 503 {
        return None;
    }
    Some(match &outcome.result {
        Ok(answer) => {
            let (etag, found_at) = (answer.etag.clone(), answer.found_at.clone());
            // The members of an object have no order.
            let read = json::read(answer.body.as_bytes(), json::Limits::default());
            let mut body = String::new();
            match read {
                Ok(value) => json::write(&value, &mut body),
                Err(_) => body.clone_from(&answer.body),
            }
            Reply { status, body, etag, found_at, code: None }
        }
        Err(problem) => {
            // What a person is told may differ between two statements of one code.
            let with = problem.with.iter().map(|(name, value)| (name.clone(), value.clone()));
            let mut members: Item = with.collect();
            members.insert("code", problem.code.clone());
            let mut body = String::new();
            json::write_map(&members, &mut body);
            let code = Some(problem.code.clone());
            Reply { status, body, etag: None, found_at: None, code }
        }
    })
}

fn worked(worked: &Worked) -> Option<Reply> {
    let (body, code) = match &worked.ending {
        Ending::Later => return None,
        Ending::Done => ("done".to_owned(), None),
        Ending::Failed(why) => (format!("failed: {}", why.message), Some(why.code.clone())),
    };
    Some(Reply { status: 0, body, etag: None, found_at: None, code })
}
