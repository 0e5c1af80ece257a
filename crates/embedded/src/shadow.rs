//! The files of a store, read and never written.
//!
//! redb writes when it opens a file that was not closed in order, and when it checks one. What is written here is kept
//! in memory, and gone afterwards: the files stay as they were found.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::storage::{Part, Source};

/// How much is copied at once when something is written.
const BLOCK: u64 = 4096;

/// A file, and what was written since.
#[derive(Debug)]
struct Shadow {
    file: File,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    len: u64,
    /// Up to where the file itself counts.
    of_file: u64,
    /// Whole blocks, by their number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

/// The storage of a directory's files, which are not written.
pub(crate) fn source(directory: &Path) -> io::Result<Source> {
    let [first, second] = Part::JOURNALS;
    for part in [Part::Map, first, second] {
        // Whoever asks below cannot be told why a file cannot be read.
        if let Err(error) = File::open(directory.join(part.file_name()))
            && (part == Part::Map || error.kind() != io::ErrorKind::NotFound)
        {
            return Err(error);
        }
    }
    let directory = directory.to_owned();
    Ok(Source::Custom(Box::new(move |part| open(&directory, part))))
}

/// The storage of a part; empty if it has no file.
fn open(directory: &Path, part: Part) -> Box<dyn StorageBackend> {
    let opened = File::open(directory.join(part.file_name()));
    let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
    match opened {
        Ok((len, file)) => {
            let state = State { len, of_file: len, blocks: BTreeMap::new() };
            Box::new(Shadow { file, state: Mutex::new(state) })
        }
        Err(_) => Box::new(redb::backends::InMemoryBackend::new()),
    }
}

impl Shadow {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file has at a place, and zeros behind its end.
    fn read_file(&self, of_file: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let left = usize::try_from(of_file.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = left.min(out.len());
        let (there, behind) = out.split_at_mut(count);
        behind.fill(0);
        self.file.read_exact_at(there, offset)
    }
}

/// Where the bytes from an offset on lie: the block, the place in it, and how many of them are in it.
fn place(offset: u64, len: usize) -> (u64, usize, usize) {
    let (block, at) = (offset / BLOCK, usize::try_from(offset % BLOCK).unwrap_or_default());
    let room = usize::try_from(BLOCK).unwrap_or_default().saturating_sub(at);
    (block, at, room.min(len))
}

impl StorageBackend for Shadow {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.lock();
        let length = u64::try_from(out.len()).unwrap_or(u64::MAX);
        if offset.saturating_add(length) > state.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(state.of_file, offset, out)?;
        let blocks = offset / BLOCK..offset.saturating_add(length).div_ceil(BLOCK);
        for (number, block) in state.blocks.range(blocks) {
            let start = number.saturating_mul(BLOCK);
            let from = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
            let to = usize::try_from(start.saturating_sub(offset)).unwrap_or(usize::MAX);
            if let (Some(from), Some(to)) = (block.get(from..), out.get_mut(to..)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.of_file = state.of_file.min(len);
        state.blocks.split_off(&len.div_ceil(BLOCK));
        // What a file grows by is zeros, also in the block where it was cut.
        let (last, at, _) = place(len, 0);
        if let Some(behind) = state.blocks.get_mut(&last).and_then(|block| block.get_mut(at..)) {
            behind.fill(0);
        }
        state.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, mut offset: u64, mut data: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        while !data.is_empty() {
            let (number, at, count) = place(offset, data.len());
            if !state.blocks.contains_key(&number) {
                let mut block = vec![0; usize::try_from(BLOCK).unwrap_or_default()];
                self.read_file(state.of_file, number.saturating_mul(BLOCK), &mut block)?;
                state.blocks.insert(number, block);
            }
            let (some, rest) = data.split_at(count);
            let block = state.blocks.get_mut(&number);
            if let Some(to) = block.and_then(|block| block.get_mut(at..at + count)) {
                to.copy_from_slice(some);
            }
            data = rest;
            offset = offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        }
        state.len = state.len.max(offset);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shadow_is_as_a_file_and_leaves_it_alone(
            steps in prop::collection::vec((0u64..20_000, 0usize..9000, any::<u8>(), any::<bool>()), 0..12),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(Part::Map.file_name());
            let whole: Vec<u8> = (0..10_000u32).map(|n| n.to_le_bytes()[0]).collect();
            std::fs::write(&path, &whole).unwrap();
            let shadow = open(directory.path(), Part::Map);
            let mut expected = whole.clone();
            for (offset, count, value, cut) in steps {
                let at = usize::try_from(offset).unwrap();
                if cut {
                    shadow.set_len(offset).unwrap();
                    expected.resize(at, 0);
                } else {
                    shadow.write(offset, &vec![value; count]).unwrap();
                    if count > 0 {
                        expected.resize(expected.len().max(at + count), 0);
                        expected[at..at + count].fill(value);
                    }
                }
                let len = u64::try_from(expected.len()).unwrap();
                prop_assert_eq!(shadow.len().unwrap(), len);
                let mut read = vec![1; expected.len()];
                shadow.read(0, &mut read).unwrap();
                prop_assert!(read == expected);
                let mut part = vec![1; expected.len() / 3];
                let half = u64::try_from(expected.len() / 2).unwrap();
                shadow.read(half, &mut part).unwrap();
                prop_assert!(part == expected[expected.len() / 2..][..part.len()]);
            }
            prop_assert!(std::fs::read(&path).unwrap() == whole);
        }
    }
}
