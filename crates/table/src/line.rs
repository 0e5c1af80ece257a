//! Items as lines of DynamoDB JSON, in the shape of a DynamoDB export: `{"Item":{"PK":{"S":"…"},…}}`.
//!
//! An item has one line: attributes and members of sets in their order, numbers in plain notation, no
//! spaces. So the lines of two tables, sorted, are the same bytes exactly if their items are the same.
//!
//! ```
//! use latchkey_table::{Item, line};
//!
//! let item = Item::from([("SK", "META"), ("PK", "DOOR#1")]);
//! let mut text = String::new();
//! line::write(&item, &mut text);
//! assert_eq!(text, r#"{"Item":{"PK":{"S":"DOOR#1"},"SK":{"S":"META"}}}"#);
//! ```

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_value::json::write_text;

use crate::limits::VALUE_LEVELS_MAX;
use crate::{Item, Map, Number, NumberError, Text, Value};

/// The member of a line that has the item.
const ITEM: &str = "Item";

/// How many levels of objects and arrays the JSON of a line has at most: that of the line, that of the item,
/// two for each list or map, and one for a scalar or two for a set.
pub const JSON_LEVELS_MAX: usize = 2 + 2 * VALUE_LEVELS_MAX + 2;

/// How much of a name a message shows, in characters.
const NAME_SHOWN_MAX: usize = 60;

/// Writes the line of an item, without a newline.
pub fn write(item: &Item, out: &mut String) {
    out.push_str("{\"Item\":");
    write_map(item, out);
    out.push('}');
}

fn write_map(map: &Map, out: &mut String) {
    out.push('{');
    for (at, (name, value)) in map.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write_text(name, out);
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

fn write_value(value: &Value, out: &mut String) {
    out.push_str("{\"");
    out.push_str(value.value_type().code());
    out.push_str("\":");
    match value {
        Value::Text(text) => write_text(text, out),
        Value::Number(number) => write_text(&number.to_string(), out),
        Value::Bytes(bytes) => write_text(&STANDARD.encode(bytes), out),
        Value::Bool(true) | Value::Null => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::List(values) => write_list(values, write_value, out),
        Value::Map(map) => write_map(map, out),
        Value::TextSet(set) => write_list(set, |text, out| write_text(text, out), out),
        Value::NumberSet(set) => {
            write_list(set, |number, out| write_text(&number.to_string(), out), out);
        }
        Value::BytesSet(set) => {
            write_list(set, |bytes, out| write_text(&STANDARD.encode(bytes), out), out)
        }
    }
    out.push('}');
}

fn write_list<T>(
    elements: impl IntoIterator<Item = T>,
    write: impl Fn(T, &mut String),
    out: &mut String,
) {
    out.push('[');
    for (at, element) in elements.into_iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write(element, out);
    }
    out.push(']');
}

/// Why the JSON of a line is no item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", shown(path))]
pub struct LineError {
    /// Where in the item: names, and places in lists, with dots between them. Empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with the JSON of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it and its fields are")]
pub enum Fault {
    #[error("a line is `{{\"Item\": {{…}}}}` and nothing else")]
    Shape,
    #[error(
        "a value is an object of one member, named S, N, B, BOOL, NULL, L, M, SS, NS or BS for its type"
    )]
    Type,
    #[error("the value of `{code}` is {wanted}")]
    Value { code: &'static str, wanted: &'static str },
    #[error("a bad number: {0}")]
    Number(NumberError),
    #[error("binary that is not base64 (the standard alphabet, padded)")]
    Base64,
    #[error("a set has something twice")]
    Twice,
    #[error("lists and maps nest more than {} levels deep", VALUE_LEVELS_MAX)]
    TooDeep,
}

/// Where it is wrong, as a message begins; a long path is cut.
fn shown(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let mut characters = path.chars();
    let mut text = String::from("`");
    text.extend(characters.by_ref().take(NAME_SHOWN_MAX).flat_map(char::escape_debug));
    text.push_str(if characters.next().is_some() { "…`: " } else { "`: " });
    text
}

impl From<Fault> for LineError {
    fn from(fault: Fault) -> LineError {
        LineError { path: String::new(), fault }
    }
}

