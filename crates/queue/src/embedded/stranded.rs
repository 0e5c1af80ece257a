//! Messages of an embedded queue in a table whose queue is elsewhere by now: its items were moved.

use std::sync::Arc;

use latchkey_table::{Delete, Item, Query};

use super::sequel::Sequel;
use super::stored::{Part, Place, Stored, grouped};
use crate::limits::PAGE_MAX;
use crate::{Home, Message};

/// A message that lies where nobody receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stranded {
    /// The message.
    pub message: Arc<Message>,
    /// When it is due.
    pub due: i64,
    /// What follows its send, if that may not be done.
    pub sequel: Option<Arc<Sequel>>,
    /// Removes it, once its own queue has it.
    pub delete: Delete,
}

impl Stranded {
    /// Asks for messages that are due up to a time, those that were held when the table was moved among them.
    pub fn queries(home: &Home, until: i64) -> [Query; 3] {
        [grouped(), Part::Waiting.until(until), Part::Held.all()]
            .map(|range| home.query(home.messages(), range, PAGE_MAX, None))
    }

    /// The message of an item; nothing if it is none.
    pub fn read(home: &Home, item: Item) -> Option<Stranded> {
        let stored = Stored::read(home, item)?;
        let (table, key) = (Arc::clone(home.table()), stored.key(home));
        let due = match stored.place {
            Place::At(Part::Waiting, due) => due,
            Place::At(Part::Held, _) | Place::Group(..) => stored.due_at,
        };
        let delete = Delete { table, key, condition: None };
        let Stored { message, sequel, .. } = stored;
        Some(Stranded { message, due, sequel, delete })
    }
}
