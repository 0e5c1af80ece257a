//! Example blocks, which are read line by line.
//!
//! ```text
//! at 2026-02-25T10:00:00Z as alice role operator
//! POST /doors {"doorId": "D1"}
//! 201 {"state": "SHUT"}
//! ```
//!
//! JSON goes on over as many lines as its braces stay open. `//` at the start of a line or behind a space is
//! a comment, in JSON too, but not within its strings.

use crate::ast::{Example, ExampleCall, ExampleStep, QueueMode};
use crate::{Diagnostic, Name, Rule, Span, Spanned};

pub(super) const METHODS: &[&str] = &["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Reads the text of an example block.
pub(super) fn parse(document: &str, within: Span) -> (Example, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, within);
    while let Some(line) = reader.line() {
        reader.step(line);
    }
    if let Some((open, _)) = reader.around {
        let help = "end it with a `}` on a line of its own";
        reader.report(open, "`together {` that is never closed", help);
        reader.close(open);
    }
    if let Some(span) = reader.unanswered() {
        reader.report(
            span,
            "a request without an answer",
            "write the status it must have below it",
        );
    }
    (Example { steps: reader.steps, span: within }, reader.diagnostics)
}

pub(super) struct Reader<'a> {
    document: &'a str,
    at: usize,
    end: usize,
    pub(super) steps: Vec<ExampleStep>,
    /// Where `together {` stands, and the steps before it, while its own are read.
    around: Option<(Span, Vec<ExampleStep>)>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a str, within: Span) -> Reader<'a> {
        let (at, end) = (within.start, within.end);
        let (steps, diagnostics) = (Vec::new(), Vec::new());
        Reader { document, at, end, steps, around: None, diagnostics }
    }

    /// The next line that is not empty.
    pub(super) fn line(&mut self) -> Option<Span> {
        loop {
            let rest = self.document.get(self.at..self.end).filter(|rest| !rest.is_empty())?;
            let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let start = self.at;
            self.at += length;
            let line = uncommented(rest.get(..length).unwrap_or_default());
            let trimmed = line.trim();
            if !trimmed.is_empty() {
                let from = start + line.len() - line.trim_start().len();
                return Some(Span::new(from, from + trimmed.len()));
            }
        }
    }

    pub(super) fn text(&self, span: Span) -> &'a str {
        self.document.get(span.range()).unwrap_or_default()
    }

    pub(super) fn report(&mut self, span: Span, message: &str, help: &str) {
        self.diagnostics.push(Diagnostic::new(Rule::Syntax, span, message).help(help));
    }

    /// The request that still waits for its answer.
    fn unanswered(&self) -> Option<Span> {
        match self.steps.last() {
            // Which of several requests is first, is open, and so are their answers.
            _ if self.around.is_some() => None,
            Some(ExampleStep::Call(call)) if call.status.is_none() => Some(call.method.span),
            _ => None,
        }
    }

    fn step(&mut self, line: Span) {
        let (word, rest) = self.split(line);
        if word.node.starts_with(|c: char| c.is_ascii_digit()) {
            return self.answer(&word, rest);
        }
        if let Some(span) = self.unanswered() {
            let help = "write the status it must have below it";
            self.report(span, "a request without an answer", help);
        }
        match word.node.as_str() {
            "at" | "as" => self.setting(line),
            "together" => self.together(word.span, rest),
            "}" if self.around.is_some() => self.close(line),
            "deliver" => self.deliver(&word, rest),
            "queue" if self.around.is_some() => {
                let help = "write it above `together {`";
                self.report(line, "a queue changes what it does before requests are made", help);
            }
            "queue" => self.queue(rest),
            method if METHODS.contains(&method) => self.request(word, rest),
            _ => {
                let help = "a line sets the time (`at …`) or the caller (`as …`), sends a request \
                            (`GET /path`), gives the status of its answer, says what a queue does (`queue …`), or \
                            begins requests that are made at once (`together {`)";
                self.report(word.span, "this line of an example says nothing", help);
            }
        }
    }

    /// `together {`
    fn together(&mut self, word: Span, rest: Span) {
        if self.around.is_some() {
            let help = "all requests within the braces are made at once";
            self.report(word, "`together` within `together`", help);
            return;
        }
        if self.text(rest) != "{" {
            self.report(word, "expected `together {`", "write its requests below it, then `}`");
        }
        self.around = Some((word, std::mem::take(&mut self.steps)));
    }

    /// `}`
    fn close(&mut self, line: Span) {
        let Some((open, before)) = self.around.take() else { return };
        let within = std::mem::replace(&mut self.steps, before);
        let acts =
            |step: &&ExampleStep| matches!(step, ExampleStep::Call(_) | ExampleStep::Deliver(_));
        if within.iter().filter(acts).count() < 2 {
            let help = "write two requests or more, or `deliver QUEUE`, one on each line";
            self.report(open, "nothing is made at once here", help);
        }
        self.steps.push(ExampleStep::Together(within, open.to(line)));
    }

    /// `deliver QUEUE`
    fn deliver(&mut self, word: &Name, rest: Span) {
        let (queue, after) = self.split(rest);
        if self.around.is_none() {
            let help = "write it within `together { … }`; elsewhere messages are delivered when they are due";
            self.report(word.span, "`deliver` outside of `together`", help);
        } else if queue.node.is_empty() || after.start < after.end {
            self.report(word.span, "expected the name of a queue", "write `deliver QUEUE`");
        } else {
            self.steps.push(ExampleStep::Deliver(queue));
        }
    }

    /// The first word of a line, and the rest of it.
    pub(super) fn split(&self, line: Span) -> (Name, Span) {
        let text = self.text(line);
        let length = text.find(char::is_whitespace).unwrap_or(text.len());
        let word = Span::new(line.start, line.start + length);
        let gap = text.get(length..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let rest = Span::new(word.end + gap, line.end);
        (Spanned::new(self.text(word).to_owned(), word), rest)
    }

    /// `at TIME` and `as ID [role R]… [org O]…`, one or both on a line.
    pub(super) fn setting(&mut self, line: Span) {
        let mut rest = line;
        while rest.start < rest.end {
            let (word, after) = self.split(rest);
            let (value, after) = self.split(after);
            rest = after;
            if value.node.is_empty() {
                self.report(
                    word.span,
                    "a word without a value",
                    "write `at TIME` or `as ID role R`",
                );
                return;
            }
            match (word.node.as_str(), self.steps.last_mut()) {
                ("at", _) => self.steps.push(ExampleStep::At(value)),
                ("as", _) => {
                    let (roles, orgs) = (Vec::new(), Vec::new());
                    self.steps.push(ExampleStep::As { id: value, roles, orgs });
                }
                ("role", Some(ExampleStep::As { roles, .. })) => roles.push(value),
                ("org", Some(ExampleStep::As { orgs, .. })) => orgs.push(value),
                _ => {
                    let help = "write `at TIME` or `as ID role R`";
                    self.report(word.span, "expected `at`, `as`, `role` or `org`", help);
                    return;
                }
            }
        }
    }

    /// `queue NAME refuses`, `holds` or `works`
    fn queue(&mut self, rest: Span) {
        let (name, after) = self.split(rest);
        let (word, after) = self.split(after);
        let mode = match word.node.as_str() {
            "works" => Some(QueueMode::Works),
            "holds" => Some(QueueMode::Holds),
            "refuses" => Some(QueueMode::Refuses),
            _ => None,
        };
        match mode.filter(|_| after.start >= after.end) {
            Some(mode) => {
                self.steps.push(ExampleStep::Queue(name, Spanned::new(mode, word.span)));
            }
            None => {
                let help = "write `queue NAME refuses`, `holds` or `works`";
                self.report(name.span.to(word.span), "this does not say what the queue does", help);
            }
        }
    }

    pub(super) fn request(&mut self, method: Name, rest: Span) {
        let (path, rest) = self.split(rest);
        let (headers, rest) = self.headers(rest);
        let body = self.json(rest);
        if !path.node.starts_with('/') {
            self.report(path.span, "a path begins with `/`", "write it as a client would send it");
        }
        let (status, answer_headers, answer) = (None, Vec::new(), None);
        self.steps.push(ExampleStep::Call(ExampleCall {
            method,
            path,
            headers,
            body,
            status,
            answer_headers,
            answer,
        }));
    }

    /// Headers, `Name: value`, up to the first word that is none.
    fn headers(&mut self, mut rest: Span) -> (Vec<(Name, Name)>, Span) {
        let mut headers = Vec::new();
        loop {
            let (word, after) = self.split(rest);
            let Some(name) = word.node.strip_suffix(':').filter(|_| !word.node.starts_with('{'))
            else {
                return (headers, rest);
            };
            let name = Spanned::new(name.to_owned(), word.span);
            let (value, after) = self.header_value(after);
            if value.node.is_empty() {
                self.report(word.span, "a header without a value", "write `Name: value`");
            }
            headers.push((name, value));
            rest = after;
        }
    }

    /// The words of a header's value: to the next header, to the JSON, or to the end of the line.
    fn header_value(&self, rest: Span) -> (Name, Span) {
        let (mut value, mut rest) = (Span::new(rest.start, rest.start), rest);
        while rest.start < rest.end {
            let (word, after) = self.split(rest);
            if word.node.ends_with(':') || word.node.starts_with(['{', '[']) {
                break;
            }
            value.end = word.span.end;
            rest = after;
        }
        (Spanned::new(self.text(value).to_owned(), value), rest)
    }

    pub(super) fn answer(&mut self, word: &Name, rest: Span) {
        let (headers, rest) = self.headers(rest);
        let json = self.json(rest);
        let status = word.node.parse().ok().filter(|status| (100..=599).contains(status));
        if self.around.is_some() {
            let help = "leave it out: every order of the requests is looked at";
            self.report(word.span, "which request is first is open, and so is its answer", help);
            return;
        }
        match (self.steps.last_mut(), status) {
            (Some(ExampleStep::Call(call)), Some(status)) if call.status.is_none() => {
                call.status = Some(Spanned::new(status, word.span));
                call.answer_headers = headers;
                call.answer = json;
            }
            (_, None) => {
                self.report(word.span, "this is not an HTTP status", "write one such as `200`")
            }
            _ => {
                self.report(word.span, "an answer without a request", "write the request above it")
            }
        }
    }

    /// JSON from here on, over as many lines as its brackets stay open.
    fn json(&mut self, rest: Span) -> Option<Name> {
        if rest.start >= rest.end {
            return None;
        }
        let (mut json, mut span) = (self.text(rest).to_owned(), rest);
        let mut open = open_brackets(&json);
        while open > 0 {
            let Some(line) = self.line() else {
                self.report(rest, "JSON that is never closed", "close its braces and brackets");
                break;
            };
            open += open_brackets(self.text(line));
            json.push('\n');
            json.push_str(self.text(line));
            span.end = line.end;
        }
        Some(Spanned::new(json, span))
    }
}

/// A line without its comment.
fn uncommented(line: &str) -> &str {
    let (mut quoted, mut escaped, mut spaced) = (false, false, true);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '/' if !quoted
                && spaced
                && line.get(at..).is_some_and(|rest| rest.starts_with("//")) =>
            {
                return line.get(..at).unwrap_or_default();
            }
            _ => {}
        }
        spaced = c.is_whitespace();
    }
    line
}

/// How many more brackets open than close, those in strings aside.
fn open_brackets(json: &str) -> i64 {
    let (mut open, mut quoted, mut escaped) = (0, false, false);
    for c in json.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => open += 1,
            '}' | ']' if !quoted => open -= 1,
            _ => {}
        }
    }
    open
}
