//! Where the bytes of a store are kept: the map in one place, and its two journals in two others.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::private;

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
    Files(PathBuf),
    /// In storage that the function returns.
    Custom(Box<Maker>),
    /// In memory, as long as the store is open.
    Memory,
}

impl Source {
    /// What to call the store in messages.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Source::Files(directory) => directory.join(Part::Map.file_name()),
            Source::Custom(_) => "custom storage".into(),
            Source::Memory => "memory".into(),
        }
    }

    /// The map, and whether it must be made first.
    pub(crate) fn map(&self) -> io::Result<(Box<dyn StorageBackend>, bool)> {
        match self {
            Source::Files(directory) => {
                let path = path(directory, Part::Map);
                let file = File::options().read(true).write(true).open(path)?;
                if file.metadata()?.len() == 0 {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is empty"));
                }
                Ok((Box::new(Stored::new(file, SYNC_STEP)), false))
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
            Source::Files(directory) => {
                let file = File::options().read(true).write(true).open(path(directory, part));
                match file {
                    Ok(file) => Ok(Some(Box::new(Stored::new(file, u64::MAX)))),
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
            Source::Files(directory) => {
                let mut options = private::options();
                options.read(true).write(true).create(true).truncate(false);
                let file = options.open(path(directory, part))?;
                File::open(directory)?.sync_all()?;
                Ok(Box::new(Stored::new(file, u64::MAX)))
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

fn path(directory: &Path, part: Part) -> PathBuf {
    directory.join(part.file_name())
}

/// After how many written bytes a map is synced early. A fold writes many at once, and the sync of a journal waits for
/// all that is on its way to the disk.
const SYNC_STEP: u64 = 4 << 20;

/// A file. Nobody else has it: the directory is locked.
#[derive(Debug)]
struct Stored {
    file: File,
    /// How many bytes were written since the last sync.
    unsynced: AtomicU64,
    sync_step: u64,
}

impl Stored {
    fn new(file: File, sync_step: u64) -> Stored {
        Stored { file, unsynced: AtomicU64::new(0), sync_step }
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
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.unsynced.store(0, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)?;
        let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let before = self.unsynced.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) >= self.sync_step { self.sync_data() } else { Ok(()) }
    }
}
