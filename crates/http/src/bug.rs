//! States that are impossible, met while a request is answered. Each is logged and counted.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use latchkey_runtime::Problem;

/// The bugs that this process has met outside of contracts. The runtime counts those of contracts.
static BUGS: AtomicU64 = AtomicU64::new(0);

/// Logs and counts a bug. Returns the answer for the caller.
pub(crate) fn bug(bug: impl fmt::Display) -> Problem {
    BUGS.fetch_add(1, Ordering::Relaxed);
    tracing::error!(%bug, "this is a bug in latchkey: please report it");
    let detail = "this service has a bug and stopped here; report it with the time of the request";
    Problem::new(500, "internal-error", detail)
}

/// How many bugs this process has met outside of contracts.
pub(crate) fn count() -> u64 {
    BUGS.load(Ordering::Relaxed)
}
