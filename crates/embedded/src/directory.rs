//! The directory a store lives in.
//!
//! ```text
//! lock         held while a process has the store open; names that process
//! store.redb   the store, but for the last writes
//! journal-0    the last writes
//! journal-1    the writes before them, on their way into `store.redb`, or the other way round
//! store.new    a store that was being made when the process ended; of no use
//! restoring.txt   there while the store is made of a backup
//! ```
//!
//! A store is made as `store.new`, synced, and then renamed to `store.redb`. Whatever happens in between, a full disk
//! or a crash, the next start finds a whole store or none.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::engine::OpenFailure;
use crate::error::OpenError;
use crate::map::Map;
use crate::private;
use crate::storage::Part;
use crate::watch::LOST;

const LOCK: &str = "lock";
const UNFINISHED: &str = "store.new";

/// Keeps for the next start that a restore did not finish. An empty store would hide that.
const RESTORING: &str = "restoring.txt";

/// A locked directory: no other process can open it while this lives.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// Missing only where nothing can be written, and nobody has written it.
    _lock: Option<File>,
    /// The store's own file, locked as well: whoever removes `lock` lets nobody in.
    store: Option<File>,
}

impl Directory {
    /// Makes the directory if need be, and locks it.
    pub(crate) fn lock(path: &Path) -> Result<Directory, OpenError> {
        let failed = |error| OpenError::Directory { path: path.to_owned(), error };
        private::make_directory(path).map_err(failed)?;
        refuse_strange_files(path).map_err(failed)?;
        refuse_broken_links(path).map_err(failed)?;
        let mut options = private::options();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(path.join(LOCK)).map_err(failed)?;
        Directory::locked(path, Some(lock))
    }

    /// Takes the lock of a directory.
    fn locked(path: &Path, mut lock: Option<File>) -> Result<Directory, OpenError> {
        let failed = |error| OpenError::Directory { path: path.to_owned(), error };
        if let Some(lock) = &mut lock {
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_holder(lock);
                    return Err(OpenError::InUse { path: path.to_owned(), holder });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The process id in the lock is for people. A full disk must not keep a store from opening.
            let _ = write_holder(lock);
        }
        // By its real path: a link to it may lead elsewhere later.
        let path = private::without_links(path).map_err(failed)?;
        Ok(Directory { path, _lock: lock, store: None })
    }

