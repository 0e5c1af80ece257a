//! Requests to the table, as they are written.

use super::{Bounds, Else, Expr};
use crate::{Name, Spanned};

/// A request to the table.
#[derive(Debug, Clone)]
pub struct Operation {
    /// What it does.
    pub verb: Spanned<Verb>,
    /// The entity it is on, or a binding of one.
    pub target: Name,
    /// The other entities of a query.
    pub also: Vec<Name>,
    /// `(a = x, b)`: attributes of the key.
    pub key: Vec<Assign>,
    /// `of b`: where the other attributes come from.
    pub of: Option<Name>,
    /// What follows, in order.
    pub clauses: Vec<Clause>,
    /// `else absent …`: what happens if its item is not there.
    pub absent: Option<Box<Else>>,
    /// What happens if it is refused or finds nothing.
    pub otherwise: Option<Else>,
}

/// `the ENTITY in NAME`: the one item of an entity that a query of several has found.
#[derive(Debug, Clone)]
pub struct Pick {
    /// The entity.
    pub entity: Name,
    /// What the query has found.
    pub of: Name,
    /// What happens if it is not there.
    pub otherwise: Option<Else>,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reads one item.
    Get,
    /// Reads a range.
    Query,
    /// Writes a whole item.
    Put,
    /// Changes an item that is there.
    Update,
    /// Changes an item, or makes it.
    Upsert,
    /// Removes an item.
    Delete,
    /// Requires something of an item.
    Check,
}

/// A part of an operation.
pub type Clause = Spanned<ClauseKind>;

/// What a part of an operation says.
#[derive(Debug, Clone)]
pub enum ClauseKind {
    /// `strong [when CONDITION]`
    Strong(Option<Expr>),
    /// `snapshot`
    Snapshot,
    /// `shard in 0..15`
    Through(Name, Bounds),
    /// `for NAME in LIST`
    For(Name, Expr),
    /// `by INDEX`
    By(Name),
    /// `where CONDITION`
    Where(Expr),
    /// `order ascending` or `order descending [when CONDITION]`
    Order {
        /// Whether the highest comes first.
        descending: bool,
        /// The condition for that; the other way otherwise.
        when: Option<Expr>,
    },
    /// `page N [max M] [as NAME]`
    Page {
        /// How many unless the caller says.
        size: Spanned<String>,
        /// The most the caller may ask for.
        max: Option<Spanned<String>>,
        /// What the caller asks by, unless that is `pageSize`.
        asked: Option<Name>,
    },
    /// `first N`
    First(Spanned<String>),
    /// `keep CONDITION`
    Keep(Expr),
    /// `reading N`
    Reading(Spanned<String>),
    /// `{ a, b = x }`
    Fields(Vec<Assign>),
    /// `set a = x, b ?= y`
    Set(Vec<Assign>),
    /// `remove a, b.c, d = x`
    Remove(Vec<Removal>),
    /// `add a = 1`
    Add(Vec<Assign>),
    /// `replace`
    Replace,
    /// `if absent`
    IfAbsent,
    /// `if CONDITION`
    If(Expr),
}

/// What a `remove` takes out: an attribute, a member within it, or an element of a set.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The attribute.
    pub name: Name,
    /// The members that lead to what is taken out of it.
    pub within: Vec<Name>,
    /// The element to take out of a set.
    pub element: Option<Expr>,
}

/// `a = x`, `a ?= x`, `a.b = x`, or `a` for `a = a`.
#[derive(Debug, Clone)]
pub struct Assign {
    /// The attribute.
    pub name: Name,
    /// The members that lead from the attribute to what is set; only in a `set`.
    pub within: Vec<Name>,
    /// Its value.
    pub value: Expr,
    /// Whether it is left alone when the value is absent.
    pub maybe: bool,
}
