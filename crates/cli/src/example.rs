//! Runs the examples of a document: requests, and the answers they must get.

mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use latchkey_http::Claims;
use latchkey_language::ast::{ExampleCall, ExampleStep};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_race::matching::{Bindings, differs, filled};
use latchkey_runtime::{Source, SystemSource};
use latchkey_table::{Text, Value};
use latchkey_value::{json, time};

pub use target::{Reply, Target, TargetError};

/// The instant at which examples begin, unless they set another.
const BEGINNING: &str = "2026-01-01T00:00:00.000Z";

/// How long the tokens of examples last.
const TOKEN_LASTS: Duration = Duration::from_secs(60 * 60);

/// How much of a wrong answer is shown.
const SHOWN_CHARS_MAX: usize = 500;

/// The result of the examples of a document.
#[derive(Debug, Default)]
pub struct Report {
    /// How many blocks there are.
    pub blocks: usize,
    /// How many requests were made.
    pub requests: usize,
    /// Answers that differ from their example.
    pub failures: Vec<Diagnostic>,
    /// Which contracts answered, and with which problem; `None` is no problem.
    pub seen: BTreeSet<(String, Option<String>)>,
}

/// Runs the examples of a document, in order, on a target.
pub async fn run(text: &str, target: &Target) -> Result<Report, TargetError> {
    let parsed = latchkey_language::parse(text);
    let mut report = Report { blocks: parsed.document.examples.len(), ..Report::default() };
    report.failures.extend(parsed.diagnostics);
    let mut run = Run {
        target,
        report,
        instant: BEGINNING.to_owned(),
        caller: None,
        bindings: BTreeMap::new(),
    };
    for example in &parsed.document.examples {
        // Each block sets its own caller.
        run.caller = None;
        for step in &example.steps {
            run.step(step).await?;
        }
    }
    Ok(run.report)
}

struct Run<'a> {
    target: &'a Target,
    report: Report,
    instant: String,
    /// The caller: not set yet, nobody, or a token.
    caller: Option<Option<String>>,
    bindings: Bindings,
}

