//! Where the time comes from.

use std::fmt;
use std::sync::Arc;

type Milliseconds = Arc<dyn Fn() -> i64 + Send + Sync>;

/// A clock of the caller's own, in milliseconds since 1970, and one that is never set.
#[derive(Clone)]
pub struct Clock {
    now: Milliseconds,
    steady: Milliseconds,
}

impl Clock {
    /// A clock that asks the function, and is taken to be never set.
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> Clock {
        let now: Milliseconds = Arc::new(now);
        Clock { steady: Arc::clone(&now), now }
    }

    /// The same, with a second function that counts milliseconds and is never set, whatever becomes of the clock.
    #[must_use]
    pub fn with_steady(self, steady: impl Fn() -> i64 + Send + Sync + 'static) -> Clock {
        Clock { steady: Arc::new(steady), ..self }
    }

    /// The time.
    pub fn now(&self) -> i64 {
        (self.now)()
    }

    /// Milliseconds since some instant of this process: what is measured by them has the length it has, also if the
    /// clock is set meanwhile.
    pub fn steady(&self) -> i64 {
        (self.steady)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
