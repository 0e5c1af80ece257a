//! One queue of a running system: a part of the runtime's door.

use latchkey_queue::{Embedded, Queue};

use crate::plan;
use crate::queues::Line;
use crate::runtime::Runtime;

/// A queue of a running system, from [`Runtime::queue`].
#[derive(Debug, Clone, Copy)]
pub struct QueueHandle<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) planned: &'a plan::Queue,
    pub(crate) line: &'a Line,
    /// Whether what a worker asks of the table is kept.
    pub(crate) trace: bool,
}

impl<'a> QueueHandle<'a> {
    /// The queue itself: where messages are received.
    pub fn queue(&self) -> &'a Queue {
        &self.line.queue
    }

    /// The same, which keeps what workers ask of the table, in [`Worked::trace`](crate::Worked::trace).
    #[must_use]
    pub fn traced(self) -> QueueHandle<'a> {
        QueueHandle { trace: true, ..self }
    }

    /// Whether a worker of the document works through it.
    pub fn has_worker(&self) -> bool {
        self.planned.worker.is_some()
    }

    /// The queue itself, if it is an embedded one.
    pub fn embedded(&self) -> Option<&'a Embedded> {
        match self.queue() {
            Queue::Embedded(queue) => Some(queue),
            Queue::Sqs(_) | Queue::Elsewhere => None,
        }
    }
}
