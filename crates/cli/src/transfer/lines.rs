//! Reading items from lines, a bounded part at a time.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use latchkey_runtime::{System, json};
use latchkey_table::limits::ITEM_BYTES_MAX;
use latchkey_table::{Item, Key, Schema, line};

use crate::wide;

/// The longest line. Nothing takes more of a line for each byte it counts than a set of numbers near zero: 68.
pub(crate) const LINE_BYTES_MAX: usize = 80 * ITEM_BYTES_MAX;

/// The most items of a part, which the store's queue takes at once.
const PART_ITEMS_MAX: usize = 2000;

/// The most bytes of the lines of a part, but for the last one's.
const PART_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How a file that gzip made begins.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An item and the line it is from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) item: Item,
    pub(crate) line: u64,
    /// How long the line is.
    pub(crate) bytes: usize,
}

/// Some lines.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// Their items, no two of one key: the last line of a key counts.
    pub(crate) entries: Vec<Entry>,
    /// Where the input is read up to.
    pub(crate) at: Position,
    /// The key of the last item, if there is one.
    pub(crate) last: Option<Key>,
    /// How many lines it is of, the empty ones among them.
    pub(crate) lines: u64,
}

/// How far an input was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) items: u64,
    /// Of all bytes so far: whether an input is the same is told by it.
    pub(crate) digest: Digest,
}

impl Default for Position {
    fn default() -> Position {
        Position { bytes: 0, lines: 0, items: 0, digest: Digest::START }
    }
}

/// FNV-1a: fast, and good for telling a changed file from the same one. Nobody is to be kept from forging it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    const START: Digest = Digest(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Why reading stops before the end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The input cannot be read.
    Unreadable(io::Error),
    /// A line is no item of the table, or none of the document.
    Bad { line: u64, message: String },
}

/// Lines that are bad behind the first that is.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// Some of them: which, and why.
    pub(crate) shown: Vec<(u64, String)>,
    /// How many there are.
    pub(crate) count: u64,
}

/// The most bad lines that are shown, beside the first.
const OTHERS_SHOWN_MAX: usize = 20;

/// Reads lines up to the end of the input, or the first that is bad.
pub(crate) struct Lines<R> {
    source: R,
    at: Position,
    buffer: Vec<u8>,
    /// What items are held to, beside what the table can hold.
    system: Option<Arc<System>>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Lines<R> {
        Lines { source, at: Position::default(), buffer: Vec::new(), system: None }
    }

    /// The same, with items held to a document.
    pub(crate) fn of(self, system: Option<Arc<System>>) -> Lines<R> {
        Lines { system, ..self }
    }

    /// Reads on behind a bad line, for other bad ones.
    pub(crate) fn others(&mut self, schema: &Schema) -> Others {
        let mut others = Others::default();
        // A line that is longer than any is not read to its end, and what is compressed has no lines.
        while self.buffer.ends_with(b"\n") && !self.buffer.starts_with(&GZIP) {
            self.at.lines = self.at.lines.saturating_add(1);
            let (line, message) = loop {
                match self.entry(schema) {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(Stop::Unreadable(_)) => return others,
                    Err(Stop::Bad { line, message }) => break (line, message),
                }
            };
            others.count += 1;
            if others.shown.len() < OTHERS_SHOWN_MAX {
                others.shown.push((line, message));
            }
        }
        others
    }

    /// Passes over what was read before; false if it is not the same any more.
    pub(crate) fn skip(&mut self, to: Position) -> io::Result<bool> {
        let mut left = (&mut self.source).take(to.bytes);
        let (mut digest, mut bytes) = (Digest::START, 0u64);
        loop {
            let some = left.fill_buf()?;
            if some.is_empty() {
                break;
            }
            digest.add(some);
            let count = some.len();
            bytes += wide(count);
            left.consume(count);
        }
        self.at = to;
        Ok(bytes == to.bytes && digest == to.digest)
    }

    /// The next part; one of no lines at the end. What was read before a bad line is in the part beside it.
    pub(crate) fn part(&mut self, schema: &Schema) -> (Part, Option<Stop>) {
        let mut part = Part { at: self.at, ..Part::default() };
        let mut places: HashMap<Key, usize> = HashMap::new();
        let mut bytes = 0usize;
        while part.entries.len() < PART_ITEMS_MAX && bytes < PART_BYTES_MAX {
            match self.entry(schema) {
                Ok(None) => break,
                Ok(Some(None)) => {}
                Ok(Some(Some((key, entry)))) => {
                    bytes = bytes.saturating_add(entry.bytes);
                    part.last = Some(key.clone());
                    match places.get(&key).and_then(|place| part.entries.get_mut(*place)) {
                        Some(earlier) => *earlier = entry,
                        None => {
                            places.insert(key, part.entries.len());
                            part.entries.push(entry);
                        }
                    }
                }
                Err(stop) => return (part, Some(stop)),
            }
            part.at = self.at;
            part.lines += 1;
        }
        (part, None)
    }

    /// The item of the next line; nothing for an empty line, and nothing at all at the end.
    fn entry(&mut self, schema: &Schema) -> Result<Option<Option<(Key, Entry)>>, Stop> {
        let line = self.at.lines.saturating_add(1);
        let bad = |message: String| Stop::Bad { line, message };
        self.buffer.clear();
        let limit = wide(LINE_BYTES_MAX).saturating_add(1);
        let mut source = (&mut self.source).take(limit);
        let count = source.read_until(b'\n', &mut self.buffer).map_err(Stop::Unreadable)?;
        if count == 0 {
            return Ok(None);
        }
        if count > LINE_BYTES_MAX {
            let message =
                format!("it is longer than any item's: the most is {LINE_BYTES_MAX} bytes");
            return Err(bad(message));
        }
        if self.at.bytes == 0 && self.buffer.starts_with(&GZIP) {
            let message = "it is compressed: `gunzip` it first, or `gunzip -c FILE | latchkey import … --from -`";
            return Err(bad(message.to_owned()));
        }
        let blank = self.buffer.iter().all(u8::is_ascii_whitespace);
        let found = if blank {
            None
        } else {
            let item = read(self.buffer.trim_ascii_end()).map_err(bad)?;
            schema.validate_item(&item).map_err(|invalid| bad(invalid.to_string()))?;
            let key = schema.key_of(&item).map_err(|invalid| bad(invalid.to_string()))?;
            let wrong = self.system.as_ref().map(|system| system.examine(&item));
            if let Some(wrong) = wrong.filter(|wrong| !wrong.is_empty()) {
                return Err(bad(wrong.join("; ")));
            }
            Some((key, Entry { item, line, bytes: count }))
        };
        self.at.bytes += wide(count);
        self.at.lines = line;
        self.at.items += u64::from(!blank);
        self.at.digest.add(&self.buffer);
        Ok(Some(found))
    }
}

/// The item of a line.
fn read(text: &[u8]) -> Result<Item, String> {
    let limits = json::Limits { levels_max: line::JSON_LEVELS_MAX };
    let json = json::read(text, limits)
        .map_err(|error| format!("column {}: {}", error.column, error.message))?;
    line::read(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
