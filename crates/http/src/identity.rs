//! The keys of an identity provider: had when the server starts, refreshed now and then, and when a token names a key
//! that is not known, or does not fit the one it names.
//!
//! One task fetches, so there is one fetch at a time, and not more often than every ten seconds, whatever callers send.
//! Nothing is fetched but what was configured: a token cannot name an address. A set that cannot be had, or is refused,
//! changes nothing: keys that are known are honoured. A set that was had replaces the one before as a whole.

mod fetch;
mod keys;
mod places;
mod source;

use std::fmt::{self, Write};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use latchkey_runtime::{Source, SystemSource};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::call_limits;
use crate::metrics::family;
use fetch::Fetcher;
pub use fetch::{AddressError, FetchError, NoRoots};
pub use keys::SetError;
pub(crate) use keys::{Algorithm, KID_BYTES_MAX, KeySet, Unsigned};
use keys::{Exposed, LeftOut};
use places::{Place, Places};
pub use source::{KeySource, LoadError};

/// How many requests may wait for a refresh at once. Whoever sends keys that are not known holds no more connections.
const WAITING_MAX: usize = 512;

/// How long after a provider has signed with a key the key may be missing in its set, in milliseconds: clocks differ,
/// and some providers publish a key late.
const PUBLISHED_WITHIN_MS: i64 = 60_000;

/// When keys are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long a set is used before it is fetched again.
    pub every: Duration,
    /// The shortest time between the beginnings of two fetches.
    pub apart: Duration,
    /// How long each document may take.
    pub fetch_max: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            every: Duration::from_secs(5 * 60),
            apart: Duration::from_secs(10),
            fetch_max: Duration::from_secs(5),
        }
    }
}

/// Why the keys of a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// HTTPS is not possible on this machine.
    #[error(transparent)]
    Roots(#[from] NoRoots),
    /// The file of keys cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The file of keys has none.
    #[error("`{0}` has no key that can verify a token{1}")]
    NoKeys(String, String),
}

/// The keys of an identity provider.
#[derive(Debug, Clone)]
pub struct Provider {
    shared: Arc<Shared>,
    /// Refreshes, until the last clone is dropped.
    _task: Arc<Task>,
}

#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct Shared {
    source: KeySource,
    fetcher: Fetcher,
    timing: Timing,
    keys: RwLock<Known>,
    /// The generation of `keys`, to be compared without a lock.
    generation: AtomicU64,
    progress: watch::Sender<Progress>,
    /// How many fetches must have been made until nobody wants another.
    wanted: AtomicU64,
    /// Wakes the task that fetches.
    asked: Notify,
    waiting: Places,
    failures: AtomicU64,
}

/// The keys that are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) keys: Arc<KeySet>,
    /// How often the keys have changed; zero, as long as there are none.
    pub(crate) generation: u64,
    had_at: Option<Instant>,
    /// When they were asked for, by the system's clock, in milliseconds since 1970.
    asked_ms: Option<i64>,
}

impl Known {
    /// The time before which a token was issued whose key would be in the set, in milliseconds since 1970.
    pub(crate) fn settled_ms(&self) -> Option<i64> {
        self.asked_ms.map(|asked| asked.saturating_sub(PUBLISHED_WITHIN_MS))
    }
}

/// How far fetching has come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    begun: u64,
    done: u64,
    /// Whether the last one that is done failed.
    failed: bool,
    /// When the last one has begun.
    begun_at: Option<Instant>,
}

/// Whether keys could be had while a request waited for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// They were fetched after the request came.
    Yes,
    /// They may be there, fetched for another request; if not, wait on.
    Perhaps,
    /// They cannot be had now.
    No,
}

/// A request that waits for keys.
pub(crate) struct Waiting<'a> {
    progress: watch::Receiver<Progress>,
    /// How many fetches had begun when the request came.
    begun: u64,
    /// How many are known to be done.
    done: u64,
    until: Instant,
    place: Place<'a>,
}

