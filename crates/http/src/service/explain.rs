//! `/problems/{code}`: what a code means, as a page for people and as JSON for programs.
//!
//! The `type` of a problem leads here unless the server was told of another place. The pages are made when the server
//! starts. A contract that has such a path answers itself; the pages must then be elsewhere.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderValue, VARY};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};
use latchkey_runtime::{PROBLEM_BASE, Problem};

use super::{Service, ServiceError, Settings, Target};
use crate::respond::{self, Response};
use crate::router::{Matched, Router};

/// What a code means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: String,
    /// The page for people.
    pub html: Bytes,
    /// The same for programs.
    pub json: Bytes,
}

/// Refuses contracts that hide the pages to which problems lead.
pub(super) fn refuse_hidden(
    router: &Router<Arc<Target>>,
    settings: &Settings,
) -> Result<(), ServiceError> {
    let pages = settings.explanations.iter().filter(|_| settings.problem_base == PROBLEM_BASE);
    for page in pages {
        let path = format!("{PROBLEM_BASE}/{}", page.code);
        if !matches!(router.find(Method::GET.as_str(), &path), Matched::Nothing) {
            return Err(ServiceError::Page { path });
        }
    }
    Ok(())
}

impl Service {
    /// Answers a path that no contract has: the page of a problem, or that there is nothing.
    pub(super) fn explain(&self, asked: &Parts) -> Response {
        let code =
            asked.uri.path().strip_prefix(PROBLEM_BASE).and_then(|path| path.strip_prefix('/'));
        let found = self.settings.explanations.iter().find(|page| Some(&*page.code) == code);
        let Some(page) = found else {
            let detail = match code {
                Some(_) => "no problem of this server has this code",
                None => "no contract has this path; the document that is served has all paths",
            };
            return self.problem(&Problem::new(404, "not-found", detail));
        };
        if !matches!(asked.method, Method::GET | Method::HEAD) {
            let options = asked.method == Method::OPTIONS;
            return respond::not_allowed(&["GET", "HEAD"], options, self.problem_base());
        }
        let (kind, body) = match wants_page(&asked.headers) {
            true => ("text/html; charset=utf-8", &page.html),
            false => ("application/json", &page.json),
        };
        let kind = HeaderValue::from_static(kind);
        let mut response = respond::text(StatusCode::OK, kind, body.clone());
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        response
    }
}

/// Whether a request asks for a page rather than for JSON, as browsers do.
fn wants_page(headers: &HeaderMap) -> bool {
    let given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut page, mut json) = (0.0, 0.0);
    for range in given.flat_map(|value| value.split(',')) {
        let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
        let weight = parameters.split(';').find_map(|one| one.trim().strip_prefix("q="));
        // A range without a weight has all of it; one that cannot be read has none.
        let weight = weight.map_or(1.0, |weight| weight.parse::<f32>().unwrap_or(0.0));
        match media.trim().to_ascii_lowercase().as_str() {
            "text/html" => page = weight,
            "application/json" | "application/problem+json" => json = weight.max(json),
            _ => {}
        }
    }
    page > json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_gets_a_page_and_a_program_json() {
        let wants = |accept: &'static str| {
            let headers = [(ACCEPT, HeaderValue::from_static(accept))];
            wants_page(&headers.into_iter().collect())
        };
        for page in [
            "text/html",
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8",
            "application/json;q=0.5, Text/HTML;q=0.6",
        ] {
            assert!(wants(page), "{page}");
        }
        for json in [
            "",
            "*/*",
            "application/json",
            "text/html;q=0",
            "application/json, text/html",
            "text/html;q=x",
        ] {
            assert!(!wants(json), "{json}");
        }
        assert!(!wants_page(&HeaderMap::new()));
    }
}
