//! Where the bytes of a store are kept: the map in one place, and its two journals in two others.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use redb::StorageBackend;

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

    /// A journal, if there is one.
    pub(crate) fn journal(&self, part: Part) -> io::Result<Option<Box<dyn StorageBackend>>> {
        match self {
            Source::Files(directory) => {
                let file = File::options().read(true).write(true).open(path(directory, part));
                match file {
                    Ok(file) => Ok(Some(Box::new(Stored(file)))),
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
                Ok(Box::new(Stored(file)))
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

/// A journal's file.
#[derive(Debug)]
struct Stored(File);

impl StorageBackend for Stored {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }
}
