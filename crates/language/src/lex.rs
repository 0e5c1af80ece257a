//! Splits the text of a block into tokens.

use crate::{Comment, Diagnostic, Mark, Rule, Span, Token, TokenKind};

/// The tokens of a block, with the end last; its comments; and what is no token.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads the tokens between two places of a document.
pub(crate) fn lex(document: &str, within: Span) -> Lexed {
    let mut lexer = Lexer { document, at: within.start, end: within.end, lexed: Lexed::default() };
    let mut first = true;
    while let Some(next) = lexer.peek() {
        let start = lexer.at;
        if next == '\n' {
            first = true;
            lexer.at += 1;
        } else if next.is_whitespace() {
            lexer.at += next.len_utf8();
        } else if lexer.rest().starts_with("//") {
            lexer.skip(|c| c != '\n');
            lexer.lexed.comments.push(Comment { span: Span::new(start, lexer.at), first });
        } else if let Some(kind) = lexer.token(next) {
            let span = Span::new(start, lexer.at);
            lexer.lexed.tokens.push(Token { kind, span, first });
            first = false;
        }
    }
    let end = Span::new(within.end, within.end);
    lexer.lexed.tokens.push(Token { kind: TokenKind::End, span: end, first: true });
    lexer.lexed
}

struct Lexer<'a> {
    document: &'a str,
    at: usize,
    end: usize,
    lexed: Lexed,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.document.get(self.at..self.end).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves on while the characters are of a kind.
    fn skip(&mut self, of_kind: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !of_kind(c)).unwrap_or(rest.len());
    }

    /// Reads one token, or reports a character that begins no token and skips it.
    fn token(&mut self, next: char) -> Option<TokenKind> {
        match next {
            'a'..='z' | 'A'..='Z' | '_' => Some(self.word()),
            '0'..='9' => Some(self.number()),
            '"' => Some(self.text()),
            '/' if self.is_path() => {
                self.skip(|c| !c.is_whitespace());
                Some(TokenKind::Path)
            }
            _ => self.mark(next),
        }
    }

    fn word(&mut self) -> TokenKind {
        loop {
            self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
            // A dash joins two words only if both touch it.
            match self.rest().strip_prefix('-').and_then(|rest| rest.chars().next()) {
                Some(c) if c.is_ascii_alphanumeric() || c == '_' => self.at += 1,
                _ => return TokenKind::Word,
            }
        }
    }

    fn number(&mut self) -> TokenKind {
        self.skip(|c| c.is_ascii_digit());
        if let Some(rest) = self.rest().strip_prefix('.')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            self.at += 1;
            self.skip(|c| c.is_ascii_digit());
        }
        let digits = self.at;
        self.skip(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.at > digits { TokenKind::Duration } else { TokenKind::Number }
    }

    /// A text ends at its quote or, without one, at the end of the line.
    fn text(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip(|c| !matches!(c, '"' | '\\' | '\n'));
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return TokenKind::Text;
                }
                Some('\\') => self.escape(),
                _ => {
                    let span = Span::new(start, self.at);
                    let missing =
                        Diagnostic::new(Rule::Syntax, span, "a text without its closing quote")
                            .help("end it with `\"` on the same line");
                    self.lexed.diagnostics.push(missing);
                    return TokenKind::Text;
                }
            }
        }
    }

    /// A backslash stands before a quote or another backslash, and before nothing else.
    fn escape(&mut self) {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek().filter(|c| *c != '\n') else { return };
        self.at += c.len_utf8();
        if !matches!(c, '"' | '\\') {
            let message = format!("`\\{c}` is not an escape of a text");
            let wrong = Diagnostic::new(Rule::Syntax, Span::new(start, self.at), message)
                .help(format!("write `\\\\{c}` for a backslash and `{c}`"));
            self.lexed.diagnostics.push(wrong);
        }
    }

    /// Whether a slash begins a path rather than standing for `per`, as in `100/s`.
    fn is_path(&self) -> bool {
        let before = self.document.get(..self.at).and_then(|text| text.chars().next_back());
        before.is_none_or(char::is_whitespace)
    }

    fn mark(&mut self, next: char) -> Option<TokenKind> {
        let rest = self.rest();
        if let Some(mark) = Mark::ALL.into_iter().find(|mark| rest.starts_with(mark.symbol())) {
            self.at += mark.symbol().len();
            return Some(TokenKind::Mark(mark));
        }
        let start = self.at;
        self.at += next.len_utf8();
        let span = Span::new(start, self.at);
        let message = format!("`{}` means nothing here", next.escape_debug());
        self.lexed.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message));
        None
    }
}
