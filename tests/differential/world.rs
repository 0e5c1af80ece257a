//! The two stores, and one sequence on both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use dynoxide::Database;
use latchkey_dynamodb::{DynamoDb, Settings};
use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, BatchGet, Check, Consistency, Delete, Direction, Error, Expression, Get, Item, Key,
    Leg, Put, Query, Resume, Returning, Schema, SnapshotGet, SortRange, Text, Transact, Update,
    Value,
};
use proptest::prelude::*;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::normal::{Answer, Asked, normal};
use crate::steps::{INDEX_PARTITIONS, LegStep, PARTITIONS, QueryStep, Step};

/// After how many sequences both start anew: what they hold is in memory.
const RENEW_EVERY: u64 = 500;

/// Both stores, and the runtime they are asked in.
pub(crate) struct World {
    runtime: Runtime,
    pair: RefCell<Pair>,
    sequences: Cell<u64>,
    /// How often each kind of answer was given.
    seen: RefCell<BTreeMap<&'static str, u64>>,
}

/// Two stores that have been asked the same.
struct Pair {
    table: Arc<Schema>,
    embedded: Store,
    service: DynamoDb,
    server: JoinHandle<()>,
}

impl Pair {
    async fn start() -> Pair {
        let table = Arc::new(Schema::new("Differential").with_index("GSI1").with_index("GSI2"));
        let embedded = Store::in_memory(&Options::default()).unwrap();
        embedded.create_table(&table).await.unwrap();

        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let database = Database::memory().unwrap();
        let server = tokio::spawn(dynoxide::server::serve_on(listener, database));
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"));
        let settings = Settings { endpoint: Some(endpoint) };
        let service = DynamoDb::connect_from(config, &settings).await;
        service.create(&table).await.unwrap();
        Pair { table, embedded, service, server }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl World {
    pub(crate) fn start() -> World {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let pair = RefCell::new(runtime.block_on(Pair::start()));
        World { runtime, pair, sequences: Cell::new(0), seen: RefCell::default() }
    }

    /// Runs one sequence in partitions of its own, then compares all that is left in them.
    pub(crate) fn compare(&self, steps: &[Step]) -> Result<(), TestCaseError> {
        let number = self.sequences.get();
        self.sequences.set(number + 1);
        if number % RENEW_EVERY == RENEW_EVERY - 1 {
            self.pair.replace(self.runtime.block_on(Pair::start()));
        }
        let pair = self.pair.borrow();
        let sequence = Sequence { pair: &pair, prefix: format!("{number}"), seen: &self.seen };
        self.runtime.block_on(async {
            for step in steps {
                sequence.run(step).await?;
            }
            sequence.sweep().await
        })
    }

    /// A sequence that meets nothing compares nothing: every kind of answer was given, and often.
    pub(crate) fn assert_all_was_seen(&self) {
        let (seen, sequences) = (self.seen.borrow(), self.sequences.get());
        for kind in ["read", "nothing read", "many read", "page", "cut page", "wrote", "transacted"]
        {
            let count = seen.get(kind).copied().unwrap_or_default();
            assert!(count >= sequences / 2, "{kind}: {count} in {sequences} sequences; {seen:?}");
        }
        for kind in ["condition failed", "condition of a leg failed", "invalid", "invalid leg"] {
            let count = seen.get(kind).copied().unwrap_or_default();
            assert!(count >= sequences / 5, "{kind}: {count} in {sequences} sequences; {seen:?}");
        }
    }
}

/// One sequence under way.
struct Sequence<'a> {
    pair: &'a Pair,
    /// What its partitions begin with.
    prefix: String,
    seen: &'a RefCell<BTreeMap<&'static str, u64>>,
}

impl Sequence<'_> {
    async fn run(&self, step: &Step) -> Result<(), TestCaseError> {
        let (store, service, table) = (&self.pair.embedded, &self.pair.service, &self.pair.table);
        let table = Arc::clone(table);
        let deadline = Instant::now() + Duration::from_secs(20);
        match step.clone() {
            Step::Get(key, consistency) => {
                let get = Get { table, key: self.key(key), consistency };
                let theirs = service.get(&get, deadline).await;
                self.same(Asked::Other, &get, store.get(&get), theirs)
            }
            Step::BatchGet(keys, consistency) => {
                let get = BatchGet { table, keys: self.keys(keys), consistency };
                let theirs = service.batch_get(&get, deadline).await;
                self.same(Asked::Other, &get, store.batch_get(&get), theirs)
            }
            Step::SnapshotGet(keys) => {
                let get = SnapshotGet { table, keys: self.keys(keys) };
                let theirs = service.snapshot_get(&get, deadline).await;
                self.same(Asked::Other, &get, store.snapshot_get(&get), theirs)
            }
            Step::Query(query) => self.query(query).await,
            Step::Put(item, condition, returning) => {
                let put = Put { table, item: self.item(item), condition };
                let theirs = service.put(&put, returning, deadline).await;
                self.same(Asked::Other, &put, store.put(put.clone(), returning).await, theirs)
            }
            Step::Update(key, actions, condition, returning) => {
                let actions = self.actions(actions);
                let update = Update { table, key: self.key(key), actions, condition };
                let theirs = service.update(&update, returning, deadline).await;
                let key = &update.key;
                let asked = match returning {
                    Returning::Old => {
                        let names = [("PK", &key.partition), ("SK", &key.sort)];
                        Asked::OldImage(names.map(|(name, text)| (name, text.as_str())).into())
                    }
                    Returning::Nothing | Returning::New => Asked::Other,
                };
                self.same(asked, &update, store.update(update.clone(), returning).await, theirs)
            }
            Step::Delete(key, condition, returning) => {
                let delete = Delete { table, key: self.key(key), condition };
                let theirs = service.delete(&delete, returning, deadline).await;
                self.same(
                    Asked::Other,
                    &delete,
                    store.delete(delete.clone(), returning).await,
                    theirs,
                )
            }
            Step::Transact(legs) => {
                let transact = Transact { legs: self.legs(legs) };
                let theirs = service.transact(&transact, deadline).await;
                self.same(
                    Asked::Transaction,
                    &transact,
                    store.transact(transact.clone()).await,
                    theirs,
                )
            }
        }
    }

