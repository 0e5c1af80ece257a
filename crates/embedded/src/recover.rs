//! Reads the journals of a store that opens.
//!
//! The map says up to which record it holds everything. The records behind that one must be there without a gap. A
//! record that was being written when the process ended ends the log. Whatever else is missing or does not belong was
//! acknowledged once, so the store does not open without it.

use redb::StorageBackend;

use crate::journal::{Journal, Journals};
use crate::map::{EngineError, Head};
use crate::overlay::Layer;
use crate::progress::{Progress, Step};
use crate::record::{HEAD, Header, Record, START, StoreId, read_all, read_header, read_run};
use crate::storage::{Part, Source};

/// What the journals of a store hold beyond its map.
pub(crate) struct Recovered {
    /// `None` before the first write to the store.
    pub(crate) journals: Option<Journals>,
    /// The records of the journal that was full, and the number of its last.
    pub(crate) frozen: Option<(Layer, u64)>,
    /// The records of the journal that was written last.
    pub(crate) active: Layer,
    /// The number of the last record.
    pub(crate) last: u64,
}

/// A journal as it was found.
struct Found {
    part: Part,
    storage: Box<dyn StorageBackend>,
    bytes: Vec<u8>,
}

/// The records of a journal that the map does not hold.
struct Run<'a> {
    records: Vec<Record<'a>>,
    /// Where they end in the journal.
    end: usize,
}

impl Run<'_> {
    fn first(&self) -> Option<u64> {
        self.records.first().map(|record| record.number)
    }

    fn last(&self) -> Option<u64> {
        self.records.last().map(|record| record.number)
    }

    fn layer(&self) -> Result<Layer, EngineError> {
        let mut layer = Layer::default();
        for change in self.records.iter().flat_map(Record::changes) {
            let (key, change) = change.ok_or_else(|| error("a journal's record is damaged"))?;
            layer.insert(key, change);
        }
        Ok(layer)
    }
}

/// Reads both journals.
pub(crate) fn recover(
    source: &Source,
    head: &Head,
    progress: &Progress,
) -> Result<Recovered, EngineError> {
    let [first, second] = Part::JOURNALS;
    let first = find(source, first, head, progress)?;
    let second = find(source, second, head, progress)?;
    let (Some(id), Some(first), Some(second)) = (&head.id, first, second) else {
        return Ok(Recovered {
            journals: None,
            frozen: None,
            active: Layer::default(),
            last: head.folded,
        });
    };
    refuse_copy(id, head, &first, &second)?;
    let (a, behind_a) = run(id, &first, head);
    let (b, behind_b) = run(id, &second, head);
    let (last, second_is_newer) = chain(head, &a, &b)?;
    if behind_a.max(behind_b).is_some_and(|behind| behind > last) {
        let text = format!(
            "record {} of its journals is damaged, and there are records behind it, so acknowledged writes are lost: \
             restore a copy of the whole directory",
            last + 1
        );
        return Err(EngineError::new(text));
    }
    let (newer, newer_run, older_run) =
        if second_is_newer { (&second, &b, &a) } else { (&first, &a, &b) };
    sync_last(newer, newer_run)?;
    let active = newer_run.layer()?;
    let frozen = match older_run.last() {
        Some(last) => Some((older_run.layer()?, last)),
        None => None,
    };
    let (active_end, other_end) = (offset(newer_run.end), offset(older_run.end));
    let (newer, older) = if second_is_newer { (second, first) } else { (first, second) };
    let active_journal = Journal::at(newer.storage, active_end).map_err(EngineError::io)?;
    let other = Journal::at(older.storage, other_end).map_err(EngineError::io)?;
    let journals = Some(Journals { active: active_journal, other });
    Ok(Recovered { journals, frozen, active, last })
}

/// A journal that belongs to the store. One that a store without records in it has not yet finished is none.
fn find(
    source: &Source,
    part: Part,
    head: &Head,
    progress: &Progress,
) -> Result<Option<Found>, EngineError> {
    let Some(storage) = source.journal(part).map_err(EngineError::io)? else {
        return missing(part, head, "is missing");
    };
    let len = storage.len().map_err(EngineError::io)?;
    progress.tell(Step::Journal { part, bytes: len });
    let len = usize::try_from(len).map_err(|_| error("a journal is too long"))?;
    let bytes = match head.journals {
        true => read(&*storage, len)?,
        false => read_first(&*storage, len, head)?,
    };
    refuse_older_map(head, &bytes)?;
    match read_header(&bytes) {
        Header::Of(id) if head.id == Some(id) => Ok(Some(Found { part, storage, bytes })),
        Header::Of(_) => Err(EngineError::new(format!(
            "{part} belongs to another store: put the `store.redb` back that it belongs to, or move {part} away"
        ))),
        Header::Newer(_) => Err(EngineError::new(format!(
            "{part} was written by a newer release: run that release, or a later one"
        ))),
        Header::Damaged => missing(part, head, "is damaged"),
    }
}

fn read(storage: &dyn StorageBackend, len: usize) -> Result<Vec<u8>, EngineError> {
    let mut bytes = vec![0; len];
    storage.read(0, &mut bytes).map_err(EngineError::io)?;
    Ok(bytes)
}

