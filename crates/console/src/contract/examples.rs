//! The examples of a contract: the requests of the document's `example` blocks that lead to it.

use latchkey_language::ast::{ExampleCall, ExampleStep};
use latchkey_model::model::Segment;
use maud::{Markup, html};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::Subject;
use crate::shown::shown;

/// The most examples that are shown.
const EXAMPLES_MAX: usize = 40;

/// A request of an example.
struct Shown<'a> {
    who: String,
    call: &'a ExampleCall,
    /// What it gives, for the form.
    given: Value,
}

/// The examples, if there are any.
pub(super) fn card(subject: Subject<'_>) -> Option<Markup> {
    let all = of(subject);
    if all.is_empty() {
        return None;
    }
    Some(html! {
        section.card aria-labelledby="examples-title" {
            header {
                h2 #examples-title { "Examples" }
                p.muted.small { "They run in order, on one store that is empty at first" }
            }
            ul.examples {
                @for one in all.iter().take(EXAMPLES_MAX) { li { (example(subject, one)) } }
            }
            @if all.len() > EXAMPLES_MAX { p.muted { "and " (all.len() - EXAMPLES_MAX) " more in the document" } }
        }
    })
}

fn example(subject: Subject<'_>, one: &Shown<'_>) -> Markup {
    let ExampleCall { method, status, .. } = one.call;
    let good = status.as_ref().is_some_and(|status| status.node < 400);
    let text = subject.model.text.get(method.span.start..end(one.call)).unwrap_or_default();
    html! {
        div.example {
            p.example-head {
                @if let Some(status) = status { span.pill.good[good].bad[!good] { (status.node) } }
                span.muted.small { (shown(&one.who)) }
                span.grow {}
                span.muted.small { "line " (subject.line(method.span.start)) }
                button.tiny type="button" data-fill=(one.given) { "Fill in" }
            }
            pre.json { code { (shown(text)) } }
        }
    }
}

/// Where the text of a request and its answer ends.
fn end(call: &ExampleCall) -> usize {
    let ExampleCall { path, headers, body, status, answer_headers, answer, .. } = call;
    let values = headers.iter().chain(answer_headers).map(|(_, value)| value.span.end);
    let texts = body.iter().chain(answer).map(|text| text.span.end);
    let status = status.iter().map(|status| status.span.end);
    values.chain(texts).chain(status).fold(path.span.end, usize::max)
}

/// The examples of the contract, in the order of the document.
fn of<'a>(subject: Subject<'a>) -> Vec<Shown<'a>> {
    let mut all = Vec::new();
    for example in &subject.model.examples {
        let mut who = String::from("as nobody");
        collect(subject, &example.steps, &mut who, &mut all);
    }
    all
}

fn collect<'a>(
    subject: Subject<'a>,
    steps: &'a [ExampleStep],
    who: &mut String,
    all: &mut Vec<Shown<'a>>,
) {
    for step in steps {
        match step {
            ExampleStep::As { id, roles, orgs } => {
                *who = format!("as {}", id.node);
                roles.iter().for_each(|role| who.push_str(&format!(" role {}", role.node)));
                orgs.iter().for_each(|org| who.push_str(&format!(" org {}", org.node)));
            }
            ExampleStep::Call(call) => {
                let given = given(subject, call);
                all.extend(given.map(|given| Shown { who: who.clone(), call, given }));
            }
            ExampleStep::Together(steps, _) => collect(subject, steps, who, all),
            ExampleStep::At(_) | ExampleStep::Queue(..) | ExampleStep::Deliver(_) => {}
        }
    }
}

/// What a request gives the contract: texts of the path and the query by name, the body as it is written, headers. None
/// if it leads to another contract.
fn given(subject: Subject<'_>, call: &ExampleCall) -> Option<Value> {
    let Subject { model, contract, .. } = subject;
    let route = contract.route.as_ref()?;
    let (path, query) = call.path.node.split_once('?').unwrap_or((&call.path.node, ""));
    let routes = model.routes(path);
    let mut own = routes.into_iter().filter(|(found, _)| {
        found.route.as_ref().is_some_and(|route| route.method.as_str() == call.method.node)
    });
    let (_, parameters) = own.next().filter(|(found, _)| std::ptr::eq(*found, contract))?;
    let mut texts = Map::new();
    let inputs = route.segments.iter().filter_map(|segment| match segment {
        Segment::Input(id) => Some(&contract.inputs[*id].name),
        Segment::Literal(_) => None,
    });
    for (name, text) in inputs.zip(parameters) {
        let text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        texts.insert(name.clone(), text.into());
    }
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        texts.insert(name.into_owned(), text.into());
    }
    let headers = call.headers.iter();
    let headers =
        headers.map(|(name, value)| (name.node.to_lowercase(), value.node.as_str().into()));
    let body = call.body.as_ref().map(|body| body.node.as_str());
    Some(json!({ "texts": texts, "headers": headers.collect::<Map<_, _>>(), "body": body }))
}
