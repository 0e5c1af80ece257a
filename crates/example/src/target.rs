//! Where examples run: a service in this process, or a running server.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::{HeaderMap, Request, Uri};
use hyper_util::rt::TokioIo;
use latchkey_embedded::Store;
use latchkey_http::{Delivered, Service, Settings, TestClock, Tokens};
use latchkey_language::ast::QueueMode;
use latchkey_runtime::{Options, Outside, Runtime, Source, Storage, System};
use latchkey_table::Backend;
use latchkey_value::time;
use tokio::net::TcpStream;

use crate::run::BEGINNING;
use crate::watch::{Dice, Seen, Watched};

/// How long a server may take to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// Signs the tokens of examples that run in this process.
const SECRET: &[u8] = b"examples run by themselves, in memory";

/// Where calls in this process come from.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Where examples are run.
#[derive(Debug)]
pub struct Target {
    tokens: Tokens,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Own(Box<Service>),
    /// A service that serves others too, at the time of the system.
    Serving(Arc<Service>),
    /// A service of its own, where someone looks on.
    Watched(Box<Watched>),
    Server {
        address: String,
    },
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The contract that answered, if one did.
    pub contract: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// How it came about, where someone looks on.
    pub(crate) seen: Option<Seen>,
}

/// Why examples cannot run, or why one request cannot be sent.
#[derive(Debug)]
pub enum TargetError {
    /// The store or the server cannot be used.
    Unusable(String),
    /// The example is not a valid request.
    Request(String),
}

impl Target {
    /// A new store in memory.
    pub async fn in_memory(system: System) -> Result<Target, TargetError> {
        let store = Store::in_memory(&latchkey_embedded::Options::default());
        let store = store.map_err(unusable)?;
        Target::start(system, store.into(), clock()?, Vec::new()).await
    }

    /// A backend, in this process, with queues in memory.
    pub async fn on(system: System, backend: Arc<dyn Backend>) -> Result<Target, TargetError> {
        let clock = clock()?;
        let source: Arc<dyn Source> = clock.clone();
        let outside = queues_of_its_own(&system, &source).await?;
        Target::start(system, Storage::on(backend), clock, outside).await
    }

    async fn start(
        system: System,
        storage: Storage,
        clock: Arc<TestClock>,
        outside: Vec<Outside>,
    ) -> Result<Target, TargetError> {
        let source: Arc<dyn Source> = clock.clone();
        let options = Options { source, ..Options::default() };
        let runtime = Runtime::start_with(system, storage, options, outside).await;
        let service = service(runtime.map_err(unusable)?, clock)?;
        Ok(Target { tokens: tokens()?, place: Place::Own(Box::new(service)) })
    }

    /// A system that runs, whose source is a clock that this target moves.
    pub(crate) fn on_clock(runtime: Runtime, clock: Arc<TestClock>) -> Result<Target, TargetError> {
        let service = service(runtime, clock)?;
        Ok(Target { tokens: tokens()?, place: Place::Own(Box::new(service)) })
    }

    /// A service that serves others too, with what signs its tokens.
    pub(crate) fn serving(service: Arc<Service>, tokens: Tokens) -> Target {
        Target { tokens, place: Place::Serving(service) }
    }

    /// A new store in memory, where every answer tells how it came about. The same document does the same each time:
    /// chance is fixed.
    pub(crate) async fn watched(system: System) -> Result<Target, TargetError> {
        let store = Store::in_memory(&latchkey_embedded::Options::default()).map_err(unusable)?;
        let clock = clock()?;
        let source: Arc<dyn Source> = Arc::new(Dice::new(Arc::clone(&clock)));
        let options = Options { source, cursor_secret: SECRET.to_vec() };
        let runtime = Runtime::start(system, store, options).await.map_err(unusable)?;
        let service = service(runtime, Arc::clone(&clock))?;
        let place = Place::Watched(Box::new(Watched { service, clock }));
        Ok(Target { tokens: tokens()?, place })
    }

    /// What is looked on, if someone does.
    pub(crate) fn as_watched(&self) -> Option<&Watched> {
        match &self.place {
            Place::Watched(watched) => Some(watched),
            Place::Own(_) | Place::Serving(_) | Place::Server { .. } => None,
        }
    }

