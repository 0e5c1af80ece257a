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
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        let text = carried.body().unwrap_or_default();
        let limits = json::Limits { levels_max: json::LEVELS_CEILING };
        let body = match json::read(text.as_bytes(), limits) {
            Ok(Value::Map(body)) => body,
            _ => Map::from([(TEXT, text)]),
        };
        let id = own(ID).or(carried.message_id()).unwrap_or_default();
        let group = system(System::MessageGroupId).map(Text::from);
        let (said, taken) = (number(own(SENT_AT)), number(system(System::SentTimestamp)));
        // Where SQS keeps an order, its own instant is that of the message's place.
        let sent_at = if group.is_some() { taken.or(said) } else { said.or(taken) };
        let sent_at = sent_at.unwrap_or(0);
        let begun = number(system(System::ApproximateReceiveCount)).unwrap_or(1);
        let tries = number(own(TRIES)).unwrap_or(0).saturating_add(begun);
        Ok(Envelope {
            message: Message::new(id, body, sent_at)?,
            due: number(own(DUE_AT)).unwrap_or(0),
            tries: u32::try_from(tries.max(1)).unwrap_or(u32::MAX),
            group,
        })
    }
}
