//! Many at once.

use std::sync::Arc;

use latchkey_table::{Action, Condition, Error, Leg, Put, Returning, Transact, Value};
use tokio::task::JoinSet;

use super::{Went, item, key, put, told, update};
use crate::backend::Backend;

/// How many write at once.
const WRITERS: i64 = 32;

/// How often each writes.
const ROUNDS: i64 = 5;

pub(super) async fn of_32_who_create_one_item_one_does(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let mut creating = JoinSet::new();
    for writer in 0..WRITERS {
        let made = item(&partition, "s", &[("by", writer.into())]);
        let other = item(&partition, &format!("of {writer}"), &[]);
        let condition = Some(Condition::Absent("PK".into()));
        let create = Put { condition, ..put(&backend, made) };
        let with = put(&backend, other);
        let backend = Arc::clone(&backend);
        creating.spawn(async move {
            // Every other one alone.
            if writer % 2 == 0 {
                return backend.put(create, Returning::Nothing).await.map(|_| writer);
            }
            let legs = vec![Leg::Put(with), Leg::Put(create)];
            backend.transact(Transact { legs }).await.map(|_| writer)
        });
    }
    let (mut created, mut refused) = (Vec::new(), 0);
    while let Some(answer) = creating.join_next().await {
        match answer.map_err(|error| error.to_string())? {
            Ok(writer) => created.push(writer),
            Err(Error::ConditionFailed(_)) => refused += 1,
            Err(error) => return Err(told(error)),
        }
    }
    same!((created.len(), refused), (1, WRITERS - 1));
    let by = created.first().copied().map(Value::from);
    let found = backend.item(key(&partition, "s")).await.map_err(told)?;
    same!(found.and_then(|found| found.get("by").cloned()), by);
    Ok(())
}

pub(super) async fn nothing_of_32_writers_is_lost(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let add = update(&backend, key(&partition, "s"), vec![Action::Add("n".into(), 1.into())]);
    let mut adding = JoinSet::new();
    for _ in 0..WRITERS {
        let (backend, add) = (Arc::clone(&backend), add.clone());
        adding.spawn(async move {
            for _ in 0..ROUNDS {
                backend.update(add.clone(), Returning::Nothing).await?;
            }
            Ok::<(), Error>(())
        });
    }
    while let Some(added) = adding.join_next().await {
        added.map_err(|error| error.to_string())?.map_err(told)?;
    }
    total(&backend, &partition, "s").await
}

/// A service may say that they are in each other's way; they are sent again, and none is done twice.
pub(super) async fn transactions_of_32_writers_are_all_done(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let add = |sort: &str| {
        let add = vec![Action::Add("n".into(), 1.into())];
        Leg::Update(update(&backend, key(&partition, sort), add))
    };
    let mut adding = JoinSet::new();
    for writer in 0..WRITERS {
        let mut legs = vec![add("a"), add("b")];
        if writer % 2 == 0 {
            legs.reverse();
        }
        let backend = Arc::clone(&backend);
        adding.spawn(async move {
            for _ in 0..ROUNDS {
                backend.transact(Transact { legs: legs.clone() }).await?;
            }
            Ok::<(), Error>(())
        });
    }
    while let Some(added) = adding.join_next().await {
        added.map_err(|error| error.to_string())?.map_err(told)?;
    }
    total(&backend, &partition, "a").await?;
    total(&backend, &partition, "b").await
}

async fn total(backend: &Backend, partition: &str, sort: &str) -> Went {
    let found = backend.item(key(partition, sort)).await.map_err(told)?;
    let found = found.and_then(|found| found.get("n").cloned());
    same!(found, Some(Value::from(WRITERS * ROUNDS)), "{sort}");
    Ok(())
}