    /// Compares two answers to one request.
    fn same<T: Into<Answer>>(
        &self,
        asked: Asked,
        request: &dyn std::fmt::Debug,
        ours: Result<T, Error>,
        theirs: Result<T, Error>,
    ) -> Result<(), TestCaseError> {
        let (ours, theirs) = (Answer::of(ours), Answer::of(theirs));
        *self.seen.borrow_mut().entry(ours.kind()).or_default() += 1;
        let told = format!("{request:#?}\nours: {ours:#?}\ntheirs: {theirs:#?}");
        let (ours, theirs) = normal(&asked, ours, theirs);
        prop_assert!(ours == theirs, "{}", told);
        Ok(())
    }

    /// Asks for every page, and compares each.
    async fn query(&self, step: QueryStep) -> Result<(), TestCaseError> {
        let QueryStep { index, partition, range, direction, limit, consistency, behind } = step;
        let partition = self.text(partition);
        let resume = behind.map(|(key, sort)| match index {
            None => Resume { key: Key::new(partition.clone(), sort), index_key: None },
            Some(_) => {
                Resume { key: self.key(key), index_key: Some(Key::new(partition.clone(), sort)) }
            }
        });
        let table = Arc::clone(&self.pair.table);
        let mut query =
            Query { table, index, partition, range, direction, limit, resume, consistency };
        loop {
            let deadline = Instant::now() + Duration::from_secs(20);
            let ours = self.pair.embedded.query(&query);
            let theirs = self.pair.service.query(&query, deadline).await;
            self.same(Asked::Other, &query, ours.clone(), theirs)?;
            match ours {
                Ok(page) if page.resume.is_some() => query.resume = page.resume,
                _ => return Ok(()),
            }
        }
    }

    /// Compares all that the sequence has left.
    async fn sweep(&self) -> Result<(), TestCaseError> {
        let of_table = PARTITIONS.map(|partition| (None, partition));
        let of_first = INDEX_PARTITIONS.map(|partition| (Some("GSI1"), partition));
        let of_second = INDEX_PARTITIONS.map(|partition| (Some("GSI2"), partition));
        for (index, partition) in of_table.into_iter().chain(of_first).chain(of_second) {
            let query = QueryStep {
                index: index.map(Text::from),
                partition: partition.into(),
                range: SortRange::All,
                direction: Direction::Ascending,
                limit: None,
                consistency: Consistency::Eventual,
                behind: None,
            };
            self.query(query).await?;
        }
        Ok(())
    }

    /// A partition of this sequence, if the text stands for one.
    fn text(&self, text: Text) -> Text {
        match text.strip_prefix('@') {
            Some(rest) => Text::from(format!("{}{rest}", self.prefix)),
            None => text,
        }
    }

    fn key(&self, key: Key) -> Key {
        Key { partition: self.text(key.partition), sort: key.sort }
    }

    /// Keys, some of them twice.
    fn keys(&self, keys: Vec<Key>) -> Vec<Key> {
        keys.into_iter().map(|key| self.key(key)).collect()
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::Text(text) => Value::Text(self.text(text)),
            value => value,
        }
    }

    fn item(&self, item: Item) -> Item {
        item.into_iter().map(|(name, value)| (name, self.value(value))).collect()
    }

    fn actions(&self, actions: Vec<Action>) -> Vec<Action> {
        let action = |action| match action {
            Action::Set(path, Expression::Value(value)) => {
                Action::Set(path, Expression::Value(self.value(value)))
            }
            action => action,
        };
        actions.into_iter().map(action).collect()
    }

    /// The legs, but for those on an item that another is on.
    fn legs(&self, steps: Vec<LegStep>) -> Vec<Leg> {
        let table = || Arc::clone(&self.pair.table);
        let mut legs: Vec<Leg> = Vec::new();
        for step in steps {
            let leg = match step {
                LegStep::Put(item, condition) => {
                    Leg::Put(Put { table: table(), item: self.item(item), condition })
                }
                LegStep::Update(key, actions, condition) => {
                    let (key, actions) = (self.key(key), self.actions(actions));
                    Leg::Update(Update { table: table(), key, actions, condition })
                }
                LegStep::Delete(key, condition) => {
                    Leg::Delete(Delete { table: table(), key: self.key(key), condition })
                }
                LegStep::Check(key, condition) => {
                    Leg::Check(Check { table: table(), key: self.key(key), condition })
                }
            };
            if legs.iter().all(|other| other.key() != leg.key()) {
                legs.push(leg);
            }
        }
        legs
    }
}
