//! Accepts connections, bounds them, and lets them finish.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::body::HEAD_BYTES_MAX;
use crate::connections::{Connections, Gone, Life, Place, Received};
use crate::respond::Response;
use crate::service::{Door, Sender, Service};
use crate::stream::{Notes, Stream};

/// How much of a head is read before the connection is closed. The service has a lower limit, which it can answer with
/// a reason.
const HEAD_READ_MAX: usize = 2 * HEAD_BYTES_MAX;

/// How many connections may wait to be accepted. Linux takes at most `net.core.somaxconn`, which is 4,096 as well.
const BACKLOG: u32 = 4096;

/// How long the server looks for requests that were sent before it was told to stop.
const LAST_LOOK: Duration = Duration::from_millis(250);

/// How long it accepts connections meanwhile, if one follows another.
const LAST_LOOKS: Duration = Duration::from_secs(2);

/// How often a server that stops closes connections that keep it waiting: without a whole head, or without a reader.
const UNFINISHED_LOOK: Duration = Duration::from_secs(1);

/// How long to wait when no connection can be accepted, for example because no file handle is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The limits of a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most connections at once. A newcomer takes the place of the one that has been idle the longest.
    pub connections: usize,
    /// The most connections of one address, or of one network of 64 bits of IPv6. Beyond that a newcomer takes the place
    /// of one of the same address.
    pub connections_per_address: usize,
    /// How long a head may take to arrive, and a connection may idle.
    pub head_time: Duration,
    /// How long a peer may take to read an answer; a long one, each 64 KiB of it.
    pub write_time: Duration,
    /// How long accepted requests may take to finish once the server is told to stop.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let time = Duration::from_secs(30);
        Limits {
            connections: 4096,
            connections_per_address: 2048,
            head_time: time,
            write_time: time,
            drain_time: time,
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ServerError {
    /// The address.
    pub address: SocketAddr,
    /// Why the server cannot listen there.
    pub error: io::Error,
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    door: Door,
}

impl Server {
    /// Listens on an address, for callers.
    pub async fn listen(address: SocketAddr, limits: Limits) -> Result<Server, ServerError> {
        Server::listen_at(Door::Public, address, limits).await
    }

    /// Listens on an address, for callers or for those who watch the server.
    pub async fn listen_at(
        door: Door,
        address: SocketAddr,
        limits: Limits,
    ) -> Result<Server, ServerError> {
        let failed = |error| ServerError { address, error };
        let listener = bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, address, limits, door })
    }

    /// The address it listens on, with the port it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until told to stop, then finishes what it has accepted.
    pub async fn run(self, service: Arc<Service>, stop: impl Future<Output = ()>) {
        self.run_served(Arc::new(Served::new(service)), stop).await;
    }

    /// The same, where another service may take the place of the first.
    pub async fn run_served(self, served: Arc<Served>, stop: impl Future<Output = ()>) {
        let Server { listener, limits, door, .. } = self;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            // A peer that sends no more may still read.
            .half_close(true)
            .max_buf_size(HEAD_READ_MAX);
        let (ending, ended) = watch::channel(());
        let connections = Connections::new(limits.connections, limits.connections_per_address);
        let serving = Serving { http, served, door, ended, write_time: limits.write_time };
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                taken = take(&listener, &connections) => serving.start(taken),
            }
        }
        // Requests may lie unread on a connection, or on one that is not accepted yet. Each connection is read once
        // more. Every answer from here on closes its connection.
        serving.served.now().drain();
        let last = Instant::now() + LAST_LOOKS;
        loop {
            let look = (Instant::now() + LAST_LOOK).min(last);
            match timeout_at(look, take(&listener, &connections)).await {
                Ok(taken) => serving.start(taken),
                Err(_) => break,
            }
        }
        drop(listener);
        ending.send_replace(());
        let last = Instant::now() + limits.drain_time;
        loop {
            let look = (Instant::now() + UNFINISHED_LOOK).min(last);
            if timeout_at(look, connections.all_ended()).await.is_ok() {
                return;
            }
            if look == last {
                break;
            }
            connections.cut_unfinished();
        }
        tracing::warn!("some requests did not finish in time");
    }
}

