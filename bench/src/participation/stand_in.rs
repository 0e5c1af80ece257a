//! Stands between the service and a store that speaks DynamoDB's protocol, and counts. It can also do what AWS
//! does and a store on one machine does not: take its time, and cancel a transaction that meets another on an item.
//!
//! AWS documents that of two transactions under way on one item the second is cancelled with `TransactionConflict`, and
//! that a single write of an item in a transaction is refused. How long a transaction takes it does not.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::{Router, serve};
use dynoxide::Database;
use dynoxide::server::serve_on;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::connection::Connection;
use crate::Result;

/// More than the service takes.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Headers of a connection, not of what is sent over it.
const OF_THE_CONNECTION: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];

/// A place for the store to be asked at. It is left when this is dropped.
#[derive(Debug)]
pub(crate) struct StandIn {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    store: SocketAddr,
    /// How long a transaction takes, and has its items to itself; none has them where it is nothing.
    transaction: Option<Duration>,
    held: Mutex<HashSet<String>>,
    idle: Mutex<Vec<Connection>>,
    conflicts: AtomicU64,
}

impl StandIn {
    /// In front of a store, which is an address of this machine.
    pub(crate) async fn open(endpoint: &str, transaction: Option<Duration>) -> Result<StandIn> {
        let store = endpoint.strip_prefix("http://").ok_or("no http:// endpoint")?.parse()?;
        let shared = Arc::new(Shared {
            store,
            transaction,
            held: Mutex::default(),
            idle: Mutex::default(),
            conflicts: AtomicU64::new(0),
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { drop(serve(listener, router).await) });
        Ok(StandIn { shared, address, task })
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many transactions and writes were refused because of another transaction.
    pub(crate) fn conflicts(&self) -> u64 {
        self.shared.conflicts.load(Ordering::Relaxed)
    }
}

/// dynoxide-rs, in memory. It ends with the program.
pub(crate) async fn dynoxide() -> Result<String> {
    let database = Database::memory()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    drop(tokio::spawn(serve_on(listener, database)));
    Ok(endpoint)
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    shared.answer(request).await.unwrap_or_else(|error| {
        let mut response = Response::new(Body::from(error.to_string()));
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    })
}

impl Shared {
    async fn answer(&self, request: Request) -> Result<Response<Body>> {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, BODY_BYTES_MAX).await?;
        let target =
            head.headers.get("x-amz-target").map_or("", |name| name.to_str().unwrap_or(""));
        let transacts = target.ends_with(".TransactWriteItems");
        let Some(time) = self.transaction else { return self.forward(&head.headers, &body).await };
        let asked: Json = serde_json::from_slice(&body).unwrap_or_default();
        let keys = if transacts { leg_keys(&asked) } else { vec![key(&asked)] };
        let Some(holding) = self.hold(&keys, transacts) else {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(time / 2).await;
            return refusal(&keys, transacts);
        };
        // Anything else takes half of it.
        tokio::time::sleep(if transacts { time } else { time / 2 }).await;
        // What the store behind takes does not count: it is not the one that is stood in for.
        drop(holding);
        self.forward(&head.headers, &body).await
    }

    /// Holds the items of a transaction, unless another does; a single write holds nothing.
    fn hold<'a>(&'a self, keys: &'a [Option<String>], transacts: bool) -> Option<Holding<'a>> {
        let mut held = lock(&self.held);
        if keys.iter().flatten().any(|key| held.contains(key)) {
            return None;
        }
        let keys = if transacts { keys } else { &[] };
        held.extend(keys.iter().flatten().cloned());
        Some(Holding { shared: self, keys })
    }

    /// Asks the store.
    async fn forward(&self, headers: &HeaderMap, body: &Bytes) -> Result<Response<Body>> {
        let mut request = format!("POST / HTTP/1.1\r\nhost: {}\r\n", self.store).into_bytes();
        for (name, value) in headers {
            if !OF_THE_CONNECTION.contains(&name.as_str()) {
                request.extend_from_slice(name.as_str().as_bytes());
                request.extend_from_slice(b": ");
                request.extend_from_slice(value.as_bytes());
                request.extend_from_slice(b"\r\n");
            }
        }
        request.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        request.extend_from_slice(body);
        let idle = lock(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.store).await?,
        };
        let reply = connection.exchange(&request).await?;
        if reply.status == 400 && reply.body.windows(19).any(|part| part == b"TransactionConflict")
        {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        let mut response = Response::new(Body::from(reply.body.to_vec()));
        *response.status_mut() = StatusCode::from_u16(reply.status)?;
        for (name, value) in reply.headers() {
            let name = HeaderName::from_bytes(name)?;
            if !OF_THE_CONNECTION.contains(&name.as_str()) {
                response.headers_mut().append(name, HeaderValue::from_bytes(value)?);
            }
        }
        lock(&self.idle).push(connection);
        Ok(response)
    }
}

/// Items held by a transaction, until this is dropped.
struct Holding<'a> {
    shared: &'a Shared,
    keys: &'a [Option<String>],
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let mut held = lock(&self.shared.held);
        held.retain(|key| !self.keys.iter().flatten().any(|ours| ours == key));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of what a request of one item writes; nothing, if it only reads.
fn key(request: &Json) -> Option<String> {
    let item = match request.get("Item") {
        Some(item) => item,
        None if writes(request) => request.get("Key")?,
        None => return None,
    };
    let part = |name: &str| item.pointer(&format!("/{name}/S")).and_then(Json::as_str);
    Some(format!("{}\n{}", part("PK")?, part("SK")?))
}

/// Of requests by a key, a get alone says how consistent it is to be.
fn writes(request: &Json) -> bool {
    request.get("ConsistentRead").is_none()
}

/// The keys of a transaction, leg by leg.
fn leg_keys(request: &Json) -> Vec<Option<String>> {
    let legs = request.get("TransactItems").and_then(Json::as_array);
    let leg = |leg: &Json| leg.as_object()?.values().next().and_then(key);
    legs.map(|legs| legs.iter().map(leg).collect()).unwrap_or_default()
}

/// What AWS answers to whoever comes second.
fn refusal(keys: &[Option<String>], transacts: bool) -> Result<Response<Body>> {
    const MODEL: &str = "com.amazonaws.dynamodb.v20120810#";
    let body = if transacts {
        // Which of them met another is all the same to whoever tries again.
        let reasons: Vec<Json> =
            keys.iter().map(|_| json!({"Code": "TransactionConflict"})).collect();
        json!({
            "__type": format!("{MODEL}TransactionCanceledException"),
            "Message": "Transaction cancelled",
            "CancellationReasons": reasons,
        })
    } else {
        let kind = format!("{MODEL}TransactionConflictException");
        json!({"__type": kind, "Message": "Transaction is ongoing for the item"})
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/x-amz-json-1.0");
    response.headers_mut().insert("content-type", json);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_writes_alone() {
        let name = json!({"PK": {"S": "A"}, "SK": {"S": "B"}});
        let found = Some("A\nB".to_owned());
        assert_eq!(key(&json!({"Key": name, "UpdateExpression": "SET a = :b"})), found);
        assert_eq!(key(&json!({"Item": name})), found);
        assert_eq!(key(&json!({"Key": name, "ConsistentRead": true})), None);
        let legs = json!({"TransactItems": [
            {"Put": {"Item": name}}, {"Update": {"Key": name}}, {"ConditionCheck": {"Key": name}},
        ]});
        assert_eq!(leg_keys(&legs), [found.clone(), found.clone(), found]);
    }

    #[tokio::test]
    async fn the_second_of_two_transactions_is_refused() {
        let stand_in = StandIn::open("http://127.0.0.1:1", Some(Duration::from_millis(1))).await;
        let shared = Arc::clone(&stand_in.unwrap().shared);
        let (one, other) = ([Some("A".to_owned())], [Some("B".to_owned()), Some("A".to_owned())]);
        let held = shared.hold(&one, true).unwrap();
        assert!(shared.hold(&other, true).is_none());
        assert!(shared.hold(&one, false).is_none());
        assert!(shared.hold(&other[..1], true).is_some());
        drop(held);
        assert!(shared.hold(&other, false).is_some());
        assert!(shared.hold(&other, true).is_some());
    }
}
