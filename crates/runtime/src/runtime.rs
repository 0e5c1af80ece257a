//! The runtime of one system: a call in, an outcome out.

use std::sync::Arc;
use std::time::Duration;

use latchkey_model::model::{IdVec, QueueId};
use latchkey_table::{
    Answer, Backend, Capacity, Consistency, Error, Get, Got, Key, Need, PrepareError, Request,
};
use tokio::time::Instant;

use crate::answer::Outcome;
use crate::bug::Faults;
use crate::cache::{Cache, CacheCount};
use crate::call::{CALL_TIME_MAX, Call};
use crate::clock::{Source, SystemSource};
use crate::cursor::Sealer;
use crate::lanes::Lanes;
use crate::plan::System;
use crate::problem::Problem;
use crate::queue_handle::QueueHandle;
use crate::queues::{self, Line, Outside, Sending};
use crate::run;
use crate::storage::{StartError, Storage};
use crate::ulids::Ulids;

/// How long a store may take to show that it answers.
const READY_TIME_MAX: Duration = Duration::from_secs(2);

/// Runs the contracts of one system.
///
/// Clones share what contracts with a `cache` have read. What another runtime writes is, to a cache, written by another
/// process.
///
/// ```
/// use latchkey_embedded::Store;
/// use latchkey_runtime::{Call, Caller, Options, Runtime, System};
///
/// # const DOORS: &str = include_str!("../tests/doors.md");
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = System::read(DOORS)?;
/// let store = Store::in_memory(&latchkey_embedded::Options::default())?;
/// let runtime = Runtime::start(system, store, Options::default()).await?;
///
/// let alice = Caller::new("alice");
/// runtime.call(Call::new("D-02", alice.clone()).input("doorId", "D1")).await;
/// let outcome = runtime.call(Call::new("D-01", alice).input("doorId", "D1")).await;
/// assert_eq!(outcome.body(), r#"{"doorId":"D1","ownerId":"alice","state":"SHUT","version":1}"#);
/// assert_eq!(outcome.capacity.to_string(), "rcu=0.5, wcu=0");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Runtime {
    pub(crate) system: Arc<System>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) sealer: Sealer,
    /// The queues of the system, by their ids in the model.
    pub(crate) lines: IdVec<QueueId, Line>,
    pub(crate) sending: Sending,
    pub(crate) ulids: Arc<Ulids>,
    pub(crate) faults: Faults,
    /// What contracts with a `cache` have read, if there are any.
    pub(crate) cache: Option<Arc<Cache>>,
    /// Where calls that lost on an item wait, if all writers are here.
    pub(crate) lanes: Option<Arc<Lanes>>,
}

/// What a runtime needs beside its system and its backend.
pub struct Options {
    /// Seals cursors. Instances that serve the same callers share it; the default lasts as long as the
    /// process.
    pub cursor_secret: Vec<u8>,
    /// Where time and chance come from.
    pub source: Arc<dyn Source>,
}

impl Default for Options {
    fn default() -> Options {
        let source = SystemSource;
        let mut cursor_secret = vec![0; 32];
        if source.random(&mut cursor_secret).is_err() {
            // A runtime does not start without one.
            cursor_secret.clear();
        }
        Options { cursor_secret, source: Arc::new(source) }
    }
}

impl Runtime {
    /// Starts a runtime. On this machine it makes the table of the system if there is none; elsewhere the table must
    /// be there.
    pub async fn start(
        system: impl Into<Arc<System>>,
        storage: impl Into<Storage>,
        options: Options,
    ) -> Result<Runtime, StartError> {
        Runtime::start_with(system, storage, options, Vec::new()).await
    }

    /// The same, with some of its queues, by their names, outside the store: what is sent to them waits in
    /// an outbox in the table. All others are in the store itself.
    pub async fn start_with(
        system: impl Into<Arc<System>>,
        storage: impl Into<Storage>,
        options: Options,
        outside: Vec<Outside>,
    ) -> Result<Runtime, StartError> {
        if options.cursor_secret.is_empty() {
            return Err(StartError::NoSecret);
        }
        let system = system.into();
        let storage = storage.into();
        prepare(&system, &*storage.backend).await?;
        let sealer = Sealer::new(&options.cursor_secret);
        let source = options.source;
        let lines = queues::lines(&system, storage.queues.as_ref(), &source, outside)?;
        let (backend, sending) = (storage.backend, Sending::default());
        let (ulids, faults) = (Arc::default(), Faults::default());
        let cache = Cache::of(&system, backend.lag()).map(Arc::new);
        let lanes = backend.has_all_writers().then(|| Arc::new(Lanes::new()));
        Ok(Runtime { system, backend, source, sealer, lines, sending, ulids, faults, cache, lanes })
    }

