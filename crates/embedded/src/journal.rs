//! The two journals, which are written in turns.
//!
//! A journal is filled with zeros before it is written, and written again from its start once the map holds its
//! records. So a record is one write and one sync, and the file's length stays.

use std::io;

use redb::StorageBackend;

use crate::record::{START, StoreId, header};
use crate::storage::{Part, Source};

/// By how many bytes a journal grows at least.
const STEP: u64 = 1 << 20;

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// One journal.
#[derive(Debug)]
pub(crate) struct Journal {
    storage: Box<dyn StorageBackend>,
    /// How long the storage is. All of it has been written.
    len: u64,
    /// Where the next record goes.
    tail: u64,
}

impl Journal {
    /// Makes a journal without records, or takes the records from one that is there.
    fn make(source: &Source, part: Part, id: &StoreId) -> io::Result<Journal> {
        let storage = source.make_journal(part)?;
        let mut journal = Journal { storage, len: 0, tail: start() };
        journal.len = journal.storage.len()?;
        if journal.len < start() {
            journal.grow(start())?;
        }
        journal.storage.write(0, &header(id))?;
        journal.storage.sync_data()?;
        Ok(journal)
    }

    /// A journal whose records end at some place.
    pub(crate) fn at(storage: Box<dyn StorageBackend>, tail: u64) -> io::Result<Journal> {
        let len = storage.len()?;
        Ok(Journal { storage, len, tail })
    }

    /// How many bytes its records have.
    fn used(&self) -> u64 {
        self.tail.saturating_sub(start())
    }

    /// Makes room for so many bytes. Nothing is lost if that fails.
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.tail.saturating_add(bytes);
        if end > self.len {
            self.grow(end.max(self.len.saturating_add(STEP)))?;
            self.storage.sync_data()?;
        }
        Ok(())
    }

    fn grow(&mut self, len: u64) -> io::Result<()> {
        let mut at = self.len;
        while at < len {
            let left = usize::try_from(len - at).unwrap_or(usize::MAX);
            let zeros = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.storage.write(at, zeros)?;
            at += offset(zeros.len());
        }
        self.len = at;
        Ok(())
    }

    /// Writes a record behind the last one and syncs it. If that fails the record may or may not be there, and nothing
    /// but the same record may be written next.
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.storage.write(self.tail, record)?;
        self.storage.sync_data()?;
        self.tail += offset(record.len());
        Ok(())
    }
}

fn start() -> u64 {
    offset(START)
}

/// A length as an offset. No memory is longer than an offset can say.
fn offset(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Both journals.
#[derive(Debug)]
pub(crate) struct Journals {
    /// Gets the next record.
    pub(crate) active: Journal,
    /// Has records that the map is to hold, or none that count.
    pub(crate) other: Journal,
}

impl Journals {
    /// Makes both, without records. Fails with the one that cannot be made.
    pub(crate) fn make(source: &Source, id: &StoreId) -> Result<Journals, (Part, io::Error)> {
        let make = |part| Journal::make(source, part, id).map_err(|error| (part, error));
        let [first, second] = Part::JOURNALS;
        Ok(Journals { active: make(first)?, other: make(second)? })
    }

    /// How many bytes the records in the active one have.
    pub(crate) fn used(&self) -> u64 {
        self.active.used()
    }

    /// Goes on with the other journal, whose records the map holds.
    pub(crate) fn turn(&mut self) {
        std::mem::swap(&mut self.active, &mut self.other);
        self.active.tail = start();
    }

    /// Makes room for a record.
    pub(crate) fn reserve(&mut self, record: &[u8]) -> io::Result<()> {
        self.active.reserve(offset(record.len()))
    }

    /// Makes a record durable, behind all others.
    pub(crate) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.active.append(record)
    }
}
