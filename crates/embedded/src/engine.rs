//! The ordered map under the store: the one module that calls redb.
//!
//! Another store, or a journal in front of this one, is a change to this file: bytes in order, read
//! from a snapshot, changed in groups, each group durable once [`Engine::write`] returns.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::ops::{Bound, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTable, StorageBackend, Table,
    TableDefinition, WriteTransaction,
};

/// Items and index entries, by the bytes of [`crate::key_codec`].
const ITEMS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("items");

/// The format's version and the catalog.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

const FORMAT: &str = "format";

/// The version of what is written here. Raised by a change that an older release would misread.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Where the bytes are kept.
pub(crate) enum Source {
    /// In a file.
    File(PathBuf),
    /// In storage that the function returns, each time the store opens.
    Custom(Box<dyn Fn() -> Box<dyn StorageBackend> + Send>),
}

/// An error of the engine, for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EngineError(pub(crate) String);

impl<E: Into<redb::Error>> From<E> for EngineError {
    fn from(error: E) -> EngineError {
        EngineError(error.into().to_string())
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught here and becomes an error, as one of redb about a damaged page does. A panic
/// hook need not tell of it.
pub fn panic_is_caught() -> bool {
    GUARDED.get()
}

/// Runs code that may meet a damaged page, for which redb panics.
fn guard<T, E: From<EngineError>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let outer = GUARDED.replace(true);
    let ran = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    ran.unwrap_or_else(|panic| Err(damage(&*panic).into()))
}

/// The error for a panic about a damaged page.
fn damage(panic: &(dyn Any + Send)) -> EngineError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let line: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    EngineError(match line.is_empty() {
        true => "the store's file is damaged".to_owned(),
        false => format!("the store's file is damaged: {}", line.join(" ")),
    })
}

/// Why the engine would not open.
#[derive(Debug)]
pub(crate) enum OpenFailure {
    /// The bytes were written by a newer release.
    Newer { found: u32 },
    /// The bytes are not a store's, or are damaged, or cannot be reached.
    Unusable(EngineError),
}

impl<E: Into<EngineError>> From<E> for OpenFailure {
    fn from(error: E) -> OpenFailure {
        OpenFailure::Unusable(error.into())
    }
}

/// At which point a group failed.
#[derive(Debug)]
pub(crate) enum WriteFailure {
    /// Before the commit: nothing of it was kept.
    Aborted(EngineError),
    /// During the commit: it may or may not have been kept.
    InDoubt(EngineError),
}

impl<E: Into<EngineError>> From<E> for WriteFailure {
    fn from(error: E) -> WriteFailure {
        WriteFailure::Aborted(error.into())
    }
}

/// The open map.
pub(crate) struct Engine {
    database: Database,
}

impl Engine {
    /// Makes a new map in a file that is not there yet.
    pub(crate) fn create(path: &Path, cache_bytes: usize) -> Result<(), OpenFailure> {
        let database = Builder::new().set_cache_size(cache_bytes).create(path)?;
        Engine { database }.initialize()
    }

    /// Opens the map, and makes it first if a custom source holds nothing.
    pub(crate) fn open(source: &Source, cache_bytes: usize) -> Result<Engine, OpenFailure> {
        guard(|| Engine::open_unguarded(source, cache_bytes))
    }

