//! What a change of status asks of the table, straight from the store: what HTTP is measured against.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, Condition, Consistency, Get, Item, Key, Leg, Path as Attribute, Put, Schema, Text,
    Transact, Update, Value,
};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::client::{Done, Work};
use super::lockers::{Change, Versions, pick, system};
use crate::Result;

const NOW: &str = "2026-11-01T12:00:00.000Z";

/// An open store with lockers in it.
pub(crate) struct Direct {
    store: Store,
    table: Arc<Schema>,
    versions: Versions,
}

impl Direct {
    pub(crate) fn open(directory: &Path, versions: Versions) -> Result<Direct> {
        let store = Store::open(directory, &Options::default())?;
        let table = Arc::clone(system()?.table());
        store.create_table(&table).wait()?;
        Ok(Direct { store, table, versions })
    }

    /// Changes a locker, as the contract does: a read, a decision, a transaction.
    async fn change(&self, at: u64) -> Result<()> {
        let change = self.versions.change(at)?;
        let got = self.store.get(&read(&self.table, &change))?;
        let item = got.item.ok_or("a locker is missing")?;
        self.store.transact(write(&self.table, &item, &change)?).await?;
        self.versions.changed(at)
    }
}

/// Loads the store, by as many tasks as there are clients.
pub(crate) fn run(runtime: &Runtime, direct: &Arc<Direct>, work: &Work) -> Result<Done> {
    runtime.block_on(async {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for client in 0..work.clients {
            let (direct, work) = (Arc::clone(direct), work.clone());
            tasks.spawn(async move {
                let mut latencies = Vec::new();
                let (mut now, end) = (Instant::now(), start + work.time);
                while now < end {
                    let pick = pick(work.seed, client, u64::try_from(latencies.len())?);
                    direct.change(work.lockers.own(pick, client, work.clients)).await?;
                    let answered = Instant::now();
                    latencies.push(answered - now);
                    now = answered;
                }
                Result::Ok(latencies)
            });
        }
        let mut latencies = Vec::new();
        while let Some(done) = tasks.join_next().await {
            latencies.extend(done??);
        }
        Ok(Done { time: start.elapsed(), latencies })
    })
}

fn read(table: &Arc<Schema>, change: &Change) -> Get {
    let key = Key::new(format!("LOCKER#{}", change.locker), "META");
    Get { table: Arc::clone(table), key, consistency: Consistency::Strong }
}

/// The locker and its owner's view of it.
fn write(table: &Arc<Schema>, item: &Item, change: &Change) -> Result<Transact> {
    let version = i64::try_from(change.version)?;
    let update = Update {
        table: Arc::clone(table),
        key: read(table, change).key,
        actions: vec![
            Action::set("status", change.status),
            Action::set("updatedAt", NOW),
            Action::increment("version", 1i64),
        ],
        condition: Some(Condition::And(vec![
            Condition::equals("entityType", "LOCKER"),
            Condition::equals("version", version),
            Condition::Absent(Attribute::attribute("LATCHKEY#MADE")),
        ])),
    };
    let owner = item.get("ownerId").and_then(Value::as_text).ok_or("a locker has no owner")?;
    let alias = item.get("lockerAlias").and_then(Value::as_text).ok_or("a locker has no alias")?;
    let mut view = item.clone();
    view.insert("aliasOrder", Text::from(format!("A{alias}")));
    view.insert("GSI1PK", Text::from(format!("OWNER#{owner}")));
    view.insert("GSI1SK", Text::from(format!("ALIAS#A{alias}")));
    view.insert("PK", Text::from(format!("OWNER#{owner}")));
    view.insert("SK", Text::from(format!("LOCKER#{}", change.locker)));
    view.insert("entityType", "OWNER_LOCKER");
    view.insert("status", change.status);
    view.insert("updatedAt", NOW);
    view.insert("version", version + 1);
    let condition = Some(Condition::Or(vec![
        Condition::Absent(Attribute::attribute("PK")),
        Condition::equals("entityType", "OWNER_LOCKER"),
    ]));
    let put = Put { table: Arc::clone(table), item: view, condition };
    Ok(Transact { legs: vec![Leg::Update(update), Leg::Put(put)] })
}

#[cfg(test)]
mod tests {
    use latchkey_runtime::{Call, Caller, Options as Settings, Runtime};
    use latchkey_table::Request;
    use latchkey_value::time;

    use super::super::lockers::{self, Lockers};
    use super::*;

    /// Both sides are to do the same work, or the comparison means nothing.
    #[tokio::test]
    async fn the_store_is_asked_what_the_contract_asks() {
        let directory = tempfile::tempdir().unwrap();
        let lockers = Lockers { read: 1 };
        lockers::load(directory.path(), lockers).await.unwrap();
        let store = Arc::new(Store::open(directory.path(), &Options::default()).unwrap());
        let backend = Arc::clone(&store);
        let runtime =
            Runtime::start(system().unwrap(), backend, Settings::default()).await.unwrap();

        let change = Versions::new(lockers).change(0).unwrap();
        let table = Arc::clone(runtime.system().table());
        let get = read(&table, &change);
        let item = store.get(&get).unwrap().item.unwrap();
        let expected =
            [Request::Get(get), Request::Transact(write(&table, &item, &change).unwrap())];

        let call = Call::new("QC-03", Caller::new("bench").role("operator"))
            .input("lockerId", change.locker.clone())
            .json("newStatus", change.status)
            .json("expectedVersion", i64::try_from(change.version).unwrap());
        let outcome = runtime.call(Call { trace: true, at: time::parse(NOW), ..call }).await;
        assert_eq!(outcome.status(), 200, "{}", outcome.body());
        let asked: Vec<_> = outcome.trace.into_iter().map(|step| step.request).collect();
        assert_eq!(asked, expected);
    }
}
