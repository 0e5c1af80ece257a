//! The queues of a document that is run by its examples: worked off by hand, so that time stands still in
//! between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_language::ast::QueueMode;
use latchkey_runtime::queue::{Error, Which};
use latchkey_runtime::{Runtime, Sending, Sent, Source, SystemSource, time};

/// How many messages are worked off between two requests: more can only be a circle.
const MESSAGES_MAX: usize = 10_000;

/// The time of the examples, and chance as it is.
#[derive(Debug)]
pub(super) struct Clock(AtomicI64);

impl Clock {
    pub(super) fn new(beginning: &str) -> Clock {
        Clock(AtomicI64::new(time::parse(beginning).unwrap_or(0)))
    }
}

impl Source for Clock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        SystemSource.random(bytes)
    }
}

/// The queues, and what each does.
#[derive(Debug)]
pub(super) struct Queues {
    runtime: Runtime,
    clock: Arc<Clock>,
    modes: Arc<Mutex<Modes>>,
}

/// Those that do not work as they do unless told otherwise.
type Modes = BTreeMap<String, QueueMode>;

fn locked(modes: &Mutex<Modes>) -> MutexGuard<'_, Modes> {
    modes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queues {
    /// The queues of a runtime, and the runtime as they have it.
    pub(super) fn new(runtime: Runtime, clock: Arc<Clock>) -> (Queues, Runtime) {
        let modes = Arc::new(Mutex::new(Modes::new()));
        let asked = Arc::clone(&modes);
        let runtime =
            runtime.with_sending(Sending::new(move |queue| match locked(&asked).get(queue) {
                Some(QueueMode::Refuses) => Sent::Refused,
                _ => Sent::Accepted,
            }));
        (Queues { runtime: runtime.clone(), clock, modes }, runtime)
    }

    /// Has a queue do something else from here on. False if there is none of that name.
    pub(super) fn set(&self, queue: &str, mode: QueueMode) -> bool {
        locked(&self.modes).insert(queue.to_owned(), mode);
        self.runtime.queue(queue).is_some()
    }

    /// Works off what is due up to an instant, each message when it is due, and stays there.
    pub(super) async fn work_until(&self, instant: i64) -> Result<(), Error> {
        for _ in 0..MESSAGES_MAX {
            let Some((at, queue)) = self.next(instant)? else { break };
            self.clock.0.fetch_max(at, Ordering::SeqCst);
            let Some(held) = self.runtime.embedded_queue(&queue) else { break };
            for received in held.receive(1, Duration::ZERO).await? {
                self.runtime.handle(&queue, &received).await?;
            }
        }
        self.clock.0.store(instant, Ordering::SeqCst);
        Ok(())
    }

    /// The message that is due first, if that is not after an instant: when, and of which queue.
    fn next(&self, instant: i64) -> Result<Option<(i64, String)>, Error> {
        let mut next: Option<(i64, String)> = None;
        for name in self.runtime.system().queues() {
            if locked(&self.modes).get(name) == Some(&QueueMode::Holds) {
                continue;
            }
            let Some(queue) = self.runtime.embedded_queue(name) else { continue };
            let (first, _) = queue.peek(Which::Waiting, 1, None)?;
            let due = first.first().map(|first| first.at).filter(|at| *at <= instant);
            next = next.into_iter().chain(due.map(|at| (at, name.to_owned()))).min();
        }
        Ok(next)
    }
}