    fn open_unguarded(source: &Source, cache_bytes: usize) -> Result<Engine, OpenFailure> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let engine = match source {
            Source::File(path) => Engine { database: builder.open(path)? },
            Source::Custom(open) => {
                let storage = open();
                let empty = storage.len().map_err(redb::Error::Io)? == 0;
                let engine = Engine { database: builder.create_with_backend(Custom(storage))? };
                if empty {
                    engine.initialize()?;
                }
                engine
            }
        };
        match engine.format()? {
            FORMAT_VERSION => Ok(engine),
            found => Err(OpenFailure::Newer { found }),
        }
    }

    fn initialize(&self) -> Result<(), OpenFailure> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(ITEMS)?;
        transaction.open_table(META)?.insert(FORMAT, FORMAT_VERSION.to_be_bytes().as_slice())?;
        transaction.commit()?;
        Ok(())
    }

    fn format(&self) -> Result<u32, EngineError> {
        let meta = self.database.begin_read()?.open_table(META)?;
        let format = meta.get(FORMAT)?;
        let bytes = format.and_then(|format| format.value().try_into().ok());
        bytes.map(u32::from_be_bytes).ok_or_else(|| EngineError("not a latchkey store".to_owned()))
    }

    /// The map as of the last commit. Later commits do not change it.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, EngineError> {
        guard(|| {
            let transaction = self.database.begin_read()?;
            Ok(Snapshot { items: transaction.open_table(ITEMS)? })
        })
    }

    /// Everything under a name in the catalog that begins with a prefix.
    pub(crate) fn meta(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        guard(|| self.meta_unguarded(prefix))
    }

    fn meta_unguarded(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        let meta = self.database.begin_read()?.open_table(META)?;
        let mut entries = Vec::new();
        for entry in meta.range(prefix..)? {
            let (name, bytes) = entry?;
            if !name.value().starts_with(prefix) {
                break;
            }
            entries.push((name.value().to_owned(), bytes.value().to_vec()));
        }
        Ok(entries)
    }

    /// Runs a group of changes and makes them durable with one sync, or none if there were none.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&mut Group<'_>) -> Result<T, EngineError>,
    ) -> Result<T, WriteFailure> {
        let transaction = self.database.begin_write()?;
        let mut group = Group {
            items: transaction.open_table(ITEMS)?,
            transaction: &transaction,
            changed: false,
        };
        let result = guard(|| change(&mut group))?;
        let changed = group.changed;
        drop(group);
        if changed {
            guard(|| Ok(transaction.commit()?)).map_err(WriteFailure::InDoubt)?;
        } else {
            transaction.abort()?;
        }
        Ok(result)
    }
}

/// The map at one instant.
pub(crate) struct Snapshot {
    items: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl Snapshot {
    /// Hands the bytes under a key to a function, if there are any.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        guard(|| Ok(ReadableTable::get(&self.items, key)?.map(|bytes| read(bytes.value()))))
    }

    /// Hands keys and bytes of a range to a function, from either end, until it says to stop.
    pub(crate) fn walk(
        &self,
        range: &Range<Vec<u8>>,
        backwards: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<Walk, EngineError>,
    ) -> Result<(), EngineError> {
        if range.is_empty() {
            return Ok(());
        }
        guard(|| {
            let mut entries = ReadableTable::range::<&[u8]>(&self.items, bounds(range))?;
            while let Some(entry) = if backwards { entries.next_back() } else { entries.next() } {
                let (key, bytes) = entry?;
                match visit(key.value(), bytes.value())? {
                    Walk::On => {}
                    Walk::Stop => break,
                }
            }
            Ok(())
        })
    }
}

/// A key and its bytes.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// Whether a walk goes on.
pub(crate) enum Walk {
    On,
    Stop,
}

fn bounds(range: &Range<Vec<u8>>) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(&range.start), Bound::Excluded(&range.end))
}

/// Changes that become durable together. Reads see the changes made before them.
pub(crate) struct Group<'a> {
    items: Table<'a, &'static [u8], &'static [u8]>,
    transaction: &'a WriteTransaction,
    changed: bool,
}

impl Group<'_> {
    /// Hands the bytes under a key to a function, if there are any.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        Ok(self.items.get(key)?.map(|bytes| read(bytes.value())))
    }

    pub(crate) fn insert(&mut self, key: &[u8], bytes: &[u8]) -> Result<(), EngineError> {
        self.changed = true;
        self.items.insert(key, bytes)?;
        Ok(())
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.changed = true;
        self.items.remove(key)?;
        Ok(())
    }

    /// Up to so many keys and bytes of a range, from its beginning.
    pub(crate) fn first(
        &self,
        range: &Range<Vec<u8>>,
        count: usize,
    ) -> Result<Vec<Pair>, EngineError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let entries = self.items.range::<&[u8]>(bounds(range))?.take(count);
        entries
            .map(|entry| {
                let (key, bytes) = entry?;
                Ok((key.value().to_vec(), bytes.value().to_vec()))
            })
            .collect()
    }

    /// Removes every key of a range.
    pub(crate) fn clear(&mut self, range: &Range<Vec<u8>>) -> Result<(), EngineError> {
        self.changed = true;
        self.items.retain_in::<&[u8], _>(bounds(range), |_, _| false)?;
        Ok(())
    }

    pub(crate) fn insert_meta(&mut self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        self.changed = true;
        self.transaction.open_table(META)?.insert(name, bytes)?;
        Ok(())
    }
}

/// Lets redb take a boxed storage.
#[derive(Debug)]
struct Custom(Box<dyn StorageBackend>);

impl StorageBackend for Custom {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Custom(_) => f.write_str("custom storage"),
        }
    }
}
