//! Compares the answer that an example expects with one that a contract can give.

use latchkey_value::{Format, Text, Value, id, time};

use super::known::{Item, Known};
use super::request::has_name;
use super::walk::{Answer, Body, List};
use crate::model::{Attribute, Entity, Piece, Template};
use crate::types::Type;

/// The members that every problem has.
const PROBLEM_MEMBERS: [&str; 8] =
    ["type", "title", "status", "detail", "instance", "code", "contract", "errors"];

/// Why an answer cannot be the expected one; `None` where it can.
pub(super) fn answer(expected: &Value, answer: &Answer<'_>) -> Option<String> {
    let Value::Map(members) = expected else {
        return Some("the answer is an object".to_owned());
    };
    members.iter().find_map(|(name, wanted)| {
        if let Some((_, known)) = answer.with.iter().find(|(with, _)| with == name) {
            return value(name, wanted, known);
        }
        match &answer.body {
            Body::Open => None,
            Body::Item(entity, item, fields) => member(name, wanted, entity, item, fields),
            Body::List(list) => in_list(name, wanted, list),
        }
    })
}

/// Why a problem cannot be the expected one.
pub(super) fn problem(expected: &Value, code: &str, with: &[(&str, Known)]) -> Option<String> {
    let Value::Map(members) = expected else {
        return Some("the answer is an object".to_owned());
    };
    members.iter().find_map(|(name, wanted)| {
        if name == "code" {
            return value(name, wanted, &Known::text(code));
        }
        match with.iter().find(|(with, _)| with == name) {
            Some((_, known)) => value(name, wanted, known),
            None if PROBLEM_MEMBERS.contains(&name.as_str()) => None,
            None => missing(name, wanted),
        }
    })
}

/// Whether a text stands for anything: `"$name"`.
fn names_anything(wanted: &Value) -> bool {
    wanted.as_text().is_some_and(|text| has_name(text)) && !is_absent(wanted)
}

fn is_absent(wanted: &Value) -> bool {
    wanted.as_text().is_some_and(|text| text == "$absent")
}

fn missing(name: &str, wanted: &Value) -> Option<String> {
    (!is_absent(wanted)).then(|| format!("the answer has no member `{name}`"))
}

fn value(name: &str, wanted: &Value, known: &Known) -> Option<String> {
    match (known, wanted) {
        (Known::Open, _) => None,
        (Known::Absent, _) => missing(name, wanted),
        (_, wanted) if is_absent(wanted) => Some(format!("`{name}` is always there")),
        (Known::There, _) => None,
        (Known::Is(Value::Text(_)), wanted) if names_anything(wanted) => None,
        (Known::Is(is), wanted) => {
            (is != wanted).then(|| format!("`{name}` is always {}", written(is)))
        }
        (Known::Members(members), Value::Map(wanted)) => {
            wanted.iter().find_map(|(name, wanted)| {
                match members.iter().find(|(member, _)| member == name.as_str()) {
                    Some((_, known)) => value(name, wanted, known),
                    None => missing(name, wanted),
                }
            })
        }
        (Known::Members(_), _) => Some(format!("`{name}` is always an object")),
    }
}

fn written(value: &Value) -> String {
    let mut text = String::new();
    latchkey_value::json::write(value, &mut text);
    text
}

/// The attribute that an answer shows under a name.
fn attribute<'e>(entity: &'e Entity, name: &str, fields: &[String]) -> Option<&'e Attribute> {
    let is_shown = fields.is_empty() || fields.iter().any(|field| field == name);
    entity.attribute(name).filter(|attribute| is_shown && !attribute.secret)
}

fn member(
    name: &str,
    wanted: &Value,
    entity: &Entity,
    item: &Item,
    fields: &[String],
) -> Option<String> {
    let Some(attribute) = attribute(entity, name, fields) else { return missing(name, wanted) };
    value(name, wanted, &item.get(entity, name)).or_else(|| of_type(name, wanted, &attribute.kind))
}

