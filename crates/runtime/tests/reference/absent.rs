//! `else absent`: whether an item is not there, or not as it must be, also on a store that does not tell.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use latchkey_embedded::Store;
use latchkey_runtime::{Options, Runtime, Storage, System};
use latchkey_table::{
    Answer, Answering, Backend, Condition, Delete, Error, Failed, Key, Need, Path, PrepareError,
    Put, Request, Returning, Tables, Value,
};

use crate::support::{Told, World, call, document};

const SEATS: &str = r#"
entity Seats "SEATS" {
  PK = "SHOW#{showId}"
  SK = "SEATS"
  showId id, left int 0.., open bool = true, version counter
}
contract MAKE "Make" {
  PUT /shows/{showId}
  input left int 0.., open bool = true
  allow true
  seats = put Seats { showId, left, open } if absent else 409 there
  return seats
  facts
}
contract TAKE "Take" {
  PUT /shows/{showId}/take
  input count int 1..
  allow true
  seats = update Seats set left = .left - count, version = .version + 1
    if .open else absent 404 not-found else 409 closed
  return seats
  facts
}
contract GIVE "Take, whether open or not" {
  PUT /shows/{showId}/give
  input count int 1..
  allow true
  seats = update Seats set left = .left - count, version = .version + 1 else 404 not-found
  return seats
  facts
}
contract FULL "Make with what may be too many" {
  PUT /shows/{showId}/full
  input left int
  allow true
  seats = put Seats { showId, left = left + 0 } if absent else 409 there
  return seats
  facts
}
contract DROP "Drop" {
  DELETE /shows/{showId}
  allow true
  delete Seats else absent 404 not-found
  return 204
  facts
}
contract LEGS "Check and drop" {
  PUT /shows/{showId}/legs
  input other id
  require other != showId else 400 same
  allow true
  transact {
    check Seats if .open else absent 404 not-found else 409 closed
    delete Seats(showId = other) if .left == 0 else absent 410 gone else 409 seats-left
  }
  return 204
  facts
}
contract KIND "Another" {
  PUT /shows/{showId}/again
  allow true
  update Seats set left = .left - 1, version = .version + 1
    if .open else absent retry else 409 closed
  return 204
  facts
}
"#;

/// A store that tells of no single write what it refused it for; and what happens before the next look.
#[derive(Debug)]
struct Mute {
    store: Arc<Store>,
    looks: Mutex<usize>,
    before: Mutex<Vec<Request>>,
}

impl Backend for Mute {
    fn execute(&self, request: Request, until: Instant) -> Answering<'_, Result<Answer, Error>> {
        Answering::waiting(async move {
            let single = !matches!(request, Request::Transact(_));
            if matches!(request, Request::Get(_)) {
                *self.looks.lock().unwrap() += 1;
                let before = std::mem::take(&mut *self.before.lock().unwrap());
                for request in before {
                    self.store.execute(request, until).await.unwrap();
                }
            }
            match self.store.execute(request, until).await {
                Err(Error::ConditionFailed(failed)) if single => {
                    Err(Error::ConditionFailed(Box::new(Failed { item: None, ..*failed })))
                }
                answer => answer,
            }
        })
    }

    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>> {
        self.store.prepare(tables, need)
    }
}

async fn mute() -> (Runtime, Arc<Mute>) {
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let mute = Arc::new(Mute { store, looks: Mutex::default(), before: Mutex::default() });
    let system = System::read(&document(SEATS)).unwrap();
    let backend: Arc<Mute> = Arc::clone(&mute);
    let storage = Storage::on(backend);
    (Runtime::start(system, storage, Options::default()).await.unwrap(), mute)
}

async fn told(runtime: &Runtime, contract: &str, inputs: &str) -> (u16, String) {
    Told(runtime.call(call(contract, inputs)).await).told()
}

