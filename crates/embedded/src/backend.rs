//! The store as a [`Backend`]. It ignores deadlines: its reads wait for nothing, and its writes are refused or carried
//! out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_table::{
    Answer, Answering, Backend, Error, Invalid, Item, Need, PrepareError, Put, ReadOnly, Request,
    Returning, Scan, Scanned, Schema, Tables, Text,
};
use latchkey_value::limits::BATCH_ITEMS_MAX;

use crate::pending::Pending;
use crate::store::Store;

impl Backend for Store {
    fn execute(&self, request: Request, _: Instant) -> Answering<'_, Result<Answer, Error>> {
        Answering::ready(match request {
            Request::Get(get) => self.get(&get).map(Answer::Got),
            Request::BatchGet(get) => self.batch_get(&get).map(Answer::GotMany),
            Request::SnapshotGet(get) => self.snapshot_get(&get).map(Answer::GotMany),
            Request::Query(query) => self.query(&query).map(Answer::Page),
            Request::IndexScan(scan) => self.scan_index(&scan).map(Answer::Page),
            Request::Put(put, returning) => return written(self.put(put, returning)),
            Request::Update(update, returning) => return written(self.update(update, returning)),
            Request::Delete(delete, returning) => return written(self.delete(delete, returning)),
            Request::Transact(transact) => return written(self.transact(transact)),
        })
    }

    // Every read sees what was written before it.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    fn tells_absence(&self) -> bool {
        true
    }

    // One process has the directory.
    fn has_all_writers(&self) -> bool {
        true
    }

    fn takes_writes(&self) -> Result<(), ReadOnly> {
        Store::takes_writes(self)
    }

    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>> {
        if need == Need::Read {
            let look = Scan {
                table: Arc::clone(&tables.main),
                partition_prefix: Text::default(),
                after: None,
                items_max: 1,
            };
            match self.scan(&look) {
                // The document has changed, so the tables get new indexes, and there may be one more of them.
                Ok(_) | Err(Error::Invalid { reason: Invalid::OtherSchema { .. }, .. }) => {}
                Err(error) => return Answering::ready(Err(error.into())),
            }
        }
        // First, for an index may be new that could not hold what is moved.
        let gathered = self.gather(tables);
        let made: Vec<_> = tables.all().map(|table| self.create_table(table)).collect();
        Answering::waiting(async {
            gathered.await?;
            for made in made {
                made.await?;
            }
            Ok(())
        })
    }

    fn scan(&self, scan: Scan, _: Instant) -> Answering<'_, Result<Scanned, Error>> {
        Answering::ready(Store::scan(self, &scan))
    }

    fn put_all<'a>(
        &'a self,
        table: &'a Arc<Schema>,
        items: Vec<Item>,
        _: Instant,
    ) -> Answering<'a, Result<(), Error>> {
        if items.len() > BATCH_ITEMS_MAX {
            return Answering::ready(Err(Invalid::BatchItems { count: items.len() }.into()));
        }
        // All writes are queued before the first is awaited, so that they share commits.
        let put = |item| {
            let put = Put { table: Arc::clone(table), item, condition: None };
            self.put(put, Returning::Nothing)
        };
        let pending: Vec<_> = items.into_iter().map(put).collect();
        Answering::waiting(async {
            for (at, pending) in pending.into_iter().enumerate() {
                pending.await.map_err(|error| error.of_leg(at))?;
            }
            Ok(())
        })
    }
}

fn written<T>(pending: Pending<T>) -> Answering<'static, Result<Answer, Error>>
where
    T: Into<Answer> + 'static,
{
    Answering::waiting(async { pending.await.map(Into::into) })
}
