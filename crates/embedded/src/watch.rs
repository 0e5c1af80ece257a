//! Looks after the files of a store that is open, and after the room on their disk.
//!
//! A write to a file that was removed succeeds, and is lost. So the identity and the length of each file are kept and
//! compared: before a write is acknowledged, and five times a second by a thread. Once a file was removed, replaced or
//! cut, the store takes no more writes until it is opened again.
//!
//! A commit of the map that finds no room is a failure of redb, after which the map must be opened again. So writes are
//! refused, and nothing is folded, while the disk has less room than is kept free. What is under way then finishes.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use latchkey_table::ReadOnly;

use crate::private;
use crate::storage::Part;

/// How often the thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How much room is kept free on a large disk. A fold of a full journal of small items can take most of it.
const KEEP_FREE_MAX: u64 = 256 << 20;

/// The share of a smaller disk that is kept free.
const KEEP_FREE_SHARE: u64 = 20;

/// The files of a store in a directory.
#[derive(Debug)]
pub(crate) struct Watch {
    directory: PathBuf,
    /// How many bytes are kept free, if the store's user has said so.
    keep_free: Option<u64>,
    map: Mutex<Option<Kept>>,
    journals: [Mutex<Option<Kept>>; 2],
    /// The first file that is no longer what was opened.
    gone: OnceLock<Gone>,
    /// Whether the disk has less room than is kept free.
    low: AtomicBool,
    stopped: Mutex<bool>,
    changed: Condvar,
}

/// A file that is no longer what was opened.
#[derive(Debug)]
struct Gone {
    part: Part,
    how: &'static str,
}

/// What a file was when it was used last.
#[derive(Debug, Clone, Copy)]
struct Kept {
    device: u64,
    inode: u64,
    /// No byte before this one may be missing.
    len: u64,
}

impl Kept {
    fn of(file: &Metadata) -> Kept {
        Kept { device: file.dev(), inode: file.ino(), len: file.len() }
    }

    /// What has happened to the file, if anything has.
    fn compare(self, found: Kept) -> Option<&'static str> {
        if (self.device, self.inode) != (found.device, found.inode) {
            Some("replaced")
        } else if found.len < self.len {
            Some("cut")
        } else {
            None
        }
    }
}

impl Watch {
    /// The files of a directory, of which none is open yet.
    pub(crate) fn new(directory: PathBuf, keep_free: Option<u64>) -> Watch {
        let watch = Watch {
            directory,
            keep_free,
            map: Mutex::new(None),
            journals: [Mutex::new(None), Mutex::new(None)],
            gone: OnceLock::new(),
            low: AtomicBool::new(false),
            stopped: Mutex::new(false),
            changed: Condvar::new(),
        };
        watch.look_for_room();
        watch
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of a part.
    pub(crate) fn path(&self, part: Part) -> PathBuf {
        self.directory.join(part.file_name())
    }

    /// Why the store takes no writes, if it takes none.
    pub(crate) fn takes_writes(&self) -> Result<(), ReadOnly> {
        if self.is_gone() {
            Err(ReadOnly::FileGone)
        } else if self.is_low() {
            Err(ReadOnly::NoRoom)
        } else {
            Ok(())
        }
    }

    /// Whether a file is no longer what was opened.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.get().is_some()
    }

    /// What has happened to a file that is no longer what was opened, and what to do.
    pub(crate) fn told_gone(&self) -> Option<String> {
        let Gone { part, how } = self.gone.get()?;
        let data = private::quoted(&self.directory);
        Some(format!(
            "{part} was {how} while the store is open, so writes are refused: make a backup before you stop its process, \
             by `latchkey backup --data {data} --out FILE`, and restore it to a new directory"
        ))
    }

    /// Whether the disk has less room than is kept free.
    pub(crate) fn is_low(&self) -> bool {
        self.low.load(Ordering::Relaxed)
    }

    fn kept(&self, part: Part) -> MutexGuard<'_, Option<Kept>> {
        let [first, second] = &self.journals;
        let kept = match part {
            Part::Map => &self.map,
            Part::FirstJournal => first,
            Part::SecondJournal => second,
        };
        kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the file of a part that was opened. One that was opened before must be the same.
    pub(crate) fn adopt(&self, part: Part, file: &File) -> io::Result<()> {
        let found = Kept::of(&file.metadata()?);
        let mut kept = self.kept(part);
        if let Some(how) = kept.and_then(|kept| kept.compare(found)) {
            drop(kept);
            return Err(self.lose(part, how));
        }
        *kept = Some(found);
        Ok(())
    }

    /// Fails if a file lacks bytes that it had. A write would hide that.
    pub(crate) fn check_length(&self, part: Part, file: &File) -> io::Result<()> {
        let kept = self.kept(part);
        let found = file.metadata()?.len();
        if kept.is_some_and(|kept| found < kept.len) {
            drop(kept);
            return Err(self.lose(part, "cut"));
        }
        Ok(())
    }

