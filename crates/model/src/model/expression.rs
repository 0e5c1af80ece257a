//! Expressions.

use latchkey_language::Span;
pub use latchkey_language::ast::BinaryOp as Op;

use crate::regular::Language;
use crate::types::Type;

/// What an expression or a binding stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A value.
    Value(Type),
    /// An item of an entity.
    Item(usize),
    /// A page of items of an entity.
    Page(usize),
    /// A test, true or false.
    Test,
    /// Something that was reported and is not asked about again.
    Unknown,
}

/// An expression whose names are resolved.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// What it stands for.
    pub of: Kind,
    /// Where it is written.
    pub span: Span,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// An input, by name.
    Input(String),
    /// A binding.
    Binding(usize),
    /// An attribute of a binding.
    Attribute(usize, String),
    /// The stored attribute.
    Stored(String),
    /// The instant of the call.
    Now,
    /// The caller's id.
    CallerId,
    /// Whether the caller owns a thing.
    Owns(Box<Expr>),
    /// Whether the caller has a role.
    HasRole(usize),
    /// A value of an enum.
    Word(String),
    /// A text.
    Text(Vec<TextPiece>),
    /// A number as it is written.
    Number(String),
    /// A span of time in milliseconds.
    Duration(u64),
    /// True or false.
    Bool(bool),
    /// A new id or key.
    New(String),
    /// Whether a thing is there.
    Present(Box<Expr>),
    /// Whether a thing is not there.
    Absent(Box<Expr>),
    /// Whether the item is as it was read.
    Unchanged,
    /// Not.
    Not(Box<Expr>),
    /// Both, either, a comparison, a sum or a difference.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// Whether a value may follow another.
    MovesTo(Box<Expr>, Box<Expr>),
    /// Whether it begins with a text.
    BeginsWith(Box<Expr>, Box<Expr>),
    /// Whether it lies between two others.
    Between(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Whether it is one of these.
    In(Box<Expr>, Vec<Expr>),
    /// Something that was reported.
    Unknown,
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub enum TextPiece {
    /// Text as it is.
    Literal(String),
    /// A value, padded to a width if one is given.
    Value(Expr, Option<usize>),
}

impl Expr {
    /// Hands the expression and all within it to a function.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Owns(a) | ExprKind::Present(a) | ExprKind::Absent(a) | ExprKind::Not(a) => {
                a.walk(visit);
            }
            ExprKind::Binary(_, a, b) | ExprKind::MovesTo(a, b) | ExprKind::BeginsWith(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            ExprKind::Between(a, b, c) => [a, b, c].into_iter().for_each(|part| part.walk(visit)),
            ExprKind::In(a, values) => {
                a.walk(visit);
                values.iter().for_each(|value| value.walk(visit));
            }
            ExprKind::Text(pieces) => {
                for piece in pieces {
                    if let TextPiece::Value(value, _) = piece {
                        value.walk(visit);
                    }
                }
            }
            _ => {}
        }
    }

    /// The texts it can become, as a key.
    pub(crate) fn language(&self) -> Language {
        match &self.kind {
            ExprKind::Text(pieces) => pieces.iter().fold(Language::default(), |language, piece| {
                language.then(match piece {
                    TextPiece::Literal(text) => Language::literal(text),
                    TextPiece::Value(value, width) => match &value.of {
                        Kind::Value(kind) => kind.language(*width),
                        _ => Language::default().then_anything(),
                    },
                })
            }),
            _ => match &self.of {
                Kind::Value(kind) => kind.language(None),
                _ => Language::default().then_anything(),
            },
        }
    }
}