/// A journal up to its first record, or all of it if that is not whole. After a close in order the map needs no record,
/// and the one that is written next is the first of its journal: so a map that is older than its journals is known by
/// their first records.
fn read_first(
    storage: &dyn StorageBackend,
    len: usize,
    head: &Head,
) -> Result<Vec<u8>, EngineError> {
    let beginning = read(storage, len.min(START + HEAD))?;
    let claimed = Record::claimed_len(beginning.get(START..).unwrap_or_default());
    if let Some(end) = claimed.and_then(|claimed| START.checked_add(claimed))
        && end <= len
        && let Some(id) = &head.id
    {
        let bytes = read(storage, end)?;
        if Record::read(id, bytes.get(START..).unwrap_or_default()).is_some() {
            return Ok(bytes);
        }
    }
    read(storage, len)
}

/// Refuses a map that was closed in order and lacks a record of a journal, however damaged that journal is, and whether
/// or not the other one is there.
fn refuse_older_map(head: &Head, journal: &[u8]) -> Result<(), EngineError> {
    let (Some(id), false) = (&head.id, head.journals) else { return Ok(()) };
    match read_all(id, journal).iter().any(|record| record.number > head.folded) {
        true => Err(error(
            "its journals have writes that `store.redb` should have, as it was closed: it may be an older copy. Put \
             the newer `store.redb` back, or move `journal-0` and `journal-1` away to go on with the older one",
        )),
        false => Ok(()),
    }
}

/// A journal may be missing only if it has nothing that the map does not hold.
fn missing(part: Part, head: &Head, how: &str) -> Result<Option<Found>, EngineError> {
    if head.journals {
        return Err(EngineError::new(format!(
            "{part} {how}, and acknowledged writes may be in it: put it back, or restore a copy of the whole directory"
        )));
    }
    Ok(None)
}

/// The records of a journal that the map does not hold, and the highest number behind its last whole record.
fn run<'a>(id: &StoreId, found: &'a Found, head: &Head) -> (Run<'a>, Option<u64>) {
    let (mut records, behind) = read_run(id, &found.bytes);
    let end = START + records.iter().map(|record| record.len).sum::<usize>();
    records.retain(|record| record.number > head.folded);
    // If the map holds them all, the journal is written from its start.
    let end = if records.is_empty() { START } else { end };
    (Run { records, end }, behind)
}

/// Refuses two journals that begin with the same record. A record is written to one journal only: one that was written
/// in part is no whole record, and one that is whole is never written to the other. So what the one journal had is
/// gone, also if the map holds all of what is there now. After a close in order the map needs neither.
fn refuse_copy(id: &StoreId, head: &Head, a: &Found, b: &Found) -> Result<(), EngineError> {
    let [first, second] = [a, b].map(|found| Record::read(id, found.bytes.get(START..)?));
    match (first, second) {
        (Some(first), Some(second)) if head.journals && first == second => {
            Err(EngineError::damage(format!(
                "{} and {} begin with the same record, {}, so one is a copy of the other, and acknowledged writes are \
                 lost: put back the files that belong together",
                a.part, b.part, first.number
            )))
        }
        _ => Ok(()),
    }
}

/// The number of the last record, and whether the second run is the newer one, if there is no gap.
fn chain(head: &Head, a: &Run<'_>, b: &Run<'_>) -> Result<(u64, bool), EngineError> {
    let second_is_newer = match (a.first(), b.first()) {
        (Some(a), Some(b)) => b > a,
        (a, _) => a.is_none(),
    };
    let (older, newer) = if second_is_newer { (a, b) } else { (b, a) };
    let mut last = head.folded;
    for run in [older, newer] {
        if let (Some(first), Some(end)) = (run.first(), run.last()) {
            if first <= last {
                return Err(EngineError::new(format!(
                    "both of its journals hold the record {first}: one may be an older copy. Put back the files that \
                     belong together"
                )));
            }
            if first != last + 1 {
                let text = format!(
                    "its journals lack the records from {} to {}, which were acknowledged: `store.redb` or a \
                     journal may be an older copy. Put back the files that belong together",
                    last + 1,
                    first - 1
                );
                return Err(EngineError::new(text));
            }
            last = end;
        }
    }
    Ok((last, second_is_newer))
}

/// Writes the last record again and syncs it. The process that wrote it may have ended before its sync, or may have
/// been told that the sync failed, after which the system takes what it could not write for written.
fn sync_last(found: &Found, run: &Run<'_>) -> Result<(), EngineError> {
    let Some(last) = run.records.last() else { return Ok(()) };
    let start = run.end.saturating_sub(last.len);
    let bytes = found.bytes.get(start..run.end).unwrap_or_default();
    let written =
        found.storage.write(offset(start), bytes).and_then(|()| found.storage.sync_data());
    written
        .map_err(|failed| EngineError::new(format!("{} cannot be written: {failed}", found.part)))
}

fn offset(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}

fn error(text: &str) -> EngineError {
    EngineError::new(text.to_owned())
}
