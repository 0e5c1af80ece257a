//! Reads a text into a value.

use std::collections::HashSet;
use std::mem;

use crate::{Map, Number, Text, Value};

use super::{Fault, JsonError, LEVELS_CEILING, Limits, plain_length};

/// Up to this many keys of an object are compared one by one, which is faster than hashing.
const KEYS_COMPARED_MAX: usize = 16;

/// Reads a text that is one JSON value and nothing else.
///
/// ```
/// use latchkey_value::json::{Limits, read};
///
/// let value = read(br#"[0.10, "a\u00e9"]"#, Limits::default())?;
/// assert_eq!(value, read("[1e-1,\"aé\"]".as_bytes(), Limits::default())?);
/// let error = read(br#"{"a": [1, 01]}"#, Limits::default()).unwrap_err();
/// assert_eq!((error.offset, error.pointer.as_str()), (10, "/a/1"));
/// # Ok::<(), latchkey_value::json::JsonError>(())
/// ```
pub fn read(text: &[u8], limits: Limits) -> Result<Value, JsonError> {
    // The text before a byte that is not UTF-8 is read too, to find the value that contains the byte.
    let valid = str::from_utf8(text)
        .unwrap_or_else(|_| text.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
    let mut reader = Reader {
        text: valid,
        at: 0,
        around: Vec::new(),
        within: false,
        levels_max: limits.levels_max.min(LEVELS_CEILING),
    };
    match reader.document() {
        Ok(value) if valid.len() == text.len() => Ok(value),
        Ok(_) => Err(reader.error(Wrong { at: valid.len(), fault: Fault::NotUtf8 })),
        // The reader reached the end of the valid part, where the text is not UTF-8.
        Err(wrong) if wrong.at >= valid.len() && valid.len() < text.len() => {
            Err(reader.error(Wrong { at: valid.len(), fault: Fault::NotUtf8 }))
        }
        Err(wrong) => Err(reader.error(wrong)),
    }
}

/// Reads without recursion, so that deep nesting takes no stack.
struct Reader<'t> {
    text: &'t str,
    /// The next byte to read. Always at a character's first byte.
    at: usize,
    /// The objects and arrays that are open, the outermost first.
    around: Vec<Container>,
    /// Whether the current text belongs to an element of the innermost container, and not to the container itself.
    within: bool,
    levels_max: usize,
}

/// An object or array of which a part is read.
enum Container {
    List(Vec<Value>),
    Map(Object),
}

impl Container {
    /// Adds a value. Returns the byte that may close the container now, and what may follow in words.
    fn push(&mut self, value: Value) -> (u8, &'static str) {
        match self {
            Container::List(values) => {
                values.push(value);
                (b']', "`,` or `]`")
            }
            Container::Map(object) => {
                object.entries.push((mem::take(&mut object.key), value));
                (b'}', "`,` or `}`")
            }
        }
    }

    fn into_value(self) -> Value {
        match self {
            Container::List(values) => Value::List(values),
            Container::Map(object) => Value::Map(object.entries.into_iter().collect()),
        }
    }
}

#[derive(Default)]
struct Object {
    entries: Vec<(Text, Value)>,
    /// The key of the value that is being read.
    key: Text,
    /// All keys so far, once there are too many to compare one by one.
    seen: HashSet<Text>,
}

impl Object {
    fn is_new(&mut self, key: &Text) -> bool {
        if self.entries.len() < KEYS_COMPARED_MAX {
            return self.entries.iter().all(|(other, _)| other != key);
        }
        if self.seen.is_empty() {
            self.seen.extend(self.entries.iter().map(|(key, _)| key.clone()));
        }
        self.seen.insert(key.clone())
    }
}

/// What is wrong, and at which byte.
struct Wrong {
    at: usize,
    fault: Fault,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<Value, Wrong> {
        if self.text.starts_with('\u{feff}') {
            return Err(self.wrong(Fault::Mark));
        }
        self.skip_space();
        if self.peek().is_none() {
            return Err(self.wrong(Fault::Empty));
        }
        let value = loop {
            if let Some(value) = self.begin()?
                && let Some(value) = self.end(value)?
            {
                break value;
            }
        };
        self.skip_space();
        match self.character() {
            None => Ok(value),
            Some(found) => Err(self.wrong(Fault::Trailing { found })),
        }
    }

    /// Reads a scalar or an empty container. Of another container it reads the beginning, up to its first value, and
    /// returns nothing.
    fn begin(&mut self) -> Result<Option<Value>, Wrong> {
        self.skip_space();
        let value = match self.peek() {
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            Some(b'{' | b'[') => return self.open(),
            Some(byte) if byte.is_ascii_alphabetic() => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Some(value))
    }

    fn open(&mut self) -> Result<Option<Value>, Wrong> {
        if self.around.len() >= self.levels_max {
            return Err(self.wrong(Fault::TooDeep { levels_max: self.levels_max }));
        }
        let list = self.peek() == Some(b'[');
        self.at += 1;
        self.skip_space();
        if list && self.take(b']') {
            return Ok(Some(Value::List(Vec::new())));
        }
        if !list && self.take(b'}') {
            return Ok(Some(Value::Map(Map::new())));
        }
        self.within = list;
        if list {
            self.around.push(Container::List(Vec::new()));
            return Ok(None);
        }
        self.around.push(Container::Map(Object::default()));
        self.key().map(|()| None)
    }

