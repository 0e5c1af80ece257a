//! A backend, and a table on it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use latchkey_dynamodb::{DynamoDb, Settings};
use latchkey_embedded::{Options, Store};
use latchkey_race::Memory;
use latchkey_runtime::System;
use latchkey_table::{
    Answer, BatchGet, Consistency, Delete, Error, Get, Got, GotMany, Index, IndexScan, Item, Key,
    KeyAttribute, KeyNames, Page, Projection, Put, Query, Request, Returning, Schema, SnapshotGet,
    Transact, Transacted, Update, Wrote,
};
use tokio::runtime::Runtime;

use latchkey_testing::services::{Kind, Service};

/// How long a request may take.
const TIME_MAX: Duration = Duration::from_secs(120);

/// What carries requests out, with a table of its own.
pub(crate) struct Backend {
    pub(crate) table: Arc<Schema>,
    /// Tables with keys of other shapes: of two numbers, and of one text alone.
    pub(crate) shapes: [Arc<Schema>; 2],
    /// A table whose indexes hold keys alone, and keys with `total`.
    pub(crate) parts: Arc<Schema>,
    runtime: Runtime,
    backend: Arc<dyn latchkey_table::Backend>,
    /// What makes tables, and keeps them apart.
    tables: Tables,
    /// How many partitions were given out.
    partitions: AtomicU32,
    /// Ended last.
    _service: Option<Service>,
}

/// How tables are made.
enum Tables {
    /// As soon as a system starts.
    AtStart,
    /// By a client of the service.
    By(DynamoDb),
    /// Not at all: all tables are one.
    One,
}

/// A client of a service, whoever it takes the caller for.
pub(crate) async fn client(endpoint: &str) -> DynamoDb {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"));
    DynamoDb::connect_from(config, &Settings { endpoint: Some(endpoint.to_owned()) }).await
}

/// A table with two indexes, of a name no other test has.
pub(crate) fn table() -> Arc<Schema> {
    let nanos = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let name = format!("Conformance-{}-{nanos}", std::process::id());
    Arc::new(Schema::new(name).with_index("GSI1").with_index("GSI2"))
}

/// A table whose keys are numbers, and one without a sort key, each with an index of its own kind.
fn shapes(table: &Schema) -> [Arc<Schema>; 2] {
    let alone = |name: &str| KeyNames { partition: KeyAttribute::text(name), sort: None };
    let numbers = |partition: &str, sort: &str| KeyNames {
        partition: KeyAttribute::number(partition),
        sort: Some(KeyAttribute::number(sort)),
    };
    let shape = |end: &str, key: KeyNames, index: KeyNames| {
        let indexes = vec![Index::new("by.it-2", index)];
        Arc::new(Schema { name: format!("{}-{end}", table.name).into(), key, indexes })
    };
    let turned = KeyNames { sort: Some(KeyAttribute::number("id")), ..alone("owner") };
    [
        shape("numbers", numbers("id", "at"), turned),
        shape("alone", alone("session_id"), alone("user-name")),
    ]
}

