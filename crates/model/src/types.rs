//! The types of attributes and inputs.

use std::fmt;

use latchkey_value::{Number, id};

use crate::regular::{Atom, Bytes, Language, of_pattern};

/// What values an attribute or an input can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// 1 to 128 of `A-Z a-z 0-9 . _ : @ | -`.
    Id,
    /// 26 letters and digits that sort by the time they were made.
    Ulid,
    /// Text, perhaps of a pattern.
    Text {
        /// The most bytes; `None` for a text that is composed in the document and has no bound of its own.
        max: Option<u64>,
        /// The pattern.
        like: Option<String>,
    },
    /// A whole number.
    Int {
        /// The least.
        low: Option<i64>,
        /// The greatest.
        high: Option<i64>,
    },
    /// An exact decimal.
    Number {
        /// The least.
        low: Option<Number>,
        /// The greatest.
        high: Option<Number>,
    },
    /// A count of changes: starts at 1, moves by 1.
    Counter,
    /// True or false.
    Bool,
    /// An instant, to the millisecond.
    Time,
    /// A span of time.
    Duration,
    /// One of a few words.
    Enum(Vec<String>),
    /// A list of anything.
    List,
    /// A document of at most so many bytes and levels.
    Map {
        /// The most bytes.
        bytes: u64,
        /// The most levels.
        depth: u64,
    },
    /// 32 secret bytes.
    Key,
}

impl Type {
    /// What a value of the type becomes in a key, padded to a width if one is given.
    pub(crate) fn language(&self, width: Option<usize>) -> Language {
        let digits = Bytes::of(b'0'..=b'9');
        let signed = Bytes::of((b'0'..=b'9').chain([b'-']));
        let atoms = match self {
            Type::Id => vec![Atom::many(Bytes::that(id::is_id_byte))],
            Type::Ulid => vec![Atom::One(Bytes::that(id::is_ulid_byte)); id::ULID_BYTES],
            Type::Time => "0000-00-00T00:00:00.000Z"
                .bytes()
                .map(|byte| Atom::One(if byte == b'0' { digits } else { Bytes::of([byte]) }))
                .collect(),
            Type::Int { .. } | Type::Counter => {
                let unsigned = matches!(self, Type::Counter | Type::Int { low: Some(0..), .. });
                let bytes = if unsigned { digits } else { signed };
                let mut atoms = vec![Atom::One(bytes); width.unwrap_or(1)];
                // Longer numbers than the width are not cut.
                if !width.is_some_and(|width| self.fits_width(width)) {
                    atoms.push(Atom::any(digits));
                }
                atoms
            }
            Type::Number { .. } => vec![Atom::many(Bytes::of((b'0'..=b'9').chain(*b"-.")))],
            Type::Bool => vec![words(&["true", "false"])],
            Type::Enum(values) => vec![words(values)],
            Type::Text { like: Some(like), .. } => match of_pattern(like) {
                Ok(language) => return language,
                // The pattern has been refused; any text is allowed in its place.
                Err(_) => vec![Atom::any(Bytes::ALL)],
            },
            Type::Text { like: None, .. }
            | Type::Duration
            | Type::List
            | Type::Map { .. }
            | Type::Key => vec![Atom::any(Bytes::ALL)],
        };
        Language { atoms }
    }

    /// Whether every value of the type has at most so many digits, and no sign.
    fn fits_width(&self, width: usize) -> bool {
        match self {
            Type::Int { low: Some(0..), high: Some(high) } => high.to_string().len() <= width,
            _ => false,
        }
    }

    /// Whether a value of the type can stand where one of the other is expected.
    pub(crate) fn fits(&self, expected: &Type) -> bool {
        match (self, expected) {
            (Type::Ulid, Type::Id) => true,
            (
                Type::Int { .. } | Type::Counter,
                Type::Int { .. } | Type::Number { .. } | Type::Counter,
            ) => true,
            (Type::Number { .. }, Type::Number { .. }) => true,
            (Type::Text { .. }, Type::Text { .. }) => true,
            (Type::Id | Type::Ulid, Type::Text { .. }) => true,
            (Type::Enum(values), Type::Enum(expected)) => {
                values.iter().all(|value| expected.contains(value))
            }
            (Type::Map { .. }, Type::Map { .. }) => true,
            (found, expected) => found == expected,
        }
    }

    /// Whether two values of these types can be compared.
    pub(crate) fn compares_with(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Enum(a), Type::Enum(b)) => a.iter().any(|value| b.contains(value)),
            _ => self.fits(other) || other.fits(self),
        }
    }

    /// Whether it is a text without a pattern.
    pub(crate) fn is_any_text(&self) -> bool {
        matches!(self, Type::Text { like: None, .. })
    }

    /// Whether every value of the type can be written into a text or a key.
    pub(crate) fn has_text(&self) -> bool {
        !matches!(self, Type::List | Type::Map { .. } | Type::Key)
    }

    /// Whether values of the type have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self, Type::Bool | Type::Enum(_) | Type::List | Type::Map { .. } | Type::Key)
    }
}

/// One of a few words.
fn words(words: &[impl AsRef<str>]) -> Atom {
    Atom::Choice(words.iter().map(|word| Language::literal(word.as_ref())).collect())
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Id => f.write_str("id"),
            Type::Ulid => f.write_str("ulid"),
            Type::Text { max: None, .. } => f.write_str("a text"),
            Type::Text { max: Some(max), .. } => write!(f, "text({max})"),
            Type::Int { .. } => f.write_str("int"),
            Type::Number { .. } => f.write_str("number"),
            Type::Counter => f.write_str("counter"),
            Type::Bool => f.write_str("bool"),
            Type::Time => f.write_str("time"),
            Type::Duration => f.write_str("duration"),
            Type::Enum(values) => f.write_str(&values.join(" | ")),
            Type::List => f.write_str("list"),
            Type::Map { bytes, depth } => write!(f, "map({bytes}, {depth})"),
            Type::Key => f.write_str("key"),
        }
    }
}
