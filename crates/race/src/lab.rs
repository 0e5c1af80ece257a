//! What every run of a search shares: the system, ready to run on any table.

use std::sync::Arc;

use latchkey_model::Model;
use latchkey_queue::Home;
use latchkey_queue::outbox::Record;
use latchkey_runtime::{Options, Outside, Runtime, Storage, System};
use latchkey_table::Item;

use crate::machine::Stuck;
use crate::port::{Fixed, Port};
use crate::table::Table;

/// How the partitions of our own housekeeping begin.
const HOUSEKEEPING: &str = "LATCHKEY#";

/// What every run shares.
pub(crate) struct Lab {
    pub(crate) model: Model,
    pub(crate) system: Arc<System>,
    pub(crate) runtime: Runtime,
    /// The runtime of tokio, for the timers of calls.
    pub(crate) clock: tokio::runtime::Runtime,
    /// Where the sends of each queue wait.
    homes: Vec<Home>,
    /// Whether reads are those of the embedded store: none is torn, and none is out of date.
    pub(crate) embedded: bool,
}

impl Lab {
    pub(crate) fn new(model: Model, system: System, embedded: bool) -> Result<Lab, Stuck> {
        let stuck = |error: &dyn std::fmt::Display| Stuck(error.to_string());
        let clock = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let clock = clock.map_err(|error| stuck(&error))?;
        let system = Arc::new(system);
        let source = Arc::new(Fixed::new(0, 0));
        let options = Options { cursor_secret: b"a search".to_vec(), source };
        let storage = Storage::on(Arc::new(Port::default()));
        let outside = Outside::elsewhere(&system);
        let started = Runtime::start_with(Arc::clone(&system), storage, options, outside);
        let runtime = clock.block_on(started).map_err(|error| stuck(&error))?;
        let mut homes = Vec::new();
        for queue in system.queues() {
            let home =
                Home::new(system.own_table().clone(), &model.table.discriminator, queue.name);
            homes.push(home.map_err(|error| stuck(&error))?);
        }
        Ok(Lab { model, system, runtime, clock, homes, embedded })
    }

    /// The records of what was sent, each with its queue.
    pub(crate) fn sent(&self, table: &Table) -> Vec<(Home, Record)> {
        let items = table.items();
        let ours = items.iter().filter(|(key, _)| is_ours(&key.partition));
        ours.filter_map(|(key, item)| self.record(&key.partition, item)).collect()
    }

    /// The record of a send, by the partition of its item.
    pub(crate) fn record(&self, partition: &str, item: &Item) -> Option<(Home, Record)> {
        let home = self.homes.iter().find(|home| {
            let rest = partition.strip_prefix("LATCHKEY#OUTBOX#");
            rest.and_then(|rest| rest.rsplit_once('#'))
                .is_some_and(|(name, _)| name == *home.queue())
        })?;
        Some((home.clone(), Record::read(home, item.clone())?))
    }

    /// The worker of a queue.
    pub(crate) fn worker(&self, queue: &str) -> Option<&str> {
        self.system.queues().find(|info| info.name == queue)?.worker
    }
}

/// Whether an item is our own housekeeping.
pub(crate) fn is_ours(partition: &str) -> bool {
    partition.starts_with(HOUSEKEEPING)
}
