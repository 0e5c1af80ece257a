//! How a queue can fail.

use latchkey_table::Error as TableError;
use latchkey_value::id::ID_BYTES_MAX;
use latchkey_value::limits::MESSAGE_BYTES_MAX;

use crate::limits::NAME_BYTES_MAX;

/// Why a queue did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] TableError),
    /// The message was received again since, given up or removed: whoever asks no longer holds it.
    #[error("the message is no longer held: it was received again, or is gone")]
    Stale,
    /// The body is too large.
    #[error("a message of {bytes} bytes: the most is {MESSAGE_BYTES_MAX}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The id cannot be part of a key.
    #[error("`{id}` cannot be a message's id: 1 to {ID_BYTES_MAX} of `A-Z a-z 0-9 . _ : @ | -`")]
    Id {
        /// What was given.
        id: String,
    },
    /// The name cannot be a queue's.
    #[error("`{name}` cannot be a queue's name: 1 to {NAME_BYTES_MAX} of `A-Z a-z 0-9 _ -`")]
    Name {
        /// What was given.
        name: String,
    },
    /// The queue will not take it, and trying again will not help.
    #[error("the queue refuses: {reason}")]
    Refused {
        /// What it said.
        reason: String,
    },
    /// The queue cannot be reached or used now; whether it has taken what it was sent is not known.
    #[error("the queue is unavailable: {reason}")]
    Unavailable {
        /// What happened, for the log.
        reason: String,
    },
}

impl Error {
    /// Whether what was sent will never be taken, so that it need not be sent again.
    pub fn is_refusal(&self) -> bool {
        match self {
            Error::Refused { .. } | Error::TooLarge { .. } => true,
            Error::Store(TableError::Invalid { .. }) | Error::Id { .. } | Error::Name { .. } => {
                true
            }
            Error::Store(_) | Error::Stale | Error::Unavailable { .. } => false,
        }
    }
}
