//! Answers one request: routing, token, inputs, the call, the response.

mod at_work;
mod caller;
mod explain;
mod figures;
mod hot;
mod ids;
mod openapi;
mod own;
mod room;
mod seen;
mod sender;
mod settings;
mod starting;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Body, Bytes};
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPECT, HeaderValue,
};
use hyper::{HeaderMap, Method, Request, StatusCode};
use latchkey_runtime::model::{Method as ContractMethod, Segment};
use latchkey_runtime::{Call, Caller, ContractInfo, Problem, Runtime};
use latchkey_table::Text;
use latchkey_value::name::{OPENAPI_PATH, SERVER_PATHS};

use self::at_work::AtWork;
use self::hot::Hot;
use self::ids::RequestIds;
use self::openapi::Description;
pub(crate) use self::seen::Seen;
use crate::body::{self, BoxError};
use crate::browsers::Cors;
use crate::budget::Budget;
use crate::bug::bug;
use crate::call_limits::{self, CallLimits, Policy};
use crate::log::{Entry, Log};
use crate::metrics::Metrics;
use crate::respond::{self, Response};
use crate::router::{Clash, Matched, Router};
use crate::token::Tokens;
use crate::{headers, reading, refusal, request, site, test_clock};

pub use self::explain::Explanation;
pub use self::figures::{ContractFigures, Counts, Figures, latency_bounds};
pub use self::hot::HotPartition;
pub use self::own::Door;
pub(crate) use self::sender::Sender;
pub use self::settings::{MoreMetrics, Settings};
pub use self::starting::Starting;

/// Why systems cannot be served together.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Two contracts can match one request.
    #[error("two contracts answer one request: {0}")]
    Clash(#[from] Clash<String>),
    /// The id of a contract cannot be sent in the header `Latchkey-Contract`.
    #[error("`{contract}` cannot be sent in a header; give the contract another id")]
    Id {
        /// The contract.
        contract: Text,
    },
    /// A contract has one of the server's own paths.
    #[error("`/{path}` is the server's own; give contract {contract} another path")]
    Own {
        /// The path.
        path: String,
        /// The contract.
        contract: Text,
    },
    /// A contract has a path of the console.
    #[error(
        "contract {contract} can have the path `{path}`, which is the console's; leave the console out with --no-console, or give it another address with --admin-listen"
    )]
    Site {
        /// The path.
        path: String,
        /// The contract.
        contract: Text,
    },
    /// A contract has the path of the page that explains a problem.
    #[error(
        "a contract has `{path}`, where this server explains a problem; name another place with --problem-base"
    )]
    Page {
        /// The path.
        path: String,
    },
}

/// The target of a route: a contract of a runtime.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) runtime: usize,
    /// Its number in the metrics.
    number: usize,
    pub(crate) info: ContractInfo,
    stamp: HeaderValue,
    limit: Option<Policy>,
}

/// Answers requests to the contracts of systems.
#[derive(Debug)]
pub struct Service {
    runtimes: Vec<Runtime>,
    router: Router<Arc<Target>>,
    tokens: Tokens,
    metrics: Metrics,
    pub(crate) settings: Settings,
    /// Whether the server is stopping, so that new requests should go to another one.
    draining: AtomicBool,
    ids: RequestIds,
    log: Option<Log>,
    openapi: Option<Description>,
    /// How often callers may call; absent where a test clock decides what time it is.
    limits: Option<CallLimits>,
    at_work: AtWork,
    /// The memory for heads and bodies.
    pub(crate) budget: Arc<Budget>,
    /// The memory for answers that are not sent yet.
    answers: Arc<Budget>,
    /// The partitions that are asked for most, where there are pages to show them.
    hot: Option<Hot>,
}

