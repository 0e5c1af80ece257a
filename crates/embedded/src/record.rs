//! The bytes of a journal: a header, and then records, each of which is one group of changes.
//!
//! ```text
//! header   magic 16   format 4   store id 16   checksum 4
//! record   mark 8   number 8   length of the changes 4   checksum 4   changes   zeros up to a multiple of 8
//! change   1   length of the key 4   length of the bytes 4   key   bytes
//!          0   length of the key 4   key                                          (the key was removed)
//! ```
//!
//! Records begin at [`START`] and at multiples of 8. The mark is a part of the store's id, which no caller knows: bytes
//! that a caller has stored cannot pass for a record.

use std::collections::BTreeMap;

use crate::overlay::{Bytes, Change};

/// Where the records begin: behind the block with the header.
pub(crate) const START: usize = 4096;

/// How many bytes a record has beside its changes.
pub(crate) const HEAD: usize = 24;

const ALIGNMENT: usize = 8;

const MAGIC: [u8; 16] = *b"latchkey journal";

/// The version of what is written here.
const FORMAT: u32 = 1;

/// The random name of a store, by which a journal knows its map.
pub(crate) type StoreId = [u8; 16];

/// The changes of a group.
pub(crate) type Changes = BTreeMap<Bytes, Change>;

/// The header of a journal.
pub(crate) fn header(id: &StoreId) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&FORMAT.to_be_bytes());
    bytes.extend_from_slice(id);
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_be_bytes());
    bytes
}

/// What the first bytes of a journal say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// It belongs to the store with this id.
    Of(StoreId),
    /// A newer release wrote it.
    Newer(u32),
    /// It is no header, or a damaged one.
    Damaged,
}

/// Reads a header.
pub(crate) fn read_header(mut bytes: &[u8]) -> Header {
    let whole = bytes;
    let rest = &mut bytes;
    let (magic, format, id) = (take::<16>(rest), take::<4>(rest), take::<16>(rest));
    let summed = whole.get(..whole.len() - rest.len()).unwrap_or_default();
    let (Some(MAGIC), Some(format), Some(id), Some(sum)) = (magic, format, id, take::<4>(rest))
    else {
        return Header::Damaged;
    };
    if u32::from_be_bytes(sum) != crc32fast::hash(summed) {
        return Header::Damaged;
    }
    match u32::from_be_bytes(format) {
        FORMAT => Header::Of(id),
        newer => Header::Newer(newer),
    }
}

/// The mark of a store's records.
fn mark(id: &StoreId) -> [u8; 8] {
    let [a, b, c, d, e, f, g, h, ..] = *id;
    [a, b, c, d, e, f, g, h]
}

/// Changes too large for one record: more than 4 GB.
#[derive(Debug)]
pub(crate) struct TooLarge;

/// Writes a record, in place of what `out` holds.
pub(crate) fn encode(
    id: &StoreId,
    number: u64,
    changes: &Changes,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    out.clear();
    out.resize(HEAD, 0);
    for (key, change) in changes {
        out.push(u8::from(change.is_some()));
        out.extend_from_slice(&length(key)?);
        if let Some(bytes) = change {
            out.extend_from_slice(&length(bytes)?);
        }
        out.extend_from_slice(key);
        out.extend_from_slice(change.as_deref().unwrap_or_default());
    }
    let payload = out.get(HEAD..).unwrap_or_default();
    let (number, len) = (number.to_be_bytes(), length(payload)?);
    let sum = checksum(number, len, payload);
    let head = [mark(id).as_slice(), &number, &len, &sum.to_be_bytes()].concat();
    out.splice(..HEAD, head);
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    Ok(())
}

fn length(bytes: &[u8]) -> Result<[u8; 4], TooLarge> {
    Ok(u32::try_from(bytes.len()).map_err(|_| TooLarge)?.to_be_bytes())
}

fn checksum(number: [u8; 8], len: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number);
    hasher.update(&len);
    hasher.update(payload);
    hasher.finalize()
}

/// A whole record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Its place among all records of the store.
    pub(crate) number: u64,
    payload: &'a [u8],
    /// How many bytes it takes.
    pub(crate) len: usize,
}

impl<'a> Record<'a> {
    /// The record at the beginning of some bytes, if there is a whole one.
    pub(crate) fn read(id: &StoreId, bytes: &'a [u8]) -> Option<Record<'a>> {
        let mut bytes = bytes;
        let rest = &mut bytes;
        if take::<8>(rest)? != mark(id) {
            return None;
        }
        let (number, len, sum) = (take::<8>(rest)?, take::<4>(rest)?, take::<4>(rest)?);
        let payload = rest.get(..usize::try_from(u32::from_be_bytes(len)).ok()?)?;
        if checksum(number, len, payload) != u32::from_be_bytes(sum) {
            return None;
        }
        let number = u64::from_be_bytes(number);
        let len = (HEAD + payload.len()).next_multiple_of(ALIGNMENT);
        Some(Record { number, payload, len })
    }

    /// How many bytes a record takes, as its first bytes say. They may be damaged, or no record.
    pub(crate) fn claimed_len(bytes: &[u8]) -> Option<usize> {
        let len = u32::from_be_bytes(*bytes.get(16..20)?.first_chunk()?);
        HEAD.checked_add(usize::try_from(len).ok()?)?.checked_next_multiple_of(ALIGNMENT)
    }

    /// Its changes; `None` if they are none, which the checksum rules out.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Option<(Bytes, Change)>> + use<'a> {
        let mut rest = self.payload;
        std::iter::from_fn(
            move || if rest.is_empty() { None } else { Some(take_change(&mut rest)) },
        )
        // Behind bytes that are no change nothing can be told.
        .scan(true, |well, change| {
            let go_on = *well;
            *well &= change.is_some();
            go_on.then_some(change)
        })
    }
}

