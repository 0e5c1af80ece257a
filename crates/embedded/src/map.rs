//! The ordered map under the store: the one module that calls redb.
//!
//! Bytes in order, read from a [`Base`], which is one commit, and changed by one writer at a time. Each commit is
//! durable, and saves what redb needs to open the file again without reading all of it.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use latchkey_table::ReadOnly;
use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    StorageBackend, Table, TableDefinition, WriteTransaction,
};

use crate::guard::guard;
use crate::overlay::{Merged, bounds};
use crate::record::StoreId;
use crate::storage::Source;

/// Items and index entries, by the bytes of [`crate::key_codec`].
const ITEMS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("items");

/// The format's version and the catalog.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

pub(crate) const FORMAT: &str = "format";
pub(crate) const HEAD: &str = "head";

/// The version of what is written here. Raised by a change that an older release would misread.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// The version before journals and checksums, which is still read.
const FORMAT_WITHOUT_JOURNALS: u32 = 1;

/// An error of the engine, for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct EngineError {
    pub(crate) text: String,
    /// Whether what is stored is damaged, so that the next try fails too.
    pub(crate) is_damage: bool,
    /// Whether a file would grow beyond a limit on the size of files.
    pub(crate) is_limit: bool,
}

impl<E: Into<redb::Error>> From<E> for EngineError {
    fn from(error: E) -> EngineError {
        let error = error.into();
        let is_damage = matches!(error, redb::Error::Corrupted(_));
        let limit = io::ErrorKind::FileTooLarge;
        let is_limit = matches!(&error, redb::Error::Io(error) if error.kind() == limit);
        EngineError { text: error.to_string(), is_damage, is_limit }
    }
}

impl EngineError {
    /// An error that the next try may not meet.
    pub(crate) fn new(text: String) -> EngineError {
        EngineError { text, is_damage: false, is_limit: false }
    }

    /// What is stored is damaged.
    pub(crate) fn damage(text: String) -> EngineError {
        EngineError { text, is_damage: true, is_limit: false }
    }

    /// Why redb does not open what it was given. It takes bytes that make no sense to it for an error of storage.
    fn opening(error: redb::DatabaseError) -> EngineError {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        let senseless = match &error {
            redb::DatabaseError::Storage(redb::StorageError::Io(error)) => {
                matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
            }
            _ => false,
        };
        let error = EngineError::from(error);
        EngineError { is_damage: error.is_damage || senseless, ..error }
    }

    /// An error of storage.
    pub(crate) fn io(error: io::Error) -> EngineError {
        EngineError::new(error.to_string())
    }
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
    /// Before it could become durable: nothing of it was kept.
    Aborted(EngineError),
    /// It may or may not have been kept.
    InDoubt(EngineError),
    /// The store takes no writes now: nothing of it was kept.
    Refused(ReadOnly),
}

impl<E: Into<EngineError>> From<E> for WriteFailure {
    fn from(error: E) -> WriteFailure {
        WriteFailure::Aborted(error.into())
    }
}

/// What a map says of its journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// By which its journals know it. One that was written before there were journals has none.
    pub(crate) id: Option<StoreId>,
    /// The number of the last record that the map holds.
    pub(crate) folded: u64,
    /// Whether the journals may hold more than that. If not, the store was closed in order.
    pub(crate) journals: bool,
}

impl Head {
    /// Of a map that was written before there were journals, or never.
    pub(crate) const NONE: Head = Head { id: None, folded: 0, journals: false };

