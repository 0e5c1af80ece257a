//! How many calls run at once. Calls beyond that are refused before anything is done for them.
//!
//! A call counts while it runs. It does not count while its body arrives: slow senders would keep others out.

use std::sync::atomic::{AtomicUsize, Ordering};

use latchkey_runtime::Problem;

#[derive(Debug)]
pub(super) struct AtWork {
    calls: AtomicUsize,
    calls_max: usize,
}

/// A call that runs until this is dropped.
#[derive(Debug)]
#[must_use = "the call counts only while this lives"]
pub(super) struct Running<'a>(&'a AtomicUsize);

impl AtWork {
    pub(super) fn new(calls_max: usize) -> AtWork {
        AtWork { calls: AtomicUsize::new(0), calls_max }
    }

    /// Refuses a call if as many run as may.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self.calls.load(Ordering::Relaxed) < self.calls_max {
            true => Ok(()),
            false => {
                let detail = "the server runs as many calls as it can; try again in a moment";
                Err(Problem::later("busy", detail))
            }
        }
    }

    /// Counts a call that begins. Calls whose bodies arrived meanwhile may take the count above the limit: their
    /// bodies have been read, so they run.
    pub(super) fn begin(&self) -> Running<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Running(&self.calls)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_beyond_the_limit_are_refused_until_one_ends() {
        let at_work = AtWork::new(2);
        let one = at_work.begin();
        assert!(at_work.check().is_ok());
        let other = at_work.begin();
        let refusal = at_work.check().unwrap_err();
        assert_eq!((refusal.status, refusal.retry_after), (503, Some(1)));
        drop(one);
        assert!(at_work.check().is_ok());
        drop(other);
    }
}
