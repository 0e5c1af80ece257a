//! What the contracts ask of the table, recorded and asked again: of the store alone, without HTTP, without
//! contracts and without the queue's leases.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_embedded::{Options as StoreOptions, Store};
use latchkey_runtime::{Call, Caller, Options, Runtime, System, Work};
use latchkey_table::{Capacity, Leg, Request, Schema, Transact};
use latchkey_value::json;
use tokio::task::JoinSet;

use super::hall::{DOCUMENT, Mode};
use crate::Result;

const QUEUE: &str = "participations";

/// How many are recorded at once.
const AT_ONCE: u64 = 250;

/// The requests of all participations in events of one mode.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) table: Arc<Schema>,
    event: Vec<Request>,
    /// What each call of EP-01 asks.
    pub(crate) intake: Arc<Vec<Vec<Request>>>,
    /// What each message's work asks: those of one event after the other, an event for each place.
    pub(crate) work: Vec<Arc<Vec<Vec<Request>>>>,
}

/// What a part of it came to on the store alone.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) time: Duration,
    pub(crate) latencies: Vec<Duration>,
}

impl Recorded {
    /// Carries out so many participations in each of some events on a store in memory.
    pub(crate) async fn record(mode: Mode, events: u64, users: u64) -> Result<Recorded> {
        let text = std::fs::read_to_string(DOCUMENT)?;
        let system = System::read(&text).map_err(|mistakes| mistakes.to_string())?;
        let store = Arc::new(Store::in_memory(&StoreOptions::default())?);
        let runtime = Runtime::start(system, store, Options::default()).await?;
        let runtime = Arc::new(runtime);
        let (mut made, mut intake, mut work) = (Vec::new(), Vec::new(), Vec::new());
        for event in (0..events).map(event_name) {
            let mut make = Call::new("AD-04", Caller::new("ada").role("admin"));
            for (name, value) in json_members(&mode.event(&event))? {
                make = make.json(name, value);
            }
            made.append(&mut traced(&runtime, make).await?);
            let mut own = Vec::new();
            let mut user = 0;
            while user < users {
                // The first alone, so that the first of the calls and the first of the work are one participation.
                let end = if user == 0 { 1 } else { (user + AT_ONCE).min(users) };
                let mut tasks = JoinSet::new();
                for user in user..end {
                    let runtime = Arc::clone(&runtime);
                    let caller = Caller::new(format!("user-{user:06}").as_str());
                    let call = Call::new("EP-01", caller).input("eventId", event.as_str());
                    tasks.spawn(async move { traced(&runtime, call).await });
                }
                while let Some(recorded) = tasks.join_next().await {
                    intake.push(recorded??);
                }
                own.append(&mut record_work(&runtime).await?);
                user = end;
            }
            if u64::try_from(own.len())? != users {
                return Err(format!("{} of {users} were worked on", own.len()).into());
            }
            work.push(Arc::new(own));
        }
        let table = Arc::clone(runtime.system().table());
        Ok(Recorded { table, event: made, intake: intake.into(), work })
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

    /// What one participation consumes on a table with some of the indexes: the call, and the work.
    pub(crate) async fn cost(&self, table: Schema) -> Result<(Capacity, Capacity)> {
        let (store, table) = (Store::in_memory(&StoreOptions::default())?, Arc::new(table));
        store.create_table(&table).await?;
        let mut consumed = [Capacity::ZERO; 3];
        let parts = [
            Some(self.event.as_slice()),
            self.intake.first().map(Vec::as_slice),
            self.work.first().and_then(|work| work.first()).map(Vec::as_slice),
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
        for received in received {
            let message = Arc::clone(&received.message);
            let worked = runtime.work(&Work { trace: true, ..Work::new(QUEUE, message) }).await;
            queue.done(&received).await?;
            work.push(worked.trace.into_iter().map(|step| step.request).collect());
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

/// Asks a store what was recorded of the work: each event's one after the other, events side by side.
pub(crate) async fn replay_work(store: &Arc<Store>, recorded: &Recorded) -> Result<Duration> {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for work in &recorded.work {
        let (store, work) = (Arc::clone(store), Arc::clone(work));
        running.spawn(async move { replay(&store, &work, 1).await });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(start.elapsed())
}

/// What an event is called.
pub(crate) fn event_name(number: u64) -> String {
    format!("event-{number:02}")
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
        Request::SnapshotGet(get) => store.snapshot_get(get)?.capacity,
        Request::BatchGet(_) | Request::Query(_) | Request::IndexScan(_) => {
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
        Request::SnapshotGet(get) => {
            Request::SnapshotGet(latchkey_table::SnapshotGet { table, ..get })
        }
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