    /// As bytes, with a checksum.
    fn encode(&self) -> Vec<u8> {
        let id = self.id.unwrap_or_default();
        let journals = [u8::from(self.journals)];
        let mut bytes = [id.as_slice(), &self.folded.to_be_bytes(), &journals].concat();
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Head> {
        let (summed, sum) = bytes.split_last_chunk()?;
        if u32::from_be_bytes(*sum) != crc32fast::hash(summed) {
            return None;
        }
        let (id, rest) = summed.split_first_chunk()?;
        let (folded, rest) = rest.split_first_chunk()?;
        let journals = match rest {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(Head { id: Some(*id), folded: u64::from_be_bytes(*folded), journals })
    }
}

/// The open map.
pub(crate) struct Map {
    /// `None` while it is closed.
    database: Option<Database>,
    durable: bool,
}

impl Map {
    /// Makes a new map in a file that is not there yet.
    pub(crate) fn create(path: &Path, cache_bytes: usize) -> Result<Map, OpenFailure> {
        let database = Builder::new().set_cache_size(cache_bytes).create(path)?;
        let map = Map { database: Some(database), durable: true };
        map.initialize()?;
        Ok(map)
    }

    /// Opens the map, and makes it first if custom storage holds nothing.
    pub(crate) fn open(source: &Source, cache_bytes: usize) -> Result<Map, OpenFailure> {
        guard(|| Map::open_unguarded(source, cache_bytes))
    }

    fn open_unguarded(source: &Source, cache_bytes: usize) -> Result<Map, OpenFailure> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let (storage, empty) = source.map().map_err(EngineError::io)?;
        let database =
            builder.create_with_backend(Custom(storage)).map_err(EngineError::opening)?;
        let map = Map { database: Some(database), durable: !matches!(source, Source::Memory) };
        if empty {
            map.initialize()?;
        }
        map.checked()
    }

    fn database(&self) -> Result<&Database, EngineError> {
        self.database.as_ref().ok_or_else(closed)
    }

    fn initialize(&self) -> Result<(), OpenFailure> {
        let mut transaction = self.database()?.begin_write()?;
        transaction.set_quick_repair(self.durable);
        transaction.open_table(ITEMS)?;
        transaction.open_table(META)?.insert(FORMAT, FORMAT_VERSION.to_be_bytes().as_slice())?;
        transaction.commit()?;
        Ok(())
    }

    fn checked(self) -> Result<Map, OpenFailure> {
        match self.base()?.format()? {
            FORMAT_WITHOUT_JOURNALS | FORMAT_VERSION => Ok(self),
            found => Err(OpenFailure::Newer { found }),
        }
    }

    /// Has redb read all its pages and compare their checksums: whether nothing was found. Nobody may read meanwhile.
    pub(crate) fn check(&mut self) -> Result<bool, EngineError> {
        guard(|| Ok(self.database.as_mut().ok_or_else(closed)?.check_integrity()?))
    }

    /// Has redb move its pages to the beginning of the file and cut the rest off: whether it could. Nobody may read
    /// meanwhile.
    pub(crate) fn compact(&mut self) -> Result<bool, EngineError> {
        guard(|| Ok(self.database.as_mut().ok_or_else(closed)?.compact()?))
    }

    /// The map as of the last commit. Later commits do not change it.
    pub(crate) fn base(&self) -> Result<Base, EngineError> {
        guard(|| {
            let transaction = self.database()?.begin_read()?;
            let (items, meta) = (transaction.open_table(ITEMS)?, transaction.open_table(META)?);
            Ok(Base { items, meta, failed: AtomicBool::new(false) })
        })
    }

    /// Runs changes and makes them durable together with what the map says of its journals, unless there are none.
    pub(crate) fn write<T>(
        &self,
        head: Option<&Head>,
        change: impl FnOnce(&mut Direct<'_>) -> Result<T, EngineError>,
    ) -> Result<T, WriteFailure> {
        guard(|| {
            let mut transaction = self.database()?.begin_write()?;
            transaction.set_quick_repair(self.durable);
            let (items, meta) = (transaction.open_table(ITEMS)?, transaction.open_table(META)?);
            let mut direct = Direct { items, meta, changed: false };
            let result = change(&mut direct)?;
            if let Some(head) = head.filter(|_| direct.changed) {
                direct.keep(head)?;
            }
            let changed = direct.changed;
            drop(direct);
            finish(transaction, changed)?;
            Ok(result)
        })
    }
}

fn closed() -> EngineError {
    EngineError::new("its map is closed".to_owned())
}

/// redb writes when it closes, and panics if it has panicked before.
impl Drop for Map {
    fn drop(&mut self) {
        let database = self.database.take();
        let closed: Result<(), EngineError> = guard(|| {
            drop(database);
            Ok(())
        });
        if let Err(error) = closed {
            // Each commit was durable by itself.
            tracing::warn!(%error, "the store's file could not be closed in order");
        }
    }
}

fn finish(transaction: WriteTransaction, changed: bool) -> Result<(), WriteFailure> {
    if changed {
        guard(|| Ok(transaction.commit()?)).map_err(WriteFailure::InDoubt)
    } else {
        Ok(transaction.abort()?)
    }
}

/// The map at one commit.
pub(crate) struct Base {
    items: ReadOnlyTable<&'static [u8], &'static [u8]>,
    meta: ReadOnlyTable<&'static str, &'static [u8]>,
    /// Whether a read failed for want of the storage. Then redb must be opened again.
    failed: AtomicBool,
}

impl Base {
    /// Whether the map must be opened again before it can be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn noting<T, E: Into<redb::Error>>(&self, result: Result<T, E>) -> Result<T, EngineError> {
        result.map_err(|error| {
            self.failed.store(true, Ordering::Relaxed);
            EngineError::from(error)
        })
    }

    /// How many keys the map says that it has.
    pub(crate) fn len(&self) -> Result<u64, EngineError> {
        guard(|| Ok(ReadableTableMetadata::len(&self.items)?))
    }

    /// How many names the map says that its catalog has.
    pub(crate) fn meta_len(&self) -> Result<u64, EngineError> {
        guard(|| Ok(ReadableTableMetadata::len(&self.meta)?))
    }

    /// What the map says of its journals.
    pub(crate) fn head(&self) -> Result<Head, EngineError> {
        guard(|| {
            let Some(bytes) = self.meta.get(HEAD)? else { return Ok(Head::NONE) };
            let damaged = || EngineError::damage(format!("its `{HEAD}` is damaged"));
            Head::decode(bytes.value()).ok_or_else(damaged)
        })
    }

    fn format(&self) -> Result<u32, EngineError> {
        let format = self.meta.get(FORMAT)?;
        let bytes = format.and_then(|format| format.value().try_into().ok());
        bytes
            .map(u32::from_be_bytes)
            .ok_or_else(|| EngineError::damage("not a latchkey store".to_owned()))
    }

    /// Everything under a name in the catalog that begins with a prefix.
    pub(crate) fn meta(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        guard(|| {
            let mut entries = Vec::new();
            for entry in self.meta.range(prefix..)? {
                let (name, bytes) = entry?;
                if !name.value().starts_with(prefix) {
                    break;
                }
                entries.push((name.value().to_owned(), bytes.value().to_vec()));
            }
            Ok(entries)
        })
    }

    /// Hands the bytes under a key to a function, if there are any.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        guard(|| {
            let bytes = self.noting(ReadableTable::get(&self.items, key))?;
            Ok(bytes.map(|bytes| read(bytes.value())))
        })
    }

    /// Hands keys and bytes of a range to a function, from either end, until it says to stop. Later changes are laid
    /// over them, if there are any.
    pub(crate) fn walk(
        &self,
        range: &Range<Vec<u8>>,
        backwards: bool,
        mut over: Option<Merged<'_>>,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<Walk, EngineError>,
    ) -> Result<(), EngineError> {
        guard(|| {
            let entries = ReadableTable::range::<&[u8]>(&self.items, bounds(range));
            let mut entries = self.noting(entries)?;
            loop {
                let entry = if backwards { entries.next_back() } else { entries.next() };
                let entry = self.noting(entry.transpose())?;
                let key = entry.as_ref().map(|(key, _)| key.value());
                let mut replaced = false;
                while let Some((changed, bytes)) =
                    over.as_mut().and_then(|over| over.next_up_to(key))
                {
                    replaced = Some(changed) == key;
                    if let Some(bytes) = bytes
                        && let Walk::Stop = visit(changed, bytes)?
                    {
                        return Ok(());
                    }
                }
                let Some((key, bytes)) = entry else { return Ok(()) };
                if !replaced && let Walk::Stop = visit(key.value(), bytes.value())? {
                    return Ok(());
                }
            }
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

/// Changes of the map itself that become durable together. Reads see the changes made before them.
pub(crate) struct Direct<'a> {
    items: Table<'a, &'static [u8], &'static [u8]>,
    meta: Table<'a, &'static str, &'static [u8]>,
    changed: bool,
}

impl Direct<'_> {
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
        self.meta.insert(name, bytes)?;
        Ok(())
    }

    /// Keeps what the map says of its journals, and with it that it has this release's format.
    pub(crate) fn keep(&mut self, head: &Head) -> Result<(), EngineError> {
        self.insert_meta(FORMAT, &FORMAT_VERSION.to_be_bytes())?;
        self.insert_meta(HEAD, &head.encode())
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