    /// Adds a value to its container and closes the containers that end after it. Returns the outermost value when it
    /// is closed, and nothing if another value follows.
    fn end(&mut self, mut value: Value) -> Result<Option<Value>, Wrong> {
        while let Some(container) = self.around.last_mut() {
            let (close, wanted) = container.push(value);
            self.within = false;
            self.skip_space();
            if !self.take(close) {
                return self.comma(wanted).map(|()| None);
            }
            // The container exists: the value was just added to it.
            let closed = self.around.pop().ok_or_else(|| self.unexpected("a value"))?;
            value = closed.into_value();
        }
        Ok(Some(value))
    }

    /// Reads the comma after an element, and the key of the next one in an object.
    fn comma(&mut self, wanted: &'static str) -> Result<(), Wrong> {
        if !self.take(b',') {
            return Err(self.unexpected(wanted));
        }
        if let Some(Container::Map(_)) = self.around.last() {
            return self.key();
        }
        self.within = true;
        Ok(())
    }

    /// Reads a key of the innermost object, with its colon.
    fn key(&mut self) -> Result<(), Wrong> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a key in quotes"));
        }
        let start = self.at;
        let key = self.string()?;
        if let Some(Container::Map(object)) = self.around.last_mut() {
            self.within = true;
            let new = object.is_new(&key);
            object.key = key;
            if !new {
                let fault = Fault::Duplicate { key: object.key.clone() };
                return Err(Wrong { at: start, fault });
            }
        }
        self.skip_space();
        if self.take(b':') { Ok(()) } else { Err(self.unexpected("`:`")) }
    }

    fn word(&mut self) -> Result<Value, Wrong> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let words =
            [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wrong(Fault::Word))
    }

    fn number(&mut self) -> Result<Number, Wrong> {
        let start = self.at;
        self.take(b'-');
        if self.take(b'0') {
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(Wrong { at: start, fault: Fault::LeadingZero });
            }
        } else {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        // Most numbers are whole and small, which is read faster.
        if let Ok(small) = text.parse::<i64>() {
            return Ok(Number::from(small));
        }
        text.parse().map_err(|error| Wrong { at: start, fault: Fault::Number(error) })
    }

    /// Reads one digit or more.
    fn digits(&mut self) -> Result<(), Wrong> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.unexpected("a digit"));
        }
        self.at += count;
        Ok(())
    }

    /// Reads a string, from its opening quote to its closing one.
    fn string(&mut self) -> Result<Text, Wrong> {
        self.at += 1;
        let run = self.run();
        if self.take(b'"') {
            return Ok(Text::new(run));
        }
        let mut text = String::from(run);
        while !self.take(b'"') {
            match self.peek() {
                Some(b'\\') => text.push(self.escape()?),
                Some(code) => return Err(self.wrong(Fault::Control { code: code.into() })),
                None => return Err(self.unexpected("the `\"` that ends a string")),
            }
            text.push_str(self.run());
        }
        Ok(Text::from(text))
    }

    /// Reads plain characters, up to a quote, a backslash, a control character or the end.
    fn run(&mut self) -> &'t str {
        let start = self.at;
        self.at += plain_length(self.rest());
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Reads an escape, from its backslash on; a surrogate pair is two in one.
    fn escape(&mut self) -> Result<char, Wrong> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => {
                return Err(match self.character() {
                    Some(found) => Wrong { at: start, fault: Fault::Escape { found } },
                    None => self.unexpected("an escape"),
                });
            }
        };
        self.at += 1;
        Ok(character)
    }

    /// Reads `u` and four digits, or two of those for a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<char, Wrong> {
        let first = self.unit()?;
        let second = match first {
            0xd800..=0xdbff if self.rest().starts_with(b"\\u") => {
                self.at += 1;
                Some(self.unit()?)
            }
            _ => None,
        };
        match char::decode_utf16([first].into_iter().chain(second)).next() {
            Some(Ok(character)) => Ok(character),
            _ => Err(Wrong { at: start, fault: Fault::Surrogate }),
        }
    }

    /// Reads `u` and four digits.
    fn unit(&mut self) -> Result<u16, Wrong> {
        self.at += 1;
        let mut unit = 0u16;
        for _ in 0..4 {
            let digit = self.character().and_then(|character| character.to_digit(16));
            let Some(digit) = digit.and_then(|digit| u16::try_from(digit).ok()) else {
                return Err(self.unexpected("a hexadecimal digit"));
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_space(&mut self) {
        let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.at += self.rest().iter().take_while(space).count();
    }

    /// Reads a byte if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn character(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn wrong(&self, fault: Fault) -> Wrong {
        Wrong { at: self.at, fault }
    }

    /// Something else comes next, or nothing.
    fn unexpected(&self, wanted: &'static str) -> Wrong {
        self.wrong(match self.character() {
            Some(found) => Fault::Unexpected { found, wanted },
            None => Fault::Ends { wanted },
        })
    }

    fn error(&self, wrong: Wrong) -> JsonError {
        let before = self.text.get(..wrong.at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        JsonError {
            offset: wrong.at,
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            pointer: self.pointer(),
            message: wrong.fault,
        }
    }

    fn pointer(&self) -> String {
        let inside =
            if self.within { self.around.len() } else { self.around.len().saturating_sub(1) };
        let mut pointer = String::new();
        for container in self.around.iter().take(inside) {
            pointer.push('/');
            match container {
                Container::List(values) => pointer.push_str(&values.len().to_string()),
                Container::Map(object) => {
                    pointer.push_str(&object.key.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        pointer
    }
}
