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

const PROBLEM: &str = "application/problem+json";

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
    leading(StatusCode::SEE_OTHER, path)
}

/// Leads to where a page always is.
pub(crate) fn moved(path: &str) -> Response {
    leading(StatusCode::PERMANENT_REDIRECT, path)
}

fn leading(status: StatusCode, path: &str) -> Response {
    let mut response = bytes(status, "text/plain; charset=utf-8", String::new());
    // A path of ours is ASCII; without the header a browser shows the empty page.
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    guard(response.headers_mut());
    response
}

/// Why the console does not do what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What was sent is not what the page takes.
    Malformed,
    /// Nobody is signed in.
    Unauthenticated,
    /// It is not for the visitor.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The page takes other methods.
    Method,
    /// A store does not answer now.
    Unavailable,
    /// A bug of the console.
    Bug,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Refusal::Malformed => StatusCode::BAD_REQUEST,
            Refusal::Unauthenticated => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden => StatusCode::FORBIDDEN,
            Refusal::NotFound => StatusCode::NOT_FOUND,
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The code of the problem, which contracts have, too.
    fn code(self) -> &'static str {
        match self {
            Refusal::Malformed => "invalid-input",
            Refusal::Unauthenticated => "unauthenticated",
            Refusal::Forbidden => "forbidden",
            Refusal::NotFound => "not-found",
            Refusal::Method => "method-not-allowed",
            Refusal::Unavailable => "store-unavailable",
            Refusal::Bug => "internal-error",
        }
    }

    /// What a program is told that asks for a page.
    fn detail(self) -> &'static str {
        match self {
            Refusal::Malformed => "the page does not take this",
            Refusal::Unauthenticated => "sign in with a token",
            Refusal::Forbidden => "the console does not do this for you",
            Refusal::NotFound => "the console has no such page",
            Refusal::Method => "this page takes other methods",
            Refusal::Unavailable => "the store does not answer now",
            Refusal::Bug => "the console failed",
        }
    }
}

/// A page that tells of a refusal; a program gets a problem instead.
pub(crate) fn refusal(refusal: Refusal, told: Markup) -> Response {
    let mut response = page(refusal.status(), told);
    response.extensions_mut().insert(refusal);
    response
}

/// A problem for a script, as contracts have them.
pub(crate) fn problem(refusal: Refusal, detail: &str) -> Response {
    let mut response = bytes(refusal.status(), PROBLEM, written(refusal, detail));
    response.headers_mut().insert(CACHE_CONTROL, NOT_KEPT);
    response
}

fn written(refusal: Refusal, detail: &str) -> String {
    let mut body = String::new();
    let problem = Problem::new(refusal.status().as_u16(), refusal.code(), detail);
    problem.write(PROBLEM_BASE, None, &mut body);
    body
}

/// A refusal as whoever asks can read it: a page for people, and for programs a problem as the contracts have them.
pub(crate) fn readable(response: Response, asked: &HeaderMap) -> Response {
    let accepts = |kind: &HeaderValue| kind.to_str().is_ok_and(|kind| kind.contains("text/html"));
    let refusal = response.extensions().get::<Refusal>().copied();
    let Some(refusal) = refusal.filter(|_| !asked.get_all(ACCEPT).iter().any(accepts)) else {
        return response;
    };
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
    Response::from_parts(parts, Full::new(written(refusal, refusal.detail()).into()))
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
