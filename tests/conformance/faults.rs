//! What is made of a service that loses, refuses, delays or garbles: what is known is told, and what is not
//! known is never guessed.

use std::sync::Arc;
use std::time::Duration;

use latchkey_dynamodb::DynamoDb;
use latchkey_table::{
    Action, BatchGet, Condition, Consistency, Delete, Direction, Error, Get, GotMany, Item, Key,
    Leg, Put, Query, Returning, Schema, SnapshotGet, SortRange, Transact, Update, Value,
};
use tokio::time::Instant;

use crate::backend::{client, runtime, table};
use crate::proxy::{Fate, Proxy};
use crate::services::{Kind, Service};

/// How long a request may take that is answered before.
const TIME_MAX: Duration = Duration::from_secs(20);

/// How long one may take that is not.
const BRIEF: Duration = Duration::from_millis(800);

/// How much later than its deadline an answer may come.
const LATE_MAX: Duration = Duration::from_millis(250);

/// A service with a table, a proxy before it, and clients of both.
struct Scene {
    table: Arc<Schema>,
    /// Asks the service itself.
    direct: DynamoDb,
    /// Asks through the proxy.
    through: DynamoDb,
    proxy: Proxy,
}

impl Scene {
    async fn set(
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
    async fn ask(&self, request: Request) -> Result<(), Error> {
        ask(&self.through, &self.table, request, TIME_MAX).await
    }

    /// Asks through the proxy what is not answered in time, and holds that to its deadline.
    async fn ask_in_vain(&self, request: Request) -> Result<(), Error> {
        ask(&self.through, &self.table, request, BRIEF).await
    }

    /// The item, as the service has it.
    async fn stored(&self) -> Option<Item> {
        let (table, key) = (Arc::clone(&self.table), key());
        let get = Get { table, key, consistency: Consistency::Strong };
        self.direct.get(&get, Instant::now() + Duration::from_secs(10)).await.unwrap().item
    }

    fn sent(&self) -> usize {
        self.proxy.seen().len()
    }
}

/// A request of each kind. Every write but the delete adds one to `n`, or makes it 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Get,
    BatchGet,
    SnapshotGet,
    Query,
    Put,
    Update,
    Delete,
    Transact,
}

use Request::{
    Delete as DeleteIt, Get as GetIt, Put as PutIt, Query as QueryIt, Update as UpdateIt,
};

const READS: [Request; 4] = [GetIt, Request::BatchGet, Request::SnapshotGet, QueryIt];
const SINGLE_WRITES: [Request; 3] = [PutIt, UpdateIt, DeleteIt];
const ALL: [Request; 8] = [
    GetIt,
    Request::BatchGet,
    Request::SnapshotGet,
    QueryIt,
    PutIt,
    UpdateIt,
    DeleteIt,
    Request::Transact,
];

fn key() -> Key {
    Key::new("p", "s")
}

async fn ask(
    client: &DynamoDb,
    table: &Arc<Schema>,
    request: Request,
    time_max: Duration,
) -> Result<(), Error> {
    let table = Arc::clone(table);
    let deadline = Instant::now() + time_max;
    let absent = Some(Condition::Absent("n".into()));
    let actions = vec![Action::Add("n".into(), 1.into())];
    let answer = match request {
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
    };
    let late = Instant::now().saturating_duration_since(deadline);
    assert!(late <= LATE_MAX, "{request:?} is answered {late:?} late: {answer:?}");
    answer
}

fn is_unknown(answer: &Result<(), Error>) -> bool {
    matches!(answer, Err(Error::OutcomeUnknown { .. }))
}

fn is_unavailable(answer: &Result<(), Error>) -> bool {
    matches!(answer, Err(Error::Unavailable { .. }))
}

fn n(item: Option<&Item>) -> Option<&Value> {
    item.and_then(|item| item.get("n"))
}