impl Run<'_> {
    async fn step(&mut self, step: &ExampleStep) -> Result<(), TargetError> {
        match step {
            ExampleStep::At(instant) => match time::canonical(&instant.node) {
                Some(canonical) => {
                    self.instant = canonical.into();
                    self.target.pass(&self.instant).await?;
                }
                None => self.fail(instant.span, "this is not an RFC 3339 time", None),
            },
            ExampleStep::As { id, roles, orgs } => self.caller(id, roles, orgs),
            ExampleStep::Together(steps, _) => {
                for step in steps {
                    self.step_together(step).await?;
                }
                self.target.pass(&self.instant).await?;
            }
            // A search delivers the message, in memory.
            ExampleStep::Deliver(_) => {}
            ExampleStep::Call(call) => {
                self.call(call).await?;
                self.target.pass(&self.instant).await?;
            }
            ExampleStep::Queue(name, mode) => {
                match self.target.set_queue(&name.node, mode.node).await {
                    Ok(()) => self.target.pass(&self.instant).await?,
                    Err(TargetError::Request(message)) => self.fail(name.span, message, None),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// What is made at once is made in the order in which it is written. A search looks at all orders.
    async fn step_together(&mut self, step: &ExampleStep) -> Result<(), TargetError> {
        match step {
            ExampleStep::At(instant) => match time::canonical(&instant.node) {
                Some(canonical) => self.instant = canonical.into(),
                None => self.fail(instant.span, "this is no RFC 3339 time", None),
            },
            ExampleStep::As { id, roles, orgs } => self.caller(id, roles, orgs),
            ExampleStep::Call(call) => self.call(call).await?,
            ExampleStep::Queue(..) | ExampleStep::Together(..) | ExampleStep::Deliver(_) => {}
        }
        Ok(())
    }

    fn fail(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        let diagnostic = Diagnostic::new(Rule::Example, span, message);
        self.report.failures.push(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }

    fn caller(&mut self, id: &Name, roles: &[Name], orgs: &[Name]) {
        if id.node == "nobody" {
            self.caller = Some(None);
            return;
        }
        let texts = |names: &[Name]| names.iter().map(|name| name.node.as_str().into()).collect();
        let claims =
            Claims { sub: id.node.as_str().into(), roles: texts(roles), orgs: texts(orgs) };
        match self.target.tokens().sign(&claims, SystemSource.now(), TOKEN_LASTS) {
            Ok(token) => self.caller = Some(Some(token)),
            Err(error) => self.fail(id.span, format!("this can be no caller: {error}"), None),
        }
    }

    async fn call(&mut self, call: &ExampleCall) -> Result<(), TargetError> {
        let Some(caller) = self.caller.clone() else {
            let help = Some("write `as ID` above it, or `as nobody`".to_owned());
            self.fail(call.method.span, "nobody says who asks", help);
            return Ok(());
        };
        let mut headers = vec![("latchkey-now".to_owned(), self.instant.clone())];
        headers.extend(caller.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        let bindings = &self.bindings;
        let body = call.body.as_ref().map(|body| filled(&body.node, bindings));
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in &call.headers {
            headers.push((name.node.clone(), filled(&value.node, bindings)));
        }
        let path = filled(&call.path.node, bindings);
        let sent = self.target.send(&call.method.node, &path, &headers, body.unwrap_or_default());
        let reply = match sent.await {
            Ok(reply) => reply,
            Err(TargetError::Request(message)) => {
                self.fail(call.path.span, message, None);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.report.requests += 1;
        let answer =
            json::read(&reply.body, json::Limits { levels_max: json::LEVELS_CEILING }).ok();
        self.note(&reply, answer.as_ref());
        // One of several that are made at once has no answer of its own.
        let Some(status) = &call.status else { return Ok(()) };
        if reply.status != status.node {
            let message = format!("answered {}, not {}", reply.status, status.node);
            self.fail(status.span, message, Some(shown(&reply)));
            return Ok(());
        }
        for (name, value) in &call.answer_headers {
            let wanted = filled(&value.node, &self.bindings);
            let found = reply.headers.get(name.node.to_lowercase().as_str());
            let found = found.and_then(|found| found.to_str().ok());
            match (wanted.strip_prefix('$'), found) {
                (Some("absent"), None) => {}
                (Some(name), Some(found)) if name != "absent" => {
                    self.bindings.insert(name.to_owned(), found.to_owned());
                }
                (_, Some(found)) if found == wanted => {}
                (_, found) => {
                    let found = found.map_or("absent".to_owned(), |found| format!("`{found}`"));
                    let message = format!("`{}` is {found}, not `{wanted}`", name.node);
                    self.fail(value.span, message, Some(shown(&reply)));
                }
            }
        }
        if let Some(expected) = &call.answer {
            self.compare(expected, answer.as_ref(), &reply);
        }
        Ok(())
    }

    /// Records which contract answered, and with which problem.
    fn note(&mut self, reply: &Reply, answer: Option<&Value>) {
        let code = match answer {
            Some(Value::Map(map)) if reply.status >= 400 => {
                map.get("code").and_then(Value::as_text)
            }
            _ => None,
        };
        if let Some(contract) = &reply.contract {
            self.report.seen.insert((contract.clone(), code.map(|code: &Text| code.to_string())));
        }
    }

    fn compare(&mut self, expected: &Name, answer: Option<&Value>, reply: &Reply) {
        let written = filled(&expected.node, &self.bindings);
        let wanted = match json::read(written.as_bytes(), json::Limits::default()) {
            Ok(wanted) => wanted,
            Err(error) => {
                self.fail(expected.span, format!("this is not JSON: {error}"), None);
                return;
            }
        };
        let Some(answer) = answer else {
            self.fail(expected.span, "the answer is not JSON", Some(shown(reply)));
            return;
        };
        if let Some(difference) = differs(&wanted, Some(answer), "", &mut self.bindings) {
            self.fail(expected.span, difference, Some(shown(reply)));
        }
    }
}

fn shown(reply: &Reply) -> String {
    let text = String::from_utf8_lossy(&reply.body);
    let start: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    format!("the whole answer is {} {start}", reply.status)
}
