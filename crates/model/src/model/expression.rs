//! Expressions.

use latchkey_language::Span;
pub use latchkey_language::ast::BinaryOp as Op;
use latchkey_value::{Format, Number, Rounding};

use super::{BindingId, EntityId, InputId, RoleId};
use crate::regular::Language;
use crate::types::Type;

/// The value of an expression or a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A value.
    Value(Type),
    /// An item of an entity.
    Item(EntityId),
    /// A page of items of an entity, or those of a batch.
    Page(EntityId),
    /// Items of several entities, which one query has found.
    Collection(Vec<EntityId>),
    /// A test, true or false.
    Test,
    /// Values under names of their own, to be shown.
    Object,
    /// A fraction that was drawn: it compares with a number, exactly, and is nothing else.
    Draw,
    /// Something that was reported and is not asked about again.
    Unknown,
}

impl Kind {
    /// The entity of an item.
    pub fn item(&self) -> Option<EntityId> {
        match self {
            Kind::Item(entity) => Some(*entity),
            _ => None,
        }
    }

    /// The entity of an item, or of the items of a page.
    pub fn entity(&self) -> Option<EntityId> {
        match self {
            Kind::Item(entity) | Kind::Page(entity) => Some(*entity),
            _ => None,
        }
    }

    /// The entities of an item or of several items.
    pub fn entities(&self) -> &[EntityId] {
        match self {
            Kind::Item(entity) | Kind::Page(entity) => std::slice::from_ref(entity),
            Kind::Collection(entities) => entities,
            Kind::Value(_) | Kind::Test | Kind::Object | Kind::Draw | Kind::Unknown => &[],
        }
    }
}

/// An expression whose names are resolved.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its value.
    pub of: Kind,
    /// Where it is written.
    pub span: Span,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// An input.
    Input(InputId),
    /// A binding.
    Binding(BindingId),
    /// An attribute of a binding.
    Attribute(BindingId, String),
    /// The stored attribute.
    Stored(String),
    /// The number of the partition that is read, of several; by its name.
    Through(String),
    /// A member of a record.
    Member(Box<Expr>, String),
    /// Whether a set or a list has a value as an element.
    Contains(Box<Expr>, Box<Expr>),
    /// No value: what is given it is taken out.
    Nothing,
    /// Whether a test holds of all elements of a list, or of one.
    Every {
        /// Whether it must hold of all.
        all: bool,
        /// The list.
        over: Box<Expr>,
        /// The binding of the element within the test.
        element: BindingId,
        /// The test.
        test: Box<Expr>,
    },
    /// How many elements a list or a set has.
    Size(Box<Expr>),
    /// The sum of the elements of a list, or of a member of each; one without it counts as 0.
    Total(Box<Expr>, Option<String>),
    /// The instant of the call.
    Now,
    /// The caller's id.
    CallerId,
    /// Whether the caller owns a thing.
    Owns(Box<Expr>),
    /// Whether the caller has a role.
    HasRole(RoleId),
    /// A value of an enum.
    Word(String),
    /// A text.
    Text(Vec<TextPiece>),
    /// A number.
    Number(Number),
    /// A span of time in milliseconds.
    Duration(u64),
    /// So many months.
    Months(u32),
    /// True or false.
    Bool(bool),
    /// A new id or key.
    New(New),
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
    /// A fact about a message or a send, such as its time.
    Told(Told),
    /// Into which of so many shards a value falls.
    Shard(Box<Expr>, u64),
    /// What is drawn with a key for a subject: the first 8 bytes of their HMAC-SHA256, as a fraction of 2^64.
    /// It stands on one side of a comparison with a number, and nowhere else.
    Draw(Box<Expr>, Box<Expr>),
    /// The SHA-256 of a key, in 64 hexadecimal digits.
    Commitment(Box<Expr>),
    /// A key, in 64 hexadecimal digits: no longer a secret.
    Reveal(Box<Expr>),
    /// The day of an instant, in UTC.
    Day(Box<Expr>),
    /// A number, or the quotient of two, rounded to so many places.
    Rounded(Rounding, Box<Expr>, Option<Box<Expr>>, u8),
    /// The greatest of these.
    Greatest(Vec<Expr>),
    /// The first of several of which all parts are there; the last always is.
    Coalesce(Vec<Expr>),
    /// The least of these.
    Least(Vec<Expr>),
    /// How many items a binding holds.
    Count(BindingId),
    /// How many items of a binding have each value of an attribute, all its values among them.
    CountBy(BindingId, String, Vec<String>),
    /// The sum of an attribute over the items of a binding; one without it counts as 0.
    Sum(BindingId, String),
    /// Values under names of their own.
    Object(Vec<(String, Expr)>),
    /// Something that was reported.
    Unknown,
}

