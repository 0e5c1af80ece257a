//! Reads items from lines, one bounded part at a time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, Read as _};
use std::sync::Arc;

use latchkey_runtime::{Converted, Finding, Matter, System};
use latchkey_table::{Item, Key, line};
use latchkey_value::json;
use latchkey_value::limits::ITEM_BYTES_MAX;

use super::tables::{Schemas, Which};
use super::tally::Tally;
use crate::wide;

/// The longest line. A set of numbers near zero takes the most characters for each byte of its size: 68.
pub(crate) const LINE_BYTES_MAX: usize = 80 * ITEM_BYTES_MAX;

/// The most items of a part, which the store's queue takes at once.
const PART_ITEMS_MAX: usize = 2000;

/// The most bytes of the lines of a part, without the last line.
const PART_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The first bytes of a gzip file.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An item and the line it is from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) item: Item,
    /// The table it belongs to.
    pub(crate) which: Which,
    pub(crate) line: u64,
    /// How long the line is.
    pub(crate) bytes: usize,
    /// Whether it was converted to another key than its line has.
    pub(crate) moved: bool,
}

/// Which items are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loads {
    /// Those that fit the document.
    Fitting,
    /// Also those of no entity of the document.
    Foreign,
    /// All, as they are.
    All,
}

/// Some lines.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// The items, each key once: of several lines with one key, the last counts.
    pub(crate) entries: Vec<Entry>,
    /// How far the input is read.
    pub(crate) at: Position,
    /// The key of the last item, if there is one, and its table.
    pub(crate) last: Option<(Which, Key)>,
    /// How many lines the part has, including empty lines.
    pub(crate) lines: u64,
    /// What its items lack, and are loaded all the same.
    pub(crate) found: Tally,
}

/// How far an input was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) items: u64,
    /// A digest of all bytes so far. It shows whether the input has changed.
    pub(crate) digest: Digest,
}

impl Default for Position {
    fn default() -> Position {
        Position { bytes: 0, lines: 0, items: 0, digest: Digest::START }
    }
}

/// FNV-1a: fast, and good enough to notice a changed file. It is no protection against forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    const START: Digest = Digest(0xcbf2_9ce4_8422_2325);

    pub(crate) fn add(&mut self, bytes: &[u8]) {
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
    /// A line is not an item of the table, or does not fit the document.
    Bad { line: u64, message: String },
}

/// The bad lines after the first one.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// Some of them, with the reason.
    pub(crate) shown: Vec<(u64, String)>,
    /// How many bad lines there are.
    pub(crate) count: u64,
}

/// How many bad lines are shown beside the first.
const OTHERS_SHOWN_MAX: usize = 20;

/// Reads lines up to the end of the input, or up to the first bad line.
pub(crate) struct Lines<R> {
    source: R,
    at: Position,
    buffer: Vec<u8>,
    /// The document of the items.
    system: Option<Arc<System>>,
    /// What is loaded although it does not fit the document.
    loads: Loads,
    /// Whether items are written as the document stores them, first.
    convert: bool,
    /// Where items are converted: the key that each is written under, with the key that its line has, and that line.
    converted: HashMap<u128, (u128, u64)>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Lines<R> {
        let (at, buffer, converted) = (Position::default(), Vec::new(), HashMap::new());
        Lines { source, at, buffer, system: None, loads: Loads::Fitting, convert: false, converted }
    }

    /// The same, with the items of a document, and what is loaded of them.
    pub(crate) fn of(self, system: Arc<System>, loads: Loads) -> Lines<R> {
        Lines { system: Some(system), loads, ..self }
    }

    /// The same, with items that are first written as the document stores them.
    pub(crate) fn converted(self, convert: bool) -> Lines<R> {
        Lines { convert, ..self }
    }

    /// Whether the last line that was read ends with the input, and not by a line break.
    pub(crate) fn is_cut(&self) -> bool {
        !self.buffer.ends_with(b"\n") && self.buffer.len() <= LINE_BYTES_MAX
    }

