//! Pages beside the contracts, such as a console: what the service asks of them, and what they may ask of it.
//!
//! A site is another caller of the same door. It says who asks by a token that the service verifies, and its calls are
//! counted, limited and metered as those of anyone.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Instant;

use hyper::body::{Body, Bytes};
use hyper::header::CONNECTION;
use hyper::http::HeaderValue;
use hyper::{HeaderMap, Method, Request, Uri};
use latchkey_language::Span;
use latchkey_runtime::model::Segment;
use latchkey_runtime::{Caller, Problem, Runtime, Trace};
use latchkey_table::{Capacity, Text};

use crate::body::{self, BoxError};
use crate::browsers::{Asked, Cors};
use crate::bug::bug;
use crate::headers;
use crate::refusal;
use crate::respond::Response;
use crate::service::{Door, Seen, Sender, Service, ServiceError, Settings, without_body};
use crate::token::Claims;

/// Pages that a server has beside its contracts.
pub trait Site: fmt::Debug + Send + Sync {
    /// Whether a path is one of the site's.
    fn has(&self, path: &str) -> bool;

    /// Answers a request for one of its paths.
    fn answer<'a>(
        &'a self,
        service: &'a Service,
        visit: Visit,
    ) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

    /// What the site does beside answering, while the server runs. It is dropped when the server stops.
    fn attend<'a>(
        &'a self,
        _service: &'a Service,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async {})
    }
}

/// A request for a page.
#[derive(Debug)]
pub struct Visit {
    /// The method.
    pub method: Method,
    /// The path and the query.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// The other end of the connection.
    pub peer: IpAddr,
}

/// An answer, and how it came about.
#[derive(Debug)]
pub struct Traced {
    /// The answer.
    pub response: Response,
    /// The contract that answered, with the place of its system among those of the service; none, if no route matched.
    pub contract: Option<(usize, Text)>,
    /// What was asked of the table.
    pub trace: Trace,
    /// What that consumed.
    pub capacity: Capacity,
    /// The statement of the document that refused it, if one did.
    pub at: Option<Span>,
    /// How long it took, in microseconds.
    pub micros: u64,
}

impl Service {
    /// Whether the server has pages beside its contracts.
    pub fn has_site(&self) -> bool {
        self.settings.site.is_some()
    }

    /// Does what the site does beside answering, if there is a site. Whoever runs the server runs this, too, and drops
    /// it in the end.
    pub async fn attend_site(&self) {
        if let Some(site) = &self.settings.site {
            site.attend(self).await;
        }
    }

    /// Whether a path is one of the site's, at one of the server's addresses.
    pub(crate) fn is_of_site(&self, door: Door, path: &str) -> bool {
        let here = match door {
            Door::Public => !self.settings.watched_apart,
            Door::Admin => self.settings.watched_apart,
        };
        here && self.settings.site.as_ref().is_some_and(|site| site.has(path))
    }

    /// Answers a request for a page of the site. No page of another origin is let in, whatever it may call.
    pub(crate) async fn visit<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let head_alone = request.method() == Method::HEAD;
        let id = headers::request_id(request.headers()).map_or_else(|| self.next_id(), Text::from);
        let mut response = self.visit_plainly(request, sender).await;
        match HeaderValue::from_str(&id) {
            Ok(id) => drop(response.headers_mut().insert(headers::REQUEST_ID, id)),
            Err(_) => drop(bug(format!("`{id}` cannot be sent as a header"))),
        }
        Cors::None.tell(Asked::default(), &mut response);
        if head_alone { without_body(response) } else { response }
    }

    async fn visit_plainly<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if let Some(refusal) = refusal::of_head(&request) {
            return self.problem(&refusal);
        }
        let (parts, body) = request.into_parts();
        let read = body::read(&parts.headers, body, &self.budget, sender).await;
        let (body, _room) = match read {
            Ok(read) => read,
            Err(problem) => {
                let mut response = self.problem(&problem);
                // What is left of the body would be taken for the next request.
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                return response;
            }
        };
        let Some(site) = &self.settings.site else {
            return self.problem(&bug("there is no site"));
        };
        let (method, uri, headers, peer) = (parts.method, parts.uri, parts.headers, sender.peer);
        let visit = Visit { method, uri, headers, body, peer };
        site.answer(self, visit).await
    }

    /// Who a token says the caller is, or why it is not believed.
    pub async fn identify(
        &self,
        token: &str,
        headers: &HeaderMap,
        peer: IpAddr,
    ) -> Result<Claims, Problem> {
        self.believe(token, headers, Sender { peer, life: None }).await
    }

    /// Answers a request of someone who is on a page, as that of anyone: routed, limited, counted and logged. Tells what
    /// it asked of the table besides.
    pub async fn answer_traced<B>(&self, request: Request<B>, peer: IpAddr) -> Traced
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let sender = Sender { peer, life: None };
        let mut seen = Seen::new(sender, Instant::now(), request.body().is_end_stream());
        seen.trace = Some(Trace::new());
        let response = self.answer_seen(request, &mut seen).await;
        let micros = u64::try_from(seen.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let contract = seen.target.map(|target| (target.runtime, target.info.id.clone()));
        let trace = seen.trace.unwrap_or_default();
        Traced { response, contract, trace, capacity: seen.capacity, at: seen.at, micros }
    }
}

/// Refuses contracts whose path can be one of the site's, where both are at one address.
pub(crate) fn refuse_hidden(runtimes: &[Runtime], settings: &Settings) -> Result<(), ServiceError> {
    let Some(site) = settings.site.as_ref().filter(|_| !settings.watched_apart) else {
        return Ok(());
    };
    for (_, info) in runtimes.iter().flat_map(|runtime| runtime.system().routes()) {
        // A parameter can be any text; what stands there does not make a path the site's.
        let segments = info.path.iter().map(|segment| match segment {
            Segment::Literal(text) => format!("/{text}"),
            Segment::Input(_) => "/{}".to_owned(),
        });
        let path: String = segments.collect();
        let path = if path.is_empty() { "/".to_owned() } else { path };
        if site.has(&path) {
            return Err(ServiceError::Site { path, contract: info.id.clone() });
        }
    }
    Ok(())
}

impl From<Claims> for Caller {
    fn from(claims: Claims) -> Caller {
        Caller { id: claims.sub, roles: claims.roles, orgs: claims.orgs }
    }
}
