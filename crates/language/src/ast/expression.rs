//! Expressions, as they are written.

use super::{Assign, Template};
use crate::{Name, Spanned};

/// An expression and where it stands.
pub type Expr = Spanned<ExprKind>;

/// A value, or a test.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// An input, a binding, a built-in or a value of an enum.
    Name(String),
    /// `.x`: the stored attribute.
    Stored(Name),
    /// `b.x`
    Member(Box<Expr>, Name),
    /// A text, perhaps with holes.
    Text(Template),
    /// Digits, perhaps with a decimal point.
    Number(String),
    /// `30s`
    Duration(String),
    /// `f(a, b)`
    Call(Name, Vec<Expr>),
    /// `page by status`, within a call.
    By(Box<Expr>, Name),
    /// `{ a = x, b = y }`
    Object(Vec<Assign>),
    /// `new ulid`
    New(Name),
    /// `not a`
    Not(Box<Expr>),
    /// `a and b` and the like.
    Binary(Box<Expr>, Spanned<BinaryOp>, Box<Expr>),
    /// `a is absent`, `a is present`, `caller is operator`
    Is(Box<Expr>, Name),
    /// `caller owns a`
    Owns(Box<Expr>, Box<Expr>),
    /// `a moves to b`
    MovesTo(Box<Expr>, Box<Expr>),
    /// `a begins_with b`
    BeginsWith(Box<Expr>, Box<Expr>),
    /// `a between b and c`
    Between(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `a in (b, c)`
    In(Box<Expr>, Vec<Expr>),
    /// `NAME in NAME`: the items of an entity that a query of several has found; or whether a set has an element.
    Within(Name, Name),
    /// `a in b`, where `b` is a set or a list.
    ElementOf(Box<Expr>, Box<Expr>),
    /// `all x in list (test)` or `any x in list (test)`
    Every {
        /// Whether the test must hold of all elements, or else of one.
        all: bool,
        /// What each element is called.
        element: Name,
        /// The list.
        over: Box<Expr>,
        /// The test.
        test: Box<Expr>,
    },
}

/// An operator between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`, and `=` in a `where`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}
