//! The record behind an `Idempotency-Key`: what a call answered, kept with its effect.
//!
//! The record is a leg of the transaction that has the effect, so there is never one without the other.
//! Where the answer cannot be told when the first effect is had, for more is asked of the table after it, a
//! claim without an answer goes with that effect, and the answer is put in its place at the end.
//! It is kept for a day; one that is older counts as absent, whether or not it has been removed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use latchkey_table::{Condition, Consistency, Datum, Get, Item, Key, Map, Path, Put, Text, Value};
use sha2::{Digest, Sha256};

use crate::answer::{Answer, NO_CONTENT};
use crate::bug::Damage;
use crate::evaluate::Inputs;
use crate::expiry;
use crate::json;
use crate::plan::{Contract, System};
use latchkey_model::model::Place;

/// The partition keys of records begin with this.
pub(crate) const PARTITION: &str = "LATCHKEY#IDEM#";

/// The sort key of every record.
pub(crate) const SORT: &str = "IDEM";

/// What records carry in the discriminator.
const TYPE: &str = "LATCHKEY_IDEM";

/// The attribute of a record that has no answer yet.
const CLAIM: &str = "claim";

/// How long a record is kept.
pub(crate) const KEPT_SECONDS: i64 = 24 * 60 * 60;

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

/// What a record is written with: the values of a call, or names for them.
#[derive(Debug)]
pub(crate) struct Written<V: Datum = Value> {
    pub(crate) key: Key<V::Text>,
    pub(crate) given: V,
    /// Now, in seconds.
    pub(crate) now: V,
    /// When the record is over, in seconds.
    pub(crate) expires: V,
}

/// What a record says of a call.
#[derive(Debug)]
pub(crate) enum Recorded {
    /// It was made, and answered so.
    Answer(Answer),
    /// A call of this name was made with something else given.
    Other,
    /// A call with this claim has been making the answer since this second; or that call broke off.
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
            key: Key::new(partition, SORT),
            given: BASE64.encode(given.finalize()),
            now_seconds: now.div_euclid(1000),
        }
    }

    /// How many seconds ago something was.
    pub(crate) fn seconds_since(&self, then: i64) -> i64 {
        self.now_seconds.saturating_sub(then)
    }

    /// What the call writes into its record.
    fn written(&self) -> Written {
        Written {
            key: self.key.clone(),
            given: Value::from(self.given.as_str()),
            now: Value::from(self.now_seconds),
            expires: Value::from(self.now_seconds.saturating_add(KEPT_SECONDS)),
        }
    }

    /// Asks for the record.
    pub(crate) fn get(&self, system: &System) -> Get {
        self.written().get(system)
    }

    /// Where the record is.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// What a record says, if it still counts.
    pub(crate) fn read(&self, system: &System, item: &Item) -> Result<Option<Recorded>, Damage> {
        let text = |name: &str| item.get(name).and_then(Value::as_text).map(|text| text.as_str());
        let number = |name: &str| item.get(name).and_then(Value::as_number)?.to_i64();
        let missing = |name: &str| Damage::Missing(name.into());
        if text(&system.discriminator) != Some(TYPE) {
            return Err(Damage::OtherType);
        }
        let expires = number(&system.ttl).ok_or_else(|| missing(&system.ttl))?;
        if expires <= self.now_seconds {
            return Ok(None);
        }
        if text("given").ok_or_else(|| missing("given"))? != self.given {
            return Ok(Some(Recorded::Other));
        }
        if let (Some(claim), None) = (text(CLAIM), number("status")) {
            let since = expires.saturating_sub(KEPT_SECONDS);
            return Ok(Some(Recorded::Claimed(claim.into(), since)));
        }
        let status = number("status").and_then(|status| u16::try_from(status).ok());
        let status = status.ok_or_else(|| missing("status"))?;
        let body = match text("body") {
            None if status == NO_CONTENT => "",
            body => body.ok_or_else(|| missing("body"))?,
        };
        Ok(Some(Recorded::Answer(Answer {
            status,
            body: body.to_owned(),
            etag: text("etag").map(str::to_owned),
            found_at: text("at").map(str::to_owned),
        })))
    }

    /// Claims the call with its first effect, where its answer cannot be told yet.
    pub(crate) fn claim(&self, system: &System, claim: &Text) -> Put {
        let mut put = self.written().put(system);
        put.item.insert(CLAIM, claim.clone());
        put
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
        let mut put = self.written().answered(
            system,
            Value::from(i64::from(answer.status)),
            // An empty text is no value to some versions of DynamoDB.
            Some(answer.body.as_str()).filter(|body| !body.is_empty()).map(Value::from),
            answer.etag.as_deref().map(Value::from),
            answer.found_at.as_deref().map(Value::from),
        );
        if let Some(claim) = claim {
            put.condition = Some(Condition::equals(Path::attribute(CLAIM), claim.clone()));
        }
        Some(put)
    }
}
impl<V: Datum> Written<V> {
    /// Asks for the record.
    pub(crate) fn get(&self, system: &System) -> Get<V> {
        let (table, key) = (system.own_table.clone(), self.key.clone());
        Get { table, key, consistency: Consistency::Strong }
    }

    /// The record of an answer, unless there is one that counts.
    pub(crate) fn answered(
        &self,
        system: &System,
        status: V,
        body: Option<V>,
        etag: Option<V>,
        found_at: Option<V>,
    ) -> Put<V> {
        let mut put = self.put(system);
        let members = [("status", Some(status)), ("body", body), ("etag", etag), ("at", found_at)];
        for (name, value) in members {
            if let Some(value) = value {
                put.item.insert(name, value);
            }
        }
        put
    }

    /// What every record has, unless there is one that counts.
    fn put(&self, system: &System) -> Put<V> {
        let names = &system.own_table.key;
        let mut item: Map<V> = names.item(&self.key);
        item.insert(system.discriminator.clone(), Value::from(TYPE));
        item.insert("given", self.given.clone());
        item.insert(system.ttl.clone(), self.expires.clone());
        let absent = Condition::Absent(Path::attribute(names.partition.name.clone()));
        let condition = Condition::Or(vec![absent, expiry::over(&system.ttl, self.now.clone())]);
        Put { table: system.own_table.clone(), item, condition: Some(condition) }
    }
}

/// Each part with its length, or two parts could be told as two others.
fn part(hash: &mut Sha256, text: &str) {
    hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    hash.update(text);
}

#[cfg(test)]
mod tests;
