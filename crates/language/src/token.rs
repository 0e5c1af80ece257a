//! The words of the language.

use crate::Span;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A name, a keyword, an id such as `QC-01` or a slug such as `not-found`: dashes join words when
    /// nothing stands between.
    Word,
    /// Digits, perhaps with a decimal point.
    Number,
    /// Digits and a unit: `30s`.
    Duration,
    /// Text in double quotes, with its quotes.
    Text,
    /// The path of a route: a slash and what follows, to the next space.
    Path,
    /// Punctuation.
    Mark(Mark),
    /// Nothing more.
    End,
}

/// Punctuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what `symbol` says")]
pub enum Mark {
    BraceOpen,
    BraceClose,
    ParenOpen,
    ParenClose,
    /// Of a list in JSON. No declaration has one; the parser says what to write instead.
    BracketOpen,
    BracketClose,
    Comma,
    Dot,
    DotDot,
    Colon,
    Pipe,
    Question,
    Equal,
    MaybeEqual,
    EqualEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Arrow,
}

impl Mark {
    /// Every mark, longer ones before those they begin with.
    pub const ALL: [Mark; 25] = [
        Mark::DotDot,
        Mark::MaybeEqual,
        Mark::EqualEqual,
        Mark::NotEqual,
        Mark::LessOrEqual,
        Mark::GreaterOrEqual,
        Mark::Arrow,
        Mark::BraceOpen,
        Mark::BraceClose,
        Mark::ParenOpen,
        Mark::ParenClose,
        Mark::BracketOpen,
        Mark::BracketClose,
        Mark::Comma,
        Mark::Dot,
        Mark::Colon,
        Mark::Pipe,
        Mark::Question,
        Mark::Equal,
        Mark::Less,
        Mark::Greater,
        Mark::Plus,
        Mark::Minus,
        Mark::Star,
        Mark::Slash,
    ];

    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Mark::BraceOpen => "{",
            Mark::BraceClose => "}",
            Mark::ParenOpen => "(",
            Mark::ParenClose => ")",
            Mark::BracketOpen => "[",
            Mark::BracketClose => "]",
            Mark::Comma => ",",
            Mark::Dot => ".",
            Mark::DotDot => "..",
            Mark::Colon => ":",
            Mark::Pipe => "|",
            Mark::Question => "?",
            Mark::Equal => "=",
            Mark::MaybeEqual => "?=",
            Mark::EqualEqual => "==",
            Mark::NotEqual => "!=",
            Mark::Less => "<",
            Mark::LessOrEqual => "<=",
            Mark::Greater => ">",
            Mark::GreaterOrEqual => ">=",
            Mark::Plus => "+",
            Mark::Minus => "-",
            Mark::Star => "*",
            Mark::Slash => "/",
            Mark::Arrow => "->",
        }
    }
}

/// A token of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
    /// Whether it is the first of its line.
    pub first: bool,
}

/// A remark for people, from `//` to the end of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment {
    /// Where it stands.
    pub span: Span,
    /// Whether nothing stands before it on its line.
    pub first: bool,
}