    /// Keeps that a file was written up to some place.
    pub(crate) fn grew(&self, part: Part, end: u64) {
        if let Some(kept) = &mut *self.kept(part) {
            kept.len = kept.len.max(end);
        }
    }

    /// Gives a file another length. Nobody compares it meanwhile.
    pub(crate) fn resize(&self, part: Part, file: &File, len: u64) -> io::Result<()> {
        self.check_length(part, file)?;
        let mut kept = self.kept(part);
        file.set_len(len)?;
        if let Some(kept) = &mut *kept {
            kept.len = len;
        }
        Ok(())
    }

    /// Compares all files with what they were. Fails if one was removed, replaced or cut, now or before.
    pub(crate) fn look(&self) -> Result<(), ReadOnly> {
        for part in Part::ALL {
            if self.is_gone() {
                return Err(ReadOnly::FileGone);
            }
            let path = self.path(part);
            let guard = self.kept(part);
            let Some(kept) = *guard else { continue };
            let how = match fs::metadata(path) {
                Ok(found) => kept.compare(Kept::of(&found)),
                Err(error) => is_absence(&error).then_some("removed"),
            };
            drop(guard);
            if let Some(how) = how {
                self.lose(part, how);
            }
        }
        if self.is_gone() { Err(ReadOnly::FileGone) } else { Ok(()) }
    }

    /// Keeps and tells, once, that a file is no longer what was opened.
    fn lose(&self, part: Part, how: &'static str) -> io::Error {
        if self.gone.set(Gone { part, how }).is_ok() {
            let file = self.path(part);
            tracing::error!(
                file = %file.display(),
                "a file of the store was {how} while the store is open, so writes are refused until it is opened again: \
                 make a backup before you stop this process, by `latchkey backup`; then stop it, restore the backup \
                 or a copy of the whole directory, and start again"
            );
            if let Err(error) = mark(&self.directory, part, how) {
                tracing::error!(%error, "that cannot be kept for the next start: do not start before it is mended");
            }
        }
        io::Error::other(format!("{part} was {how}"))
    }

    /// Looks how much room the disk has. Tells when it becomes too little, and when there is enough again.
    fn look_for_room(&self) {
        let was_low = self.is_low();
        // A file system that does not tell has room until a write fails.
        let Some((free, whole)) = room(&self.directory) else { return };
        let mark = self.keep_free.unwrap_or_else(|| KEEP_FREE_MAX.min(whole / KEEP_FREE_SHARE));
        // A little more than the mark, so that the state does not change with every write.
        let is_low = free < if was_low { mark.saturating_add(mark / 4) } else { mark };
        self.low.store(is_low, Ordering::Relaxed);
        match (was_low, is_low) {
            (false, true) => tracing::error!(
                directory = %self.directory.display(),
                free,
                kept_free = mark,
                "the disk of the store is nearly full, so writes are refused until there is room; reads go on"
            ),
            (true, false) => {
                tracing::info!(free, "the disk of the store has room, and writes are taken again")
            }
            _ => {}
        }
    }

    /// Looks until it is stopped.
    fn run(&self) {
        loop {
            let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self.changed.wait_timeout_while(stopped, LOOK_EVERY, |stopped| !*stopped);
            let stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *stopped {
                return;
            }
            drop(stopped);
            // Whoever asks is told by `takes_writes`.
            let _ = self.look();
            self.look_for_room();
        }
    }
}

/// The file that keeps that a file of the store was lost while it was open.
pub(crate) const LOST: &str = "lost.txt";

/// Keeps for the next start that a file was lost. A journal that was cut looks like one whose last record was being
/// written.
fn mark(directory: &Path, part: Part, how: &str) -> io::Result<()> {
    let mut options = private::options();
    let mut file = options.write(true).create(true).truncate(true).open(directory.join(LOST))?;
    writeln!(file, "{part} was {how} while the store was open")?;
    let data = private::quoted(directory);
    writeln!(
        file,
        "while that process runs, make a backup before you stop it: latchkey backup --data {data} --out FILE"
    )?;
    file.sync_all()?;
    File::open(directory)?.sync_all()
}

/// Whether an error says that there is no such file. Other errors say nothing about the file.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The free bytes of the file system that a directory is on, and all of its bytes.
pub(crate) fn room(directory: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(directory).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    (found.f_blocks > 0).then(|| (bytes(found.f_bavail), bytes(found.f_blocks)))
}

/// The thread that looks. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    watch: Arc<Watch>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Starts to look.
    pub(crate) fn start(watch: Arc<Watch>) -> io::Result<Watcher> {
        let looking = Arc::clone(&watch);
        let thread = thread::Builder::new().name("latchkey-watch".to_owned());
        let thread = thread.spawn(move || looking.run())?;
        Ok(Watcher { watch, thread: Some(thread) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        *self.watch.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.watch.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // If it panicked, files are still compared before writes are acknowledged.
            let _ = thread.join();
        }
    }
}
