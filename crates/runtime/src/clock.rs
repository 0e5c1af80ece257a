//! Where time and chance come from.

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time and chance, for `now` and `new`. A call looks at the clock once.
pub trait Source: Send + Sync {
    /// Milliseconds since 1970, UTC.
    fn now(&self) -> i64;

    /// Milliseconds of a clock that is never set: for what lasts some time within this process, and to tell that the
    /// other one was set. Nothing where time is moved by hand.
    fn steady(&self) -> Option<i64> {
        None
    }

    /// Fills bytes at random.
    fn random(&self, bytes: &mut [u8]) -> io::Result<()>;

    /// How long a call that collided waits before it tries again: a random part of a time, so that those who collided
    /// part. Nobody waits where nothing else runs.
    fn wait(&self, most: Duration) -> Duration {
        let mut random = [0; 2];
        // Without random bytes nobody waits, which does no harm.
        let _ = self.random(&mut random);
        most.saturating_mul(u32::from(u16::from_le_bytes(random))) / u32::from(u16::MAX)
    }
}

/// The machine's own clock and random bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSource;

impl Source for SystemSource {
    fn now(&self) -> i64 {
        milliseconds(SystemTime::now())
    }

    fn steady(&self) -> Option<i64> {
        static FIRST: OnceLock<(Instant, i64)> = OnceLock::new();
        let (instant, now) = *FIRST.get_or_init(|| (Instant::now(), self.now()));
        let elapsed = i64::try_from(instant.elapsed().as_millis()).unwrap_or(i64::MAX);
        Some(now.saturating_add(elapsed))
    }

    fn random(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }
}

/// An instant as milliseconds since 1970, UTC.
pub(crate) fn milliseconds(at: SystemTime) -> i64 {
    let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => milliseconds(since),
        Err(before) => -milliseconds(before.duration()),
    }
}
