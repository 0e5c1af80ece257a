//! Responses of the console, with the headers that keep a page to itself.

use http_body_util::Full;
use hyper::header::{
    self, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, StatusCode};
use latchkey_http::Response;
use maud::Markup;
use serde_json::Value;

/// Everything a page loads comes from the server itself; nothing is run that stands in a page; no page is in a frame.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// What a page shows is for one visitor, and may be another the next time.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("no-store");

/// A page.
pub(crate) fn page(status: StatusCode, page: Markup) -> Response {
    let mut response = bytes(status, "text/html; charset=utf-8", page.into_string());
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
