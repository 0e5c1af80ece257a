//! The request of an example: the contract that it reaches, and what is known of its inputs.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::ast::ExampleCall;
use latchkey_value::{Text, Value, id, json, time};

use super::known::Known;
use crate::model::{Contract, Input, InputId, NEXT_CURSOR, Page, Place};
use crate::types::Type;

/// What is known of a request.
pub(crate) struct Asked<'a> {
    pub(super) contract: &'a Contract,
    pub(super) inputs: BTreeMap<InputId, Known>,
    /// Whether every input is of its type; `None` where that is open.
    pub(crate) valid: Option<bool>,
    /// The inputs that are wrong or missing; `None` where one is open.
    pub(crate) wrong: Option<BTreeSet<String>>,
    /// Whether the version came in `If-Match`.
    pub(super) versioned: bool,
}

/// Whether a text has a name such as `$next`, whose value only a run knows.
pub(super) fn has_name(text: &str) -> bool {
    text.contains('$')
}

/// What is known of a request to a contract; `None` where the request cannot be read without running it.
pub(crate) fn asked<'a>(
    contract: &'a Contract,
    parameters: &[String],
    call: &ExampleCall,
    versioned: bool,
) -> Option<Asked<'a>> {
    let wrong = Some(BTreeSet::new());
    let mut reading = Reading { contract, given: BTreeMap::new(), valid: Some(true), wrong };
    let in_path = contract.inputs.enumerate().filter(|(_, input)| input.place == Place::Path);
    for ((id, input), text) in in_path.zip(parameters) {
        reading.take(id, input, Given::Text(text));
    }
    if let Some((_, query)) = call.path.node.split_once('?') {
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            reading.named(name, &Given::Text(value), Place::Query);
        }
    }
    if let Some(body) = &call.body {
        // A name outside of quotes stands for a number, which only a run knows.
        let Ok(Value::Map(map)) = json::read(body.node.as_bytes(), json::Limits::default()) else {
            return None;
        };
        for (name, value) in map {
            reading.named(&name, &Given::Json(&value), Place::Body);
        }
    }
    reading.missing(versioned);
    let Reading { given, valid, wrong, .. } = reading;
    Some(Asked { contract, inputs: given, valid, wrong, versioned })
}

/// An input as it stands in the example.
enum Given<'v> {
    Text(&'v str),
    Json(&'v Value),
}

struct Reading<'a> {
    contract: &'a Contract,
    given: BTreeMap<InputId, Known>,
    valid: Option<bool>,
    wrong: Option<BTreeSet<String>>,
}

impl Reading<'_> {
    /// An input is wrong.
    fn wrong(&mut self, name: &str) {
        self.valid = Some(false);
        if let Some(wrong) = &mut self.wrong {
            wrong.insert(name.to_owned());
        }
    }

    /// An input may be wrong.
    fn doubt(&mut self) {
        self.wrong = None;
        if self.valid == Some(true) {
            self.valid = None;
        }
    }

    fn named(&mut self, name: &str, given: &Given<'_>, place: Place) {
        if has_name(name) || name.contains(['%', '+']) {
            return self.doubt();
        }
        let found = self.contract.inputs.enumerate().find(|(_, input)| input.name == name);
        match found {
            Some((id, input)) if input.place == place => self.take(id, input, given.same()),
            Some(_) => self.wrong(name),
            None => self.paging(name, given),
        }
    }

    fn paging(&mut self, name: &str, given: &Given<'_>) {
        let Some(Page { max, sized_by, .. }) = self.contract.page() else {
            return self.wrong(name);
        };
        if name == NEXT_CURSOR {
            // Whose cursor it is, only a run knows.
            self.doubt();
        } else if name == sized_by {
            let kind = Type::Int { low: Some(1), high: Some(i64::from(max)) };
            self.judge(name, read(&kind, given));
        } else {
            self.wrong(name);
        }
    }

    fn take(&mut self, id: InputId, input: &Input, given: Given<'_>) {
        if matches!(given, Given::Json(Value::Null)) {
            // Null removes an optional attribute, and is refused elsewhere: what it is for, is not looked at.
            self.doubt();
            self.given.insert(id, Known::Open);
            return;
        }
        let known = self.judge(&input.name, read(&input.kind, &given));
        self.given.insert(id, known);
    }

    fn judge(&mut self, name: &str, read: Read) -> Known {
        match read {
            Read::Valid(value) => Known::Is(value),
            Read::Perhaps => {
                self.doubt();
                Known::There
            }
            Read::Wrong => {
                self.wrong(name);
                Known::Open
            }
        }
    }

    /// Judges what is not given. An `If-Match` may stand for a number.
    fn missing(&mut self, versioned: bool) {
        for (id, input) in self.contract.inputs.enumerate() {
            if self.given.contains_key(&id) || input.default.is_some() {
                continue;
            }
            let stands_in = versioned && matches!(input.kind, Type::Int { .. });
            if stands_in {
                self.given.insert(id, Known::Open);
            } else if input.optional {
                self.given.insert(id, Known::Absent);
            } else {
                self.wrong(&input.name);
            }
        }
    }
}

