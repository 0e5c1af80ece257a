//! A message as SQS carries it: its body as a text, the rest in attributes.

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{
    Message as Carried, MessageAttributeValue, MessageSystemAttributeName as System,
};
use latchkey_table::{Map, Text, Value};
use latchkey_value::json;
use latchkey_value::limits::MESSAGE_BYTES_MAX;

use crate::{Error, Message};

const ID: &str = "LatchkeyId";
const SENT_AT: &str = "LatchkeySentAt";
const DUE_AT: &str = "LatchkeyDueAt";
const TRIES: &str = "LatchkeyTries";

/// What the attributes take, at the most.
const ATTRIBUTES_BYTES_MAX: usize = 512;

/// Where a text is kept that is no message of ours, so that it is not lost when it is given up.
const TEXT: &str = "text";

/// A message on its way.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) message: Message,
    /// When it may be received: SQS itself waits for a quarter of an hour at most.
    pub(crate) due: i64,
    /// The tries it has behind it that SQS does not count.
    pub(crate) tries: u32,
    /// The group SQS has it in, on a FIFO queue that handed it out.
    pub(crate) group: Option<Text>,
}

impl Envelope {
    /// The body as a text.
    pub(crate) fn text(&self) -> Result<String, Error> {
        let mut text = String::new();
        json::write_map(self.message.body(), &mut text);
        match text.len().saturating_add(ATTRIBUTES_BYTES_MAX) {
            bytes if bytes > MESSAGE_BYTES_MAX => Err(Error::TooLarge { bytes }),
            _ => Ok(text),
        }
    }

    /// The attributes.
    pub(crate) fn attributes(&self) -> Result<Vec<(String, MessageAttributeValue)>, BuildError> {
        let values = [
            (ID, self.message.id().to_string()),
            (SENT_AT, self.message.sent_at().to_string()),
            (DUE_AT, self.due.to_string()),
            (TRIES, self.tries.to_string()),
        ];
        let attribute = |(name, value): (&str, String)| {
            let value = MessageAttributeValue::builder().data_type("String").string_value(value);
            Ok((name.to_owned(), value.build()?))
        };
        values.into_iter().map(attribute).collect()
    }

    /// Reads what SQS has handed out, whoever sent it. The tries are all that were begun, this one too.
    pub(crate) fn read(carried: &Carried) -> Result<Envelope, Error> {
        let own = |name: &str| carried.message_attributes()?.get(name)?.string_value();
        let system = |name| carried.attributes()?.get(&name).map(String::as_str);
        let own_number = |name: &'static str| number(name, own(name));
        let text = carried.body().ok_or_else(|| missing("body"))?;
        let limits = json::Limits { levels_max: json::LEVELS_CEILING };
        let body = match json::read(text.as_bytes(), limits) {
            Ok(Value::Map(body)) => body,
            _ => Map::from([(TEXT, text)]),
        };
        let id = own(ID).or(carried.message_id()).ok_or_else(|| missing("id"))?;
        let group = system(System::MessageGroupId).map(Text::from);
        let taken = number("SentTimestamp", system(System::SentTimestamp))?;
        let said = own_number(SENT_AT)?;
        // Where SQS keeps an order, its own instant is that of the message's place.
        let sent_at = if group.is_some() { taken.or(said) } else { said.or(taken) };
        let sent_at = sent_at.ok_or_else(|| missing("SentTimestamp"))?;
        let count = "ApproximateReceiveCount";
        let begun = number(count, system(System::ApproximateReceiveCount))?;
        let begun = begun.ok_or_else(|| missing(count))?;
        // Whoever else sends to the queue sets none of our attributes.
        let tries = own_number(TRIES)?.unwrap_or(0).saturating_add(begun);
        Ok(Envelope {
            message: Message::new(id, body, sent_at)?,
            due: own_number(DUE_AT)?.unwrap_or(0),
            tries: u32::try_from(tries.max(1)).unwrap_or(u32::MAX),
            group,
        })
    }
}

fn missing(what: &str) -> Error {
    Error::Unavailable { reason: format!("SQS handed out a message without its {what}") }
}

/// The number of an attribute, if the attribute is there.
fn number(name: &str, text: Option<&str>) -> Result<Option<i64>, Error> {
    let read = text.map(str::parse).transpose();
    read.map_err(|_| Error::Unavailable { reason: format!("`{name}` is not a number: {text:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A message that someone else has sent, less one part.
    fn carried(without: &str) -> Carried {
        let message = Carried::builder().message_id("m-1").body("{}");
        let message = match without {
            "body" => message.set_body(None),
            "id" => message.set_message_id(None),
            _ => message,
        };
        let attributes =
            [(System::SentTimestamp, "1700000000000"), (System::ApproximateReceiveCount, "2")];
        let attributes = attributes.into_iter().filter(|(name, _)| name.as_str() != without);
        attributes.fold(message, |message, (name, value)| message.attributes(name, value)).build()
    }

    // Each was read as 0, 1 or nothing: a message looked ages old, or was tried for ever.
    #[test]
    fn a_message_without_what_sqs_always_says_is_refused() {
        let whole = Envelope::read(&carried("")).expect("it is whole");
        assert_eq!((whole.message.sent_at(), whole.tries, whole.due), (1_700_000_000_000, 2, 0));
        for what in ["body", "id", "SentTimestamp", "ApproximateReceiveCount"] {
            let read = Envelope::read(&carried(what)).map(|envelope| envelope.message);
            assert_eq!(read, Err(missing(what)));
        }
    }

    #[test]
    fn an_attribute_that_is_not_a_number_is_refused() {
        for name in [SENT_AT, DUE_AT, TRIES] {
            let value = MessageAttributeValue::builder().data_type("String").string_value("soon");
            let value = value.build().expect("it is a text");
            let mut message = carried("");
            message.message_attributes = Some([(name.to_owned(), value)].into());
            let error = Envelope::read(&message).expect_err("it is not a number").to_string();
            assert!(error.contains(name) && error.contains("soon"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_message_is_read_or_refused(
            body in prop_oneof!["\\PC{0,60}", "\\{\"[a-z]\":[\\[\\]{}\",:0-9e.-]{0,30}\\}"],
            system in prop::collection::vec("(-?[0-9]{0,20}|\\PC{0,5})", 3),
            own in prop::collection::vec("(-?[0-9]{0,20}|\\PC{0,9})", 4),
        ) {
            let names = [System::SentTimestamp, System::ApproximateReceiveCount, System::MessageGroupId];
            let mut message = Carried::builder().message_id("m-1").body(body);
            for (name, value) in names.into_iter().zip(system) {
                message = message.attributes(name, value);
            }
            for (name, value) in [ID, SENT_AT, DUE_AT, TRIES].into_iter().zip(own) {
                let value = MessageAttributeValue::builder().data_type("String").string_value(value);
                message = message.message_attributes(name, value.build().unwrap());
            }
            if let Ok(envelope) = Envelope::read(&message.build()) {
                prop_assert!(envelope.tries >= 1);
                prop_assert!(envelope.text().is_ok());
            }
        }
    }
}
