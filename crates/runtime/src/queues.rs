//! The queues of a system: in the store itself, or outside it.

use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_model::model::{IdVec, QueueId};
use latchkey_queue::{Clock, Embedded, Home, Queue};
use latchkey_table::{PrepareError, Text};

use crate::clock::Source;
use crate::plan::{self, System};
use crate::storage::StartError;

/// A queue of a system.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) queue: Queue,
    /// The partition of its messages in the table, or of its outbox.
    pub(crate) home: Home,
    /// If it is outside the store, so that what is sent waits in an outbox: how far ahead of its time it is
    /// sent a message.
    pub(crate) ahead_ms: Option<i64>,
}

impl Line {
    /// The queue, if its messages are items of the system's own table, so that a send or a removal is a leg of
    /// a transaction there.
    pub(crate) fn within(&self) -> Option<&Embedded> {
        match (&self.queue, self.ahead_ms) {
            (Queue::Embedded(queue), None) => Some(queue),
            _ => None,
        }
    }
}

/// A queue of a system that is outside its store.
#[derive(Debug, Clone)]
pub struct Outside {
    /// Its name in the document.
    pub name: Text,
    /// The queue.
    pub queue: Queue,
    /// How far ahead of its time it is sent a message, in milliseconds. What is due later waits in the outbox.
    pub ahead_ms: i64,
}

impl Outside {
    /// A queue by its name in the document.
    pub fn new(name: impl Into<Text>, queue: Queue) -> Outside {
        Outside { name: name.into(), ahead_ms: queue.ahead_ms(), queue }
    }

    /// All queues of a system, in a store on this machine that is not the one of its items.
    pub async fn in_store(
        system: &System,
        store: &Arc<Store>,
        source: &Arc<dyn Source>,
    ) -> Result<Vec<Outside>, StartError> {
        store.gather(&system.places()).await.map_err(PrepareError::from)?;
        store.create_table(&system.own_table).await.map_err(PrepareError::from)?;
        let queue = |queue: &plan::Queue| {
            let name = queue.name.clone();
            Ok(Outside::new(name, embedded(queue, system.home(queue)?, store, source)?))
        };
        system.queues.iter().map(queue).collect()
    }

    /// All queues of a system, out of this process's reach.
    pub fn elsewhere(system: &System) -> Vec<Outside> {
        let queue = |queue: &plan::Queue| Outside::new(queue.name.clone(), Queue::Elsewhere);
        system.queues.iter().map(queue).collect()
    }
}

fn embedded(
    queue: &plan::Queue,
    home: Home,
    store: &Arc<Store>,
    source: &Arc<dyn Source>,
) -> Result<Queue, StartError> {
    // From where all chance comes, so that a recording is the same each time.
    let mut life = [0; 8];
    source.random(&mut life).map_err(StartError::NoChance)?;
    let (source, steady) = (Arc::clone(source), Arc::clone(source));
    let clock = Clock::new(move || source.now()).with_steady(move || steady.steady());
    let embedded = Embedded::new(Arc::clone(store), home, queue.lease_ms, clock);
    Ok(Queue::Embedded(embedded.with_life(u64::from_le_bytes(life))))
}

/// The queues of a system, in its order.
pub(crate) fn lines(
    system: &System,
    store: Option<&Arc<Store>>,
    source: &Arc<dyn Source>,
    mut outside: Vec<Outside>,
) -> Result<IdVec<QueueId, Line>, StartError> {
    let mut lines = IdVec::default();
    for queue in &system.queues {
        let home = system.home(queue)?;
        let given = outside.iter().position(|given| given.name == queue.name);
        lines.push(match (given, store) {
            (Some(at), _) => {
                let Outside { queue, ahead_ms, .. } = outside.swap_remove(at);
                Line { queue, home, ahead_ms: Some(ahead_ms) }
            }
            (None, Some(store)) => {
                let queue = embedded(queue, home.clone(), store, source)?;
                Line { queue, home, ahead_ms: None }
            }
            (None, None) => return Err(StartError::NoQueues),
        });
    }
    Ok(lines)
}

/// Decides by the name of a queue where its messages are kept.
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
