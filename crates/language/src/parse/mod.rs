//! Builds the syntax tree from tokens, by recursive descent.
//!
//! After a mistake, the parser reports it and skips to the next line that begins a statement, or to the brace that ends
//! the block. It then reads on, so that one run reports all mistakes.

mod contract;
mod demo;
mod entity;
mod example;
mod expression;
mod invariant;
mod operation;
mod queue;
mod recover;
mod table;
mod template;
mod types;

use std::ops::RangeInclusive;

use recover::Resume;

use crate::ast::{Document, Item, Role};
use crate::lex::lex;
use crate::markdown::{BlockKind, Misspelt, scan};
use crate::{Diagnostic, Mark, Name, Rule, Span, Spanned, Token, TokenKind};

/// How deep blocks and expressions may be nested.
const DEPTH_MAX: usize = 64;

/// How many mistakes of syntax are reported; after that many, the rest is likely noise.
const DIAGNOSTICS_MAX: usize = 100;

/// The largest document: a bound for memory, far above what anyone would read.
pub const DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A document as far as it could be read, and its mistakes of syntax.
#[derive(Debug, Default)]
pub struct Parsed {
    /// What could be read.
    pub document: Document,
    /// The mistakes of syntax, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a system document.
///
/// ```
/// let parsed = latchkey_language::parse("# Doors\n```contract\nsystem doors\n```\n");
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.document.items.len(), 1);
/// ```
pub fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    if text.len() > DOCUMENT_BYTES_MAX {
        let message = format!("a document of more than {DOCUMENT_BYTES_MAX} bytes");
        parsed.diagnostics.push(Diagnostic::new(Rule::Syntax, Span::new(0, 0), message));
        return parsed;
    }
    let (blocks, misspelt) = scan(text);
    for Misspelt { opening, meant } in misspelt {
        let message = "a block that is not read";
        let help = format!("did you mean `{meant}`?");
        parsed.diagnostics.push(Diagnostic::new(Rule::Syntax, opening, message).help(help));
    }
    for block in blocks {
        if !block.closed {
            let open = Diagnostic::new(Rule::Syntax, block.opening, "a block that is never closed")
                .help("end it with a fence of its own, such as ```");
            parsed.diagnostics.push(open);
        }
        match block.kind {
            BlockKind::Contract => {
                let lexed = lex(text, block.text);
                parsed.document.comments.extend(lexed.comments);
                parsed.diagnostics.extend(lexed.diagnostics);
                let mut parser = Parser::new(text, lexed.tokens);
                parser.items(&mut parsed.document.items);
                parsed.diagnostics.extend(parser.diagnostics);
            }
            BlockKind::Example => {
                let (example, diagnostics) = example::parse(text, block.text);
                parsed.document.examples.push(example);
                parsed.diagnostics.extend(diagnostics);
            }
            BlockKind::Demo => {
                let (demo, diagnostics) = demo::parse(text, block.text);
                parsed.document.demos.push(demo);
                parsed.diagnostics.extend(diagnostics);
            }
        }
    }
    parsed.diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    parsed.diagnostics.truncate(DIAGNOSTICS_MAX);
    parsed
}

/// The error of a parser function: the mistake is already reported, and the rest of the statement is skipped.
pub(crate) struct Unreadable;

