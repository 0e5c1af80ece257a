//! Where the time comes from.

use std::fmt;
use std::sync::Arc;

type Milliseconds = Arc<dyn Fn() -> i64 + Send + Sync>;
type Steady = Arc<dyn Fn() -> Option<i64> + Send + Sync>;

/// A clock of the caller's own, in milliseconds since 1970, and one that is never set.
#[derive(Clone)]
pub struct Clock {
    now: Milliseconds,
    steady: Steady,
}

impl Clock {
    /// A clock that asks the function. Whatever it tells is meant.
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> Clock {
        Clock { now: Arc::new(now), steady: Arc::new(|| None) }
    }

    /// The same, with a second function that counts milliseconds and is never set, whatever becomes of the clock. It
    /// tells nothing while the clock is moved by hand.
    #[must_use]
    pub fn with_steady(self, steady: impl Fn() -> Option<i64> + Send + Sync + 'static) -> Clock {
        Clock { steady: Arc::new(steady), ..self }
    }

    /// The time.
    pub fn now(&self) -> i64 {
        (self.now)()
    }

    /// Milliseconds since some instant of this process: what is measured by them has the length it has, also if the
    /// clock is set meanwhile.
    pub fn steady(&self) -> i64 {
        (self.steady)().unwrap_or_else(|| self.now())
    }

    /// Whether the clock is moved by hand, so that it goes back on purpose.
    pub fn is_moved_by_hand(&self) -> bool {
        (self.steady)().is_none()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
