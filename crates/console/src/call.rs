//! Calls a contract for a visitor, and tells how it went.
//!
//! A script sends the request that a client would make, and the service answers it as that of anyone: by the same routes,
//! with the same checks, limits and counters. The visitor's token is added here, so no script ever has it.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use latchkey_http::{Response, Service, Traced, Visit};
use latchkey_language::Span;
use latchkey_table::render::Rendered;
use serde_json::{Map, Value, json};

use crate::answer::Refusal;
use crate::secret::{SECRET, SecretKeys};
use crate::session::{Visitor, is_at_home};
use crate::{Console, answer};

/// The headers of a call that a visitor may give.
const GIVEN: [&str; 5] =
    ["idempotency-key", "if-match", "if-none-match", "latchkey-now", "x-request-id"];

pub(crate) async fn answer(
    console: &Console,
    service: &Service,
    visitor: &Visitor,
    visit: Visit,
) -> Response {
    let request = match request(visitor, &visit) {
        Ok(request) => request,
        Err(detail) => return answer::problem(Refusal::Malformed, &detail),
    };
    let traced = service.answer_traced(request, visit.peer).await;
    // Whoever may see the table, or be at a click someone who may, sees the requests with all that is in them.
    let whole = visitor.admin || (console.has_personas() && is_at_home(&visit.headers));
    answer::json(StatusCode::OK, &told(console, traced, whole).await)
}

/// The request that a client would make.
fn request(visitor: &Visitor, visit: &Visit) -> Result<Request<Full<Bytes>>, String> {
    let asked: Value = serde_json::from_slice(&visit.body)
        .map_err(|error| format!("this is not JSON: {error}"))?;
    let text = |name: &str| asked.get(name).and_then(Value::as_str);
    let (Some(method), Some(path)) = (text("method"), text("path")) else {
        return Err("a call has a `method` and a `path`".to_owned());
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(|error| error.to_string())?;
    let mut request = Request::builder().method(method).uri(path);
    for name in GIVEN {
        let value =
            asked.get("headers").and_then(|headers| headers.get(name)).and_then(Value::as_str);
        if let Some(value) = value {
            request = request.header(HeaderName::from_static(name), value);
        }
    }
    if let Some(host) = visit.headers.get(HOST) {
        request = request.header(HOST, host);
    }
    let mut token = HeaderValue::from_str(&format!("Bearer {}", visitor.token))
        .map_err(|_| "the token cannot be sent".to_owned())?;
    token.set_sensitive(true);
    request = request.header(AUTHORIZATION, token);
    let body = match text("body") {
        Some(body) => {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::copy_from_slice(body.as_bytes())
        }
        None => Bytes::new(),
    };
    request.body(Full::new(body)).map_err(|error| format!("this is not a request: {error}"))
}

/// An answer and, where all may be shown, how it came about: the requests to the table with what they found, and the
/// statement that answered. A contract may answer alike for what is not there and for what is not the caller's.
async fn told(console: &Console, traced: Traced, whole: bool) -> Value {
    let Traced { response, contract, trace, capacity, at, micros } = traced;
    let (parts, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    let headers: Map<String, Value> = parts
        .headers
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned().into())
        })
        .collect();
    let secrets = contract.as_ref().and_then(|(system, _)| console.secrets.get(*system));
    // What a request found, or how far a contract came, may be what the contract hides.
    let requests = trace.iter().filter(|_| whole).map(|step| {
        let rendered = Rendered::of(&step.request);
        let (operation, text) = match &rendered {
            Ok(rendered) => (rendered.operation(), hidden(secrets, rendered.to_json())),
            Err(error) => ("(no rendering)", error.to_string()),
        };
        json!({
            "operation": operation,
            "json": text,
            "outcome": step.outcome,
            "capacity": step.capacity.to_string(),
        })
    });
    let at = at.filter(|_| whole);
    let document = contract.as_ref().and_then(|(system, _)| console.systems.get(*system));
    json!({
        "status": parts.status.as_u16(),
        "headers": headers,
        "body": body,
        "contract": contract.as_ref().map(|(_, id)| id.as_str()),
        "capacity": capacity.to_string(),
        "micros": micros,
        "requests": whole.then(|| requests.collect::<Vec<_>>()),
        "statement": document.zip(at).map(|(document, at)| statement(&document.model.text, at)),
    })
}

/// The JSON of a request without secrets, or nothing of it where it is not known which those are.
fn hidden(secrets: Option<&SecretKeys>, json: String) -> String {
    secrets.map_or_else(|| SECRET.to_owned(), |secrets| secrets.blackened(json))
}

/// A statement of a document: its line, counted from 1, and its text.
fn statement(text: &str, at: Span) -> Value {
    let before = text.get(..at.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text.get(at.end..).unwrap_or_default();
    let end = at.end + rest.find('\n').unwrap_or(rest.len());
    let lines = text.get(start..end).unwrap_or_default();
    json!({ "line": line, "text": lines.trim_end() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_shown_in_its_whole_lines() {
        let text = "a\n  require x\n    else 409 y\nb\n";
        let start = text.find("else").unwrap();
        let told = statement(text, Span::new(start, start + 10));
        assert_eq!(told, json!({ "line": 3, "text": "    else 409 y" }));
    }
}