impl Provider {
    /// Loads the keys, and refreshes them from then on. Needs a tokio runtime.
    ///
    /// A file that cannot be used is an error. A provider that does not answer is not: servers must be able to start
    /// while it is away. Nobody whose token it signed is known until it answers, and [`Provider::is_loaded`] tells.
    pub async fn start(source: KeySource, timing: Timing) -> Result<Provider, ProviderError> {
        let fetcher = match source.needs_tls() {
            true => Fetcher::with_system_roots()?,
            false => Fetcher::default(),
        };
        let shared = Arc::new(Shared {
            source,
            fetcher,
            timing,
            keys: RwLock::default(),
            generation: AtomicU64::new(0),
            progress: watch::Sender::new(Progress::default()),
            wanted: AtomicU64::new(0),
            asked: Notify::new(),
            waiting: Places::new(WAITING_MAX),
            failures: AtomicU64::new(0),
        });
        let begun = Instant::now();
        match shared.refresh().await {
            Err(error) if shared.source.is_file() => return Err(error.into()),
            // It is logged, and tried again.
            Ok(()) | Err(_) => {}
        }
        let keys = shared.known().keys;
        if shared.source.is_file() && keys.len() == 0 {
            let reasons = keys.left_out.iter().map(|key| format!("; {key}"));
            return Err(ProviderError::NoKeys(shared.source.to_string(), reasons.collect()));
        }
        let task = tokio::spawn(refresh_forever(Arc::clone(&shared), begun)).abort_handle();
        Ok(Provider { shared, _task: Arc::new(Task(task)) })
    }

    /// Whether keys were had once.
    pub fn is_loaded(&self) -> bool {
        self.generation() > 0
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.known().keys.len()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    pub(crate) fn known(&self) -> Known {
        self.shared.known()
    }

    /// Whether the keys were asked for so long ago that they may be asked for again. A key may have been replaced since,
    /// under no name or under its own.
    pub(crate) fn is_aged(&self) -> bool {
        let begun_at = self.shared.progress.borrow().begun_at;
        begun_at.is_none_or(|begun| begun.elapsed() >= self.shared.timing.apart)
    }

    /// Asks for fresher keys, for a request from an address. None, if too many wait already, or if the provider has
    /// just failed: it is asked again soon, without anyone waiting.
    pub(crate) fn ask(&self, from: IpAddr) -> Option<Waiting<'_>> {
        let shared = &*self.shared;
        let mut progress = shared.progress.subscribe();
        let Progress { begun, done, failed, .. } = *progress.borrow_and_update();
        if failed && begun == done {
            return None;
        }
        let place = shared.waiting.take(call_limits::network(from))?;
        shared.want(begun + 1);
        let Timing { apart, fetch_max, .. } = shared.timing;
        // The fetch that runs, the pause behind it, and the one that is asked for, each of at most two documents.
        let until = Instant::now() + apart + fetch_max * 4;
        Some(Waiting { progress, begun, done, until, place })
    }

    /// Asks for fresher keys that nobody waits for.
    pub(crate) fn ask_for_later(&self) {
        let begun = self.shared.progress.borrow().begun;
        self.shared.want(begun + 1);
    }

    /// After how many seconds a request that could not wait should come again: when the keys are fetched next, or soon
    /// if they are fetched now.
    pub(crate) fn retry_after(&self) -> u32 {
        let Progress { begun, done, begun_at, .. } = *self.shared.progress.borrow();
        let next = begun_at.filter(|_| begun == done).map(|at| at + self.shared.timing.apart);
        let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
        let seconds = wait.map_or(0, |wait| wait.as_millis().div_ceil(1000));
        u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
    }

    /// Writes what is counted, in Prometheus's text format.
    pub(crate) fn render(&self, out: &mut String) {
        // A `String` takes whatever is written.
        let _ = self.write(out);
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let fetches = self.shared.progress.borrow().done;
        family(out, "identity_refreshes_total", "counter", "Fetches of the provider's keys.")?;
        writeln!(out, "latchkey_identity_refreshes_total {fetches}")?;
        let help = "Fetches of the provider's keys that failed, or whose set was refused.";
        family(out, "identity_refresh_failures_total", "counter", help)?;
        let failures = self.shared.failures.load(Ordering::Relaxed);
        writeln!(out, "latchkey_identity_refresh_failures_total {failures}")?;
        let known = self.known();
        family(out, "identity_keys", "gauge", "Keys that tokens are verified with.")?;
        writeln!(out, "latchkey_identity_keys {}", known.keys.len())?;
        family(out, "identity_waiting", "gauge", "Requests that wait for the provider's keys.")?;
        writeln!(out, "latchkey_identity_waiting {}", self.shared.waiting.count())?;
        if let Some(had_at) = known.had_at {
            family(out, "identity_keys_age_seconds", "gauge", "Time since the keys were had.")?;
            writeln!(out, "latchkey_identity_keys_age_seconds {}", had_at.elapsed().as_secs())?;
        }
        Ok(())
    }
}

