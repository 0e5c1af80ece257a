//! Keys as bytes that sort as the keys do.
//!
//! Every stored key is a two-byte *space* (a table or one of its indexes) and then a run of texts,
//! each escaped and ended by a zero byte:
//!
//! ```text
//! table   space  partition 0  sort 0
//! index   space  index-partition 0  index-sort 0  partition 0  sort 0
//! ```
//!
//! Where there is no sort key, its text is empty; where a key is a number, its text sorts as the number does.
//!
//! A zero byte within a text becomes `01 01`, a one becomes `01 02`, so the end sorts before any
//! continuation, no text is the beginning of another, and order is that of the texts' bytes.

use std::ops::Range;

use latchkey_table::{Key, Resume, SortRange, Text, successor};

/// A region of the store's one ordered map: a table's items, or the entries of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space(pub(crate) u16);

const END: u8 = 0;
const ESCAPE: u8 = 1;
const ESCAPED_END: u8 = 1;
const ESCAPED_ESCAPE: u8 = 2;

impl Space {
    /// The bytes of an item's key.
    pub(crate) fn item_key(self, key: &Key) -> Vec<u8> {
        let mut bytes = self.prefix(&key.partition, key.sort.len());
        push_text(&mut bytes, &key.sort);
        bytes
    }

    /// The bytes of an index entry: its own key, then that of its item.
    pub(crate) fn entry_key(self, index_key: (&str, &str), key: &Key) -> Vec<u8> {
        let (partition, sort) = index_key;
        let room = sort.len() + key.partition.len() + key.sort.len() + 4;
        let mut bytes = self.prefix(partition, room);
        push_text(&mut bytes, sort);
        push_text(&mut bytes, &key.partition);
        push_text(&mut bytes, &key.sort);
        bytes
    }

    /// The bytes of the item an index entry stands for, in this space of items.
    pub(crate) fn item_of_entry(self, entry: &[u8]) -> Option<Vec<u8>> {
        let mut rest = entry.get(2..)?;
        skip_text(&mut rest)?;
        skip_text(&mut rest)?;
        let mut bytes = Vec::with_capacity(2 + rest.len());
        bytes.extend_from_slice(&self.0.to_be_bytes());
        bytes.extend_from_slice(rest);
        Some(bytes)
    }

    /// The keys of a partition whose sort keys lie in a range: from the first included to the second
    /// excluded.
    pub(crate) fn span(self, partition: &str, range: &SortRange) -> Range<Vec<u8>> {
        let prefix = self.prefix(partition, 0);
        let at = |sort: &Text| {
            let mut bytes = prefix.clone();
            push_text(&mut bytes, sort);
            bytes
        };
        // Behind every key of this very sort key.
        let behind = |sort: &Text| after_prefix(at(sort));
        let first = || prefix.clone();
        let last = || after_prefix(prefix.clone());
        match range {
            SortRange::All => first()..last(),
            SortRange::Equal(sort) => at(sort)..behind(sort),
            SortRange::Less(sort) => first()..at(sort),
            SortRange::LessOrEqual(sort) => first()..behind(sort),
            SortRange::Greater(sort) => behind(sort)..last(),
            SortRange::GreaterOrEqual(sort) => at(sort)..last(),
            SortRange::Between(low, high) => at(low)..behind(high),
            SortRange::BeginsWith(start) => {
                let mut bytes = at(start);
                bytes.pop();
                bytes.clone()..after_prefix(bytes)
            }
        }
    }

    /// The keys of all partitions that begin with a prefix: from the first included to the second
    /// excluded. Bytes are escaped one by one, so a prefix of a text is a prefix of its bytes.
    pub(crate) fn partitions(self, prefix: &str) -> Range<Vec<u8>> {
        let mut bytes = self.prefix(prefix, 0);
        bytes.pop();
        bytes.clone()..after_prefix(bytes)
    }

    /// Every key of the space.
    pub(crate) fn whole(self) -> Range<Vec<u8>> {
        let bytes = self.0.to_be_bytes().to_vec();
        bytes.clone()..after_prefix(bytes)
    }

    /// The bytes of the key a query stopped at.
    pub(crate) fn resume_key(self, resume: &Resume) -> Vec<u8> {
        match &resume.index_key {
            Some(Key { partition, sort }) => self.entry_key((partition, sort), &resume.key),
            None => self.item_key(&resume.key),
        }
    }

    fn prefix(self, partition: &str, room: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + partition.len() + 1 + room + 1);
        bytes.extend_from_slice(&self.0.to_be_bytes());
        push_text(&mut bytes, partition);
        bytes
    }
}

/// The item key in the bytes of a table's key.
pub(crate) fn read_item_key(bytes: &[u8]) -> Option<Key> {
    let mut rest = bytes.get(2..)?;
    let key = Key { partition: take_text(&mut rest)?, sort: take_text(&mut rest)? };
    rest.is_empty().then_some(key)
}

