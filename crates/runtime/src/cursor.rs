//! Cursors: the place where a list goes on, encrypted.
//!
//! A cursor comes back from a stranger. It is valid only for the contract, the inputs, the caller and the direction
//! that it was made for: these are not in the cursor, but its tag covers them. Encrypted, it holds the keys of one item.
//! These may have parts that the caller must not see: secret attributes, and attributes that the contract leaves out.

mod shards;

pub(crate) use shards::ShardPlaces;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use latchkey_table::{Direction, IndexScan, Key, Query, Resume, Text, Value};
use sha2::{Digest, Sha256};

use crate::bug::Bug;
use crate::json;

/// The longest cursor that is looked at.
pub(crate) const CURSOR_BYTES_MAX: usize = 8 * 1024;

/// The first byte of a cursor. A cursor of another form is refused like one that was made elsewhere.
const VERSION: u8 = 2;

const NONCE_BYTES: usize = 24;

/// Makes and opens cursors.
#[derive(Clone)]
pub(crate) struct Sealer {
    cipher: XChaCha20Poly1305,
    nonces: Hmac<Sha256>,
    /// Of secrets that were replaced: they open cursors and make none.
    old: Vec<XChaCha20Poly1305>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

/// The only use a cursor is valid for.
pub(crate) struct CursorUse<'a> {
    pub(crate) system: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) caller: &'a str,
    pub(crate) inputs: &'a [Option<Value>],
    /// What goes on.
    pub(crate) list: List<'a>,
}

/// A list that goes on behind a cursor.
#[derive(Clone, Copy)]
pub(crate) enum List<'a> {
    /// A query: its partition, range and direction.
    Query(&'a Query),
    /// All of an index.
    Index(&'a IndexScan),
}

impl Sealer {
    pub(crate) fn new(secret: &[u8]) -> Sealer {
        let nonces = keyed(&derived(secret, b"latchkey cursor nonce"));
        Sealer { cipher: cipher(secret), nonces, old: Vec::new() }
    }

    /// The same, which also opens cursors that were made with a secret before.
    #[must_use]
    pub(crate) fn with_old(mut self, secret: &[u8]) -> Sealer {
        self.old.push(cipher(secret));
        self
    }

    /// The cursor that goes on behind a place.
    ///
    /// The nonce is a hash of all that is sealed, so that one list is answered with one cursor, however often it is
    /// asked for, and no two texts share a nonce.
    pub(crate) fn seal(&self, used: &CursorUse<'_>, resume: &Resume) -> Result<String, Bug> {
        let mut place = Vec::new();
        match used.list {
            List::Query(query) => write_place(query, resume, &mut place)?,
            List::Index(_) => {
                let keys = resume.index_key.iter().chain([&resume.key]);
                let mut texts = keys.flat_map(|key| [&key.partition, &key.sort]);
                texts.try_for_each(|text| write_text(text, &mut place))?;
            }
        }
        self.sealed(&used.bytes()?, &place)
    }

    fn sealed(&self, aad: &[u8], place: &[u8]) -> Result<String, Bug> {
        let hash = self.nonces.clone().chain_update(aad).chain_update(place).finalize();
        let hash = hash.into_bytes();
        let (nonce, _) = hash
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or_else(|| Bug::new("a hash is shorter than a nonce"))?;
        let payload = Payload { msg: place, aad };
        let sealed = self.cipher.encrypt(&XNonce::from(*nonce), payload);
        let sealed = sealed.map_err(|_| Bug::new("a cursor is too long to be encrypted"))?;
        let mut bytes = vec![VERSION];
        bytes.extend(nonce);
        bytes.extend(sealed);
        Ok(BASE64.encode(bytes))
    }

    /// The cursor that goes on behind an item of one of several partitions.
    pub(crate) fn seal_shards(
        &self,
        used: &CursorUse<'_>,
        queries: &[Query],
        places: &ShardPlaces,
    ) -> Result<String, Bug> {
        let mut bytes = Vec::new();
        shards::write(queries, places, &mut bytes)?;
        self.sealed(&used.shards(queries.len())?, &bytes)
    }

    /// The places in several partitions that a cursor leads to, if it was made here and for this use.
    pub(crate) fn open_shards(
        &self,
        used: &CursorUse<'_>,
        queries: &[Query],
        cursor: &str,
    ) -> Result<Option<Vec<Option<Resume>>>, Bug> {
        let aad = used.shards(queries.len())?;
        let Some(bytes) = self.unsealed(&aad, cursor) else { return Ok(None) };
        let Some(places) = shards::read(queries, &bytes) else { return Ok(None) };
        let valid = |(query, resume): (&Query, &Option<Resume>)| {
            Query { resume: resume.clone(), ..query.clone() }.validate().is_ok()
        };
        let all = queries.iter().zip(&places).all(valid);
        Ok(Some(places).filter(|_| all))
    }

    /// The place a cursor leads to, if it was made here and for this use.
    pub(crate) fn open(&self, used: &CursorUse<'_>, cursor: &str) -> Result<Option<Resume>, Bug> {
        let Some(place) = self.unsealed(&used.bytes()?, cursor) else { return Ok(None) };
        let mut rest = place.as_slice();
        let resume = match used.list {
            List::Query(query) => read_place(query, &mut rest),
            List::Index(_) => read_index_place(&mut rest),
        };
        let Some(resume) = resume.filter(|_| rest.is_empty()) else { return Ok(None) };
        // The cursor is ours. Whether the table can go on there may have changed with the document.
        let goes_on = Some(resume.clone());
        let valid = match used.list {
            List::Query(query) => Query { resume: goes_on, ..query.clone() }.validate(),
            List::Index(scan) => IndexScan { resume: goes_on, ..scan.clone() }.validate(),
        };
        Ok(valid.ok().map(|()| resume))
    }

    fn unsealed(&self, aad: &[u8], cursor: &str) -> Option<Vec<u8>> {
        if cursor.len() > CURSOR_BYTES_MAX {
            return None;
        }
        let bytes = BASE64.decode(cursor).ok()?;
        let (&VERSION, rest) = bytes.split_first()? else { return None };
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let nonce = XNonce::from(*nonce);
        let opened =
            |cipher: &XChaCha20Poly1305| cipher.decrypt(&nonce, Payload { msg: sealed, aad }).ok();
        opened(&self.cipher).or_else(|| self.old.iter().find_map(opened))
    }
}

impl CursorUse<'_> {
    /// The same for a list of so many partitions.
    fn shards(&self, count: usize) -> Result<Vec<u8>, Bug> {
        let mut bytes = self.bytes()?;
        let count = u64::try_from(count).map_err(|_| Bug::new("there are too many partitions"))?;
        bytes.extend(b"shards");
        bytes.extend(count.to_le_bytes());
        Ok(bytes)
    }

    /// All that the cursor is bound to. Each part has its length before it, so that no two uses have the same bytes.
    fn bytes(&self) -> Result<Vec<u8>, Bug> {
        let mut bytes = Vec::new();
        let mut part = |part: &[u8]| {
            let length = u64::try_from(part.len());
            let length = length.map_err(|_| Bug::new("an input is longer than memory"))?;
            bytes.extend(length.to_le_bytes());
            bytes.extend(part);
            Ok::<(), Bug>(())
        };
        let (partition, direction) = match self.list {
            List::Query(query) => (query.partition.as_str(), query.direction),
            List::Index(_) => ("", Direction::Ascending),
        };
        for text in [self.system, self.contract, self.caller, partition] {
            part(text.as_bytes())?;
        }
        part(match direction {
            Direction::Ascending => b"ascending",
            Direction::Descending => b"descending",
        })?;
        let mut text = String::new();
        for input in self.inputs {
            text.clear();
            if let Some(value) = input {
                json::write(value, &mut text);
            }
            part(text.as_bytes())?;
        }
        Ok(bytes)
    }
}

