//! A service with a proxy before it, and one request of each kind to send through the proxy.

use std::sync::Arc;
use std::time::Duration;

use latchkey_dynamodb::DynamoDb;
use latchkey_table::{
    Action, BatchGet, Condition, Consistency, Delete, Direction, Error, Get, Item, Key, Leg, Put,
    Query, Returning, Schema, SnapshotGet, SortRange, Transact, Update, Value,
};
use tokio::time::Instant;

use crate::backend::{client, table};
use latchkey_testing::fate::{Fate, Proxy};
use latchkey_testing::services::Service;

/// The deadline of a request that is answered before it. Nobody waits for it unless something hangs.
pub(super) const TIME_MAX: Duration = Duration::from_secs(120);

/// The deadline of a request that is not answered before it.
pub(super) const BRIEF: Duration = Duration::from_millis(800);

/// A service with a table, a proxy before it, and clients of both.
pub(super) struct Scene {
    pub(super) table: Arc<Schema>,
    /// Asks the service itself.
    direct: DynamoDb,
    /// Asks through the proxy.
    through: DynamoDb,
    pub(super) proxy: Proxy,
}

impl Scene {
    pub(super) async fn set(
        service: &Service,
        decide: impl Fn(usize) -> Fate + Send + Sync + 'static,
    ) -> Scene {
        let table = table();
        let direct = client(service.endpoint()).await;
        direct.create(&table).await.unwrap();
        let proxy = Proxy::start(service.endpoint(), decide).await;
        let through = client(&proxy.endpoint).await;
        Scene { table, direct, through, proxy }
    }

    /// Asks through the proxy, with time enough.
    pub(super) async fn ask(&self, request: Request) -> Result<(), Error> {
        ask(&self.through, &self.table, request, TIME_MAX).await
    }

    /// Asks through the proxy what is not answered before its deadline.
    pub(super) async fn ask_in_vain(&self, request: Request) -> Result<(), Error> {
        ask(&self.through, &self.table, request, BRIEF).await
    }

    /// The item, as the service has it.
    pub(super) async fn stored(&self) -> Option<Item> {
        let (table, key) = (Arc::clone(&self.table), key());
        let get = Get { table, key, consistency: Consistency::Strong };
        self.direct.get(&get, Instant::now() + Duration::from_secs(10)).await.unwrap().item
    }

    pub(super) fn sent(&self) -> usize {
        self.proxy.seen().len()
    }
}

/// A request of each kind. Every write but the delete adds one to `n`, or makes it 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Get,
    BatchGet,
    SnapshotGet,
    Query,
    Put,
    Update,
    Delete,
    Transact,
}

pub(super) use Request::{
    Delete as DeleteIt, Get as GetIt, Put as PutIt, Query as QueryIt, Update as UpdateIt,
};

pub(super) const READS: [Request; 4] = [GetIt, Request::BatchGet, Request::SnapshotGet, QueryIt];
pub(super) const SINGLE_WRITES: [Request; 3] = [PutIt, UpdateIt, DeleteIt];
pub(super) const ALL: [Request; 8] = [
    GetIt,
    Request::BatchGet,
    Request::SnapshotGet,
    QueryIt,
    PutIt,
    UpdateIt,
    DeleteIt,
    Request::Transact,
];

pub(super) fn key() -> Key {
    Key::new("p", "s")
}

pub(super) async fn ask(
    client: &DynamoDb,
    table: &Arc<Schema>,
    request: Request,
    time_max: Duration,
) -> Result<(), Error> {
    let table = Arc::clone(table);
    let deadline = Instant::now() + time_max;
    let absent = Some(Condition::Absent("n".into()));
    let actions = vec![Action::Add("n".into(), 1.into())];
    match request {
        GetIt => {
            let get = Get { table, key: key(), consistency: Consistency::Strong };
            client.get(&get, deadline).await.map(drop)
        }
        Request::BatchGet => {
            let keys = vec![key(), Key::new("p", "t")];
            let get = BatchGet { table, keys, consistency: Consistency::Strong };
            client.batch_get(&get, deadline).await.map(drop)
        }
        Request::SnapshotGet => {
            let get = SnapshotGet { table, keys: vec![key(), Key::new("p", "t")] };
            client.snapshot_get(&get, deadline).await.map(drop)
        }
        QueryIt => {
            let query = Query {
                table,
                index: None,
                partition: "p".into(),
                range: SortRange::All,
                filter: None,
                direction: Direction::Ascending,
                limit: None,
                resume: None,
                consistency: Consistency::Eventual,
            };
            client.query(&query, deadline).await.map(drop)
        }
        PutIt => {
            let mut item = Item::from([("PK", "p"), ("SK", "s")]);
            item.insert("n", 1);
            let put = Put { table, item, condition: absent };
            client.put(&put, Returning::Nothing, deadline).await.map(drop)
        }
        UpdateIt => {
            let update = Update { table, key: key(), actions, condition: absent };
            client.update(&update, Returning::New, deadline).await.map(drop)
        }
        DeleteIt => {
            let delete = Delete { table, key: key(), condition: absent };
            client.delete(&delete, Returning::Old, deadline).await.map(drop)
        }
        Request::Transact => {
            let mut actions = actions;
            actions.extend("abcdef".chars().map(|name| Action::set(name.to_string(), 1)));
            let leg = Leg::Update(Update { table, key: key(), actions, condition: None });
            client.transact(&Transact { legs: vec![leg] }, deadline).await.map(drop)
        }
    }
}

pub(super) fn is_unknown(answer: &Result<(), Error>) -> bool {
    matches!(answer, Err(Error::OutcomeUnknown { .. }))
}

pub(super) fn is_unavailable(answer: &Result<(), Error>) -> bool {
    matches!(answer, Err(Error::Unavailable { .. }))
}

/// Whether a request that meets one error again and again ended as it should at its deadline: with that error,
/// or, where the deadline cut a sending off, with what is known of that sending. Which of the two it is
/// depends on how fast the machine is; that no request is sent after its deadline is tested beside `Patience`.
pub(super) fn ends_with(error: &Error, request: Request, answer: &Result<(), Error>) -> bool {
    let cut_off = if READS.contains(&request) { is_unavailable } else { is_unknown };
    answer.as_ref().err() == Some(error) || cut_off(answer)
}

pub(super) fn n(item: Option<&Item>) -> Option<&Value> {
    item.and_then(|item| item.get("n"))
}

/// The first so many meet a fate, the rest pass.
pub(super) fn first(count: usize, fate: Fate) -> impl Fn(usize) -> Fate + Send + Sync + 'static {
    move |at| if at < count { fate.clone() } else { Fate::Pass }
}

pub(super) fn always(fate: Fate) -> impl Fn(usize) -> Fate + Send + Sync + 'static {
    move |_| fate.clone()
}
