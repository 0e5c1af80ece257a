//! Bugs, and items that are not as the document declares. Each is counted and logged, and no value takes its place.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use latchkey_table::{Key, Text};

use crate::problem::Problem;

/// A state that cannot be: the check, the planning or the runtime itself is wrong. The call ends with it; nothing is
/// tried again, and no value takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bug(Cow<'static, str>);

impl Bug {
    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> Bug {
        Bug(what.into())
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a stored item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It lacks an attribute that is neither optional nor has a default.
    Missing(Text),
    /// The value of an attribute is not of its type.
    Mistyped(Text),
    /// Another item is where this one belongs.
    OtherType,
    /// Its attributes make this key, which is not the one that it has.
    OtherKey(Key),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Missing(name) => write!(f, "`{name}` is missing"),
            Damage::Mistyped(name) => write!(f, "`{name}` is not of its type"),
            Damage::OtherType => f.write_str("an item of another type is there"),
            Damage::OtherKey(Key { partition, sort }) => {
                write!(f, "its attributes make another key: `{partition}`, `{sort}`")
            }
        }
    }
}

/// How often a runtime has met what should not be, since it was started.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    bugs: AtomicU64,
    damaged: AtomicU64,
}

impl Faults {
    /// Logs and counts a bug, and returns the problem for the caller.
    pub(crate) fn bug(&self, contract: &str, bug: &Bug) -> Problem {
        self.0.bugs.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%contract, %bug, "this is a bug in latchkey: please report it");
        let detail =
            "this service has a bug and stopped here; report it with the time of the request";
        Problem::new(500, Text::const_new("internal-error"), detail)
    }

    /// Logs and counts a bug outside a call, such as a task that panicked.
    pub fn report(&self, bug: &str) {
        self.0.bugs.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%bug, "this is a bug in latchkey: please report it");
    }

    /// Logs and counts a damaged item, and returns the problem for the caller.
    pub(crate) fn damaged(
        &self,
        contract: &str,
        entity: &str,
        key: &Key,
        damage: &Damage,
    ) -> Problem {
        self.0.damaged.fetch_add(1, Ordering::Relaxed);
        let Key { partition, sort } = key;
        tracing::error!(%contract, %entity, %partition, %sort, %damage, "a stored item is damaged");
        let detail = "a stored item does not have the shape the document declares; the service's log has its key";
        Problem::new(500, Text::const_new("damaged-item"), detail)
    }

    /// Logs and counts an item whose bytes are damaged, and returns the problem for the caller.
    pub(crate) fn unreadable(&self, contract: &str, what: &str) -> Problem {
        self.0.damaged.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%contract, %what, "the store is damaged: `latchkey store verify` tells of all damage");
        let detail = "a stored item is damaged and cannot be read; the service's log has its key";
        Problem::new(500, Text::const_new("damaged-item"), detail)
    }

    /// How many bugs.
    pub fn bugs(&self) -> u64 {
        self.0.bugs.load(Ordering::Relaxed)
    }

    /// How many damaged items; one that is read twice counts twice.
    pub fn damaged_items(&self) -> u64 {
        self.0.damaged.load(Ordering::Relaxed)
    }
}