/// The next connection, once there is a place for it.
async fn take(listener: &TcpListener, connections: &Arc<Connections>) -> (TcpStream, Place) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => match connections.place(peer.ip()).await {
                Some(place) => return (stream, place),
                None => tracing::debug!(%peer, "an address has all connections that it may have"),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                // An idle connection holds some of the resource that is missing.
                connections.cut_one();
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The service that answers the requests of a server: one that starts, until another takes its place.
#[derive(Debug)]
pub struct Served {
    first: Arc<Service>,
    then: OnceLock<Arc<Service>>,
}

impl Served {
    /// All requests are answered by a service, until another takes its place.
    pub fn new(service: Arc<Service>) -> Served {
        Served { first: service, then: OnceLock::new() }
    }

    /// From now on another service answers. Only the first call has an effect.
    pub fn replace(&self, service: Arc<Service>) {
        self.then.get_or_init(|| service);
    }

    fn now(&self) -> &Arc<Service> {
        self.then.get().unwrap_or(&self.first)
    }
}

/// What it takes to serve a connection.
struct Serving {
    http: http1::Builder,
    served: Arc<Served>,
    door: Door,
    ended: watch::Receiver<()>,
    write_time: Duration,
}

impl Serving {
    /// Serves a connection, in a task of its own.
    fn start(&self, (stream, place): (TcpStream, Place)) {
        let notes = Arc::<Notes>::default();
        let life = Arc::clone(&place.life);
        // A connection that has failed already has no address. It can answer nothing.
        let Ok(peer) = stream.peer_addr() else { return };
        let (service, stream) = (Arc::clone(self.served.now()), prompt(stream));
        let stream = Stream::new(stream, service, life, Arc::clone(&notes), self.write_time);
        let (served, life) = (Arc::clone(&self.served), Arc::clone(&place.life));
        let door = self.door;
        let answer = service_fn(move |request: Request<Incoming>| {
            let served = Arc::clone(&served);
            let (life, notes) = (Arc::clone(&life), Arc::clone(&notes));
            async move { answer(served.now(), (door, peer.ip()), life, &notes, request).await }
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), answer);
        let mut ended = self.ended.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let mut ending = pin!(ended.changed());
            let mut told = false;
            // The connection first: a request that it has read is answered, as the last one.
            let served = loop {
                tokio::select! {
                    biased;
                    served = &mut connection => break served,
                    () = place.life.cut.notified() => return,
                    _ = &mut ending, if !told => {
                        told = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
            };
            // A peer that leaves, does not read or breaks the protocol has ended its own connection.
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

/// Answers a request, unless its connection has to make room for another.
async fn answer(
    service: &Service,
    (door, peer): (Door, IpAddr),
    life: Arc<Life>,
    notes: &Notes,
    request: Request<Incoming>,
) -> Result<Response, Gone> {
    let (has_body, is_safe) = (!request.body().is_end_stream(), request.method().is_safe());
    life.begin(has_body)?;
    let turned_away = life.reserve && !Service::is_watched(request.uri().path());
    let mut request = request.map(|body| Received { body, life: Arc::clone(&life) });
    if let Some(odd) = notes.take_odd() {
        request.extensions_mut().insert(odd);
    }
    let sender = Sender { peer, life: Some(&life) };
    let mut response = match door {
        _ if turned_away => service.overloaded(&request),
        door if service.is_starting() => service.answer_starting(door, &request),
        Door::Public => service.answer_from(request, sender).await,
        // Boxed, so that the future of other requests stays small.
        Door::Admin => Box::pin(service.answer_admin(request, sender)).await,
    };
    if Service::takes_room(&response) {
        response = Box::pin(service.with_room(is_safe, response, &life)).await;
    }
    // The next request may be answered by another service, with a budget of its own.
    if life.reserve || service.is_draining() || service.is_starting() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if has_body && response.headers().contains_key(CONNECTION) {
        notes.set_unread();
    }
    life.answered()?;
    Ok(response)
}

/// Listens as `TcpListener::bind` does, with a longer backlog.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Turns off Nagle's algorithm, which delays small answers.
fn prompt(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection holds small answers back");
    }
    stream
}
