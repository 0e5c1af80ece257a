//! Makes a store of a backup.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::backup::{MAGIC, Saved, VERSION, checksum, kind, wide};
use crate::catalog::{Catalog, is_table};
use crate::directory::Directory;
use crate::engine::{Pair, WriteFailure};
use crate::error::OpenError;
use crate::map::Map;
use crate::storage::Part;
use crate::store::Options;
use crate::verify::Watching;
use crate::view::ReadSoFar;
use crate::watch::LOST;

/// The longest frame that is read: many times the longest that is written.
const FRAME_BYTES_MAX: u32 = 64 << 20;

/// From so many bytes on, what was read is written to the new store.
const BATCH_BYTES: usize = 16 << 20;

/// Why a backup was not restored. Nothing is left of the attempt.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The directory has a store already.
    #[error("`{}` has a store already, or is left of one; name another directory", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The backup cannot be read.
    #[error("the backup cannot be read: {0}")]
    Read(#[source] io::Error),
    /// It is no backup.
    #[error("this is not a backup of latchkey")]
    Strange,
    /// A newer release has made it.
    #[error(
        "this backup has format {found}, and this release knows {VERSION}: use the release that made it, or a later one"
    )]
    Newer {
        /// Its format.
        found: u32,
    },
    /// It ends before its end.
    #[error("the backup is not whole: it was cut after {frames} frames")]
    Cut {
        /// How many frames it has.
        frames: u64,
    },
    /// It is not as it was written.
    #[error("the backup is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// The new store cannot be written.
    #[error("the store cannot be written: {0}")]
    Write(String),
    /// It was told to stop.
    #[error("the restore was stopped")]
    Stopped,
}

/// Makes a new store of a backup, and verifies the backup as it does. The store has the content of the one that was
/// backed up, and a name of its own.
pub fn restore(
    from: &mut dyn Read,
    path: &Path,
    options: &Options,
    watch: Watching<'_>,
) -> Result<Saved, RestoreError> {
    let exists = |part: Part| path.join(part.file_name()).exists();
    let parts = [Part::Map, Part::FirstJournal, Part::SecondJournal];
    if parts.into_iter().any(exists) || path.join(LOST).exists() {
        return Err(RestoreError::Exists { path: path.to_owned() });
    }
    let mut frames = Frames { from, number: 0 };
    frames.begin()?;
    let directory = Directory::lock(path)?;
    // Another process may have made one meanwhile.
    if exists(Part::Map) {
        return Err(RestoreError::Exists { path: path.to_owned() });
    }
    directory.restore(options.cache_bytes, |map| fill(&mut frames, map, watch))
}

/// Writes all frames into a new map.
fn fill(frames: &mut Frames<'_>, map: &Map, watch: Watching<'_>) -> Result<Saved, RestoreError> {
    let mut saved = Saved::default();
    let mut names: Vec<(String, Vec<u8>)> = Vec::new();
    let mut catalog: Option<Catalog> = None;
    let (mut batch, mut batch_bytes): (Vec<Pair>, usize) = (Vec::new(), 0);
    let mut keys_total = 0;
    loop {
        let payload = frames.next()?;
        let (kind, mut rest) = payload.split_first().ok_or_else(strange)?;
        let rest = &mut rest;
        match *kind {
            kind::HEAD if catalog.is_none() => keys_total = number(rest)?,
            kind::NAME if catalog.is_none() => {
                let len = length(rest)?;
                let name = String::from_utf8(take(rest, len)?).map_err(|_| strange())?;
                names.push((name, rest.to_vec()));
                saved.names += 1;
            }
            kind::KEYS => {
                if catalog.is_none() {
                    catalog = Some(begin(map, &names)?);
                }
                let Some(catalog) = &catalog else { return Err(strange()) };
                while !rest.is_empty() {
                    let lengths = (length(rest)?, length(rest)?);
                    let pair = (take(rest, lengths.0)?, take(rest, lengths.1)?);
                    catalog.sound(&pair.0, &pair.1).map_err(|error| damaged(&error.text))?;
                    let count = pair.0.len() + pair.1.len();
                    batch_bytes += count;
                    saved.keys += 1;
                    saved.bytes += wide(count);
                    batch.push(pair);
                }
                if batch_bytes >= BATCH_BYTES {
                    write(map, &mut batch)?;
                    batch_bytes = 0;
                }
                let progress = ReadSoFar { keys: saved.keys, bytes: saved.bytes, keys_total };
                if watch(progress).is_break() {
                    return Err(RestoreError::Stopped);
                }
            }
            kind::END => {
                if catalog.is_none() {
                    begin(map, &names)?;
                }
                write(map, &mut batch)?;
                let end = Saved { keys: number(rest)?, bytes: number(rest)?, names: number(rest)? };
                if end != saved || keys_total != saved.keys {
                    return Err(damaged("it does not have as much as it says"));
                }
                return frames.end().map(|()| saved);
            }
            _ => return Err(strange()),
        }
    }
}

