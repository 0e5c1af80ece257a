//! The requests of a contract to the table, each with its keys as templates.

use latchkey_model::Model;
use latchkey_model::model::{KeyAttribute, KeyNames};
use latchkey_runtime::Asked;
use latchkey_value::name::key_attributes;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::Subject;
use crate::shown::shown;
use crate::template::{self, Piece};

/// The most keys of one request that are drawn; the JSON has all of them.
const KEYS_MAX: usize = 8;

/// A request as it is drawn.
#[derive(Debug, PartialEq, Eq)]
struct Drawn {
    operation: String,
    /// The table, if it is the one of Latchkey's own items.
    apart: Option<String>,
    index: Option<String>,
    /// The keys, each with its parts.
    keys: Vec<Vec<Part>>,
    /// How many keys are not drawn.
    more: usize,
}

impl Drawn {
    /// Whether it is of the record of a call that has an `Idempotency-Key`.
    fn is_record(&self) -> bool {
        let first =
            self.keys.first().and_then(|key| key.first()).and_then(|part| part.values.first());
        first.is_some_and(|value| value.starts_with("LATCHKEY#IDEM#"))
    }
}

/// A part of a key: an attribute and what it is compared with, or is.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: String,
    /// The words between the attribute and the values.
    how: &'static str,
    values: Vec<String>,
}

pub(super) fn cards(subject: Subject<'_>, asked: &[Asked]) -> Markup {
    // Ways that differ in nothing that is drawn are one.
    let mut all: Vec<(Drawn, Vec<&str>)> = Vec::new();
    for one in asked {
        let drawn = draw(subject.model, one);
        match all.last_mut().filter(|(last, _)| *last == drawn) {
            Some((_, ways)) => ways.push(&one.json),
            None => all.push((drawn, vec![&one.json])),
        }
    }
    // What few calls have comes last.
    all.sort_by_key(|(drawn, _)| drawn.is_record());
    html! {
        section.card.keys aria-labelledby="keys-title" {
            header {
                h2 #keys-title { "Keys" }
                p.muted.small { "What is asked of " code { (shown(&subject.model.table.name)) } ", in order" }
            }
            @if all.is_empty() { p.muted { "Nothing is asked of the table." } }
            ol.requests {
                @for (drawn, ways) in &all { li { (request(subject, drawn, ways)) } }
            }
        }
    }
}

fn request(subject: Subject<'_>, drawn: &Drawn, ways: &[&str]) -> Markup {
    html! {
        details.request {
            summary {
                span.request-head {
                    strong.operation { (drawn.operation) }
                    @if let Some(table) = &drawn.apart { span.pill { "table " (shown(table)) } }
                    @if let Some(index) = &drawn.index { span.pill { "index " (shown(index)) } }
                    @if drawn.is_record() { span.muted.small { "only with an Idempotency-Key" } }
                    @if ways.len() > 1 { span.muted.small { (ways.len()) " ways" } }
                }
                @for key in drawn.keys.iter().filter(|key| !key.is_empty()) {
                    span.key { @for part in key { (drawn_part(subject, part)) } }
                }
                @if drawn.more > 0 { span.muted.small { "and " (drawn.more) @if drawn.more == 1 { " more key" } @else { " more keys" } } }
                @if drawn.keys.is_empty() { span.muted.small { "all partitions, in the table's own order" } }
            }
            @for way in ways { pre.json { code { (shown(way)) } } }
        }
    }
}

fn drawn_part(subject: Subject<'_>, part: &Part) -> Markup {
    html! {
        span.part {
            span.part-name { (shown(&part.name)) }
            " " span.part-how { (part.how) } " "
            span.template {
                @for (at, value) in part.values.iter().enumerate() {
                    @if at > 0 { span.part-how { " and " } }
                    @for piece in template::pieces(value) { (drawn_piece(subject, &piece)) }
                }
            }
        }
    }
}

fn drawn_piece(subject: Subject<'_>, piece: &Piece) -> Markup {
    match piece {
        Piece::Text(text) => html! { (shown(text)) },
        Piece::Hole { name, form } => {
            let known = (name == "caller.id" && form.is_none())
                .then_some(subject.visitor.claims.sub.as_str());
            template::chip(name, form.as_deref(), known)
        }
    }
}

