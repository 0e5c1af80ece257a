//! Conditions on the end of an item, as contracts set them: an item that has ended is absent.

use std::sync::Arc;

use latchkey_table::{
    Action, Comparator, Condition, Delete, Item, Leg, Operand, Put, Returning, Transact, Update,
    Value,
};

use super::{Went, failed, item, key, put, store, told, update};
use crate::backend::Backend;

const NOW: &str = "2026-02-25T10:00:00.000Z";

/// Ends, and whether each is past.
const ENDS: [(&str, bool); 4] = [
    ("2026-02-25T09:59:59.999Z", true),
    (NOW, true),
    ("2026-02-25T10:00:00.001Z", false),
    ("2027-01-01T00:00:00.000Z", false),
];

fn compared(by: Comparator) -> Condition {
    Condition::Compare(Operand::Path("endsAt".into()), by, Operand::Value(NOW.into()))
}

/// What `if absent` asks of an entity that ends.
fn free() -> Condition {
    Condition::Or(vec![Condition::Absent("PK".into()), compared(Comparator::LessOrEqual)])
}

/// What every other condition asks beside its own.
fn there(own: Condition) -> Condition {
    let ahead = compared(Comparator::Greater);
    Condition::And(vec![own, Condition::Or(vec![Condition::Absent("endsAt".into()), ahead])])
}

fn ending(partition: &str, end: &str) -> Item {
    item(partition, "s", &[("endsAt", end.into()), ("n", 1.into())])
}

pub(super) async fn an_item_that_has_ended_gives_way(backend: Arc<Backend>) -> Went {
    for (end, past) in ENDS {
        let partition = backend.partition();
        let new = item(&partition, "s", &[("endsAt", "2026-03-01T00:00:00.000Z".into())]);
        let taken = Put { condition: Some(free()), ..put(&backend, new.clone()) };
        store(&backend, ending(&partition, end)).await?;
        let went = backend.put(taken.clone(), Returning::Nothing).await;
        let expected = match past {
            true => went.map(|_| new.clone()).map_err(told)?,
            false => {
                failed(went)?;
                ending(&partition, end)
            }
        };
        same!(backend.item(key(&partition, "s")).await.map_err(told)?, Some(expected), "{end}");
        // The same in a transaction, whose refusal tells the item.
        store(&backend, ending(&partition, end)).await?;
        let went = backend.transact(Transact { legs: vec![Leg::Put(taken)] }).await;
        match past {
            true => same!(went.map(|_| ()), Ok(()), "{end}"),
            false => same!(failed(went)?.item, Some(ending(&partition, end)), "{end}"),
        }
    }
    Ok(())
}

pub(super) async fn an_item_that_has_ended_meets_no_condition(backend: Arc<Backend>) -> Went {
    for (end, past) in ENDS {
        let partition = backend.partition();
        store(&backend, ending(&partition, end)).await?;
        let condition = Some(there(Condition::equals("n", 1)));
        let touch = update(&backend, key(&partition, "s"), vec![Action::set("n", 1)]);
        let touch = Update { condition: condition.clone(), ..touch };
        let went = backend.update(touch, Returning::New).await;
        same!(went.is_ok(), !past, "{end}: {went:?}");
        let (table, key) = (Arc::clone(&backend.table), key(&partition, "s"));
        let delete = Delete { table, key: key.clone(), condition };
        match backend.delete(delete, Returning::Old).await {
            Ok(wrote) if !past => same!(wrote.item, Some(ending(&partition, end))),
            went => drop(failed(went)?),
        }
        same!(backend.item(key).await.map_err(told)?.is_some(), past, "{end}");
    }
    Ok(())
}

pub(super) async fn an_item_without_an_end_stays(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let kept = item(&partition, "s", &[("n", Value::from(1))]);
    store(&backend, kept.clone()).await?;
    let taken = Put { condition: Some(free()), ..put(&backend, ending(&partition, NOW)) };
    failed(backend.put(taken, Returning::Nothing).await)?;
    let touch = update(&backend, key(&partition, "s"), vec![Action::set("n", 1)]);
    let touch = Update { condition: Some(there(Condition::equals("n", 1))), ..touch };
    same!(backend.update(touch, Returning::New).await.map_err(told)?.item, Some(kept));
    Ok(())
}
