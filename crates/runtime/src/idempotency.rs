//! The record behind an `Idempotency-Key`: what a call answered, kept with its effect.
//!
//! The record is a leg of the transaction that has the effect, so there is never one without the other.
//! Where the answer cannot be told when the first effect is had, for more is asked of the table after it, a
//! claim without an answer goes with that effect, and the answer is put in its place at the end.
//! It is kept for a day; one that is older counts as absent, whether or not it has been removed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use latchkey_table::{
    Comparator, Condition, Consistency, Get, Item, Key, Number, Operand, Path, Put, Text, Value,
};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::evaluate::Inputs;
use crate::json;
use crate::plan::{Contract, System};
use latchkey_model::model::Place;

/// The partition keys of records begin with this.
pub(crate) const PARTITION: &str = "LATCHKEY#IDEM#";

/// The attribute that says when a record is over, in seconds since 1970: DynamoDB's own expiry reads it.
pub(crate) const EXPIRES: &str = latchkey_table::EXPIRY_ATTRIBUTE;

/// The attribute of a record that has no answer yet.
const CLAIM: &str = "claim";

/// How long a record is kept.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The longest key a caller can choose.
pub(crate) const KEY_CHARS_MAX: usize = 255;

/// The longest answer that can be kept: a record is an item like any other.
const ANSWER_BYTES_MAX: usize = 380 * 1024;

/// A call that is named, so that it is made once.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    key: Key,
    /// What was given: another body under the same name is a mistake.
    given: String,
    now_seconds: i64,
}

/// What a record says of a call.
#[derive(Debug)]
pub(crate) enum Recorded {
    /// It was made, and answered so.
    Answer(Answer),
    /// A call of this name was made with something else given.
    Other,
    /// It is being made, by whoever has this claim, since this second; or it broke off.
    Claimed(Text, i64),
}

impl Named {
    /// Names a call by its caller, its contract, its path and the caller's key.
    pub(crate) fn new(
        system: &System,
        contract: &Contract,
        caller: &str,
        inputs: &Inputs,
        tag: &str,
        key: &str,
        now: i64,
    ) -> Named {
        let mut name = Sha256::new();
        let mut given = Sha256::new();
        for text in [&system.name, caller, &contract.info.id, key] {
            part(&mut name, text);
        }
        part(&mut given, tag);
        let mut text = String::new();
        for (input, value) in contract.inputs.iter().zip(inputs) {
            text.clear();
            if let Some(value) = value {
                json::write(value, &mut text);
            }
            part(if input.place == Place::Path { &mut name } else { &mut given }, &text);
        }
        let partition = format!("{PARTITION}{}", BASE64.encode(name.finalize()));
        Named {
            key: Key::new(partition, "IDEM"),
            given: BASE64.encode(given.finalize()),
            now_seconds: now.div_euclid(1000),
        }
    }

    /// How many seconds ago something was.
    pub(crate) fn seconds_since(&self, then: i64) -> i64 {
        self.now_seconds.saturating_sub(then)
    }

    /// Asks for the record.
    pub(crate) fn get(&self, system: &System) -> Get {
        let (table, key) = (system.table.clone(), self.key.clone());
        Get { table, key, consistency: Consistency::Strong }
    }

    /// What a record says, if it still counts.
    pub(crate) fn read(&self, item: &Item) -> Option<Recorded> {
        let text = |name: &str| item.get(name).and_then(Value::as_text).map(|text| text.as_str());
        let number = |name: &str| item.get(name).and_then(Value::as_number)?.to_i64();
        if number(EXPIRES)? <= self.now_seconds {
            return None;
        }
        if text("given")? != self.given {
            return Some(Recorded::Other);
        }
        if let (Some(claim), None) = (text(CLAIM), number("status")) {
            let since = number(EXPIRES)?.saturating_sub(KEPT_SECONDS);
            return Some(Recorded::Claimed(claim.into(), since));
        }
        Some(Recorded::Answer(Answer {
            status: u16::try_from(number("status")?).ok()?,
            body: text("body")?.to_owned(),
            etag: text("etag").map(str::to_owned),
            found_at: text("at").map(str::to_owned),
        }))
    }

    /// Claims the call with its first effect, where its answer cannot be told yet.
    pub(crate) fn claim(&self, system: &System, claim: &Text) -> Put {
        let mut item = self.item(system);
        item.insert(CLAIM, claim.clone());
        Put { table: system.table.clone(), item, condition: Some(self.free(system)) }
    }

    /// What every record has.
    fn item(&self, system: &System) -> Item {
        let mut item = system.table.key.item(&self.key);
        item.insert(system.discriminator.clone(), "LATCHKEY_IDEM");
        item.insert("given", self.given.as_str());
        item.insert(EXPIRES, self.now_seconds.saturating_add(KEPT_SECONDS));
        item
    }

    /// Whether there is no record that counts.
    fn free(&self, system: &System) -> Condition {
        let partition = system.table.key.partition.clone();
        let absent = Condition::Absent(Path::attribute(partition));
        Condition::Or(vec![absent, expired(self.now_seconds)])
    }

    /// Writes the record, unless there is one that counts and is not our own claim; nothing if the answer
    /// is too long to keep.
    pub(crate) fn put(
        &self,
        system: &System,
        answer: &Answer,
        claim: Option<&Text>,
    ) -> Option<Put> {
        if answer.body.len() > ANSWER_BYTES_MAX {
            return None;
        }
        let mut item = self.item(system);
        item.insert("status", i64::from(answer.status));
        item.insert("body", answer.body.as_str());
        if let Some(etag) = &answer.etag {
            item.insert("etag", etag.as_str());
        }
        if let Some(at) = &answer.found_at {
            item.insert("at", at.as_str());
        }
        let condition = Some(match claim {
            Some(claim) => Condition::equals(Path::attribute(CLAIM), claim.clone()),
            None => self.free(system),
        });
        Some(Put { table: system.table.clone(), item, condition })
    }
}

/// Whether a record is over by now.
pub(crate) fn expired(now_seconds: i64) -> Condition {
    let now = Operand::Value(Value::Number(Number::from(now_seconds)));
    Condition::Compare(Operand::Path(Path::attribute(EXPIRES)), Comparator::LessOrEqual, now)
}

/// Each part with its length, or two parts could be told as two others.
fn part(hash: &mut Sha256, text: &str) {
    hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    hash.update(text);
}

#[cfg(test)]
mod tests;
