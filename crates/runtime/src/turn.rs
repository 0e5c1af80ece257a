//! The turns of messages of one group, which are worked on one after the other.
//!
//! While a message is worked on, the next one runs ahead: it reads single items and decides, and waits before its
//! first write. Its turn comes when the message before it is over. If both lie in the store, its turn comes as soon
//! as the write that removes the message before it is handed in. Its own first write is handed in right behind that
//! one, so that the store syncs both at once, and has a leg that insists that the message before it is gone.
//!
//! What ran ahead stands only if the message before it wrote nothing that was read, and was not worked on at a later
//! instant. Otherwise the next message begins anew once the one before it is over, at no earlier instant. So a group
//! comes to exactly what it comes to without running ahead.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use latchkey_queue::Received;
use latchkey_table::{Key, Leg, Request};
use tokio::sync::watch;

/// How far the work on a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is worked on, or waits for its turn.
    Working,
    /// The write that removes it was handed in, and nothing comes after that write.
    Leaving,
    /// It is gone.
    Over,
    /// It stays, and no message behind it may be worked on.
    Held,
}

/// A message of a run and how far the work on it is.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) received: Received,
    stage: watch::Sender<Stage>,
    touched: Mutex<Touched>,
    /// The latest instant it was worked on as `now`.
    now: AtomicI64,
}

/// Which items the work on a message has asked for.
#[derive(Debug, Default)]
struct Touched {
    /// What it read before its turn.
    read: Vec<Key>,
    wrote: Vec<Key>,
    /// Whether it may have written more than that.
    wrote_more: bool,
}

/// A message's turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) own: Arc<Progress>,
    /// The message before it in its run.
    pub(crate) before: Option<Arc<Progress>>,
}

/// How a turn comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comes {
    /// Not at all: the message before it stays.
    Never,
    /// The message before it is over. What ran ahead stands, or not.
    Over { stands: bool },
    /// The removal of the message before it is handed in. What ran ahead stands.
    Behind,
}

impl Progress {
    pub(crate) fn new(received: Received, now: i64) -> Arc<Progress> {
        let (stage, _) = watch::channel(Stage::Working);
        Arc::new(Progress { received, stage, touched: Mutex::default(), now: AtomicI64::new(now) })
    }

    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Waits until it is gone or stays, and says whether it is gone.
    async fn is_over(&self) -> bool {
        self.reached(|stage| matches!(stage, Stage::Over | Stage::Held)).await == Stage::Over
    }

    async fn reached(&self, enough: impl Fn(Stage) -> bool) -> Stage {
        let mut stages = self.stage.subscribe();
        // This value holds the sender too, so the channel is never closed.
        stages.wait_for(|stage| enough(*stage)).await.map_or(Stage::Held, |stage| *stage)
    }

    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The instant at which the work began, which is `now` unless the message before it is worked on later.
    pub(crate) fn now(&self) -> i64 {
        self.own.now.load(Ordering::Relaxed)
    }

    /// Remembers the instant that `now` is.
    pub(crate) fn worked_at(&self, now: i64) {
        self.own.now.fetch_max(now, Ordering::Relaxed);
    }

    /// The instant before which the message may not be worked on: that of the message before it.
    pub(crate) fn not_before(&self) -> i64 {
        self.before.as_ref().map_or(i64::MIN, |before| before.now.load(Ordering::Relaxed))
    }

    /// Remembers what is asked of the table, before it is asked.
    pub(crate) fn note(&self, request: &Request) {
        match request {
            Request::Get(get) => self.own.touched().read.push(get.key.clone()),
            Request::BatchGet(get) => self.own.touched().read.extend_from_slice(&get.keys),
            Request::SnapshotGet(get) => self.own.touched().read.extend_from_slice(&get.keys),
            // None runs ahead.
            Request::Query(_) | Request::IndexScan(_) => {}
            Request::Put(put, _) => self.wrote(put.table.key.of(&put.item)),
            Request::Update(update, _) => self.wrote(Some(update.key.clone())),
            Request::Delete(delete, _) => self.wrote(Some(delete.key.clone())),
            Request::Transact(transact) => {
                let writes = transact.legs.iter().filter(|leg| !matches!(leg, Leg::Check(_)));
                writes.for_each(|leg| self.wrote(leg.key().ok()));
            }
        }
    }

    fn wrote(&self, key: Option<Key>) {
        match key {
            Some(key) => self.own.touched().wrote.push(key),
            // The table refuses it; until then it may be any.
            None => self.own.touched().wrote_more = true,
        }
    }

    /// The write that removes the message is handed in.
    pub(crate) fn leaves(&self) {
        self.own.reach(Stage::Leaving);
    }

    /// The work has effects that are not noted: those that follow a send.
    pub(crate) fn writes_more(&self) {
        self.own.touched().wrote_more = true;
    }

    /// Waits for the turn of a message that has run ahead. It can come before the message before it is over if the
    /// next thing to do is a write, which then insists that it is.
    pub(crate) async fn comes(&self, writes_next: bool) -> Comes {
        let Some(before) = &self.before else { return Comes::Over { stands: true } };
        let stage = before.reached(|stage| stage != Stage::Working).await;
        if stage == Stage::Leaving && writes_next && self.stands() {
            return Comes::Behind;
        }
        match before.is_over().await {
            true => Comes::Over { stands: self.stands() },
            false => Comes::Never,
        }
    }

    /// Waits until the message before it is gone or stays, and says whether it is gone.
    pub(crate) async fn is_free(&self) -> bool {
        match &self.before {
            Some(before) => before.is_over().await,
            None => true,
        }
    }

    /// Whether the message before it wrote nothing that was read, and was not worked on at a later instant.
    fn stands(&self) -> bool {
        let Some(before) = &self.before else { return true };
        if self.not_before() > self.now() {
            return false;
        }
        let (own, before) = (self.own.touched(), before.touched());
        !before.wrote_more && !own.read.iter().any(|key| before.wrote.contains(key))
    }
}

/// The work on a message of a run.
pub(crate) struct InTurn<'a, T> {
    pub(crate) progress: Arc<Progress>,
    work: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    /// What it came to.
    ended: Option<T>,
}

impl<'a, T> InTurn<'a, T> {
    pub(crate) fn new(
        progress: Arc<Progress>,
        work: impl Future<Output = T> + Send + 'a,
    ) -> InTurn<'a, T> {
        InTurn { progress, work: Box::pin(work), ended: None }
    }

    /// Runs as far as it can.
    fn advance(&mut self, context: &mut Context<'_>) {
        if self.ended.is_none()
            && let Poll::Ready(ended) = self.work.as_mut().poll(context)
        {
            self.ended = Some(ended);
        }
    }

    /// Runs to its end, while another runs ahead.
    pub(crate) async fn ends(&mut self, mut ahead: Option<&mut InTurn<'a, T>>) -> T {
        std::future::poll_fn(|context| {
            // First as far as it can without this one, so that its write is ready; then right behind this one's.
            ahead.iter_mut().for_each(|ahead| ahead.advance(context));
            self.advance(context);
            if let Some(ended) = self.ended.take() {
                return Poll::Ready(ended);
            }
            ahead.iter_mut().for_each(|ahead| ahead.advance(context));
            Poll::Pending
        })
        .await
    }
}
