//! The queue in the embedded store: its messages are items of a table, so that a send is a leg of
//! any transaction on it.
//!
//! A store has one process, and a queue one [`Embedded`] in it; clones are the same queue.

mod admin;
mod dispatch;
mod holds;
mod mend;
mod ordered;
mod sequel;
mod stored;
mod stranded;

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use latchkey_embedded::{Pending, Stamp, Stamping, Store};
use latchkey_table::{Error as TableError, Leg, Map, Returning, Text, Transact, Transacted};
use tokio::sync::Notify;

pub use admin::{Peeked, Which};
pub use ordered::Blocked;
pub use sequel::Sequel;
pub(crate) use stored::Stored;
pub use stranded::Stranded;

use crate::limits::{PAUSE_MS_MAX, TIME_MAX};
use crate::{Clock, Error, Home, Message, Received, TryFailure, dead};
use dispatch::Waiting;
use holds::Holds;
use mend::Mending;
use ordered::Groups;
use stored::{Part, Place};

/// A durable queue in the embedded store.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use latchkey_embedded::{Options, Store};
/// # use latchkey_table::{Map, Schema, Transact};
/// use latchkey_queue::{Clock, Embedded, Home, Message, leg};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Arc::new(Store::in_memory(&Options::default())?);
/// # let table = Arc::new(Schema::new("Things"));
/// # store.create_table(&table).await?;
/// let home = Home::new(table, "type", "orders")?;
/// let queue = Embedded::new(Arc::clone(&store), home.clone(), 30_000, Clock::new(|| 1_000));
///
/// // A send is a leg among others; whoever commits it tells the queue.
/// let message = Message::new("01J", Map::from([("orderId", "7")]), 1_000)?;
/// let sending = {
///     let stamping = store.stamp(1_000);
///     store.transact(Transact { legs: vec![leg(&home, message, 1_000, stamping.stamp())] })
/// };
/// sending.await?;
/// queue.sent(1_000);
///
/// let received = queue.receive(10, Duration::from_secs(20)).await?;
/// assert_eq!(received.len(), 1);
/// assert_eq!(received[0].tries, 1);
/// queue.done(&received[0]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Embedded {
    shared: Arc<Shared>,
}

/// What the queue's handles and its task share.
#[derive(Debug)]
pub(crate) struct Shared {
    store: Arc<Store>,
    home: Home,
    lease_ms: i64,
    clock: Clock,
    waiting: Mutex<Waiting>,
    /// Of a queue without an order.
    holds: Mutex<Holds>,
    /// What a clock that was ahead has left behind.
    mending: Mutex<Mending>,
    /// The time, when it was last asked for.
    last_now: AtomicI64,
    /// The last stamp of the store, when the time was last asked for.
    last_stamp: AtomicI64,
    /// Of an ordered queue.
    groups: Mutex<Groups>,
    /// The latest time there has been, by the clock or by the places of what is stored.
    seen: AtomicI64,
    /// Tells the task to look again.
    look: Notify,
    /// When the task looks again by itself; while it is awake, the end of time.
    wakes_at: AtomicI64,
    /// The next lease. They begin at random, so that no two processes give the same.
    leases: AtomicU64,
    /// The life it sends under. It begins at random, too.
    life: AtomicU64,
    /// How often the task looked.
    looks: AtomicU64,
}

/// Sends a message as a leg of a stamped transaction on the queue's own table. The stamp is when it was sent,
/// and on an ordered queue its place, unless it is due after the message's own time, which is that of the clock.
pub fn leg(home: &Home, message: Message, due: i64, stamp: Stamp) -> Leg {
    Leg::Put(sent(home, message, due, stamp).put(home))
}

/// The same, of a message whose send something follows: it says what.
pub fn leg_with(home: &Home, message: Message, due: i64, stamp: Stamp, sequel: Sequel) -> Leg {
    let sequel = Some(Arc::new(sequel.sent_at_time(stamp.at)));
    Leg::Put(Stored { sequel, ..sent(home, message, due, stamp) }.put(home))
}

fn sent(home: &Home, message: Message, due: i64, stamp: Stamp) -> Stored {
    // Not the stamp, which may be far ahead of a clock that was set back.
    let at_once = due <= message.sent_at();
    let due = due.clamp(0, TIME_MAX);
    let place = match home.group(&message) {
        Some(group) if at_once => Place::Group(group, stamp),
        _ => Place::At(Part::Waiting, due),
    };
    Stored::new(message.sent_again(stamp.at), due, at_once, place)
}

