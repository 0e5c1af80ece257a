//! What is computed of a contract: who may call it, its keys, requests, cost, failures and examples.

use latchkey_language::Span;
use latchkey_language::ast::{ExampleCall, ExampleStep};
use latchkey_model::model::{
    Contract, Ending, EntityId, FailureKind, OnFailure, StepKind, What, each_step,
};
use latchkey_model::{Model, WorstCosts};
use latchkey_runtime::{Asked, System, explain};
use latchkey_value::Capacity;

use super::access::{Access, accesses};
use super::lines::Lines;
use crate::home;

/// What is computed of a contract or a worker.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) id: String,
    pub(crate) title: String,
    /// The method, or `QUEUE`.
    pub(crate) method: String,
    /// The path, or the queue.
    pub(crate) path: String,
    /// The line in which it is declared.
    pub(crate) line: usize,
    /// Who may call: one for each `allow`.
    pub(crate) who: Vec<Who>,
    pub(crate) accesses: Vec<Access>,
    /// `None` where the document cannot be run.
    pub(crate) requests: Option<Vec<Asked>>,
    /// Whether the record of a call with an `Idempotency-Key` comes on top.
    pub(crate) keeps_records: bool,
    /// What it states that a call may cost.
    pub(crate) declared: Option<String>,
    /// What a call costs at most.
    pub(crate) most: String,
    /// What else it states of itself: a name, and the words of the document.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) failures: Vec<Failure>,
    /// The requests of examples that call it: a line, and the status.
    pub(crate) uses: Vec<(usize, Option<u16>)>,
}

/// Who may call a contract.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// In words.
    Told(&'static str),
    /// The test, as it is written.
    Test(String),
}

/// A way in which a call fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The status; a worker has none.
    pub(crate) status: Option<u16>,
    pub(crate) code: String,
    /// The text for a person, as it is written; empty where there is none.
    pub(crate) message: String,
    pub(crate) line: usize,
}

/// The cards of a document, in its order.
pub(crate) fn cards(model: &Model, lines: &Lines) -> Vec<Card> {
    let (system, costs) = (System::plan(model).ok(), WorstCosts::new(model));
    let bodies = model.contracts.iter().chain(model.workers.iter().map(|worker| &worker.body));
    let mut cards: Vec<Card> =
        bodies.map(|contract| card(model, system.as_ref(), &costs, lines, contract)).collect();
    cards.sort_by_key(|card| card.line);
    for call in model.examples.iter().flat_map(|example| calls(&example.steps)) {
        let Some(contract) = called(model, call) else { continue };
        if let Some(card) = cards.iter_mut().find(|card| card.id == contract.id) {
            let status = call.status.as_ref().map(|status| status.node);
            card.uses.push((lines.of(call.method.span.start), status));
        }
    }
    cards
}

fn card(
    model: &Model,
    system: Option<&System>,
    costs: &WorstCosts<'_>,
    lines: &Lines,
    contract: &Contract,
) -> Card {
    let requests = system
        .and_then(|system| explain(system, &contract.id))
        .map(|explanation| explanation.requests().to_vec());
    let facts = &contract.facts;
    Card {
        id: contract.id.clone(),
        title: contract.title.clone(),
        method: contract.route.as_ref().map_or("QUEUE", |route| route.method.as_str()).to_owned(),
        path: home::call_of(model, contract),
        line: lines.of(contract.span.start),
        who: who(model, contract),
        accesses: accesses(model, requests.as_deref().unwrap_or_default(), &queried(contract)),
        requests,
        keeps_records: contract.keeps_records(),
        declared: facts.cost.as_ref().map(|stated| stated.value.to_string()),
        most: units(costs.of(contract)),
        facts: stated(model, contract),
        failures: failures(model, lines, contract),
        uses: Vec::new(),
    }
}

/// The entities that the queries of a contract read, each once.
fn queried(contract: &Contract) -> Vec<EntityId> {
    let mut all = Vec::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Read(read) = &step.kind
            && let What::Query(_) = &read.what
        {
            all.extend(read.entities());
        }
    });
    all.sort_unstable();
    all.dedup();
    all
}

/// Units of capacity, as documents write them.
fn units(capacity: Capacity) -> String {
    let half = if capacity.read_halves.is_multiple_of(2) { "" } else { ".5" };
    format!("{}{half} rcu, {} wcu", capacity.read_halves / 2, capacity.write)
}

