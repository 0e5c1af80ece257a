//! Reads the headers of a request.

use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH,
};
use latchkey_runtime::model::Method;
use latchkey_runtime::{IfMatch, Problem};
use latchkey_table::{Number, Text};
use latchkey_value::id::is_id;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const CONTRACT: HeaderName = HeaderName::from_static("latchkey-contract");
pub(crate) const CAPACITY: HeaderName = HeaderName::from_static("latchkey-capacity");
/// The instant of a call, on a server with a test clock.
pub(crate) const NOW: HeaderName = HeaderName::from_static("latchkey-now");
/// Says that the server has a test clock.
pub(crate) const TEST_CLOCK: HeaderName = HeaderName::from_static("latchkey-test-clock");
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The most tags of an `If-Match`.
const TAGS_MAX: usize = 100;

/// The bearer token of a request, or why there is none.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, &'static str> {
    const SEND: &str = "send `authorization: Bearer TOKEN`";
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let value = all.next().ok_or(SEND)?;
    if all.next().is_some() {
        return Err("the request has several `authorization` headers; send one");
    }
    let (scheme, token) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(SEND)?;
    let bearer = scheme.eq_ignore_ascii_case("bearer");
    if bearer { Ok(token.trim_start_matches(' ')) } else { Err(SEND) }
}

/// Whether `Content-Type` says JSON in UTF-8, and nothing else says otherwise.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let (Some(Ok(value)), None) = (all.next().map(HeaderValue::to_str), all.next()) else {
        return false;
    };
    let media = value.split(';').next().unwrap_or_default().trim();
    let json = media.eq_ignore_ascii_case("application/json");
    let utf8 = value.split(';').skip(1).all(|parameter| match parameter.trim().split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    json && utf8
}

/// Whether a body is sent as it is, and not compressed.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    headers.get_all(CONTENT_ENCODING).iter().all(plain)
}

/// The versions an `If-Match` names. The OpenAPI document has as a pattern what is taken.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<IfMatch>, Problem> {
    let mut versions = Vec::new();
    let (mut given, mut tags) = (false, 0usize);
    for value in headers.get_all(IF_MATCH) {
        given = true;
        let bad = || {
            Problem::bad(format!(
                "`If-Match` must be `*` or tags such as `\"3\"`, at most {TAGS_MAX}"
            ))
        };
        let value = value.to_str().map_err(|_| bad())?.trim();
        if value == "*" {
            return Ok(Some(IfMatch::Any));
        }
        let mut rest = value;
        loop {
            let weak = rest.strip_prefix("W/");
            let opened = weak.unwrap_or(rest).strip_prefix('"').ok_or_else(bad)?;
            let (tag, after) = opened.split_once('"').ok_or_else(bad)?;
            tags = tags.saturating_add(1);
            if tags > TAGS_MAX || tag.contains('\t') {
                return Err(bad());
            }
            // The hash of a body behind a version is not compared.
            let tag = tag.split_once('-').map_or(tag, |(version, _)| version);
            // A weak tag never matches, and neither does a tag that the server would not write for any version.
            if weak.is_none()
                && let Ok(version) = tag.parse::<Number>()
                && version.to_string() == tag
            {
                versions.push(version);
            }
            match after.trim_start().strip_prefix(',') {
                Some(next) => rest = next.trim_start(),
                None if after.trim().is_empty() => break,
                None => return Err(bad()),
            }
        }
    }
    Ok(given.then_some(IfMatch::OneOf(versions)))
}

/// Whether an `If-Match` of a `GET` fails: it names tags, and the answer has none of them. Tags are compared whole, and
/// no weak one is the same, as RFC 9110 asks here.
pub(crate) fn is_stale(headers: &HeaderMap, etag: Option<&str>) -> bool {
    let mut given =
        headers.get_all(IF_MATCH).iter().filter_map(|value| value.to_str().ok()).peekable();
    let named = |value: &str| {
        let mut tags = value.split(',').map(str::trim);
        value.trim() == "*" || tags.any(|tag| etag.is_some_and(|etag| tag == etag))
    };
    given.peek().is_some() && !given.any(named)
}

/// Whether a call may only make something new: `If-None-Match: *`. A `GET` asks for something else with this header.
pub(crate) fn makes_alone(headers: &HeaderMap, method: Option<Method>) -> Result<bool, Problem> {
    let mut given = headers.get_all(IF_NONE_MATCH).iter().filter(|_| method != Some(Method::Get));
    match (given.next(), given.next()) {
        (None, _) => Ok(false),
        (Some(all), None) if all.as_bytes().trim_ascii() == b"*" => Ok(true),
        _ => Err(Problem::bad(
            "`If-None-Match` of a call that may change something must be `*`; `If-Match` names versions",
        )),
    }
}

/// Whether `If-None-Match` names this tag: the caller has this version already.
pub(crate) fn has_already(headers: &HeaderMap, etag: &str) -> bool {
    headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        let same = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag) == etag;
        value.trim() == "*" || value.split(',').map(str::trim).any(same)
    })
}

/// The `Idempotency-Key`.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<Text>, Problem> {
    let mut all = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = all.next() else { return Ok(None) };
    match value.to_str() {
        Ok(key) if all.next().is_none() => Ok(Some(key.trim().into())),
        Ok(_) => Err(Problem::bad("`Idempotency-Key` must be given once")),
        Err(_) => Err(Problem::bad("`Idempotency-Key` must have visible characters alone")),
    }
}

/// The id that the request brings, if it is a valid one.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    is_id(id).then_some(id)
}
