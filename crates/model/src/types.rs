//! The types of attributes and inputs.

use std::fmt;

use latchkey_value::time::DATE_BYTES;
use latchkey_value::{Format, Number, id};

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
    /// A day in UTC.
    Date,
    /// A span of time.
    Duration,
    /// A number of months, which are of no one length: a time or a date can be moved by them.
    Months,
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
    /// A list of values of one type.
    ListOf(Box<ListOf>),
    /// A set of texts. An empty one is not stored.
    SetOf {
        /// The type of its elements.
        of: Box<Type>,
        /// The most elements.
        most: u64,
    },
    /// Values under names of their own.
    Record(Vec<Member>),
}

/// A list of values of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOf {
    /// The type of its elements.
    pub of: Type,
    /// The fewest elements.
    pub low: u64,
    /// The most elements.
    pub high: u64,
    /// The members in which any two elements differ; none of them where the elements themselves do.
    pub unique: Option<Vec<String>>,
}

/// A member of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be absent.
    pub optional: bool,
}

impl Type {
    /// The members of a record.
    pub fn members(&self) -> &[Member] {
        match self {
            Type::Record(members) => members,
            _ => &[],
        }
    }

    /// The member of a name, if this is a record that has it.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.name == name)
    }

    /// Whether the member that names lead to, from record to record, may be absent from its own record.
    pub fn is_optional_within(&self, steps: &[String]) -> bool {
        let Some((last, records)) = steps.split_last() else { return false };
        let inner = records.iter().try_fold(self, |record, name| Some(&record.member(name)?.kind));
        inner.and_then(|record| record.member(last)).is_some_and(|member| member.optional)
    }

    /// What a value of the type becomes in a key, in a form of its own if one is given.
    pub(crate) fn language(&self, format: Option<Format>) -> Language {
        let digits = Bytes::of(b'0'..=b'9');
        let width = match format {
            None => None,
            Some(Format::Padded(width)) => Some(width),
            // The type was refused unless its numbers fit.
            Some(Format::Countdown(width)) => {
                return Language { atoms: vec![Atom::One(digits); width] };
            }
            Some(Format::Lower) => return self.language(None).in_case(|b| b.to_ascii_lowercase()),
            Some(Format::Upper) => return self.language(None).in_case(|b| b.to_ascii_uppercase()),
            Some(part) => {
                let mut whole = self.language(None);
                whole.atoms.truncate(part.prefix().unwrap_or(usize::MAX));
                return whole;
            }
        };
        let signed = Bytes::of((b'0'..=b'9').chain([b'-']));
        let atoms = match self {
            Type::Id => vec![Atom::many(Bytes::that(id::is_id_byte))],
            Type::Ulid => vec![Atom::One(Bytes::that(id::is_ulid_byte)); id::ULID_BYTES],
            Type::Time => instant(INSTANT.len()),
            Type::Date => instant(DATE_BYTES),
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
            | Type::Months
            | Type::List
            | Type::Map { .. }
            | Type::Key
            | Type::ListOf(_)
            | Type::SetOf { .. }
            | Type::Record(_) => vec![Atom::any(Bytes::ALL)],
        };
        Language { atoms }
    }

    /// What is wrong with a form of values of the type, and what to write.
    pub(crate) fn misfit(&self, format: Format) -> Option<(String, String)> {
        let fits = match format {
            Format::Padded(_) => {
                matches!(self, Type::Int { .. } | Type::Counter | Type::Number { .. })
            }
            // The greatest `int` has 19 digits.
            Format::Countdown(19..) => {
                matches!(self, Type::Counter | Type::Int { low: Some(0..), .. })
            }
            Format::Countdown(width) => self.fits_width(width),
            Format::Year | Format::Month => matches!(self, Type::Time | Type::Date),
            Format::Day | Format::Hour => matches!(self, Type::Time),
            Format::Lower | Format::Upper => {
                matches!(self, Type::Id | Type::Ulid | Type::Text { .. })
            }
        };
        let help = match format {
            _ if fits => return None,
            Format::Padded(_) => "only a number is padded: leave the width out".to_owned(),
            Format::Countdown(width) => format!(
                "count down a whole number with bounds that fit: `int 0..{}`",
                "9".repeat(width.min(18))
            ),
            Format::Day if *self == Type::Date => "a date is a day: leave the form out".to_owned(),
            Format::Year | Format::Month | Format::Day | Format::Hour => {
                "it is a part of a time, and `year` and `month` are parts of a date too".to_owned()
            }
            Format::Lower | Format::Upper => {
                "only an id or a text has letters of two cases".to_owned()
            }
        };
        Some((format!("this is {self}, which has no form `{format}`"), help))
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
            (Type::ListOf(_), Type::List) => true,
            (Type::ListOf(found), Type::ListOf(expected)) => found.of.fits(&expected.of),
            (Type::SetOf { of: found, .. }, Type::SetOf { of: expected, .. }) => {
                found.fits(expected)
            }
            (Type::Record(found), Type::Record(expected)) => records_fit(found, expected),
            (found, expected) => found == expected,
        }
    }

    /// Whether two values of these types can be compared.
    pub(crate) fn compares_with(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Enum(a), Type::Enum(b)) => a.iter().any(|value| b.contains(value)),
            (Type::Months, _) => false,
            _ => self.fits(other) || other.fits(self),
        }
    }

    /// Whether it is a text without a pattern.
    pub(crate) fn is_any_text(&self) -> bool {
        matches!(self, Type::Text { like: None, .. })
    }

    /// Whether every value of the type can be written into a text or a key.
    pub(crate) fn has_text(&self) -> bool {
        !self.is_structured() && !matches!(self, Type::Key | Type::Months)
    }

    /// Whether values of the type are made of others.
    pub fn is_structured(&self) -> bool {
        matches!(
            self,
            Type::List | Type::Map { .. } | Type::ListOf(_) | Type::SetOf { .. } | Type::Record(_)
        )
    }

    /// Whether values of the type have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.is_structured()
            && !matches!(self, Type::Bool | Type::Enum(_) | Type::Key | Type::Months)
    }
}

