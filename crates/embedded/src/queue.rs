//! The bounded queue in front of the writer.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use latchkey_table::Error;

/// How long the writer looks for the next job before it sleeps. A caller that writes again at once comes back within
/// this time, and to wake a thread that sleeps takes as long.
const LOOK: Duration = Duration::from_micros(50);

/// Jobs waiting for the writer. When it is full, a job is refused rather than kept.
pub(crate) struct WriteQueue<J> {
    state: Mutex<State<J>>,
    arrived: Condvar,
    jobs_max: usize,
    bytes_max: usize,
}

struct State<J> {
    jobs: Vec<J>,
    bytes: usize,
    /// Whether the writer is at work on jobs that it has taken.
    working: bool,
    closed: bool,
}

/// What a wait for jobs ended with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// There are jobs.
    Jobs,
    /// None came in time.
    None,
    /// The queue is closed and empty.
    Closed,
}

impl<J> WriteQueue<J> {
    pub(crate) fn new(jobs_max: usize, bytes_max: usize) -> WriteQueue<J> {
        let state = State { jobs: Vec::new(), bytes: 0, working: false, closed: false };
        WriteQueue { state: Mutex::new(state), arrived: Condvar::new(), jobs_max, bytes_max }
    }

    /// Adds a job of so many bytes, and says whether the writer begins with it at once. A job larger than the whole
    /// queue is let into an empty one.
    pub(crate) fn push(&self, job: J, bytes: usize) -> Result<bool, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(Error::Unavailable { reason: "the store is closed".to_owned() });
        }
        let total = state.bytes.saturating_add(bytes);
        if state.jobs.len() >= self.jobs_max || (total > self.bytes_max && !state.jobs.is_empty()) {
            return Err(Error::Throttled);
        }
        state.bytes = total;
        state.jobs.push(job);
        // The writer sleeps only while there is nothing.
        let first = state.jobs.len() == 1;
        let begins = first && !state.working;
        drop(state);
        if first {
            self.arrived.notify_one();
        }
        Ok(begins)
    }

    /// Waits for jobs and moves every one of them into `jobs`, which is empty. Those taken before are done.
    pub(crate) fn take(&self, jobs: &mut Vec<J>, timeout: Option<Duration>) -> Taken {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).working = false;
        self.look();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State<J>| state.jobs.is_empty() && !state.closed;
        let mut state = match timeout {
            Some(timeout) => {
                let waited = self.arrived.wait_timeout_while(state, timeout, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.arrived.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner),
        };
        std::mem::swap(&mut state.jobs, jobs);
        state.bytes = 0;
        state.working = !jobs.is_empty();
        match (jobs.is_empty(), state.closed) {
            (false, _) => Taken::Jobs,
            (true, false) => Taken::None,
            (true, true) => Taken::Closed,
        }
    }

    /// Waits a moment for a job, awake. Other threads go first.
    fn look(&self) {
        let start = Instant::now();
        let idle =
            || self.state.try_lock().is_ok_and(|state| state.jobs.is_empty() && !state.closed);
        while idle() && start.elapsed() < LOOK {
            thread::yield_now();
        }
    }

    /// Lets no more jobs in. Those that are in will still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.arrived.notify_all();
    }

    /// Drops every job that waits.
    pub(crate) fn clear(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).jobs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_refuses_and_a_closed_one_drains() {
        let queue = WriteQueue::new(2, 100);
        assert_eq!(queue.push(1, 1000), Ok(true));
        assert_eq!(queue.push(2, 1), Err(Error::Throttled));
        let mut jobs = Vec::new();
        assert_eq!(queue.take(&mut jobs, None), Taken::Jobs);
        assert_eq!(jobs, [1]);
        jobs.clear();
        // The writer is still at work on the first.
        assert_eq!(queue.push(3, 50), Ok(false));
        assert_eq!(queue.push(4, 50), Ok(false));
        assert_eq!(queue.push(5, 0), Err(Error::Throttled));
        queue.close();
        assert!(matches!(queue.push(6, 0), Err(Error::Unavailable { .. })));
        assert_eq!(queue.take(&mut jobs, None), Taken::Jobs);
        assert_eq!(jobs, [3, 4]);
        jobs.clear();
        assert_eq!(queue.take(&mut jobs, None), Taken::Closed);
    }
}
