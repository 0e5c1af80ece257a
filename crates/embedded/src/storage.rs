//! Where the bytes of a store are kept: the map in one place, and its two journals in two others.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use latchkey_table::ReadOnly;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::private;
use crate::watch::Watch;

/// A part of a store, which has storage of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The ordered map: all but the last writes.
    Map,
    /// The first of the two journals.
    FirstJournal,
    /// The second of the two journals.
    SecondJournal,
}

impl Part {
    /// The journals.
    pub(crate) const JOURNALS: [Part; 2] = [Part::FirstJournal, Part::SecondJournal];

    /// All parts.
    pub(crate) const ALL: [Part; 3] = [Part::Map, Part::FirstJournal, Part::SecondJournal];

    /// The name of its file.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Part::Map => "store.redb",
            Part::FirstJournal => "journal-0",
            Part::SecondJournal => "journal-1",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.file_name())
    }
}

/// Storage for a part, made anew each time the store opens.
type Maker = dyn Fn(Part) -> Box<dyn StorageBackend> + Send + Sync;

/// Where a store is kept.
pub(crate) enum Source {
    /// In files of a directory.
    Files(Arc<Watch>),
    /// In storage that the function returns.
    Custom(Box<Maker>),
    /// In memory, as long as the store is open.
    Memory,
}

impl Source {
    /// What to call the store in messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.path_of(Part::Map)
    }

    /// What to call a part of the store in messages.
    pub(crate) fn path_of(&self, part: Part) -> PathBuf {
        match self {
            Source::Files(watch) => watch.path(part),
            Source::Custom(_) => "custom storage".into(),
            Source::Memory => "memory".into(),
        }
    }

    /// Fails with the reason if the store takes no writes now.
    pub(crate) fn takes_writes(&self) -> Result<(), ReadOnly> {
        match self {
            Source::Files(watch) => watch.takes_writes(),
            Source::Custom(_) | Source::Memory => Ok(()),
        }
    }

    /// Looks whether all files are what was opened. What was written is durable only if they are.
    pub(crate) fn look(&self) -> Result<(), ReadOnly> {
        match self {
            Source::Files(watch) => watch.look(),
            Source::Custom(_) | Source::Memory => Ok(()),
        }
    }

    /// Whether a file is no longer what was opened, as far as is known. Nothing may be written then.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Source::Files(watch) if watch.is_gone())
    }

    /// What looks after the files, if the store has any.
    pub(crate) fn watch(&self) -> Option<Arc<Watch>> {
        match self {
            Source::Files(watch) => Some(Arc::clone(watch)),
            Source::Custom(_) | Source::Memory => None,
        }
    }

    /// Whether there is too little room to begin something that can wait.
    pub(crate) fn is_low(&self) -> bool {
        matches!(self, Source::Files(watch) if watch.is_low())
    }

    /// The map, and whether it must be made first.
    pub(crate) fn map(&self) -> io::Result<(Box<dyn StorageBackend>, bool)> {
        match self {
            Source::Files(watch) => {
                let file = File::options().read(true).write(true).open(watch.path(Part::Map))?;
                if file.metadata()?.len() == 0 {
                    let has_journal = Part::JOURNALS.iter().any(|part| watch.path(*part).exists());
                    let empty = match has_journal {
                        true => {
                            "the file is empty: restore a backup, or save the last writes, which the journals have, by \
                             `latchkey store salvage`"
                        }
                        false => "the file is empty, and there are no journals: restore a backup",
                    };
                    return Err(io::Error::new(io::ErrorKind::InvalidData, empty));
                }
                Ok((Stored::boxed(watch, Part::Map, file)?, false))
            }
            Source::Custom(make) => {
                let storage = make(Part::Map);
                let empty = storage.len()? == 0;
                Ok((storage, empty))
            }
            Source::Memory => Ok((Box::new(InMemoryBackend::new()), true)),
        }
    }

    /// A journal, if there is one.
    pub(crate) fn journal(&self, part: Part) -> io::Result<Option<Box<dyn StorageBackend>>> {
        match self {
            Source::Files(watch) => {
                let file = File::options().read(true).write(true).open(watch.path(part));
                match file {
                    Ok(file) => Ok(Some(Stored::boxed(watch, part, file)?)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Source::Custom(make) => {
                let storage = make(part);
                Ok((storage.len()? > 0).then_some(storage))
            }
            Source::Memory => Ok(None),
        }
    }

    /// A journal, made if it is not there. It is sure to be found again once this returns.
    pub(crate) fn make_journal(&self, part: Part) -> io::Result<Box<dyn StorageBackend>> {
        match self {
            Source::Files(watch) => {
                let mut options = private::options();
                options.read(true).write(true).create(true).truncate(false);
                let file = options.open(watch.path(part))?;
                File::open(watch.directory())?.sync_all()?;
                Stored::boxed(watch, part, file)
            }
            Source::Custom(make) => Ok(make(part)),
            Source::Memory => Err(io::Error::other("a store in memory has no journal")),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path().display())
    }
}

/// After how many written bytes a map is synced early. A fold writes many at once, and the sync of a journal waits for
/// all that is on its way to the disk.
const SYNC_STEP: u64 = 4 << 20;

/// A file. Nobody else has it: the directory is locked.
#[derive(Debug)]
struct Stored {
    file: File,
    part: Part,
    watch: Arc<Watch>,
    /// How many bytes were written since the last sync.
    unsynced: AtomicU64,
    sync_step: u64,
}

impl Stored {
    fn boxed(watch: &Arc<Watch>, part: Part, file: File) -> io::Result<Box<dyn StorageBackend>> {
        watch.adopt(part, &file)?;
        let sync_step = if part == Part::Map { SYNC_STEP } else { u64::MAX };
        let (watch, unsynced) = (Arc::clone(watch), AtomicU64::new(0));
        Ok(Box::new(Stored { file, part, watch, unsynced, sync_step }))
    }
}

impl StorageBackend for Stored {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch.resize(self.part, &self.file, len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.unsynced.store(0, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.watch.check_length(self.part, &self.file)?;
        self.file.write_all_at(data, offset)?;
        let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
        self.watch.grew(self.part, offset.saturating_add(bytes));
        let before = self.unsynced.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= self.sync_step { self.sync_data() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_its_last_writes_in_journals_only_if_there_are_any() {
        // The message promised the last writes where there were no journals.
        let directory = tempfile::tempdir().unwrap();
        let source = Source::Files(Arc::new(Watch::new(directory.path().to_owned(), None)));
        File::create(directory.path().join("store.redb")).unwrap();
        let told = || source.map().err().unwrap().to_string();
        assert!(told().ends_with("there are no journals: restore a backup"), "{}", told());
        File::create(directory.path().join("journal-1")).unwrap();
        assert!(told().contains("`latchkey store salvage`"), "{}", told());
    }
}
