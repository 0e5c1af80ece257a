//! A recording as JSON, for the page that plays it. The same recording gives the same bytes.
//!
//! ```text
//! { "format": 1, "system": NAME, "discriminator": ATTRIBUTE,
//!   "places": [{ "name": TABLE OR INDEX, "partition": ATTRIBUTE, "sort": ATTRIBUTE? }…],
//!   "entities": [{ "name": NAME, "type": TEXT, "attributes": [NAME…] }…],
//!   "titles": { CONTRACT: TITLE… },
//!   "blocks": [{ "title": HEADING, "line": N }…],
//!   "asked": [{ "operation", "json": REQUEST, "reads": [{ "place": N, "partition": VALUE, "sort": VALUE? }…]? }…],
//!   "cut": WHY IT ENDS BEFORE THE EXAMPLES DO?,
//!   "steps": [{
//!     "block": N, "line": N?, "at": TIME, "contract": ID?,
//!     "call": { "by": { "id", "roles"?, "orgs"? } | null, "method", "path", "headers": [[NAME, VALUE]…]?, "body": TEXT?,
//!               "status": N, "code": TEXT?, "answerHeaders": [[NAME, VALUE]…]?, "answer": TEXT?, "wrong": TEXT? }
//!     | "work": { "queue", "tries": N, "ended": TEXT, "failed": BOOL }
//!     | "queue": { "queue", "mode": "works" | "holds" | "refuses" },
//!     "requests": [{ "asked": N, "outcome": TEXT, "rcu": N, "wcu": N }…]?,
//!     "rcu": N, "wcu": N,
//!     "statement": { "line": N, "text": TEXT }?,
//!     "changes": [{ "put": ITEM } | { "gone": ITEM }
//!               | { "key": [VALUE, VALUE?], "set": [{ "name": ATTRIBUTE, "was": VALUE?, "is": VALUE? }…] }…]?,
//!     "queues": [{ "queue": NAME, "was": [WAITING, DEAD], "is": [WAITING, DEAD] }…]? }…] }
//! ```
//!
//! What is marked `?` is left out where there is none. `places` begins with the table; the others are its indexes. An
//! item is in an index if it has the attributes of its key. A step holds only what it changed: `put`, `gone` and `set`
//! have all that is needed to apply them forward and backward. Values are as in answers: numbers that JavaScript cannot
//! hold exactly are texts, and so are bytes, in base64. `asked` has each request to the table once, as DynamoDB takes it;
//! steps name them by their places, since examples ask the same again and again.

use std::collections::HashMap;

use latchkey_http::Claims;
use latchkey_language::ast::QueueMode;
use latchkey_table::{Capacity, Item, KeyNames, Schema, Value};
use latchkey_value::json;
use serde_json::{Map, Value as Json, json};

use crate::recording::{
    Answered, Asked, Change, Changed, Did, QueueChange, Read, Recording, Step, Waiting,
};

/// The greatest integer up to which JavaScript holds all exactly.
const SAFE: i64 = 9_007_199_254_740_991;

impl Recording {
    /// The recording as JSON, in the format that the head of this module has.
    pub fn to_json(&self) -> String {
        let entities = self.entities.iter().map(|(name, kind, attributes)| {
            json!({ "name": name, "type": kind, "attributes": attributes })
        });
        let blocks = self.blocks.iter();
        let blocks = blocks.map(|block| json!({ "title": block.title, "line": block.line }));
        let mut asked = Asking::default();
        let steps: Vec<Json> = self.steps.iter().map(|step| self.step(step, &mut asked)).collect();
        let mut film = json!({
            "format": 1,
            "system": self.system,
            "discriminator": self.discriminator,
            "places": places(&self.table),
            "entities": entities.collect::<Vec<_>>(),
            "titles": self.titles,
            "blocks": blocks.collect::<Vec<_>>(),
            "steps": steps,
        });
        if let (Some(cut), Json::Object(film)) = (&self.cut, &mut film) {
            film.insert("cut".to_owned(), json!(cut));
        }
        // Requests are JSON already, with their members in DynamoDB's order; they are put in as they are.
        let film = film.to_string();
        let rest = film.strip_prefix('{').unwrap_or(&film);
        format!("{{\"asked\":[{}],{rest}", asked.all.join(","))
    }