/// The first so many meet a fate, the rest pass.
fn first(count: usize, fate: Fate) -> impl Fn(usize) -> Fate + Send + Sync + 'static {
    move |at| if at < count { fate.clone() } else { Fate::Pass }
}

fn always(fate: Fate) -> impl Fn(usize) -> Fate + Send + Sync + 'static {
    move |_| fate.clone()
}

#[test]
fn a_single_write_nobody_answered_is_of_unknown_outcome_and_sent_once() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::Lost,
            Fate::Hang,
            Fate::Garbage,
            Fate::error(500, "InternalServerError"),
            Fate::error(503, "ServiceUnavailable"),
            Fate::Answer(502, "<html>Bad Gateway</html>".to_owned()),
        ] {
            for request in SINGLE_WRITES {
                let scene = Scene::set(&service, first(1, fate.clone())).await;
                let answer = scene.ask_in_vain(request).await;
                assert!(is_unknown(&answer), "{request:?} {fate:?}: {answer:?}");
                assert_eq!(scene.sent(), 1, "{request:?} {fate:?}");
                if fate == Fate::Lost && request != DeleteIt {
                    let stored = scene.stored().await;
                    assert_eq!(n(stored.as_ref()), Some(&1.into()), "{request:?}");
                }
            }
        }
    });
}

#[test]
fn a_read_nobody_answered_is_sent_again() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::Lost,
            Fate::Garbage,
            Fate::error(500, "InternalServerError"),
            Fate::Answer(502, "<html>Bad Gateway</html>".to_owned()),
        ] {
            for request in READS {
                let scene = Scene::set(&service, first(2, fate.clone())).await;
                assert_eq!(scene.ask(request).await, Ok(()), "{request:?} {fate:?}");
                assert_eq!(scene.sent(), 3, "{request:?} {fate:?}");
                let scene = Scene::set(&service, always(fate.clone())).await;
                let answer = scene.ask_in_vain(request).await;
                assert!(is_unavailable(&answer), "{request:?} {fate:?}: {answer:?}");
            }
        }
        for request in READS {
            let scene = Scene::set(&service, always(Fate::Hang)).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(is_unavailable(&answer), "{request:?}: {answer:?}");
        }
    });
}

/// The transaction of each sending, token and all.
fn sendings(scene: &Scene) -> Vec<String> {
    let seen = scene.proxy.seen();
    assert!(seen.iter().all(|seen| seen.operation == "TransactWriteItems"), "{seen:?}");
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body["ClientRequestToken"].as_str().map(str::len), Some(32), "{body}");
    seen.into_iter().map(|seen| seen.body).collect()
}

#[test]
fn a_transaction_nobody_answered_is_sent_again_and_done_once() {
    for kind in [Kind::Dynoxide, Kind::DynamoDbLocal] {
        let service = Service::of(kind);
        runtime().block_on(async {
            for times in 1..4 {
                let scene = Scene::set(&service, first(times, Fate::Lost)).await;
                assert_eq!(
                    scene.ask(Request::Transact).await,
                    Ok(()),
                    "{kind:?}, lost {times} times"
                );
                let sendings = sendings(&scene);
                assert_eq!(sendings.len(), times + 1, "{kind:?}: {sendings:?}");
                // Names once came in another order each time, and DynamoDB Local took it for another.
                assert!(sendings.iter().all(|sent| *sent == sendings[0]), "{sendings:?}");
                let stored = scene.stored().await;
                assert_eq!(n(stored.as_ref()), Some(&1.into()), "{kind:?}, lost {times} times");
                // The next is another.
                assert_eq!(scene.ask(Request::Transact).await, Ok(()));
                let stored = scene.stored().await;
                assert_eq!(n(stored.as_ref()), Some(&2.into()), "{kind:?}");
            }
        });
    }
}

