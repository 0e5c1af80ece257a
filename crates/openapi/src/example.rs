//! Examples: what the document's own `example` blocks send and expect, made to fit the schemas.
//!
//! A name such as `$next` stands for a value that only a run knows. Another value of the same kind takes its place. What
//! cannot be made to fit its schema is no example.

use std::collections::BTreeMap;

use latchkey_language::ast::{ExampleCall, ExampleStep};
use latchkey_model::Model;
use latchkey_value::{Map, Number, Text, Value, json, time};
use regex::Regex;

use crate::json::{Json, Object};
use crate::schema::ULID_PATTERN;

/// What takes the place of a name where a ULID must be.
const SOME_ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// What takes the place of a name where an instant must be.
const SOME_TIME: &str = "2026-02-25T10:00:00.000Z";

/// A request of an example, and the answer it must get.
pub(crate) struct Called {
    /// The texts at the parameters of the path, in order.
    pub(crate) parameters: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Option<Value>,
    pub(crate) status: u16,
    pub(crate) answer: Option<Value>,
}

/// The requests to each contract of a model, by the contract's place; those that succeed first.
pub(crate) fn calls(model: &Model) -> BTreeMap<usize, Vec<Called>> {
    let mut all: BTreeMap<usize, Vec<Called>> = BTreeMap::new();
    for step in model.examples.iter().flat_map(|example| &example.steps) {
        if let ExampleStep::Call(call) = step
            && let Some((contract, called)) = read(model, call)
        {
            all.entry(contract).or_default().push(called);
        }
    }
    all.values_mut().for_each(|calls| calls.sort_by_key(|called| called.status >= 300));
    all
}

fn read(model: &Model, call: &ExampleCall) -> Option<(usize, Called)> {
    let (path, query) = call.path.node.split_once('?').unwrap_or((&call.path.node, ""));
    let routes = model.routes(path);
    let (contract, parameters) = routes.into_iter().find(|(contract, _)| {
        contract.route.as_ref().is_some_and(|route| route.method.as_str() == call.method.node)
    })?;
    let place = model.contracts.iter().position(|own| std::ptr::eq(own, contract))?;
    let value = |text: &latchkey_language::Name| {
        json::read(text.node.as_bytes(), json::Limits::default()).ok()
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (body, answer) = (call.body.as_ref().and_then(value), call.answer.as_ref().and_then(value));
    let status = call.status.as_ref()?.node;
    Some((place, Called { parameters, query, body, status, answer }))
}

/// Makes values fit schemas.
pub(crate) struct Fit<'a> {
    /// The schemas that others refer to, by their names.
    pub(crate) schemas: &'a BTreeMap<String, Json>,
}

impl Fit<'_> {
    /// A text of a path or a query as a value of a schema.
    pub(crate) fn text(&self, schema: &Object, text: &str) -> Option<Json> {
        // What is encoded is not decoded here.
        if text.contains(['%', '+']) {
            return None;
        }
        let value = match types(schema).first().copied() {
            Some("string") => Value::Text(Text::from(text)),
            _ => json::read(text.as_bytes(), json::Limits::default()).ok()?,
        };
        self.value(schema, &value)
    }

    /// A value of a schema.
    pub(crate) fn value(&self, schema: &Object, value: &Value) -> Option<Json> {
        if let Some(name) = schema.get("$ref").and_then(Json::as_text) {
            let name = name.rsplit('/').next()?;
            return self.value(self.schemas.get(name)?.as_object()?, value);
        }
        if let Some(Json::List(all)) = schema.get("oneOf") {
            return all.iter().filter_map(Json::as_object).find_map(|one| self.value(one, value));
        }
        let kinds = types(schema);
        let nullable = kinds.contains(&"null") || schema.get("nullable").is_some();
        match (value, kinds.first().copied()) {
            (Value::Null, _) if nullable => Some(Json::Null),
            (Value::Text(text), Some("string")) => fit_text(schema, text),
            (Value::Number(number), Some("integer" | "number")) => fit_number(schema, *number),
            (Value::Bool(truth), Some("boolean")) => Some(Json::Bool(*truth)),
            (Value::List(all), Some("array")) => self.list(schema, all),
            (Value::Map(map), Some("object")) => {
                let required = match schema.get("required") {
                    Some(Json::List(names)) => names.iter().filter_map(Json::as_text).collect(),
                    _ => Vec::new(),
                };
                if required.iter().any(|name| map.get(name).is_none_or(is_absent)) {
                    return None;
                }
                self.members(schema, map)
            }
            // A schema that says nothing takes everything.
            (value, None) if !has_name(value) => Some(Json::from(value)),
            _ => None,
        }
    }

    /// The members of an object, in the order of its schema.
    fn members(&self, schema: &Object, map: &Map) -> Option<Json> {
        let none = Object::new();
        let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
        let mut members = Object::new();
        for (name, own) in &properties.0 {
            if let Some(value) = map.get(name).filter(|value| !is_absent(value)) {
                members = members.with(name, self.value(own.as_object()?, value)?);
            }
        }
        let open = schema.get("additionalProperties") == Some(&Json::Bool(true));
        for (name, value) in map.iter().filter(|(name, _)| properties.get(name).is_none()) {
            match is_absent(value) {
                true => {}
                false if open && !has_name(value) => members = members.with(name, value),
                false => return None,
            }
        }
        Some(members.into())
    }

    fn list(&self, schema: &Object, all: &[Value]) -> Option<Json> {
        let items = schema.get("items").and_then(Json::as_object)?;
        let bound = |name: &str| match schema.get(name) {
            Some(Json::Number(number)) => number.to_i64().and_then(|n| usize::try_from(n).ok()),
            _ => None,
        };
        let few = bound("minItems").is_some_and(|least| all.len() < least);
        if few || bound("maxItems").is_some_and(|most| all.len() > most) {
            return None;
        }
        let fit: Option<Vec<Json>> = all.iter().map(|value| self.value(items, value)).collect();
        fit.map(Json::List)
    }
}

