//! The entries, and the room they take.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use latchkey_table::{Answer, Item, Request, Text, Value};

use super::Before;

/// The room for all entries of a system, in bytes.
const ALL_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The room for one entry, in bytes.
pub(crate) const BYTES_MAX: usize = 256 * 1024;

/// What an entry takes beside its key and its reads, and a read beside its keys and items.
const ENTRY_BYTES: usize = 512;

/// All that decides what a call reads, in bytes.
pub(crate) type Key = Arc<[u8]>;

/// What one call has read.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) reads: Vec<(Request, Answer)>,
    /// The instant of the call.
    pub(crate) at: i64,
    pub(crate) before: Before,
}

/// The entries, the oldest first. What has no room makes the oldest go.
#[derive(Debug, Default)]
pub(super) struct Kept {
    entries: HashMap<Key, Placed>,
    /// The keys, in the order in which their entries came.
    order: BTreeMap<u64, Key>,
    /// The place of the next entry.
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Placed {
    entry: Arc<Entry>,
    place: u64,
    bytes: usize,
    /// The instant from which on it answers nothing.
    until: i64,
}

impl Kept {
    pub(super) fn find(&self, key: &Key) -> Option<Arc<Entry>> {
        self.entries.get(key).map(|placed| Arc::clone(&placed.entry))
    }

    /// Adds an entry in place of one of the same key.
    pub(super) fn add(&mut self, key: Key, entry: Entry, until: i64) {
        self.remove(&key);
        let read = entry.reads.iter().map(|(request, answer)| read_bytes(request, answer));
        let bytes = ENTRY_BYTES + 2 * key.len() + read.sum::<usize>();
        while let Some((_, oldest)) = self.order.first_key_value() {
            let over = self.entries.get(oldest).is_none_or(|placed| placed.until <= entry.at);
            if !over && self.bytes + bytes <= ALL_BYTES_MAX {
                break;
            }
            let oldest = self.order.pop_first().and_then(|(_, key)| self.entries.remove(&key));
            self.bytes -= oldest.map_or(0, |placed| placed.bytes);
        }
        let place = self.next;
        self.next = self.next.wrapping_add(1);
        self.bytes += bytes;
        self.order.insert(place, Arc::clone(&key));
        self.entries.insert(key, Placed { entry: Arc::new(entry), place, bytes, until });
    }

    fn remove(&mut self, key: &Key) {
        if let Some(placed) = self.entries.remove(key) {
            self.order.remove(&placed.place);
            self.bytes -= placed.bytes;
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        assert_eq!(self.entries.len(), self.order.len());
        assert_eq!(self.bytes, self.entries.values().map(|placed| placed.bytes).sum::<usize>());
        (self.entries.len(), self.bytes)
    }
}

/// The memory that a request and its answer take, roughly. What a request has of the inputs is counted with the key.
pub(crate) fn read_bytes(request: &Request, answer: &Answer) -> usize {
    let asked = match request {
        Request::BatchGet(batch) => batch.keys.iter().map(key_bytes).sum(),
        _ => 0,
    };
    ENTRY_BYTES + asked + answer_bytes(answer)
}

fn key_bytes(key: &latchkey_table::Key) -> usize {
    size_of::<latchkey_table::Key>() + key.partition.len() + key.sort.len()
}

fn answer_bytes(answer: &Answer) -> usize {
    match answer {
        Answer::Got(got) => got.item.as_ref().map_or(0, item_bytes),
        Answer::GotMany(got) => got.items.iter().flatten().map(item_bytes).sum(),
        Answer::Page(page) => page.items.iter().map(item_bytes).sum(),
        // A contract with a cache does not write.
        Answer::Wrote(_) | Answer::Transacted(_) => 0,
    }
}

fn item_bytes(item: &Item) -> usize {
    size_of::<Item>() + item.iter().map(|(name, value)| attribute_bytes(name, value)).sum::<usize>()
}

fn attribute_bytes(name: &Text, value: &Value) -> usize {
    size_of::<(Text, Value)>() + name.len() + value_bytes(value)
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::List(values) => {
            values.iter().map(|value| size_of::<Value>() + value_bytes(value)).sum()
        }
        Value::Map(map) => map.iter().map(|(name, value)| attribute_bytes(name, value)).sum(),
        Value::TextSet(set) => set.iter().map(|text| size_of::<Text>() + text.len()).sum(),
        value => value.size(),
    }
}
