//! Sends: legs of a transaction, and what follows once the queue has answered.

use std::pin::Pin;

use latchkey_model::model::Told;
use latchkey_queue::Message;
use latchkey_table::{Map, Text};

use super::write::Legs;
use super::{Ended, Session, Task, perform};
use crate::evaluate::{Fault, Scope};
use crate::plan::{self, Failure};
use crate::problem::Problem;
use crate::runtime::Sent;
use crate::time;
use crate::work::Ending;

/// Something that is sent with a transaction.
pub(super) struct Sending<'a> {
    pub(super) send: &'a plan::Send,
    pub(super) due: i64,
    pub(super) sent: Sent,
    /// What is kept for what follows it.
    pub(super) kept: Map,
}

/// A queue refuses no leg.
static NEVER_REFUSED: Failure = Failure::Nothing;

impl<'a> Session<'a> {
    /// Fills a send. On the queue in the store it is a leg like any other.
    pub(super) fn fill_send(
        &mut self,
        send: &'a plan::Send,
        legs: &mut Legs<'a>,
    ) -> Result<(), Ended> {
        let Some(queue) = self.runtime.queues.get(send.queue) else { return Ok(()) };
        let body = self.filler().map(&send.values)?;
        let id = self.frame.text(&send.message)?;
        let due = match &send.at {
            Some(at) => time::parse(&self.frame.text(at)?).ok_or(Fault::OutOfRange)?,
            None => self.now,
        };
        let sent = match &send.refused {
            Some(_) => self.runtime.sending.says(queue.home().queue()),
            // Without a way to refuse it, it is sent until it is taken.
            None => Sent::Accepted,
        };
        if sent == Sent::Accepted {
            let message = Message::new(id, body, self.now);
            let message =
                message.map_err(|error| Ended::Refused(Problem::bad(error.to_string())))?;
            legs.legs.push(latchkey_queue::leg(queue.home(), message, due));
            legs.failures.push(&NEVER_REFUSED);
            legs.asked.push(None);
        }
        legs.sends.push(Sending { send, due, sent, kept: Map::new() });
        Ok(())
    }

    /// Tells the queues what was sent, and does what follows.
    pub(super) async fn sent(&mut self, sends: Vec<Sending<'a>>) {
        for Sending { send, due, sent, kept } in sends {
            let queue = self.runtime.queues.get(send.queue);
            let follow = match sent {
                Sent::Accepted => {
                    queue.into_iter().for_each(|queue| queue.sent(due));
                    send.accepted.as_ref()
                }
                Sent::Refused => send.refused.as_ref(),
            };
            if let Some(contract) = follow {
                self.follow(&send.id, contract, kept).await;
            }
        }
    }

    /// Runs what follows a send. It ends by itself, whatever becomes of the call. Boxed, for it may send.
    fn follow<'s>(
        &'s mut self,
        send: &'a Text,
        contract: &'a plan::Contract,
        kept: Map,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 's>> {
        Box::pin(async move {
            let told = vec![(Told::SentAt, self.frame.now.clone())];
            let (now, deadline, trace) = (self.now, self.deadline, self.trace.is_some());
            let task = Task { contract, given: &kept, told, now, deadline, trace };
            let worked = perform(self.runtime, task).await;
            self.capacity += worked.capacity;
            self.trace.iter_mut().for_each(|trace| trace.extend(worked.trace.iter().cloned()));
            if worked.ending != Ending::Done {
                let ending = &worked.ending;
                tracing::warn!(%send, ?ending, "what follows a send was not done");
            }
        })
    }
}
