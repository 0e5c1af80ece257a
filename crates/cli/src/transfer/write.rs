//! Writes items into a table.

use std::sync::Arc;

use latchkey_table::{Backend, Error, Item, Schema};
use latchkey_value::limits::BATCH_ITEMS_MAX;
use tokio::task::JoinSet;

use super::lines::Entry;
use super::tables::Which;
use super::{Table, patience};

/// How much of the input one request to DynamoDB has, unless a single item is larger. A request times out after some
/// seconds, and a connection may be slow.
const REQUEST_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How many requests run at once.
const REQUESTS_MAX: usize = 16;

/// Why items were not all written.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The line of the refused item, if one item was refused.
    pub(crate) line: Option<u64>,
    pub(crate) error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused { line: None, error }
    }
}

impl Table {
    /// Writes items with different keys, and replaces existing ones. After an error, any of the items may be written.
    pub(crate) async fn write(&self, entries: Vec<Entry>) -> Result<(), Refused> {
        let mut requests: JoinSet<Result<(), Refused>> = JoinSet::new();
        for chunk in chunks(entries) {
            if requests.len() >= REQUESTS_MAX {
                joined(requests.join_next().await)?;
            }
            let which = chunk.first().map_or(Which::Main, |entry| entry.which);
            let (backend, schema) = (Arc::clone(&self.opened.backend), self.schema(which)?);
            requests.spawn(write_chunk(backend, schema, chunk));
        }
        while !requests.is_empty() {
            joined(requests.join_next().await)?;
        }
        Ok(())
    }
}

type Joined = Result<Result<(), Refused>, tokio::task::JoinError>;

fn joined(done: Option<Joined>) -> Result<(), Refused> {
    match done {
        None => Ok(()),
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(Error::Unavailable { reason: error.to_string() }.into()),
    }
}

/// The entries of each request, which is to one table.
fn chunks(entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let mut chunks: Vec<Vec<Entry>> = Vec::new();
    let mut bytes = 0usize;
    for entry in entries {
        bytes = bytes.saturating_add(entry.bytes);
        match chunks.last_mut() {
            Some(chunk)
                if chunk.len() < BATCH_ITEMS_MAX
                    && bytes <= REQUEST_BYTES_MAX
                    && chunk.iter().all(|other| other.which == entry.which) =>
            {
                chunk.push(entry);
            }
            _ => {
                bytes = entry.bytes;
                chunks.push(vec![entry]);
            }
        }
    }
    chunks
}

async fn write_chunk(
    backend: Arc<dyn Backend>,
    schema: Arc<Schema>,
    entries: Vec<Entry>,
) -> Result<(), Refused> {
    let items: Vec<Item> = entries.iter().map(|entry| entry.item.clone()).collect();
    match backend.put_all(&schema, items, patience()).await {
        Err(error @ Error::Invalid { leg: Some(at), .. }) => {
            return Err(Refused { line: entries.get(at).map(|entry| entry.line), error });
        }
        Err(Error::Invalid { .. }) => {}
        done => return Ok(done?),
    }
    // The service does not say which item it refuses. Sent one by one, the refused item is known.
    for entry in entries {
        let written = backend.put_all(&schema, vec![entry.item], patience()).await;
        let line = matches!(written, Err(Error::Invalid { .. })).then_some(entry.line);
        written.map_err(|error| Refused { line, error })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_bounded_by_items_and_bytes() {
        let entries = |sizes: &[usize]| {
            let entry = |bytes: &usize| Entry {
                item: Item::new(),
                which: Which::Main,
                line: 1,
                moved: false,
                bytes: *bytes,
            };
            sizes.iter().map(entry).collect::<Vec<_>>()
        };
        let lengths =
            |sizes: &[usize]| chunks(entries(sizes)).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[10; 60]), [25, 25, 10]);
        let half = REQUEST_BYTES_MAX / 2;
        assert_eq!(lengths(&[half, half, 1, 3 * half, 1, 1]), [2, 1, 1, 2]);
    }
}