#[test]
fn a_transaction_that_is_never_answered_is_of_unknown_outcome() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        let in_progress = Fate::error(400, "TransactionInProgressException");
        let mismatch = Fate::error(400, "IdempotentParameterMismatchException");
        let failing = Fate::error(500, "InternalServerError");
        for fate in [Fate::Lost, Fate::Hang, Fate::Garbage, in_progress, mismatch, failing] {
            let scene = Scene::set(&service, always(fate.clone())).await;
            let answer = scene.ask_in_vain(Request::Transact).await;
            assert!(is_unknown(&answer), "{fate:?}: {answer:?}");
        }
        // It is not known any better once the service does not let it in any more.
        let throttled = Fate::error(400, "ThrottlingException");
        let conflict = Fate::cancelled(&["TransactionConflict"]);
        let denied = Fate::error(400, "AccessDeniedException");
        for then in [throttled, conflict, denied] {
            let fates = then.clone();
            let decide = move |at| if at == 0 { Fate::Lost } else { fates.clone() };
            let scene = Scene::set(&service, decide).await;
            let answer = scene.ask_in_vain(Request::Transact).await;
            assert!(is_unknown(&answer), "{then:?}: {answer:?}");
        }
    });
}

#[test]
fn a_transaction_is_sent_again_until_it_is_done() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for fate in [
            Fate::error(400, "TransactionInProgressException"),
            Fate::error(500, "InternalServerError"),
            Fate::cancelled(&["TransactionConflict"]),
            Fate::cancelled(&["ThrottlingError"]),
            Fate::cancelled(&["ProvisionedThroughputExceeded"]),
            Fate::Garbage,
        ] {
            let scene = Scene::set(&service, first(3, fate.clone())).await;
            assert_eq!(scene.ask(Request::Transact).await, Ok(()), "{fate:?}");
            assert_eq!(scene.sent(), 4, "{fate:?}");
            let stored = scene.stored().await;
            assert_eq!(n(stored.as_ref()), Some(&1.into()), "{fate:?}");
        }
        let scene = Scene::set(&service, always(Fate::cancelled(&["TransactionConflict"]))).await;
        assert_eq!(scene.ask_in_vain(Request::Transact).await, Err(Error::Conflict));
    });
}

#[test]
fn nobody_there_is_known_to_have_done_nothing() {
    runtime().block_on(async {
        // A port that was free a moment ago.
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let (client, table) = (client(&endpoint).await, table());
        for request in ALL {
            let started = Instant::now();
            let answer = ask(&client, &table, request, Duration::from_secs(10)).await;
            assert!(is_unavailable(&answer), "{request:?}: {answer:?}");
            assert!(started.elapsed() < Duration::from_secs(1), "{request:?} waits for nobody");
        }
        let no_time = ask(&client, &table, PutIt, Duration::ZERO).await;
        assert!(is_unavailable(&no_time), "{no_time:?}");
    });
}

#[test]
fn throttling_is_waited_out_until_the_deadline() {
    let service = Service::dynoxide();
    let codes =
        ["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"];
    runtime().block_on(async {
        for request in ALL {
            for code in codes {
                let scene = Scene::set(&service, first(3, Fate::error(400, code))).await;
                assert_eq!(scene.ask(request).await, Ok(()), "{request:?} {code}");
                assert_eq!(scene.sent(), 4, "{request:?} {code}");
            }
            let scene = Scene::set(&service, always(Fate::error(400, codes[0]))).await;
            assert_eq!(scene.ask_in_vain(request).await, Err(Error::Throttled), "{request:?}");
            assert!(scene.sent() > 2, "{request:?} is sent {} times", scene.sent());
        }
    });
}

#[test]
fn a_single_write_in_the_way_of_a_transaction_is_sent_again() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        let conflict = Fate::error(400, "TransactionConflictException");
        for request in SINGLE_WRITES {
            let scene = Scene::set(&service, first(3, conflict.clone())).await;
            assert_eq!(scene.ask(request).await, Ok(()), "{request:?}");
            let scene = Scene::set(&service, always(conflict.clone())).await;
            assert_eq!(scene.ask_in_vain(request).await, Err(Error::Conflict), "{request:?}");
        }
    });
}