/// The least bytes above all that begin with a prefix; a space is never `ff ff`, so there are some.
fn after_prefix(prefix: Vec<u8>) -> Vec<u8> {
    successor(prefix).unwrap_or_default()
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte > ESCAPE) {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        for byte in text.bytes() {
            match byte {
                END => bytes.extend_from_slice(&[ESCAPE, ESCAPED_END]),
                ESCAPE => bytes.extend_from_slice(&[ESCAPE, ESCAPED_ESCAPE]),
                byte => bytes.push(byte),
            }
        }
    }
    bytes.push(END);
}

/// The bytes of the next text, still escaped.
fn skip_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == END)?;
    let (text, tail) = rest.split_at_checked(end)?;
    *rest = tail.get(1..)?;
    Some(text)
}

fn take_text(rest: &mut &[u8]) -> Option<Text> {
    let escaped = skip_text(rest)?;
    if !escaped.contains(&ESCAPE) {
        return Text::from_utf8(escaped).ok();
    }
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut escaped = escaped.iter();
    while let Some(byte) = escaped.next() {
        bytes.push(match *byte {
            ESCAPE => match *escaped.next()? {
                ESCAPED_END => END,
                ESCAPED_ESCAPE => ESCAPE,
                _ => return None,
            },
            byte => byte,
        });
    }
    Text::from_utf8(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: Space = Space(7);
    const INDEX: Space = Space(8);

    fn entry_key(index_key: &Key, key: &Key) -> Vec<u8> {
        INDEX.entry_key((&index_key.partition, &index_key.sort), key)
    }

    /// Texts that often share beginnings and hold the bytes that need escaping.
    fn text() -> impl Strategy<Value = Text> {
        prop_oneof![
            "[\u{0}\u{1}\u{2}a#~é\u{10ffff}]{1,6}".prop_map(Text::from),
            ".{1,20}".prop_map(Text::from),
        ]
    }

    fn key() -> impl Strategy<Value = Key> {
        (text(), text()).prop_map(|(partition, sort)| Key { partition, sort })
    }

    fn range() -> impl Strategy<Value = SortRange> {
        prop_oneof![
            Just(SortRange::All),
            text().prop_map(SortRange::Equal),
            text().prop_map(SortRange::Less),
            text().prop_map(SortRange::LessOrEqual),
            text().prop_map(SortRange::Greater),
            text().prop_map(SortRange::GreaterOrEqual),
            text().prop_map(SortRange::BeginsWith),
            (text(), text())
                .prop_map(|(a, b)| SortRange::Between(a.clone().min(b.clone()), a.max(b))),
        ]
    }

    proptest! {
        #[test]
        fn item_keys_round_trip(key in key()) {
            prop_assert_eq!(read_item_key(&TABLE.item_key(&key)), Some(key));
        }

        #[test]
        fn bytes_sort_as_keys_do(a in key(), b in key()) {
            prop_assert_eq!(TABLE.item_key(&a).cmp(&TABLE.item_key(&b)), a.cmp(&b));
        }

        #[test]
        fn entries_sort_by_index_key_then_item_key(a in (key(), key()), b in (key(), key())) {
            let bytes = |(index_key, key): &(Key, Key)| entry_key(index_key, key);
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
        }

        #[test]
        fn an_entry_leads_to_its_item(index_key in key(), key in key()) {
            let entry = entry_key(&index_key, &key);
            prop_assert_eq!(TABLE.item_of_entry(&entry), Some(TABLE.item_key(&key)));
        }

        #[test]
        fn a_span_holds_just_the_range(key in key(), item in key(), other in text(), range in range()) {
            for partition in [&key.partition, &other] {
                let expected = *partition == key.partition && range.contains(&key.sort);
                let span = TABLE.span(partition, &range);
                prop_assert_eq!(span.contains(&TABLE.item_key(&key)), expected);
                let span = INDEX.span(partition, &range);
                prop_assert_eq!(span.contains(&entry_key(&key, &item)), expected);
            }
            prop_assert!(TABLE.whole().contains(&TABLE.item_key(&key)));
            prop_assert!(!INDEX.whole().contains(&TABLE.item_key(&key)));
        }

        #[test]
        fn partitions_are_those_that_begin_so(key in key(), other in text(), cut in 0usize..8) {
            let own: String = key.partition.chars().take(cut).collect();
            for prefix in [own.as_str(), other.as_str()] {
                let expected = key.partition.starts_with(prefix);
                prop_assert_eq!(TABLE.partitions(prefix).contains(&TABLE.item_key(&key)), expected);
                prop_assert!(!INDEX.partitions(prefix).contains(&TABLE.item_key(&key)));
            }
            prop_assert_eq!(TABLE.partitions(""), TABLE.whole());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(key) = read_item_key(&bytes) {
                let space = Space(u16::from_be_bytes([bytes[0], bytes[1]]));
                prop_assert_eq!(space.item_key(&key), bytes.clone());
            }
            let _ = TABLE.item_of_entry(&bytes);
        }
    }
}
