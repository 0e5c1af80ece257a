//! One queue of a running system: a part of the runtime's door.

use latchkey_queue::{Embedded, Error, Queue, Received};

use crate::queues::Line;
use crate::runtime::Runtime;
use crate::work::Handled;

/// A queue of a running system, from [`Runtime::queue`].
#[derive(Debug, Clone, Copy)]
pub struct QueueHandle<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) line: &'a Line,
}

impl<'a> QueueHandle<'a> {
    /// The queue itself: where messages are received.
    pub fn queue(&self) -> &'a Queue {
        &self.line.queue
    }

    /// The queue itself, if it is an embedded one.
    pub fn embedded(&self) -> Option<&'a Embedded> {
        match self.queue() {
            Queue::Embedded(queue) => Some(queue),
            Queue::Sqs(_) | Queue::Elsewhere => None,
        }
    }

    /// Has the worker work on a message that was received, and tells the queue what became of it.
    pub async fn handle(&self, received: &Received) -> Result<Handled, Error> {
        self.runtime.handle(self.line.home.queue(), received).await
    }

    /// Gives up a message that the queue has given up by itself, without asking anyone.
    pub async fn give_up(&self, received: &Received) -> Result<Handled, Error> {
        self.runtime.give_up(self.line.home.queue(), received).await
    }
}
