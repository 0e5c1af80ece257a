//! Where items are kept.

use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_table::{
    Delete, Error, Get, Got, Page, Put, Query, Returning, Schema, Transact, Transacted, Update,
    Wrote,
};

/// What carries table requests out.
#[derive(Debug, Clone)]
pub enum Backend {
    /// The store on this machine. Reads run on the caller's thread: they wait for nothing.
    Embedded(Arc<Store>),
}

impl Backend {
    /// Makes the table, or sees that it is as it should be.
    pub async fn prepare(&self, table: &Arc<Schema>) -> Result<(), Error> {
        match self {
            Backend::Embedded(store) => store.create_table(table).await,
        }
    }

    /// Reads one item.
    pub async fn get(&self, request: &Get) -> Result<Got, Error> {
        match self {
            Backend::Embedded(store) => store.get(request),
        }
    }

    /// Reads a range of a partition.
    pub async fn query(&self, request: &Query) -> Result<Page, Error> {
        match self {
            Backend::Embedded(store) => store.query(request),
        }
    }

    /// Writes a whole item.
    pub async fn put(&self, request: Put, returning: Returning) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.put(request, returning).await,
        }
    }

    /// Changes an item.
    pub async fn update(&self, request: Update, returning: Returning) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.update(request, returning).await,
        }
    }

    /// Removes an item.
    pub async fn delete(&self, request: Delete, returning: Returning) -> Result<Wrote, Error> {
        match self {
            Backend::Embedded(store) => store.delete(request, returning).await,
        }
    }

    /// Writes several items or none.
    pub async fn transact(&self, request: Transact) -> Result<Transacted, Error> {
        match self {
            Backend::Embedded(store) => store.transact(request).await,
        }
    }
}
