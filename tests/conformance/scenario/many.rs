//! Gets of several items.

use std::sync::Arc;

use latchkey_table::{
    Action, BatchGet, Consistency, Error, Item, Key, Leg, SnapshotGet, Transact, Value,
};
use tokio::task::JoinSet;

use super::{Went, invalid, item, key, sized, store, told, update};
use crate::backend::Backend;

fn batch(backend: &Backend, keys: Vec<Key>, consistency: Consistency) -> BatchGet {
    BatchGet { table: Arc::clone(&backend.table), keys, consistency }
}

fn snapshot(backend: &Backend, keys: Vec<Key>) -> SnapshotGet {
    SnapshotGet { table: Arc::clone(&backend.table), keys }
}

fn keys(partition: &str, sorts: &[&str]) -> Vec<Key> {
    sorts.iter().map(|sort| key(partition, sort)).collect()
}

/// Some items, keys in another order, and what those must be answered with.
async fn some(backend: &Backend) -> Result<(Vec<Key>, Vec<Option<Item>>), String> {
    let (here, there) = (backend.partition(), backend.partition());
    let a = item(&here, "a", &[("n", 1.into())]);
    let b = item(&here, "b", &[("t", "b".into())]);
    let other = item(&there, "a", &[]);
    for made in [&a, &b, &other] {
        store(backend, made.clone()).await?;
    }
    let mut asked = keys(&here, &["none", "b", "a"]);
    asked.insert(2, key(&there, "a"));
    Ok((asked, vec![None, Some(b), Some(other), Some(a)]))
}

pub(super) async fn a_batch_answers_in_the_order_of_its_keys(backend: Arc<Backend>) -> Went {
    let (mut keys, mut items) = some(&backend).await?;
    for _ in 0..2 {
        for consistency in [Consistency::Eventual, Consistency::Strong] {
            let got = backend.batch_get(&batch(&backend, keys.clone(), consistency)).await;
            same!(got.map_err(told)?.items, items);
        }
        keys.reverse();
        items.reverse();
    }
    Ok(())
}

pub(super) async fn a_snapshot_answers_in_the_order_of_its_keys(backend: Arc<Backend>) -> Went {
    let (mut keys, mut items) = some(&backend).await?;
    for _ in 0..2 {
        let got = backend.snapshot_get(&snapshot(&backend, keys.clone())).await;
        same!(got.map_err(told)?.items, items);
        keys.reverse();
        items.reverse();
    }
    Ok(())
}

/// One of two units, and two of one.
async fn of_four_units(backend: &Backend) -> Result<Vec<Key>, String> {
    let partition = backend.partition();
    for (sort, bytes) in [("small", 100), ("4 kb", 4096), ("more", 4097)] {
        store(backend, sized(&partition, sort, bytes)).await?;
    }
    Ok(keys(&partition, &["more", "small", "4 kb"]))
}

pub(super) async fn a_batch_costs_as_its_gets_do(backend: Arc<Backend>) -> Went {
    let keys = of_four_units(&backend).await?;
    for (consistency, halves) in [(Consistency::Eventual, 4), (Consistency::Strong, 8)] {
        let got = backend.batch_get(&batch(&backend, keys.clone(), consistency)).await;
        same!(got.map_err(told)?.capacity.read_halves, halves, "{consistency:?}");
    }
    Ok(())
}

pub(super) async fn what_is_not_there_costs_in_a_batch_too(backend: Arc<Backend>) -> Went {
    let mut keys = of_four_units(&backend).await?;
    keys.insert(1, key(&backend.partition(), "none"));
    for (consistency, halves) in [(Consistency::Eventual, 5), (Consistency::Strong, 10)] {
        let got = backend.batch_get(&batch(&backend, keys.clone(), consistency)).await;
        same!(got.map_err(told)?.capacity.read_halves, halves, "{consistency:?}");
    }
    Ok(())
}

pub(super) async fn a_snapshot_costs_twice(backend: Arc<Backend>) -> Went {
    let mut keys = of_four_units(&backend).await?;
    keys.insert(1, key(&backend.partition(), "none"));
    let got = backend.snapshot_get(&snapshot(&backend, keys)).await.map_err(told)?;
    same!(got.capacity.read_halves, 20);
    Ok(())
}

/// A hundred keys with an item under every third, and one more key.
async fn hundred(backend: &Backend) -> Result<(Vec<Key>, Key), String> {
    let partition = backend.partition();
    for n in (0..100).step_by(3) {
        store(backend, item(&partition, &format!("S{n}"), &[])).await?;
    }
    let keys = (0..100).map(|n| key(&partition, &format!("S{n}"))).collect();
    Ok((keys, key(&partition, "more")))
}

fn every_third(items: &[Option<Item>]) -> bool {
    let mut items = items.iter().enumerate();
    items.all(|(n, item)| item.is_some() == (n % 3 == 0))
}

