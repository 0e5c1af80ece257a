//! Connections: taking them, bounding them, and letting them finish.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use axum::http::header::CONNECTION;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::linger::{Lingering, Unread};
use crate::service::{HEAD_BYTES_MAX, Service};

/// The most connections at once; more wait to be taken.
const CONNECTIONS_MAX: usize = 4096;

/// How long a head may take to arrive, and a connection may idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// How much of a head is read before it is given up. The service has a limit of its own, which can say why.
const HEAD_READ_MAX: usize = 2 * HEAD_BYTES_MAX;

/// How long requests that were sent before the server was told to stop may take to be seen.
const LAST_LOOK: Duration = Duration::from_millis(250);

/// How long what was accepted may take to finish once the server is told to stop.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// How long to wait when no connection can be taken, for want of file handles say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ServerError {
    /// Where it was to listen.
    pub address: SocketAddr,
    /// Why it cannot.
    pub error: io::Error,
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on an address.
    pub async fn listen(address: SocketAddr) -> Result<Server, ServerError> {
        let failed = |error| ServerError { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Server { listener, address })
    }

    /// The address it listens on, with the port it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until told to stop, then finishes what it has accepted.
    pub async fn run(self, service: Arc<Service>, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .max_buf_size(HEAD_READ_MAX);
        let ended = async {
            stop.await;
            // What was sent by now may lie unread, or on a connection that is not taken yet. Whoever is
            // answered from here on is told to come no more.
            service.drain();
            tokio::time::sleep(LAST_LOOK).await;
        };
        tokio::pin!(ended);
        loop {
            let slot = Arc::clone(&slots).acquire_owned();
            let accepted = async {
                let slot = slot.await;
                (self.listener.accept().await, slot)
            };
            let (stream, slot) = tokio::select! {
                biased;
                () = &mut ended => break,
                (accepted, slot) = accepted => match accepted {
                    Ok((stream, _)) => (stream, slot),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be taken");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
            };
            let unread = Unread::default();
            let io = TokioIo::new(Lingering::new(prompt(stream), unread.clone()));
            let service = Arc::clone(&service);
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, unread) = (Arc::clone(&service), unread.clone());
                async move {
                    let has_body = !request.body().is_end_stream();
                    let response = service.answer(request).await;
                    if has_body && response.headers().contains_key(CONNECTION) {
                        unread.set();
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            let connection = http.serve_connection(io, answer);
            let watched = graceful.watch(connection);
            tokio::spawn(async move {
                let _slot = slot;
                // A peer that goes away or breaks the protocol has ended its own connection.
                if let Err(error) = watched.await {
                    tracing::debug!(%error, "a connection ended");
                }
            });
        }
        drop(self.listener);
        if tokio::time::timeout(DRAIN_TIME_MAX, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
        service.flush_log();
    }
}

/// Small answers are not held back.
fn prompt(stream: TcpStream) -> TcpStream {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection holds small answers back");
    }
    stream
}