    fn step<'a>(&'a self, step: &'a Step, asking: &mut Asking<'a>) -> Json {
        let mut told = Told::default();
        told.set("block", json!(step.block));
        told.some("line", step.line);
        told.set("at", json!(step.at));
        told.some("contract", step.contract.as_deref());
        let (name, did) = did(&step.did);
        told.set(name, did);
        let requests = step.requests.iter().map(|asked| {
            let mut told = Told::default();
            told.set("asked", json!(asking.place_of(self, asked)));
            told.set("outcome", json!(asked.outcome));
            told.capacity(asked.capacity);
            Json::Object(told.0)
        });
        told.list("requests", requests);
        told.capacity(step.capacity);
        told.some(
            "statement",
            step.statement.as_ref().map(|at| json!({ "line": at.line, "text": at.text })),
        );
        told.list("changes", step.changes.iter().map(|change| self.change(change)));
        told.list("queues", step.queues.iter().map(queue));
        Json::Object(told.0)
    }

    /// A request as a member of `asked`, without its outcome.
    fn asked(&self, asked: &Asked) -> String {
        let mut told = Told::default();
        told.set("operation", json!(asked.operation));
        told.list("reads", asked.reads.iter().map(|read| self.read(read)));
        let told = Json::Object(told.0).to_string();
        let rest = told.strip_prefix('{').unwrap_or(&told);
        format!("{{\"json\":{},{rest}", asked.json)
    }

    fn read(&self, read: &Read) -> Json {
        let index = read.index.as_ref();
        let at = index.and_then(|name| self.table.indexes.iter().position(|own| own.name == *name));
        let mut told = Told::default();
        told.set("place", json!(at.map_or(0, |at| at + 1)));
        told.set("partition", value(&read.partition));
        told.some("sort", read.sort.as_ref().map(value));
        Json::Object(told.0)
    }

    fn change(&self, change: &Change) -> Json {
        match &change.what {
            Changed::Put(put) => json!({ "put": item(put) }),
            Changed::Gone(gone) => json!({ "gone": item(gone) }),
            Changed::Set(attributes) => {
                let names = &self.table.key;
                let parts = names.iter().zip([&change.key.partition, &change.key.sort]);
                let key = parts.map(|(attribute, text)| value(&attribute.datum::<Value>(text)));
                let set = attributes.iter().map(|(name, was, is)| {
                    let mut told = Told::default();
                    told.set("name", json!(name.as_str()));
                    told.some("was", was.as_ref().map(value));
                    told.some("is", is.as_ref().map(value));
                    Json::Object(told.0)
                });
                json!({ "key": key.collect::<Vec<_>>(), "set": set.collect::<Vec<_>>() })
            }
        }
    }
}

/// The requests that were made, each once.
#[derive(Default)]
struct Asking<'a> {
    places: HashMap<(&'a str, &'a str), usize>,
    all: Vec<String>,
}

impl<'a> Asking<'a> {
    /// The place of a request. What it reads follows from the rest.
    fn place_of(&mut self, recording: &Recording, asked: &'a Asked) -> usize {
        let next = self.all.len();
        let place = *self.places.entry((asked.operation, asked.json.as_str())).or_insert(next);
        if place == next {
            self.all.push(recording.asked(asked));
        }
        place
    }
}

/// The members of an object; what there is none of is left out.
#[derive(Default)]
struct Told(Map<String, Json>);

impl Told {
    fn set(&mut self, name: &str, value: Json) {
        self.0.insert(name.to_owned(), value);
    }

    fn some<T>(&mut self, name: &str, value: Option<T>)
    where
        Json: From<T>,
    {
        if let Some(value) = value {
            self.set(name, Json::from(value));
        }
    }

    fn list(&mut self, name: &str, values: impl Iterator<Item = Json>) {
        let values: Vec<Json> = values.collect();
        if !values.is_empty() {
            self.set(name, Json::Array(values));
        }
    }