/// Writes the catalog, and reads it.
fn begin(map: &Map, names: &[(String, Vec<u8>)]) -> Result<Catalog, RestoreError> {
    let mut wrong = None;
    let tables = names.iter().filter(|(name, _)| is_table(name));
    let tables = tables.map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let catalog = Catalog::of(tables, &mut |name| wrong = Some(name.escape_debug().to_string()));
    if let Some(name) = wrong {
        return Err(damaged(&format!("the catalog's `{name}` is damaged")));
    }
    let written = map.write(None, |direct| {
        names.iter().try_for_each(|(name, bytes)| direct.insert_meta(name, bytes))
    });
    written.map_err(unwritten)?;
    Ok(catalog)
}

/// Writes keys and their bytes, and makes them durable.
fn write(map: &Map, batch: &mut Vec<Pair>) -> Result<(), RestoreError> {
    let written = map
        .write(None, |direct| batch.iter().try_for_each(|(key, bytes)| direct.insert(key, bytes)));
    batch.clear();
    written.map_err(unwritten)
}

fn unwritten(failure: WriteFailure) -> RestoreError {
    match failure {
        WriteFailure::Aborted(error) | WriteFailure::InDoubt(error) => {
            RestoreError::Write(error.text)
        }
        WriteFailure::Refused(why) => RestoreError::Write(why.to_string()),
    }
}

/// The frames of a backup.
struct Frames<'a> {
    from: &'a mut dyn Read,
    number: u64,
}

impl Frames<'_> {
    /// Reads what every backup begins with.
    fn begin(&mut self) -> Result<(), RestoreError> {
        let mut line = Vec::new();
        while line.len() < MAGIC.len() + 11 && line.last() != Some(&b'\n') {
            let mut byte = [0];
            self.from.read_exact(&mut byte).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => RestoreError::Strange,
                _ => RestoreError::Read(error),
            })?;
            line.extend_from_slice(&byte);
        }
        let version = std::str::from_utf8(&line)
            .ok()
            .and_then(|line| line.strip_prefix(MAGIC)?.strip_suffix('\n')?.parse::<u32>().ok());
        match version {
            Some(VERSION) => Ok(()),
            Some(found) => Err(RestoreError::Newer { found }),
            None => Err(RestoreError::Strange),
        }
    }

    /// The payload of the next frame.
    fn next(&mut self) -> Result<Vec<u8>, RestoreError> {
        let mut head = [0; 8];
        self.read(&mut head)?;
        let [a, b, c, d, sum @ ..] = head;
        let len = u32::from_be_bytes([a, b, c, d]);
        let wrong = |number| damaged(&format!("frame {number} is not as it was written"));
        if len > FRAME_BYTES_MAX {
            return Err(wrong(self.number));
        }
        let mut payload = vec![0; usize::try_from(len).map_err(|_| strange())?];
        self.read(&mut payload)?;
        if checksum(self.number, &payload) != u32::from_be_bytes(sum) {
            return Err(wrong(self.number));
        }
        self.number += 1;
        Ok(payload)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), RestoreError> {
        self.from.read_exact(out).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RestoreError::Cut { frames: self.number },
            _ => RestoreError::Read(error),
        })
    }

    /// Nothing follows the last frame.
    fn end(&mut self) -> Result<(), RestoreError> {
        match self.from.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(damaged("something follows its end")),
            Err(error) => Err(RestoreError::Read(error)),
        }
    }
}

