//! Runs the examples of a document: requests, and the answers they must get.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use latchkey_http::{Claims, Delivered};
use latchkey_language::ast::{Example, ExampleCall, ExampleStep, QueueMode};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_race::matching::{Bindings, differs, filled};
use latchkey_runtime::{Source, SystemSource};
use latchkey_table::{Text, Value};
use latchkey_value::{json, time};

use crate::target::{Reply, Target, TargetError};

/// The instant at which examples begin, unless they set another.
pub(crate) const BEGINNING: &str = "2026-01-01T00:00:00.000Z";

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
    let mut run = Run::new(text, target);
    while run.next().await?.is_some() {}
    Ok(run.report)
}

/// A run of examples, one event after the other: whoever looks on can look at the table in between.
pub(crate) struct Run<'a> {
    target: &'a Target,
    pub(crate) report: Report,
    /// What is still to be done.
    moves: VecDeque<Move>,
    /// The block that is run.
    pub(crate) block: usize,
    pub(crate) instant: String,
    /// The caller: not set yet, nobody, or someone with a token.
    caller: Option<Option<(Claims, String)>>,
    bindings: Bindings,
    /// The names before the round that is run.
    before: Bindings,
    unsaid: Unsaid,
}

/// How a request may be answered whose answer is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsaid {
    /// In any way.
    Any,
    /// With success.
    Success,
    /// With success, or a refusal; not with a failure of the server.
    NoFailure,
}

/// What a run does next.
pub(crate) enum Move {
    /// Begins a block.
    Block(usize),
    /// Begins a round.
    Round,
    /// Forgets the names of the round.
    Over,
    /// A line of an example that contains no other.
    Step(Box<ExampleStep>),
    /// Works on the messages that are due.
    Settle,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A request was answered.
    Called(Box<Called>),
    /// A message was worked on. Told by targets that look on.
    Worked(Vec<Delivered>),
    /// A queue was told what to do from here on.
    Queue(Name, QueueMode),
}

/// A request of an example, as it was sent, and its answer.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) claims: Option<Claims>,
    pub(crate) method: String,
    pub(crate) path: String,
    /// The headers that the example gives.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    pub(crate) reply: Reply,
    /// The headers that the answer must have.
    pub(crate) answer_headers: Vec<String>,
    /// Where the request stands.
    pub(crate) span: Span,
    /// How the answer differs from the example, if it does.
    pub(crate) wrong: Option<String>,
}

impl<'a> Run<'a> {
    /// A run of the examples of a document.
    pub(crate) fn new(text: &str, target: &'a Target) -> Run<'a> {
        let parsed = latchkey_language::parse(text);
        let mut report = Report { blocks: parsed.document.examples.len(), ..Report::default() };
        report.failures.extend(parsed.diagnostics);
        Run {
            target,
            report,
            moves: moves(parsed.document.examples),
            block: 0,
            instant: BEGINNING.to_owned(),
            caller: None,
            bindings: BTreeMap::new(),
            before: BTreeMap::new(),
            unsaid: Unsaid::Any,
        }
    }

    /// A run of steps that are no examples: they begin at an instant, with names that are known.
    pub(crate) fn of(
        moves: impl IntoIterator<Item = Move>,
        target: &'a Target,
        (instant, bindings): (String, Bindings),
        unsaid: Unsaid,
    ) -> Run<'a> {
        let (moves, report) = (moves.into_iter().collect(), Report::default());
        let (block, caller, before) = (0, None, BTreeMap::new());
        Run { target, report, moves, block, instant, caller, bindings, before, unsaid }
    }

    /// The names that answers have told.
    pub(crate) fn into_bindings(self) -> Bindings {
        self.bindings
    }

