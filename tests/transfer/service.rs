//! What a service that is slow, partial or broken makes of a transfer: it takes longer, and nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use latchkey_dynamodb::{DynamoDb, Settings};
use latchkey_table::{Error, Item, Scan, Schema, Text};
use tokio::time::Instant;

use latchkey_testing::fate::{Fate, Proxy};
use latchkey_testing::services::Service;

const TIME_MAX: Duration = Duration::from_secs(120);

async fn client(endpoint: &str) -> DynamoDb {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"));
    DynamoDb::connect_from(config, &Settings { endpoint: Some(endpoint.to_owned()) }).await
}

async fn table(service: &DynamoDb) -> Arc<Schema> {
    let nanos = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let table = Arc::new(Schema::new(format!("Transfer-{}-{nanos}", std::process::id())));
    service.create(&table).await.unwrap();
    table
}

fn sort(at: usize) -> String {
    format!("S{at:02}")
}

fn items(count: usize) -> Vec<Item> {
    (0..count).map(|at| Item::from([("PK", "P"), ("SK", sort(at).as_str())])).collect()
}

/// The sort keys of a table, by parts of so many items.
async fn stored(service: &DynamoDb, table: &Arc<Schema>, part: usize) -> Vec<String> {
    let mut found = Vec::new();
    let partition_prefix = Text::default();
    let table = Arc::clone(table);
    let mut scan = Scan { table, partition_prefix, after: None, items_max: part };
    loop {
        let deadline = Instant::now() + TIME_MAX;
        let scanned = service.scan(&scan, deadline).await.unwrap();
        assert!(scanned.items.len() <= part, "{}", scanned.items.len());
        found.extend(
            scanned.items.iter().map(|item| scan.table.key_of(item).unwrap().sort.to_string()),
        );
        match scanned.resume {
            Some(resume) => scan.after = Some(resume),
            None => return found,
        }
    }
}

/// The answer to a batch of which all but the first so many are left undone.
fn undone(table: &Schema, from: usize, count: usize) -> Fate {
    let put = |at| {
        format!(r#"{{"PutRequest":{{"Item":{{"PK":{{"S":"P"}},"SK":{{"S":"{}"}}}}}}}}"#, sort(at))
    };
    let puts: Vec<String> = (from..count).map(put).collect();
    Fate::Answer(
        200,
        format!(r#"{{"UnprocessedItems":{{"{}":[{}]}}}}"#, table.name, puts.join(",")),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_undone_or_refused_is_sent_again_and_no_more() {
    let service = Service::dynoxide();
    let direct = client(service.endpoint()).await;
    let table = table(&direct).await;
    let partial = Arc::clone(&table);
    let proxy = Proxy::start(service.endpoint(), move |at| match at {
        0 => Fate::error(400, "ProvisionedThroughputExceededException"),
        1 => undone(&partial, 4, 10),
        2 => undone(&partial, 4, 10),
        3 => Fate::error(500, "InternalServerError"),
        4 => Fate::Lost,
        5 => undone(&partial, 7, 10),
        6 => Fate::Garbage,
        _ => Fate::Pass,
    })
    .await;
    let through = client(&proxy.endpoint).await;
    through.put_all(&table, items(10), Instant::now() + TIME_MAX).await.unwrap();
    let sent: Vec<usize> =
        proxy.seen().iter().map(|seen| seen.body.matches("PutRequest").count()).collect();
    assert_eq!(sent, [10, 10, 6, 6, 6, 6, 3, 3]);
    assert!(proxy.seen().iter().all(|seen| seen.operation == "BatchWriteItem"));
    // What the proxy said was done, it did not do; the rest is there.
    assert_eq!(stored(&direct, &table, 100).await, (4..10).map(sort).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_takes_nothing_is_waited_for_until_the_deadline_and_no_longer() {
    let service = Service::dynoxide();
    let direct = client(service.endpoint()).await;
    let table = table(&direct).await;
    let partial = Arc::clone(&table);
    let fates = [
        Arc::new(move |_: usize| undone(&partial, 0, 3))
            as Arc<dyn Fn(usize) -> Fate + Send + Sync>,
        Arc::new(|_| Fate::error(400, "ThrottlingException")),
    ];
    for fate in fates {
        let proxy = Proxy::start(service.endpoint(), move |at| fate(at)).await;
        let through = client(&proxy.endpoint).await;
        let deadline = Instant::now() + Duration::from_millis(700);
        let answer = through.put_all(&table, items(3), deadline).await;
        assert_eq!(answer, Err(Error::Throttled));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_read_in_parts_and_through_failures() {
    let service = Service::dynoxide();
    let direct = client(service.endpoint()).await;
    let table = table(&direct).await;
    direct.put_all(&table, items(25), Instant::now() + TIME_MAX).await.unwrap();
    let proxy = Proxy::start(service.endpoint(), |at| match at % 4 {
        0 => Fate::error(400, "ThrottlingException"),
        1 => Fate::error(500, "InternalServerError"),
        2 => Fate::Lost,
        _ => Fate::Pass,
    })
    .await;
    let through = client(&proxy.endpoint).await;
    let mut found = stored(&through, &table, 7).await;
    found.sort_unstable();
    assert_eq!(found, (0..25).map(sort).collect::<Vec<_>>());
    for seen in proxy.seen() {
        assert!(seen.body.contains(r#""ConsistentRead":true"#), "{}", seen.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_table_can_hold_is_not_sent() {
    let service = Service::dynoxide();
    let direct = client(service.endpoint()).await;
    let table = table(&direct).await;
    let bad = vec![Item::from([("PK", "P")])];
    let answer = direct.put_all(&table, bad, Instant::now() + TIME_MAX).await;
    assert!(matches!(answer, Err(Error::Invalid { .. })), "{answer:?}");
}
