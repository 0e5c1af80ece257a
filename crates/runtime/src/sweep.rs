//! Removes what is over from the embedded store. DynamoDB does so by itself.

use std::sync::Arc;

use latchkey_embedded::{Scan, Store};
use latchkey_table::{Delete, Error, Key, Returning, Text, Value};

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
    store: &Arc<Store>,
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
    let scanned = store.scan(&scan)?;
    let mut removed = 0;
    for item in &scanned.items {
        let expires = item.get(EXPIRES).and_then(Value::as_number).and_then(|n| n.to_i64());
        let Some(key) = system.table.key.of(item) else { continue };
        if expires.is_none_or(|expires| expires > now_seconds) {
            continue;
        }
        // It may have been written anew since it was read.
        let condition = Some(expired(now_seconds));
        let delete = Delete { table: system.table.clone(), key, condition };
        match store.delete(delete, Returning::Nothing).await {
            Ok(_) => removed += 1,
            Err(Error::ConditionFailed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Swept { removed, after: scanned.resume })
}
