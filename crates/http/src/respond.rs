//! Responses.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, LOCATION, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use hyper::{HeaderMap, StatusCode};
use latchkey_runtime::{Answer, Freshness, Outcome, Problem};
use latchkey_table::Capacity;

use crate::bug::bug;
use crate::headers::{CAPACITY, CONTRACT, REPLAYED};

/// A response with its whole body in memory.
pub type Response = hyper::Response<Full<Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
/// An answer is for its caller only, and a cache must ask again each time.
const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

const VARY_BY: HeaderValue = HeaderValue::from_static("authorization");

/// Room for the headers of an answer, so that they are not moved once they are there.
const HEADERS: usize = 16;

/// A response of bytes.
pub(crate) fn text(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().reserve(HEADERS);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The body of a problem, whose `type` is below a base.
pub(crate) fn problem_body(problem: &Problem, contract: Option<&str>, base: &str) -> String {
    let mut body = String::with_capacity(256);
    problem.write(base, contract, &mut body);
    body
}

/// The response to a problem.
pub(crate) fn problem(problem: &Problem, contract: Option<&str>, base: &str) -> Response {
    let Ok(status) = StatusCode::from_u16(problem.status) else {
        // The status of a bug is valid, so this ends.
        let bug = bug(format!("`{}` is not a status", problem.status));
        return self::problem(&bug, contract, base);
    };
    let mut response = text(status, PROBLEM, problem_body(problem, contract, base));
    let headers = response.headers_mut();
    if let Some(seconds) = problem.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if problem.status == 415 {
        // A body must not be compressed either (RFC 9110, 15.5.16).
        headers.insert(hyper::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    response
}

/// The response to a method that no route of the path has.
pub(crate) fn not_allowed(allow: &[&str], asked: bool, base: &str) -> Response {
    let mut response = if asked {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        response
    } else {
        let detail = format!("this path takes {}, and nothing else", allow.join(", "));
        problem(&Problem::new(405, "method-not-allowed", detail), None, base)
    };
    match HeaderValue::from_str(&allow.join(", ")) {
        Ok(allow) => response.headers_mut().insert(ALLOW, allow),
        Err(_) => {
            return problem(&bug(format!("{allow:?} cannot be sent as a header")), None, base);
        }
    };
    response
}

/// The response to a call.
pub(crate) fn outcome(outcome: Outcome, base: &str) -> Response {
    let answered = outcome.result.and_then(answer);
    let mut response = match answered {
        Ok(response) => response,
        // A refusal does not tell when another has read the item.
        Err(refusal) => return problem(&refusal, outcome.contract.as_deref(), base),
    };
    if outcome.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    outcome.fresh.into_iter().for_each(|fresh| tell_freshness(response.headers_mut(), fresh));
    response
}

/// Tells caches how old an answer is, how long it may be used, and for whom.
fn tell_freshness(headers: &mut HeaderMap, fresh: Freshness) {
    if let Some(age) = fresh.age_s {
        headers.insert(AGE, HeaderValue::from(age));
    }
    let whose = if fresh.open { "public" } else { "private" };
    let told = format!("{whose}, max-age={}", fresh.lasts_s);
    match HeaderValue::try_from(&told) {
        Ok(told) => drop(headers.insert(CACHE_CONTROL, told)),
        Err(_) => drop(bug(format!("`{told}` cannot be sent as a header"))),
    }
    if !fresh.open {
        // The cache of one browser may have several callers.
        headers.insert(VARY, VARY_BY);
    }
}

fn answer(answer: Answer) -> Result<Response, Problem> {
    let status = StatusCode::from_u16(answer.status)
        .map_err(|_| bug(format!("`{}` is not a status", answer.status)))?;
    let mut response = match status {
        StatusCode::NO_CONTENT => Response::new(Full::default()),
        _ => text(status, JSON, answer.body),
    };
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, PRIVATE);
    for (name, value) in [(ETAG, answer.etag), (LOCATION, answer.found_at)] {
        let Some(value) = value else { continue };
        let sent = HeaderValue::from_str(&value)
            .map_err(|_| bug(format!("`{name}: {value}` cannot be sent as a header")))?;
        headers.insert(name, sent);
    }
    Ok(response)
}

/// Adds the contract and the consumed capacity to a response. The response exists already: a capacity that cannot be
/// sent is logged and counted, and left out.
pub(crate) fn stamp(headers: &mut HeaderMap, contract: &HeaderValue, capacity: Capacity) {
    headers.insert(CONTRACT, contract.clone());
    match HeaderValue::try_from(capacity.to_string()) {
        Ok(capacity) => drop(headers.insert(CAPACITY, capacity)),
        Err(_) => drop(bug(format!("`{capacity}` cannot be sent as a header"))),
    }
}

#[cfg(test)]
mod tests {
    use latchkey_runtime::PROBLEM_BASE;

    use super::*;
    use crate::bug;

    fn outcome_of(status: u16, found_at: &str) -> Outcome {
        let answer = Answer {
            status,
            body: "{}".into(),
            etag: Some("\"1\"".into()),
            found_at: Some(found_at.into()),
        };
        Outcome {
            contract: Some("D-01".into()),
            result: Ok(answer),
            capacity: Capacity::default(),
            replayed: false,
            fresh: None,
            trace: Vec::new(),
        }
    }

    // A status that HTTP does not know was answered as 200 or 400, and a `Location` that cannot be sent was left out.
    #[test]
    fn what_cannot_be_sent_is_a_bug_and_counted() {
        let made = outcome(outcome_of(201, "/doors/D1"), PROBLEM_BASE);
        assert_eq!(made.status(), StatusCode::CREATED);
        assert_eq!(made.headers().get(LOCATION).unwrap(), "/doors/D1");
        let before = bug::count();
        for (status, found_at) in [(0, "/doors/D1"), (201, "/doors/\n")] {
            let answered = outcome(outcome_of(status, found_at), PROBLEM_BASE);
            assert_eq!(answered.status().as_u16(), 500);
        }
        let odd = problem(&Problem::new(7, "odd", "odd"), None, PROBLEM_BASE);
        assert_eq!(odd.status().as_u16(), 500);
        // Other tests of this process may meet bugs of their own meanwhile.
        assert!(bug::count() >= before + 3);
    }
}