/// What `new` makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum New {
    /// An id that sorts by the time it was made.
    Ulid,
    /// 32 secret bytes.
    Key,
}

impl New {
    /// The word it is written with.
    pub fn word(self) -> &'static str {
        match self {
            New::Ulid => "ulid",
            New::Key => "key",
        }
    }
}

/// A fact about a message or a send, such as its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// `message.sentAt`: when the message was sent.
    MessageSentAt,
    /// `message.tries`: which try this is, from 1.
    MessageTries,
    /// `sent.at`: when the queue took it.
    SentAt,
    /// `failure.class`: how the last try failed.
    FailureClass,
    /// `failure.code`: its name.
    FailureCode,
    /// `failure.message`: the text for a person.
    FailureMessage,
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub enum TextPiece {
    /// Text as it is.
    Literal(String),
    /// A value, in a form of its own if one is given.
    Value(Expr, Option<Format>),
}

impl Expr {
    /// Hands the expression and all within it to a function.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Owns(a)
            | ExprKind::Present(a)
            | ExprKind::Absent(a)
            | ExprKind::Not(a)
            | ExprKind::Shard(a, _)
            | ExprKind::Day(a)
            | ExprKind::Member(a, _)
            | ExprKind::Size(a)
            | ExprKind::Total(a, _)
            | ExprKind::Commitment(a)
            | ExprKind::Reveal(a) => a.walk(visit),
            ExprKind::Binary(_, a, b)
            | ExprKind::MovesTo(a, b)
            | ExprKind::BeginsWith(a, b)
            | ExprKind::Contains(a, b)
            | ExprKind::Every { over: a, test: b, .. }
            | ExprKind::Draw(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            ExprKind::Rounded(_, a, by, _) => {
                a.walk(visit);
                by.iter().for_each(|by| by.walk(visit));
            }
            ExprKind::Greatest(all) | ExprKind::Least(all) | ExprKind::Coalesce(all) => {
                all.iter().for_each(|one| one.walk(visit));
            }
            ExprKind::Object(members) => {
                members.iter().for_each(|(_, value)| value.walk(visit));
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

    /// The stored attribute that it is, or that the record is in of which it is a member.
    pub fn stored_root(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Stored(name) => Some(name),
            ExprKind::Member(record, _) => record.stored_root(),
            _ => None,
        }
    }

    /// The binding that it is, where that is a result of several items.
    pub fn result(&self) -> Option<BindingId> {
        match (&self.kind, &self.of) {
            (ExprKind::Binding(id), Kind::Page(_)) => Some(*id),
            _ => None,
        }
    }

    /// The texts it can become, as a key.
    pub(crate) fn language(&self) -> Language {
        match &self.kind {
            ExprKind::Text(pieces) => pieces.iter().fold(Language::default(), |language, piece| {
                language.then(match piece {
                    TextPiece::Literal(text) => Language::literal(text),
                    TextPiece::Value(value, format) => match &value.of {
                        Kind::Value(kind) => kind.language(*format),
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
