//! The outbox of a queue outside the store: a send is a record in the transaction of its effect, and
//! is relayed to the queue afterwards.
//!
//! A record lies under `LATCHKEY#OUTBOX#{queue}#{shard}` and the time from which a sweep may take it.
//! Whoever commits one that is due relays it at once; a sweep leaves it alone for a while, and finds
//! it if they died. One that is due later waits for the sweep, however far off. It is removed once
//! the queue has answered and what follows the answer has been done: until then, a crash means that
//! it is relayed again.
//!
//! What is here builds requests and reads answers; whoever calls runs them on the backend.

use std::sync::Arc;

use latchkey_table::{
    Action, Comparator, Condition, Consistency, Delete, Item, Key, Leg, Map, Operand, Path, Put,
    Query, Resume, SortRange, Text, Update, Value,
};
use latchkey_value::limits::OUTBOX_SHARDS;

use crate::home::{Home, stamp};
use crate::limits::{PAGE_MAX, TIME_MAX};
use crate::message::{Message, number};

/// For how long a record is left to whoever relays it.
pub const CLAIM_MS: i64 = 15_000;

const KIND: &str = "LATCHKEY_OUTBOX";

const CLAIMED_UNTIL: &str = "claimedUntil";

/// Something to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    message: Message,
    due: i64,
    send: Text,
    kept: Map,
    claimed_until: Option<i64>,
    /// From when on a sweep may take it.
    sweep_at: i64,
}

impl Record {
    /// A message that is due at a time, for a sweep to relay then. `send` names the statement that sends it;
    /// `kept` is what is needed once the queue has answered.
    pub fn new(message: Message, due: i64, send: impl Into<Text>, kept: Map) -> Record {
        let due = due.clamp(0, TIME_MAX);
        Record { message, due, send: send.into(), kept, claimed_until: None, sweep_at: due }
    }

    /// The same, for whoever commits it to relay at once. A sweep leaves it to them for a while.
    #[must_use]
    pub fn relayed_at_once(self) -> Record {
        let sweep_at = self.message.sent_at().saturating_add(CLAIM_MS).clamp(0, TIME_MAX);
        Record { sweep_at, ..self }
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// When it is to be sent.
    pub fn due(&self) -> i64 {
        self.due
    }

    /// From when on a sweep may take it.
    pub fn sweep_at(&self) -> i64 {
        self.sweep_at
    }

    /// The record, due now, if it was to be relayed at once and would have to wait all the same: it is of a clock that
    /// was ahead.
    pub fn held_up(self, now: i64) -> Option<Record> {
        let sent_at = self.message.sent_at();
        let at_once = sent_at.saturating_add(CLAIM_MS).clamp(0, TIME_MAX);
        let late = self.sweep_at == at_once && self.sweep_at > now.saturating_add(CLAIM_MS);
        let due = if self.due <= sent_at { self.due.min(now) } else { self.due };
        late.then_some(Record { due, ..self })
    }

    /// The statement that sends it.
    pub fn send(&self) -> &Text {
        &self.send
    }

    /// What is needed once the queue has answered.
    pub fn kept(&self) -> &Map {
        &self.kept
    }

    /// Whether someone is at it: a sweep passes over it.
    pub fn is_claimed(&self, now: i64) -> bool {
        // No claim is longer: one that seems so is of a clock that was ahead.
        self.claimed_until.is_some_and(|until| until > now && until <= now.saturating_add(CLAIM_MS))
    }

    /// Writes it, as a leg of a transaction.
    pub fn leg(&self, home: &Home) -> Leg {
        let mut item = home.item(&self.key(home), KIND);
        self.message.write(&mut item);
        item.insert("dueAt", self.due);
        item.insert("send", self.send.clone());
        item.insert("kept", self.kept.clone());
        Leg::Put(Put { table: Arc::clone(home.table()), item, condition: None })
    }

    /// Claims it for whoever sweeps. Refused if it is gone or another has claimed it: without, all who
    /// sweep would send it.
    pub fn claim(&self, home: &Home, now: i64) -> Update {
        let claimed = || Path::attribute(CLAIMED_UNTIL);
        let compare = |comparator, at: i64| {
            Condition::Compare(Operand::Path(claimed()), comparator, Operand::from(at))
        };
        let until = now.saturating_add(CLAIM_MS);
        let over = compare(Comparator::LessOrEqual, now);
        let too_long = compare(Comparator::Greater, until);
        Update {
            table: Arc::clone(home.table()),
            key: self.key(home),
            actions: vec![Action::set(CLAIMED_UNTIL, until)],
            condition: Some(Condition::And(vec![
                Condition::Exists(Path::attribute("send")),
                Condition::Or(vec![Condition::Absent(claimed()), over, too_long]),
            ])),
        }
    }

    /// Removes it: the queue has answered, and what follows the answer is done.
    pub fn delete(&self, home: &Home) -> Delete {
        Delete { table: Arc::clone(home.table()), key: self.key(home), condition: None }
    }

    /// The record of an item; nothing if it cannot be read, which is logged and counted.
    pub fn read(home: &Home, mut item: Item) -> Option<Record> {
        let record = Record::parse(home, &mut item);
        if record.is_none() {
            home.cannot_read(&item);
        }
        record
    }

    fn parse(home: &Home, item: &mut Item) -> Option<Record> {
        let sweep_at = sweep_at(home, item)?;
        let Some(Value::Map(kept)) = item.remove("kept") else { return None };
        Some(Record {
            due: number(item, "dueAt")?,
            send: item.get("send")?.as_text()?.clone(),
            kept,
            claimed_until: number(item, CLAIMED_UNTIL),
            message: Message::read(item)?,
            sweep_at,
        })
    }

    fn key(&self, home: &Home) -> Key {
        let id = self.message.id();
        Key::new(home.outbox(shard(id)), format!("{}#{id}", stamp(self.sweep_at)))
    }
}

/// Asks for records of a shard that a sweep may take now, the oldest first.
pub fn due(home: &Home, shard: u64, now: i64, limit: usize, resume: Option<Resume>) -> Query {
    // No key ends with its time, so none equals the bound.
    let range = SortRange::Less(stamp(now.saturating_add(1)).into());
    sweep(home, shard, range, limit.clamp(1, PAGE_MAX), resume)
}

/// Asks for records of a shard that no sweep may take yet, the first of them first. Those that were
/// [to be relayed at once](Record::held_up) are among them if they were written by a clock that was ahead.
pub fn ahead(home: &Home, shard: u64, now: i64, limit: usize, resume: Option<Resume>) -> Query {
    let low = stamp(now.saturating_add(CLAIM_MS).saturating_add(1));
    let range = SortRange::Between(low.into(), "~".into());
    sweep(home, shard, range, limit.clamp(1, PAGE_MAX), resume)
}

/// From when on a sweep may take a record.
fn sweep_at(home: &Home, item: &Item) -> Option<i64> {
    home.table().key.of(item)?.sort.split('#').next()?.parse().ok()
}

/// Eventual reads do: what one sweep misses the next finds, and what it sees too long cannot be claimed.
fn sweep(home: &Home, shard: u64, range: SortRange, limit: usize, resume: Option<Resume>) -> Query {
    let query = home.query(home.outbox(shard), range, limit, resume);
    Query { consistency: Consistency::Eventual, ..query }
}

/// The shard of an id: FNV-1a, which spreads ids that differ in one letter.
fn shard(id: &str) -> u64 {
    let step = |hash: u64, b: u8| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    id.bytes().fold(0xcbf2_9ce4_8422_2325, step) % OUTBOX_SHARDS
}

#[cfg(test)]
mod tests;
