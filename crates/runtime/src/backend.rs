//! Where items are kept.

use std::sync::Arc;

use latchkey_dynamodb::DynamoDb;
use latchkey_embedded::Store;
use latchkey_table::{
    BatchGet, Delete, Error, Get, Got, GotMany, Page, Put, Query, Returning, Schema, SnapshotGet,
    Transact, Transacted, Update, Wrote,
};
use tokio::time::Instant;

/// What carries table requests out.
///
/// A request is given up at its deadline. The store on this machine needs none: its reads wait for
/// nothing, and its writes are refused or done.
///
/// What waits for DynamoDB is put on the heap, or every call would be as large as the SDK's futures are.
#[derive(Debug, Clone)]
pub enum Backend {
    /// The store on this machine. Reads run on the caller's thread.
    Embedded(Arc<Store>),
    /// DynamoDB, or what speaks its protocol.
    DynamoDb(DynamoDb),
}

/// Why a system cannot run on a backend.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The store refuses the table.
    #[error(transparent)]
    Store(#[from] Error),
    /// The table is not as it should be, or the service cannot be asked.
    #[error(transparent)]
    Table(#[from] latchkey_dynamodb::TableError),
    /// The service lacks what contracts need.
    #[error("this service has no transactions, which these contracts need: {}", contracts.join(", "))]
    NoTransactions {
        /// The contracts.
        contracts: Vec<String>,
    },
    /// A queue cannot be had.
    #[error(transparent)]
    Queue(#[from] latchkey_queue::Error),
    /// The document has queues, and there is nothing to keep their messages in.
    #[error("the document has queues, and this store has no room for their messages")]
    NoQueues,
}

impl Backend {
    /// Sees that the table is as it should be; on this machine, makes it so.
    ///
    /// `transacting` are the contracts that need transactions.
    pub(crate) async fn prepare(
        &self,
        table: &Arc<Schema>,
        transacting: &[&str],
    ) -> Result<(), PrepareError> {
        match self {
            Backend::Embedded(store) => Ok(store.create_table(table).await?),
            Backend::DynamoDb(service) => {
                Box::pin(service.examine(table)).await?;
                if !transacting.is_empty() && !Box::pin(service.has_transactions(table)).await? {
                    let contracts = transacting.iter().map(|id| (*id).to_owned()).collect();
                    return Err(PrepareError::NoTransactions { contracts });
                }
                Ok(())
            }
        }
    }

    pub(crate) async fn get(&self, request: &Get, deadline: Instant) -> Result<Got, Error> {
        match self {
            Backend::Embedded(store) => store.get(request),
            Backend::DynamoDb(service) => Box::pin(service.get(request, deadline)).await,
        }
    }

    pub(crate) async fn batch_get(
        &self,
        request: &BatchGet,
        deadline: Instant,
    ) -> Result<GotMany, Error> {
        match self {
            Backend::Embedded(store) => store.batch_get(request),
            Backend::DynamoDb(service) => Box::pin(service.batch_get(request, deadline)).await,
        }
    }

    pub(crate) async fn snapshot_get(
        &self,
        request: &SnapshotGet,
        deadline: Instant,
    ) -> Result<GotMany, Error> {
        match self {
            Backend::Embedded(store) => store.snapshot_get(request),
            Backend::DynamoDb(service) => Box::pin(service.snapshot_get(request, deadline)).await,
        }
    }

    pub(crate) async fn query(&self, request: &Query, deadline: Instant) -> Result<Page, Error> {
        match self {
            Backend::Embedded(store) => store.query(request),
            Backend::DynamoDb(service) => Box::pin(service.query(request, deadline)).await,
        }
    }

    pub(crate) async fn put(
        &self,
        request: Put,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.put(request, returning).await,
            Backend::DynamoDb(service) => {
                Box::pin(service.put(&request, returning, deadline)).await
            }
        }
    }

    pub(crate) async fn update(
        &self,
        request: Update,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.update(request, returning).await,
            Backend::DynamoDb(service) => {
                Box::pin(service.update(&request, returning, deadline)).await
            }
        }
    }

    pub(crate) async fn delete(
        &self,
        request: Delete,
        returning: Returning,
        deadline: Instant,
    ) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.delete(request, returning).await,
            Backend::DynamoDb(service) => {
                Box::pin(service.delete(&request, returning, deadline)).await
            }
        }
    }

    pub(crate) async fn transact(
        &self,
        request: Transact,
        deadline: Instant,
    ) -> Result<Transacted, Error> {
        match self {
            Backend::Embedded(store) => store.transact(request).await,
            Backend::DynamoDb(service) => Box::pin(service.transact(&request, deadline)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    /// Tables are made to expire what the runtime lets expire.
    #[test]
    fn a_table_expires_by_the_attribute_of_records() {
        assert_eq!(crate::idempotency::EXPIRES, latchkey_dynamodb::EXPIRY_ATTRIBUTE);
    }
}