/// The types that a schema allows.
fn types(schema: &Object) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::Text(kind)) => vec![kind.as_str()],
        Some(Json::List(kinds)) => kinds.iter().filter_map(Json::as_text).collect(),
        _ => Vec::new(),
    }
}

/// `"$absent"`: the member is not there.
fn is_absent(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text == "$absent")
}

/// Whether a text within a value has a name, whose value only a run knows.
fn has_name(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.contains('$'),
        Value::List(all) => all.iter().any(has_name),
        Value::Map(map) => map.iter().any(|(_, value)| has_name(value)),
        _ => false,
    }
}

fn fit_text(schema: &Object, text: &str) -> Option<Json> {
    if !text.contains('$') {
        return fits_text(schema, text).then(|| Json::from(text));
    }
    let is_ulid = schema.get("pattern").and_then(Json::as_text) == Some(ULID_PATTERN);
    let (before, behind) = text.split_once('$')?;
    let length = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let (name, after) = behind.split_at_checked(length.unwrap_or(behind.len()))?;
    let stand_ins =
        if is_ulid { [SOME_ULID, name, SOME_TIME] } else { [name, SOME_TIME, SOME_ULID] };
    let filled = stand_ins.into_iter().map(|stand_in| format!("{before}{stand_in}{after}"));
    let fit = filled.filter(|text| !text.contains('$')).find(|text| fits_text(schema, text));
    fit.map(Json::from)
}

fn fits_text(schema: &Object, text: &str) -> bool {
    let length = Number::from(u64::try_from(text.chars().count()).unwrap_or(u64::MAX));
    let listed = match schema.get("enum") {
        Some(Json::List(words)) => words.iter().any(|word| word.as_text() == Some(text)),
        _ => true,
    };
    let bound = |name: &str| match schema.get(name) {
        Some(Json::Number(number)) => Some(*number),
        _ => None,
    };
    let like = match schema.get("pattern").and_then(Json::as_text) {
        Some(pattern) => Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)),
        None => true,
    };
    let form = match schema.get("format").and_then(Json::as_text) {
        Some("date-time") => time::parse(text).is_some(),
        Some("date") => time::parse_date(text).is_some(),
        _ => true,
    };
    listed
        && like
        && form
        && bound("minLength").is_none_or(|least| least <= length)
        && bound("maxLength").is_none_or(|most| length <= most)
}

fn fit_number(schema: &Object, number: Number) -> Option<Json> {
    let whole = types(schema).contains(&"integer");
    let bound = |name: &str| match schema.get(name) {
        Some(Json::Number(bound)) => Some(*bound),
        _ => None,
    };
    let fits = (!whole || number.to_i64().is_some())
        && bound("minimum").is_none_or(|least| least <= number)
        && bound("maximum").is_none_or(|most| number <= most);
    fits.then_some(Json::Number(number))
}
