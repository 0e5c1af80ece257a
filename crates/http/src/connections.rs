//! The connections of a server, and which one is closed when there are too many.
//!
//! A connection waits for its peer, or works for its peer. A connection that works is never closed. A new connection
//! takes the place of the one that has been idle the longest; if none is idle, of the one that has been sending, or not
//! reading, the longest. So nobody locks others out by holding connections open.
//!
//! An address has at most its share of the connections. Beyond that, its new connections take the places of its own.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::Notify;

/// Connections beyond the limit, accepted while all others work. Only the paths by which the server is watched
/// are answered on them.
pub(crate) const RESERVE: usize = 64;

/// How many connections may be closing, so that they still have a file handle while others have their places. Each takes
/// as long as its task takes to be run.
const CLOSING_MAX: usize = 32;

/// How long a peer may not read before its connection is closed to make room for the answers of others.
const NOT_READING: Duration = Duration::from_secs(2);

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
    /// Whose connection it is.
    holder: IpAddr,
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

    /// Closes the connection, if it waits for its peer.
    pub(crate) fn cut_waiting(&self) -> bool {
        let order = Ordering::Relaxed;
        let cut = self.state.fetch_update(order, order, |state| (state < WORKING).then_some(GONE));
        if cut.is_ok() {
            self.cut.notify_one();
        }
        cut.is_ok()
    }

    /// Closes the connection, if its peer has had an answer to read for a while.
    pub(crate) fn cut_not_reading(&self) -> bool {
        let order = Ordering::Relaxed;
        let long = u64::try_from(NOT_READING.as_micros()).unwrap_or(u64::MAX);
        let since = self.since_now(WRITING).saturating_sub(long);
        let cut = self.state.fetch_update(order, order, |state| {
            (WRITING..RECEIVING).contains(&state).then_some(GONE).filter(|_| state <= since)
        });
        if cut.is_ok() {
            self.cut.notify_one();
        }
        cut.is_ok()
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
    /// The most of one address, without those of the reserve.
    share: usize,
    all: Mutex<All>,
    /// Notified when a connection has ended.
    ended: Notify,
    started: Instant,
}

#[derive(Debug, Default)]
struct All {
    lives: HashMap<u64, Arc<Life>>,
    next: u64,
    /// How many of them are of the reserve.
    reserve: usize,
    /// How many others each address has.
    held: HashMap<IpAddr, usize>,
    /// How many were closed to make room, and have not ended yet.
    closing: usize,
}

/// The place of a connection. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub(crate) life: Arc<Life>,
}

/// Why there is no place for a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoPlace {
    /// All connections are at work, or too many are closing.
    Now,
    /// All connections of its address are at work, and these are as many as an address may have.
    ForAddress,
}

impl Connections {
    /// At most `max` connections, of which one address has at most `share`, and the reserve.
    pub(crate) fn new(max: usize, share: usize) -> Arc<Connections> {
        let (all, ended) = (Mutex::default(), Notify::new());
        Arc::new(Connections { max, share, all, ended, started: Instant::now() })
    }

    /// No code that holds the lock can panic half-way.
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection of an address: a free one, that of a connection that waits for its peer, or one of
    /// the reserve. Waits if there is none. Nothing if other addresses would have to wait for this one.
    pub(crate) async fn place(self: &Arc<Connections>, peer: IpAddr) -> Option<Place> {
        loop {
            let ended = self.ended.notified();
            match self.try_place(peer) {
                Ok(place) => return Some(place),
                Err(NoPlace::ForAddress) => return None,
                Err(NoPlace::Now) => ended.await,
            }
        }
    }

    fn try_place(self: &Arc<Connections>, peer: IpAddr) -> Result<Place, NoPlace> {
        let holder = holder(peer);
        let mut all = self.lock();
        let all = &mut *all;
        if all.closing >= CLOSING_MAX {
            return Err(NoPlace::Now);
        }
        let over = all.held.get(&holder).is_some_and(|held| *held >= self.share);
        let full = all.lives.len() - all.reserve >= self.max;
        let reserve = match (over, full) {
            (false, false) => false,
            // A place keeps its kind: a place of the reserve stays one.
            (true, _) => all.cut_one(|life| life.holder == holder).is_none_or(|cut| cut.reserve),
            (false, true) => all.cut_one(|_| true).is_none_or(|cut| cut.reserve),
        };
        if reserve && all.reserve >= RESERVE && all.cut_one(|life| life.reserve).is_none() {
            return Err(if over { NoPlace::ForAddress } else { NoPlace::Now });
        }
        let number = all.next;
        all.next += 1;
        let (started, cut) = (self.started, Notify::new());
        let (state, watched) = (AtomicU64::new(IDLE), AtomicBool::new(false));
        let life = Life { state, cut, reserve, holder, watched, hung_up: Notify::new(), started };
        life.state.store(life.since_now(IDLE), Ordering::Relaxed);
        let life = Arc::new(life);
        all.insert(number, Arc::clone(&life));
        Ok(Place { connections: Arc::clone(self), number, life })
    }

    /// A place for tests of other modules.
    #[cfg(test)]
    pub(crate) fn for_test(self: &Arc<Connections>) -> Place {
        self.try_place(IpAddr::from([192, 0, 2, 1])).unwrap()
    }

    /// Closes a connection that waits for its peer, if there is one.
    pub(crate) fn cut_one(&self) -> bool {
        self.lock().cut_one(|_| true).is_some()
    }

    /// Closes all without a whole head of a request, and all whose peers have not read for a while.
    pub(crate) fn cut_unfinished(&self) {
        for life in self.lock().lives.values() {
            let _ = if life.is_idle() { life.cut_waiting() } else { life.cut_not_reading() };
        }
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

/// Who holds the connections of an address: the address, or the network of 64 bits in which a holder of IPv6 can choose
/// addresses.
fn holder(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl All {
    /// Closes the first of some connections that wait for their peers.
    fn cut_one(&mut self, of: impl Fn(&Life) -> bool) -> Option<Arc<Life>> {
        loop {
            let some = self.lives.iter().filter(|(_, life)| of(life));
            let states = some.map(|(number, life)| {
                let state = life.state.load(Ordering::Relaxed);
                (state, *number)
            });
            let (state, number) = states.min().filter(|(state, _)| *state < WORKING)?;
            let life = self.lives.get(&number)?;
            let order = Ordering::Relaxed;
            // The connection may have begun to work meanwhile; then another one is closed.
            if life.state.compare_exchange(state, GONE, order, order).is_ok() {
                life.cut.notify_one();
                self.closing += 1;
                return self.remove(number);
            }
        }
    }

    fn insert(&mut self, number: u64, life: Arc<Life>) {
        match life.reserve {
            true => self.reserve += 1,
            false => *self.held.entry(life.holder).or_default() += 1,
        }
        self.lives.insert(number, life);
    }

    /// Removes a connection, if it was not removed before.
    fn remove(&mut self, number: u64) -> Option<Arc<Life>> {
        let life = self.lives.remove(&number)?;
        if life.reserve {
            self.reserve -= 1;
        } else if let Some(held) = self.held.get_mut(&life.holder) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&life.holder);
            }
        }
        Some(life)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.connections.lock();
        // One that made room for another has no place any more.
        if all.remove(self.number).is_none() {
            all.closing -= 1;
        }
        drop(all);
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
mod tests;