/// The records from the beginning of a journal on, and the highest number of any record behind them.
pub(crate) fn read_run<'a>(id: &StoreId, journal: &'a [u8]) -> (Vec<Record<'a>>, Option<u64>) {
    let mut records: Vec<Record<'a>> = Vec::new();
    let mut rest = journal.get(START..).unwrap_or_default();
    while let Some(record) = Record::read(id, rest) {
        // What follows the last record of this turn may be one of an earlier turn.
        if records.last().is_some_and(|last| record.number != last.number.wrapping_add(1)) {
            break;
        }
        records.push(record);
        rest = rest.get(record.len..).unwrap_or_default();
    }
    let mut behind = None;
    while !rest.is_empty() {
        let step = match Record::read(id, rest) {
            Some(record) => {
                behind = behind.max(Some(record.number));
                record.len
            }
            None => ALIGNMENT,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    (records, behind)
}

/// All whole records of a journal, wherever they are.
pub(crate) fn read_all<'a>(id: &StoreId, journal: &'a [u8]) -> Vec<Record<'a>> {
    let mut records = Vec::new();
    let mut rest = journal.get(START..).unwrap_or_default();
    while !rest.is_empty() {
        let record = Record::read(id, rest);
        rest = rest.get(record.map_or(ALIGNMENT, |record| record.len)..).unwrap_or_default();
        records.extend(record);
    }
    records
}

fn take_change(rest: &mut &[u8]) -> Option<(Bytes, Change)> {
    let [kind] = take::<1>(rest)?;
    let key_len = take::<4>(rest)?;
    let len = match kind {
        0 => None,
        1 => Some(take::<4>(rest)?),
        _ => return None,
    };
    let key = take_bytes(rest, key_len)?;
    let change = match len {
        None => None,
        Some(len) => Some(take_bytes(rest, len)?),
    };
    Some((key, change))
}

fn take_bytes(rest: &mut &[u8], len: [u8; 4]) -> Option<Bytes> {
    let len = usize::try_from(u32::from_be_bytes(len)).ok()?;
    let (bytes, tail) = rest.split_at_checked(len)?;
    *rest = tail;
    Some(bytes.into())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: StoreId = *b"0123456789abcdef";

    fn changes() -> impl Strategy<Value = Changes> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
        prop::collection::btree_map(bytes(), prop::option::of(bytes()), 0..6)
    }

    fn journal(groups: &[(u64, Changes)]) -> Vec<u8> {
        let mut journal = vec![0; START];
        let mut record = Vec::new();
        for (number, changes) in groups {
            encode(&ID, *number, changes, &mut record).unwrap();
            journal.extend_from_slice(&record);
        }
        journal
    }

    fn read_back(record: &Record<'_>) -> Changes {
        record.changes().map(Option::unwrap).collect()
    }

    proptest! {
        #[test]
        fn a_run_is_read_back(groups in prop::collection::vec(changes(), 0..6), zeros in 0usize..100) {
            let groups: Vec<_> = (7..).zip(groups).collect();
            let mut journal = journal(&groups);
            journal.resize(journal.len() + zeros, 0);
            let (records, behind) = read_run(&ID, &journal);
            prop_assert_eq!(behind, None);
            let read: Vec<_> = records.iter().map(|record| (record.number, read_back(record))).collect();
            prop_assert_eq!(read, groups);
        }

        /// A torn record ends the run; a whole one behind it is told.
        #[test]
        fn a_flipped_bit_ends_the_run(
            groups in prop::collection::vec(changes(), 1..6), at: prop::sample::Index, bit in 0u8..8,
        ) {
            let groups: Vec<_> = (7..).zip(groups).collect();
            let mut journal = journal(&groups);
            let whole = journal.clone();
            let (before, _) = read_run(&ID, &whole);
            let at = START + at.index(journal.len() - START);
            journal[at] ^= 1 << bit;
            let (records, behind) = read_run(&ID, &journal);
            if records.len() < before.len() {
                prop_assert_eq!(&before[..records.len()], &records[..]);
                let last = before.last().map(|last| last.number).filter(|_| records.len() + 1 < before.len());
                prop_assert_eq!(behind, last);
            } else {
                // Only zeros at the end of a record are not summed.
                prop_assert_eq!(before, records);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_header(&bytes);
            prop_assert_eq!(Record::read(&ID, &bytes), None);
            let record = Record { number: 1, payload: &bytes, len: 0 };
            prop_assert!(record.changes().count() <= bytes.len());
        }
    }

    #[test]
    fn records_of_an_earlier_turn_are_not_read() {
        let one = |value: u8| Changes::from([(Bytes::from([value]), None)]);
        let journal = journal(&[(9, one(1)), (10, one(2)), (3, one(3)), (4, one(4))]);
        let (records, behind) = read_run(&ID, &journal);
        let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
        assert_eq!((numbers, behind), (vec![9, 10], Some(4)));
        let (records, behind) = read_run(b"another store...", &journal);
        assert_eq!((records, behind), (Vec::new(), None));
    }

    #[test]
    fn a_header_is_read_back_or_refused() {
        let bytes = header(&ID);
        assert_eq!(read_header(&bytes), Header::Of(ID));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(read_header(&damaged), Header::Damaged, "{at}");
            assert_eq!(read_header(&bytes[..at]), Header::Damaged, "{at}");
        }
        let mut newer = bytes[..16].to_vec();
        newer.extend_from_slice(&2u32.to_be_bytes());
        newer.extend_from_slice(&ID);
        let sum = crc32fast::hash(&newer);
        newer.extend_from_slice(&sum.to_be_bytes());
        assert_eq!(read_header(&newer), Header::Newer(2));
    }
}
