//! The connections of a server, and which one is closed when there are too many.
//!
//! A connection waits for its peer, or works for its peer. A connection that works is never closed. A new connection
//! takes the place of the one that has been idle the longest; if none is idle, of the one that has been sending, or not
//! reading, the longest. So nobody locks others out by holding connections open.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;

/// Connections beyond the limit, accepted while all others work. Only the paths by which the server is watched
/// are answered on them.
pub(crate) const RESERVE: usize = 64;

/// The phases of a connection, in the order in which connections are closed. From `WORKING` on a connection is not
/// closed; before it, the lower bits are the time when the phase began, in microseconds.
const IDLE: u64 = 0;
/// The peer does not read.
const WRITING: u64 = 1 << 58;
/// The peer is sending a body.
const RECEIVING: u64 = 1 << 59;
const WORKING: u64 = 1 << 60;
/// The answer is still to be written.
const ANSWERED: u64 = WORKING + 1;
const GONE: u64 = 1 << 61;

/// What a connection is doing.
#[derive(Debug)]
pub(crate) struct Life {
    state: AtomicU64,
    /// Notified when the connection must close.
    pub(crate) cut: Notify,
    /// Whether this connection is one of the reserve: only the paths by which the server is watched are answered.
    pub(crate) reserve: bool,
    /// Whether the request waits for something that the peer is not asked about, so that the stream looks for its end.
    watched: AtomicBool,
    /// Notified when a peer that is watched has hung up.
    hung_up: Notify,
    started: Instant,
}

impl Life {
    fn since_now(&self, phase: u64) -> u64 {
        let micros = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        phase | micros.min(WRITING - 1)
    }

    /// Enters another state, if the current state allows it.
    fn enter(&self, next: u64, from: impl Fn(u64) -> bool) -> Result<(), Gone> {
        let entered = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            (state != GONE && from(state)).then_some(next)
        });
        match entered {
            Err(GONE) => Err(Gone),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Waits until the peer hangs up, or sends no more: the two look alike until something is written.
    pub(crate) async fn hung_up(&self) {
        struct Watched<'a>(&'a AtomicBool);
        impl Drop for Watched<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        self.watched.store(true, Ordering::Relaxed);
        let _watched = Watched(&self.watched);
        self.hung_up.notified().await;
    }

    /// Whether somebody waits for the peer to hang up.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// The peer that is watched has hung up.
    pub(crate) fn hang_up(&self) {
        self.hung_up.notify_one();
    }

    /// Whether no request is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.load(Ordering::Relaxed) < WRITING
    }

    /// A request has begun, with a body or without.
    pub(crate) fn begin(&self, has_body: bool) -> Result<(), Gone> {
        let next = if has_body { self.since_now(RECEIVING) } else { WORKING };
        self.enter(next, |_| true)
    }

    /// The whole request has arrived.
    fn work(&self) -> Result<(), Gone> {
        self.enter(WORKING, |_| true)
    }

    /// A request is answered; the answer is still to be written.
    pub(crate) fn answered(&self) -> Result<(), Gone> {
        self.enter(ANSWERED, |_| true)
    }

    /// An answer cannot be written until the peer reads.
    pub(crate) fn blocked(&self) -> Result<(), Gone> {
        self.enter(self.since_now(WRITING), |state| state == ANSWERED)
    }

    /// The answer is written.
    pub(crate) fn flushed(&self) -> Result<(), Gone> {
        // Called often, and mostly with nothing to do.
        match self.state.load(Ordering::Relaxed) {
            state @ (ANSWERED | WRITING..RECEIVING) => {
                self.enter(self.since_now(IDLE), |now| now == state)
            }
            _ => Ok(()),
        }
    }
}

/// The connection was closed to make room for another.
#[derive(Debug, thiserror::Error)]
#[error("the connection makes room for another")]
pub(crate) struct Gone;

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    all: Mutex<All>,
    /// Notified when a connection has ended.
    ended: Notify,
    started: Instant,
}

#[derive(Debug, Default)]
struct All {
    lives: HashMap<u64, Arc<Life>>,
    next: u64,
}

/// The place of a connection. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) life: Arc<Life>,
}

impl Connections {
    /// At most `max` connections, and the reserve.
    pub(crate) fn new(max: usize) -> Arc<Connections> {
        let (all, ended) = (Mutex::default(), Notify::new());
        Arc::new(Connections { max, all, ended, started: Instant::now() })
    }

    /// No code that holds the lock can panic half-way.
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection: a free one, that of a connection that waits for its peer, or one of the reserve.
    /// Waits if there is none.
    pub(crate) async fn place(self: &Arc<Connections>) -> Place {
        loop {
            let ended = self.ended.notified();
            if let Some(place) = self.try_place() {
                return place;
            }
            ended.await;
        }
    }

