//! Types, as they are written.

use super::Field;
use crate::{Name, Span, Spanned};

/// A type as it is written.
#[derive(Debug, Clone)]
pub enum Type {
    /// `id`, `text(80)`, `map(2048, 5)`, `int 0..10`, `text(64) like "…"`
    Named {
        /// The type's name.
        name: Name,
        /// What stands in parentheses.
        arguments: Vec<Spanned<String>>,
        /// The least and the greatest value.
        bounds: Option<Bounds>,
        /// The pattern it must match.
        like: Option<Name>,
    },
    /// `A | B | C`
    OneOf(Vec<Name>),
    /// `Entity.attribute`
    Of(Name, Name),
    /// `list(1..20) of TYPE [unique [by a and b]]`
    ListOf {
        /// How many elements it has, at least and at most.
        size: Spanned<Option<Bounds>>,
        /// The type of each.
        of: Box<Spanned<Type>>,
        /// What no two elements share.
        unique: Option<Unique>,
    },
    /// `set(20) of TYPE`
    SetOf {
        /// How many elements it has at most.
        most: Name,
        /// The type of each.
        of: Box<Spanned<Type>>,
    },
    /// `{ city text(80), zip text(10)? }`
    Record(Vec<Field>),
}

/// `unique`, or `unique by a and b`
#[derive(Debug, Clone)]
pub struct Unique {
    /// The members; none where the elements themselves are meant.
    pub by: Vec<Name>,
    /// Where it stands.
    pub span: Span,
}

/// `0..10`, `0..` or `..10`
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The least value, if there is one.
    pub low: Option<Spanned<String>>,
    /// The greatest value, if there is one.
    pub high: Option<Spanned<String>>,
}