/// The cipher of a secret.
fn cipher(secret: &[u8]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&derived(secret, b"latchkey cursor key"))
}

/// A key for one purpose, from a secret.
fn derived(secret: &[u8], purpose: &[u8]) -> hmac::digest::Output<Hmac<Sha256>> {
    keyed(secret).chain_update(purpose).finalize().into_bytes()
}

/// A hash under a key of any length, which is hashed first: so there is none that is refused.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    block.iter_mut().zip(Sha256::digest(key)).for_each(|(to, from)| *to = from);
    Hmac::new(&block)
}

fn write_text(text: &Text, bytes: &mut Vec<u8>) -> Result<(), Bug> {
    let length = u16::try_from(text.len());
    let length = length.map_err(|_| Bug::new("a key is longer than any table takes"))?;
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.as_bytes());
    Ok(())
}

fn read_text(bytes: &mut &[u8]) -> Option<Text> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    *bytes = rest;
    std::str::from_utf8(text).ok().map(Text::from)
}

/// A place in an index: its keys there and in the table.
fn read_index_place(bytes: &mut &[u8]) -> Option<Resume> {
    let mut key = || Some(Key { partition: read_text(bytes)?, sort: read_text(bytes)? });
    let (index_key, key) = (Some(key()?), key()?);
    Some(Resume { key, index_key })
}

/// Writes a place, text by text, without the partition of the query, which is known.
fn write_place(query: &Query, resume: &Resume, bytes: &mut Vec<u8>) -> Result<(), Bug> {
    let mut text = |text: &Text| write_text(text, bytes);
    match &resume.index_key {
        Some(index) => {
            text(&index.sort)?;
            text(&resume.key.partition)?;
        }
        None if resume.key.partition == query.partition => {}
        None => return Err(Bug::new("a list goes on in another partition")),
    }
    text(&resume.key.sort)
}

fn read_place(query: &Query, bytes: &mut &[u8]) -> Option<Resume> {
    let mut text = || read_text(bytes);
    Some(if query.index.is_some() {
        let index_key = Key { partition: query.partition.clone(), sort: text()? };
        let key = Key { partition: text()?, sort: text()? };
        Resume { key, index_key: Some(index_key) }
    } else {
        let key = Key { partition: query.partition.clone(), sort: text()? };
        Resume { key, index_key: None }
    })
}

#[cfg(test)]
mod tests;