    /// Reads on after a bad line, to report other bad lines.
    pub(crate) fn others(&mut self, schemas: &Schemas) -> Others {
        let mut others = Others::default();
        // A line that is too long is not read to its end, and a compressed file has no lines.
        while self.buffer.ends_with(b"\n") && !self.buffer.starts_with(&GZIP) {
            self.at.lines = self.at.lines.saturating_add(1);
            let (line, message) = loop {
                match self.entry(schemas) {
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

    /// Skips what an earlier run has read; false if that has changed. Where items are converted, it is read again: a key
    /// behind it must not become one of those.
    pub(crate) fn skip(&mut self, to: Position, schemas: &Schemas) -> Result<bool, Stop> {
        if self.convert {
            while self.at.bytes < to.bytes {
                if self.entry(schemas)?.is_none() {
                    break;
                }
            }
            return Ok(self.at == to);
        }
        self.skip_bytes(to).map_err(Stop::Unreadable)
    }

    fn skip_bytes(&mut self, to: Position) -> io::Result<bool> {
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

    /// The next part; a part without lines at the end. Beside a bad line, the part has the lines before it.
    pub(crate) fn part(&mut self, schemas: &Schemas) -> (Part, Option<Stop>) {
        let mut part = Part { at: self.at, ..Part::default() };
        let mut places: HashMap<(Which, Key), usize> = HashMap::new();
        let mut bytes = 0usize;
        while part.entries.len() < PART_ITEMS_MAX && bytes < PART_BYTES_MAX {
            match self.entry(schemas) {
                Ok(None) => break,
                Ok(Some(None)) => {}
                Ok(Some(Some((key, entry, found)))) => {
                    bytes = bytes.saturating_add(entry.bytes);
                    part.found.take(&key, found);
                    let key = (entry.which, key);
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

    /// The item of the next line: `Some(None)` for an empty line, `None` at the end.
    fn entry(&mut self, schemas: &Schemas) -> Result<Option<Option<Read>>, Stop> {
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
            Some(self.examined(item, schemas, line, count).map_err(bad)?)
        };
        self.at.bytes += wide(count);
        self.at.lines = line;
        self.at.items += u64::from(!blank);
        self.at.digest.add(&self.buffer);
        Ok(Some(found))
    }

    /// An item as it is loaded, if it may be.
    fn examined(
        &mut self,
        item: Item,
        schemas: &Schemas,
        line: u64,
        bytes: usize,
    ) -> Result<Read, String> {
        let (which, schema) = schemas.of(&item);
        // The items of Latchkey are no business of the document.
        let system = self.system.as_deref().filter(|_| which == Which::Main);
        let written = schema.key_of(&item).ok().filter(|_| self.convert && system.is_some());
        let Converted { item, failures } = match system {
            Some(system) if self.convert => system.convert(item),
            _ => Converted { item, failures: Vec::new() },
        };
        schema.validate_item(&item).map_err(|invalid| invalid.to_string())?;
        let key = schema.key_of(&item).map_err(|invalid| invalid.to_string())?;
        let mut found = Vec::new();
        if let Some(system) = system {
            found = system.findings(&item);
            let passes = |one: &Finding| match one.matter {
                Matter::Unlisted(_) | Matter::Stray(_) => true,
                Matter::Type => self.loads != Loads::Fitting,
                Matter::Attribute(_)
                | Matter::Loose(_)
                | Matter::Key(_)
                | Matter::Index(_)
                | Matter::Removal
                | Matter::Mistaken(_) => self.loads == Loads::All,
            };
            if !found.iter().all(passes) {
                return Err(self.refused(system, &item, &failures));
            }
        }
        let moved = written.as_ref().is_some_and(|written| *written != key);
        if let Some(written) = written {
            let written = short(&written);
            let (earlier, at) = *self.converted.entry(short(&key)).or_insert((written, line));
            if earlier != written {
                return Err(format!(
                    "its key becomes that of line {at}, which had another one: leave one of the two items out"
                ));
            }
        }
        Ok((key, Entry { item, which, line, bytes, moved }, found))
    }

    /// What is wrong with an item, why it could not be converted, and whether it could be.
    fn refused(&self, system: &System, item: &Item, failures: &[String]) -> String {
        let mut message = system.examine(item).join("; ");
        if !failures.is_empty() {
            message.push_str(&format!("; it was not converted: {}", failures.join("; ")));
        } else if system.findings(item).iter().any(|one| one.matter == Matter::Type) {
            message.push_str("; --foreign loads items of other programs as they are");
        } else if !self.convert && system.examine(&system.convert(item.clone()).item).is_empty() {
            message.push_str("; --convert writes this line as the document stores it");
        }
        message
    }
}

/// An item of a line, with its key and what was found about it.
type Read = (Key, Entry, Vec<Finding>);

/// A key in sixteen bytes, since every key of a file is remembered.
fn short(key: &Key) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, key).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
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
