//! The answer to a write, once it is durable.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use latchkey_table::{Error, Wrote};
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// How long the caller of a write that the writer begins with at once stays awake for its answer, if the thread has
/// nothing else to do. A sync of a fast disk is shorter, and to wake a thread that sleeps takes a good part of one.
const AWAKE: Duration = Duration::from_micros(200);

/// A write on its way. Await it, or [`wait`](Pending::wait) for it on a thread that may block.
///
/// Dropping it does not take the write back.
#[must_use = "a write is only known to be durable once it is awaited"]
#[derive(Debug)]
pub struct Pending<T> {
    state: State,
    finish: fn(Wrote) -> T,
}

#[derive(Debug)]
enum State {
    Refused(Option<Error>),
    Accepted {
        receiver: oneshot::Receiver<Result<Wrote, Error>>,
        /// Until when the caller stays awake.
        awake: Option<Instant>,
    },
}

impl<T> Pending<T> {
    pub(crate) fn refused(error: Error, finish: fn(Wrote) -> T) -> Pending<T> {
        Pending { state: State::Refused(Some(error)), finish }
    }

    /// A write that the writer has got, and begins with at once or not.
    pub(crate) fn accepted(
        receiver: oneshot::Receiver<Result<Wrote, Error>>,
        begins: bool,
        finish: fn(Wrote) -> T,
    ) -> Pending<T> {
        let awake = begins.then(|| Instant::now() + AWAKE);
        Pending { state: State::Accepted { receiver, awake }, finish }
    }

    /// Blocks the thread until the write is durable or refused.
    pub fn wait(mut self) -> Result<T, Error> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut self).poll(&mut context) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let unknown = || Error::OutcomeUnknown { reason: "the writer stopped".to_owned() };
        let answer = match &mut self.state {
            State::Refused(error) => Err(error.take().unwrap_or_else(unknown)),
            State::Accepted { receiver, awake } => match Pin::new(receiver).poll(context) {
                Poll::Pending => {
                    if awake.is_some_and(|until| Instant::now() < until) {
                        // Looks again when the thread has done all else that it has to do.
                        let _ = pin!(yield_now()).poll(context);
                    } else {
                        *awake = None;
                    }
                    return Poll::Pending;
                }
                Poll::Ready(answer) => answer.unwrap_or_else(|_| Err(unknown())),
            },
        };
        Poll::Ready(answer.map(self.finish))
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use latchkey_table::Capacity;

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_caller_stays_awake_for_a_moment_and_is_woken_by_the_answer_later() {
        for begins in [false, true] {
            let (reply, receiver) = oneshot::channel();
            let mut pending = Pending::accepted(receiver, begins, |_| ());
            let wakes = Arc::new(Wakes::default());
            let waker = Waker::from(Arc::clone(&wakes));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
            // On a busy machine the moment is over before the first look.
            assert!(wakes.0.load(Ordering::Relaxed) <= u32::from(begins));
            thread::sleep(AWAKE);
            let before = wakes.0.load(Ordering::Relaxed);
            assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
            assert_eq!(wakes.0.load(Ordering::Relaxed), before, "it sleeps now");
            reply.send(Ok(Wrote { item: None, capacity: Capacity::ZERO })).unwrap();
            assert_eq!(wakes.0.load(Ordering::Relaxed), before + 1);
            assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Ready(Ok(())));
        }
    }
}
