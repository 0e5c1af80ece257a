//! Draws by lot that anyone can repeat: what a key draws for a subject, and the commitment to a key.
//!
//! A contract's `draw`, `commitment` and `reveal` are these functions; `latchkey verify` uses them too.
//!
//! ```
//! use latchkey_runtime::draw::{Draw, commitment, revealed};
//!
//! let key = revealed(&"0b".repeat(32)).ok_or("no key")?;
//! assert!(commitment(&key).starts_with("f0e38b830e"));
//! let draw = Draw::of(&key, "spring#alice").ok_or("no draw")?;
//! assert_eq!(format!("{draw:.6}"), "0.682817…");
//! assert!(draw.is_below(&"0.6829".parse()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cmp::Ordering;
use std::fmt::{self, Write};

use hmac::{Hmac, KeyInit, Mac};
use latchkey_table::{Number, Text, Value};
use latchkey_value::Format;
use sha2::{Digest, Sha256};

/// How long a key is that `new key` makes.
pub const KEY_BYTES: usize = 32;

/// How long a SHA-256 is.
const HASH_BYTES: usize = 32;

/// What a key draws for a subject: a fraction from 0 up to, and never, 1.
///
/// It is the first 8 bytes of their HMAC-SHA256, big-endian, over 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Draw(u64);

impl Draw {
    /// What a key draws for a subject. HMAC takes keys of any length, so there is always something.
    pub fn of(key: &[u8], subject: &str) -> Option<Draw> {
        let mut keyed = Hmac::<Sha256>::new_from_slice(key).ok()?;
        keyed.update(subject.as_bytes());
        Some(Draw(first_bytes(keyed.finalize().into_bytes())))
    }

    /// Its order to a number, exactly: both are compared digit by decimal digit.
    pub fn compare(self, number: &Number) -> Ordering {
        let digits = number.coefficient().to_string();
        let places = usize::try_from(-i32::from(number.exponent()));
        match places {
            _ if number.is_negative() => Ordering::Greater,
            _ if *number == Number::ZERO => self.0.cmp(&0),
            // Otherwise it has a digit before the point, and the draw has none.
            Ok(places) if digits.len() <= places => {
                let zeros = std::iter::repeat_n(0, places - digits.len());
                let digits = digits.bytes().map(|digit| digit.saturating_sub(b'0'));
                let mut own = Digits(self.0);
                for digit in zeros.chain(digits) {
                    match own.digit().cmp(&digit) {
                        Ordering::Equal => {}
                        other => return other,
                    }
                }
                own.0.cmp(&0)
            }
            _ => Ordering::Less,
        }
    }

    /// Whether it is below a number: with a rate, whether it wins.
    pub fn is_below(self, number: &Number) -> bool {
        self.compare(number).is_lt()
    }
}

/// As a decimal fraction, exactly; up to so many places if a precision is given, with `…` for the rest.
impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == 0 { "0" } else { "0." })?;
        let mut digits = Digits(self.0);
        // Each digit takes a factor of two from what is left, so that there are 64 at most.
        for _ in 0..f.precision().unwrap_or(64) {
            if digits.0 == 0 {
                return Ok(());
            }
            f.write_char(char::from(b'0'.saturating_add(digits.digit())))?;
        }
        f.write_str(if digits.0 == 0 { "" } else { "…" })
    }
}

/// A fraction of 2^64, from which decimal digits are taken.
struct Digits(u64);

impl Digits {
    fn digit(&mut self) -> u8 {
        let tenfold = u128::from(self.0) * 10;
        self.0 = u64::try_from(tenfold & u128::from(u64::MAX)).unwrap_or(0);
        // Below 10.
        u8::try_from(tenfold >> 64).unwrap_or(0)
    }
}

/// The commitment to a key: its SHA-256, 64 hexadecimal digits.
pub fn commitment(key: &[u8]) -> Text {
    hexadecimal(&Sha256::digest(key))
}

/// Bytes, two hexadecimal digits each: a key as it is revealed.
pub fn hexadecimal(bytes: &[u8]) -> Text {
    let mut text = Text::default();
    // Writing to a text does not fail.
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The key in a revealed text, if the text is 64 hexadecimal digits of either case.
pub fn revealed(text: &str) -> Option<[u8; KEY_BYTES]> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some((digit(high)? << 4) | digit(low)?);
    let key: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    key.filter(|_| rest.is_empty())?.try_into().ok()
}

/// A value as the text of a subject has it, in a form of its own if one is given. What cannot stand in a text is
/// nothing.
pub fn part(value: &Value, format: Option<Format>) -> Option<Text> {
    let mut text = Text::default();
    crate::evaluate::push(&mut text, value, format).ok().map(|()| text)
}

/// The first 8 bytes of a hash, big-endian.
pub(crate) fn first_bytes(hash: impl Into<[u8; HASH_BYTES]>) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = hash.into();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests;