    /// Locks a directory that has a store.
    pub(crate) fn lock_existing(path: &Path) -> Result<Directory, OpenError> {
        let failed = |error| OpenError::Directory { path: path.to_owned(), error };
        let store = path.join(Part::Map.file_name());
        if !store.try_exists().map_err(failed)? {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "there is no store in it")));
        }
        let mut directory = Directory::lock(path)?;
        directory.hold()?;
        Ok(directory)
    }

    /// Locks a directory that has a store, or is left of one. Nothing is made, and nothing need be writable.
    pub(crate) fn lock_to_look(path: &Path) -> Result<Directory, OpenError> {
        let failed = |error| OpenError::Directory { path: path.to_owned(), error };
        let [has_map, first, second] =
            Part::ALL.map(|part| path.join(part.file_name()).try_exists().map_err(failed));
        let (has_map, has_journal) = (has_map?, first? || second?);
        if !has_map && !has_journal {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "there is no store in it")));
        }
        private::refuse_others(path, path).map_err(failed)?;
        refuse_strange_files(path).map_err(failed)?;
        let lock = open_to_look(&path.join(LOCK)).map_err(failed)?;
        let mut directory = Directory::locked(path, lock)?;
        if has_map {
            directory.hold()?;
        }
        Ok(directory)
    }

    /// Locks the store's file, which is there.
    fn hold(&mut self) -> Result<(), OpenError> {
        let failed = |error| OpenError::Directory { path: self.path.clone(), error };
        let store = File::open(self.path.join(Part::Map.file_name())).map_err(failed)?;
        match store.try_lock() {
            Ok(()) => {
                self.store = Some(store);
                Ok(())
            }
            // Someone has removed or copied `lock`, which no longer names that process.
            Err(TryLockError::WouldBlock) => {
                Err(OpenError::InUse { path: self.path.clone(), holder: None })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// When one of its files was written last, as far as its file system tells.
    pub(crate) fn written_at(&self) -> Option<SystemTime> {
        let modified =
            |part: Part| fs::metadata(self.path.join(part.file_name())).ok()?.modified().ok();
        Part::ALL.into_iter().filter_map(modified).max()
    }

    /// Refuses a store of which a file was lost while it was open.
    pub(crate) fn refuse_lost(&self) -> Result<(), OpenError> {
        let failed = |error| OpenError::Directory { path: self.path.clone(), error };
        let lost = self.path.join(LOST);
        match lost.try_exists().map_err(failed)? {
            true => Err(OpenError::Lost { path: lost }),
            false => Ok(()),
        }
    }

    /// Its path, in which the store is made first if it is not there.
    pub(crate) fn store(&mut self, cache_bytes: usize) -> Result<PathBuf, OpenError> {
        let store = self.path.join(Part::Map.file_name());
        let failed = |error| OpenError::Directory { path: self.path.clone(), error };
        self.refuse_lost()?;
        let restoring = self.path.join(RESTORING);
        if store.try_exists().map_err(failed)? {
            // The restore had come to its end.
            remove_if_there(&restoring).map_err(failed)?;
        } else {
            refuse_broken_link(&store, "begin with an empty store").map_err(failed)?;
            for journal in Part::JOURNALS.map(Part::file_name) {
                if self.path.join(journal).try_exists().map_err(failed)? {
                    // A new store would hide that one is missing, with all but its last writes.
                    return Err(OpenError::Missing { path: store, journal });
                }
            }
            if restoring.try_exists().map_err(failed)? {
                return Err(OpenError::Unrestored { path: self.path.clone(), mark: restoring });
            }
            if self.path.join(UNFINISHED).try_exists().map_err(failed)? {
                tracing::warn!(
                    directory = %self.path.display(),
                    "`{UNFINISHED}` is left of a first start, or of a restore by an earlier release, that did not \
                     finish; it is removed, and the store is made anew, empty"
                );
            }
            self.make(cache_bytes, |_| Ok::<_, OpenError>(()))?;
        }
        self.hold()?;
        Ok(self.path.clone())
    }

    /// Makes the store, which is not there, with what a function writes to it.
    pub(crate) fn make<T, E: From<OpenError>>(
        &self,
        cache_bytes: usize,
        fill: impl FnOnce(&Map) -> Result<T, E>,
    ) -> Result<T, E> {
        let unfinished = self.path.join(UNFINISHED);
        let made = self.make_as(&unfinished, cache_bytes, fill);
        if made.is_err() {
            // The rest of the attempt takes room on a disk that may be full.
            let _ = remove_if_there(&unfinished);
        }
        made
    }

    /// Makes the store with what a restore writes to it. If the process ends meanwhile, the next start is refused.
    pub(crate) fn restore<T, E: From<OpenError>>(
        &self,
        cache_bytes: usize,
        fill: impl FnOnce(&Map) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = |error| OpenError::Directory { path: self.path.clone(), error };
        let mark = self.path.join(RESTORING);
        let begun = begin_restore(&mark).and_then(|()| sync_directory(&self.path)).map_err(failed);
        let made = begun.map_err(E::from).and_then(|()| self.make(cache_bytes, fill));
        // A restore that fails leaves nothing behind.
        let ended = remove_if_there(&mark).and_then(|()| sync_directory(&self.path));
        let made = made?;
        ended.map_err(failed)?;
        Ok(made)
    }

    fn make_as<T, E: From<OpenError>>(
        &self,
        unfinished: &Path,
        cache_bytes: usize,
        fill: impl FnOnce(&Map) -> Result<T, E>,
    ) -> Result<T, E> {
        let store = self.path.join(Part::Map.file_name());
        let failed = |error| OpenError::Directory { path: self.path.clone(), error };
        remove_if_there(unfinished).map_err(failed)?;
        // Made here, empty, so that it is never open to others; the engine fills it.
        private::options().write(true).create_new(true).open(unfinished).map_err(failed)?;
        let made = Map::create(unfinished, cache_bytes).map_err(|failure| match failure {
            OpenFailure::Unusable(error) => {
                OpenError::NotCreated { path: store.clone(), reason: error.text }
            }
            OpenFailure::Newer { found } => OpenError::newer(&store, found),
        })?;
        let filled = fill(&made)?;
        drop(made);
        File::open(unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(unfinished, &store).map_err(failed)?;
        sync_directory(&self.path).map_err(failed)?;
        Ok(filled)
    }
}

/// Refuses files that are another user's, or that others can use, and what is no file.
fn refuse_strange_files(path: &Path) -> io::Result<()> {
    let [first, second] = Part::JOURNALS.map(Part::file_name);
    let files = [LOCK, Part::Map.file_name(), first, second];
    files.into_iter().try_for_each(|name| private::refuse_strange(&path.join(name), path))
}

/// Refuses links to journals, or to a lock, that are not there. They would be made where the links lead, if at all.
fn refuse_broken_links(path: &Path) -> io::Result<()> {
    for name in Part::JOURNALS.map(Part::file_name).into_iter().chain([LOCK]) {
        let file = path.join(name);
        if !file.try_exists()? {
            refuse_broken_link(&file, "go on without it")?;
        }
    }
    Ok(())
}

/// Refuses a link to a file that is not there: a new one in its place would hide the one that it led to.
fn refuse_broken_link(file: &Path, removed: &str) -> io::Result<()> {
    let Ok(target) = fs::read_link(file) else { return Ok(()) };
    let (file, target) = (file.display(), target.display());
    let message = format!(
        "`{file}` is a link to `{target}`, which is not there: mount the disk that has it, or remove the link to \
         {removed}"
    );
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

/// A lock that is there, also if it cannot be written. The lock of `store.redb` alone keeps others out, too.
fn open_to_look(lock: &Path) -> io::Result<Option<File>> {
    let opened = File::options().read(true).write(true).open(lock);
    let opened = opened.or_else(|error| match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => File::open(lock),
        _ => Err(error),
    });
    match opened {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a rename durable. Only on Unix can, and need, a directory be synced.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

fn begin_restore(mark: &Path) -> io::Result<()> {
    let mut file = private::options().write(true).create(true).truncate(true).open(mark)?;
    writeln!(file, "a restore to this directory has not finished: run it again")?;
    file.sync_all()
}

fn read_holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_holder(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}
