//! JSON, straight between text and values.
//!
//! What RFC 8259 leaves open is closed here, so that a text has one meaning or none: UTF-8 without a
//! mark, no key twice in an object, numbers exact or refused.

mod read;
mod write;

use std::fmt;

use crate::{NumberError, Text};

pub use read::read;
pub use write::{pretty, write, write_map, write_number, write_text};

/// How deep objects and arrays may lie in one another, if nothing else is said.
pub const LEVELS_MAX: usize = 32;

/// The most levels that can be asked for. A value is walked and dropped by recursion, so its depth has
/// to be one that every stack can bear.
pub const LEVELS_CEILING: usize = 512;

/// How much of a key a message shows, in characters.
const KEY_SHOWN_MAX: usize = 40;

/// What a text may be at most. Its length is for the caller to bound, before there is a text.
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

/// Why a text is not read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at line {line}, column {column}")]
pub struct JsonError {
    /// The byte of the text at which it goes wrong.
    pub offset: usize,
    /// The line of that byte, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// The value it goes wrong in, as a JSON pointer (RFC 6901); empty for the whole.
    ///
    /// It has the text's keys whole: it can be as long as the text.
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
    #[error("half of a surrogate pair, which is no character")]
    Surrogate,
    #[error("the key `{}` twice in one object", ShownKey(key))]
    Duplicate { key: Text },
    #[error("more than {levels_max} levels of objects and arrays")]
    TooDeep { levels_max: usize },
    #[error("`{}` after the end of the value", Shown(found))]
    Trailing { found: char },
}

/// How many bytes at the beginning of a string stand for themselves: those before the first quote,
/// backslash or control character. What follows them begins with ASCII, or is nothing.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, last) = bytes.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        // Eight bytes at a time: the top bit of each tells whether it is below a limit. A borrow can
        // mark bytes above one that is marked rightly, so that the lowest mark is always right.
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

/// A character as messages show it: nothing ends their line.
struct Shown<'a>(&'a char);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '"' | '\'' | '\\' => self.0.fmt(f),
            other => other.escape_debug().fmt(f),
        }
    }
}

/// A key as messages show it: its beginning, when it is long.
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
