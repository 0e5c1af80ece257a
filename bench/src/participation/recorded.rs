//! What the contracts ask of the table, recorded and asked again: of the store alone, without HTTP, without
//! contracts and without the queue's leases.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options as StoreOptions, Store};
use latchkey_runtime::{Call, Caller, Options, Runtime, System, Work, json};
use latchkey_table::{Capacity, Leg, Request, Schema, Transact};
use tokio::task::JoinSet;

use super::hall::{DOCUMENT, Mode};
use crate::Result;

const EVENT: &str = "recorded";
const QUEUE: &str = "participations";

/// How many are recorded at once.
const AT_ONCE: u64 = 250;

/// The requests of all participations in an event of one mode.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) table: Arc<Schema>,
    event: Vec<Request>,
    /// What each call of EP-01 asks.
    pub(crate) intake: Arc<Vec<Vec<Request>>>,
    /// What each message's work asks.
    pub(crate) work: Arc<Vec<Vec<Request>>>,
}

/// What a part of it came to on the store alone.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) time: Duration,
    pub(crate) latencies: Vec<Duration>,
}

impl Recorded {
    /// Carries out so many participations on a store in memory.
    pub(crate) async fn record(mode: Mode, users: u64) -> Result<Recorded> {
        let text = std::fs::read_to_string(DOCUMENT)?;
        let system = System::read(&text).map_err(|mistakes| mistakes.to_string())?;
        let store = Arc::new(Store::in_memory(&StoreOptions::default())?);
        let runtime = Runtime::start(system, store, Options::default()).await?;
        let admin = Caller::new("ada").role("admin");
        let mut make = Call::new("AD-04", admin);
        for (name, value) in json_members(&mode.event(EVENT))? {
            make = make.json(name, value);
        }
        let event = traced(&runtime, make).await?;
        let runtime = Arc::new(runtime);
        let (mut intake, mut work) = (Vec::new(), Vec::new());
        let mut user = 0;
        while user < users {
            // The first alone, so that the first of the calls and the first of the work are one participation.
            let end = if user == 0 { 1 } else { (user + AT_ONCE).min(users) };
            let mut tasks = JoinSet::new();
            for user in user..end {
                let runtime = Arc::clone(&runtime);
                let caller = Caller::new(format!("user-{user:06}").as_str());
                let call = Call::new("EP-01", caller).input("eventId", EVENT);
                tasks.spawn(async move { traced(&runtime, call).await });
            }
            while let Some(recorded) = tasks.join_next().await {
                intake.push(recorded??);
            }
            work.append(&mut record_work(&runtime).await?);
            user = end;
        }
        if work.len() != intake.len() {
            return Err(format!("{} of {} were worked on", work.len(), intake.len()).into());
        }
        let table = Arc::clone(runtime.system().table());
        Ok(Recorded { table, event, intake: intake.into(), work: work.into() })
    }

    /// A store with the event in it and nobody who takes part.
    pub(crate) async fn open(&self, directory: &Path) -> Result<Arc<Store>> {
        let store = Arc::new(Store::open(directory, &StoreOptions::default())?);
        store.create_table(&self.table).await?;
        for request in &self.event {
            ask(&store, request).await?;
        }
        Ok(store)
    }

    /// A store that was opened before.
    pub(crate) fn reopen(&self, directory: &Path) -> Result<Arc<Store>> {
        Ok(Arc::new(Store::open(directory, &StoreOptions::default())?))
    }

    /// What one participation consumes on a table with some of the indexes: the call, and the work.
    pub(crate) async fn cost(&self, table: Schema) -> Result<(Capacity, Capacity)> {
        let (store, table) = (Store::in_memory(&StoreOptions::default())?, Arc::new(table));
        store.create_table(&table).await?;
        let mut consumed = [Capacity::ZERO; 3];
        let parts = [
            Some(self.event.as_slice()),
            self.intake.first().map(Vec::as_slice),
            self.work.first().map(Vec::as_slice),
        ];
        for (part, consumed) in parts.into_iter().zip(&mut consumed) {
            for request in part.ok_or("nothing was recorded")? {
                *consumed += ask(&store, &on_table(request.clone(), &table)).await?;
            }
        }
        let [_, intake, work] = consumed;
        Ok((intake, work))
    }
}

