//! Writes a value as text.

use std::fmt::Write;

use crate::{Map, Number, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::plain_length;

/// Writes a value without white space. Bytes become a string in Base64, sets become arrays.
///
/// ```
/// use latchkey_value::json::write;
/// use latchkey_value::{Map, Value};
///
/// let mut out = String::new();
/// write(&Map::from([("n", Value::from(5)), ("s", Value::from("é\n"))]).into(), &mut out);
/// assert_eq!(out, r#"{"n":5,"s":"é\n"}"#);
/// ```
pub fn write(value: &Value, out: &mut String) {
    write_value(value, None, out);
}

/// Writes a map as an object, its keys in order.
pub fn write_map(map: &Map, out: &mut String) {
    write_object(map, None, out);
}

/// A value with one line for each part, for people.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, Some(0), &mut out);
    out
}

/// Writes a text as a string in quotes, and escapes only what must be escaped.
pub fn write_text(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some((run, special)) = rest.split_at_checked(plain_length(rest.as_bytes())) {
        out.push_str(run);
        let mut characters = special.chars();
        let Some(character) = characters.next() else { break };
        write_escape(character, out);
        rest = characters.as_str();
    }
    out.push('"');
}

/// Writes a number plainly, with neither exponent nor needless zeros.
pub fn write_number(number: &Number, out: &mut String) {
    // Writing to a string does not fail.
    if let Some(small) = number.to_i64() {
        let _ = write!(out, "{small}");
        return;
    }
    if number.is_negative() {
        out.push('-');
    }
    let coefficient = number.coefficient();
    let digits = coefficient.checked_ilog10().map_or(1, |log| log + 1);
    let fraction = u32::from(number.exponent().min(0).unsigned_abs());
    if fraction >= digits {
        out.push_str("0.");
    }
    push_zeros(fraction.saturating_sub(digits), out);
    let start = out.len();
    let _ = write!(out, "{coefficient}");
    if fraction > 0 && fraction < digits {
        let whole = usize::try_from(digits - fraction).unwrap_or(0);
        out.insert(start + whole, '.');
    }
    push_zeros(u32::from(number.exponent().max(0).unsigned_abs()), out);
}

fn push_zeros(count: u32, out: &mut String) {
    out.extend((0..count).map(|_| '0'));
}

fn write_escape(character: char, out: &mut String) {
    let short = match character {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        _ => {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
            return;
        }
    };
    out.push_str(short);
}

/// Writes a value at a depth, or on one line if no depth is given. The recursion is bounded, because every value has a
/// bounded depth.
fn write_value(value: &Value, depth: Option<usize>, out: &mut String) {
    match value {
        Value::Text(text) => write_text(text, out),
        Value::Number(number) => write_number(number, out),
        Value::Bytes(bytes) => write_bytes(bytes, out),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Null => out.push_str("null"),
        Value::List(values) => {
            write_parts(['[', ']'], values, depth, out, write_value);
        }
        Value::Map(map) => write_object(map, depth, out),
        Value::TextSet(set) => {
            write_parts(['[', ']'], set, depth, out, |text, _, out| write_text(text, out));
        }
        Value::NumberSet(set) => {
            write_parts(['[', ']'], set, depth, out, |number, _, out| write_number(number, out));
        }
        Value::BytesSet(set) => {
            write_parts(['[', ']'], set, depth, out, |bytes, _, out| write_bytes(bytes, out));
        }
    }
}

fn write_object(map: &Map, depth: Option<usize>, out: &mut String) {
    write_parts(['{', '}'], map.iter(), depth, out, |(key, value), depth, out| {
        write_text(key, out);
        out.push_str(if depth.is_some() { ": " } else { ":" });
        write_value(value, depth, out);
    });
}

fn write_bytes(bytes: &[u8], out: &mut String) {
    out.push('"');
    STANDARD.encode_string(bytes, out);
    out.push('"');
}

/// Writes the parts of an object or array between its brackets.
fn write_parts<T>(
    [open, close]: [char; 2],
    parts: impl IntoIterator<Item = T>,
    depth: Option<usize>,
    out: &mut String,
    write_part: impl Fn(T, Option<usize>, &mut String),
) {
    let inner = depth.map(|depth| depth + 1);
    let mut empty = true;
    out.push(open);
    for part in parts {
        if !empty {
            out.push(',');
        }
        empty = false;
        start_line(inner, out);
        write_part(part, inner, out);
    }
    if !empty {
        start_line(depth, out);
    }
    out.push(close);
}

fn start_line(depth: Option<usize>, out: &mut String) {
    if let Some(depth) = depth {
        out.push('\n');
        out.extend((0..depth).map(|_| "  "));
    }
}