impl LineError {
    /// The same, seen from one level further out.
    fn within(mut self, step: impl fmt::Display) -> LineError {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// The item of a line that was read as plain JSON: objects as maps, arrays as lists, strings as texts.
///
/// Refuses what no export has, and nothing else: whether a table can hold the item is for
/// [`Schema::validate_item`](crate::Schema::validate_item) to say.
pub fn read(json: Value) -> Result<Item, LineError> {
    let Value::Map(line) = json else { return Err(Fault::Shape.into()) };
    match only(line) {
        Some((name, Value::Map(item))) if name == ITEM => read_map(item, VALUE_LEVELS_MAX),
        _ => Err(Fault::Shape.into()),
    }
}

/// The only entry of a map.
fn only(map: Map) -> Option<(Text, Value)> {
    let mut entries = map.into_iter();
    let first = entries.next()?;
    entries.next().is_none().then_some(first)
}

fn read_map(map: Map, levels: usize) -> Result<Map, LineError> {
    let mut read = Map::with_capacity(map.len());
    for (name, value) in map {
        let value = read_value(value, levels).map_err(|error| error.within(&name))?;
        // They come in order, no name twice: they are from a map.
        read.push_last(name, value);
    }
    Ok(read)
}

/// Reads a value in which lists and maps may lie so many levels deep, which bounds the recursion.
fn read_value(json: Value, levels: usize) -> Result<Value, LineError> {
    let Value::Map(map) = json else { return Err(Fault::Type.into()) };
    let Some((code, value)) = only(map) else { return Err(Fault::Type.into()) };
    let inner = || levels.checked_sub(1).ok_or(Fault::TooDeep);
    match (code.as_str(), value) {
        ("S", Value::Text(text)) => Ok(Value::Text(text)),
        ("S", _) => wanted("S", "a string"),
        ("N", Value::Text(text)) => Ok(Value::Number(number(&text)?)),
        ("N", _) => wanted("N", "a number in quotes"),
        ("B", Value::Text(text)) => Ok(Value::Bytes(bytes(&text)?)),
        ("B", _) => wanted("B", "base64 in quotes"),
        ("BOOL", Value::Bool(truth)) => Ok(Value::Bool(truth)),
        ("BOOL", _) => wanted("BOOL", "true or false"),
        ("NULL", Value::Bool(true)) => Ok(Value::Null),
        ("NULL", _) => wanted("NULL", "true"),
        ("L", Value::List(list)) => {
            let levels = inner()?;
            let value = |(at, value)| {
                read_value(value, levels).map_err(|error: LineError| error.within(at))
            };
            let values: Result<_, LineError> = list.into_iter().enumerate().map(value).collect();
            Ok(Value::List(values?))
        }
        ("L", _) => wanted("L", "an array of values"),
        ("M", Value::Map(map)) => Ok(Value::Map(read_map(map, inner()?)?)),
        ("M", _) => wanted("M", "an object of values"),
        ("SS", Value::List(list)) => Ok(Value::TextSet(set(list, "SS", Ok)?)),
        ("NS", Value::List(list)) => Ok(Value::NumberSet(set(list, "NS", |text| number(&text))?)),
        ("BS", Value::List(list)) => Ok(Value::BytesSet(set(list, "BS", |text| bytes(&text))?)),
        ("SS", _) => wanted("SS", STRINGS),
        ("NS", _) => wanted("NS", STRINGS),
        ("BS", _) => wanted("BS", STRINGS),
        _ => Err(Fault::Type.into()),
    }
}

const STRINGS: &str = "an array of strings";

fn wanted<T>(code: &'static str, wanted: &'static str) -> Result<T, LineError> {
    Err(Fault::Value { code, wanted }.into())
}

fn number(text: &str) -> Result<Number, Fault> {
    text.parse().map_err(Fault::Number)
}

fn bytes(text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|_| Fault::Base64)
}

fn set<T: Ord>(
    list: Vec<Value>,
    code: &'static str,
    member: impl Fn(Text) -> Result<T, Fault>,
) -> Result<BTreeSet<T>, LineError> {
    let mut set = BTreeSet::new();
    for value in list {
        let Value::Text(text) = value else { return wanted(code, STRINGS) };
        if !set.insert(member(text)?) {
            return Err(Fault::Twice.into());
        }
    }
    Ok(set)
}

#[cfg(test)]
mod tests;