/// Why a value cannot be one of the type.
fn of_type(name: &str, wanted: &Value, kind: &Type) -> Option<String> {
    if wanted.as_text().is_some_and(|text| has_name(text)) {
        return None;
    }
    let is_text = |test: &dyn Fn(&str) -> bool| wanted.as_text().is_some_and(|text| test(text));
    let fits = match kind {
        Type::Id => is_text(&id::is_id),
        Type::Ulid => is_text(&id::is_ulid),
        Type::Time => is_text(&|text| time::canonical(text).is_some_and(|time| time == text)),
        Type::Date => is_text(&|text| time::parse_date(text).is_some()),
        Type::Enum(words) => is_text(&|text| words.iter().any(|word| word == text)),
        Type::Text { .. } => is_text(&|_| true),
        Type::Int { .. } | Type::Counter => {
            wanted.as_number().is_some_and(|number| number.to_i64().is_some())
        }
        Type::Number { .. } => wanted.as_number().is_some(),
        Type::Bool => matches!(wanted, Value::Bool(_)),
        _ => true,
    };
    (!fits).then(|| format!("`{name}` is of the type `{kind}`"))
}

fn in_list(name: &str, wanted: &Value, list: &List<'_>) -> Option<String> {
    match (name, wanted) {
        ("nextCursor", Value::Null | Value::Text(_)) => None,
        ("nextCursor", _) => Some("`nextCursor` is a text or null".to_owned()),
        ("items", Value::List(items)) => items_of(items, list),
        ("items", _) => Some("`items` is a list".to_owned()),
        _ => missing(name, wanted),
    }
}

fn items_of(items: &[Value], list: &List<'_>) -> Option<String> {
    if list.most.is_some_and(|most| u32::try_from(items.len()).is_ok_and(|count| most < count)) {
        return Some("the list is never so long".to_owned());
    }
    let each = items.iter().find_map(|item| match item {
        Value::Map(members) => members
            .iter()
            .find_map(|(name, wanted)| member(name, wanted, list.entity, &list.fixed, list.fields)),
        _ => Some("an item of the list is an object".to_owned()),
    });
    each.or_else(|| {
        let (sort, descending) = list.order?;
        let pairs = items.iter().zip(items.iter().skip(1));
        let keys =
            pairs.filter_map(|(a, b)| Some((prefix(a, sort, list)?, prefix(b, sort, list)?)));
        let wrong = keys.into_iter().find(|(a, b)| out_of_order(a, b, descending))?;
        let order = if descending { "descending" } else { "ascending" };
        Some(format!("in {order} order, `{}` does not come before `{}`", wrong.0, wrong.1))
    })
}

/// Whether two keys are in the other order. They may be known only up to some place.
fn out_of_order(a: &str, b: &str, descending: bool) -> bool {
    let common = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    common.is_some_and(|(a, b)| if descending { a < b } else { a > b })
}

/// The sort key of an item of an example, up to the first part that the example does not show.
fn prefix(item: &Value, sort: &Template, list: &List<'_>) -> Option<String> {
    let Value::Map(members) = item else { return None };
    let mut key = String::new();
    for piece in &sort.pieces {
        match piece {
            Piece::Literal(text) => key.push_str(text),
            Piece::Hole(hole) => {
                let part = match members.get(&hole.attribute) {
                    Some(shown) => Some(shown.clone()),
                    None => match list.fixed.get(list.entity, &hole.attribute) {
                        Known::Is(value) => Some(value),
                        _ => None,
                    },
                };
                match (part, hole.format) {
                    (Some(Value::Text(text)), None) if !has_name(&text) => key.push_str(&text),
                    (Some(Value::Number(number)), Some(Format::Padded(width)))
                        if !number.is_negative() =>
                    {
                        let digits = number.to_i64().map(|number| number.to_string())?;
                        key.push_str(&"0".repeat(width.saturating_sub(digits.len())));
                        key.push_str(&digits);
                    }
                    // A part of a time that is shown in full, say.
                    (Some(Value::Text(text)), Some(format)) if !has_name(&text) => {
                        let mut part = Text::default();
                        format.push(&mut part, &Value::Text(text))?;
                        key.push_str(&part);
                    }
                    _ => break,
                }
            }
        }
    }
    Some(key)
}

/// The pointers of the wrong fields that an example expects, if it lists them.
pub(super) fn pointers(expected: &Value) -> Option<Vec<Text>> {
    let Value::Map(members) = expected else { return None };
    let Some(Value::List(errors)) = members.get("errors") else { return None };
    errors
        .iter()
        .map(|error| match error {
            Value::Map(error) => error.get("pointer")?.as_text().cloned(),
            _ => None,
        })
        .collect()
}