/// The members of an object, as a call takes them.
fn json_members(object: &serde_json::Value) -> Result<Vec<(String, latchkey_table::Value)>> {
    let read = json::read(object.to_string().as_bytes(), json::Limits::default())?;
    let latchkey_table::Value::Map(map) = read else { return Err("no object".into()) };
    Ok(map.iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
}

/// What a call asks of the table.
async fn traced(runtime: &Runtime, call: Call) -> Result<Vec<Request>> {
    let outcome = runtime.call(Call { trace: true, ..call }).await;
    match outcome.status() {
        200..300 => Ok(outcome.trace.into_iter().map(|step| step.request).collect()),
        _ => Err(outcome.body().into()),
    }
}

/// Works on all that waits.
async fn record_work(runtime: &Arc<Runtime>) -> Result<Vec<Vec<Request>>> {
    let queue = runtime.queue(QUEUE).and_then(|queue| queue.embedded()).ok_or("no queue")?;
    let mut work = Vec::new();
    loop {
        let received = queue.receive(50, Duration::ZERO).await?;
        if received.is_empty() {
            return Ok(work);
        }
        let mut tasks = JoinSet::new();
        for received in received {
            let (runtime, queue) = (Arc::clone(runtime), queue.clone());
            tasks.spawn(async move {
                let message = Arc::clone(&received.message);
                let worked = runtime.work(&Work { trace: true, ..Work::new(QUEUE, message) }).await;
                queue.done(&received).await?;
                let requests = worked.trace.into_iter().map(|step| step.request);
                Result::Ok(requests.collect::<Vec<_>>())
            });
        }
        while let Some(recorded) = tasks.join_next().await {
            work.push(recorded??);
        }
    }
}

/// Asks a store what was recorded, by so many tasks.
pub(crate) async fn replay(
    store: &Arc<Store>,
    recorded: &Arc<Vec<Vec<Request>>>,
    tasks: usize,
) -> Result<Replayed> {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for task in 0..tasks {
        let (store, recorded) = (Arc::clone(store), Arc::clone(recorded));
        running.spawn(async move {
            let mut latencies = Vec::new();
            for requests in recorded.iter().skip(task).step_by(tasks) {
                let start = Instant::now();
                for request in requests {
                    ask(&store, request).await?;
                }
                latencies.push(start.elapsed());
            }
            Result::Ok(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(done) = running.join_next().await {
        latencies.extend(done??);
    }
    Ok(Replayed { time: start.elapsed(), latencies })
}

async fn ask(store: &Store, request: &Request) -> Result<Capacity> {
    Ok(match request {
        Request::Get(get) => store.get(get)?.capacity,
        Request::Put(put, returning) => store.put(put.clone(), *returning).await?.capacity,
        Request::Update(update, returning) => {
            store.update(update.clone(), *returning).await?.capacity
        }
        Request::Delete(delete, returning) => {
            store.delete(delete.clone(), *returning).await?.capacity
        }
        Request::Transact(transact) => store.transact(transact.clone()).await?.capacity,
        Request::BatchGet(_) | Request::SnapshotGet(_) | Request::Query(_) => {
            return Err("taking part asks for no list".into());
        }
    })
}

/// The same of a table of another shape.
fn on_table(request: Request, table: &Arc<Schema>) -> Request {
    let leg = |mut leg: Leg| {
        let place = match &mut leg {
            Leg::Put(put) => &mut put.table,
            Leg::Update(update) => &mut update.table,
            Leg::Delete(delete) => &mut delete.table,
            Leg::Check(check) => &mut check.table,
        };
        *place = Arc::clone(table);
        leg
    };
    let table = Arc::clone(table);
    match request {
        Request::Get(get) => Request::Get(latchkey_table::Get { table, ..get }),
        Request::Put(put, returning) => {
            Request::Put(latchkey_table::Put { table, ..put }, returning)
        }
        Request::Update(update, returning) => {
            Request::Update(latchkey_table::Update { table, ..update }, returning)
        }
        Request::Delete(delete, returning) => {
            Request::Delete(latchkey_table::Delete { table, ..delete }, returning)
        }
        Request::Transact(Transact { legs }) => {
            Request::Transact(Transact { legs: legs.into_iter().map(leg).collect() })
        }
        other => other,
    }
}
