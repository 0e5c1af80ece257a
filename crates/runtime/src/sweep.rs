//! Removes what is over from the embedded store: items that have ended, the records of calls, and dead letters. DynamoDB
//! removes it by itself.

use std::sync::Arc;

use latchkey_queue::dead;
use latchkey_table::{
    Backend, Comparator, Condition, Delete, Error, Item, Key, Operand, Path, Request, Returning,
    Scan, Schema, Text, Value, holds,
};
use latchkey_value::limits::ENDED_SECONDS_KEPT;
use tokio::time::Instant;

use crate::call::CALL_TIME_MAX;
use crate::expiry::over;
use crate::idempotency::PARTITION;
use crate::plan::{Entity, Part, System};
use crate::time;

/// How many items one step looks at.
const STEP_ITEMS: usize = 500;

/// How many items are removed together. Other writes wait for them, so they are few.
const TOGETHER: usize = 100;

/// What a step of a sweep did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// How many items were over and are gone.
    pub removed: usize,
    /// Where to go on; nothing at the end.
    pub after: Option<Place>,
}

/// A place in a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which of the system's ranges of partitions.
    range: usize,
    /// The last item that was looked at in it.
    after: Option<Key>,
}

/// Looks at some of the items of a system that may be over, and removes those that have been for five minutes.
pub async fn sweep(
    backend: &dyn Backend,
    system: &System,
    from: Option<Place>,
    now: i64,
) -> Result<Swept, Error> {
    let due = now.div_euclid(1000).saturating_sub(ENDED_SECONDS_KEPT);
    let Place { range, after } = from.unwrap_or(Place { range: 0, after: None });
    let ranges = ranges(system);
    let Some((table, prefix)) = ranges.get(range) else {
        return Ok(Swept { removed: 0, after: None });
    };
    let scan = Scan {
        table: Arc::clone(table),
        partition_prefix: prefix.clone(),
        after,
        items_max: STEP_ITEMS,
    };
    let scanned = backend.scan(scan, deadline()).await?;
    let mut deletes = Vec::new();
    for item in &scanned.items {
        let Some(condition) = over_by(system, item, due) else { continue };
        if holds(&condition, Some(item)) {
            // It may have been written anew since it was read.
            let condition = Some(condition);
            let key = table.key_of(item)?;
            deletes.push(Delete { table: Arc::clone(table), key, condition });
        }
    }
    let mut removed = 0;
    for some in deletes.chunks(TOGETHER) {
        removed += remove(backend, some).await?;
    }
    let next = match scanned.resume {
        Some(after) => Some(Place { range, after: Some(after) }),
        None => Some(Place { range: range + 1, after: None }),
    };
    Ok(Swept { removed, after: next.filter(|next| next.range < ranges.len()) })
}

/// Removes items, all with one sync, and says how many were still over.
async fn remove(backend: &dyn Backend, deletes: &[Delete]) -> Result<usize, Error> {
    let request = |delete: &Delete| Request::Delete(delete.clone(), Returning::Nothing);
    // All are handed in before the first is awaited: the store commits them together.
    let all: Vec<_> =
        deletes.iter().map(|delete| backend.execute(request(delete), deadline())).collect();
    let mut removed = 0;
    for answering in all {
        match answering.await {
            Ok(_) => removed += 1,
            Err(Error::ConditionFailed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

fn deadline() -> std::time::Instant {
    (Instant::now() + CALL_TIME_MAX).into_std()
}

/// What says that an item is over since some second. Nothing of an item that has no end: one of an entity whose items do
/// not end, or of another program, whatever it has under the name of the attribute.
fn over_by(system: &System, item: &Item, due: i64) -> Option<Condition> {
    let second = over(&system.ttl, due.into());
    let partition = item.get(&system.own_table.key.partition.name).and_then(Value::as_text);
    if partition.is_some_and(|partition| {
        partition.starts_with(PARTITION) || partition.starts_with(dead::PARTITION)
    }) {
        return Some(second);
    }
    let is_own = |entity: &&Entity| entity.is_type_of(&system.discriminator, item);
    let entity = system.entities.iter().find(is_own)?;
    let end = entity.end.as_ref()?;
    let instant = time::format(due.checked_mul(1000)?)?;
    let kind = Path::attribute(system.discriminator.clone());
    let kind = Operand::Path(kind);
    let of_entity =
        Condition::Compare(kind, Comparator::Equal, Operand::Value(entity.kind.clone()));
    Some(Condition::And(vec![of_entity, second, end.is_over(Value::Text(instant))]))
}

/// Where items can be over: the table, and how their partitions begin. Those of the records of calls, of dead letters,
/// and of the entities whose items end.
fn ranges(system: &System) -> Vec<(&Arc<Schema>, Text)> {
    let ending = system.entities.iter().filter(|entity| entity.end.is_some());
    let begins = ending.map(|entity| match entity.key.partition.first() {
        Some(Part::Literal(text)) => text.clone(),
        Some(Part::Attribute(..)) | None => Text::default(),
    });
    let mut begins: Vec<Text> = begins.collect();
    begins.sort_unstable();
    // None begins as another does.
    begins.dedup_by(|next, kept| next.starts_with(kept.as_str()));
    let own = |begin| (&system.own_table, Text::const_new(begin));
    let letters = (!system.queues.is_empty()).then(|| own(dead::PARTITION));
    let begins = begins.into_iter().map(|begin| (&system.table, begin));
    begins.chain(letters).chain([own(PARTITION)]).collect()
}