impl Service {
    /// A service for the contracts of systems.
    pub fn new(
        runtimes: Vec<Runtime>,
        tokens: Tokens,
        mut settings: Settings,
    ) -> Result<Service, ServiceError> {
        let openapi = Description::new(std::mem::take(&mut settings.openapi));
        let runtimes = match &settings.test_clock {
            Some(clock) => runtimes.into_iter().map(|runtime| clock.sends(runtime)).collect(),
            None => runtimes,
        };
        let mut router = Router::new();
        let mut names = Vec::new();
        for (at, runtime) in runtimes.iter().enumerate() {
            for (method, info) in runtime.system().routes() {
                let target = Target {
                    runtime: at,
                    number: names.len(),
                    stamp: HeaderValue::from_str(&info.id)
                        .map_err(|_| ServiceError::Id { contract: info.id.clone() })?,
                    limit: info
                        .limit
                        .clone()
                        .map(|limit| Policy::of_contract(&info.id, names.len(), limit)),
                    info: info.clone(),
                };
                if let [Segment::Literal(path)] = info.path.as_slice()
                    && SERVER_PATHS.contains(&path.as_str())
                {
                    let contract = info.id.clone();
                    return Err(ServiceError::Own { path: path.clone(), contract });
                }
                router
                    .add(at, method.as_str(), reading::shape(info), Arc::new(target))
                    .map_err(|clash| clash.map(|target| target.info.id.to_string()))?;
                names.push((runtime.system().name().to_owned(), info.id.to_string()));
            }
        }
        explain::refuse_hidden(&router, &settings)?;
        site::refuse_hidden(&runtimes, &settings)?;
        let metrics = Metrics::new(names.iter().map(|(system, id)| (system.as_str(), id.as_str())));
        let limits = CallLimits::new(settings.limit_per_caller.clone(), settings.proxies);
        Ok(Service {
            limits: settings.test_clock.is_none().then_some(limits),
            at_work: AtWork::new(settings.calls_max),
            budget: Budget::of_requests(settings.requests_bytes_max),
            answers: Budget::of_answers(settings.answers_bytes_max),
            hot: settings.site.is_some().then(Hot::default),
            runtimes,
            router,
            tokens,
            metrics,
            draining: AtomicBool::new(false),
            ids: RequestIds::new(),
            log: settings.log.clone().filter(|_| settings.log_requests),
            openapi,
            settings,
        })
    }

