//! Where a call is stopped: its requests wait here until the schedule lets each of them happen.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use latchkey_runtime::Source;
use latchkey_table::{Answer, Answering, Backend, Error, Need, PrepareError, Request, Tables};

/// The requests of one call, of which one waits at a time.
#[derive(Debug, Default)]
pub(crate) struct Port(Mutex<Slot>);

#[derive(Debug, Default)]
struct Slot {
    asked: Option<Request>,
    answer: Option<Result<Answer, Error>>,
}

impl Port {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request that waits.
    pub(crate) fn take(&self) -> Option<Request> {
        self.slot().asked.take()
    }

    /// Answers the request that was taken.
    pub(crate) fn answer(&self, answer: Result<Answer, Error>) {
        self.slot().answer = Some(answer);
    }
}

impl Backend for Port {
    fn execute(&self, request: Request, _: Instant) -> Answering<'_, Result<Answer, Error>> {
        let before = self.slot().asked.replace(request);
        if before.is_some() {
            let reason = "a call asks for two things at once".to_owned();
            return Answering::ready(Err(Error::Unavailable { reason }));
        }
        Answering::waiting(poll_fn(|_| match self.slot().answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        }))
    }

    fn prepare<'a>(&'a self, _: &'a Tables, _: Need) -> Answering<'a, Result<(), PrepareError>> {
        Answering::ready(Ok(()))
    }
}

/// Time and chance of one call: the same whenever it is run again.
#[derive(Debug)]
pub(crate) struct Fixed {
    now: i64,
    seed: u64,
    drawn: AtomicU64,
}

impl Fixed {
    pub(crate) fn new(now: i64, seed: u64) -> Fixed {
        Fixed { now, seed, drawn: AtomicU64::new(0) }
    }
}

impl Source for Fixed {
    fn now(&self) -> i64 {
        self.now
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ drawn.wrapping_add(1);
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.iter_mut().zip(mixed.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }

    /// Nobody waits: the schedule decides who is next.
    fn wait(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}
