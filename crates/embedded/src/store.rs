//! The public interface of the store.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use latchkey_table::{
    BatchGet, Delete, Error, Get, Got, GotMany, IndexScan, Leg, Page, Put, Query, ReadOnly,
    Returning, Scan, Scanned, Schema, SnapshotGet, Tables, Transact, Transacted, Update, Wrote,
};
use redb::StorageBackend;
use tokio::sync::oneshot;

use crate::directory::Directory;
use crate::engine::Limits;
use crate::error::OpenError;
use crate::pending::Pending;
use crate::progress::Progress;
use crate::queue::WriteQueue;
use crate::stamp::{Stamp, Stamping};
use crate::storage::{Part, Source};
use crate::verify::Verified;
use crate::view::View;
use crate::watch::{Watch, Watcher};
use crate::write::Write;
use crate::writer::{Job, Open, Seen, Shared, TableChange, Task, Writer};

/// How often a read that failed asks whether the map is open again.
const REOPEN_POLLS: u32 = 50;

/// How long it waits each time.
const REOPEN_POLL: Duration = Duration::from_millis(2);

/// The limits of a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory for pages of the file.
    pub cache_bytes: usize,
    /// How many writes may wait for the writer.
    pub queue_writes_max: usize,
    /// How many bytes the waiting writes may have.
    pub queue_bytes_max: usize,
    /// At how many bytes a journal is full. At most four times as many are read when the store opens after a kill.
    pub journal_bytes: u64,
    /// How long after its first write a journal is moved into the map, full or not.
    pub fold_after: Duration,
    /// Writes are refused while the disk of a store in a directory has fewer free bytes. By default 256 MiB, or a
    /// twentieth of a smaller disk.
    pub keep_free: Option<u64>,
    /// Shows what the store is doing while it opens, and while tables get indexes.
    pub progress: Progress,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 256 * 1024 * 1024,
            queue_writes_max: 4096,
            queue_bytes_max: 64 * 1024 * 1024,
            journal_bytes: 8 * 1024 * 1024,
            fold_after: Duration::from_secs(5),
            keep_free: None,
            progress: Progress::default(),
        }
    }
}

/// A durable store of tables on this machine.
///
/// ```
/// use std::sync::Arc;
/// use latchkey_embedded::{Options, Store};
/// use latchkey_table::{Consistency, Get, Item, Key, Put, Returning, Schema};
///
/// let directory = tempfile::tempdir()?;
/// let store = Store::open(directory.path(), &Options::default())?;
/// let table = Arc::new(Schema::new("Doors"));
/// store.create_table(&table).wait()?;
///
/// let item = Item::from([("PK", "DOOR#1"), ("SK", "META"), ("state", "SHUT")]);
/// let put = Put { table: table.clone(), item: item.clone(), condition: None };
/// store.put(put, Returning::Nothing).wait()?;
///
/// let key = Key::new("DOOR#1", "META");
/// let got = store.get(&Get { table, key, consistency: Consistency::Strong })?;
/// assert_eq!(got.item, Some(item));
/// assert_eq!(got.capacity.to_string(), "rcu=1, wcu=0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Reads run on the caller's thread, from the last durable commit, and wait for no write. Writes are
/// handed to one writer thread and are answered once they are durable. Dropping the store finishes
/// the writes that were handed in, then lets go of the directory.
pub struct Store {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    written_at: Option<SystemTime>,
    _watcher: Option<Watcher>,
    // Dropped last.
    _directory: Option<Directory>,
}

impl Store {
    /// Opens the store in a directory, which are both made if they are not there.
    pub fn open(path: &Path, options: &Options) -> Result<Store, OpenError> {
        let mut directory = Directory::lock(path)?;
        let written_at = directory.written_at();
        let store = directory.store(options.cache_bytes)?;
        let source = Source::Files(Arc::new(Watch::new(store, options.keep_free)));
        let mut store = Store::start(source, Some(directory), options)?;
        store.written_at = written_at;
        Ok(store)
    }

    /// Opens a store in memory.
    pub fn in_memory(options: &Options) -> Result<Store, OpenError> {
        Store::start(Source::Memory, None, options)
    }

