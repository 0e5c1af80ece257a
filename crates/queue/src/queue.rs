//! One type for every queue.

use std::time::Duration;

use crate::{Depth, Embedded, Error, Message, Received, Sqs, TryFailure};

/// A queue, wherever it is.
///
/// What waits for SQS is put on the heap: its futures are large.
#[derive(Debug, Clone)]
pub enum Queue {
    /// In the store on this machine.
    Embedded(Embedded),
    /// On SQS.
    Sqs(Box<Sqs>),
    /// Out of this process's reach: what is sent waits in the outbox for one that reaches it.
    Elsewhere,
}

/// Nothing can be asked of a queue out of reach.
fn elsewhere<T>() -> Result<T, Error> {
    Err(Error::Unavailable { reason: "it is out of this process's reach".to_owned() })
}

/// How far ahead of its time the embedded queue is sent what waits in an outbox. It could be any: but a table
/// elsewhere outlives a directory of this machine.
const AHEAD_MS: i64 = 15 * 60 * 1_000;

impl Queue {
    /// How far ahead of its time it can be sent a message that waits in an outbox, in milliseconds.
    pub fn ahead_ms(&self) -> i64 {
        match self {
            Queue::Embedded(_) => AHEAD_MS,
            Queue::Sqs(queue) => queue.ahead_ms(),
            Queue::Elsewhere => 0,
        }
    }

    /// Sends a message by itself, to be received from a time on, and says when it was sent. It may be sent
    /// again if the answer is lost.
    pub async fn send(&self, message: &Message, due: i64) -> Result<i64, Error> {
        match self {
            Queue::Embedded(queue) => queue.send(message.clone(), due).await,
            Queue::Sqs(queue) => Box::pin(queue.send(message, due)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// Messages that are due: at most `max`, and none if none comes in time. Nobody else gets them until
    /// their leases are over.
    ///
    /// Of an ordered queue these are [runs](crate::runs), at most `max`: several messages of one group, in
    /// their order.
    pub async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, Error> {
        match self {
            Queue::Embedded(queue) => queue.receive(max, wait).await,
            Queue::Sqs(queue) => Box::pin(queue.receive(max, wait)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// The work is done; the message goes.
    pub async fn done(&self, received: &Received) -> Result<(), Error> {
        match self {
            Queue::Embedded(queue) => queue.done(received).await,
            Queue::Sqs(queue) => Box::pin(queue.done(received)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// Not yet: the message comes again, and this was no try.
    pub async fn later(&self, received: &Received, until: i64) -> Result<(), Error> {
        match self {
            Queue::Embedded(queue) => queue.later(received, until).await,
            Queue::Sqs(queue) => Box::pin(queue.later(received, until)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// The try failed: the message comes again.
    pub async fn failed(
        &self,
        received: &Received,
        until: i64,
        failure: TryFailure,
    ) -> Result<(), Error> {
        match self {
            Queue::Embedded(queue) => queue.failed(received, until, failure).await,
            Queue::Sqs(queue) => Box::pin(queue.failed(received, until, failure)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// Whether giving a message up keeps it as a dead letter. If not, the caller writes
    /// [`dead::put`](crate::dead::put) to its table first.
    pub fn keeps_letters(&self) -> bool {
        matches!(self, Queue::Embedded(_))
    }

    /// The message is given up.
    pub async fn dead(&self, received: &Received, failure: &TryFailure) -> Result<(), Error> {
        match self {
            Queue::Embedded(queue) => queue.dead(received, failure).await,
            Queue::Sqs(queue) => Box::pin(queue.done(received)).await,
            Queue::Elsewhere => elsewhere(),
        }
    }

    /// Gives back messages that were received and not worked on.
    pub async fn release(&self, received: Vec<Received>) {
        match self {
            Queue::Embedded(queue) => queue.release(received).await,
            Queue::Sqs(queue) => Box::pin(queue.release(received)).await,
            Queue::Elsewhere => {}
        }
    }

    /// How many messages could not be given back: they come again when their leases are over. The embedded queue
    /// keeps leases in this process, so it has none.
    pub fn not_given_back(&self) -> u64 {
        match self {
            Queue::Sqs(queue) => queue.not_given_back(),
            Queue::Embedded(_) | Queue::Elsewhere => 0,
        }
    }

    /// How full the queue is.
    pub async fn depth(&self) -> Result<Depth, Error> {
        match self {
            Queue::Embedded(queue) => queue.depth().await,
            Queue::Sqs(queue) => Box::pin(queue.depth()).await,
            Queue::Elsewhere => elsewhere(),
        }
    }
}
