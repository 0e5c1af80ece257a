//! A clock that tests move. Between two moves time stands still, and no message is worked on.
//!
//! A server with a test clock has more paths, for `POST` only. `/test-clock/pass` moves the clock to the instant in
//! `Latchkey-Now` and works on each message that falls due until then. `/test-clock/queues/NAME/works`, `…/holds` and
//! `…/refuses` set what a queue does from then on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_runtime::queue::Error;
use latchkey_runtime::{Handled, Runtime, Sending, Sent, Source, SystemSource};

/// How the paths begin.
pub(crate) const PREFIX: &str = "test-clock/";

/// How many messages one move of the clock works on. More can only be messages that send each other.
pub const MESSAGES_MAX: usize = 10_000;

/// The instant of a clock that has not been moved.
const UNMOVED: i64 = i64::MIN;

/// A clock that tests move. Before the first move it shows the time of the system. Random bytes are those of the
/// system.
#[derive(Debug)]
pub struct TestClock {
    now: AtomicI64,
    /// Whether one request is made at a time.
    alone: bool,
    modes: Mutex<Modes>,
    /// Held while time passes: one move at a time.
    passing: tokio::sync::Mutex<()>,
}

/// The queues whose mode was set.
type Modes = BTreeMap<String, Mode>;

/// What a queue does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Takes messages and delivers them.
    Works,
    /// Takes messages and delivers none.
    Holds,
    /// Takes no messages.
    Refuses,
}

/// A message that was worked on while time passed.
#[derive(Debug)]
pub struct Delivered {
    /// The queue.
    pub queue: String,
    /// When it was worked on, in milliseconds.
    pub at: i64,
    /// Which try it was, from 1.
    pub tries: u32,
    /// What became of it.
    pub handled: Handled,
}

fn too_many() -> Error {
    let reason = format!(
        "{MESSAGES_MAX} messages fell due at once: let less time pass, or see whether they send each other"
    );
    Error::Unavailable { reason }
}

impl TestClock {
    /// A clock that has not been moved.
    pub fn new() -> TestClock {
        TestClock { alone: false, ..TestClock::at(UNMOVED) }
    }

    /// A clock that stands at an instant, for a test that makes one request at a time: no call waits before it tries
    /// again, as no other call can be in its way.
    pub fn at(instant: i64) -> TestClock {
        let (now, modes) = (AtomicI64::new(instant), Mutex::default());
        TestClock { now, alone: true, modes, passing: tokio::sync::Mutex::default() }
    }

    /// From here on shows the time of the system again.
    pub fn release(&self) {
        self.now.store(UNMOVED, Ordering::SeqCst);
    }

    fn modes(&self) -> MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A queue works until it is told otherwise.
    fn mode(&self, queue: &str) -> Mode {
        self.modes().get(queue).copied().unwrap_or(Mode::Works)
    }

    /// The same runtime, with queues that follow the modes of this clock.
    pub(crate) fn sends(self: &Arc<TestClock>, runtime: Runtime) -> Runtime {
        let clock = Arc::clone(self);
        runtime.with_sending(Sending::new(move |queue| match clock.mode(queue) {
            Mode::Refuses => Sent::Refused,
            Mode::Works | Mode::Holds => Sent::Accepted,
        }))
    }

    /// Sets the mode of a queue by the rest of a path, `NAME/MODE`. False if there is no such queue or mode.
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

    /// Works on the messages that are due up to an instant, each at the time it is due, and leaves the clock at that
    /// instant.
    pub(crate) async fn pass(&self, runtimes: &[Runtime], instant: i64) -> Result<(), Error> {
        let _alone = self.passing.lock().await;
        for runtime in runtimes {
            for worked in 0.. {
                if worked == MESSAGES_MAX && self.next(runtime, instant).await?.is_some() {
                    return Err(too_many());
                }
                if self.work_first(runtime, instant, false).await?.is_none() {
                    break;
                }
            }
        }
        self.now.store(instant, Ordering::SeqCst);
        Ok(())
    }

    /// Works on the message that is due first up to an instant, and tells what came of it, with what the worker asked
    /// of the table. If none is due, leaves the clock at the instant. For those who look at each message by itself.
    pub async fn pass_one(
        &self,
        runtime: &Runtime,
        instant: i64,
    ) -> Result<Option<Vec<Delivered>>, Error> {
        let _alone = self.passing.lock().await;
        let worked = self.work_first(runtime, instant, true).await?;
        if worked.is_none() {
            self.now.store(instant, Ordering::SeqCst);
        }
        Ok(worked)
    }

    /// Works on the message that is due first up to an instant.
    async fn work_first(
        &self,
        runtime: &Runtime,
        instant: i64,
        trace: bool,
    ) -> Result<Option<Vec<Delivered>>, Error> {
        let Some((at, name)) = self.next(runtime, instant).await? else { return Ok(None) };
        self.now.fetch_max(at, Ordering::SeqCst);
        let Some(queue) = runtime.queue(&name) else {
            let reason = format!("there is no queue `{name}`, of which a message is due");
            return Err(Error::Unavailable { reason });
        };
        let queue = if trace { queue.traced() } else { queue };
        let mut run = queue.queue().receive(1, Duration::ZERO).await?.into_iter();
        let mut delivered = Vec::new();
        for received in run.by_ref() {
            let handled = queue.handle(&received).await?;
            let (over, tries) = (handled.over, received.tries);
            delivered.push(Delivered { queue: name.clone(), at: self.now(), tries, handled });
            if !over {
                break;
            }
        }
        queue.queue().release(run.collect()).await;
        Ok(Some(delivered))
    }

    /// When the first message is due, and its queue; nothing if that is after an instant.
    async fn next(&self, runtime: &Runtime, instant: i64) -> Result<Option<(i64, String)>, Error> {
        let mut next: Option<(i64, String)> = None;
        for name in runtime.system().queues().map(|queue| queue.name) {
            if self.mode(name) == Mode::Holds {
                continue;
            }
            let queue = runtime.queue(name).and_then(|queue| queue.embedded());
            // A test clock moves the time of embedded queues only.
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

    fn wait(&self, most: Duration) -> Duration {
        if self.alone { Duration::ZERO } else { SystemSource.wait(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_released_goes_on() {
        let clock = TestClock::new();
        clock.now.store(7, Ordering::SeqCst);
        assert_eq!(clock.now(), 7);
        clock.release();
        assert!(clock.now() > 1_767_225_600_000, "{}", clock.now());
    }

    #[test]
    fn who_runs_alone_does_not_wait() {
        let most = Duration::from_secs(1);
        assert_eq!(TestClock::at(0).wait(most), Duration::ZERO);
        // Of a server, several requests may be made at once.
        assert!((0..100).any(|_| TestClock::new().wait(most) > Duration::ZERO));
    }
}