/// The words of a document, on one line.
fn said(model: &Model, span: Span) -> String {
    let text = model.text.get(span.range()).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn who(model: &Model, contract: &Contract) -> Vec<Who> {
    if contract.open.is_some() {
        return vec![Who::Told("anyone, without a token")];
    }
    if contract.route.is_none() {
        return vec![Who::Told("no one: a message runs it")];
    }
    let mut all = Vec::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Allow(test) = &step.kind {
            let text = match said(model, test.span) {
                text if text == "true" => Who::Told("anyone with a token"),
                text => Who::Test(text),
            };
            if !all.contains(&text) {
                all.push(text);
            }
        }
    });
    all
}

/// What a contract states of itself, but for its cost.
fn stated(model: &Model, contract: &Contract) -> Vec<(&'static str, String)> {
    let facts = &contract.facts;
    let word = |text: String, word: &str| {
        text.strip_prefix(word).map_or_else(|| text.clone(), |rest| rest.trim().to_owned())
    };
    let expect = facts.expect.as_ref().map(|stated| word(said(model, stated.span), "expect"));
    let consistency = facts
        .consistency
        .as_ref()
        .map(|stated| if stated.value { "strong" } else { "eventual" }.to_owned());
    let idempotent =
        facts.idempotent.as_ref().map(|stated| format!("by {}", model.entities[stated.value].name));
    let by_key = facts.by_key.map(|_| "by Idempotency-Key, which each call has".to_owned());
    let all = [
        ("consistency", consistency),
        ("items", expect),
        ("rate", facts.rate.as_ref().map(|stated| stated.value.to_string())),
        ("limit", facts.limit.as_ref().map(|stated| stated.value.to_string())),
        ("cache", facts.cache.as_ref().map(|stated| format!("{} s", stated.value))),
        ("idempotent", idempotent.or(by_key)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn failures(model: &Model, lines: &Lines, contract: &Contract) -> Vec<Failure> {
    let mut all: Vec<Failure> = Vec::new();
    let mut add = |status: Option<u16>, code: &str, message: String, at: usize| {
        let same =
            |one: &Failure| one.status == status && one.code == code && one.message == message;
        if !all.iter().any(same) {
            all.push(Failure { status, code: code.to_owned(), message, line: lines.of(at) });
        }
    };
    let text = |message: Option<&latchkey_model::model::Expr>| {
        message.map_or_else(String::new, |message| {
            said(model, message.span).trim_matches('"').to_owned()
        })
    };
    each_step(&contract.steps, &mut |step| {
        match &step.kind {
            StepKind::Allow(test)
                if contract.open.is_none() && said(model, test.span) != "true" =>
            {
                add(Some(403), "forbidden", String::new(), step.span.start);
            }
            StepKind::End(Ending::Fail { code, message }) => {
                add(None, code, text(message.as_ref()), step.span.start);
            }
            _ => {}
        }
        for OnFailure { kind, span } in step.failures() {
            match kind {
                FailureKind::Problem { status, code, message, .. } => {
                    add(Some(*status), code, text(message.as_ref()), span.start);
                }
                FailureKind::End(Ending::Fail { code, message }) => {
                    add(None, code, text(message.as_ref()), span.start);
                }
                FailureKind::End(Ending::Done | Ending::Later)
                | FailureKind::Retry
                | FailureKind::Steps(_) => {}
            }
        }
    });
    all.sort_by_key(|failure| failure.status);
    all
}

/// The requests of an example, those that are made at once too.
fn calls(steps: &[ExampleStep]) -> Vec<&ExampleCall> {
    let mut all = Vec::new();
    for step in steps {
        match step {
            ExampleStep::Call(call) => all.push(call),
            ExampleStep::Together(steps, _) => all.extend(calls(steps)),
            ExampleStep::At(_)
            | ExampleStep::As { .. }
            | ExampleStep::Queue(..)
            | ExampleStep::Deliver(_) => {}
        }
    }
    all
}

/// The contract that a request of an example calls.
pub(crate) fn called<'a>(model: &'a Model, call: &ExampleCall) -> Option<&'a Contract> {
    let path = call.path.node.split('?').next().unwrap_or_default();
    let found = model.routes(path).into_iter().map(|(contract, _)| contract);
    // An answer to HEAD is that of GET.
    let method = if call.method.node == "HEAD" { "GET" } else { call.method.node.as_str() };
    let mut fits = found.filter(|contract| {
        contract.route.as_ref().is_some_and(|route| route.method.as_str() == method)
    });
    fits.next()
}