/// Sends a message that was sent before: it goes last, and was sent when it was.
fn again(home: &Home, message: Message, now: i64, stamp: Stamp) -> Leg {
    let place = match home.group(&message) {
        Some(group) => Place::Group(group, stamp),
        None => Place::At(Part::Waiting, now),
    };
    Leg::Put(Stored::new(message, now, true, place).put(home))
}

impl Embedded {
    /// The queue of a home, which the store's table already has room for. Whoever receives a message
    /// has it to itself for `lease_ms`.
    pub fn new(store: Arc<Store>, home: Home, lease_ms: u32, clock: Clock) -> Embedded {
        let seen = AtomicI64::new(store.last_stamp().at);
        Embedded {
            shared: Arc::new(Shared {
                seen,
                last_now: AtomicI64::new(i64::MIN),
                last_stamp: AtomicI64::new(i64::MIN),
                store,
                home,
                lease_ms: i64::from(lease_ms.max(1)),
                clock,
                waiting: Mutex::default(),
                holds: Mutex::default(),
                mending: Mutex::default(),
                groups: Mutex::default(),
                look: Notify::new(),
                wakes_at: AtomicI64::new(i64::MAX),
                leases: AtomicU64::new(RandomState::new().hash_one(())),
                life: AtomicU64::new(RandomState::new().hash_one(())),
                looks: AtomicU64::new(0),
            }),
        }
    }

    /// The same, with the number of its life, which no other process on its store has. Without, it is random.
    #[must_use]
    pub fn with_life(self, life: u64) -> Embedded {
        self.shared.life.store(life, Ordering::Relaxed);
        self
    }

    /// Where its messages lie.
    pub fn home(&self) -> &Home {
        &self.shared.home
    }

    /// Sends a message by itself, at its `sent_at` or behind the last stamp, and says when. On a queue without an
    /// order a message that is sent again under the same time is sent once, unless it has been received in
    /// between.
    pub async fn send(&self, message: Message, due: i64) -> Result<i64, Error> {
        let (stamp, sending) = self.stamped(message.sent_at(), |stamp| Transact {
            legs: vec![leg(&self.shared.home, message, due, stamp)],
        });
        sending.await?;
        self.sent(due);
        Ok(stamp.at)
    }

    /// Hands in a transaction with a stamp of its own.
    fn stamped(
        &self,
        now: i64,
        build: impl FnOnce(Stamp) -> Transact,
    ) -> (Stamp, Pending<Transacted>) {
        let stamping = self.shared.store.stamp(now);
        let stamp = stamping.stamp();
        (stamp, self.shared.store.transact(build(stamp)))
    }

