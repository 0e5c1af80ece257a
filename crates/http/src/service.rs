//! One request, from its head to its response.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router as Axum;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, ETAG};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use latchkey_runtime::model::Segment;
use latchkey_runtime::{Call, Caller, ContractInfo, Problem, Runtime, time};
use latchkey_table::{Capacity, Text};

use crate::headers;
use crate::log::{Entry, Log};
use crate::metrics::Metrics;
use crate::request;
use crate::respond::{self, Response};
use crate::router::{self, Clash, Found, Router};
use crate::test_clock::{self, TestClock};
use crate::token::Tokens;

/// The largest head: path, query and headers.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The largest body.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// The paths that are the server's own.
const OWN: [&str; 3] = ["health", "ready", "metrics"];

/// What a service may be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a call may take.
    pub call_time_max: Duration,
    /// The clock that requests may move, and whose instants they bring in `Latchkey-Now`. For tests alone.
    pub test_clock: Option<Arc<TestClock>>,
    /// Whether every request is told on standard error, as a JSON line.
    pub log_requests: bool,
    /// What else `/metrics` tells.
    pub more_metrics: Option<MoreMetrics>,
}

/// Writes metrics of others, in Prometheus's text format.
#[derive(Clone)]
pub struct MoreMetrics(Arc<WriteMetrics>);

type WriteMetrics = dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync;

impl MoreMetrics {
    /// Asks a function whenever `/metrics` is asked for.
    pub fn new<F>(write: impl Fn() -> F + Send + Sync + 'static) -> MoreMetrics
    where
        F: Future<Output = String> + Send + 'static,
    {
        MoreMetrics(Arc::new(move || Box::pin(write())))
    }
}

impl std::fmt::Debug for MoreMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MoreMetrics")
    }
}

impl Default for Settings {
    fn default() -> Settings {
        let call_time_max = Duration::from_secs(10);
        Settings { call_time_max, test_clock: None, log_requests: false, more_metrics: None }
    }
}

/// Why systems cannot be served together.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Two contracts can match one request.
    #[error("two contracts answer one request: {0}")]
    Clash(#[from] Clash<String>),
    /// A contract has a path of the server's own.
    #[error("`/{path}` is the server's own; give contract {contract} another path")]
    Own {
        /// The path.
        path: String,
        /// The contract.
        contract: Text,
    },
}

/// Where a route leads.
#[derive(Debug, Clone)]
struct Target {
    runtime: usize,
    /// Its number in the metrics.
    number: usize,
    info: ContractInfo,
    stamp: HeaderValue,
}

/// The systems that are served, and what it takes.
#[derive(Debug)]
pub struct Service {
    runtimes: Vec<Runtime>,
    router: Router<Arc<Target>>,
    tokens: Tokens,
    metrics: Metrics,
    settings: Settings,
    /// Whether new requests had better go elsewhere.
    draining: AtomicBool,
    ids: RequestIds,
    log: Option<Log>,
}

impl Service {
    /// Serves the contracts of systems.
    pub fn new(
        runtimes: Vec<Runtime>,
        tokens: Tokens,
        settings: Settings,
    ) -> Result<Service, ServiceError> {
        let runtimes = match &settings.test_clock {
            Some(clock) => runtimes.into_iter().map(|runtime| clock.sends(runtime)).collect(),
            None => runtimes,
        };
        let mut router = Router::new();
        let mut names = Vec::new();
        for (at, runtime) in runtimes.iter().enumerate() {
            for info in runtime.system().contracts() {
                let target = Target {
                    runtime: at,
                    number: names.len(),
                    stamp: HeaderValue::from_str(&info.id)
                        .unwrap_or(HeaderValue::from_static("unnamed")),
                    info: info.clone(),
                };
                if let [Segment::Literal(path)] = info.path.as_slice()
                    && OWN.contains(&path.as_str())
                {
                    let contract = info.id.clone();
                    return Err(ServiceError::Own { path: path.clone(), contract });
                }
                let segments = info.path.iter().map(|segment| match segment {
                    Segment::Literal(text) => router::Segment::Literal(text.clone()),
                    Segment::Input(_) => router::Segment::Parameter,
                });
                router
                    .add(at, &info.method, segments.collect(), Arc::new(target))
                    .map_err(|clash| clash.map(|target| target.info.id.to_string()))?;
                names.push((runtime.system().name().to_owned(), info.id.to_string()));
            }
        }
        let metrics = Metrics::new(names.iter().map(|(system, id)| (system.as_str(), id.as_str())));
        Ok(Service {
            runtimes,
            router,
            tokens,
            metrics,
            draining: AtomicBool::new(false),
            ids: RequestIds::new(),
            log: settings.log_requests.then(Log::start),
            settings,
        })
    }