    /// A running server, with the secret that signs its tokens.
    pub fn server(url: &str, tokens: Tokens) -> Result<Target, TargetError> {
        let wrong = || {
            TargetError::Unusable(format!(
                "`{url}` is not an address such as http://127.0.0.1:8080"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let address = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
        let address = address.ok_or_else(wrong)?;
        // The default port of `http`.
        let port = address.port_u16().unwrap_or(80);
        let address = format!("{}:{port}", address.host());
        Ok(Target { tokens, place: Place::Server { address } })
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Sets what a queue does from here on.
    pub(crate) async fn set_queue(&self, name: &str, mode: QueueMode) -> Result<(), TargetError> {
        let mode = match mode {
            QueueMode::Works => "works",
            QueueMode::Holds => "holds",
            QueueMode::Refuses => "refuses",
        };
        let path = format!("/test-clock/queues/{name}/{mode}");
        match self.send("POST", &path, &[], String::new()).await?.status {
            200 => Ok(()),
            404 => Err(TargetError::Request(format!("there is no queue `{name}`"))),
            status => Err(unusable(format!("the mode of a queue cannot be set: {status}"))),
        }
    }

    /// Moves the clock to an instant, and works on each message that falls due until then. Where someone looks on, it
    /// works on one message and tells of it, until there is none.
    pub(crate) async fn pass(&self, instant: &str) -> Result<Option<Vec<Delivered>>, TargetError> {
        if let Place::Watched(watched) = &self.place {
            return watched.pass_one(instant).await;
        }
        if let Place::Serving(_) = &self.place {
            // Time passes by itself.
            return Ok(None);
        }
        let headers = [("latchkey-now".to_owned(), instant.to_owned())];
        let reply = self.send("POST", "/test-clock/pass", &headers, String::new()).await?;
        let told = || String::from_utf8_lossy(&reply.body).trim().to_owned();
        match reply.status {
            200 => Ok(None),
            status => Err(unusable(format!("time cannot pass: {status}: {}", told()))),
        }
    }

    /// Sends a request.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Result<Reply, TargetError> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        match &self.place {
            Place::Own(service) => {
                let host = request.header("host", "localhost");
                let request = host.body(Full::new(Bytes::from(body))).map_err(no_request)?;
                reply(service.answer(request, LOOPBACK).await).await
            }
            Place::Serving(service) => {
                let host = request.header("host", "localhost");
                let request = host.body(Full::new(Bytes::from(body))).map_err(no_request)?;
                reply(service.answer(request, LOOPBACK).await).await
            }
            Place::Watched(watched) => {
                let host = request.header("host", "localhost");
                let request = host.body(Full::new(Bytes::from(body))).map_err(no_request)?;
                watched.send(request, path).await
            }
            Place::Server { address } => {
                let host = request.header("host", address);
                let request = host.body(Full::new(Bytes::from(body))).map_err(no_request)?;
                let sent = tokio::time::timeout(ANSWER_TIME_MAX, send_to(address, request)).await;
                sent.map_err(|_| TargetError::Unusable(format!("{address} does not answer")))?
            }
        }
    }
}

fn tokens() -> Result<Tokens, TargetError> {
    Tokens::new(SECRET, "latchkey", "latchkey").map_err(unusable)
}

fn service(runtime: Runtime, clock: Arc<TestClock>) -> Result<Service, TargetError> {
    let settings = Settings { test_clock: Some(clock), ..Settings::default() };
    Service::new(vec![runtime], tokens()?, settings).map_err(unusable)
}

/// The clock of examples, at the instant where they begin.
fn clock() -> Result<Arc<TestClock>, TargetError> {
    let at =
        time::parse(BEGINNING).ok_or_else(|| unusable(format!("`{BEGINNING}` is not a time")))?;
    Ok(Arc::new(TestClock::at(at)))
}

/// Queues in memory, for a table elsewhere. Every message goes there at once, also one that is due later.
async fn queues_of_its_own(
    system: &System,
    source: &Arc<dyn Source>,
) -> Result<Vec<Outside>, TargetError> {
    let store = Store::in_memory(&latchkey_embedded::Options::default()).map_err(unusable)?;
    let mut queues = Outside::in_store(system, &Arc::new(store), source).await.map_err(unusable)?;
    queues.iter_mut().for_each(|queue| queue.ahead_ms = i64::MAX);
    Ok(queues)
}

/// Sends a request on a connection of its own.
async fn send_to(address: &str, request: Request<Full<Bytes>>) -> Result<Reply, TargetError> {
    let failed = |error: &dyn std::fmt::Display| {
        TargetError::Unusable(format!("{address} cannot be reached: {error}"))
    };
    let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
    let reply = reply(answer).await;
    drop(sender);
    // The answer is complete.
    let _ = connection.await;
    reply
}

pub(crate) async fn reply<B>(answer: hyper::Response<B>) -> Result<Reply, TargetError>
where
    B: Body,
    B::Error: std::fmt::Display,
{
    let (parts, body) = answer.into_parts();
    let contract = parts.headers.get("latchkey-contract").and_then(|value| value.to_str().ok());
    let contract = contract.map(str::to_owned);
    let body = body.collect().await.map_err(|error| unusable(&error))?.to_bytes();
    let (status, headers) = (parts.status.as_u16(), parts.headers);
    Ok(Reply { status, contract, headers, body, seen: None })
}

pub(crate) fn unusable(error: impl std::fmt::Display) -> TargetError {
    TargetError::Unusable(error.to_string())
}

fn no_request(error: hyper::http::Error) -> TargetError {
    TargetError::Request(format!("this is not a request: {error}"))
}
