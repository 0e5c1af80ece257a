//! A message as an item, and its two places: where it waits, and where it is held.
//!
//! A message lies under `DUE#{when}#{id}` while it waits and under `LEASE#{until}#{id}` while someone
//! holds it. Moving it is one transaction: a message is never in both, nor in neither.

use std::sync::Arc;

use latchkey_table::{Condition, Delete, Item, Key, Leg, Number, Put, SortRange, Text, Value};

use crate::home::{Home, stamp};
use crate::message::{Failure, Message, number};

/// What a message's item carries in the discriminator.
const KIND: &str = "LATCHKEY_MESSAGE";

/// When the message was first due; every message has it.
const DUE_AT: &str = "dueAt";

/// The lease a message is held by. No two leases are the same, so it fences: whoever names another no
/// longer holds the message.
const LEASE: &str = "lease";

/// One of the two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Those that wait, by when they are due.
    Waiting,
    /// Those that are held, by when the lease ends.
    Held,
}

impl Part {
    fn prefix(self) -> &'static str {
        match self {
            Part::Waiting => "DUE#",
            Part::Held => "LEASE#",
        }
    }

    fn sort(self, at: i64, id: &str) -> Text {
        Text::from(format!("{}{}#{id}", self.prefix(), stamp(at)))
    }

    /// The keys up to a time. No key ends with its time, so none equals a bound.
    pub(crate) fn until(self, now: i64) -> SortRange {
        let high = format!("{}{}", self.prefix(), stamp(now.saturating_add(1)));
        SortRange::Between(self.prefix().into(), high.into())
    }

    /// The keys after a time.
    pub(crate) fn after(self, now: i64) -> SortRange {
        let prefix = self.prefix();
        let low = format!("{prefix}{}", stamp(now.saturating_add(1)));
        SortRange::Between(low.into(), format!("{prefix}~").into())
    }

    /// All keys.
    pub(crate) fn all(self) -> SortRange {
        SortRange::BeginsWith(self.prefix().into())
    }
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) message: Arc<Message>,
    /// When it was first due.
    pub(crate) due_at: i64,
    /// How many tries were begun that count.
    pub(crate) tries: i64,
    /// The lease, where it is held.
    pub(crate) lease: Option<Number>,
    /// How the last try failed.
    pub(crate) failure: Option<Failure>,
    /// Where it lies.
    pub(crate) part: Part,
    /// The time of its place.
    pub(crate) at: i64,
}

impl Stored {
    /// A message that was never received.
    pub(crate) fn new(message: Message, due: i64) -> Stored {
        let (message, part, failure) = (Arc::new(message), Part::Waiting, None);
        Stored { message, due_at: due, tries: 0, lease: None, failure, part, at: due }
    }

    /// The message of an item; nothing if it is none.
    pub(crate) fn read(home: &Home, mut item: Item) -> Option<Stored> {
        let sort = home.table().key.of(&item)?.sort;
        let (part, rest) = [Part::Waiting, Part::Held]
            .into_iter()
            .find_map(|part| Some((part, sort.strip_prefix(part.prefix())?)))?;
        Some(Stored {
            part,
            at: rest.split('#').next()?.parse().ok()?,
            due_at: number(&item, DUE_AT)?,
            tries: number(&item, "tries")?,
            lease: item.get(LEASE).and_then(Value::as_number),
            failure: Failure::read(&item),
            message: Arc::new(Message::read(&mut item)?),
        })
    }

    /// Its key.
    pub(crate) fn key(&self, home: &Home) -> Key {
        Key::new(home.messages(), self.part.sort(self.at, self.message.id()))
    }

    /// Writes it where it lies.
    pub(crate) fn put(&self, home: &Home) -> Put {
        let mut item = home.item(&self.key(home), KIND);
        self.message.write(&mut item);
        item.insert(DUE_AT, self.due_at);
        item.insert("tries", self.tries);
        if let Some(lease) = self.lease {
            item.insert(LEASE, lease);
        }
        if let Some(failure) = &self.failure {
            failure.write(&mut item);
        }
        Put { table: Arc::clone(home.table()), item, condition: None }
    }

    /// Takes it away, if it is still there, and held by the same lease if it is held.
    pub(crate) fn delete(&self, home: &Home) -> Delete {
        let condition = match self.lease {
            Some(lease) => Condition::equals(LEASE, lease),
            None => Condition::Exists(DUE_AT.into()),
        };
        let (table, key) = (Arc::clone(home.table()), self.key(home));
        Delete { table, key, condition: Some(condition) }
    }

    /// Moves it from where it lies to where another says. Two legs, for an item's key does not change;
    /// one, where it stays.
    ///
    /// A message may have been sent twice under one id. Two that wait under one key are one again; two
    /// that are held are never, or two would hold what one can end.
    pub(crate) fn moved_to(&self, new: &Stored, home: &Home) -> Vec<Leg> {
        let (delete, mut put) = (self.delete(home), new.put(home));
        if delete.key == new.key(home) {
            return vec![Leg::Put(Put { condition: delete.condition, ..put })];
        }
        if new.part == Part::Held {
            put.condition = Some(Condition::Absent(DUE_AT.into()));
        }
        vec![Leg::Delete(delete), Leg::Put(put)]
    }

    /// It, held by a new lease.
    pub(crate) fn held(&self, lease: u64, until: i64) -> Stored {
        Stored {
            tries: self.tries.saturating_add(1),
            lease: Some(lease.into()),
            part: Part::Held,
            at: until,
            ..self.clone()
        }
    }

    /// It, waiting again.
    pub(crate) fn waiting(&self, until: i64) -> Stored {
        Stored { part: Part::Waiting, lease: None, at: until, ..self.clone() }
    }
}