const ROWS: [(&str, &str, u16, &str); 17] = [
    ("TAKE", r#"{"showId": "a", "count": 1}"#, 404, "not-found"),
    ("MAKE", r#"{"showId": "a", "left": 1}"#, 200, ""),
    ("MAKE", r#"{"showId": "b", "left": 1, "open": false}"#, 200, ""),
    ("TAKE", r#"{"showId": "b", "count": 1}"#, 409, "closed"),
    // The condition holds, and the bounds of `left` do not.
    ("TAKE", r#"{"showId": "a", "count": 2}"#, 400, "invalid-input"),
    // It was a 404 where the store does not tell.
    ("GIVE", r#"{"showId": "a", "count": 2}"#, 400, "invalid-input"),
    ("GIVE", r#"{"showId": "none", "count": 2}"#, 404, "not-found"),
    // It was a 409.
    ("FULL", r#"{"showId": "c", "left": -1}"#, 400, "invalid-input"),
    ("FULL", r#"{"showId": "b", "left": -1}"#, 409, "there"),
    ("LEGS", r#"{"showId": "none", "other": "a"}"#, 404, "not-found"),
    ("LEGS", r#"{"showId": "b", "other": "a"}"#, 409, "closed"),
    ("LEGS", r#"{"showId": "a", "other": "none"}"#, 410, "gone"),
    ("LEGS", r#"{"showId": "a", "other": "b"}"#, 409, "seats-left"),
    ("TAKE", r#"{"showId": "a", "count": 1}"#, 200, ""),
    ("DROP", r#"{"showId": "a"}"#, 204, ""),
    ("DROP", r#"{"showId": "a"}"#, 404, "not-found"),
    ("TAKE", r#"{"showId": "a", "count": 1}"#, 404, "not-found"),
];

#[tokio::test]
async fn an_absence_has_an_answer_of_its_own_whether_the_store_tells_or_not() {
    let world = World::start(SEATS).await;
    let (runtime, mute) = mute().await;
    for (contract, inputs, status, code) in ROWS {
        let wanted = (status, code.to_owned());
        assert_eq!(world.call(contract, inputs).await.told(), wanted, "{contract} {inputs}");
        assert_eq!(told(&runtime, contract, inputs).await, wanted, "{contract} {inputs}, mute");
    }
    // Of a single write that is refused, and of nothing else.
    assert_eq!(*mute.looks.lock().unwrap(), 9);
}

// What is read after the write decides: what has changed in between is as if it had changed before the call.
#[tokio::test]
async fn what_is_found_after_a_refusal_decides() {
    let (runtime, mute) = mute().await;
    let table = runtime.system().table().clone();
    let key = Key::new("SHOW#a", "SEATS");
    let mut item = table.key.item::<Value>(&key);
    for (name, value) in [("kind", Value::from("SEATS")), ("showId", Value::from("a"))] {
        item.insert(name, value);
    }
    item.insert("left", Value::from(3));
    item.insert("open", Value::Bool(true));
    item.insert("version", Value::from(1));
    let absent = Condition::Absent(Path::attribute("PK"));
    let put = Put { table: table.clone(), item, condition: Some(absent) };
    // Made just after the write had missed it: the write succeeds.
    *mute.before.lock().unwrap() = vec![Request::Put(put, Returning::Nothing)];
    assert_eq!(
        told(&runtime, "TAKE", r#"{"showId": "a", "count": 1}"#).await,
        (200, String::new())
    );
    // Removed just after it was refused: it is gone.
    assert_eq!(told(&runtime, "MAKE", r#"{"showId": "b", "left": 1, "open": false}"#).await.0, 200);
    let delete = Delete { table, key: Key::new("SHOW#b", "SEATS"), condition: None };
    *mute.before.lock().unwrap() = vec![Request::Delete(delete, Returning::Nothing)];
    let gone = told(&runtime, "TAKE", r#"{"showId": "b", "count": 1}"#).await;
    assert_eq!(gone, (404, "not-found".to_owned()));
}

// An item of another type is absent. Who would try again would meet it each time.
#[tokio::test]
async fn an_item_of_another_type_is_absent() {
    let world = World::start(SEATS).await;
    let table = world.runtime.system().table().clone();
    let mut item = table.key.item::<Value>(&Key::new("SHOW#a", "SEATS"));
    item.insert("kind", Value::from("OTHER"));
    let put = Put { table, item, condition: None };
    world.store.put(put, Returning::Nothing).await.unwrap();
    let take = world.call("TAKE", r#"{"showId": "a", "count": 1}"#).await;
    assert_eq!(take.told(), (404, "not-found".to_owned()));
    assert_eq!(world.call("DROP", r#"{"showId": "a"}"#).await.told().0, 404);
    assert_eq!(world.call("KIND", r#"{"showId": "a"}"#).await.told().1, "damaged-item");
}