impl fmt::Display for Provider {
    /// Where the keys come from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.source.fmt(f)
    }
}

impl Waiting<'_> {
    /// Waits until a fetch is done.
    pub(crate) async fn next(&mut self) -> Refreshed {
        loop {
            let changed = tokio::select! {
                changed = tokio::time::timeout_at(self.until, self.progress.changed()) => changed,
                () = self.place.lost() => return Refreshed::No,
            };
            match changed {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Refreshed::No,
            }
            let Progress { done, failed, .. } = *self.progress.borrow_and_update();
            if done > self.done {
                self.done = done;
                return match (failed, done > self.begun) {
                    (true, _) => Refreshed::No,
                    (false, true) => Refreshed::Yes,
                    (false, false) => Refreshed::Perhaps,
                };
            }
        }
    }
}

impl Shared {
    fn known(&self) -> Known {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the task fetch until so many fetches have been made.
    fn want(&self, fetches: u64) {
        self.wanted.fetch_max(fetches, Ordering::Relaxed);
        self.asked.notify_one();
    }

    /// Fetches the keys once. What goes wrong is logged and counted.
    async fn refresh(&self) -> Result<(), LoadError> {
        let asked_ms = SystemSource.now();
        self.progress.send_modify(|progress| {
            progress.begun += 1;
            progress.begun_at = Some(Instant::now());
        });
        let loaded = self.source.load(&self.fetcher, self.timing.fetch_max).await;
        let refreshed = match loaded {
            Ok(keys) => {
                self.replace(keys, asked_ms);
                Ok(())
            }
            Err(error) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                let known = self.known();
                let (source, keys) = (&self.source, known.keys.len());
                match known.generation {
                    // The server does not start, and says why.
                    0 if self.source.is_file() => {}
                    0 => {
                        tracing::error!(%source, %error, "the keys of the identity provider are not known; its tokens are answered 503")
                    }
                    _ => {
                        tracing::warn!(%source, %error, keys, "the keys of the identity provider could not be refreshed; those that are known are honoured")
                    }
                }
                Err(error)
            }
        };
        let failed = refreshed.is_err();
        self.progress.send_modify(|progress| {
            progress.done += 1;
            progress.failed = failed;
        });
        refreshed
    }

    /// Puts a set that was asked for at a time in the place of the one before.
    fn replace(&self, keys: KeySet, asked_ms: i64) {
        let (had_at, asked_ms) = (Some(Instant::now()), Some(asked_ms));
        let mut known = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if known.generation > 0 && *known.keys == keys {
            (known.had_at, known.asked_ms) = (had_at, asked_ms);
            return;
        }
        let generation = known.generation + 1;
        let keys = Arc::new(keys);
        *known = Known { keys: Arc::clone(&keys), generation, had_at, asked_ms };
        self.generation.store(generation, Ordering::Release);
        drop(known);
        let source = &self.source;
        for key in &keys.left_out {
            tracing::warn!(%source, %key, "a key of the identity provider is left out");
        }
        for key in &keys.exposed {
            tracing::warn!(%source, %key, "the key set of the identity provider shows what only the provider may have: whoever reads the set can sign tokens; have the provider replace this key");
        }
        match keys.len() {
            0 => {
                tracing::error!(%source, "the identity provider has no key that can verify a token")
            }
            keys => tracing::info!(%source, keys, "the keys of the identity provider are new"),
        }
    }
}

/// Refreshes keys, from the time at which the first refresh has begun.
async fn refresh_forever(shared: Arc<Shared>, mut begun: Instant) {
    let Timing { every, apart, .. } = shared.timing;
    loop {
        let Progress { done, failed, .. } = *shared.progress.borrow();
        let due = begun + if failed { apart } else { every };
        while shared.wanted.load(Ordering::Relaxed) <= done && Instant::now() < due {
            tokio::select! {
                () = tokio::time::sleep_until(due) => {}
                () = shared.asked.notified() => {}
            }
        }
        tokio::time::sleep_until(begun + apart).await;
        begun = Instant::now();
        // It has logged what went wrong.
        drop(shared.refresh().await);
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kid {
            Some(kid) => write!(f, "the key `{kid}`: {}", self.reason),
            None => write!(f, "a key without a usable `kid`: {}", self.reason),
        }
    }
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.symmetric { "symmetric" } else { "private" };
        match &self.kid {
            Some(kid) => write!(f, "the {kind} key `{kid}`"),
            None => write!(f, "a {kind} key without a usable `kid`"),
        }
    }
}

#[cfg(test)]
mod tests;
