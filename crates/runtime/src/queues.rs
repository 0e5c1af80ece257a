//! The queues of a system: in the store itself, or outside it.

use std::sync::Arc;

use latchkey_queue::{Clock, Embedded, Home, Queue};
use latchkey_table::Text;

use crate::backend::{Backend, PrepareError};
use crate::clock::Source;
use crate::plan::System;

/// A queue of a system.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) queue: Queue,
    /// Its place in the table: of its messages, or of what is to be sent to it.
    pub(crate) home: Home,
    /// Whether it is outside the store, so that what is sent waits in an outbox.
    pub(crate) outside: bool,
}

/// The queues of a system, in its order.
pub(crate) fn lines(
    system: &System,
    backend: &Backend,
    source: &Arc<dyn Source>,
    mut outside: Vec<(Text, Queue)>,
) -> Result<Vec<Line>, PrepareError> {
    let mut lines = Vec::new();
    for queue in &system.queues {
        let home = system.home(queue)?;
        let given = outside.iter().position(|(name, _)| *name == queue.name);
        lines.push(match (given, backend) {
            (Some(at), _) => Line { queue: outside.swap_remove(at).1, home, outside: true },
            (None, Backend::Embedded(store)) => {
                let source = Arc::clone(source);
                let clock = Clock::new(move || source.now());
                let store = Arc::clone(store);
                let queue = Embedded::new(store, home.clone(), queue.lease_ms, clock);
                Line { queue: Queue::Embedded(queue), home, outside: false }
            }
            (None, Backend::DynamoDb(_)) => return Err(PrepareError::NoQueues),
        });
    }
    Ok(lines)
}

/// Says by the name of a queue what becomes of what is sent to it.
#[derive(Clone, Default)]
pub struct Sending(Option<Arc<Says>>);

/// What a queue of a name says.
type Says = dyn Fn(&str) -> Sent + Send + Sync;

/// What a queue says to what is sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It has taken it.
    Accepted,
    /// It will not take it.
    Refused,
}

impl Sending {
    /// Asks a function.
    pub fn new(says: impl Fn(&str) -> Sent + Send + Sync + 'static) -> Sending {
        Sending(Some(Arc::new(says)))
    }

    pub(crate) fn says(&self, queue: &str) -> Sent {
        self.0.as_ref().map_or(Sent::Accepted, |says| says(queue))
    }
}
