//! Where a system's items are kept, and the messages of its queues.

use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_table::{Backend, PrepareError};

/// Where a system's items are kept, and the messages of those queues that are in the same store.
///
/// An embedded store keeps both. Any other [`Backend`] keeps items; a document with queues then needs each of them
/// [outside](crate::Outside), or [`Storage::with_queues_in`].
#[derive(Debug, Clone)]
pub struct Storage {
    pub(crate) backend: Arc<dyn Backend>,
    /// The store whose items the backend reads and writes, so that a message is a leg of a transaction.
    pub(crate) queues: Option<Arc<Store>>,
}

impl Storage {
    /// Items on a backend, and no queues.
    pub fn on(backend: Arc<dyn Backend>) -> Storage {
        Storage { backend, queues: None }
    }

    /// The same, where the backend hands its requests on to an embedded store: queues are in that store.
    #[must_use]
    pub fn with_queues_in(self, store: Arc<Store>) -> Storage {
        Storage { queues: Some(store), ..self }
    }
}

impl From<Arc<Store>> for Storage {
    fn from(store: Arc<Store>) -> Storage {
        let backend: Arc<dyn Backend> = store.clone();
        Storage { backend, queues: Some(store) }
    }
}

impl From<Store> for Storage {
    fn from(store: Store) -> Storage {
        Arc::new(store).into()
    }
}

/// Why a system cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its table cannot be used.
    #[error(transparent)]
    Table(#[from] PrepareError),
    /// The service lacks what contracts need.
    #[error("this service has no transactions, which these contracts need: {}", contracts.join(", "))]
    NoTransactions {
        /// The contracts.
        contracts: Vec<String>,
    },
    /// There is nothing to seal cursors with.
    #[error("the secret that seals cursors is empty, or no random bytes are available to make one")]
    NoSecret,
    /// A queue in a store needs a number that no other process has.
    #[error("no random bytes are available: {0}")]
    NoChance(std::io::Error),
    /// A queue cannot be had.
    #[error(transparent)]
    Queue(#[from] latchkey_queue::Error),
    /// The document has queues, and there is nothing to keep their messages in.
    #[error("the document has queues, and this store has no room for their messages")]
    NoQueues,
}
