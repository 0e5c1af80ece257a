//! Cursors: where a list goes on, sealed.
//!
//! A cursor is what a stranger hands in. It is good only for the contract, the inputs, the caller and the
//! direction it was made for: these are not in it, but under its seal. What is in it is the place to go on at.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use latchkey_table::{Direction, Key, Query, Resume, Text, Value};
use sha2::Sha256;

use crate::json;

/// The longest cursor that is looked at.
pub(crate) const CURSOR_BYTES_MAX: usize = 8 * 1024;

/// The form of what is under the seal and in the cursor. Another form makes old cursors invalid.
const VERSION: u8 = 1;

/// Half of the hash: nobody forges 128 bits.
const SEAL_BYTES: usize = 16;

/// Makes and opens cursors.
#[derive(Clone)]
pub(crate) struct Sealer {
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

/// What a cursor is good for.
pub(crate) struct Scope<'a> {
    pub(crate) system: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) caller: &'a str,
    pub(crate) inputs: &'a [Option<Value>],
    /// The query it goes on with: its partition, range and direction.
    pub(crate) query: &'a Query,
}

impl Sealer {
    pub(crate) fn new(secret: &[u8]) -> Sealer {
        // A hash of any key length: there is none it refuses.
        let keyed = Hmac::new_from_slice(secret);
        let keyed = keyed.or_else(|_| Hmac::new_from_slice(&[]));
        match keyed {
            Ok(keyed) => Sealer { keyed },
            Err(_) => Sealer { keyed: <Hmac<Sha256> as KeyInit>::new(&Default::default()) },
        }
    }

    /// The cursor that goes on behind a place.
    pub(crate) fn seal(&self, scope: &Scope<'_>, resume: &Resume) -> String {
        let mut bytes = vec![VERSION];
        write_place(scope.query, resume, &mut bytes);
        let seal = self.mac(scope, &bytes).finalize().into_bytes();
        bytes.extend(seal.iter().take(SEAL_BYTES));
        BASE64.encode(bytes)
    }

    /// The place a cursor leads to, if it was made here and for this.
    pub(crate) fn open(&self, scope: &Scope<'_>, cursor: &str) -> Option<Resume> {
        if cursor.len() > CURSOR_BYTES_MAX {
            return None;
        }
        let bytes = BASE64.decode(cursor).ok()?;
        let (place, seal) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
        self.mac(scope, place).verify_truncated_left(seal).ok()?;
        let (&VERSION, place) = place.split_first()? else { return None };
        let resume = read_place(scope.query, place)?;
        // It was ours; it is asked again whether the table can go on there.
        let query = Query { resume: Some(resume.clone()), ..scope.query.clone() };
        query.validate().ok().map(|()| resume)
    }

    fn mac(&self, scope: &Scope<'_>, place: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        let mut part = |bytes: &[u8]| {
            // Each part with its length, or two parts could be told as two others.
            mac.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            mac.update(bytes);
        };
        for text in [scope.system, scope.contract, scope.caller, &scope.query.partition] {
            part(text.as_bytes());
        }
        part(match scope.query.direction {
            Direction::Ascending => b"ascending",
            Direction::Descending => b"descending",
        });
        let mut text = String::new();
        for input in scope.inputs {
            text.clear();
            if let Some(value) = input {
                json::write(value, &mut text);
            }
            part(text.as_bytes());
        }
        part(place);
        mac
    }
}

/// The partition that was queried is known; the rest of the place is written, text by text.
fn write_place(query: &Query, resume: &Resume, bytes: &mut Vec<u8>) {
    let mut text = |text: &Text| {
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        bytes.extend(length.to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    if let Some(index) = &resume.index_key {
        text(&index.sort);
        text(&resume.key.partition);
    }
    debug_assert!(resume.index_key.is_some() || resume.key.partition == query.partition);
    text(&resume.key.sort);
}

fn read_place(query: &Query, mut bytes: &[u8]) -> Option<Resume> {
    let mut text = || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        bytes = rest;
        std::str::from_utf8(text).ok().map(Text::from)
    };
    let resume = if query.index.is_some() {
        let index_key = Key { partition: query.partition.clone(), sort: text()? };
        let key = Key { partition: text()?, sort: text()? };
        Resume { key, index_key: Some(index_key) }
    } else {
        let key = Key { partition: query.partition.clone(), sort: text()? };
        Resume { key, index_key: None }
    };
    bytes.is_empty().then_some(resume)
}

#[cfg(test)]
mod tests;