/// An instant as it is written; each `0` stands for a digit.
const INSTANT: &str = "0000-00-00T00:00:00.000Z";

/// The beginning of an instant.
fn instant(bytes: usize) -> Vec<Atom> {
    let digits = Bytes::of(b'0'..=b'9');
    let one = |byte| Atom::One(if byte == b'0' { digits } else { Bytes::of([byte]) });
    INSTANT.bytes().take(bytes).map(one).collect()
}

/// Whether each member of a record can stand for the member of its name in another, and none is left over.
fn records_fit(found: &[Member], expected: &[Member]) -> bool {
    let named = |all: &'_ [Member], name: &str| all.iter().position(|member| member.name == name);
    found.iter().all(|member| {
        let place = named(expected, &member.name).and_then(|at| expected.get(at));
        place.is_some_and(|place| {
            member.kind.fits(&place.kind) && (place.optional || !member.optional)
        })
    }) && expected.iter().all(|place| place.optional || named(found, &place.name).is_some())
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
            Type::Date => f.write_str("date"),
            Type::Duration => f.write_str("duration"),
            Type::Months => f.write_str("a number of months"),
            Type::Enum(values) => f.write_str(&values.join(" | ")),
            Type::List => f.write_str("list"),
            Type::Map { bytes, depth } => write!(f, "map({bytes}, {depth})"),
            Type::Key => f.write_str("key"),
            Type::ListOf(list) => write!(f, "list({}..{}) of {}", list.low, list.high, list.of),
            Type::SetOf { of, most } => write!(f, "set({most}) of {of}"),
            Type::Record(members) => {
                f.write_str("{ ")?;
                for (at, member) in members.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    let mark = if member.optional { "?" } else { "" };
                    write!(f, "{comma}{} {}{mark}", member.name, member.kind)?;
                }
                f.write_str(" }")
            }
        }
    }
}