    fn try_place(self: &Arc<Connections>) -> Option<Place> {
        let mut all = self.lock();
        // A place keeps its kind: a place of the reserve stays one.
        let reserve = all.lives.len() >= self.max && all.cut_one().is_none_or(|cut| cut.reserve);
        if reserve && all.lives.len() >= self.max + RESERVE {
            return None;
        }
        let number = all.next;
        all.next += 1;
        let (started, cut) = (self.started, Notify::new());
        let (state, watched) = (AtomicU64::new(IDLE), AtomicBool::new(false));
        let life = Life { state, cut, reserve, watched, hung_up: Notify::new(), started };
        life.state.store(life.since_now(IDLE), Ordering::Relaxed);
        let life = Arc::new(life);
        all.lives.insert(number, Arc::clone(&life));
        drop(all);
        Some(Place { connections: Arc::clone(self), number, life })
    }

    /// Closes a connection that waits for its peer, if there is one.
    pub(crate) fn cut_one(&self) -> bool {
        self.lock().cut_one().is_some()
    }

    /// Waits until all have ended.
    pub(crate) async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().lives.is_empty() {
                return;
            }
            ended.await;
        }
    }
}

impl All {
    fn cut_one(&mut self) -> Option<Arc<Life>> {
        loop {
            let states = self.lives.iter().map(|(number, life)| {
                let state = life.state.load(Ordering::Relaxed);
                (state, *number)
            });
            let (state, number) = states.min().filter(|(state, _)| *state < WORKING)?;
            let life = self.lives.get(&number)?;
            let order = Ordering::Relaxed;
            // The connection may have begun to work meanwhile; then another one is closed.
            if life.state.compare_exchange(state, GONE, order, order).is_ok() {
                life.cut.notify_one();
                return self.lives.remove(&number);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().lives.remove(&self.number);
        self.connections.ended.notify_waiters();
    }
}

/// The body of a request. Its last frame begins the work on the request.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) body: Incoming,
    pub(crate) life: Arc<Life>,
}

impl Body for Received {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.life.work()?;
        }
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(connections: &Arc<Connections>, phase: u64, since: u64) -> Place {
        let place = connections.try_place().unwrap();
        place.life.state.store(phase | since, Ordering::Relaxed);
        place
    }

    fn is_gone(place: &Place) -> bool {
        place.life.begin(false).is_err()
    }

    #[test]
    fn the_oldest_idle_goes_first_then_the_oldest_that_waits_for_its_peer() {
        let connections = Connections::new(4);
        let writing = waits(&connections, WRITING, 1);
        let receiving = waits(&connections, RECEIVING, 2);
        let (young, old) = (waits(&connections, IDLE, 9), waits(&connections, IDLE, 8));
        for gone in [&old, &young, &writing, &receiving] {
            let newcomer = connections.try_place().unwrap();
            assert!(!newcomer.life.reserve);
            // It works, so the next has to take another's place.
            newcomer.life.begin(false).unwrap();
            assert!(is_gone(gone));
            std::mem::forget(newcomer);
        }
        // All four work now: what comes is of the reserve, and cuts nobody.
        // One of the reserve that idles gives its place to the next, which is of the reserve as well.
        let idle = connections.try_place().unwrap();
        let mut reserve = Vec::new();
        for _ in 0..RESERVE {
            let place = connections.try_place().unwrap();
            assert!(place.life.reserve);
            place.life.begin(false).unwrap();
            reserve.push(place);
        }
        assert!(is_gone(&idle));
        assert!(connections.try_place().is_none());
        drop(reserve);
        assert!(connections.try_place().is_some());
    }

    #[test]
    fn a_request_begins_or_its_connection_is_cut_but_never_both() {
        let connections = Connections::new(1);
        let place = connections.try_place().unwrap();
        place.life.begin(true).unwrap();
        assert!(connections.cut_one(), "its body has not come");
        assert!(place.life.work().is_err(), "nor will it be worked on");
        let place = connections.try_place().unwrap();
        place.life.begin(false).unwrap();
        assert!(!connections.cut_one());
        let phase = || place.life.state.load(Ordering::Relaxed);
        place.life.blocked().unwrap();
        place.life.flushed().unwrap();
        assert_eq!(phase(), WORKING, "an earlier answer was written meanwhile");
        place.life.answered().unwrap();
        assert!(!connections.cut_one(), "its answer is on the way");
        place.life.blocked().unwrap();
        assert!((WRITING..RECEIVING).contains(&phase()), "its peer does not read");
        place.life.flushed().unwrap();
        assert!(phase() < WRITING, "its peer has read");
        assert!(connections.cut_one());
    }
}
