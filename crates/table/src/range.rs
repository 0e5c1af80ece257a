//! Which part of a partition a query reads.

use crate::{Direction, Invalid, KeyText, Text, validate};

/// A range of sort keys, ordered by their UTF-8 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortRange<T = Text> {
    /// The whole partition.
    All,
    /// This sort key alone.
    Equal(T),
    /// Below this.
    Less(T),
    /// Up to this.
    LessOrEqual(T),
    /// Above this.
    Greater(T),
    /// From this on.
    GreaterOrEqual(T),
    /// From the first to the second, both included.
    Between(T, T),
    /// All that begin with this.
    BeginsWith(T),
}

impl<T: KeyText> SortRange<T> {
    /// Refuses reversed bounds, and bounds no sort key of texts can have.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_order()?;
        self.bounds().into_iter().try_for_each(|bound| validate::sort(bound))
    }

    /// Refuses reversed bounds.
    pub(crate) fn validate_order(&self) -> Result<(), Invalid> {
        match self {
            SortRange::Between(low, high) if low > high => Err(Invalid::ReversedBounds),
            _ => Ok(()),
        }
    }

    /// What it is bounded by.
    pub(crate) fn bounds(&self) -> Vec<&T> {
        match self {
            SortRange::All => Vec::new(),
            SortRange::Equal(text)
            | SortRange::Less(text)
            | SortRange::LessOrEqual(text)
            | SortRange::Greater(text)
            | SortRange::GreaterOrEqual(text)
            | SortRange::BeginsWith(text) => vec![text],
            SortRange::Between(low, high) => vec![low, high],
        }
    }
}

impl SortRange {
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
}

impl SortRange {
    /// Whether a sort key is the last that lies in the range, or behind it, from the end that a query starts from.
    pub fn ends_at(&self, sort: &str, direction: Direction) -> bool {
        let last = match (self, direction) {
            (SortRange::Equal(text), _) => Some(text),
            (
                SortRange::Less(high) | SortRange::LessOrEqual(high) | SortRange::Between(_, high),
                Direction::Ascending,
            ) => Some(high),
            (
                SortRange::Greater(low)
                | SortRange::GreaterOrEqual(low)
                | SortRange::Between(low, _),
                Direction::Descending,
            ) => Some(low),
            _ => None,
        };
        last.is_some_and(|last| match direction {
            Direction::Ascending => sort >= last.as_str(),
            Direction::Descending => sort <= last.as_str(),
        })
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_ends_at_its_bound() {
        use Direction::{Ascending, Descending};
        use SortRange::{
            All, BeginsWith, Between, Equal, Greater, GreaterOrEqual, Less, LessOrEqual,
        };
        let (b, d) = (|| Text::from("b"), || Text::from("d"));
        // What ends at `a`, `b`, `c`, `d` and `e`, upwards and downwards.
        let cases = [
            (All, "", ""),
            (BeginsWith(b()), "", ""),
            (Equal(b()), "bcde", "ab"),
            (Less(d()), "de", ""),
            (LessOrEqual(d()), "de", ""),
            (Greater(b()), "", "ab"),
            (GreaterOrEqual(b()), "", "ab"),
            (Between(b(), d()), "de", "ab"),
        ];
        for (range, up, down) in cases {
            for (direction, expected) in [(Ascending, up), (Descending, down)] {
                let ends = |sort: &&str| range.ends_at(sort, direction);
                let found: String = ["a", "b", "c", "d", "e"].into_iter().filter(ends).collect();
                assert_eq!(found, expected, "{range:?} {direction:?}");
            }
        }
    }

    #[test]
    fn a_prefix_ends_at_its_successor() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"a", Some(b"b")),
            (b"a~", Some(b"a\x7f")),
            (b"a\xff", Some(b"b")),
            (b"a\xfe\xff\xff", Some(b"a\xff")),
            (b"\xff\xff", None),
            (b"", None),
        ];
        for (prefix, next) in cases {
            assert_eq!(successor(prefix.to_vec()).as_deref(), next, "{prefix:?}");
        }
    }

    #[test]
    fn ranges_hold_what_their_names_say() {
        use SortRange::{BeginsWith, Between, Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        let cases = [
            (SortRange::All, "a b ba bé c"),
            (Equal("b".into()), "b"),
            (Less("b".into()), "a"),
            (LessOrEqual("b".into()), "a b"),
            (Greater("b".into()), "ba bé c"),
            (GreaterOrEqual("b".into()), "b ba bé c"),
            (Between("b".into(), "ba".into()), "b ba"),
            (Between("b".into(), "b".into()), "b"),
            (BeginsWith("b".into()), "b ba bé"),
        ];
        for (range, expected) in cases {
            let held = ["a", "b", "ba", "bé", "c"].into_iter().filter(|sort| range.contains(sort));
            assert_eq!(held.collect::<Vec<_>>().join(" "), expected, "{range:?}");
            assert_eq!(range.validate(), Ok(()));
        }
    }

    #[test]
    fn bounds_no_sort_key_can_have_are_refused() {
        let text = |bytes: usize| Text::from("x".repeat(bytes));
        let one: [fn(Text) -> SortRange; 6] = [
            SortRange::Equal,
            SortRange::Less,
            SortRange::LessOrEqual,
            SortRange::Greater,
            SortRange::GreaterOrEqual,
            SortRange::BeginsWith,
        ];
        for range in one {
            assert_eq!(range(text(1024)).validate(), Ok(()));
            assert_eq!(range(text(1025)).validate(), Err(Invalid::SortKey { bytes: 1025 }));
            assert_eq!(range(text(0)).validate(), Err(Invalid::SortKey { bytes: 0 }));
        }
        let between = |low, high| SortRange::Between(low, high).validate();
        assert_eq!(between("b".into(), "a".into()), Err(Invalid::ReversedBounds));
        assert_eq!(between("".into(), "a".into()), Err(Invalid::SortKey { bytes: 0 }));
        assert_eq!(between("a".into(), text(1025)), Err(Invalid::SortKey { bytes: 1025 }));
    }

    proptest! {
        #[test]
        fn nothing_lies_between_a_prefix_and_its_successor_but_what_continues_it(
            prefix in proptest::collection::vec(prop_oneof![Just(0xff), any::<u8>()], 0..4),
            bytes in proptest::collection::vec(prop_oneof![Just(0xff), any::<u8>()], 0..5),
        ) {
            let below = successor(prefix.clone()).is_none_or(|next| bytes < next);
            prop_assert_eq!(bytes >= prefix && below, bytes.starts_with(&prefix));
        }
    }
}
