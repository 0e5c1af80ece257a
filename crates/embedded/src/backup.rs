//! The file of a backup: all that a store holds at one instant.
//!
//! ```text
//! file    the line `latchkey backup 1`, and then frames
//! frame   length of the payload 4   checksum 4   payload
//! payload h  how many keys there are 8
//!         c  length of the name 4   name   bytes                         (a name of the catalog)
//!         k  length of the key 4   length of the bytes 4   key   bytes   (as often as there are keys in it)
//!         e  how many keys 8   their bytes 8   how many names 8          (the end)
//! ```
//!
//! The checksum is of the frame's number and of its payload, so no frame can be missing, changed or in another place.
//! A file that was cut has no end.

use std::io::{self, Write};

use crate::catalog::Catalog;
use crate::engine::{EngineError, Walk};
use crate::item_codec;
use crate::key_codec::read_item_key;
use crate::map::{FORMAT, HEAD};
use crate::verify::Watching;
use crate::view::{ReadSoFar, View, everything};

/// What the file begins with, without the version.
pub(crate) const MAGIC: &str = "latchkey backup ";

/// The version of what is written here.
pub(crate) const VERSION: u32 = 1;

/// From so many bytes on a frame is written.
const FRAME_BYTES: usize = 256 * 1024;

/// What a frame has, by its first byte.
pub(crate) mod kind {
    pub(crate) const HEAD: u8 = b'h';
    pub(crate) const NAME: u8 = b'c';
    pub(crate) const KEYS: u8 = b'k';
    pub(crate) const END: u8 = b'e';
}

/// What a backup holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Saved {
    /// Items and index entries.
    pub keys: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tables, and what else is in the catalog.
    pub names: u64,
}

/// Why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store cannot be read, or is damaged.
    #[error(
        "{0}; `latchkey store verify` tells of all damage, and `latchkey store salvage` saves what can be read"
    )]
    Store(String),
    /// The backup cannot be written.
    #[error("the backup cannot be written: {0}")]
    Write(#[source] io::Error),
    /// It was told to stop.
    #[error("the backup was stopped")]
    Stopped,
}

impl From<EngineError> for BackupError {
    fn from(error: EngineError) -> BackupError {
        BackupError::Store(error.text)
    }
}

impl View {
    /// Writes everything, and verifies each item as it does. Every write is a whole frame.
    pub fn back_up(&self, out: &mut dyn Write, watch: Watching<'_>) -> Result<Saved, BackupError> {
        let snapshot = &self.seen.snapshot;
        let total = snapshot.len()?;
        let mut frames = Frames { out, number: 0 };
        frames
            .out
            .write_all(format!("{MAGIC}{VERSION}\n").as_bytes())
            .map_err(BackupError::Write)?;
        frames.write(kind::HEAD, &[&total.to_be_bytes()])?;
        let mut saved = Saved::default();
        let mut names = snapshot.meta("")?;
        names.sort();
        for (name, bytes) in names {
            // They are of the file and of its journals, and another store has its own.
            if name == FORMAT || name == HEAD {
                continue;
            }
            frames.write(kind::NAME, &[&length(name.len())?, name.as_bytes(), &bytes])?;
            saved.names += 1;
        }
        let mut payload = Vec::new();
        let mut failed = None;
        snapshot.walk(&everything(), false, |key, bytes| {
            if crate::group::meta_name(key).is_some() {
                return Ok(Walk::On);
            }
            self.seen.catalog.sound(key, bytes)?;
            for length in [key.len(), bytes.len()].map(length) {
                payload.extend_from_slice(&length?);
            }
            payload.extend_from_slice(key);
            payload.extend_from_slice(bytes);
            saved.keys += 1;
            saved.bytes += wide(key.len() + bytes.len());
            if payload.len() >= FRAME_BYTES {
                let progress =
                    ReadSoFar { keys: saved.keys, bytes: saved.bytes, keys_total: total };
                let written = frames.write(kind::KEYS, &[&payload]);
                payload.clear();
                if let Err(error) = written {
                    failed = Some(error);
                } else if watch(progress).is_break() {
                    failed = Some(BackupError::Stopped);
                }
            }
            Ok(if failed.is_some() { Walk::Stop } else { Walk::On })
        })?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        if saved.keys != total {
            let met = saved.keys;
            return Err(BackupError::Store(format!(
                "{met} keys are found, and there should be {total}"
            )));
        }
        if !payload.is_empty() {
            frames.write(kind::KEYS, &[&payload])?;
        }
        let end = [saved.keys, saved.bytes, saved.names].map(u64::to_be_bytes);
        frames.write(kind::END, &[end.as_flattened()])?;
        Ok(saved)
    }
}

impl Catalog {
    /// Refuses what is not as it was written.
    pub(crate) fn sound(&self, key: &[u8], bytes: &[u8]) -> Result<(), EngineError> {
        let space = key.first_chunk().map(|space| u16::from_be_bytes(*space));
        for entry in self.entries() {
            if space == Some(entry.space.0) {
                let item = read_item_key(key).and_then(|item_key| {
                    item_codec::decode(key, bytes, &entry.schema.key, item_key, None).ok()
                });
                let name = &entry.schema.name;
                return item.map(drop).ok_or_else(|| {
                    let shown = read_item_key(key).map(|key| entry.schema.key.shown(&key));
                    let shown = shown.unwrap_or_else(|| key.escape_ascii().to_string());
                    let shown = shown.escape_debug();
                    EngineError::new(format!("table `{name}`, key `{shown}`: the item is damaged"))
                });
            }
            if entry.index_spaces.iter().any(|index| space == Some(index.0)) {
                let checked = item_codec::check_entry(key, bytes);
                return checked.map_err(|_| crate::catalog::damaged(key));
            }
        }
        Err(EngineError::new(format!("the key {} belongs to no table", key.escape_ascii())))
    }
}

struct Frames<'a> {
    out: &'a mut dyn Write,
    number: u64,
}

impl Frames<'_> {
    fn write(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), BackupError> {
        let payload = [[kind].as_slice()].iter().chain(parts).copied().collect::<Vec<_>>().concat();
        let sum = checksum(self.number, &payload).to_be_bytes();
        let frame = [length(payload.len())?.as_slice(), &sum, &payload].concat();
        self.number += 1;
        self.out.write_all(&frame).map_err(BackupError::Write)
    }
}

/// The checksum of a frame.
pub(crate) fn checksum(number: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_be_bytes());
    hasher.update(payload);
    hasher.finalize()
}

fn length(len: usize) -> Result<[u8; 4], EngineError> {
    let len =
        u32::try_from(len).map_err(|_| EngineError::new("a record is too long".to_owned()))?;
    Ok(len.to_be_bytes())
}

pub(crate) fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