#[test]
fn what_the_service_refuses_it_has_not_done() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for request in ALL {
            for code in ["AccessDeniedException", "UnrecognizedClientException"] {
                let scene = Scene::set(&service, always(Fate::error(400, code))).await;
                let answer = scene.ask_in_vain(request).await;
                assert!(is_unavailable(&answer), "{request:?} {code}: {answer:?}");
            }
            let scene = Scene::set(&service, always(Fate::error(400, "ValidationException"))).await;
            let answer = scene.ask_in_vain(request).await;
            assert!(matches!(answer, Err(Error::Invalid { leg: None, .. })), "{answer:?}");
            assert_eq!(scene.sent(), 1, "{request:?}");
        }
    });
}

#[test]
fn the_first_reason_of_a_cancelled_transaction_decides() {
    let service = Service::dynoxide();
    let told = |error: &Error| match error {
        Error::ConditionFailed(failed) => format!("condition of leg {}", failed.leg),
        Error::Invalid { leg, .. } => format!("invalid {leg:?}"),
        Error::Conflict => "conflict".to_owned(),
        Error::Throttled => "throttled".to_owned(),
        Error::Unavailable { .. } => "unavailable".to_owned(),
        other => format!("{other:?}"),
    };
    let cases: [(&[&str], &str); 6] = [
        (&["None", "ConditionalCheckFailed"], "condition of leg 1"),
        (&["ConditionalCheckFailed", "TransactionConflict"], "condition of leg 0"),
        (&["TransactionConflict", "ConditionalCheckFailed"], "conflict"),
        (&["None", "ThrottlingError"], "throttled"),
        (&["None", "ValidationError"], "invalid Some(1)"),
        (&["None", "Whatever"], "unavailable"),
    ];
    runtime().block_on(async {
        for (reasons, expected) in cases {
            let scene = Scene::set(&service, always(Fate::cancelled(reasons))).await;
            let error = scene.ask_in_vain(Request::Transact).await.unwrap_err();
            assert_eq!(told(&error), expected, "{reasons:?}");
        }
    });
}

/// What a service says that read some keys of a batch, and left others.
fn partly(table: &Schema, read: &[&str], left: &[&str]) -> Fate {
    let key = |sort: &&str| format!(r#"{{"PK":{{"S":"p"}},"SK":{{"S":"{sort}"}}}}"#);
    let keys = |sorts: &[&str]| sorts.iter().map(key).collect::<Vec<_>>().join(",");
    let (name, read, left) = (&table.name, keys(read), keys(left));
    Fate::Answer(
        200,
        format!(
            r#"{{"Responses":{{"{name}":[{read}]}},"UnprocessedKeys":{{"{name}":{{"Keys":[{left}]}}}},
            "ConsumedCapacity":[{{"TableName":"{name}","CapacityUnits":1.5}}]}}"#
        ),
    )
}

/// A batch get of such sort keys, asked of what answers so; and what was asked each time.
async fn batch(
    fates: Vec<Fate>,
    table: &Arc<Schema>,
    sorts: &[&str],
    time_max: Duration,
) -> (Result<GotMany, Error>, Vec<Vec<String>>) {
    let last = fates.len() - 1;
    let proxy = Proxy::start("http://127.0.0.1:1", move |at| fates[at.min(last)].clone()).await;
    let keys = sorts.iter().map(|sort| Key::new("p", *sort)).collect();
    let get = BatchGet { table: Arc::clone(table), keys, consistency: Consistency::Eventual };
    let deadline = Instant::now() + time_max;
    let answer = client(&proxy.endpoint).await.batch_get(&get, deadline).await;
    let late = Instant::now().saturating_duration_since(deadline);
    assert!(late <= LATE_MAX, "answered {late:?} late: {answer:?}");
    let asked = proxy.seen().into_iter().map(|seen| {
        assert_eq!(seen.operation, "BatchGetItem");
        let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        let keys = body["RequestItems"][table.name.as_str()]["Keys"].as_array().unwrap().clone();
        keys.iter().map(|key| key["SK"]["S"].as_str().unwrap().to_owned()).collect()
    });
    (answer, asked.collect())
}

