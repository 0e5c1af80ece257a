//! What the journals hold and the map does not: changes by key, in order.
//!
//! A [`Layer`] is the changes of one journal. It is a persistent map: a copy for readers costs nothing, and later
//! changes leave the copy as it was. A filter in front of it keeps most reads of keys that were not changed away from
//! the map.

use std::iter::Peekable;
use std::ops::{Bound, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::OrdMap;

/// Bytes that share their memory.
pub(crate) type Bytes = Arc<[u8]>;

/// What became of a key: its new bytes, or nothing.
pub(crate) type Change = Option<Bytes>;

/// Changes by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    changes: OrdMap<Bytes, Change>,
    filter: Arc<Filter>,
}

impl Layer {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What became of a key, if it was changed.
    pub(crate) fn get(&self, key: Hashed<'_>) -> Option<&Change> {
        if self.changes.is_empty() || !self.filter.may_have(key.hash) {
            return None;
        }
        self.changes.get(key.bytes)
    }

    /// Changes a key. Copies that were made before stay as they were.
    pub(crate) fn insert(&mut self, key: Bytes, change: Change) {
        self.filter.add(Hashed::new(&key).hash);
        self.changes.insert(key, change);
    }

    /// All changes in the order of their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.changes.iter().map(|(key, change)| (&**key, change.as_deref()))
    }

    fn walk<'a>(&'a self, range: &Range<Vec<u8>>, backwards: bool) -> Walking<'a> {
        let mut entries = self.changes.range::<_, [u8]>(bounds(range));
        let next = move || if backwards { entries.next_back() } else { entries.next() };
        let entries = std::iter::from_fn(next).map(|(key, change)| (&**key, change.as_deref()));
        let entries: Box<dyn Iterator<Item = Entry<'a>>> = Box::new(entries);
        entries.peekable()
    }
}

/// A range of keys as bounds.
pub(crate) fn bounds(range: &Range<Vec<u8>>) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(&range.start), Bound::Excluded(&range.end))
}

/// A key, and its bytes unless it was removed.
pub(crate) type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

type Walking<'a> = Peekable<Box<dyn Iterator<Item = Entry<'a>> + 'a>>;

/// The changes of two layers in the order of their keys, or in the reverse order.
pub(crate) struct Merged<'a> {
    newer: Walking<'a>,
    older: Option<Walking<'a>>,
    backwards: bool,
}

impl<'a> Merged<'a> {
    /// Changes in a range. Where both layers have changed a key, the newer one counts.
    pub(crate) fn new(
        newer: &'a Layer,
        older: Option<&'a Layer>,
        range: &Range<Vec<u8>>,
        backwards: bool,
    ) -> Merged<'a> {
        let older = older.map(|older| older.walk(range, backwards));
        Merged { newer: newer.walk(range, backwards), older, backwards }
    }

    /// The next change, unless it lies behind a key; a change of that very key is not behind it.
    pub(crate) fn next_up_to(&mut self, key: Option<&[u8]>) -> Option<Entry<'a>> {
        let next = self.peek()?;
        match key {
            Some(key) if is_before(key, next, self.backwards) => None,
            _ => self.next(),
        }
    }

    fn peek(&mut self) -> Option<&'a [u8]> {
        let newer = self.newer.peek().map(|(key, _)| *key);
        let older = self.older.as_mut().and_then(Peekable::peek).map(|(key, _)| *key);
        match (newer, older) {
            (Some(newer), Some(older)) if is_before(older, newer, self.backwards) => Some(older),
            (newer, older) => newer.or(older),
        }
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let key = self.peek()?;
        let newer = self.newer.next_if(|(newer, _)| *newer == key);
        let older = self.older.as_mut().and_then(|older| older.next_if(|(older, _)| *older == key));
        newer.or(older)
    }
}

/// Whether a walk meets one key before another.
fn is_before(a: &[u8], b: &[u8], backwards: bool) -> bool {
    if backwards { a > b } else { a < b }
}

/// A key and its hash, which the filters of all layers share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashed<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl<'a> Hashed<'a> {
    /// Hashes a key. A read does so each time: eight bytes a step, and no more than that.
    pub(crate) fn new(bytes: &'a [u8]) -> Hashed<'a> {
        let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
        let (words, rest) = bytes.as_chunks();
        let hash = words.iter().fold(FACTOR, |hash, word| add(hash, u64::from_le_bytes(*word)));
        let rest = rest.iter().fold(1, |word, byte| word << 8 | u64::from(*byte));
        let hash = add(hash, rest);
        // The upper bits of a product depend on all bits, the lower ones only on the bits below them.
        Hashed { bytes, hash: (hash ^ hash >> 32).wrapping_mul(FACTOR) }
    }
}