    fn capacity(&mut self, capacity: Capacity) {
        let halves = capacity.read_halves;
        // Half a unit is exact in binary.
        let rcu = if halves.is_multiple_of(2) { json!(halves / 2) } else { json!(half(halves)) };
        self.set("rcu", rcu);
        self.set("wcu", json!(capacity.write));
    }
}

/// Half of a small number.
fn half(halves: u64) -> f64 {
    f64::from(u32::try_from(halves).unwrap_or(u32::MAX)) / 2.0
}

fn places(table: &Schema) -> Json {
    let place = |name: &str, key: &KeyNames| {
        let mut told = Told::default();
        told.set("name", json!(name));
        told.set("partition", json!(key.partition.name.as_str()));
        told.some("sort", key.sort.as_ref().map(|sort| sort.name.as_str()));
        told
    };
    let indexes = table.indexes.iter().map(|index| place(&index.name, &index.key));
    let all = std::iter::once(place(&table.name, &table.key)).chain(indexes);
    Json::Array(all.map(|told| Json::Object(told.0)).collect())
}

fn did(did: &Did) -> (&'static str, Json) {
    match did {
        Did::Call(call) => ("call", answered(call)),
        Did::Work { queue, tries, ended, failed } => {
            ("work", json!({ "queue": queue, "tries": tries, "ended": ended, "failed": failed }))
        }
        Did::Queue { queue, mode } => {
            let mode = match mode {
                QueueMode::Works => "works",
                QueueMode::Holds => "holds",
                QueueMode::Refuses => "refuses",
            };
            ("queue", json!({ "queue": queue, "mode": mode }))
        }
    }
}

fn answered(call: &Answered) -> Json {
    let pair = |(name, value): &(String, String)| json!([name, value]);
    let mut told = Told::default();
    told.set("by", call.caller.as_ref().map_or(Json::Null, by));
    told.set("method", json!(call.method));
    told.set("path", json!(call.path));
    told.list("headers", call.headers.iter().map(pair));
    told.some("body", call.body.as_deref());
    told.set("status", json!(call.status));
    told.some("code", call.code.as_deref());
    told.list("answerHeaders", call.answer_headers.iter().map(pair));
    told.some("answer", Some(call.answer.as_str()).filter(|answer| !answer.is_empty()));
    told.some("wrong", call.wrong.as_deref());
    Json::Object(told.0)
}

fn by(claims: &Claims) -> Json {
    let mut told = Told::default();
    told.set("id", json!(claims.sub.as_str()));
    told.list("roles", claims.roles.iter().map(|role| json!(role.as_str())));
    told.list("orgs", claims.orgs.iter().map(|org| json!(org.as_str())));
    Json::Object(told.0)
}

fn queue(change: &QueueChange) -> Json {
    let pair = |waiting: Waiting| json!([waiting.waiting, waiting.dead]);
    json!({ "queue": change.queue, "was": pair(change.was), "is": pair(change.is) })
}

fn item(item: &Item) -> Json {
    Json::Object(item.iter().map(|(name, own)| (name.to_string(), value(own))).collect())
}

/// A stored value for a script.
fn value(stored: &Value) -> Json {
    match stored {
        Value::Text(text) => json!(text.as_str()),
        Value::Bool(is) => json!(is),
        Value::Null => Json::Null,
        Value::Number(number) => {
            let text = number.to_string();
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) if whole.abs() <= SAFE => json!(whole),
                (Err(_), Ok(part)) if part.to_string() == text => json!(part),
                _ => json!(text),
            }
        }
        Value::List(values) => Json::Array(values.iter().map(value).collect()),
        Value::Map(map) => item(map),
        Value::TextSet(set) => Json::Array(set.iter().map(|text| json!(text.as_str())).collect()),
        Value::NumberSet(set) => {
            Json::Array(set.iter().map(|number| value(&Value::Number(*number))).collect())
        }
        Value::Bytes(_) | Value::BytesSet(_) => {
            let mut text = String::new();
            json::write(stored, &mut text);
            // The writer writes JSON; if it did not, its text would be shown.
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
    }
}
