//! Inputs: what a caller may give.

use latchkey_model::Type;
use latchkey_model::model::Place;
use latchkey_table::{Number, Text, ValueType};
use regex::Regex;

use super::Code;
use super::refusal::{Planned, Unplanned};

/// An input.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) name: Text,
    pub(crate) kind: InputType,
    /// What it is stored as.
    pub(crate) value_type: ValueType,
    pub(crate) place: Place,
    pub(crate) optional: bool,
    /// Whether `null` may be given, to say that it is to be taken out or is not there.
    pub(crate) nullable: bool,
    pub(crate) default: Option<Code>,
}

/// The values an input can have.
#[derive(Debug)]
pub(crate) enum InputType {
    Id,
    Ulid,
    Text {
        bytes_max: usize,
        like: Option<(String, Regex)>,
    },
    Int {
        low: Option<i64>,
        high: Option<i64>,
    },
    Number {
        low: Option<Number>,
        high: Option<Number>,
    },
    Bool,
    Time,
    Date,
    Enum(Vec<Text>),
    List,
    Map {
        bytes_max: usize,
        levels_max: usize,
    },
    /// A list of values of one type.
    ListOf(Box<ListOf>),
    /// A set of texts.
    SetOf {
        of: Box<InputType>,
        count_max: usize,
    },
    /// Values under names of their own, in the order of the names.
    Record(Vec<Member>),
    /// Nothing a caller can give.
    Never,
}

/// A list of values of one type.
#[derive(Debug)]
pub(crate) struct ListOf {
    pub(crate) of: InputType,
    pub(crate) count_min: usize,
    pub(crate) count_max: usize,
    /// The members in which any two elements differ; none of them where the elements themselves do.
    pub(crate) unique: Option<Vec<Text>>,
}

/// A member of a record.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Text,
    pub(crate) kind: InputType,
    pub(crate) optional: bool,
}

impl InputType {
    pub(super) fn plan(kind: &Type) -> Planned<InputType> {
        let size = |n: u64| usize::try_from(n).map_err(|_| Unplanned::new("no text is that long"));
        Ok(match kind {
            Type::Id => InputType::Id,
            Type::Ulid => InputType::Ulid,
            Type::Text { max, like } => InputType::Text {
                bytes_max: size(max.ok_or_else(|| Unplanned::new("a text has no bound"))?)?,
                like: like.as_ref().map(|pattern| compiled(pattern)).transpose()?,
            },
            Type::Int { low, high } => InputType::Int { low: *low, high: *high },
            Type::Counter => InputType::Int { low: Some(1), high: None },
            Type::Number { low, high } => InputType::Number { low: *low, high: *high },
            Type::Bool => InputType::Bool,
            Type::Time => InputType::Time,
            Type::Date => InputType::Date,
            Type::Enum(values) => {
                InputType::Enum(values.iter().map(|value| value.as_str().into()).collect())
            }
            Type::List => InputType::List,
            Type::Map { bytes, depth } => {
                InputType::Map { bytes_max: size(*bytes)?, levels_max: size(*depth)? }
            }
            Type::ListOf(list) => InputType::ListOf(Box::new(ListOf {
                of: InputType::plan(&list.of)?,
                count_min: size(list.low)?,
                count_max: size(list.high)?,
                unique: list
                    .unique
                    .as_ref()
                    .map(|by| by.iter().map(|name| name.as_str().into()).collect()),
            })),
            Type::SetOf { of, most } => {
                InputType::SetOf { of: Box::new(InputType::plan(of)?), count_max: size(*most)? }
            }
            Type::Record(members) => {
                let mut planned = Vec::with_capacity(members.len());
                for member in members {
                    planned.push(Member {
                        name: member.name.as_str().into(),
                        kind: InputType::plan(&member.kind)?,
                        optional: member.optional,
                    });
                }
                planned.sort_by(|a, b| a.name.cmp(&b.name));
                InputType::Record(planned)
            }
            Type::Duration | Type::Months | Type::Key => InputType::Never,
        })
    }
}

/// A pattern, with the text it was written as.
fn compiled(pattern: &str) -> Planned<(String, Regex)> {
    let regex = latchkey_model::pattern(pattern);
    let regex = regex.map_err(|_| Unplanned::new(format!("`{pattern}` is not a pattern")))?;
    Ok((pattern.to_owned(), regex))
}