    /// Goes on until something has happened that can be told; nothing, if the examples are over.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, TargetError> {
        while let Some(next) = self.moves.pop_front() {
            let event = match next {
                Move::Block(block) => {
                    // Each block sets its own caller.
                    (self.block, self.caller) = (block, None);
                    None
                }
                Move::Round => {
                    self.before.clone_from(&self.bindings);
                    None
                }
                Move::Over => {
                    self.bindings.clone_from(&self.before);
                    None
                }
                Move::Settle => {
                    let worked = self.target.pass(&self.instant).await?;
                    if worked.is_some() {
                        self.moves.push_front(Move::Settle);
                    }
                    worked.map(Event::Worked)
                }
                Move::Step(step) => self.step(*step).await?,
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    async fn step(&mut self, step: ExampleStep) -> Result<Option<Event>, TargetError> {
        match step {
            ExampleStep::At(instant) => match time::canonical(&instant.node) {
                Some(canonical) => self.instant = canonical.into(),
                None => self.fail(instant.span, "this is not an RFC 3339 time", None),
            },
            ExampleStep::As { id, roles, orgs } => self.caller(&id, &roles, &orgs),
            ExampleStep::Call(call) => return Ok(self.call(&call).await?.map(Event::Called)),
            ExampleStep::Queue(name, mode) => {
                match self.target.set_queue(&name.node, mode.node).await {
                    Ok(()) => return Ok(Some(Event::Queue(name, mode.node))),
                    Err(TargetError::Request(message)) => self.fail(name.span, message, None),
                    Err(error) => return Err(error),
                }
            }
            // `moves` has taken it apart. A search delivers messages, in memory.
            ExampleStep::Together(..) | ExampleStep::Deliver(_) => {}
        }
        Ok(None)
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
            Ok(token) => self.caller = Some(Some((claims, token))),
            Err(error) => self.fail(id.span, format!("this can be no caller: {error}"), None),
        }
    }

    async fn call(&mut self, call: &ExampleCall) -> Result<Option<Box<Called>>, TargetError> {
        let Some(caller) = self.caller.clone() else {
            let help = Some("write `as ID` above it, or `as nobody`".to_owned());
            self.fail(call.method.span, "nobody says who asks", help);
            return Ok(None);
        };
        let mut headers = vec![("latchkey-now".to_owned(), self.instant.clone())];
        let (claims, token) = caller.unzip();
        headers.extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
        let bindings = &self.bindings;
        let body = call.body.as_ref().map(|body| filled(&body.node, bindings));
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let given = call.headers.iter();
        let given: Vec<(String, String)> =
            given.map(|(name, value)| (name.node.clone(), filled(&value.node, bindings))).collect();
        headers.extend(given.iter().cloned());
        let (method, path) = (call.method.node.clone(), filled(&call.path.node, bindings));
        let sent = self.target.send(&method, &path, &headers, body.clone().unwrap_or_default());
        let reply = match sent.await {
            Ok(reply) => reply,
            Err(TargetError::Request(message)) => {
                self.fail(call.path.span, message, None);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.report.requests += 1;
        let before = self.report.failures.len();
        self.judge(call, &reply);
        let wrong = self.report.failures.get(before).map(|failure| failure.message.clone());
        let answer_headers =
            call.answer_headers.iter().map(|(name, _)| name.node.to_lowercase()).collect();
        let (headers, span) = (given, call.method.span);
        Ok(Some(Box::new(Called {
            claims,
            method,
            path,
            headers,
            body,
            reply,
            answer_headers,
            span,
            wrong,
        })))
    }

    /// Compares an answer with the example.
    fn judge(&mut self, call: &ExampleCall, reply: &Reply) {
        let answer =
            json::read(&reply.body, json::Limits { levels_max: json::LEVELS_CEILING }).ok();
        self.note(reply, answer.as_ref());
        let Some(status) = &call.status else { return self.judge_unsaid(call, reply) };
        if reply.status != status.node {
            let message = format!("answered {}, not {}", reply.status, status.node);
            self.fail(status.span, message, Some(shown(reply)));
            return;
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
                    self.fail(value.span, message, Some(shown(reply)));
                }
            }
        }
        if let Some(expected) = &call.answer {
            self.compare(expected, answer.as_ref(), reply);
        }
    }

    /// Judges an answer that is not written.
    fn judge_unsaid(&mut self, call: &ExampleCall, reply: &Reply) {
        let wrong = match self.unsaid {
            // One of several that are made at once has no answer of its own.
            Unsaid::Any => false,
            Unsaid::Success => reply.status >= 400,
            Unsaid::NoFailure => reply.status >= 500,
        };
        if wrong {
            let message = format!("answered {}", reply.status);
            self.fail(call.method.span.to(call.path.span), message, Some(shown(reply)));
        }
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

/// All that the blocks of a document do, in order.
fn moves(examples: Vec<Example>) -> VecDeque<Move> {
    let mut moves = VecDeque::new();
    for (at, example) in examples.into_iter().enumerate() {
        moves.push_back(Move::Block(at));
        for step in example.steps {
            match step {
                // What is made at once is made in the order in which it is written. A search looks at all orders.
                ExampleStep::Together(steps, _) => {
                    let within = steps.into_iter().filter(|step| {
                        matches!(
                            step,
                            ExampleStep::At(_) | ExampleStep::As { .. } | ExampleStep::Call(_)
                        )
                    });
                    moves.extend(within.map(step_of));
                    moves.push_back(Move::Settle);
                }
                step @ (ExampleStep::As { .. } | ExampleStep::Deliver(_)) => {
                    moves.push_back(step_of(step));
                }
                step => moves.extend([step_of(step), Move::Settle]),
            }
        }
    }
    moves
}

pub(crate) fn step_of(step: ExampleStep) -> Move {
    Move::Step(Box::new(step))
}
