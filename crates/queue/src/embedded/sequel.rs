//! What follows a send, kept with its message: whoever sent it may have died before it was done.
//!
//! A process does what follows its own sends by itself. Each sends under the number of its life, and whoever receives a
//! message of another life does what follows its send first. A process that cannot tell whether it did what follows a
//! send begins another life, so that its earlier messages are such messages, too.

use latchkey_table::{Item, Map, Number, Text, Value};

use crate::message::number;

/// The attribute of a message that has it. Messages that an earlier release has sent are without it.
pub(super) const SEQUEL: &str = "accepted";

/// What follows a send once its message is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequel {
    /// The statement that sent the message.
    send: Text,
    /// What is needed to do it.
    kept: Map,
    /// When the message was sent, also where it counts as sent again since.
    sent_at: i64,
    /// The life that sent it.
    life: Number,
}

impl Sequel {
    pub(super) fn new(send: Text, kept: Map, life: u64) -> Sequel {
        Sequel { send, kept, sent_at: 0, life: life.into() }
    }

    /// The same, of a message that was sent at a time.
    pub(super) fn sent_at_time(self, sent_at: i64) -> Sequel {
        Sequel { sent_at, ..self }
    }

    /// The statement that sent the message.
    pub fn send(&self) -> &Text {
        &self.send
    }

    /// What is needed to do it.
    pub fn kept(&self) -> &Map {
        &self.kept
    }

    /// When the message was sent.
    pub fn sent_at(&self) -> i64 {
        self.sent_at
    }

    pub(super) fn is_of(&self, life: u64) -> bool {
        self.life == Number::from(life)
    }

    pub(super) fn write(&self, item: &mut Item) {
        let mut written = Map::new();
        written.insert("send", self.send.clone());
        written.insert("kept", self.kept.clone());
        written.insert("sentAt", self.sent_at);
        written.insert("life", self.life);
        item.insert(SEQUEL, written);
    }

    /// What an item says. None if it says what cannot be read.
    pub(super) fn read(item: &mut Item) -> Option<Option<Sequel>> {
        let mut written = match item.remove(SEQUEL) {
            None => return Some(None),
            Some(Value::Map(written)) => written,
            Some(_) => return None,
        };
        let Some(Value::Map(kept)) = written.remove("kept") else { return None };
        Some(Some(Sequel {
            send: written.get("send")?.as_text()?.clone(),
            kept,
            sent_at: number(&written, "sentAt")?,
            life: written.get("life").and_then(Value::as_number)?,
        }))
    }
}
