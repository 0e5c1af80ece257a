//! What a service may be told.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::log::Log;
use crate::test_clock::TestClock;

/// What a service may be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a call may take.
    pub call_time_max: Duration,
    /// The clock that requests may move, and whose instants they bring in `Latchkey-Now`. For tests alone.
    pub test_clock: Option<Arc<TestClock>>,
    /// Where lines of the log are left. `/metrics` tells how many were lost.
    pub log: Option<Log>,
    /// Whether every request is told there, as a JSON line.
    pub log_requests: bool,
    /// What else `/metrics` tells.
    pub more_metrics: Option<MoreMetrics>,
}

/// Writes metrics of others, in Prometheus's text format.
#[derive(Clone)]
pub struct MoreMetrics(pub(super) Arc<WriteMetrics>);

type WriteMetrics = dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync;

impl MoreMetrics {
    /// Asks a function whenever `/metrics` is asked for.
    pub fn new<F>(write: impl Fn() -> F + Send + Sync + 'static) -> MoreMetrics
    where
        F: Future<Output = String> + Send + 'static,
    {
        MoreMetrics(Arc::new(move || Box::pin(write())))
    }
}

impl fmt::Debug for MoreMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MoreMetrics")
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            call_time_max: Duration::from_secs(10),
            test_clock: None,
            log: None,
            log_requests: false,
            more_metrics: None,
        }
    }
}
