//! The contract language: from the Markdown of a system document to its syntax tree.
//!
//! No I/O, and no panic on any text. [`parse`] reads as much as it can and reports every mistake, with its place in the
//! Markdown file. The meaning of the tree is in `latchkey-model`.

pub mod ast;
mod diagnostic;
mod lex;
mod markdown;
mod names;
mod parse;
mod rule;
mod span;
mod token;

pub use diagnostic::{Diagnostic, Level};
pub use markdown::{Block, BlockKind, blocks};
pub use names::{Bindings, filled, names_in};
pub use parse::{DOCUMENT_BYTES_MAX, Parsed, parse};
pub use rule::Rule;
pub use span::{Name, Span, Spanned};
pub use token::{Comment, Mark, Token, TokenKind};
