//! Ids for requests that bring none.

use std::sync::atomic::{AtomicU64, Ordering};

use latchkey_table::Text;

/// Makes ids of a random prefix for the process and a count.
#[derive(Debug)]
pub(super) struct RequestIds {
    process: u32,
    count: AtomicU64,
}

impl RequestIds {
    pub(super) fn new() -> RequestIds {
        let mut bytes = [0; 4];
        // Without random bytes the prefix is zero: two processes may then give two requests the same id.
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::warn!(%error, "request ids begin with 00000000");
        }
        RequestIds { process: u32::from_le_bytes(bytes), count: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> Text {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        compact_str::format_compact!("{:08x}-{count:06x}", self.process)
    }
}
