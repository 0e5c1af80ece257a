//! The paths of the server itself: `/health`, `/ready`, `/metrics`, `/openapi.json` and those of the test clock.
//!
//! A server may have an address of its own for those who watch it. `/ready` and `/metrics` are then there alone.

use std::sync::atomic::Ordering;

use hyper::body::{Body, Bytes};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, Request, StatusCode};
use latchkey_runtime::Problem;
use latchkey_table::{Error, ReadOnly};
use latchkey_value::name::{OPENAPI_PATH, SERVER_PATHS};

use super::{MoreMetrics, Sender, Service, without_body};
use crate::body::BoxError;
use crate::browsers::{Asked, Cors};
use crate::bug::bug;
use crate::headers;
use crate::log::Log;
use crate::metrics;
use crate::refusal;
use crate::respond::{self, Response};
use crate::test_clock::TestClock;

/// Which of a server's addresses a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// That of callers.
    Public,
    /// That of those who watch the server.
    Admin,
}

impl Service {
    /// Answers a request that came to the address of those who watch the server.
    pub(crate) async fn answer_admin<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if self.is_of_site(Door::Admin, request.uri().path()) {
            return self.visit(request, sender).await;
        }
        let refusal = refusal::of_head(&request);
        let (parts, _) = request.into_parts();
        let own =
            SERVER_PATHS.into_iter().find(|own| parts.uri.path().strip_prefix('/') == Some(own));
        let head_alone = parts.method == Method::HEAD;
        let mut response = match (refusal, own) {
            (Some(refusal), _) => self.problem(&refusal),
            (None, Some(path)) => self.own(Door::Admin, path, parts.method, &parts.headers).await,
            (None, None) => self.elsewhere(Door::Admin),
        };
        // No page of another origin is let in here.
        Cors::None.tell(Asked::default(), &mut response);
        if head_alone { without_body(response) } else { response }
    }

    /// The answer to a path that another address of the server has, or none.
    fn elsewhere(&self, door: Door) -> Response {
        let detail = match door {
            Door::Public => "this address has no such path; the server is watched at another",
            Door::Admin => "this address has `/health`, `/ready` and `/metrics` alone",
        };
        self.problem(&Problem::new(404, "not-found", detail))
    }

    /// Answers a path of the test clock.
    pub(super) async fn move_clock(
        &self,
        clock: &TestClock,
        path: &str,
        method: &Method,
        headers: &HeaderMap,
    ) -> Response {
        if method != Method::POST {
            let asked = method == Method::OPTIONS;
            return respond::not_allowed(&["POST"], asked, self.problem_base());
        }
        let passed = match (path, path.strip_prefix("queues/"), self.instant(headers)) {
            ("pass", _, Ok(Some(instant))) => clock.pass(&self.runtimes, instant).await,
            ("pass", _, _) => {
                return self.problem(&Problem::bad("`Latchkey-Now` says up to when"));
            }
            (_, Some(path), _) if clock.set(path, &self.runtimes) => Ok(()),
            _ => {
                let detail = "the test clock has no such path, or there is no such queue";
                return self.problem(&Problem::new(404, "not-found", detail));
            }
        };
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        match passed {
            Ok(()) => respond::text(StatusCode::OK, plain, "ok\n"),
            Err(error) => {
                respond::text(StatusCode::SERVICE_UNAVAILABLE, plain, format!("{error}\n"))
            }
        }
    }

    /// Answers `/health`, `/ready`, `/metrics` and `/openapi.json`.
    pub(super) async fn own(
        &self,
        door: Door,
        path: &str,
        method: Method,
        asked: &HeaderMap,
    ) -> Response {
        let hidden = match door {
            Door::Public => self.settings.watched_apart && matches!(path, "ready" | "metrics"),
            Door::Admin => path == OPENAPI_PATH,
        };
        if hidden {
            return self.elsewhere(door);
        }
        if !matches!(method, Method::GET | Method::HEAD) {
            let asked = method == Method::OPTIONS;
            return respond::not_allowed(&["GET", "HEAD"], asked, self.problem_base());
        }
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        match path {
            "health" => respond::text(StatusCode::OK, plain, "ok\n"),
            "metrics" => {
                let mut text = String::new();
                let lost = self.settings.log.as_ref().map(Log::lines_lost);
                let taken = (self.budget.taken(), self.answers.taken());
                self.metrics.render(lost, taken, &mut text);
                metrics::render_caches(&self.runtimes, &mut text);
                if let Some(provider) = self.tokens.provider() {
                    provider.render(&mut text);
                }
                if let Some(MoreMetrics(write)) = &self.settings.more_metrics {
                    text.push_str(&write().await);
                }
                let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                respond::text(StatusCode::OK, kind, text)
            }
            "ready" => {
                let (status, text) = self.readiness().await;
                let mut response = respond::text(status, plain, text);
                if self.settings.test_clock.is_some() {
                    let on = HeaderValue::from_static("on");
                    response.headers_mut().insert(headers::TEST_CLOCK, on);
                }
                response
            }
            OPENAPI_PATH => match &self.openapi {
                Some(openapi) => openapi.answer(asked),
                None => {
                    let detail = "this server has no OpenAPI document";
                    self.problem(&Problem::new(404, "not-found", detail))
                }
            },
            other => self.problem(&bug(format!("`/{other}` is not the server's own"))),
        }
    }

    /// Whether it can answer calls, and if not, why: a status and a line of text.
    pub async fn readiness(&self) -> (StatusCode, &'static str) {
        if self.draining.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        if let Some(provider) = self.tokens.provider()
            && provider.count() == 0
        {
            let text = match provider.is_loaded() {
                true => "the identity provider has no key that can verify a token\n",
                false => "the keys of the identity provider are not known yet\n",
            };
            return (StatusCode::SERVICE_UNAVAILABLE, text);
        }
        for runtime in &self.runtimes {
            let text = match runtime.ready().await {
                Ok(()) => continue,
                // The store has logged it, once.
                Err(Error::ReadOnly { why: ReadOnly::NoRoom }) => {
                    "the disk of the store is nearly full; reads are answered, writes are refused\n"
                }
                Err(Error::ReadOnly { why: ReadOnly::FileGone }) => {
                    "a file of the store is gone; writes are refused until the server is started again\n"
                }
                Err(Error::ReadOnly { why: ReadOnly::JournalFails }) => {
                    "a journal of the store cannot be written; reads are answered, writes are refused\n"
                }
                Err(Error::ReadOnly { why: ReadOnly::FileLimit }) => {
                    "a file of the store reached a limit on the size of files (`ulimit -f`); writes are refused\n"
                }
                Err(error) => {
                    tracing::warn!(system = runtime.system().name(), %error, "not ready");
                    "the store is unavailable\n"
                }
            };
            return (StatusCode::SERVICE_UNAVAILABLE, text);
        }
        (StatusCode::OK, "ready\n")
    }
}
