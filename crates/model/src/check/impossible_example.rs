//! `impossible-example`: an example whose request is never answered so, whatever is stored.
//!
//! Each request is looked at by itself. Its inputs, its caller and the clock are known, and nothing of what is stored. All
//! ways through the contract that these leave open are followed; if none of them comes to the expected answer, the example
//! contradicts the contract. Where something is open, the rule is silent: `latchkey test` runs the example.

mod compare;
mod known;
mod request;
mod walk;

use std::collections::BTreeMap;

use latchkey_language::ast::{ExampleCall, ExampleStep};
use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::{Value, json, time};

use super::Report;
use crate::model::{Contract, Model};
use known::{Caller, Facts, Known};
use request::Asked;
pub(crate) use request::asked;
use walk::{Outcome, Walk};

/// The instant at which examples begin, unless they set another.
const BEGINNING: &str = "2026-01-01T00:00:00.000Z";

/// The headers of a request that the rule knows the meaning of.
const HEADERS: [&str; 2] = ["if-match", "idempotency-key"];

/// The codes of a 400 that a contract need not name.
const REFUSED_CODES: [&str; 4] =
    ["invalid-input", "not-computable", "invalid-cursor", "idempotency-key-missing"];

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut scene = Scene { now: Known::text(BEGINNING), caller: None };
    for example in &model.examples {
        scene.caller = None;
        for step in &example.steps {
            scene.step(model, step, report);
        }
    }
}

/// Who asks next, and when.
struct Scene {
    now: Known,
    /// The caller; `None` where nobody is signed in.
    caller: Option<Caller>,
}

impl Scene {
    fn step(&mut self, model: &Model, step: &ExampleStep, report: &mut Report) {
        match step {
            ExampleStep::At(instant) => {
                let now = time::canonical(&instant.node);
                self.now = now.map_or(Known::There, |now| Known::Is(Value::Text(now)));
            }
            ExampleStep::As { id, roles, orgs } => {
                let texts = |names: &[latchkey_language::Name]| {
                    names.iter().map(|name| name.node.clone()).collect()
                };
                let caller = Caller { id: id.node.clone(), roles: texts(roles), orgs: texts(orgs) };
                self.caller = Some(caller).filter(|caller| caller.id != "nobody");
            }
            ExampleStep::Together(steps, _) => {
                steps.iter().for_each(|step| self.step(model, step, report));
            }
            ExampleStep::Call(call) => {
                if let Some(diagnostic) = self.judge(model, call) {
                    report.raise(diagnostic, &[]);
                }
            }
            ExampleStep::Queue(..) | ExampleStep::Deliver(_) => {}
        }
    }

    /// Why an example cannot hold.
    fn judge(&self, model: &Model, call: &ExampleCall) -> Option<Diagnostic> {
        let status = call.status.as_ref()?;
        let caller = self.caller.as_ref()?;
        let known = |name: &str| HEADERS.contains(&name.to_ascii_lowercase().as_str());
        if !call.headers.iter().all(|(name, _)| known(&name.node)) || status.node >= 500 {
            return None;
        }
        let path = call.path.node.split('?').next()?;
        let routes = model.routes(path);
        let of_method = |contract: &Contract| {
            contract.route.as_ref().is_some_and(|route| route.method.as_str() == call.method.node)
        };
        let Some((contract, parameters)) = routes.iter().find(|(contract, _)| of_method(contract))
        else {
            return unrouted(
                call,
                status.node,
                status.span,
                routes.first().map(|(first, _)| *first),
            );
        };
        let has = |header: &str| {
            call.headers.iter().any(|(name, _)| name.node.eq_ignore_ascii_case(header))
        };
        let asked = asked(contract, parameters, call, has("if-match"))?;
        let expected = match &call.answer {
            Some(json) => Some(json::read(json.node.as_bytes(), json::Limits::default()).ok()?),
            None => None,
        };
        // A call with a key may be answered as it was answered before.
        let now = if has("idempotency-key") { Known::There } else { self.now.clone() };
        let why = never(model, &asked, caller, now, status.node, expected.as_ref())
            .or_else(|| other_contract(contract, call))?;
        let span = call.answer.as_ref().map_or(status.span, |answer| status.span.to(answer.span));
        Some(
            Diagnostic::new(
                Rule::ImpossibleExample,
                span,
                format!("`{}` never answers this", contract.id),
            )
            .other(call.method.span.to(call.path.span), "to this request")
            .other(contract.span, "by this contract")
            .why(why)
            .help("mend the example, or the contract: whatever is stored, one of the two is wrong"),
        )
    }
}

