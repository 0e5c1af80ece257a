//! Where the items of a queue lie in a table.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_table::{
    Consistency, Direction, Item, Key, Query, Resume, Schema, SortRange, Text, Value,
};
use latchkey_value::id::is_id;
use latchkey_value::limits::OUTBOX_SHARDS;

use crate::limits::{NAME_BYTES_MAX, TIME_MAX};
use crate::{Error, Message, dead};

/// The group of messages that name none.
const NO_GROUP: &str = "latchkey";

/// The items of one queue in a table, all of them under keys that begin with `LATCHKEY#`.
#[derive(Debug, Clone)]
pub struct Home {
    table: Arc<Schema>,
    discriminator: Text,
    queue: Text,
    ordered_by: Option<Text>,
    ttl: Option<Text>,
    unreadable: Arc<Unreadable>,
}

/// Items that should be messages, records or letters and cannot be read.
#[derive(Debug, Default)]
struct Unreadable {
    count: AtomicU64,
    /// The keys that are in the log, so that a look that comes again does not fill it.
    told: Mutex<HashSet<Key>>,
}

/// Of how many items it is remembered that they are in the log.
const TOLD_MAX: usize = 1_000;

impl Home {
    /// The items of a queue. `discriminator` is the attribute that tells the table's entities apart.
    pub fn new(table: Arc<Schema>, discriminator: &str, queue: &str) -> Result<Home, Error> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if !(1..=NAME_BYTES_MAX).contains(&queue.len()) || !queue.bytes().all(fits) {
            return Err(Error::Name { name: queue.to_owned() });
        }
        let (discriminator, queue) = (discriminator.into(), queue.into());
        let unreadable = Arc::default();
        Ok(Home { table, discriminator, queue, ordered_by: None, ttl: None, unreadable })
    }

    /// The same, of a queue that keeps the order of messages that have the same value in a field.
    #[must_use]
    pub fn ordered_by(self, field: Option<Text>) -> Home {
        Home { ordered_by: field, ..self }
    }

    /// The same, with the attribute of the table that holds the second from which on an item may be removed. Without it
    /// dead letters are kept for ever.
    #[must_use]
    pub fn ending_by(self, ttl: Text) -> Home {
        Home { ttl: Some(ttl), ..self }
    }

    /// The attribute that holds the second from which on an item may be removed.
    pub(crate) fn ttl(&self) -> Option<&Text> {
        self.ttl.as_ref()
    }

    /// Whether the queue keeps an order.
    pub fn is_ordered(&self) -> bool {
        self.ordered_by.is_some()
    }

    /// The group of a message, where the queue keeps an order. A message that names none, or one that could
    /// forge a key, fits no worker's types; all such messages are one group.
    pub fn group(&self, message: &Message) -> Option<Text> {
        let field = self.ordered_by.as_ref()?;
        let group = message.body().get(field).and_then(Value::as_text);
        Some(group.filter(|group| is_id(group)).cloned().unwrap_or_else(|| Text::from(NO_GROUP)))
    }

    /// How many items were found that should be this queue's and cannot be read. Their keys are in the log. They
    /// are left where they are.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.count.load(Ordering::Relaxed)
    }

    /// Counts and logs an item that cannot be read, once.
    pub(crate) fn cannot_read(&self, item: &Item) {
        let mut told = self.unreadable.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = self.table.key.of(item);
        let known = key.as_ref().is_some_and(|key| told.contains(key));
        if known {
            return;
        }
        self.unreadable.count.fetch_add(1, Ordering::Relaxed);
        let (queue, place) = (&self.queue, key.as_ref().map(|key| (&key.partition, &key.sort)));
        tracing::error!(%queue, ?place, "an item of the queue cannot be read; it is left where it is");
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        told.extend(key);
    }

    /// The table.
    pub fn table(&self) -> &Arc<Schema> {
        &self.table
    }

    /// The queue's name.
    pub fn queue(&self) -> &Text {
        &self.queue
    }

    /// The partition of the messages that wait or are being worked on.
    pub(crate) fn messages(&self) -> Text {
        Text::from(format!("LATCHKEY#QUEUE#{}", self.queue))
    }

    /// The partition of the dead letters.
    pub(crate) fn letters(&self) -> Text {
        Text::from(format!("{}{}", dead::PARTITION, self.queue))
    }

    /// A partition of what is to be sent.
    pub(crate) fn outbox(&self, shard: u64) -> Text {
        Text::from(format!("LATCHKEY#OUTBOX#{}#{shard:02}", self.queue))
    }

    /// All of its partitions: of messages, of dead letters, of what is to be sent.
    pub fn partitions(&self) -> Vec<Text> {
        let outbox = (0..OUTBOX_SHARDS).map(|shard| self.outbox(shard));
        [self.messages(), self.letters()].into_iter().chain(outbox).collect()
    }

    /// An item of a key and a kind, and nothing else yet.
    pub(crate) fn item(&self, key: &Key, kind: &str) -> Item {
        let mut item = self.table.key.item(key);
        item.insert(self.discriminator.clone(), kind);
        item
    }

    /// Asks for the items of a range, the lowest first.
    pub(crate) fn query(
        &self,
        partition: Text,
        range: SortRange,
        limit: usize,
        resume: Option<Resume>,
    ) -> Query {
        Query {
            table: Arc::clone(&self.table),
            index: None,
            partition,
            range,
            filter: None,
            direction: Direction::Ascending,
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            resume,
            consistency: Consistency::Strong,
        }
    }
}

/// A time as a part of a key: of fixed width, so that keys sort as times do.
pub(crate) fn stamp(ms: i64) -> String {
    format!("{:015}", ms.clamp(0, TIME_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_sort_as_times_do() {
        let times = [i64::MIN, 0, 9, 10, 1_700_000_000_000, TIME_MAX, i64::MAX];
        let stamps: Vec<_> = times.map(stamp).to_vec();
        assert!(stamps.is_sorted());
        assert!(stamps.iter().all(|stamp| stamp.len() == 15));
        assert_eq!(stamps[0], stamps[1]);
        assert_eq!(stamps[5], stamps[6]);
    }

    #[test]
    fn names_that_could_forge_a_key_are_refused() {
        let table = Arc::new(Schema::new("Things"));
        let named = |name: &str| Home::new(Arc::clone(&table), "type", name).map(|_| ());
        let long = "x".repeat(NAME_BYTES_MAX);
        for name in ["a", "Orders-2_x", long.as_str()] {
            assert_eq!(named(name), Ok(()));
        }
        for name in ["", "a#b", "é", "a b", &format!("{long}x")] {
            assert_eq!(named(name), Err(Error::Name { name: name.to_owned() }));
        }
    }
}