/// What is drawn of a request.
fn draw(model: &Model, asked: &Asked) -> Drawn {
    // The JSON is our own. What were not an object would be drawn without keys.
    let whole: Value = serde_json::from_str(&asked.json).unwrap_or_default();
    let body = whole.get(asked.operation).unwrap_or(&whole);
    let index = body.get("IndexName").and_then(Value::as_str);
    let apart = table_of(body).filter(|table| *table != model.table.name);
    let own = own_names();
    let names = match (apart, index) {
        // Latchkey's own items have keys of two texts, whatever those of the document are.
        (Some(_), _) => Some(&own),
        (None, None) => Some(&model.table.key),
        (None, Some(index)) => {
            model.indexes.iter().find(|own| own.name == index).map(|own| &own.key)
        }
    };
    let mut keys = names.map_or_else(Vec::new, |names| keys(names, body));
    if let Some(item) = body.get("Item").and_then(Value::as_object) {
        keys.extend(places(model, item));
    }
    let more = keys.len().saturating_sub(KEYS_MAX);
    keys.truncate(KEYS_MAX);
    let (apart, index) = (apart.map(str::to_owned), index.map(str::to_owned));
    Drawn { operation: asked.operation.to_owned(), apart, index, keys, more }
}

/// The names of a key of Latchkey's own items.
fn own_names() -> KeyNames {
    let [partition, sort] = key_attributes(None).map(|name| KeyAttribute { name, number: false });
    KeyNames { partition, sort: Some(sort) }
}

/// The table that a request is of; that of the first leg, where it has several.
fn table_of(body: &Value) -> Option<&str> {
    let own = body.get("TableName").and_then(Value::as_str);
    let batch = || body.get("RequestItems")?.as_object()?.keys().next().map(String::as_str);
    let leg = || {
        let first = body.get("TransactItems")?.as_array()?.first()?.as_object()?;
        first.values().next()?.get("TableName")?.as_str()
    };
    own.or_else(batch).or_else(leg)
}

fn keys(names: &KeyNames, body: &Value) -> Vec<Vec<Part>> {
    if let Some(condition) = body.get("KeyConditionExpression").and_then(Value::as_str) {
        return vec![conditions(condition, body)];
    }
    let object = |value: &Value| value.as_object().map(|item| key(names, item));
    if let Some(own) = body.get("Key").or_else(|| body.get("Item")) {
        return object(own).into_iter().collect();
    }
    if let Some(tables) = body.get("RequestItems").and_then(Value::as_object) {
        let all = tables.values().filter_map(|table| table.get("Keys")?.as_array());
        return all.flatten().filter_map(object).collect();
    }
    let legs = body.get("TransactItems").and_then(Value::as_array);
    let legs = legs.into_iter().flatten().filter_map(Value::as_object);
    legs.flat_map(Map::values).flat_map(|leg| keys(names, leg)).collect()
}

/// The key in an item.
fn key(names: &KeyNames, item: &Map<String, Value>) -> Vec<Part> {
    let part = |name: &str| {
        let value = item.get(name)?;
        Some(Part { name: name.to_owned(), how: "=", values: vec![plain(value)] })
    };
    names.iter().filter_map(|attribute| part(&attribute.name)).collect()
}

/// The places that an item has in indexes, by keys that are not those of the table.
fn places(model: &Model, item: &Map<String, Value>) -> Vec<Vec<Part>> {
    let own = model.indexes.iter().filter(|index| {
        index.key.iter().all(|attribute| item.contains_key(&attribute.name))
            && index.key.iter().any(|attribute| !model.table.key.has(&attribute.name))
    });
    own.map(|index| key(&index.key, item)).collect()
}

/// The parts of the condition of a query, with its names and values put in.
fn conditions(condition: &str, body: &Value) -> Vec<Part> {
    let name = |word: &str| {
        let names = body.get("ExpressionAttributeNames");
        let found = names.and_then(|names| names.get(word)).and_then(Value::as_str);
        found.unwrap_or(word).to_owned()
    };
    let value = |word: &str| {
        let found = body.get("ExpressionAttributeValues").and_then(|values| values.get(word));
        found.map_or_else(|| word.to_owned(), plain)
    };
    let words: Vec<&str> =
        condition.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    let mut parts = Vec::new();
    let mut rest = words.as_slice();
    loop {
        let (part, after) = match rest {
            ["AND", after @ ..] => {
                rest = after;
                continue;
            }
            ["begins_with", own, start, after @ ..] => {
                (Part { name: name(own), how: "begins with", values: vec![value(start)] }, after)
            }
            [own, "BETWEEN", low, "AND", high, after @ ..] => {
                let values = vec![value(low), value(high)];
                (Part { name: name(own), how: "between", values }, after)
            }
            [own, how, other, after @ ..] => {
                let how = match *how {
                    "<" => "<",
                    "<=" => "≤",
                    ">" => ">",
                    ">=" => "≥",
                    _ => "=",
                };
                (Part { name: name(own), how, values: vec![value(other)] }, after)
            }
            _ => return parts,
        };
        parts.push(part);
        rest = after;
    }
}

