//! Which part of a partition a query reads.

use std::ops::Bound;

use crate::{Invalid, Text};

/// A range of sort keys, ordered by their UTF-8 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortRange {
    /// The whole partition.
    All,
    /// This sort key alone.
    Equal(Text),
    /// Below this.
    Less(Text),
    /// Up to this.
    LessOrEqual(Text),
    /// Above this.
    Greater(Text),
    /// From this on.
    GreaterOrEqual(Text),
    /// From the first to the second, both included.
    Between(Text, Text),
    /// All that begin with this.
    BeginsWith(Text),
}

impl SortRange {
    /// Refuses reversed bounds, and bounds no sort key can have.
    pub fn validate(&self) -> Result<(), Invalid> {
        let bounds: &[&Text] = match self {
            SortRange::All => &[],
            SortRange::Equal(text)
            | SortRange::Less(text)
            | SortRange::LessOrEqual(text)
            | SortRange::Greater(text)
            | SortRange::GreaterOrEqual(text)
            | SortRange::BeginsWith(text) => &[text],
            SortRange::Between(low, high) if low > high => return Err(Invalid::ReversedBounds),
            SortRange::Between(low, high) => &[low, high],
        };
        for bound in bounds {
            if bound.is_empty() || bound.len() > crate::limits::SORT_KEY_BYTES_MAX {
                return Err(Invalid::SortKey { bytes: bound.len() });
            }
        }
        Ok(())
    }

    /// Whether a sort key lies in the range.
    pub fn contains(&self, sort: &str) -> bool {
        match self {
            SortRange::All => true,
            SortRange::Equal(text) => sort == text,
            SortRange::Less(text) => sort < text.as_str(),
            SortRange::LessOrEqual(text) => sort <= text.as_str(),
            SortRange::Greater(text) => sort > text.as_str(),
            SortRange::GreaterOrEqual(text) => sort >= text.as_str(),
            SortRange::Between(low, high) => low.as_str() <= sort && sort <= high.as_str(),
            SortRange::BeginsWith(prefix) => sort.starts_with(prefix.as_str()),
        }
    }

    /// The range as bounds on the bytes of a sort key. A prefix ends at its successor: no byte, such
    /// as `~`, is above every text that continues it.
    pub fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        use Bound::{Excluded, Included, Unbounded};
        let bytes = |text: &Text| text.as_bytes().to_vec();
        match self {
            SortRange::All => (Unbounded, Unbounded),
            SortRange::Equal(text) => (Included(bytes(text)), Included(bytes(text))),
            SortRange::Less(text) => (Unbounded, Excluded(bytes(text))),
            SortRange::LessOrEqual(text) => (Unbounded, Included(bytes(text))),
            SortRange::Greater(text) => (Excluded(bytes(text)), Unbounded),
            SortRange::GreaterOrEqual(text) => (Included(bytes(text)), Unbounded),
            SortRange::Between(low, high) => (Included(bytes(low)), Included(bytes(high))),
            SortRange::BeginsWith(prefix) => {
                (Included(bytes(prefix)), successor(bytes(prefix)).map_or(Unbounded, Excluded))
            }
        }
    }
}

/// The least byte string above every one that begins with a prefix, if there is one.
pub fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(1) {
            prefix.push(next);
            return Some(prefix);
        }
    }
    None
}