fn damaged(what: &str) -> RestoreError {
    RestoreError::Damaged { what: what.to_owned() }
}

/// The frame has a right checksum, and is none that is known here.
fn strange() -> RestoreError {
    damaged("it has a frame that this release does not know")
}

fn number(rest: &mut &[u8]) -> Result<u64, RestoreError> {
    let (number, tail) = rest.split_first_chunk().ok_or_else(strange)?;
    *rest = tail;
    Ok(u64::from_be_bytes(*number))
}

fn length(rest: &mut &[u8]) -> Result<usize, RestoreError> {
    let (length, tail) = rest.split_first_chunk().ok_or_else(strange)?;
    *rest = tail;
    usize::try_from(u32::from_be_bytes(*length)).map_err(|_| strange())
}

fn take(rest: &mut &[u8], len: usize) -> Result<Vec<u8>, RestoreError> {
    let (bytes, tail) = rest.split_at_checked(len).ok_or_else(strange)?;
    *rest = tail;
    Ok(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::{Arc, LazyLock};

    use latchkey_table::{Item, Put, Returning, Schema};
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::storage::Source;
    use crate::store::Store;

    /// The payloads of a backup's frames.
    static WHOLE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let store = Store::in_memory(&Options::default()).unwrap();
        let table = Arc::new(Schema::new("Test").with_index("GSI1"));
        store.create_table(&table).wait().unwrap();
        for n in ["1", "2", "3"] {
            let item = Item::from([("PK", "P"), ("SK", n), ("GSI1PK", "A"), ("GSI1SK", n)]);
            let put = Put { table: Arc::clone(&table), item, condition: None };
            store.put(put, Returning::Nothing).wait().unwrap();
        }
        let mut file = Vec::new();
        store.view().back_up(&mut file, &mut |_| ControlFlow::Continue(())).unwrap();
        let mut frames = Frames { from: &mut &*file, number: 0 };
        frames.begin().unwrap();
        let mut payloads = vec![frames.next().unwrap()];
        while payloads.last().is_none_or(|last| last.first() != Some(&kind::END)) {
            payloads.push(frames.next().unwrap());
        }
        payloads
    });

    /// Frames with right checksums.
    fn sealed(payloads: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for (number, payload) in (0..).zip(payloads) {
            file.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
            file.extend_from_slice(&checksum(number, payload).to_be_bytes());
            file.extend_from_slice(payload);
        }
        file
    }

    fn filled(file: &[u8]) -> Result<Saved, RestoreError> {
        let map = Map::open(&Source::Memory, 1 << 20).map_err(|_| strange())?;
        let mut from = file;
        fill(&mut Frames { from: &mut from, number: 0 }, &map, &mut |_| ControlFlow::Continue(()))
    }

    #[test]
    fn frames_are_restored() {
        let saved = filled(&sealed(&WHOLE)).unwrap();
        assert_eq!((saved.keys, WHOLE.len()), (6, usize::try_from(saved.names).unwrap() + 3));
    }

    proptest! {
        // A file with right checksums that no release has written.
        #[test]
        fn any_frames_are_read_or_refused(
            changes in prop::collection::vec((any::<Index>(), any::<Index>(), any::<u8>(), 0u8..5), 1..4),
        ) {
            let mut payloads = WHOLE.clone();
            for (frame, at, byte, change) in changes {
                let frame = frame.index(payloads.len());
                let Some(payload) = payloads.get_mut(frame) else { continue };
                match change {
                    0 => drop(payloads.remove(frame)),
                    1 => payloads.insert(frame, WHOLE.get(at.index(WHOLE.len())).unwrap().clone()),
                    2 => payload.truncate(at.index(payload.len() + 1)),
                    3 => payload.insert(at.index(payload.len() + 1), byte),
                    _ if payload.is_empty() => {}
                    _ => {
                        let at = at.index(payload.len());
                        payload[at] ^= byte;
                    }
                }
                if payloads.is_empty() {
                    break;
                }
            }
            let saved = filled(&sealed(&payloads));
            prop_assert!(saved.is_err() || payloads.last().is_some_and(|last| last.first() == Some(&kind::END)));
        }
    }
}
