//! The settings of a service.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use latchkey_runtime::PROBLEM_BASE;
use latchkey_runtime::model::CallLimit;

use super::explain::Explanation;
use super::starting::Starting;
use crate::browsers::Cors;
use crate::log::Log;
use crate::site::Site;
use crate::test_clock::TestClock;

/// The settings of a service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a call may take.
    pub call_time_max: Duration,
    /// How many calls may run at once.
    pub calls_max: usize,
    /// How much memory heads and bodies may take, beyond the first 16 KiB of each.
    pub requests_bytes_max: usize,
    /// How much memory answers may take until they are sent, beyond the first 16 KiB of each.
    pub answers_bytes_max: usize,
    /// A test clock: requests may move it, and give their instant in `Latchkey-Now`. For tests only.
    pub test_clock: Option<Arc<TestClock>>,
    /// The log. `/metrics` says how many of its lines were dropped.
    pub log: Option<Log>,
    /// Whether every request is logged, as a JSON line.
    pub log_requests: bool,
    /// More metrics for `/metrics`.
    pub more_metrics: Option<MoreMetrics>,
    /// How often one caller may call, all contracts together. Calls without a token are counted by their address.
    pub limit_per_caller: Option<CallLimit>,
    /// How many proxies stand before the server. Each adds to `X-Forwarded-For` from where it was asked.
    pub proxies: usize,
    /// The pages that may call the service from a browser.
    pub cors: Cors,
    /// Whether `/ready` and `/metrics` are at an address of their own, and not at that of callers.
    pub watched_apart: bool,
    /// What stands before the code in the `type` of a problem, without a slash at the end.
    pub problem_base: String,
    /// The pages that explain problems, for `/problems/{code}`.
    pub explanations: Vec<Explanation>,
    /// Pages beside the contracts, such as a console; at the address of those who watch, if there is one.
    pub site: Option<Arc<dyn Site>>,
    /// The OpenAPI document for `/openapi.json`; where it is empty, there is no such path.
    pub openapi: String,
    /// Set while the systems are being opened: only `/health` and `/ready` are answered.
    pub starting: Option<Starting>,
}

/// More metrics, in Prometheus's text format.
#[derive(Clone)]
pub struct MoreMetrics(pub(super) Arc<WriteMetrics>);

type WriteMetrics = dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync;

impl MoreMetrics {
    /// Calls a function for each request of `/metrics`.
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
            calls_max: 1024,
            requests_bytes_max: 64 * 1024 * 1024,
            answers_bytes_max: 128 * 1024 * 1024,
            test_clock: None,
            log: None,
            log_requests: false,
            more_metrics: None,
            limit_per_caller: None,
            proxies: 0,
            cors: Cors::None,
            watched_apart: false,
            problem_base: PROBLEM_BASE.to_owned(),
            explanations: Vec::new(),
            site: None,
            openapi: String::new(),
            starting: None,
        }
    }
}