#[test]
fn what_a_batch_leaves_unread_is_asked_again_until_it_is_read() {
    runtime().block_on(async {
        let table = table();
        let fates = vec![
            partly(&table, &["c"], &["d", "a"]),
            partly(&table, &[], &["a", "d"]),
            partly(&table, &["a"], &["d"]),
            partly(&table, &["d"], &[]),
        ];
        let (got, asked) = batch(fates, &table, &["a", "b", "c", "d"], TIME_MAX).await;
        let got = got.unwrap();
        let sorts: Vec<_> = got
            .items
            .iter()
            .map(|item| item.as_ref().and_then(|item| item.get("SK")?.as_text()))
            .map(|sort| sort.map(|sort| sort.to_string()))
            .collect();
        let some = |sort: &str| Some(sort.to_owned());
        assert_eq!(sorts, [some("a"), None, some("c"), some("d")]);
        assert_eq!(got.capacity.read_halves, 12, "all that was consumed is told");
        assert_eq!(asked.len(), 4);
        assert_eq!(asked[0], ["a", "b", "c", "d"]);
        assert_eq!(asked[1], ["d", "a"]);
        assert_eq!(asked[3], ["d"]);
    });
}

#[test]
fn what_is_never_read_is_throttled_at_the_deadline() {
    runtime().block_on(async {
        let table = table();
        let fates = vec![partly(&table, &["b"], &["a"]), partly(&table, &[], &["a"])];
        let (got, asked) = batch(fates, &table, &["a", "b"], BRIEF).await;
        assert_eq!(got, Err(Error::Throttled));
        assert!(asked.len() > 2 && asked.len() < 100, "asked {} times", asked.len());
    });
}

#[test]
fn what_nobody_asked_for_is_no_answer() {
    runtime().block_on(async {
        let table = table();
        for fate in [partly(&table, &["x"], &[]), partly(&table, &[], &["x"])] {
            let (got, _) = batch(vec![fate.clone()], &table, &["a"], BRIEF).await;
            assert!(matches!(got, Err(Error::Unavailable { .. })), "{fate:?}: {got:?}");
        }
        let none = Fate::Answer(200, r#"{"Responses":[{}]}"#.to_owned());
        let proxy = Proxy::start("http://127.0.0.1:1", always(none)).await;
        let answer = ask(&client(&proxy.endpoint).await, &table, Request::SnapshotGet, BRIEF).await;
        assert!(is_unavailable(&answer), "one answer to two keys: {answer:?}");
    });
}

#[test]
fn a_snapshot_in_the_way_of_a_transaction_is_asked_again() {
    let service = Service::dynoxide();
    runtime().block_on(async {
        for reason in ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"] {
            let fate = Fate::cancelled(&["None", reason]);
            let scene = Scene::set(&service, first(3, fate)).await;
            assert_eq!(scene.ask(Request::SnapshotGet).await, Ok(()), "{reason}");
            assert_eq!(scene.sent(), 4, "{reason}");
        }
        let conflict = Fate::cancelled(&["None", "TransactionConflict"]);
        for (fate, expected) in [
            (conflict, Err(Error::Conflict)),
            (Fate::cancelled(&["ThrottlingError", "TransactionConflict"]), Err(Error::Throttled)),
        ] {
            let scene = Scene::set(&service, always(fate)).await;
            assert_eq!(scene.ask_in_vain(Request::SnapshotGet).await, expected);
        }
        let scene = Scene::set(&service, always(Fate::cancelled(&["ValidationError"]))).await;
        let answer = scene.ask_in_vain(Request::SnapshotGet).await;
        assert!(matches!(answer, Err(Error::Invalid { leg: None, .. })), "{answer:?}");
        assert_eq!(scene.sent(), 1);
    });
}