    /// The systems it serves.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.runtimes
    }

    /// From now on `/ready` answers 503, so that new requests go to another server.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server is stopping.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether a path is one of those by which the server is watched, which are answered even if all connections work.
    /// The OpenAPI document is for clients, and waits for a connection as contracts do.
    pub(crate) fn is_watched(path: &str) -> bool {
        path.strip_prefix('/')
            .is_some_and(|path| path != OPENAPI_PATH && SERVER_PATHS.contains(&path))
    }

    /// The answer to a request when all connections are at work.
    pub(crate) fn overloaded<B>(&self, request: &Request<B>) -> Response {
        self.metrics.record_unmatched(StatusCode::SERVICE_UNAVAILABLE.as_u16(), 0);
        let detail =
            "the server has as many connections at work as it takes; try again in a moment";
        let mut response = self.problem(&Problem::later("busy", detail));
        self.settings.cors.tell(self.settings.cors.asked(request), &mut response);
        response
    }

    /// The response to a problem of a request that reached no contract.
    pub(crate) fn problem(&self, problem: &Problem) -> Response {
        respond::problem(problem, None, self.problem_base())
    }

    /// The base of the `type` of problems.
    pub fn problem_base(&self) -> &str {
        &self.settings.problem_base
    }

    /// Adds what browsers are told of an answer to a request that could not be read.
    pub(crate) fn tell_browsers(&self, response: &mut Response) {
        self.settings.cors.tell(self.settings.cors.unread(), response);
    }

    /// An id for a request that brings none.
    pub(crate) fn next_id(&self) -> Text {
        self.ids.next()
    }

    /// Counts and logs a request that could not be read.
    pub(crate) fn count_unread(&self, entry: &Entry<'_>) {
        self.metrics.record_unmatched(entry.status, entry.micros);
        self.log.iter().for_each(|log| log.add_request(entry));
    }

    /// Answers a request from an address.
    pub async fn answer<B>(&self, request: Request<B>, peer: IpAddr) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        self.answer_from(request, Sender { peer, life: None }).await
    }

    /// Answers a request of a sender.
    pub(crate) async fn answer_from<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if self.is_of_site(Door::Public, request.uri().path()) {
            // Boxed, so that the future of other requests stays small.
            return Box::pin(self.visit(request, sender)).await;
        }
        // How the server does is nothing for pages of others.
        let cors = match request.uri().path() {
            "/metrics" | "/ready" => &Cors::None,
            _ => &self.settings.cors,
        };
        let asked = cors.asked(&request);
        let mut response = self.answer_plainly(request, sender).await;
        cors.tell(asked, &mut response);
        response
    }

    /// Answers a request, and adds nothing for browsers.
    async fn answer_plainly<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let head_alone = request.method() == Method::HEAD;
        let path = request.uri().path().strip_prefix('/');
        if let Some(clock) = &self.settings.test_clock
            && let Some(path) = path.and_then(|path| path.strip_prefix(test_clock::PREFIX))
        {
            let (method, headers) = (request.method(), request.headers());
            // Boxed, so that the future of other requests stays small.
            return Box::pin(self.move_clock(clock, path, method, headers)).await;
        }
        let own = SERVER_PATHS.into_iter().find(|own| path == Some(own));
        let response = match own {
            Some(path) => match refusal::of_head(&request) {
                Some(refusal) => self.problem(&refusal),
                None => {
                    let (parts, _) = request.into_parts();
                    // Boxed, so that the future of other requests stays small.
                    Box::pin(self.own(Door::Public, path, parts.method, &parts.headers)).await
                }
            },
            None => self.answer_contract(request, sender).await,
        };
        if head_alone { without_body(response) } else { response }
    }

    async fn answer_contract<B>(&self, request: Request<B>, sender: Sender<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let mut seen = Seen::new(sender, Instant::now(), request.body().is_end_stream());
        self.answer_seen(request, &mut seen).await
    }

    /// Answers a request to a contract, and tells what was seen of it.
    pub(crate) async fn answer_seen<B>(&self, request: Request<B>, seen: &mut Seen<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let _in_flight = self.metrics.start();
        let id = headers::request_id(request.headers()).map_or_else(|| self.ids.next(), Text::from);
        let mut response = self.route(request, seen).await;
        // After a body that was not read, no other request can be read.
        if !seen.body_read {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        match HeaderValue::from_str(&id) {
            Ok(id) => drop(response.headers_mut().insert(headers::REQUEST_ID, id)),
            Err(_) => drop(bug(format!("`{id}` cannot be sent as a header"))),
        }
        let status = response.status().as_u16();
        let micros = u64::try_from(seen.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        call_limits::tell(response.headers_mut(), std::mem::take(&mut seen.left));
        let capacity = seen.capacity;
        match &seen.target {
            Some(target) => {
                respond::stamp(response.headers_mut(), &target.stamp, capacity);
                let (read, write) = (capacity.read_halves, capacity.write);
                self.metrics.record(target.number, status, micros, read, write);
            }
            None => self.metrics.record_unmatched(status, micros),
        }
        if let Some(log) = &self.log {
            let contract = seen.target.as_ref().map_or("", |target| &target.info.id);
            let (id, caller) = (id.as_str(), seen.caller.as_str());
            log.add_request(&Entry { id, contract, caller, status, micros, capacity });
        }
        response
    }

    async fn route<B>(&self, request: Request<B>, seen: &mut Seen<'_>) -> Response
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        if let Some(refusal) = refusal::of_head(&request) {
            return self.problem(&refusal);
        }
        let (parts, body) = request.into_parts();
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        match self.router.find(method, path) {
            Matched::Nothing => self.explain(&parts),
            Matched::Method { allow } => {
                respond::not_allowed(&allow, method == "OPTIONS", self.problem_base())
            }
            Matched::Route { target, parameters } => {
                seen.target = Some(Arc::clone(target));
                let inputs = request::from_path(&target.info, parameters);
                let query = parts.uri.query().unwrap_or_default();
                let called = self.call(target, inputs, query, &parts.headers, body, seen).await;
                if called.as_ref().map_or(true, |response| response.status().as_u16() >= 400) {
                    self.give_back(target, seen);
                }
                match called {
                    Ok(response) => response,
                    Err(problem) => {
                        respond::problem(&problem, Some(&target.info.id), self.problem_base())
                    }
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
        seen: &mut Seen<'_>,
    ) -> Result<Response, Problem>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        self.at_work.check()?;
        // No token at all is a caller that nobody knows. A token that is there must be good.
        let caller = match target.info.open && !headers.contains_key(AUTHORIZATION) {
            true => Caller::default(),
            false => self.caller(headers, seen.sender).await?,
        };
        seen.caller = caller.id.clone();
        let from = || call_limits::address(headers, seen.sender.peer, self.settings.proxies);
        let whose = self.at_work.check_share(&caller, from)?;
        let counted = self.take(target, &inputs, &caller, headers, seen)?;
        // A caller who asks first is told before it sends.
        if headers.contains_key(EXPECT) && !body.is_end_stream() {
            body::check_kind(headers)?;
        }
        let (body, _room) = body::read(headers, body, &self.budget, seen.sender).await?;
        seen.body_read = true;
        if let Some(bucket) = counted {
            // Boxed, so that the future of other requests stays small.
            Box::pin(self.take_counted(target, bucket, seen)).await?;
        }
        request::from_query(&target.info, query, &mut inputs)?;
        if !body.is_empty() {
            body::check_kind(headers)?;
            request::from_body(&target.info, &body, &mut inputs)?;
        }
        let looked_at = self.hot.as_ref().filter(|hot| hot.is_its_turn());
        let call = Call {
            inputs,
            if_match: headers::if_match(headers)?,
            if_none_match: headers::makes_alone(headers, target.info.method)?,
            idempotency_key: headers::idempotency_key(headers)?,
            time_max: self.settings.call_time_max,
            at: self.instant(headers)?,
            trace: seen.trace.is_some() || looked_at.is_some(),
            ..Call::new(target.info.id.clone(), caller)
        };
        let Some(runtime) = self.runtimes.get(target.runtime) else {
            return Err(bug(format!("{} is a contract of no system", target.info.id)));
        };
        let running = self.at_work.begin(whose);
        let mut outcome = runtime.call(call).await;
        drop(running);
        seen.capacity = outcome.capacity;
        if let Some(hot) = looked_at {
            hot.count(target.runtime, &outcome.trace, seen.started);
        }
        if let Some(trace) = &mut seen.trace {
            *trace = std::mem::take(&mut outcome.trace);
            seen.at =
                outcome.result.as_ref().err().and_then(|problem| problem.at.as_deref().copied());
        }
        let response = respond::outcome(outcome, self.problem_base());
        if target.info.method != Some(ContractMethod::Get) || !response.status().is_success() {
            return Ok(response);
        }
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok());
        if !target.info.versioned && headers::is_stale(headers, etag) {
            let detail = "`If-Match` names another version than there is; read it without";
            return Err(Problem::new(412, "precondition-failed", detail));
        }
        match etag.is_some_and(|etag| headers::has_already(headers, etag)) {
            true => Ok(not_modified(response)),
            false => Ok(response),
        }
    }
}

/// A response without its body, with the length of that body.
pub(crate) fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Full::default())
}

/// The response to a caller who has the answer already.
fn not_modified(response: Response) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(CONTENT_TYPE);
    Response::from_parts(parts, Full::default())
}