    /// Opens a store on storage of the caller's own. The function is asked for the storage of a part when the store
    /// opens, and again when a part must be opened again after a failure.
    pub fn open_on(
        storage: impl Fn(Part) -> Box<dyn StorageBackend> + Send + Sync + 'static,
        options: &Options,
    ) -> Result<Store, OpenError> {
        Store::start(Source::Custom(Box::new(storage)), None, options)
    }

    fn start(
        source: Source,
        directory: Option<Directory>,
        options: &Options,
    ) -> Result<Store, OpenError> {
        let path = source.path();
        let watcher = match &source {
            Source::Files(watch) => {
                Some(Watcher::start(Arc::clone(watch)).map_err(OpenError::Thread)?)
            }
            Source::Custom(_) | Source::Memory => None,
        };
        let limits =
            Limits { journal_bytes: options.journal_bytes, fold_after: options.fold_after };
        let opened = Open::new(source, options.cache_bytes, limits, &options.progress);
        options.progress.end();
        let mut open = opened.map_err(|failure| OpenError::of(&path, failure))?;
        let queue = WriteQueue::new(options.queue_writes_max, options.queue_bytes_max);
        let shared = Arc::new(Shared::new(&open, queue));
        let shown = Arc::clone(&shared);
        open.engine
            .start(Box::new(move |snapshot| shown.show(snapshot, None)))
            .map_err(OpenError::Thread)?;
        let progress = options.progress.clone();
        let writer = Writer { shared: Arc::clone(&shared), open, progress };
        let writer = thread::Builder::new()
            .name("latchkey-writer".to_owned())
            .spawn(|| writer.run())
            .map_err(OpenError::Thread)?;
        let writer = Some(writer);
        Ok(Store { shared, writer, written_at: None, _watcher: watcher, _directory: directory })
    }

    /// When a file of the store was written last before it was opened, by the clock of then. Nothing of a new store, and
    /// of one that is not in a directory.
    pub fn written_before(&self) -> Option<SystemTime> {
        self.written_at
    }

    /// Fails with the reason while the store takes no writes. Reads go on.
    pub fn takes_writes(&self) -> Result<(), ReadOnly> {
        self.shared.core.takes_writes()
    }

    /// Makes a table, or gives the one of that name the schema's indexes: new ones are filled, those
    /// no longer named are dropped. Refused if the table has another key.
    pub fn create_table(&self, schema: &Arc<Schema>) -> Pending<()> {
        match schema.validate() {
            Ok(()) => self.hand_in(Task::Tables(TableChange::Ensure(Arc::clone(schema))), 0, drop),
            Err(reason) => Pending::refused(reason.into(), drop),
        }
    }

    /// Moves the items that Latchkey keeps for itself to the table where the document keeps them, in one transaction, if
    /// an earlier document kept them in another. Both tables are looked for in this store; a table is made only if there
    /// is something to move.
    pub fn gather(&self, tables: &Tables) -> Pending<()> {
        match tables.own.validate() {
            Ok(()) => {
                self.hand_in(Task::Tables(TableChange::Gather(Box::new(tables.clone()))), 0, drop)
            }
            Err(reason) => Pending::refused(reason.into(), drop),
        }
    }

    /// Reads one item.
    pub fn get(&self, request: &Get) -> Result<Got, Error> {
        self.read(|seen| seen.get(request))
    }

    /// Reads several items.
    pub fn batch_get(&self, request: &BatchGet) -> Result<GotMany, Error> {
        self.read(|seen| seen.batch_get(request))
    }

    /// Reads several items as of one instant.
    pub fn snapshot_get(&self, request: &SnapshotGet) -> Result<GotMany, Error> {
        self.read(|seen| seen.snapshot_get(request))
    }

    /// Reads a part of an index, in the order of its keys.
    pub fn scan_index(&self, request: &IndexScan) -> Result<Page, Error> {
        self.read(|seen| seen.scan_index(request))
    }

    /// Reads a range of a partition of a table or of an index.
    pub fn query(&self, request: &Query) -> Result<Page, Error> {
        self.read(|seen| seen.query(request))
    }