pub(super) async fn a_batch_has_100_keys(backend: Arc<Backend>) -> Went {
    let (mut keys, more) = hundred(&backend).await?;
    let asked = batch(&backend, keys.clone(), Consistency::Strong);
    let got = backend.batch_get(&asked).await.map_err(told)?;
    same!((got.items.len(), every_third(&got.items)), (100, true));
    keys.push(more);
    let asked = batch(&backend, keys, Consistency::Strong);
    same!(invalid(backend.batch_get(&asked).await)?, None);
    same!(invalid(backend.batch_get(&BatchGet { keys: Vec::new(), ..asked }).await)?, None);
    Ok(())
}

pub(super) async fn a_snapshot_has_100_keys(backend: Arc<Backend>) -> Went {
    let (mut keys, more) = hundred(&backend).await?;
    let got = backend.snapshot_get(&snapshot(&backend, keys.clone())).await.map_err(told)?;
    same!((got.items.len(), every_third(&got.items)), (100, true));
    keys.push(more);
    same!(invalid(backend.snapshot_get(&snapshot(&backend, keys)).await)?, None);
    Ok(())
}

/// The service itself refuses the eleventh.
pub(super) async fn a_snapshot_of_11_keys_is_refused(backend: Arc<Backend>) -> Went {
    let (keys, _) = hundred(&backend).await?;
    let first = |count: usize| keys.iter().take(count).cloned().collect();
    let got = backend.snapshot_get(&snapshot(&backend, first(10))).await.map_err(told)?;
    same!((got.items.len(), every_third(&got.items)), (10, true));
    for count in [11, 25, 26, 100] {
        let asked = snapshot(&backend, first(count));
        same!(invalid(backend.snapshot_get(&asked).await)?, None, "{count} keys");
    }
    Ok(())
}

/// Items of nearly 400 KB each.
async fn large(backend: &Backend, count: usize) -> Result<Vec<Key>, String> {
    let partition = backend.partition();
    let mut keys = Vec::new();
    for n in 0..count {
        let sort = format!("S{n}");
        store(backend, sized(&partition, &sort, 400_000)).await?;
        keys.push(key(&partition, &sort));
    }
    Ok(keys)
}

/// A service answers 16 MB at once, and leaves the rest unread.
pub(super) async fn a_batch_reads_more_than_16_mb(backend: Arc<Backend>) -> Went {
    let keys = large(&backend, 45).await?;
    let asked = batch(&backend, keys.clone(), Consistency::Eventual);
    let got = backend.batch_get(&asked).await.map_err(told)?;
    let found = got.items.iter().map(|item| item.as_ref().and_then(|i| backend.table.key.of(i)));
    same!(found.collect::<Option<Vec<Key>>>(), Some(keys));
    // 98 units of 4 KB each.
    same!(got.capacity.read_halves, 45 * 98);
    Ok(())
}

pub(super) async fn a_snapshot_has_up_to_4_mb(backend: Arc<Backend>) -> Went {
    let keys = large(&backend, 10).await?;
    let got = backend.snapshot_get(&snapshot(&backend, keys.clone())).await.map_err(told)?;
    same!(got.items.iter().flatten().count(), 10);
    Ok(())
}

pub(super) async fn no_key_is_asked_for_twice(backend: Arc<Backend>) -> Went {
    let keys = keys("p", &["a", "b", "a"]);
    let asked = batch(&backend, keys.clone(), Consistency::Eventual);
    same!(invalid(backend.batch_get(&asked).await)?, None);
    same!(invalid(backend.snapshot_get(&snapshot(&backend, keys)).await)?, None);
    Ok(())
}

pub(super) async fn a_snapshot_sees_a_transaction_whole_or_not_at_all(
    backend: Arc<Backend>,
) -> Went {
    let partition = backend.partition();
    let add = |sort: &str| {
        let add = vec![Action::Add("n".into(), 1.into())];
        Leg::Update(update(&backend, key(&partition, sort), add))
    };
    let legs = vec![add("a"), add("b")];
    backend.transact(Transact { legs: legs.clone() }).await.map_err(told)?;
    let mut writing = JoinSet::new();
    for _ in 0..4 {
        let (backend, legs) = (Arc::clone(&backend), legs.clone());
        writing.spawn(async move {
            for _ in 0..20 {
                backend.transact(Transact { legs: legs.clone() }).await?;
            }
            Ok::<(), Error>(())
        });
    }
    let asked = snapshot(&backend, keys(&partition, &["a", "b"]));
    for _ in 0..50 {
        let got = backend.snapshot_get(&asked).await.map_err(told)?;
        let counts: Vec<Option<&Value>> =
            got.items.iter().map(|item| item.as_ref().and_then(|item| item.get("n"))).collect();
        same!((counts.len(), counts.first() == counts.last()), (2, true), "{counts:?}");
    }
    while let Some(written) = writing.join_next().await {
        written.map_err(|error| error.to_string())?.map_err(told)?;
    }
    Ok(())
}
