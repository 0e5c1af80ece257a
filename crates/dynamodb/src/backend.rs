//! DynamoDB as a [`Backend`].
//!
//! Each operation is boxed. Otherwise every call would be as large as the largest future of the SDK.

use std::sync::Arc;
use std::time::Instant;

use latchkey_table::{
    About, Answer, Answering, Backend, Error, Item, Need, PrepareError, Request, Scan, Scanned,
    Schema, Tables,
};

use crate::client::DynamoDb;
use crate::tables::{Mismatch, TableError};

impl Backend for DynamoDb {
    fn execute(&self, request: Request, deadline: Instant) -> Answering<'_, Result<Answer, Error>> {
        let until = deadline.into();
        match request {
            Request::Get(get) => {
                Answering::waiting(async move { self.get(&get, until).await.map(Answer::Got) })
            }
            Request::BatchGet(get) => {
                Answering::waiting(
                    async move { self.batch_get(&get, until).await.map(Answer::GotMany) },
                )
            }
            Request::SnapshotGet(get) => Answering::waiting(async move {
                self.snapshot_get(&get, until).await.map(Answer::GotMany)
            }),
            Request::Query(query) => {
                Answering::waiting(async move { self.query(&query, until).await.map(Answer::Page) })
            }
            Request::IndexScan(scan) => {
                Answering::waiting(
                    async move { self.scan_index(&scan, until).await.map(Answer::Page) },
                )
            }
            Request::Put(put, returning) => Answering::waiting(async move {
                self.put(&put, returning, until).await.map(Answer::Wrote)
            }),
            Request::Update(update, returning) => Answering::waiting(async move {
                self.update(&update, returning, until).await.map(Answer::Wrote)
            }),
            Request::Delete(delete, returning) => Answering::waiting(async move {
                self.delete(&delete, returning, until).await.map(Answer::Wrote)
            }),
            Request::Transact(transact) => Answering::waiting(async move {
                self.transact(&transact, until).await.map(Answer::Transacted)
            }),
        }
    }

    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>> {
        Answering::waiting(async move {
            for table in tables.all() {
                let main = table.name == tables.main.name;
                let stored = if main { &tables.stored[..] } else { &[] };
                match need {
                    Need::Read => self.examine_key(table).await?,
                    Need::Write => self.examine(table, stored).await?,
                    Need::Transact => {
                        self.examine(table, stored).await?;
                        if !self.has_transactions(table).await? {
                            return Err(PrepareError::NoTransactions);
                        }
                    }
                }
            }
            match need {
                Need::Read => Ok(()),
                Need::Write | Need::Transact => self.gather(tables).await,
            }
        })
    }

    fn scan(&self, scan: Scan, deadline: Instant) -> Answering<'_, Result<Scanned, Error>> {
        Answering::waiting(async move { DynamoDb::scan(self, &scan, deadline.into()).await })
    }

    fn put_all<'a>(
        &'a self,
        table: &'a Arc<Schema>,
        items: Vec<Item>,
        deadline: Instant,
    ) -> Answering<'a, Result<(), Error>> {
        Answering::waiting(DynamoDb::put_all(self, table, items, deadline.into()))
    }

    fn about<'a>(&'a self, table: &'a Schema) -> Answering<'a, About> {
        Answering::waiting(DynamoDb::about(self, table))
    }
}

impl From<TableError> for PrepareError {
    fn from(error: TableError) -> PrepareError {
        PrepareError::Service(Box::new(error))
    }
}

impl DynamoDb {
    /// Checks that a table exists and has the right key. Items can then be read, whatever the indexes.
    async fn examine_key(&self, schema: &Schema) -> Result<(), TableError> {
        match self.examine(schema, &[]).await {
            Err(TableError::Differs { table, mut differences }) => {
                differences.retain(|one| matches!(one, Mismatch::Key { .. }));
                match differences.is_empty() {
                    true => Ok(()),
                    false => Err(TableError::Differs { table, differences }),
                }
            }
            examined => examined,
        }
    }
}
