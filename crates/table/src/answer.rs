//! What a table answers, and how it can fail.

use crate::{Capacity, Invalid, Item, Key, Resume, Text};

/// Any answer to a [`Request`](crate::Request).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a get.
    Got(Got),
    /// To a batch or snapshot get.
    GotMany(GotMany),
    /// To a query.
    Page(Page),
    /// To a put, an update or a delete.
    Wrote(Wrote),
    /// To a transaction.
    Transacted(Transacted),
}

impl Answer {
    /// What the request consumed.
    pub fn capacity(&self) -> Capacity {
        match self {
            Answer::Got(got) => got.capacity,
            Answer::GotMany(got) => got.capacity,
            Answer::Page(page) => page.capacity,
            Answer::Wrote(wrote) => wrote.capacity,
            Answer::Transacted(done) => done.capacity,
        }
    }
}

/// Converts an answer to the kind its request has; any other kind is the backend's mistake.
macro_rules! is_an_answer {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Answer {
            fn from(answer: $kind) -> Answer {
                Answer::$kind(answer)
            }
        }

        impl TryFrom<Answer> for $kind {
            type Error = Error;

            fn try_from(answer: Answer) -> Result<$kind, Error> {
                match answer {
                    Answer::$kind(answer) => Ok(answer),
                    other => {
                        let wanted = stringify!($kind);
                        let reason = format!("a backend's mistake: {wanted} was due, not {other:?}");
                        Err(Error::OutcomeUnknown { reason })
                    }
                }
            }
        }
    )*};
}

is_an_answer!(Got, GotMany, Page, Wrote, Transacted);

/// The answer to a get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// The item, if it is there.
    pub item: Option<Item>,
    /// What the request consumed.
    pub capacity: Capacity,
}

/// The answer to a batch or snapshot get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GotMany {
    /// For each key, in order, the item, if it is there.
    pub items: Vec<Option<Item>>,
    /// What the request consumed.
    pub capacity: Capacity,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items, in the direction of the query.
    pub items: Vec<Item>,
    /// Where to go on, when the query stopped at its limit or at what one query can read. There need
    /// not be more: a page that fits exactly has one too.
    pub resume: Option<Resume>,
    /// How many items were read: those of the answer, and those that the filter dropped.
    pub read: usize,
    /// What the request consumed.
    pub capacity: Capacity,
}

/// The answer to a put, an update or a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrote {
    /// The image of the item that was asked for.
    pub item: Option<Item>,
    /// What the request consumed.
    pub capacity: Capacity,
}

/// The answer to a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transacted {
    /// What the request consumed.
    pub capacity: Capacity,
}

/// The answer to a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// The items; together no more than one query can read.
    pub items: Vec<Item>,
    /// The last key read, when the scan stopped before the end of the table. There need not be more: items that
    /// fit exactly have one too.
    pub resume: Option<Key>,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request itself is at fault; nothing was done, and trying again will not help.
    #[error("invalid request{}: {reason}", leg_suffix(*leg))]
    Invalid {
        /// The leg at fault, in a transaction.
        leg: Option<usize>,
        /// What is wrong.
        reason: Invalid,
    },
    /// A condition did not hold; nothing was done.
    #[error("the condition of leg {} does not hold", .0.leg)]
    ConditionFailed(Box<Failed>),
    /// There is no such table.
    #[error("there is no table `{name}`")]
    NoTable {
        /// The name asked for.
        name: Text,
    },
    /// Another transaction was at the same items; nothing was done, and trying again may help.
    #[error("in conflict with another transaction")]
    Conflict,
    /// Too much is being asked at once; nothing was done.
    #[error("more requests than can be taken now")]
    Throttled,
    /// The store cannot be reached or used; nothing was done.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What happened, for the log.
        reason: String,
    },
    /// What is stored is damaged; nothing was done, and trying again will not help.
    #[error("what is stored is damaged: {what}")]
    Damaged {
        /// What is damaged, with its key, for the log.
        what: String,
    },
    /// The store takes no writes now; nothing was done. The store itself has logged it, once.
    #[error("the store takes no writes: {why}")]
    ReadOnly {
        /// Why not.
        why: ReadOnly,
    },
    /// The store failed at a point where the write may or may not have been done.
    #[error("it is not known whether the write was done: {reason}")]
    OutcomeUnknown {
        /// What happened, for the log.
        reason: String,
    },
}

/// Why a store takes no writes. Reads go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadOnly {
    /// There is too little room left where the store is kept. Writes are taken again once there is room.
    #[error(
        "its disk is nearly full; free space on it, and writes are taken again without a restart"
    )]
    NoRoom,
    /// A file of the store was removed, replaced or cut. Writes are refused until the store is opened again.
    #[error("a file of the store was removed, replaced or cut while the store was open")]
    FileGone,
    /// A journal cannot be made or written; in the second case the last write is in doubt. Writes are taken again once
    /// it can.
    #[error(
        "a journal cannot be written; the log says why, and writes are taken again once it can"
    )]
    JournalFails,
    /// A file of the store would grow beyond a limit on the size of files. Writes are taken again once it may grow.
    #[error(
        "a file of the store reached a limit on the size of files (`ulimit -f`); start it without that limit"
    )]
    FileLimit,
}

impl Error {
    /// The same, where the request at fault is one part of several.
    #[must_use]
    pub fn of_leg(self, leg: usize) -> Error {
        match self {
            Error::Invalid { reason, .. } => Error::Invalid { leg: Some(leg), reason },
            error => error,
        }
    }
}

fn leg_suffix(leg: Option<usize>) -> String {
    leg.map_or_else(String::new, |leg| format!(" (leg {leg})"))
}

impl From<Invalid> for Error {
    fn from(reason: Invalid) -> Error {
        Error::Invalid { leg: None, reason }
    }
}

/// The first condition, in the order of the legs, that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Its leg; 0 for a single write.
    pub leg: usize,
    /// The item it was tested on.
    pub item: Option<Item>,
    /// What the refused request consumed all the same.
    pub capacity: Capacity,
}