    /// The same, which also opens cursors that were made with a secret before this one. It makes none with it.
    #[must_use]
    pub fn with_old_cursor_secret(self, secret: &[u8]) -> Runtime {
        Runtime { sealer: self.sealer.with_old(secret), ..self }
    }

    /// The same, where queues may refuse what is sent to them. The queue in the store takes everything; a
    /// test can see what becomes of a document where another does not.
    #[must_use]
    pub fn with_sending(self, sending: Sending) -> Runtime {
        Runtime { sending, ..self }
    }

    /// The same system on another backend, with time and chance of its own. The ULIDs it makes do not depend on those
    /// that others make: a search runs one call in many orders, and each time the call makes the same. No call is
    /// answered from what another has read, and none waits for another.
    #[must_use]
    pub fn beside(&self, backend: Arc<dyn Backend>, source: Arc<dyn Source>) -> Runtime {
        Runtime { backend, source, ulids: Arc::default(), cache: None, lanes: None, ..self.clone() }
    }

    /// The queue of a name.
    pub fn queue(&self, name: &str) -> Option<QueueHandle<'_>> {
        self.system.queue(name).map(|(id, _)| self.queue_by_id(id))
    }

    /// A queue of this runtime's own system.
    pub fn queue_by_id(&self, id: QueueId) -> QueueHandle<'_> {
        let (planned, line) = (&self.system.queues[id], &self.lines[id]);
        QueueHandle { runtime: self, planned, line, trace: false }
    }

    /// How often it has met what should not be: bugs of its own, and stored items that are not as the document
    /// declares them. Each is in the log.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// How often the contracts with a `cache` were answered from memory.
    pub fn cache_counts(&self) -> impl Iterator<Item = CacheCount<'_>> {
        self.cache.iter().flat_map(|cache| cache.counts())
    }

    /// The system that this runtime runs.
    pub fn system(&self) -> &Arc<System> {
        &self.system
    }

    /// The backend that has the items.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// Whether the store answers, and takes writes.
    pub async fn ready(&self) -> Result<(), Error> {
        self.backend.takes_writes().map_err(|why| Error::ReadOnly { why })?;
        let table = self.system.own_table.clone();
        let key = Key::new("LATCHKEY#READY", "READY");
        let get = Get { table, key, consistency: Consistency::Eventual };
        let deadline = Instant::now() + READY_TIME_MAX;
        self.backend.ask::<Got>(get, deadline.into_std()).await.map(drop)
    }

    /// The time, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.source.now()
    }

    /// Asks the table something that belongs to no call.
    pub(crate) async fn ask<T>(&self, request: impl Into<Request> + Send) -> Result<T, Error>
    where
        T: TryFrom<Answer, Error = Error>,
    {
        let deadline = Instant::now() + CALL_TIME_MAX;
        self.backend.ask(request, deadline.into_std()).await
    }

    /// Looks whether an invariant holds of the item whose key is given: it answers the item, or the problem `broken`.
    /// For tests: nothing that serves looks.
    pub async fn look(&self, call: Call) -> Option<Outcome> {
        let invariant = self.system.invariant(&call.contract)?;
        Some(run::run(self, invariant, call).await)
    }

    /// Carries a call out.
    pub async fn call(&self, call: Call) -> Outcome {
        match self.system.contract(&call.contract) {
            Some(contract) => run::run(self, contract, call).await,
            None => {
                let detail = format!("there is no contract `{}`", call.contract);
                Outcome {
                    contract: None,
                    result: Err(Problem::new(404, "not-found", detail)),
                    capacity: Capacity::ZERO,
                    replayed: false,
                    fresh: None,
                    trace: Vec::new(),
                }
            }
        }
    }
}

/// Sees that a system's tables can be used.
async fn prepare(system: &System, backend: &dyn Backend) -> Result<(), StartError> {
    let transacting = system.transacting();
    let need = if transacting.is_empty() { Need::Write } else { Need::Transact };
    backend.prepare(&system.places(), need).await.map_err(|error| match error {
        PrepareError::NoTransactions => {
            let contracts = transacting.iter().map(|id| (*id).to_owned()).collect();
            StartError::NoTransactions { contracts }
        }
        error => StartError::Table(error),
    })
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("system", &self.system.name).finish_non_exhaustive()
    }
}
