//! Responses of the console, with the headers that keep a page to itself.

use http_body_util::Full;
use hyper::header::{
    self, ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, StatusCode};
use latchkey_http::Response;
use latchkey_runtime::{PROBLEM_BASE, Problem};
use maud::Markup;
use serde_json::Value;

/// Everything a page loads comes from the server itself; nothing is run that stands in a page; no page is in a frame.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const PAGE: &str = "text/html; charset=utf-8";

/// What a page shows is for one visitor, and may be another the next time.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");

/// A page.
pub(crate) fn page(status: StatusCode, page: Markup) -> Response {
    let mut response = bytes(status, PAGE, page.into_string());
    guard(response.headers_mut());
    response
}

/// JSON for a script.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = bytes(status, "application/json", value.to_string());
    response.headers_mut().insert(CACHE_CONTROL, NOT_KEPT);
    response
}

/// Leads to another page of the console.
pub(crate) fn see(path: &str) -> Response {
    let mut response = bytes(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", String::new());
    // A path of ours is ASCII; without the header a browser shows the empty page.
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    guard(response.headers_mut());
    response
}

/// A refusal as whoever asks can read it: a page for people, and for programs a problem as the contracts have them.
pub(crate) fn readable(response: Response, asked: &HeaderMap) -> Response {
    let status = response.status();
    let accepts = |kind: &HeaderValue| kind.to_str().is_ok_and(|kind| kind.contains("text/html"));
    let is_page = response.headers().get(CONTENT_TYPE).is_some_and(|kind| *kind == *PAGE);
    if status.as_u16() < 400 || !is_page || asked.get_all(ACCEPT).iter().any(accepts) {
        return response;
    }
    let (code, detail) = match status {
        StatusCode::UNAUTHORIZED => ("unauthenticated", "sign in with a token"),
        StatusCode::FORBIDDEN => ("forbidden", "the console does not do this for you"),
        StatusCode::NOT_FOUND => ("not-found", "the console has no such page"),
        StatusCode::METHOD_NOT_ALLOWED => ("method-not-allowed", "this page takes other methods"),
        _ => ("internal-error", "the console failed"),
    };
    let (mut parts, _) = response.into_parts();
    let mut body = String::new();
    Problem::new(status.as_u16(), code, detail).write(PROBLEM_BASE, None, &mut body);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    Response::from_parts(parts, Full::new(body.into()))
}

/// Bytes of a kind.
pub(crate) fn bytes(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<hyper::body::Bytes>,
) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn guard(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(CACHE_CONTROL, NOT_KEPT);
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
}
