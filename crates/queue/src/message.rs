//! Messages, and what is told of them.

use latchkey_table::{Item, Map, Text, Value};
use latchkey_value::id::is_id;
use latchkey_value::limits::{
    FAILURE_CLASS_BYTES_MAX, FAILURE_CODE_BYTES_MAX, FAILURE_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX,
};

use crate::Error;

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    id: Text,
    body: Map,
    sent_at: i64,
}

/// How a try failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryFailure {
    /// What kind of failure it was.
    pub class: Text,
    /// Its name.
    pub code: Text,
    /// What a person is told.
    pub message: Text,
}

impl Message {
    /// A message of an id no other has, sent at a time in milliseconds.
    pub fn new(id: impl Into<Text>, body: Map, sent_at: i64) -> Result<Message, Error> {
        let id = id.into();
        if !is_id(&id) {
            return Err(Error::Id { id: id.into() });
        }
        match body.size() {
            bytes if bytes > MESSAGE_BYTES_MAX => Err(Error::TooLarge { bytes }),
            _ => Ok(Message { id, body, sent_at }),
        }
    }

    /// Its id.
    pub fn id(&self) -> &Text {
        &self.id
    }

    /// What it says.
    pub fn body(&self) -> &Map {
        &self.body
    }

    /// When it was sent.
    pub fn sent_at(&self) -> i64 {
        self.sent_at
    }

    /// The same message, sent at another time.
    #[must_use]
    pub fn sent_again(&self, sent_at: i64) -> Message {
        Message { sent_at, ..self.clone() }
    }

    /// Writes it into an item.
    pub(crate) fn write(&self, item: &mut Item) {
        item.insert("id", self.id.clone());
        item.insert("body", self.body.clone());
        item.insert("sentAt", self.sent_at);
    }

    /// The message of an item.
    pub(crate) fn read(item: &mut Item) -> Option<Message> {
        let id = item.get("id")?.as_text()?.clone();
        let sent_at = number(item, "sentAt")?;
        let Some(Value::Map(body)) = item.remove("body") else { return None };
        Some(Message { id, body, sent_at })
    }
}

impl TryFailure {
    /// A failure, each text cut to what is kept of it.
    pub fn new(class: &str, code: &str, message: &str) -> TryFailure {
        TryFailure {
            class: cut(class, FAILURE_CLASS_BYTES_MAX),
            code: cut(code, FAILURE_CODE_BYTES_MAX),
            message: cut(message, FAILURE_MESSAGE_BYTES_MAX),
        }
    }

    /// The failure of a try of which nobody said how it ended.
    pub fn crashed() -> TryFailure {
        let message = "its worker died, or was not done when its lease was over";
        TryFailure::new("CRASHED", "crashed", message)
    }

    /// Writes it into an item.
    pub(crate) fn write(&self, item: &mut Item) {
        item.insert("failureClass", self.class.clone());
        item.insert("failureCode", self.code.clone());
        item.insert("failureMessage", self.message.clone());
    }

    /// The failure of an item.
    pub(crate) fn read(item: &Item) -> Option<TryFailure> {
        let text = |name| item.get(name).and_then(Value::as_text).cloned();
        Some(TryFailure {
            class: text("failureClass")?,
            code: text("failureCode")?,
            message: text("failureMessage")?,
        })
    }
}

/// The beginning of a text that fits.
fn cut(text: &str, bytes_max: usize) -> Text {
    let mut kept = Text::default();
    for c in text.chars() {
        if kept.len() + c.len_utf8() > bytes_max {
            break;
        }
        kept.push(c);
    }
    kept
}

/// A whole number of an item.
pub(crate) fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name).and_then(Value::as_number)?.to_i64()
}

#[cfg(test)]
mod tests {
    use latchkey_value::id::ID_BYTES_MAX;

    use super::*;

    fn body(bytes: usize) -> Map {
        Map::from([("x", Value::from("x".repeat(bytes - 1).as_str()))])
    }

    #[test]
    fn a_body_has_a_limit() {
        assert!(Message::new("a", body(MESSAGE_BYTES_MAX), 0).is_ok());
        let bytes = MESSAGE_BYTES_MAX + 1;
        assert_eq!(Message::new("a", body(bytes), 0), Err(Error::TooLarge { bytes }));
    }

    #[test]
    fn an_id_cannot_forge_a_key() {
        let long = "x".repeat(ID_BYTES_MAX);
        for id in ["01J", "a.b_c:d@e|f-g", long.as_str()] {
            assert!(Message::new(id, Map::new(), 0).is_ok(), "{id}");
        }
        for id in ["", "a#b", "é", "a~", &format!("{long}x")] {
            assert_eq!(Message::new(id, Map::new(), 0), Err(Error::Id { id: id.to_owned() }));
        }
    }

    #[test]
    fn failures_are_cut_between_characters() {
        let failure = TryFailure::new(&"é".repeat(17), "CODE", &"x".repeat(2000));
        assert_eq!(failure.class, "é".repeat(16));
        assert_eq!(failure.code, "CODE");
        assert_eq!(failure.message.len(), FAILURE_MESSAGE_BYTES_MAX);
    }
}
