//! Responses.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, StatusCode};
use latchkey_runtime::{Outcome, Problem};
use latchkey_table::Capacity;

use crate::headers::{CAPACITY, CONTRACT, REPLAYED};

/// A response, whose body is at hand.
pub type Response = hyper::Response<Full<Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
/// What is answered is the caller's own, and is asked about again each time.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// A response of bytes.
pub(crate) fn text(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The response to a problem.
pub(crate) fn problem(problem: &Problem, contract: Option<&str>) -> Response {
    let mut body = String::with_capacity(256);
    problem.write(contract, &mut body);
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = text(status, PROBLEM, body);
    let headers = response.headers_mut();
    if let Some(seconds) = problem.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The response to a method the path is not known under.
pub(crate) fn not_allowed(allow: &[&str], asked: bool) -> Response {
    let mut response = if asked {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response
    } else {
        let detail = format!("this path takes {}, and nothing else", allow.join(", "));
        problem(&Problem::new(405, "method-not-allowed", detail), None)
    };
    if let Ok(allow) = HeaderValue::from_str(&allow.join(", ")) {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

/// The response to a call.
pub(crate) fn outcome(outcome: Outcome) -> Response {
    let contract = outcome.contract.as_deref();
    let answer = match outcome.result {
        Ok(answer) => answer,
        Err(refusal) => return problem(&refusal, contract),
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = text(status, JSON, answer.body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, PRIVATE);
    if let Some(etag) = answer.etag.and_then(|etag| HeaderValue::try_from(etag).ok()) {
        headers.insert(ETAG, etag);
    }
    if let Some(at) = answer.found_at.and_then(|at| HeaderValue::try_from(at).ok()) {
        headers.insert(LOCATION, at);
    }
    if outcome.replayed {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// Says which contract answered, and what it cost.
pub(crate) fn stamp(headers: &mut HeaderMap, contract: &HeaderValue, capacity: Capacity) {
    headers.insert(CONTRACT, contract.clone());
    if let Ok(capacity) = HeaderValue::try_from(capacity.to_string()) {
        headers.insert(CAPACITY, capacity);
    }
}
