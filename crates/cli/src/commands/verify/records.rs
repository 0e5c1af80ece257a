//! Reads the records of a file: lines of an export, JSON objects, arrays of objects, pages of answers, in any order.

use std::io::{self, BufRead, ErrorKind};
use std::{fmt, vec};

use latchkey_table::{Map, Value, line};
use latchkey_value::json;

use crate::transfer::lines::{GZIP, LINE_BYTES_MAX, Stop};
use crate::wide;

/// The longest object or array at the top level: as long as the longest line of an import.
const BYTES_MAX: usize = LINE_BYTES_MAX;

/// A line of an export may lie in the list of a page.
const LEVELS_MAX: usize = line::JSON_LEVELS_MAX + 2;

/// Where in a file a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The line where its object, or the list around it, begins.
    pub(super) line: u64,
    /// Its number in the list, from 1.
    pub(super) item: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// Reads records up to the end of a file, or up to the first bad one.
pub(super) struct Records<R> {
    source: R,
    /// The current line, from 1, and how many of its characters are read.
    line: u64,
    column: usize,
    buffer: Vec<u8>,
    /// The rest of a list.
    list: vec::IntoIter<Value>,
    /// Where that list begins, and how many of its records were returned.
    at: Place,
    /// Whether the last page says that another one follows.
    pub(super) more: bool,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(source: R) -> Records<R> {
        let at = Place { line: 1, item: None };
        let list = Vec::new().into_iter();
        Records { source, line: 1, column: 0, buffer: Vec::new(), list, at, more: false }
    }

    /// The next record; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Place, Map)>, Stop> {
        loop {
            if let Some(value) = self.list.next() {
                self.at.item = self.at.item.map(|item| item.saturating_add(1));
                let place = self.at;
                return record(value).map(|map| Some((place, map))).map_err(|message| Stop::Bad {
                    line: place.line,
                    message: match place.item {
                        Some(item) => format!("item {item}: {message}"),
                        None => message,
                    },
                });
            }
            let Some((line, before)) = self.value()? else { return Ok(None) };
            let bad = |line, message| Stop::Bad { line, message };
            if line == 1 && self.buffer.starts_with(&GZIP) {
                let message = "it is compressed: `gunzip -c FILE | latchkey verify - …`";
                return Err(bad(line, message.to_owned()));
            }
            let limits = json::Limits { levels_max: LEVELS_MAX };
            let value = json::read(&self.buffer, limits).map_err(|error| {
                let further = wide(error.line.saturating_sub(1));
                let before = if error.line > 1 { 0 } else { before };
                let column = error.column.saturating_add(before);
                let message = format!("column {column}: {}", error.message);
                bad(line.saturating_add(further), message)
            })?;
            self.take(line, value);
        }
    }

    /// Splits a value of the top level into records.
    fn take(&mut self, line: u64, value: Value) {
        let (list, in_list) = match value {
            Value::List(list) => (list, true),
            Value::Map(mut page) => match page.remove("items") {
                Some(Value::List(list)) => {
                    self.more = matches!(page.get("nextCursor"), Some(Value::Text(_)));
                    (list, true)
                }
                Some(items) => {
                    page.insert("items", items);
                    (vec![Value::Map(page)], false)
                }
                None => (vec![Value::Map(page)], false),
            },
            other => (vec![other], false),
        };
        self.list = list.into_iter();
        self.at = Place { line, item: in_list.then_some(0) };
    }

    /// Reads the next value of the top level into the buffer. Returns the line where the value begins and how many
    /// characters of that line are before it; nothing at the end.
    ///
    /// This looks only for the bracket that closes the first one. The JSON reader reports other mistakes.
    fn value(&mut self) -> Result<Option<(u64, usize)>, Stop> {
        self.buffer.clear();
        let (mut scan, mut begun) = (Scan::default(), None);
        loop {
            let some = match self.source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                some => some.map_err(Stop::Unreadable)?,
            };
            if some.is_empty() {
                return Ok(begun);
            }
            let (mut count, mut whole) = (0, false);
            for byte in some {
                if begun.is_none() && !byte.is_ascii_whitespace() {
                    begun = Some((self.line, self.column));
                }
                count += 1;
                (self.line, self.column) = after(self.line, self.column, *byte);
                if begun.is_some() {
                    self.buffer.push(*byte);
                    whole = scan.ends_with(*byte);
                }
                if whole || self.buffer.len() > BYTES_MAX {
                    break;
                }
            }
            self.source.consume(count);
            if whole {
                return Ok(begun);
            }
            if self.buffer.len() > BYTES_MAX {
                let message = format!(
                    "what begins here has more than {BYTES_MAX} bytes: is a bracket left open? A long list becomes lines by `jq -c '.[]'`"
                );
                return Err(Stop::Bad { line: begun.map_or(1, |(line, _)| line), message });
            }
        }
    }
}

/// The line and column after a byte.
fn after(line: u64, column: usize, byte: u8) -> (u64, usize) {
    // Only the first byte of a character counts.
    let one = usize::from(byte & 0xc0 != 0x80);
    if byte == b'\n' { (line.saturating_add(1), 0) } else { (line, column.saturating_add(one)) }
}

/// Looks for the end of a JSON value.
#[derive(Debug, Default)]
struct Scan {
    /// How many brackets are open.
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scan {
    /// Whether a value ends with its next byte.
    fn ends_with(&mut self, byte: u8) -> bool {
        match (byte, self.in_string) {
            // No string spans lines, and neither does a value without brackets.
            (b'\n', true) => return true,
            (b'\n', false) => return self.depth == 0,
            (_, true) if self.escaped => self.escaped = false,
            (b'\\', true) => self.escaped = true,
            (b'"', _) => self.in_string = !self.in_string,
            (b'{' | b'[', false) => self.depth = self.depth.saturating_add(1),
            (b'}' | b']', false) => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

/// A record, as it is or from a line of an export.
fn record(value: Value) -> Result<Map, String> {
    let Value::Map(map) = value else { return Err("a record is an object, `{…}`".to_owned()) };
    match map.get("Item") {
        Some(Value::Map(_)) if map.len() == 1 => {
            line::read(Value::Map(map)).map_err(|error| error.to_string())
        }
        _ => Ok(map),
    }
}

/// What is wrong with a file, for people.
pub(super) fn told(shown: &str, stop: &Stop) -> String {
    match stop {
        Stop::Unreadable(error) => unreadable(shown, error),
        Stop::Bad { line, message } => format!("{shown}, line {line}: {message}"),
    }
}

/// That a file cannot be read, for people.
pub(super) fn unreadable(shown: &str, error: &io::Error) -> String {
    format!("cannot read {shown}: {error}")
}

#[cfg(test)]
mod tests;