    /// The systems it serves.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    /// From now on `/ready` says that requests had better go elsewhere.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Writes the lines of requests that still wait to be written.
    pub(crate) fn flush_log(&self) {
        self.log.iter().for_each(Log::flush);
    }

    /// The service as a part of an axum program.
    pub fn into_axum(self: Arc<Service>) -> Axum {
        async fn answer(
            State(service): State<Arc<Service>>,
            request: Request<Body>,
        ) -> axum::response::Response {
            service.answer(request).await.map(Body::new)
        }
        Axum::new().fallback(answer).with_state(self)
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let head_alone = request.method() == Method::HEAD;
        let path = request.uri().path().strip_prefix('/');
        if let Some(clock) = &self.settings.test_clock
            && let Some(path) = path.and_then(|path| path.strip_prefix(test_clock::PREFIX))
        {
            let (method, headers) = (request.method(), request.headers());
            // Apart, so that others need no room for it.
            return Box::pin(self.move_clock(clock, path, method, headers)).await;
        }
        let own = OWN.into_iter().find(|own| path == Some(own));
        let response = match own {
            Some(path) => match too_large(&request) {
                Some(refusal) => refusal,
                None => self.own(path, request.into_parts().0.method).await,
            },
            None => self.answer_contract(request).await,
        };
        if head_alone { without_body(response) } else { response }
    }

    /// Answers on a path of the clock that tests move.
    async fn move_clock(
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
            _ => return respond::problem(&Problem::new(404, "not-found", "there is none"), None),
        };
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        match passed {
            Ok(()) => respond::text(StatusCode::OK, plain, "ok\n"),
            Err(error) => {
                respond::text(StatusCode::SERVICE_UNAVAILABLE, plain, format!("{error}\n"))
            }
        }
    }

    /// Answers on a path of the server's own.
    async fn own(&self, path: &str, method: Method) -> Response {
        if !matches!(method, Method::GET | Method::HEAD) {
            return respond::not_allowed(&["GET", "HEAD"], method == Method::OPTIONS);
        }
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        match path {
            "health" => respond::text(StatusCode::OK, plain, "ok\n"),
            "metrics" => {
                let mut text = String::new();
                self.metrics.render(&mut text);
                if let Some(MoreMetrics(write)) = &self.settings.more_metrics {
                    text.push_str(&write().await);
                }
                let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                respond::text(StatusCode::OK, kind, text)
            }
            _ => {
                let (status, text) = self.readiness().await;
                let mut response = respond::text(status, plain, text);
                if self.settings.test_clock.is_some() {
                    let on = HeaderValue::from_static("on");
                    response.headers_mut().insert(headers::TEST_CLOCK, on);
                }
                response
            }
        }
    }

    async fn readiness(&self) -> (StatusCode, &'static str) {
        if self.draining.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        for runtime in &self.runtimes {
            if let Err(error) = runtime.ready().await {
                tracing::warn!(system = runtime.system().name(), %error, "not ready");
                return (StatusCode::SERVICE_UNAVAILABLE, "the store is unavailable\n");
            }
        }
        (StatusCode::OK, "ready\n")
    }

    async fn answer_contract<B>(&self, request: Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let started = Instant::now();
        let _in_flight = self.metrics.start();
        let id = headers::request_id(request.headers()).map_or_else(|| self.ids.next(), Text::from);
        let mut seen = Seen { body_read: request.body().is_end_stream(), ..Seen::default() };
        let mut response = self.route(request, &mut seen).await;
        // Behind a body that was not read nothing else can be.
        if self.draining.load(Ordering::Relaxed) || !seen.body_read {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(headers::REQUEST_ID, id);
        }
        let status = response.status().as_u16();
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Seen { target, capacity, caller, .. } = seen;
        match &target {
            Some(target) => {
                respond::stamp(response.headers_mut(), &target.stamp, capacity);
                let (read, write) = (capacity.read_halves, capacity.write);
                self.metrics.record(target.number, status, micros, read, write);
            }
            None => self.metrics.record_unmatched(status, micros),
        }
        if let Some(log) = &self.log {
            let contract = target.as_ref().map_or("", |target| &target.info.id);
            let (id, caller) = (id.as_str(), caller.as_str());
            log.add(&Entry { id, contract, caller, status, micros, capacity });
        }
        response
    }

    async fn route<B>(&self, request: Request<B>, seen: &mut Seen) -> Response
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        if let Some(refusal) = too_large(&request) {
            return refusal;
        }
        let (parts, body) = request.into_parts();
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        match self.router.find(method, path) {
            Found::Nothing => {
                let detail = "there is nothing here; `latchkey check` lists a document's contracts";
                respond::problem(&Problem::new(404, "not-found", detail), None)
            }
            Found::Method { allow } => respond::not_allowed(&allow, method == "OPTIONS"),
            Found::Route { target, parameters } => {
                seen.target = Some(Arc::clone(target));
                let inputs = request::from_path(&target.info, parameters);
                let query = parts.uri.query().unwrap_or_default();
                let called = self.call(target, inputs, query, &parts.headers, body, seen).await;
                match called {
                    Ok(response) => response,
                    Err(problem) => respond::problem(&problem, Some(&target.info.id)),
                }
            }
        }
    }

    async fn call<B>(
        &self,
        target: &Target,
        mut inputs: request::Inputs,
        query: &str,
        headers: &HeaderMap,
        body: B,
        seen: &mut Seen,
    ) -> Result<Response, Problem>
    where
        B: HttpBody<Data = Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        let caller = self.caller(headers)?;
        seen.caller = caller.id.clone();
        let body = read_body(headers, body).await?;
        seen.body_read = true;
        request::from_query(&target.info, query, &mut inputs)?;
        if !body.is_empty() {
            if !headers::is_json(headers) {
                let detail = "send the body as `content-type: application/json`";
                return Err(Problem::new(415, "unsupported-media-type", detail));
            }
            request::from_body(&target.info, &body, &mut inputs)?;
        }
        let call = Call {
            inputs,
            if_match: headers::if_match(headers)?,
            idempotency_key: headers::idempotency_key(headers)?,
            time_max: self.settings.call_time_max,
            at: self.instant(headers)?,
            ..Call::new(target.info.id.clone(), caller)
        };
        let Some(runtime) = self.runtimes.get(target.runtime) else {
            return Err(Problem::later("store-unavailable", "the system is gone"));
        };
        let outcome = runtime.call(call).await;
        seen.capacity = outcome.capacity;
        let response = respond::outcome(outcome);
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok());
        if target.info.method == "GET"
            && etag.is_some_and(|etag| headers::has_already(headers, etag))
        {
            return Ok(not_modified(response));
        }
        Ok(response)
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let unauthenticated = |detail: String| Problem::new(401, "unauthenticated", detail);
        let token = headers::bearer(headers)
            .ok_or_else(|| unauthenticated("send `authorization: Bearer TOKEN`".to_owned()))?;
        // Tokens run by the real clock, even where calls do not.
        let now = latchkey_runtime::Source::now(&latchkey_runtime::SystemSource);
        let claims =
            self.tokens.verify(token, now).map_err(|error| unauthenticated(error.to_string()))?;
        Ok(Caller { id: claims.sub, roles: claims.roles, orgs: claims.orgs })
    }

    /// The instant a request brings, where it may.
    fn instant(&self, headers: &HeaderMap) -> Result<Option<i64>, Problem> {
        let Some(value) = headers.get(headers::NOW).filter(|_| self.settings.test_clock.is_some())
        else {
            return Ok(None);
        };
        let instant = value.to_str().ok().and_then(time::parse);
        instant.map(Some).ok_or_else(|| Problem::bad("`Latchkey-Now` is no RFC 3339 time"))
    }
}

