//! Gets of several items from a service that reads some of them, or answers what nobody asked for.

use std::sync::Arc;
use std::time::Duration;

use latchkey_table::{BatchGet, Consistency, Error, GotMany, Key, Schema};
use tokio::time::Instant;

use super::scene::{
    BRIEF, Request, Scene, TIME_MAX, always, ask, ends_with, first, is_unavailable,
};
use crate::backend::{client, runtime, table};
use latchkey_testing::fate::{Fate, Proxy};
use latchkey_testing::services::Service;

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
        let (got, _) = batch(fates, &table, &["a", "b"], BRIEF).await;
        let got = got.map(drop);
        assert!(ends_with(&Error::Throttled, Request::BatchGet, &got), "{got:?}");
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
            (conflict, Error::Conflict),
            (Fate::cancelled(&["ThrottlingError", "TransactionConflict"]), Error::Throttled),
        ] {
            let scene = Scene::set(&service, always(fate)).await;
            let answer = scene.ask_in_vain(Request::SnapshotGet).await;
            assert!(ends_with(&expected, Request::SnapshotGet, &answer), "{expected}: {answer:?}");
        }
        let scene = Scene::set(&service, always(Fate::cancelled(&["ValidationError"]))).await;
        let answer = scene.ask(Request::SnapshotGet).await;
        assert!(matches!(answer, Err(Error::Invalid { leg: None, .. })), "{answer:?}");
        assert_eq!(scene.sent(), 1);
    });
}
