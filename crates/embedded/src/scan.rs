//! Reads a table in the order of its keys, for upkeep and export. No contract scans.

use latchkey_table::{Error, Scan, Scanned};

use crate::read::{Reading, decode, unavailable};
use crate::writer::Seen;

impl Seen {
    pub(crate) fn scan(&self, request: &Scan) -> Result<Scanned, Error> {
        request.validate()?;
        let entry = self.catalog.find(&request.table)?;
        let mut range = entry.space.partitions(&request.partition_prefix);
        if let Some(after) = &request.after {
            range.start = entry.space.item_key(after);
            range.start.push(0);
        }
        let mut reading = Reading::new(request.items_max);
        self.snapshot
            .walk(&range, false, |key, bytes| {
                reading.add(decode(entry, key, bytes, reading.items.last())?, None)
            })
            .map_err(unavailable)?;
        let resume = match reading.items.last() {
            Some(last) if reading.cut => Some(request.table.key_of(last)?),
            _ => None,
        };
        Ok(Scanned { items: reading.items, resume })
    }
}
