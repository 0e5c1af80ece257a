//! The paths of the server itself: `/health`, `/ready`, `/metrics`, `/openapi.json` and those of the test clock.

use std::sync::atomic::Ordering;

use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, StatusCode};
use latchkey_runtime::Problem;
use latchkey_value::name::OPENAPI_PATH;

use super::{MoreMetrics, Service};
use crate::bug::bug;
use crate::headers;
use crate::log::Log;
use crate::metrics;
use crate::respond::{self, Response};
use crate::test_clock::TestClock;

impl Service {
    /// Answers a path of the test clock.
    pub(super) async fn move_clock(
        &self,
        clock: &TestClock,
        path: &str,
        method: &Method,
        headers: &HeaderMap,
    ) -> Response {
        if method != Method::POST {
            return respond::not_allowed(&["POST"], method == Method::OPTIONS);
        }
        let passed = match (path, path.strip_prefix("queues/"), self.instant(headers)) {
            ("pass", _, Ok(Some(instant))) => clock.pass(&self.runtimes, instant).await,
            ("pass", _, _) => {
                return respond::problem(&Problem::bad("`Latchkey-Now` says up to when"), None);
            }
            (_, Some(path), _) if clock.set(path, &self.runtimes) => Ok(()),
            _ => {
                return respond::problem(
                    &Problem::new(
                        404,
                        "not-found",
                        "the test clock has no such path, or there is no such queue",
                    ),
                    None,
                );
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
    pub(super) async fn own(&self, path: &str, method: Method, asked: &HeaderMap) -> Response {
        if !matches!(method, Method::GET | Method::HEAD) {
            return respond::not_allowed(&["GET", "HEAD"], method == Method::OPTIONS);
        }
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        match path {
            "health" => respond::text(StatusCode::OK, plain, "ok\n"),
            "metrics" => {
                let mut text = String::new();
                let lost = self.settings.log.as_ref().map(Log::lines_lost);
                self.metrics.render(lost, &mut text);
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
                    respond::problem(&Problem::new(404, "not-found", detail), None)
                }
            },
            other => respond::problem(&bug(format!("`/{other}` is not the server's own")), None),
        }
    }

    async fn readiness(&self) -> (StatusCode, &'static str) {
        if self.draining.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        if self.tokens.provider().is_some_and(|provider| !provider.is_loaded()) {
            let text = "the keys of the identity provider are not known yet\n";
            return (StatusCode::SERVICE_UNAVAILABLE, text);
        }
        for runtime in &self.runtimes {
            if let Err(error) = runtime.ready().await {
                tracing::warn!(system = runtime.system().name(), %error, "not ready");
                return (StatusCode::SERVICE_UNAVAILABLE, "the store is unavailable\n");
            }
        }
        (StatusCode::OK, "ready\n")
    }
}