    /// A place for a transaction with sends in it, to be dropped once it is handed in.
    pub fn stamp(&self, now: i64) -> Stamping<'_> {
        self.shared.store.stamp(now)
    }

    /// Tells those who wait that a transaction with a send in it was committed.
    pub fn sent(&self, due: i64) {
        // The time is taken note of.
        self.shared.now();
        if due < self.shared.wakes_at.load(Ordering::SeqCst) {
            self.look_again();
        }
    }

    /// What follows a send of this life, for its [message](leg_with).
    pub fn sequel(&self, send: Text, kept: Map) -> Sequel {
        Sequel::new(send, kept, self.shared.life.load(Ordering::Relaxed))
    }

    /// What follows the send of a message, if another life has sent it: nobody else does it any more.
    pub fn left_behind<'a>(&self, received: &'a Received) -> Option<&'a Sequel> {
        let sequel = received.stored()?.sequel.as_deref()?;
        (!sequel.is_of(self.shared.life.load(Ordering::Relaxed))).then_some(sequel)
    }

    /// Begins another life: what follows a send of this one may never be done, and nobody knows of which. Done once
    /// more it does no harm, so it is done for every message of this life that is received from here on.
    pub fn begin_another_life(&self) {
        self.shared.life.fetch_add(1, Ordering::Relaxed);
    }

    /// Has those who wait look again: the clock was moved.
    pub fn look_again(&self) {
        self.shared.look.notify_one();
    }

    /// Messages that are due, the oldest first; at most `max`, and none if none comes in time. Each
    /// is leased: nobody else gets it until the lease is over.
    ///
    /// A future that is dropped gives back what was leased for it.
    pub async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, Error> {
        dispatch::receive(&self.shared, max, wait).await
    }

    /// Waits until nothing is leased any more for futures of [`Embedded::receive`] that were dropped.
    pub async fn settled(&self) {
        dispatch::settled(&self.shared).await;
    }

    /// How often it was looked for messages: no more often than something was sent, received or due.
    pub fn looks(&self) -> u64 {
        self.shared.looks.load(Ordering::Relaxed)
    }

    /// The work is done; the message goes.
    pub async fn done(&self, received: &Received) -> Result<(), Error> {
        let held = received.stored().ok_or(Error::Stale)?;
        let delete = held.delete(&self.shared.home);
        match self.shared.store.delete(delete, Returning::Nothing).await {
            Ok(_) => {
                self.shared.over(held);
                Ok(())
            }
            Err(error) => Err(stale_or(error)),
        }
    }

    /// Removes the message as a leg of the last transaction of the work on it. It fails if another holds the
    /// message by then. Whoever commits it says so by [`Embedded::removed`].
    pub fn removal(&self, received: &Received) -> Option<Leg> {
        received.stored().map(|held| Leg::Delete(held.delete(&self.shared.home)))
    }

    /// Has any other transaction of the work on the message fail if another holds the message by then.
    pub fn fence(&self, received: &Received) -> Option<Leg> {
        received.stored().map(|held| Leg::Check(held.check(&self.shared.home)))
    }

    /// Has a transaction of the work on the next message fail if this one is still there.
    pub fn gone(&self, received: &Received) -> Option<Leg> {
        received.stored().map(|held| Leg::Check(held.gone(&self.shared.home)))
    }

    /// A transaction with the message's removal in it was committed.
    pub fn removed(&self, received: &Received) {
        received.stored().into_iter().for_each(|held| self.shared.over(held));
    }

    /// Gives back messages that were received and not worked on.
    pub async fn release(&self, received: Vec<Received>) {
        self.shared.give_back(received).await;
        self.look_again();
    }

    /// Not yet: the message comes again, in five minutes at the latest, and this was no try.
    pub async fn later(&self, received: &Received, until: i64) -> Result<(), Error> {
        let held = received.stored().ok_or(Error::Stale)?;
        let until = self.pause(until);
        self.wait_again(held, held.put_off(received.put_off_since, until)).await
    }

    /// The try failed: the message comes again, in five minutes at the latest.
    pub async fn failed(
        &self,
        received: &Received,
        until: i64,
        failure: TryFailure,
    ) -> Result<(), Error> {
        let held = received.stored().ok_or(Error::Stale)?;
        let failure = Some(failure);
        self.wait_again(held, Stored { failure, ..held.waiting(self.pause(until)) }).await
    }

    /// The end of a pause. What lies further ahead is of a clock that has been set back since.
    fn pause(&self, until: i64) -> i64 {
        let latest = self.shared.now().saturating_add(PAUSE_MS_MAX);
        until.min(latest).clamp(0, TIME_MAX)
    }

    /// The message is given up, and becomes a dead letter.
    pub async fn dead(&self, received: &Received, failure: &TryFailure) -> Result<(), Error> {
        let held = received.stored().ok_or(Error::Stale)?;
        let home = &self.shared.home;
        let letter = dead::put(home, &held.message, received.tries, failure, self.shared.now());
        self.change(vec![Leg::Delete(held.delete(home)), Leg::Put(letter)]).await?;
        self.shared.over(held);
        Ok(())
    }

    async fn wait_again(&self, held: &Stored, waiting: Stored) -> Result<(), Error> {
        // A stamp keeps the time: after a restart a clock that was ahead is known by it.
        let legs = held.moved_to(&waiting, &self.shared.home);
        let (_, moving) = self.stamped(self.shared.now(), |_| Transact { legs });
        moving.await.map_err(stale_or)?;
        self.shared.stop_run(held);
        self.sent(waiting.again_at.unwrap_or_else(|| waiting.place.at()));
        Ok(())
    }

    /// Hands in a transaction on the store the queue is in.
    pub fn transact(&self, transact: Transact) -> Pending<Transacted> {
        self.shared.store.transact(transact)
    }

    async fn change(&self, legs: Vec<Leg>) -> Result<(), Error> {
        match self.transact(Transact { legs }).await {
            Ok(_) => Ok(()),
            Err(error) => Err(stale_or(error)),
        }
    }
}

/// The only conditions are those that the message is still held.
fn stale_or(error: TableError) -> Error {
    match error {
        TableError::ConditionFailed(_) => Error::Stale,
        error => Error::Store(error),
    }
}