/// A table whose indexes do not hold whole items.
fn parts(table: &Schema) -> Arc<Schema> {
    let mut parts = Schema::new(format!("{}-parts", table.name));
    for (name, listed) in [("GSI1", &[][..]), ("GSI2", &["total"])] {
        let key = KeyNames::new(format!("{name}PK"), format!("{name}SK"));
        let holds = Projection::keys(listed.iter().copied());
        parts.indexes.push(Index::new(name, key).holding(holds));
    }
    Arc::new(parts)
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

impl Backend {
    pub(crate) fn embedded() -> Backend {
        let (runtime, table) = (runtime(), table());
        let store = Store::in_memory(&Options::default()).unwrap();
        let (shapes, parts) = (shapes(&table), parts(&table));
        for table in shapes.iter().chain([&table, &parts]) {
            runtime.block_on(store.create_table(table)).unwrap();
        }
        let (backend, partitions, tables) = (Arc::new(store), AtomicU32::new(0), Tables::AtStart);
        Backend { table, shapes, parts, runtime, backend, tables, partitions, _service: None }
    }

    pub(crate) fn memory() -> Backend {
        let (runtime, table) = (runtime(), table());
        let (backend, partitions) = (Arc::new(Memory::new()), AtomicU32::new(0));
        let (shapes, parts, tables) = (shapes(&table), parts(&table), Tables::One);
        Backend { table, shapes, parts, runtime, backend, tables, partitions, _service: None }
    }

    pub(crate) fn service(kind: Kind) -> Backend {
        let (runtime, table) = (runtime(), table());
        let service = Service::of(kind);
        let client = runtime.block_on(client(service.endpoint()));
        let (shapes, parts) = (shapes(&table), parts(&table));
        for table in shapes.iter().chain([&table, &parts]) {
            runtime.block_on(client.create(table)).unwrap();
        }
        let (backend, partitions) = (Arc::new(client.clone()), AtomicU32::new(0));
        let (tables, _service) = (Tables::By(client), Some(service));
        Backend { table, shapes, parts, runtime, backend, tables, partitions, _service }
    }

    /// A system on tables of its own, and the backend that has them.
    pub(crate) async fn with_tables(
        &self,
        system: System,
    ) -> Result<(System, Arc<dyn latchkey_table::Backend>), String> {
        let system = system.on_table(&format!("{}-{}", self.table.name, self.partition()));
        match &self.tables {
            Tables::AtStart => {}
            Tables::By(client) => {
                // Without the service's own expiry: it knows another time than the examples.
                for table in system.tables() {
                    client.make(table, &[], |_| {}).await.map_err(|error| error.to_string())?;
                }
            }
            Tables::One => return Ok((system, Arc::new(Memory::new()))),
        }
        Ok((system, Arc::clone(&self.backend)))
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// A partition nobody else uses.
    pub(crate) fn partition(&self) -> String {
        format!("P{}", self.partitions.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks the backend, and has the answer as the kind the request has.
    async fn ask<T>(&self, request: impl Into<Request> + Send) -> Result<T, Error>
    where
        T: TryFrom<Answer, Error = Error>,
    {
        self.backend.ask(request, Instant::now() + TIME_MAX).await
    }

    pub(crate) async fn get(&self, request: &Get) -> Result<Got, Error> {
        self.ask(request.clone()).await
    }

    pub(crate) async fn batch_get(&self, request: &BatchGet) -> Result<GotMany, Error> {
        self.ask(request.clone()).await
    }

    pub(crate) async fn snapshot_get(&self, request: &SnapshotGet) -> Result<GotMany, Error> {
        self.ask(request.clone()).await
    }

    /// The item of a key, read strongly.
    pub(crate) async fn item(&self, key: Key) -> Result<Option<Item>, Error> {
        let table = Arc::clone(&self.table);
        Ok(self.get(&Get { table, key, consistency: Consistency::Strong }).await?.item)
    }

    pub(crate) async fn query(&self, request: &Query) -> Result<Page, Error> {
        self.ask(request.clone()).await
    }

    pub(crate) async fn scan_index(&self, request: &IndexScan) -> Result<Page, Error> {
        self.ask(request.clone()).await
    }

    pub(crate) async fn put(&self, request: Put, returning: Returning) -> Result<Wrote, Error> {
        self.ask((request, returning)).await
    }

    pub(crate) async fn update(
        &self,
        request: Update,
        returning: Returning,
    ) -> Result<Wrote, Error> {
        self.ask((request, returning)).await
    }

    pub(crate) async fn delete(
        &self,
        request: Delete,
        returning: Returning,
    ) -> Result<Wrote, Error> {
        self.ask((request, returning)).await
    }

    pub(crate) async fn transact(&self, request: Transact) -> Result<Transacted, Error> {
        self.ask(request).await
    }
}
