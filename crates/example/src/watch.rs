//! A service in memory that tells how each answer came about, and chance that is the same in every run.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use latchkey_http::{Delivered, Service, TestClock};
use latchkey_language::Span;
use latchkey_runtime::{Runtime, Source, Trace};
use latchkey_table::Capacity;
use latchkey_value::name::SERVER_PATHS;
use latchkey_value::time;
use sha2::{Digest, Sha256};

use crate::target::{LOOPBACK, Reply, TargetError, reply, unusable};

/// A service that is looked at.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) service: Service,
    pub(crate) clock: Arc<TestClock>,
}

/// How an answer came about.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What was asked of the table.
    pub(crate) trace: Trace,
    /// What that consumed.
    pub(crate) capacity: Capacity,
    /// The statement that refused the call, if one did.
    pub(crate) at: Option<Span>,
}

impl Watched {
    /// The runtime of the one system that is served.
    pub(crate) fn runtime(&self) -> Result<&Runtime, TargetError> {
        let first = self.service.runtimes().first();
        first.ok_or_else(|| unusable("the service has no system"))
    }

    /// Works on the message that is due first up to an instant.
    pub(crate) async fn pass_one(
        &self,
        instant: &str,
    ) -> Result<Option<Vec<Delivered>>, TargetError> {
        let at = time::parse(instant).ok_or_else(|| unusable(format!("`{instant}` is no time")))?;
        self.clock.pass_one(self.runtime()?, at).await.map_err(unusable)
    }

    /// Answers a request, and tells how.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        path: &str,
    ) -> Result<Reply, TargetError> {
        let own = path.trim_start_matches('/').split('?').next().unwrap_or_default();
        let is_own = own.starts_with("test-clock/") || SERVER_PATHS.contains(&own);
        if is_own || *request.method() == Method::HEAD {
            return reply(self.service.answer(request, LOOPBACK).await).await;
        }
        let traced = self.service.answer_traced(request, LOOPBACK).await;
        let (trace, capacity, at) = (traced.trace, traced.capacity, traced.at);
        let reply = reply(traced.response).await?;
        Ok(Reply { seen: Some(Seen { trace, capacity, at }), ..reply })
    }
}

/// The time of a test clock, and chance that comes from counting: a run that is made again makes the same ids.
pub(crate) struct Dice {
    clock: Arc<TestClock>,
    thrown: AtomicU64,
}

impl Dice {
    pub(crate) fn new(clock: Arc<TestClock>) -> Dice {
        Dice { clock, thrown: AtomicU64::new(0) }
    }
}

impl fmt::Debug for Dice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dice").finish_non_exhaustive()
    }
}

impl Source for Dice {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        for chunk in bytes.chunks_mut(32) {
            let count = self.thrown.fetch_add(1, Ordering::SeqCst);
            let hash = Sha256::digest(count.to_be_bytes());
            chunk.iter_mut().zip(hash).for_each(|(byte, random)| *byte = random);
        }
        Ok(())
    }

    fn wait(&self, _: Duration) -> Duration {
        Duration::ZERO
    }
}