/// What is known of a request by the time it is answered.
#[derive(Default)]
struct Seen {
    target: Option<Arc<Target>>,
    capacity: Capacity,
    caller: Text,
    body_read: bool,
}

/// Reads a body that is neither too long nor too slow.
async fn read_body<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<axum::BoxError>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let too_long = || {
        let detail = format!("the body has more than {BODY_BYTES_MAX} bytes");
        Problem::new(413, "body-too-large", detail)
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX)) {
        return Err(too_long());
    }
    let collected = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_TIME_MAX, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => Err(Problem::bad("the body broke off")),
        Err(_) => Err(Problem::new(408, "request-timeout", "the body took too long")),
    }
}

/// Refuses a head that is too large.
fn too_large<B>(request: &Request<B>) -> Option<Response> {
    (head_bytes(request) > HEAD_BYTES_MAX).then(|| {
        let detail = format!("path and headers have more than {HEAD_BYTES_MAX} bytes");
        respond::problem(&Problem::new(431, "head-too-large", detail), None)
    })
}

fn head_bytes<B>(request: &Request<B>) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let method = request.method().as_str().len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    method + path + request.headers().iter().map(header).sum::<usize>()
}

/// The head of a response, with the length its body would have.
fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Full::default())
}

fn not_modified(response: Response) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(axum::http::header::CONTENT_TYPE);
    Response::from_parts(parts, Full::default())
}

/// Names requests that have none: by the start of the process, and a count.
#[derive(Debug)]
struct RequestIds {
    process: u32,
    count: AtomicU64,
}

impl RequestIds {
    fn new() -> RequestIds {
        let mut bytes = [0; 4];
        // Without chance, two processes may name requests alike.
        let _ = getrandom::fill(&mut bytes);
        RequestIds { process: u32::from_le_bytes(bytes), count: AtomicU64::new(0) }
    }

    fn next(&self) -> Text {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        compact_str::format_compact!("{:08x}-{count:06x}", self.process)
    }
}
