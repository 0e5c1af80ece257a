//! What a `like` means, the same in every build and wherever the pattern is asked.
//!
//! A `like` is a regular expression of the crate `regex`, with two differences. `\d`, `\w` and `\s` mean ASCII, as `\d`
//! and `\w` do in JSON Schema, so that a pattern is short wherever it is told. Classes of Unicode such as `\p{Greek}` are
//! refused: whether `regex` knows them depends on how a program was built.

use regex_syntax::ast::{self, Ast, ClassPerl, ClassPerlKind, ClassSetItem, Span};
use regex_syntax::hir::Hir;

/// Why a `like` is no pattern.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is no regular expression.
    Syntax(Box<regex_syntax::Error>),
    /// It cannot be compiled, for this reason.
    Compile(String),
    /// It has a class of Unicode, which is written so.
    UnicodeClass(String),
    /// Its language takes too many states.
    TooLarge,
}

impl Unreadable {
    /// What is wrong, in words.
    pub(crate) fn why(&self) -> String {
        match self {
            Unreadable::Syntax(error) => last_line(&error.to_string()),
            Unreadable::Compile(error) => last_line(error),
            Unreadable::UnicodeClass(class) => {
                format!("`{class}` is a class of Unicode, which a pattern cannot have")
            }
            Unreadable::TooLarge => "it is too large".to_owned(),
        }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Unreadable::UnicodeClass(_) => "write the characters, such as `[α-ω]`",
            Unreadable::Syntax(_) | Unreadable::Compile(_) | Unreadable::TooLarge => {
                "write a regular expression such as `[a-z]{3,64}`"
            }
        }
    }
}

/// The last line of an error, which says what is wrong; the lines above draw it.
fn last_line(error: &str) -> String {
    error.lines().last().map_or(error, str::trim).to_owned()
}

/// A `like` as the crate `regex` writes the same pattern.
pub(crate) fn written(like: &str) -> Result<String, Unreadable> {
    let syntax = |error| Unreadable::Syntax(Box::new(error));
    let ast = ast::parse::Parser::new().parse(like).map_err(|error| syntax(error.into()))?;
    let classes = ast::visit(&ast, Classes::default()).map_err(|span| {
        Unreadable::UnicodeClass(text(like, span).unwrap_or_default().to_owned())
    })?;
    let mut written = String::new();
    let mut from = 0;
    for (span, class) in classes {
        written.push_str(like.get(from..span.start.offset).unwrap_or_default());
        written.push_str(class);
        from = span.end.offset;
    }
    written.push_str(like.get(from..).unwrap_or_default());
    Ok(written)
}

/// The expression of a `like`.
pub(crate) fn hir(like: &str) -> Result<Hir, Unreadable> {
    regex_syntax::parse(&written(like)?).map_err(|error| Unreadable::Syntax(Box::new(error)))
}

fn text(like: &str, span: Span) -> Option<&str> {
    like.get(span.start.offset..span.end.offset)
}

/// Finds the classes that have a letter for their name, in the order of the text.
#[derive(Default)]
struct Classes {
    found: Vec<(Span, &'static str)>,
}

impl Classes {
    fn perl(&mut self, class: &ClassPerl) {
        // A class within brackets may have brackets of its own.
        let written = match (&class.kind, class.negated) {
            (ClassPerlKind::Digit, false) => "[0-9]",
            (ClassPerlKind::Digit, true) => "[^0-9]",
            (ClassPerlKind::Word, false) => "[0-9A-Za-z_]",
            (ClassPerlKind::Word, true) => "[^0-9A-Za-z_]",
            (ClassPerlKind::Space, false) => r"[\t-\r\x20]",
            (ClassPerlKind::Space, true) => r"[^\t-\r\x20]",
        };
        self.found.push((class.span, written));
    }
}

impl ast::Visitor for Classes {
    type Output = Vec<(Span, &'static str)>;
    type Err = Span;

    fn finish(self) -> Result<Self::Output, Span> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Span> {
        match ast {
            Ast::ClassUnicode(class) => Err(class.span),
            Ast::ClassPerl(class) => {
                self.perl(class);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Span> {
        match item {
            ClassSetItem::Unicode(class) => Err(class.span),
            ClassSetItem::Perl(class) => {
                self.perl(class);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_with_a_letter_are_ascii_wherever_they_stand() {
        for (like, same) in [
            (r"\d{15}", "[0-9]{15}"),
            (r"[\d-]+\W", "[[0-9]-]+[^0-9A-Za-z_]"),
            (r"(?x) [^\s\D] é\d", r"(?x) [^[\t-\r\x20][^0-9]] é[0-9]"),
            (r"[\w&&[^\d_]]", "[[0-9A-Za-z_]&&[^[0-9]_]]"),
            (r"\\d[[:alpha:]]", r"\\d[[:alpha:]]"),
        ] {
            assert_eq!(written(like).unwrap(), same);
            hir(like).unwrap();
        }
    }

    #[test]
    fn a_class_of_unicode_is_refused_in_our_own_words() {
        for (like, class) in
            [(r"\p{Greek}+", r"\p{Greek}"), (r"é\PL", r"\PL"), (r"[a-z\pN]", r"\pN")]
        {
            let error = written(like).unwrap_err();
            assert!(error.why().starts_with(&format!("`{class}` is a class")), "{}", error.why());
            assert!(error.help().contains("write the characters"));
        }
    }

    #[test]
    fn case_is_known_in_every_build() {
        let like = crate::pattern("(?i)straße|[à-ý]").unwrap();
        assert!(like.is_match("STRAßE") && like.is_match("Ö") && !like.is_match("STRASSE"));
    }
}