/// A request that reaches no contract is answered 404, or 405 where the path has other methods.
fn unrouted(
    call: &ExampleCall,
    status: u16,
    span: Span,
    by_path: Option<&Contract>,
) -> Option<Diagnostic> {
    let is_method = !matches!(call.method.node.as_str(), "HEAD" | "OPTIONS");
    let answered = if by_path.is_some() { 405 } else { 404 };
    if !is_method || status == answered || call.path.node.contains('$') {
        return None;
    }
    let message = "no contract answers this request";
    let diagnostic = Diagnostic::new(Rule::ImpossibleExample, span, message)
        .other(call.method.span.to(call.path.span), "this request")
        .why(format!("it is always answered {answered}"))
        .help("mend the path or the method, or write the contract");
    Some(match by_path {
        Some(contract) => {
            diagnostic.other(contract.span, "this contract has the path, with another method")
        }
        None => diagnostic,
    })
}

/// Why another contract than the expected one answers.
fn other_contract(contract: &Contract, call: &ExampleCall) -> Option<String> {
    let stated = call
        .answer_headers
        .iter()
        .find(|(name, _)| name.node.eq_ignore_ascii_case("latchkey-contract"));
    let (_, stated) =
        stated.filter(|(_, value)| value.node != contract.id && !value.node.contains('$'))?;
    Some(format!("`{}` answers it, not `{}`", contract.id, stated.node))
}

/// Why a request is never answered so; `None` where it may be.
fn never<'a>(
    model: &'a Model,
    asked: &Asked<'a>,
    caller: &'a Caller,
    now: Known,
    status: u16,
    expected: Option<&Value>,
) -> Option<String> {
    // What the server refuses before it looks at the contract, or because of what it has recorded.
    if matches!(status, 304 | 401 | 405..=408 | 413..=429 | 431) {
        return None;
    }
    let code = expected.and_then(|expected| match expected {
        Value::Map(members) => members.get("code").and_then(Value::as_text).cloned(),
        _ => None,
    });
    let refusal =
        status == 400 && code.as_ref().is_none_or(|code| REFUSED_CODES.contains(&code.as_str()));
    if asked.valid == Some(false) {
        return if refusal { wrong_fields(asked, expected) } else { Some(invalid(asked)) };
    }
    let (items, lets) = (BTreeMap::new(), BTreeMap::new());
    let facts =
        Facts { model, caller, now, inputs: asked.inputs.clone(), items, lets, stored: None };
    let walk = Walk::of(asked.contract, asked.versioned, facts);
    let by_key = asked.contract.facts.by_key.is_some();
    if refusal && (asked.valid.is_none() || walk.computes || by_key) {
        return None;
    }
    let forbidden = code.as_ref().is_none_or(|code| code == "forbidden");
    if status == 403 && forbidden && walk.forbids {
        return None;
    }
    let mut reason = None;
    for outcome in &walk.outcomes {
        let (answered, difference) = match outcome {
            Outcome::Answer(answer) => {
                (answer.status, expected.and_then(|expected| compare::answer(expected, answer)))
            }
            Outcome::Problem(status, code, with) => {
                (*status, expected.and_then(|expected| compare::problem(expected, code, with)))
            }
        };
        match difference {
            _ if answered != status => {}
            None => return None,
            Some(difference) => reason = reason.or(Some(difference)),
        }
    }
    Some(reason.unwrap_or_else(|| answered_instead(&walk, status)))
}

/// The status is none that the contract has here; says which it has.
fn answered_instead(walk: &Walk<'_>, status: u16) -> String {
    let mut all: Vec<String> = walk
        .outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Answer(answer) => answer.status.to_string(),
            Outcome::Problem(status, code, _) => format!("{status} {code}"),
        })
        .chain(walk.forbids.then(|| "403 forbidden".to_owned()))
        .collect();
    all.sort();
    all.dedup();
    format!("no way through the contract answers {status} here; it answers {}", all.join(", "))
}

fn invalid(asked: &Asked<'_>) -> String {
    match &asked.wrong {
        Some(wrong) => {
            let names: Vec<String> = wrong.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "{} is not as it is declared, so the answer is 400 invalid-input",
                names.join(", ")
            )
        }
        None => "an input is not as it is declared, so the answer is 400 invalid-input".to_owned(),
    }
}

/// Why the wrong fields are others than the example lists.
fn wrong_fields(asked: &Asked<'_>, expected: Option<&Value>) -> Option<String> {
    let (wrong, mut pointers) = (asked.wrong.as_ref()?, compare::pointers(expected?)?);
    pointers.sort();
    let mut actual: Vec<String> = wrong.iter().map(|name| format!("/{name}")).collect();
    actual.sort();
    let same = pointers.len() == actual.len() && pointers.iter().zip(&actual).all(|(a, b)| a == b);
    (!same).then(|| format!("the inputs that are wrong or missing are {}", actual.join(", ")))
}
