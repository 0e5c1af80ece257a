//! A clock that tests move, and queues that are worked off by hand, so that time stands still in between.
//!
//! With it a server has paths of its own, for `POST` alone:
//! `/test-clock/pass` lets time pass up to the instant in `Latchkey-Now`, with all that falls due until then;
//! `/test-clock/queues/NAME/works`, `…/holds` and `…/refuses` have a queue do something else from here on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_runtime::queue::Error;
use latchkey_runtime::{Runtime, Sending, Sent, Source, SystemSource};

/// How the paths begin.
pub(crate) const PREFIX: &str = "test-clock/";

/// How many messages are worked off at once: more can only be a circle.
const MESSAGES_MAX: usize = 10_000;

/// The clock has not been moved yet.
const UNMOVED: i64 = i64::MIN;

/// A clock that tests move. Until then it goes as clocks do; chance is as it is.
#[derive(Debug)]
pub struct TestClock {
    now: AtomicI64,
    modes: Mutex<Modes>,
    /// One passes time at once.
    passing: tokio::sync::Mutex<()>,
}

/// Queues that do something else than they do unless told otherwise.
type Modes = BTreeMap<String, Mode>;

/// What a queue does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Takes what is sent, and has it worked off.
    Works,
    /// Takes what is sent, and keeps it.
    Holds,
    /// Takes nothing.
    Refuses,
}

impl TestClock {
    /// A clock that nobody has moved yet.
    pub fn new() -> TestClock {
        TestClock::at(UNMOVED)
    }

    /// A clock that stands at an instant.
    pub fn at(instant: i64) -> TestClock {
        let (now, modes) = (AtomicI64::new(instant), Mutex::default());
        TestClock { now, modes, passing: tokio::sync::Mutex::default() }
    }

    fn modes(&self) -> MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue works until it is told otherwise.
    fn mode(&self, queue: &str) -> Mode {
        self.modes().get(queue).copied().unwrap_or(Mode::Works)
    }

    /// The same runtime, with queues that do as this clock says.
    pub(crate) fn sends(self: &Arc<TestClock>, runtime: Runtime) -> Runtime {
        let clock = Arc::clone(self);
        runtime.with_sending(Sending::new(move |queue| match clock.mode(queue) {
            Mode::Refuses => Sent::Refused,
            Mode::Works | Mode::Holds => Sent::Accepted,
        }))
    }

    /// Has a queue do something else from here on, by the rest of a path. False if there is no such thing.
    pub(crate) fn set(&self, path: &str, runtimes: &[Runtime]) -> bool {
        let Some((queue, mode)) = path.split_once('/') else { return false };
        let mode = match mode {
            "works" => Mode::Works,
            "holds" => Mode::Holds,
            "refuses" => Mode::Refuses,
            _ => return false,
        };
        let known = runtimes.iter().any(|runtime| runtime.queue(queue).is_some());
        if known {
            self.modes().insert(queue.to_owned(), mode);
        }
        known
    }

    /// Works off what is due up to an instant, each message when it is due, and stays there.
    pub(crate) async fn pass(&self, runtimes: &[Runtime], instant: i64) -> Result<(), Error> {
        let _alone = self.passing.lock().await;
        for runtime in runtimes {
            for worked in 0.. {
                let Some((at, queue)) = self.next(runtime, instant).await? else { break };
                if worked == MESSAGES_MAX {
                    let reason = format!(
                        "{MESSAGES_MAX} messages fell due at once: let less time pass, or see whether they send each other"
                    );
                    return Err(Error::Unavailable { reason });
                }
                self.now.fetch_max(at, Ordering::SeqCst);
                let Some(queue) = runtime.queue(&queue) else {
                    let reason = format!("there is no queue `{queue}`, of which a message is due");
                    return Err(Error::Unavailable { reason });
                };
                let mut run = queue.queue().receive(1, Duration::ZERO).await?.into_iter();
                for received in run.by_ref() {
                    if !queue.handle(&received).await?.over {
                        break;
                    }
                }
                queue.queue().release(run.collect()).await;
            }
        }
        self.now.store(instant, Ordering::SeqCst);
        Ok(())
    }

    /// The message that is due first, if that is not after an instant: when, and of which queue.
    async fn next(&self, runtime: &Runtime, instant: i64) -> Result<Option<(i64, String)>, Error> {
        let mut next: Option<(i64, String)> = None;
        for name in runtime.system().queues().map(|queue| queue.name) {
            if self.mode(name) == Mode::Holds {
                continue;
            }
            let queue = runtime.queue(name).and_then(|queue| queue.embedded());
            // A test clock moves the time of embedded queues alone.
            let Some(queue) = queue else { continue };
            let due = queue.first_due().await?.filter(|at| *at <= instant);
            next = next.into_iter().chain(due.map(|at| (at, name.to_owned()))).min();
        }
        Ok(next)
    }
}

impl Default for TestClock {
    fn default() -> TestClock {
        TestClock::new()
    }
}

impl Source for TestClock {
    fn now(&self) -> i64 {
        match self.now.load(Ordering::SeqCst) {
            UNMOVED => SystemSource.now(),
            now => now,
        }
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        SystemSource.random(bytes)
    }
}
