//! What a server answers while its systems are opened: `/health` as ever, and everything else that it is not ready.

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode};
use latchkey_runtime::Problem;

use super::{Door, Service, without_body};
use crate::browsers::Cors;
use crate::refusal;
use crate::respond::{self, Response};

/// Says what a server that starts is doing.
#[derive(Clone)]
pub struct Starting(Arc<dyn Fn() -> String + Send + Sync>);

impl Starting {
    /// Calls a function for each request of `/ready`. An empty text says nothing.
    pub fn new(say: impl Fn() -> String + Send + Sync + 'static) -> Starting {
        Starting(Arc::new(say))
    }
}

impl fmt::Debug for Starting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Starting")
    }
}

impl Service {
    /// Whether another service takes its place once the systems are open.
    pub(crate) fn is_starting(&self) -> bool {
        self.settings.starting.is_some()
    }

    /// Answers a request before there is anything to serve.
    pub(crate) fn answer_starting<B>(&self, door: Door, request: &Request<B>) -> Response {
        let path = request.uri().path();
        let hidden = door == Door::Public && self.settings.watched_apart && path == "/ready";
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        let mut response = match (refusal::of_head(request), path) {
            (Some(refusal), _) => self.problem(&refusal),
            (None, "/health") if reads => respond::text(StatusCode::OK, plain, "ok\n"),
            (None, "/ready") if reads && !hidden => {
                let doing = self.settings.starting.as_ref().map(|Starting(say)| say());
                let text = match doing.as_deref() {
                    None | Some("") => "starting\n".to_owned(),
                    Some(doing) => format!("opening: {doing}\n"),
                };
                respond::text(StatusCode::SERVICE_UNAVAILABLE, plain, text)
            }
            _ => {
                let detail = "the server is starting, and nothing was done; try again in a moment";
                self.problem(&Problem::later("starting", detail))
            }
        };
        let cors = match (door, path) {
            (Door::Admin, _) | (Door::Public, "/ready" | "/metrics") => &Cors::None,
            (Door::Public, _) => &self.settings.cors,
        };
        cors.tell(cors.asked(request), &mut response);
        if request.method() == Method::HEAD { without_body(response) } else { response }
    }
}
