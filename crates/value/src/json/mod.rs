//! Reads and writes values as JSON.
//!
//! Where RFC 8259 leaves a choice, this module is strict, so that a text has one meaning or none: UTF-8 without a byte
//! order mark, no key twice in an object, numbers exact or refused.

mod read;
mod write;

use std::fmt;

use crate::{NumberError, Text};

pub use read::read;
pub use write::{pretty, write, write_map, write_number, write_text};

/// The default limit for the nesting of objects and arrays.
pub const LEVELS_MAX: usize = 32;

/// The highest limit for nesting. Values are walked and dropped by recursion, so every stack must have room for this
/// depth.
pub const LEVELS_CEILING: usize = 512;

/// How much of a key a message shows, in characters.
const KEY_SHOWN_MAX: usize = 40;

/// The limits of a text. The caller bounds its length before it reads the text into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most levels of objects and arrays; a scalar has none. Never more than [`LEVELS_CEILING`].
    pub levels_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { levels_max: LEVELS_MAX }
    }
}

/// Why a text cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at line {line}, column {column}")]
pub struct JsonError {
    /// The byte of the text at which it goes wrong.
    pub offset: usize,
    /// The line of that byte, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// The value that has the mistake, as a JSON pointer (RFC 6901); empty for the whole text.
    ///
    /// It contains whole keys of the text, so it can be as long as the text.
    pub pointer: String,
    /// What is wrong.
    pub message: Fault,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it and its fields are")]
pub enum Fault {
    #[error("there is no JSON here")]
    Empty,
    #[error("the text ends where {wanted} should be")]
    Ends { wanted: &'static str },
    #[error("this is not UTF-8")]
    NotUtf8,
    #[error("a byte order mark, which JSON does not have")]
    Mark,
    #[error("`{}` where {wanted} should be", Shown(found))]
    Unexpected { found: char, wanted: &'static str },
    #[error("a word that is none of `true`, `false` and `null`")]
    Word,
    #[error("a number that starts with a needless `0`")]
    LeadingZero,
    #[error("a number with {0}")]
    Number(NumberError),
    #[error("a control character in a string: write it as `\\u{code:04x}`")]
    Control { code: u32 },
    #[error("`\\{}` is not an escape", Shown(found))]
    Escape { found: char },
    #[error("half of a surrogate pair, which is not a character")]
    Surrogate,
    #[error("the key `{}` twice in one object", ShownKey(key))]
    Duplicate { key: Text },
    #[error("more than {levels_max} levels of objects and arrays")]
    TooDeep { levels_max: usize },
    #[error("`{}` after the end of the value", Shown(found))]
    Trailing { found: char },
}

/// How many bytes at the beginning of a string need no escape: those before the first quote, backslash or control
/// character. The rest begins with ASCII or is empty.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, last) = bytes.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        // Eight bytes at a time: the top bit of each byte says whether the byte is below a limit. A borrow can mark a
        // wrong byte only above a right one, so the lowest mark is always right.
        let word = u64::from_le_bytes(*word);
        let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let marks = (below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7);
        if marks != 0 {
            return length + usize::try_from(marks.trailing_zeros() / 8).unwrap_or(0);
        }
        length += 8;
    }
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    length + last.iter().position(special).unwrap_or(last.len())
}

/// A character for a message, escaped so that it does not end the line.
struct Shown<'a>(&'a char);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '"' | '\'' | '\\' => self.0.fmt(f),
            other => other.escape_debug().fmt(f),
        }
    }
}

/// A key for a message, cut if it is long.
struct ShownKey<'a>(&'a str);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        characters.by_ref().take(KEY_SHOWN_MAX).try_for_each(|next| Shown(&next).fmt(f))?;
        if characters.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
