//! Dead letters: messages that were given up, kept for 30 days, or until someone sends or removes them.
//!
//! They are items of a table whatever queue they come from, under `LATCHKEY#DEAD#{queue}` and their
//! id. What is here builds requests and reads answers; whoever calls runs them on the backend. A
//! letter that is written twice is one letter.

use std::sync::Arc;

use latchkey_table::{
    Condition, Consistency, Delete, Get, Item, Key, Leg, Path, Put, Query, Resume, SortRange,
    Transact,
};

use crate::limits::{LETTER_SECONDS_KEPT, PAGE_MAX};
use crate::message::number;
use crate::{Home, Message, TryFailure};

/// The partition keys of letters begin with this.
pub const PARTITION: &str = "LATCHKEY#DEAD#";

const KIND: &str = "LATCHKEY_DEAD";

const DIED_AT: &str = "diedAt";

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The message.
    pub message: Message,
    /// How often it was tried.
    pub tries: u32,
    /// How the last try failed.
    pub failure: TryFailure,
    /// When it was given up.
    pub died_at: i64,
}

/// Keeps a message that is given up now.
pub fn put(home: &Home, message: &Message, tries: u32, failure: &TryFailure, now: i64) -> Put {
    let mut item = home.item(&key(home, message.id()), KIND);
    message.write(&mut item);
    failure.write(&mut item);
    item.insert("tries", i64::from(tries));
    item.insert(DIED_AT, now);
    if let Some(ttl) = home.ttl() {
        item.insert(ttl.clone(), now.div_euclid(1_000).saturating_add(LETTER_SECONDS_KEPT));
    }
    Put { table: Arc::clone(home.table()), item, condition: None }
}

/// Asks for some letters, in the order of their ids.
pub fn query(home: &Home, limit: usize, resume: Option<Resume>) -> Query {
    home.query(home.letters(), SortRange::All, limit.clamp(1, PAGE_MAX), resume)
}

/// Asks for the letter of an id.
pub fn get(home: &Home, id: &str) -> Get {
    let (table, key) = (Arc::clone(home.table()), key(home, id));
    Get { table, key, consistency: Consistency::Strong }
}

/// The letter of an item; nothing if it cannot be read, which is logged and counted.
pub fn read(home: &Home, mut item: Item) -> Option<Letter> {
    let letter = parse(&mut item);
    if letter.is_none() {
        home.cannot_read(&item);
    }
    letter
}

fn parse(item: &mut Item) -> Option<Letter> {
    Some(Letter {
        tries: u32::try_from(number(item, "tries")?).ok()?,
        failure: TryFailure::read(item)?,
        died_at: number(item, DIED_AT)?,
        message: Message::read(item)?,
    })
}

/// Removes a letter, if it is there.
pub fn delete(home: &Home, id: &str) -> Delete {
    let (table, key) = (Arc::clone(home.table()), key(home, id));
    Delete { table, key, condition: Some(Condition::Exists(Path::attribute(DIED_AT))) }
}

/// Sends a letter's message by a leg of the caller's, and removes the letter: both or neither.
pub fn redrive(home: &Home, letter: &Letter, send: Leg) -> Transact {
    Transact { legs: vec![Leg::Delete(delete(home, letter.message.id())), send] }
}

fn key(home: &Home, id: &str) -> Key {
    Key::new(home.letters(), id)
}