/// What a value of DynamoDB's JSON is, without its type.
fn plain(value: &Value) -> String {
    let inner = value.as_object().and_then(|typed| typed.values().next()).unwrap_or(value);
    inner.as_str().map_or_else(|| inner.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(operation: &'static str, json: &str) -> Drawn {
        let model = latchkey_model::check(
            "```contract\nsystem s\ntable Tab { type t\n index ByDay {} }\nentity E \"E\" {\n  PK = \"E#{a}\"\n  SK = \"M\"\n  a id\n}\n```\n",
        )
        .model;
        draw(&model, &Asked { operation, json: json.to_owned(), otherwise: false })
    }

    fn part(name: &str, how: &'static str, values: &[&str]) -> Part {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Part { name: name.to_owned(), how, values }
    }

    #[test]
    fn the_keys_of_every_kind_of_request_are_found() {
        let pair = || vec![part("PK", "=", &["E#{a}"]), part("SK", "=", &["M"])];
        let key = r#"{"PK": {"S": "E#{a}"}, "SK": {"S": "M"}}"#;
        for (operation, json) in [
            ("GetItem", format!(r#"{{"Key": {key}}}"#)),
            ("PutItem", format!(r#"{{"Item": {key}}}"#)),
            ("Update", format!(r#"{{"Update": {{"Key": {key}}}}}"#)),
            ("BatchGetItem", format!(r#"{{"RequestItems": {{"Tab": {{"Keys": [{key}]}}}}}}"#)),
            ("TransactGetItems", format!(r#"{{"TransactItems": [{{"Get": {{"Key": {key}}}}}]}}"#)),
        ] {
            assert_eq!(asked(operation, &json).keys, [pair()], "{operation}");
        }
        let item = r#"{"Item": {"PK": {"S": "p"}, "SK": {"S": "s"}, "ByDayPK": {"S": "d"}, "ByDaySK": {"N": "1"}}}"#;
        let place = vec![part("ByDayPK", "=", &["d"]), part("ByDaySK", "=", &["1"])];
        assert_eq!(asked("PutItem", item).keys.last(), Some(&place));
        assert_eq!(asked("Scan", r#"{"IndexName": "ByDay"}"#).keys, Vec::<Vec<Part>>::new());
    }

    #[test]
    fn keys_of_latchkeys_own_items_are_told_from_those_of_the_document() {
        let model = latchkey_model::check(
            "```contract\nsystem s\ntable Odd { type t\n PK id number }\nentity E \"E\" {\n  PK = \"{id}\"\n  id int 1..9\n}\n```\n",
        )
        .model;
        let drawn = |operation, json: &str| {
            draw(&model, &Asked { operation, json: json.to_owned(), otherwise: false })
        };
        let item = drawn("GetItem", r#"{"TableName": "Odd", "Key": {"id": {"N": "{id}"}}}"#);
        assert_eq!((&item.apart, item.is_record()), (&None, false));
        assert_eq!(item.keys, [vec![part("id", "=", &["{id}"])]]);
        let key = r#"{"PK": {"S": "LATCHKEY#IDEM#{x}"}, "SK": {"S": "y"}}"#;
        for (operation, json) in [
            ("GetItem", format!(r#"{{"TableName": "Odd-latchkey", "Key": {key}}}"#)),
            ("Put", format!(r#"{{"Put": {{"TableName": "Odd-latchkey", "Item": {key}}}}}"#)),
        ] {
            let record = drawn(operation, &json);
            assert_eq!(record.apart.as_deref(), Some("Odd-latchkey"), "{operation}");
            assert!(record.is_record(), "{operation}");
            let both = vec![part("PK", "=", &["LATCHKEY#IDEM#{x}"]), part("SK", "=", &["y"])];
            assert_eq!(record.keys, [both], "{operation}");
        }
    }

    #[test]
    fn the_condition_of_a_query_is_put_in_words() {
        let query = |condition: &str| {
            let json = format!(
                r##"{{"IndexName": "ByDay", "KeyConditionExpression": "{condition}",
                "ExpressionAttributeNames": {{"#n0": "ByDayPK", "#n1": "ByDaySK"}},
                "ExpressionAttributeValues": {{":v0": {{"S": "D#{{d}}"}}, ":v1": {{"N": "1"}}, ":v2": {{"S": "x"}}}}}}"##
            );
            let drawn = asked("Query", &json);
            assert_eq!(drawn.index.as_deref(), Some("ByDay"));
            drawn.keys
        };
        let first = || part("ByDayPK", "=", &["D#{d}"]);
        assert_eq!(query("#n0 = :v0"), [vec![first()]]);
        assert_eq!(
            query("#n0 = :v0 AND #n1 BETWEEN :v1 AND :v2"),
            [vec![first(), part("ByDaySK", "between", &["1", "x"])]]
        );
        assert_eq!(
            query("#n0 = :v0 AND begins_with(#n1, :v2)"),
            [vec![first(), part("ByDaySK", "begins with", &["x"])]]
        );
        assert_eq!(
            query("#n0 = :v0 AND #n1 >= :v1"),
            [vec![first(), part("ByDaySK", "≥", &["1"])]]
        );
    }
}