    /// Reads a table in the order of its keys: for upkeep and export, at no capacity.
    pub fn scan(&self, request: &Scan) -> Result<Scanned, Error> {
        self.read(|seen| seen.scan(request))
    }

    /// Writes a whole item.
    pub fn put(&self, request: Put, returning: Returning) -> Pending<Wrote> {
        self.write_one(Leg::Put(request), returning)
    }

    /// Changes an item.
    pub fn update(&self, request: Update, returning: Returning) -> Pending<Wrote> {
        self.write_one(Leg::Update(request), returning)
    }

    /// Removes an item.
    pub fn delete(&self, request: Delete, returning: Returning) -> Pending<Wrote> {
        self.write_one(Leg::Delete(request), returning)
    }

    /// Writes several items or none.
    pub fn transact(&self, request: Transact) -> Pending<Transacted> {
        let finish = |wrote: Wrote| Transacted { capacity: wrote.capacity };
        match request.validate() {
            Ok(bytes) => {
                self.hand_in(Task::Write(Write { legs: request.legs, alone: None }), bytes, finish)
            }
            Err(error) => Pending::refused(error, finish),
        }
    }

    /// A place for the next write, among all writes that are given one: `now`, or later if the clock went back.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use latchkey_embedded::{Options, Store};
    /// # use latchkey_table::{Item, Put, Returning, Schema};
    /// # let store = Store::in_memory(&Options::default())?;
    /// # let table = Arc::new(Schema::new("Doors"));
    /// # store.create_table(&table).wait()?;
    /// let opened = {
    ///     let stamping = store.stamp(1_000);
    ///     let item = Item::from([("PK", "OPENED"), ("SK", &format!("{:?}", stamping.stamp()))]);
    ///     store.put(Put { table, item, condition: None }, Returning::Nothing)
    /// };
    /// opened.wait()?;
    /// assert_eq!(store.last_stamp().at, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stamp(&self, now: i64) -> Stamping<'_> {
        self.shared.stamps.next(now)
    }

    /// The last stamp that was given. No write that is handed in from here on has it or one below it.
    pub fn last_stamp(&self) -> Stamp {
        self.shared.stamps.last()
    }

    /// All that is durable now, for whoever reads much of it.
    pub fn view(&self) -> View {
        let source = &self.shared.core.source;
        // A file that is gone is kept in mind, and a check tells of it.
        let _ = source.look();
        View { seen: self.shared.seen(), watch: source.watch() }
    }

    /// Reads a whole table and its indexes, and fails if they disagree.
    pub fn verify(&self, table: &Arc<Schema>) -> Result<Verified, Error> {
        self.read(|seen| seen.verify(table))
    }

    fn write_one(&self, leg: Leg, returning: Returning) -> Pending<Wrote> {
        match leg.validate() {
            Ok(bytes) => {
                let write = Write { legs: vec![leg], alone: Some(returning) };
                self.hand_in(Task::Write(write), bytes, |wrote| wrote)
            }
            Err(reason) => Pending::refused(reason.into(), |wrote| wrote),
        }
    }

    fn hand_in<T>(&self, task: Task, bytes: usize, finish: fn(Wrote) -> T) -> Pending<T> {
        let (reply, receiver) = oneshot::channel();
        match self.shared.queue.push(Job { task, reply }, bytes) {
            Ok(begins) => Pending::accepted(receiver, begins, finish),
            Err(error) => Pending::refused(error, finish),
        }
    }

    /// Reads what is durable. If that cannot be read because the map failed, the map is opened again first.
    fn read<T>(&self, read: impl Fn(&Seen) -> Result<T, Error>) -> Result<T, Error> {
        let mut seen = self.shared.seen();
        let mut answer = read(&seen);
        for _ in 0..REOPEN_POLLS {
            let base = &seen.snapshot.base;
            if !base.has_failed() || !matches!(answer, Err(Error::Unavailable { .. })) {
                break;
            }
            self.shared.core.ask_reopen(base);
            thread::sleep(REOPEN_POLL);
            seen = self.shared.seen();
            answer = read(&seen);
        }
        answer
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, its callers have got an error.
            let _ = writer.join();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}
