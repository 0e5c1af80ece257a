//! The answer to a write, once it is durable.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use latchkey_table::{Error, Wrote};
use tokio::sync::oneshot;

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
    Accepted(oneshot::Receiver<Result<Wrote, Error>>),
}

impl<T> Pending<T> {
    pub(crate) fn refused(error: Error, finish: fn(Wrote) -> T) -> Pending<T> {
        Pending { state: State::Refused(Some(error)), finish }
    }

    pub(crate) fn accepted(
        receiver: oneshot::Receiver<Result<Wrote, Error>>,
        finish: fn(Wrote) -> T,
    ) -> Pending<T> {
        Pending { state: State::Accepted(receiver), finish }
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
            State::Accepted(receiver) => match Pin::new(receiver).poll(context) {
                Poll::Pending => return Poll::Pending,
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
