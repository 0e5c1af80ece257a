//! Demo blocks, which are read line by line, as those of examples are.
//!
//! ```text
//! as olga role operator
//! repeat 40 {
//!   owner = one of alice, bob
//!   POST /doors {"doorId": "D$n", "ownerId": "$owner"}
//! }
//! every 2s {
//!   as alice
//!   GET /owners/alice/doors
//! }
//! ```

use crate::ast::{Demo, DemoStep, DemoValue, ExampleStep, Expr};
use crate::lex::lex;
use crate::{Diagnostic, Name, Rule, Span, Spanned, TokenKind};

use super::Parser;
use super::example::{METHODS, Reader};

/// How often a round may be repeated.
const TIMES_MAX: u32 = 1_000;

/// Reads the text of a demo block.
pub(super) fn parse(document: &str, within: Span) -> (Demo, Vec<Diagnostic>) {
    let lines = Reader::new(document, within);
    let mut reader = DemoReader { document, lines, steps: Vec::new(), around: None };
    while let Some(line) = reader.lines.line() {
        reader.step(line);
    }
    if let Some(Around { word, .. }) = reader.around {
        reader.lines.report(
            word,
            "a `{` that is never closed",
            "end it with a `}` on its own line",
        );
    }
    reader.close();
    (Demo { steps: reader.steps, span: within }, reader.lines.diagnostics)
}

struct DemoReader<'a> {
    document: &'a str,
    /// Reads the lines that examples have too.
    lines: Reader<'a>,
    steps: Vec<DemoStep>,
    around: Option<Around>,
}

/// Braces that are open.
struct Around {
    word: Span,
    kind: Kind,
    /// The steps before them.
    before: Vec<DemoStep>,
}

enum Kind {
    Repeat(Spanned<u32>),
    Every(Name),
}

