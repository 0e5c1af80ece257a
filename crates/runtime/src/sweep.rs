//! Removes what is over from the embedded store. DynamoDB removes it by itself.

use latchkey_table::{Backend, Delete, Error, Key, Scan, Text, Value, Wrote};
use tokio::time::Instant;

use crate::call::CALL_TIME_MAX;
use crate::idempotency::{EXPIRES, PARTITION, expired};
use crate::plan::System;

/// How many records one step looks at.
const STEP_ITEMS: usize = 500;

/// What a step of a sweep did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// How many records were over and are gone.
    pub removed: usize,
    /// Where to go on; nothing at the end.
    pub after: Option<Key>,
}

/// Looks at some of the records of a system's calls, and removes those that are over.
pub async fn sweep(
    backend: &dyn Backend,
    system: &System,
    after: Option<Key>,
    now: i64,
) -> Result<Swept, Error> {
    let now_seconds = now.div_euclid(1000);
    let scan = Scan {
        table: system.table.clone(),
        partition_prefix: Text::const_new(PARTITION),
        after,
        items_max: STEP_ITEMS,
    };
    let deadline = || (Instant::now() + CALL_TIME_MAX).into_std();
    let scanned = backend.scan(scan, deadline()).await?;
    let mut removed = 0;
    for item in &scanned.items {
        let expires = item.get(EXPIRES).and_then(Value::as_number).and_then(|n| n.to_i64());
        if expires.is_none_or(|expires| expires > now_seconds) {
            continue;
        }
        // It may have been written anew since it was read.
        let condition = Some(expired(now_seconds.into()));
        let key = system.table.key_of(item)?;
        let delete = Delete { table: system.table.clone(), key, condition };
        match backend.ask::<Wrote>(delete, deadline()).await {
            Ok(_) => removed += 1,
            Err(Error::ConditionFailed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Swept { removed, after: scanned.resume })
}