impl<'v> Given<'v> {
    fn same(&self) -> Given<'v> {
        match self {
            Given::Text(text) => Given::Text(text),
            Given::Json(value) => Given::Json(value),
        }
    }
}

/// Whether an input is of its type.
enum Read {
    Valid(Value),
    Perhaps,
    Wrong,
}

impl Read {
    fn valid(value: Option<Value>) -> Read {
        value.map_or(Read::Wrong, Read::Valid)
    }
}

fn read(kind: &Type, given: &Given<'_>) -> Read {
    let text: Option<Text> = match given {
        Given::Text(text) if text.contains(['%', '+']) => return Read::Perhaps,
        Given::Text(text) => Some(Text::from(*text)),
        Given::Json(Value::Text(text)) => Some(text.clone()),
        Given::Json(_) => None,
    };
    if text.as_ref().is_some_and(|text| has_name(text)) {
        return Read::Perhaps;
    }
    match (kind, text) {
        (Type::Id, text) => Read::valid(text.filter(|text| id::is_given_id(text)).map(Value::Text)),
        (Type::Ulid, text) => Read::valid(text.filter(|text| id::is_ulid(text)).map(Value::Text)),
        (Type::Time, text) => {
            Read::valid(text.and_then(|text| time::canonical(&text)).map(Value::Text))
        }
        (Type::Date, text) => {
            let is_date = |text: &Text| time::parse_date(text).is_some();
            Read::valid(text.filter(is_date).map(Value::Text))
        }
        (Type::Enum(words), text) => {
            let known = |text: &Text| words.iter().any(|word| word == text.as_str());
            Read::valid(text.filter(known).map(Value::Text))
        }
        (Type::Text { max: Some(max), like }, Some(text)) => read_text(*max, like.as_deref(), text),
        (Type::Text { max: Some(_), .. }, None) => Read::Wrong,
        (Type::Int { .. } | Type::Number { .. }, text) => read_number(kind, given, text),
        (Type::Bool, text) => match (given, text.as_deref()) {
            (Given::Json(value @ Value::Bool(_)), _) => Read::Valid((*value).clone()),
            (Given::Text(_), Some("true")) => Read::Valid(Value::Bool(true)),
            (Given::Text(_), Some("false")) => Read::Valid(Value::Bool(false)),
            _ => Read::Wrong,
        },
        _ => Read::Perhaps,
    }
}

fn read_text(max: u64, like: Option<&str>, text: Text) -> Read {
    let pattern = like.map(crate::lower::pattern);
    let fits = match &pattern {
        None => true,
        Some(Ok(pattern)) => pattern.is_match(&text),
        // The pattern has been refused.
        Some(Err(_)) => return Read::Perhaps,
    };
    let short = u64::try_from(text.len()).is_ok_and(|bytes| bytes <= max);
    Read::valid(Some(Value::Text(text)).filter(|_| fits && short))
}

fn read_number(kind: &Type, given: &Given<'_>, text: Option<Text>) -> Read {
    let number = match (given, text) {
        (Given::Json(value), _) => value.as_number(),
        (Given::Text(_), Some(text)) => {
            match json::read(text.as_bytes(), json::Limits::default()) {
                Ok(Value::Number(number)) => Some(number),
                _ => None,
            }
        }
        (Given::Text(_), None) => None,
    };
    let Some(number) = number else { return Read::Wrong };
    let within = match kind {
        Type::Int { low, high } => number.to_i64().is_some_and(|number| {
            low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
        }),
        Type::Number { low, high } => {
            low.is_none_or(|low| low <= number) && high.is_none_or(|high| number <= high)
        }
        _ => return Read::Perhaps,
    };
    Read::valid(Some(Value::Number(number)).filter(|_| within))
}
