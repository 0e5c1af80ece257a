//! The two stores, and one sequence on both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use dynoxide::Database;
use latchkey_dynamodb::{DynamoDb, Settings};
use latchkey_embedded::{Options, Store};
use latchkey_table::{
    self as table, Action, Backend, BatchGet, Check, Consistency, Delete, Direction, Expression,
    Get, Item, Key, Leg, Put, Query, Request, Resume, Schema, SnapshotGet, SortRange, Text,
    Transact, Update, Value,
};
use proptest::prelude::*;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::normal::{Answer, normal};
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

/// A client of a service, whoever it takes the caller for.
pub(crate) async fn client(endpoint: &str) -> DynamoDb {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"));
    DynamoDb::connect_from(config, &Settings { endpoint: Some(endpoint.to_owned()) }).await
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
        let service = client(&endpoint).await;
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
        let table = Arc::clone(&self.pair.table);
        let request = match step.clone() {
            Step::Get(key, consistency) => Get { table, key: self.key(key), consistency }.into(),
            Step::BatchGet(keys, consistency) => {
                BatchGet { table, keys: self.keys(keys), consistency }.into()
            }
            Step::SnapshotGet(keys) => SnapshotGet { table, keys: self.keys(keys) }.into(),
            Step::Query(query) => return self.query(query).await,
            Step::Put(item, condition, returning) => {
                Request::Put(Put { table, item: self.item(item), condition }, returning)
            }
            Step::Update(key, actions, condition, returning) => {
                let actions = self.actions(actions);
                let update = Update { table, key: self.key(key), actions, condition };
                Request::Update(update, returning)
            }
            Step::Delete(key, condition, returning) => {
                Request::Delete(Delete { table, key: self.key(key), condition }, returning)
            }
            Step::Transact(legs) => Transact { legs: self.legs(legs) }.into(),
        };
        self.ask(request).await.map(drop)
    }

    /// Asks both stores, compares their answers, and returns ours.
    async fn ask(&self, request: Request) -> Result<Answer, TestCaseError> {
        let deadline = Instant::now() + Duration::from_secs(20);
        let ours = Answer::of(self.pair.embedded.execute(request.clone(), deadline).await);
        let theirs = Answer::of(self.pair.service.execute(request.clone(), deadline).await);
        *self.seen.borrow_mut().entry(ours.kind()).or_default() += 1;
        let told = format!("{request:#?}\nours: {ours:#?}\ntheirs: {theirs:#?}");
        let (our_sense, their_sense) = normal(&request, ours.clone(), theirs);
        prop_assert!(our_sense == their_sense, "{}", told);
        Ok(ours)
    }

    /// Asks for every page, and compares each.
    async fn query(&self, step: QueryStep) -> Result<(), TestCaseError> {
        let QueryStep { index, partition, range, filter, direction, limit, consistency, behind } =
            step;
        let partition = self.text(partition);
        let resume = behind.map(|(key, sort)| match index {
            None => Resume { key: Key::new(partition.clone(), sort), index_key: None },
            Some(_) => {
                Resume { key: self.key(key), index_key: Some(Key::new(partition.clone(), sort)) }
            }
        });
        let table = Arc::clone(&self.pair.table);
        let mut query =
            Query { table, index, partition, range, filter, direction, limit, resume, consistency };
        loop {
            match self.ask(query.clone().into()).await? {
                Answer::Ok(table::Answer::Page(page)) if page.resume.is_some() => {
                    query.resume = page.resume;
                }
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
                filter: None,
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
