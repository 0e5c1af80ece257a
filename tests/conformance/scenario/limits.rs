//! At each limit, and one beyond. What is beyond is refused before it is sent: the service is not asked.

use std::sync::Arc;

use latchkey_table::{Action, Check, Condition, Expression, Leg, Path, Put, Returning, Transact};
use latchkey_value::limits::{ITEM_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

use super::{Went, failed, invalid, item, key, put, query, sized, store, told, update};
use crate::backend::Backend;

pub(super) async fn an_item_has_up_to_400_kb(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let largest = sized(&partition, "s", ITEM_BYTES_MAX);
    same!(store(&backend, largest.clone()).await?, 400);
    same!(backend.item(key(&partition, "s")).await.map_err(told)?, Some(largest));
    let larger = put(&backend, sized(&partition, "s", ITEM_BYTES_MAX + 1));
    same!(invalid(backend.put(larger, Returning::Nothing).await)?, None);
    Ok(())
}

pub(super) async fn an_update_cannot_make_an_item_too_large(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, sized(&partition, "s", ITEM_BYTES_MAX - 10)).await?;
    let grow = |by: usize| {
        let set = vec![Action::set("m", "x".repeat(by - 1).as_str())];
        update(&backend, key(&partition, "s"), set)
    };
    same!(invalid(backend.update(grow(11), Returning::Nothing).await)?, None);
    let legs = vec![Leg::Put(put(&backend, item(&partition, "other", &[]))), Leg::Update(grow(11))];
    same!(invalid(backend.transact(Transact { legs }).await)?, Some(1));
    backend.update(grow(10), Returning::Nothing).await.map_err(told)?;
    Ok(())
}

pub(super) async fn keys_have_up_to_2048_and_1024_bytes(backend: Arc<Backend>) -> Went {
    let start = backend.partition();
    let partition = format!("{start}{}", "p".repeat(PARTITION_KEY_BYTES_MAX - start.len()));
    let sort = "s".repeat(SORT_KEY_BYTES_MAX);
    let index = [("GSI1PK", partition.as_str().into()), ("GSI1SK", sort.as_str().into())];
    let made = item(&partition, &sort, &index);
    store(&backend, made.clone()).await?;
    for index in [None, Some("GSI1")] {
        let page = backend.query(&query(&backend, index, &partition)).await.map_err(told)?;
        same!(page.items, vec![made.clone()], "{index:?}");
    }
    Ok(())
}

pub(super) async fn an_update_keeps_to_the_length_of_an_index_key(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for (name, most) in [("GSI1PK", PARTITION_KEY_BYTES_MAX), ("GSI1SK", SORT_KEY_BYTES_MAX)] {
        let text = "x".repeat(most + 1);
        store(&backend, item(&partition, "s", &[("long", text.as_str().into())])).await?;
        let set = |value: Expression| {
            let set = vec![Action::Set(name.into(), value)];
            backend.update(update(&backend, key(&partition, "s"), set), Returning::Nothing)
        };
        set("x".repeat(most).as_str().into()).await.map_err(told)?;
        same!(invalid(set(text.as_str().into()).await)?, None, "{name}");
        same!(invalid(set(Expression::Path("long".into())).await)?, None, "{name}");
    }
    Ok(())
}

pub(super) async fn a_transaction_has_10_legs(backend: Arc<Backend>) -> Went {
    many(&backend, 10).await
}

pub(super) async fn a_transaction_has_11_legs(backend: Arc<Backend>) -> Went {
    many(&backend, 11).await
}

/// The service itself refuses the eleventh, and does nothing.
pub(super) async fn eleven_legs_are_refused(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let leg = |n: usize| Leg::Put(put(&backend, item(&partition, &format!("S{n:03}"), &[])));
    for count in [11, 25, 26, 100] {
        let legs = (0..count).map(leg).collect();
        same!(invalid(backend.transact(Transact { legs }).await)?, None, "{count} legs");
    }
    let page = backend.query(&query(&backend, None, &partition)).await.map_err(told)?;
    same!(page.items, Vec::new());
    Ok(())
}

pub(super) async fn a_transaction_has_100_legs(backend: Arc<Backend>) -> Went {
    many(&backend, 100).await?;
    let legs = vec![Leg::Put(put(&backend, item("p", "s", &[]))); 101];
    same!(invalid(backend.transact(Transact { legs }).await)?, None);
    Ok(())
}

/// A transaction of so many legs, refused by its last, and then not.
async fn many(backend: &Backend, count: usize) -> Went {
    let partition = backend.partition();
    let leg = |n: usize| {
        let made = item(&partition, &format!("S{n:03}"), &[]);
        let condition = Some(Condition::Absent("PK".into()));
        Leg::Put(Put { condition, ..put(backend, made) })
    };
    let legs: Vec<_> = (0..count).map(leg).collect();
    store(backend, item(&partition, &format!("S{:03}", count - 1), &[])).await?;
    let refused = failed(backend.transact(Transact { legs: legs.clone() }).await)?;
    same!(refused.leg, count - 1);
    let mut legs = legs;
    legs.pop();
    backend.transact(Transact { legs }).await.map_err(told)?;
    let page = backend.query(&query(backend, None, &partition)).await.map_err(told)?;
    same!(page.items.len(), count);
    Ok(())
}

pub(super) async fn an_expression_has_up_to_4_kb(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    // `REMOVE #n0, #n1` …: 7 bytes before the first, and 2 between two.
    let removing = |last: &str| {
        let count = (4096 - 7 - 10 * 5 - 90 * 6) / 7 + 100;
        let mut actions: Vec<_> =
            (0..count - 1).map(|n| Action::Remove(format!("a{n}").as_str().into())).collect();
        actions.push(Action::Remove(Path::from(last)));
        (count, update(&backend, key(&partition, "s"), actions))
    };
    let (count, most) = removing("last");
    same!(count > 500, true, "{count}");
    backend.update(most, Returning::Nothing).await.map_err(told)?;
    let (_, mut more) = removing("last");
    more.actions.extend((0..3).map(|n| Action::Remove(format!("b{n}").as_str().into())));
    same!(invalid(backend.update(more, Returning::Nothing).await)?, None);
    Ok(())
}

pub(super) async fn a_condition_has_up_to_300_operators(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, item(&partition, "s", &[])).await?;
    let checked = |count: usize| {
        // One function each, and one `AND` between two.
        let all = vec![Condition::Exists("PK".into()); count];
        let (table, key) = (Arc::clone(&backend.table), key(&partition, "s"));
        Transact { legs: vec![Leg::Check(Check { table, key, condition: Condition::And(all) })] }
    };
    backend.transact(checked(150)).await.map_err(told)?;
    same!(invalid(backend.transact(checked(151)).await)?, Some(0));
    Ok(())
}