/// An odd number whose bits have no pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which keys a layer may have. It says no only if the key was never added.
#[derive(Debug)]
struct Filter(Box<[AtomicU64]>);

/// The words of a filter: a million bits, for a hundred thousand keys.
const WORDS: usize = 1 << 14;

impl Default for Filter {
    fn default() -> Filter {
        Filter((0..WORDS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Filter {
    // A layer is handed to readers through a lock, which orders these before their reads.
    fn add(&self, hash: u64) {
        for (word, bit) in places(hash) {
            if let Some(word) = self.0.get(word) {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn may_have(&self, hash: u64) -> bool {
        let has = |(word, bit)| {
            self.0.get(word).is_none_or(|word: &AtomicU64| word.load(Ordering::Relaxed) & bit != 0)
        };
        places(hash).into_iter().all(has)
    }
}

/// The two bits of a hash: the word and the bit in it of each.
fn places(hash: u64) -> [(usize, u64); 2] {
    [hash >> 40, hash >> 16].map(|hash| {
        let [low, high, bit, ..] = hash.to_le_bytes();
        let word = usize::from(u16::from_le_bytes([low, high])) % WORDS;
        (word, 1 << (bit % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn layer(changes: &[(u8, Option<u8>)]) -> Layer {
        let mut layer = Layer::default();
        for (key, change) in changes {
            let change = change.map(|value| Bytes::from([value]));
            layer.insert(Bytes::from([*key]), change);
        }
        layer
    }

    fn hashed(key: &u8) -> Hashed<'_> {
        Hashed::new(std::slice::from_ref(key))
    }

    fn changes() -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
        prop::collection::vec((0u8..20, prop::option::of(any::<u8>())), 0..20)
    }

    proptest! {
        #[test]
        fn two_layers_are_as_one_map(
            newer in changes(), older in changes(), from in 0u8..22, to in 0u8..22, backwards: bool,
        ) {
            let expected: BTreeMap<u8, Option<u8>> = older.iter().chain(&newer).copied().collect();
            let (newer, older) = (layer(&newer), layer(&older));
            for (key, change) in &expected {
                let found = newer.get(hashed(key)).or(older.get(hashed(key))).unwrap();
                prop_assert_eq!(found.as_deref(), change.as_ref().map(std::slice::from_ref));
            }
            prop_assert!(newer.get(hashed(&99)).is_none());
            let mut expected: Vec<_> =
                expected.into_iter().filter(|(key, _)| (from..to).contains(key)).collect();
            if backwards {
                expected.reverse();
            }
            if from <= to {
                let range = vec![from]..vec![to];
                let merged: Vec<_> = Merged::new(&newer, Some(&older), &range, backwards)
                    .map(|(key, change)| (key[0], change.map(|change| change[0])))
                    .collect();
                prop_assert_eq!(merged, expected);
            }
        }

        #[test]
        fn a_filter_forgets_no_key(keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..50)) {
            let filter = Filter::default();
            keys.iter().for_each(|key| filter.add(Hashed::new(key).hash));
            prop_assert!(keys.iter().all(|key| filter.may_have(Hashed::new(key).hash)));
        }
    }

    /// Keys like those of a store, as many as a journal holds and as many others: few of the others pass for one.
    #[test]
    fn a_filter_keeps_other_keys_out() {
        let filter = Filter::default();
        let key = |nth: u32| format!("\0\u{1}EVENT#{nth:06}\0\u{1}#META");
        (0..40_000).for_each(|nth| filter.add(Hashed::new(key(nth).as_bytes()).hash));
        let passed =
            (40_000..80_000).filter(|nth| filter.may_have(Hashed::new(key(*nth).as_bytes()).hash));
        // Two bits of a million, 80,000 of which are set: one of 180 keys, were the bits drawn by chance.
        let passed = passed.count();
        assert!(passed < 500, "{passed} keys pass");
    }

    #[test]
    fn a_copy_stays_as_it_was() {
        let mut layer = layer(&[(1, Some(1))]);
        let copy = layer.clone();
        layer.insert(Bytes::from([1]), None);
        layer.insert(Bytes::from([2]), Some(Bytes::from([2])));
        assert_eq!((copy.iter().count(), layer.iter().count()), (1, 2));
        assert_eq!(copy.get(hashed(&1)).unwrap().as_deref(), Some([1].as_slice()));
        assert_eq!(layer.get(hashed(&1)), Some(&None));
    }
}