impl DemoReader<'_> {
    fn step(&mut self, line: Span) {
        let (word, rest) = self.lines.split(line);
        if word.node.starts_with(|c: char| c.is_ascii_digit()) {
            return self.lines.answer(&word, rest);
        }
        self.take();
        let (mark, value) = self.lines.split(rest);
        match word.node.as_str() {
            "}" if self.around.is_some() => self.close(),
            _ if mark.node == "=" => self.name(word, value),
            "at" => self.at(word.span, rest),
            "as" => self.lines.setting(line),
            "repeat" => self.repeat(word.span, rest),
            "every" => self.every(word.span, rest),
            method if METHODS.contains(&method) => self.lines.request(word, rest),
            _ => {
                let help = "a line says when (`at now - 3d`) or who (`as …`), names a value (`id = …`), sends a \
                            request (`GET /path`), gives the status of its answer, or begins requests that are \
                            repeated (`repeat 40 {`) or go on (`every 2s {`)";
                self.lines.report(word.span, "this line of a demo says nothing", help);
            }
        }
    }

    /// Takes over what was read as in an example.
    fn take(&mut self) {
        for step in std::mem::take(&mut self.lines.steps) {
            match step {
                ExampleStep::As { id, roles, orgs } => {
                    self.steps.push(DemoStep::As { id, roles, orgs });
                }
                ExampleStep::Call(call) => self.steps.push(DemoStep::Call(Box::new(call))),
                ExampleStep::At(when) => {
                    let help = "write `at now - 3d` on a line of its own";
                    self.lines.report(when.span, "a demo happens around now", help);
                }
                // A line of a demo begins none of these.
                ExampleStep::Queue(..) | ExampleStep::Together(..) | ExampleStep::Deliver(_) => {}
            }
        }
    }

    /// `at EXPRESSION`
    fn at(&mut self, word: Span, rest: Span) {
        if matches!(&self.around, Some(Around { kind: Kind::Every(_), .. })) {
            let help = "leave it out: what goes on happens at its own time";
            return self.lines.report(word, "`at` within `every`", help);
        }
        if rest.start >= rest.end {
            return self.lines.report(word, "`at` without a time", "write `at now - 3d`");
        }
        if let Some(when) = self.expression(rest) {
            self.steps.push(DemoStep::At(when));
        }
    }

    /// `repeat 40 {`
    fn repeat(&mut self, word: Span, rest: Span) {
        let (count, rest) = self.lines.split(rest);
        let times = count.node.parse().ok().filter(|times| (1..=TIMES_MAX).contains(times));
        if times.is_none() {
            let help =
                format!("write a whole number from 1 to {TIMES_MAX}, such as `repeat 40 {{`");
            let (span, message) = match count.node.as_str() {
                "" | "{" => (word, "this does not say how often".to_owned()),
                other => (count.span, format!("`{other}` is no number of rounds")),
            };
            self.lines.report(span, &message, &help);
        }
        // One round is read in any case.
        self.open(word, Kind::Repeat(Spanned::new(times.unwrap_or(1), count.span)), rest);
    }

    /// `every 2s {`
    fn every(&mut self, word: Span, rest: Span) {
        let (pause, rest) = self.lines.split(rest);
        self.open(word, Kind::Every(pause), rest);
    }

    fn open(&mut self, word: Span, kind: Kind, rest: Span) {
        if self.lines.text(rest) != "{" {
            let help = "write the requests below it, then `}` on a line of its own";
            self.lines.report(word, "expected a `{` at the end of the line", help);
        }
        if self.around.is_some() {
            let help = "close the braces before it";
            self.lines.report(word, "braces within braces", help);
            self.close();
        }
        self.around = Some(Around { word, kind, before: std::mem::take(&mut self.steps) });
    }

    /// `}`
    fn close(&mut self) {
        self.take();
        let Some(Around { word, kind, before }) = self.around.take() else { return };
        let steps = std::mem::replace(&mut self.steps, before);
        if !steps.iter().any(|step| matches!(step, DemoStep::Call(_))) {
            self.lines.report(word, "no request is made here", "write one between the braces");
        }
        self.steps.push(match kind {
            Kind::Repeat(times) => DemoStep::Repeat { times, steps },
            Kind::Every(pause) => DemoStep::Every { pause, steps },
        });
    }

    /// `name = value`
    fn name(&mut self, name: Name, value: Span) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.node.starts_with(|c: char| c.is_ascii_alphabetic())
            || !name.node.chars().all(is_name)
        {
            let help = "write letters, digits and `_`, a letter first";
            return self.lines.report(name.span, "this is not a name", help);
        }
        let (one, rest) = self.lines.split(value);
        let (of, rest) = self.lines.split(rest);
        let given = match (one.node.as_str(), of.node.as_str()) {
            ("one", "of") => self.one_of(rest),
            ("", _) => {
                self.lines.report(
                    name.span,
                    "a name without a value",
                    "write the value behind `=`",
                );
                None
            }
            _ => self.expression(value).map(DemoValue::Computed),
        };
        self.steps.extend(given.map(|given| DemoStep::Named(name, given)));
    }

    /// `1..40`, or texts with commas between them.
    fn one_of(&mut self, rest: Span) -> Option<DemoValue> {
        let text = self.lines.text(rest);
        if let Some((low, high)) = text.split_once("..")
            && let (Ok(low), Ok(high)) = (low.trim().parse::<i64>(), high.trim().parse::<i64>())
        {
            if low > high {
                self.lines.report(rest, "no number is between these", "write the lower one first");
                return None;
            }
            return Some(DemoValue::Between(Spanned::new(low, rest), Spanned::new(high, rest)));
        }
        let mut texts = Vec::new();
        for part in parts(text, rest.start) {
            let written = self.lines.text(part);
            let inner = written.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            let plain = !written.is_empty() && !written.contains(char::is_whitespace);
            match inner.or_else(|| plain.then_some(written)) {
                Some(value) if !value.contains(['"', '\\', '$']) => {
                    texts.push(Spanned::new(value.to_owned(), part));
                }
                _ => {
                    let help =
                        "write words, or texts in quotes, with commas between them, or `1..40`";
                    let span = if written.is_empty() { rest } else { part };
                    self.lines.report(span, "this is nothing to choose", help);
                    return None;
                }
            }
        }
        Some(DemoValue::OneOf(texts))
    }

    /// An expression that fills the rest of a line.
    fn expression(&mut self, span: Span) -> Option<Expr> {
        let mut lexed = lex(self.document, span);
        // No statement begins here.
        if let Some(token) = lexed.tokens.first_mut() {
            token.first = false;
        }
        let mut parser = Parser::new(self.document, lexed.tokens);
        let read = parser.expression().ok();
        if read.is_some() && parser.token().kind != TokenKind::End {
            let at = parser.token().span;
            let help = "a text has quotes around it: `\"…\"`";
            let more = Diagnostic::new(Rule::Syntax, at, "more than one value").help(help);
            parser.diagnostics.push(more);
        }
        self.lines.diagnostics.extend(lexed.diagnostics);
        self.lines.diagnostics.extend(parser.diagnostics);
        read
    }
}

/// The parts of a line between its commas, those in quotes aside; without the spaces around them.
fn parts(text: &str, start: usize) -> Vec<Span> {
    let (mut parts, mut from, mut quoted) = (Vec::new(), 0, false);
    let ends = text.char_indices().filter(|(_, c)| {
        quoted ^= *c == '"';
        *c == ',' && !quoted
    });
    let ends: Vec<usize> = ends.map(|(at, _)| at).chain([text.len()]).collect();
    for end in ends {
        let part = text.get(from..end).unwrap_or_default();
        let at = start + from + part.len() - part.trim_start().len();
        parts.push(Span::new(at, at + part.trim().len()));
        from = end + 1;
    }
    parts
}
