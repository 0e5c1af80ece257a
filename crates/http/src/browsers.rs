//! What browsers are told of every answer: which pages may read it (CORS), and what it must not be taken for.
//!
//! Tokens come in `Authorization` and never in a cookie, so no answer allows credentials. A preflight is an `OPTIONS`
//! that says which method would follow. It is answered as any other `OPTIONS`, without a token; if the path has the
//! method and the page may call, the answer says so too.

mod origin;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request};

use crate::bug::bug;
use crate::respond::Response;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The headers that a page may send.
const SENT: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id",
);

/// The headers that a page may read, beside those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(concat!(
    "Accept-Encoding, Age, Allow, Date, ETag, Idempotency-Replayed, Latchkey-Capacity, Latchkey-Contract, ",
    "Location",
    ", RateLimit, RateLimit-Policy, Retry-After, Vary, WWW-Authenticate, X-Request-Id"
));

/// How long a browser may remember a preflight, in seconds: as long as any browser does.
const REMEMBERED: HeaderValue = HeaderValue::from_static("7200");

/// An answer is data. A page that is made of one runs nothing, loads nothing, and is in no frame.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");

/// The pages that may call the service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cors {
    /// Those of no other origin.
    #[default]
    None,
    /// Those of every origin.
    Any,
    /// Those of some origins.
    Of(Vec<HeaderValue>),
}

/// Why a text is not an origin whose pages can be let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{origin}` {reason}")]
pub struct BadOrigin {
    /// The text.
    pub origin: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Cors {
    /// Reads origins such as `https://app.example`, or `*`. Without any, no page of another origin may call.
    ///
    /// ```
    /// use latchkey_http::Cors;
    /// assert!(Cors::read(&["https://app.example", "http://localhost:3000"]).is_ok());
    /// assert!(Cors::read(&["https://app.example/"]).is_err());
    /// ```
    pub fn read<T: AsRef<str>>(origins: &[T]) -> Result<Cors, BadOrigin> {
        let bad = |origin: &str, reason: &str| {
            let (origin, reason) = (origin.to_owned(), reason.to_owned());
            BadOrigin { origin, reason }
        };
        let mut all = Vec::new();
        for origin in origins.iter().map(AsRef::as_ref) {
            if origin == "*" {
                return match origins.len() {
                    1 => Ok(Cors::Any),
                    _ => Err(bad(origin, "is every origin; leave the others out")),
                };
            }
            if let Some(reason) = origin::wrong(origin) {
                return Err(bad(origin, &reason));
            }
            let value = HeaderValue::from_str(origin);
            all.push(value.map_err(|_| bad(origin, "cannot be sent in a header"))?);
        }
        Ok(if all.is_empty() { Cors::None } else { Cors::Of(all) })
    }

    /// What a request asks as the request of a page.
    pub(crate) fn asked<B>(&self, request: &Request<B>) -> Asked {
        let granted = match self {
            Cors::None => return Asked::default(),
            Cors::Any => Some(HeaderValue::from_static("*")),
            Cors::Of(origins) => {
                let mut given = request.headers().get_all(ORIGIN).iter();
                let one = given.next().filter(|_| given.next().is_none());
                one.filter(|origin| origins.contains(origin)).cloned()
            }
        };
        let preflight = (request.method() == Method::OPTIONS)
            .then(|| request.headers().get(ACCESS_CONTROL_REQUEST_METHOD).cloned());
        Asked { granted, preflight: preflight.flatten() }
    }

    /// What a request asks of which nothing could be read. It may be that of any page, and where all may call, so may
    /// that one.
    pub(crate) fn unread(&self) -> Asked {
        let granted = match self {
            Cors::Any => Some(HeaderValue::from_static("*")),
            // Which of them it is for is not known.
            Cors::None | Cors::Of(_) => None,
        };
        Asked { granted, preflight: None }
    }

    /// Adds to an answer what browsers are told.
    pub(crate) fn tell(&self, asked: Asked, response: &mut Response) {
        let allow = response.headers().get(ALLOW).cloned();
        let headers = response.headers_mut();
        protect(headers, *self == Cors::Any);
        if let Cors::Of(_) = self {
            // Also where no origin is granted: a cache must not give this answer to a page of one that is.
            vary_by_origin(headers);
        }
        let Some(granted) = asked.granted else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, granted);
        let Some(method) = asked.preflight else {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
            return;
        };
        if let Some(allow) = allow.filter(|allow| lists(allow, &method)) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, allow);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, SENT);
            headers.insert(ACCESS_CONTROL_MAX_AGE, REMEMBERED);
        }
    }
}

/// What a request asks as the request of a page.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The origin that the answer is for: that of the page, or `*`.
    granted: Option<HeaderValue>,
    /// The method that would follow a preflight.
    preflight: Option<HeaderValue>,
}

/// Says what an answer must not be taken for.
fn protect(headers: &mut HeaderMap, for_all: bool) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // A page that runs scripts says itself which.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(POLICY);
    // This is for pages that load an answer without CORS, as an image or a script; CORS grants nothing of that.
    let policy = if for_all { "cross-origin" } else { "same-origin" };
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static(policy));
}

fn vary_by_origin(headers: &mut HeaderMap) {
    let both = match headers.get(VARY).map(HeaderValue::to_str) {
        None => Ok(HeaderValue::from_static("origin")),
        Some(Ok(vary)) => HeaderValue::try_from(format!("{vary}, origin")),
        Some(Err(_)) => return drop(bug("`Vary` is not a text")),
    };
    match both {
        Ok(both) => drop(headers.insert(VARY, both)),
        Err(_) => drop(bug("`Vary` cannot be sent as a header")),
    }
}

/// Whether the methods of a path have one.
fn lists(allow: &HeaderValue, method: &HeaderValue) -> bool {
    let mut all = allow.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    all.any(|allowed| allowed == method.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_named_one_by_one_or_all_are_let_in() {
        let good = ["https://app.example", "capacitor://localhost"];
        let listed = good.map(HeaderValue::from_static).to_vec();
        assert_eq!(Cors::read(&good), Ok(Cors::Of(listed)));
        let told = Cors::read(&["https://good.example", "https://App.example"]).unwrap_err();
        let expected =
            "`https://App.example` is never sent so; write `https://app.example`, as browsers do";
        assert_eq!(told.to_string(), expected);
        assert_eq!(Cors::read(&["*"]), Ok(Cors::Any));
        assert!(Cors::read(&["https://a.example", "*"]).is_err());
        assert_eq!(Cors::read::<&str>(&[]), Ok(Cors::None));
    }
}