pub(crate) type Read<T> = Result<T, Unreadable>;

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// How many expressions are being read, each within the one before.
    expressions: usize,
    /// How many terms the outermost of them has so far.
    terms: usize,
    /// Whether `=` fixes a key here.
    in_where: bool,
    /// How far the declaration that is being read is indented.
    margin: usize,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    /// A parser of tokens, the last of which is the end.
    fn new(text: &'a str, tokens: Vec<Token>) -> Parser<'a> {
        Parser {
            text,
            tokens,
            at: 0,
            depth: 0,
            expressions: 0,
            terms: 0,
            in_where: false,
            margin: 0,
            diagnostics: Vec::new(),
        }
    }

    fn items(&mut self, items: &mut Vec<Item>) {
        while !self.at_end() {
            let before = self.at;
            self.margin = self.column();
            match self.item() {
                Ok(item) => items.push(item),
                Err(Unreadable) => self.skip_to(Resume::Declaration),
            }
            // Whatever happens, it goes on.
            if self.at == before {
                self.advance();
            }
        }
    }

    fn item(&mut self) -> Read<Item> {
        if self.eat_word("system") {
            Ok(Item::System(self.name("the system's name")?))
        } else if self.is_word("table") {
            self.table().map(Item::Table)
        } else if self.eat_word("role") {
            let name = self.name("the role's name")?;
            let implies = if self.eat_word("implies") { Some(self.name("a role")?) } else { None };
            Ok(Item::Role(Role { name, implies }))
        } else if self.is_word("entity") {
            self.entity().map(Item::Entity)
        } else if self.is_word("contract") {
            self.contract("the contract's").map(Item::Contract)
        } else if self.is_word("worker") {
            self.contract("the worker's").map(Item::Worker)
        } else if self.is_word("queue") {
            self.queue().map(Item::Queue)
        } else if self.is_word("steps") {
            self.declared_steps().map(Item::Steps)
        } else if self.is_word("invariant") {
            self.invariant().map(Item::Invariant)
        } else {
            let span = self.token().span;
            let message = format!("`{}` begins no declaration", self.slice(span));
            let help = "a declaration begins with `system`, `table`, `role`, `entity`, `contract`, `queue`, \
                        `worker`, `steps` or `invariant`";
            self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
            Err(Unreadable)
        }
    }

    // The tokens.

    fn token(&self) -> Token {
        let end = Span::new(self.text.len(), self.text.len());
        let nothing = Token { kind: TokenKind::End, span: end, first: true };
        self.tokens.get(self.at).or(self.tokens.last()).copied().unwrap_or(nothing)
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn peek_after(&self) -> TokenKind {
        self.tokens.get(self.at + 1).map_or(TokenKind::End, |token| token.kind)
    }

    fn at_end(&self) -> bool {
        self.token().kind == TokenKind::End
    }

    /// The span of the token read last.
    fn last_span(&self) -> Span {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        last.map_or(self.token().span, |token| token.span)
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    fn is_word(&self, word: &str) -> bool {
        let token = self.token();
        token.kind == TokenKind::Word && self.slice(token.span) == word
    }

    fn is_mark(&self, mark: Mark) -> bool {
        self.token().kind == TokenKind::Mark(mark)
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn eat_mark(&mut self, mark: Mark) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.advance();
        }
        found
    }

    // What must come next.

    fn word(&mut self, word: &str) -> Read<Span> {
        if self.is_word(word) {
            Ok(self.advance().span)
        } else {
            Err(self.expected(&format!("`{word}`")))
        }
    }

    fn mark(&mut self, mark: Mark) -> Read<Span> {
        if self.is_mark(mark) {
            Ok(self.advance().span)
        } else {
            Err(self.expected(&format!("`{}`", mark.symbol())))
        }
    }

    /// A token of a kind, as text.
    fn kind(&mut self, kind: TokenKind, what: &str) -> Read<Name> {
        if self.token().kind == kind {
            let span = self.advance().span;
            Ok(Spanned::new(self.slice(span).to_owned(), span))
        } else {
            Err(self.expected(what))
        }
    }

    /// An id or a slug: a word, dashes and all.
    fn slug(&mut self, what: &str) -> Read<Name> {
        self.kind(TokenKind::Word, what)
    }

    /// A name: a word without dashes. One with dashes is reported, and read on as the name it could have been.
    fn name(&mut self, what: &str) -> Read<Name> {
        let name = self.slug(what)?;
        Ok(self.undashed(name))
    }

    /// A word as a name.
    fn undashed(&mut self, mut name: Name) -> Name {
        if name.node.contains('-') {
            let joined = name.node.replace('-', "_");
            self.no_name(&name.node, name.span, format!("write `{joined}`"));
            name.node = joined;
        }
        name
    }

    /// The name of an attribute or a function in an expression, where a dash may be meant to subtract. One with dashes is
    /// reported and keeps them, so that nothing is found under it.
    fn operand(&mut self, what: &str) -> Read<Name> {
        let name = self.slug(what)?;
        self.no_dash(&name);
        Ok(name)
    }

    fn no_dash(&mut self, name: &Name) {
        if name.node.contains('-') {
            let (joined, spaced) = (name.node.replace('-', "_"), name.node.replace('-', " - "));
            let help = format!("write `{joined}` for a name, or `{spaced}` to subtract");
            self.no_name(&name.node, name.span, help);
        }
    }

    fn no_name(&mut self, written: &str, span: Span, help: String) {
        let message =
            format!("`{written}` has a dash, and a name has only letters, digits and `_`");
        self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
    }

    /// A text in quotes, without holes.
    fn plain_text(&mut self, what: &str) -> Read<Name> {
        let text = self.kind(TokenKind::Text, what)?;
        Ok(Spanned::new(template::unescape(&text.node), text.span))
    }

    /// A status within a range, or a reason why it must be.
    fn status(&mut self, range: RangeInclusive<u16>, reason: &str) -> Read<Spanned<u16>> {
        let number = self.kind(TokenKind::Number, "a status such as `404`")?;
        match number.node.parse() {
            Ok(status) if range.contains(&status) => Ok(Spanned::new(status, number.span)),
            Ok(100..=599) => {
                let message = format!("`{}` cannot be the status here: {reason}", number.node);
                Err(self.error_at(number.span, message))
            }
            _ => {
                Err(self.error_at(number.span, format!("`{}` is not an HTTP status", number.node)))
            }
        }
    }

    /// Reads one thing after another, each behind a comma.
    fn commas<T>(&mut self, mut one: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.eat_mark(Mark::Comma) {
            // A comma before the end is welcome.
            if self.is_mark(Mark::BraceClose) || self.is_mark(Mark::ParenClose) {
                break;
            }
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Reads what stands between braces, one thing after another, until they close. A thing that cannot
    /// be read is skipped.
    fn braces(&mut self, resume: Resume, mut one: impl FnMut(&mut Self) -> Read<()>) -> Read<Span> {
        let open = self.mark(Mark::BraceOpen)?;
        if self.depth >= DEPTH_MAX {
            return Err(self.error_at(open, "blocks too deep in each other"));
        }
        self.depth += 1;
        let closed = loop {
            if self.is_mark(Mark::BraceClose) {
                break Some(self.advance().span);
            }
            let left = self.depth == 1 && self.begins_declaration();
            if self.at_end() || left || self.is_back_in_contract(resume) {
                break None;
            }
            let before = self.at;
            if one(self).is_err() {
                self.skip_to(resume);
            }
            // Whatever happens, it goes on.
            if self.at == before {
                self.advance();
            }
        };
        self.depth -= 1;
        match closed {
            Some(close) => Ok(open.to(close)),
            None => {
                let missing = Diagnostic::new(Rule::Syntax, open, "a brace that is never closed")
                    .label("opened here")
                    .other(self.token().span, "a `}` is missing before this");
                self.diagnostics.push(missing);
                Ok(open.to(self.last_span()))
            }
        }
    }

    // Mistakes.

    /// What stands here, and where to point: the end of a line is behind its last token.
    fn found(&self) -> (Span, String) {
        let token = self.token();
        match token.kind {
            _ if token.first && self.at > 0 => (
                self.last_span(),
                format!("the line ends behind `{}`", self.slice(self.last_span())),
            ),
            TokenKind::End => (token.span, "the block ends".to_owned()),
            _ => (token.span, format!("found `{}`", self.slice(token.span))),
        }
    }

    fn expected(&mut self, what: &str) -> Unreadable {
        let (span, found) = self.found();
        self.error_at(span, format!("expected {what}, but {found}"))
    }

    fn error_at(&mut self, span: Span, message: impl Into<String>) -> Unreadable {
        self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message));
        Unreadable
    }
}

#[cfg(test)]
mod tests;
