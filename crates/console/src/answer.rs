//! Responses of the console, with the headers that keep a page to itself.

use http_body_util::Full;
use hyper::header::{
    self, ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
};
use hyper::{HeaderMap, StatusCode};
use latchkey_http::Response;
use latchkey_runtime::Problem;
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

/// What a program is told of a refusal.
#[derive(Debug, Clone)]
struct Told {
    refusal: Refusal,
    detail: String,
    /// Whether people are shown a page instead.
    has_page: bool,
}

/// A page that tells of a refusal; a program gets a problem instead.
pub(crate) fn refusal(refusal: Refusal, told: Markup) -> Response {
    let mut response = page(refusal.status(), told);
    let detail = refusal.detail().to_owned();
    response.extensions_mut().insert(Told { refusal, detail, has_page: true });
    response
}

/// A problem for a script, as contracts have them.
pub(crate) fn problem(refusal: Refusal, detail: &str) -> Response {
    let mut response = bytes(refusal.status(), PROBLEM, String::new());
    response.headers_mut().insert(CACHE_CONTROL, NOT_KEPT);
    let detail = detail.to_owned();
    response.extensions_mut().insert(Told { refusal, detail, has_page: false });
    response
}

/// A refusal as whoever asks can read it: a page for people, and for programs a problem as the contracts have them,
/// whose `type` is below a base.
pub(crate) fn readable(mut response: Response, asked: &HeaderMap, base: &str) -> Response {
    let told = response.extensions_mut().remove::<Told>();
    let Some(told) = told.filter(|told| !told.has_page || !reads_pages(asked)) else {
        return response;
    };
    let mut body = String::new();
    let status = told.refusal.status().as_u16();
    Problem::new(status, told.refusal.code(), told.detail).write(base, None, &mut body);
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
    Response::from_parts(parts, Full::new(body.into()))
}

/// Whether whoever asks names pages among what they read, as every browser does. `*/*` names nothing.
fn reads_pages(asked: &HeaderMap) -> bool {
    let all = asked.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/html"));
        named && !parts.any(is_refused)
    })
}

/// Whether a parameter of a range says that it is not wanted: `q=0`, with or without decimals.
fn is_refused(parameter: &str) -> bool {
    let weight = parameter.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.and_then(|(_, weight)| weight.strip_prefix('0')).is_some_and(|rest| {
        rest.strip_prefix('.').unwrap_or(rest).bytes().all(|digit| digit == b'0')
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    // Once, `text/html` anywhere in the header was enough: `text/html;q=0` and `x/text/html` got pages.
    #[test]
    fn a_page_is_for_those_who_name_pages() {
        let reads = |accept: &[&'static str]| {
            let all = accept.iter().map(|one| (ACCEPT, HeaderValue::from_static(one)));
            let mut headers = HeaderMap::new();
            headers.extend(all.map(|(name, value)| (Some(name), value)));
            reads_pages(&headers)
        };
        for accept in [
            &["text/html"][..],
            &["text/html,application/xhtml+xml,*/*;q=0.8"],
            &["application/json , Text/HTML ; q=0.5"],
            &["application/json", "text/html;level=1"],
        ] {
            assert!(reads(accept), "{accept:?}");
        }
        for accept in [
            &[][..],
            &["*/*"],
            &["text/*"],
            &["application/json"],
            &["text/html;q=0"],
            &["text/html; level=1; Q=0.00, */*"],
            &["text/htmlx"],
            &["x-text/html"],
        ] {
            assert!(!reads(accept), "{accept:?}");
        }
    }
}
