//! What export and import share.

pub(crate) mod lines;
pub(crate) mod mark;
pub(crate) mod meter;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_runtime::{StartError, System};
use latchkey_table::{
    Consistency, Error, Get, Got, Key, Need, PrepareError, Scan, Scanned, Schema, Text,
};

use crate::arguments::Storage;
use crate::document;
use crate::storage::Opened;
use crate::{Failure, wide};

/// How long a command waits for a service that throttles every request.
const WAIT_TIME_MAX: Duration = Duration::from_secs(5 * 60);

/// The arguments that say which table is moved.
pub(crate) struct TableChoice<'a> {
    pub(crate) documents: &'a [PathBuf],
    /// The system, when there are several.
    pub(crate) system: Option<&'a str>,
    pub(crate) storage: &'a Storage,
    pub(crate) data: &'a Path,
}

impl TableChoice<'_> {
    /// The system whose table is moved, on its table.
    pub(crate) fn system(&self, colour: bool) -> Result<System, Failure> {
        let systems = document::systems(&document::all(self.documents)?, colour)?;
        let names = systems.iter().map(System::name).collect::<Vec<_>>().join(", ");
        let alone = systems.len() == 1;
        let chosen = match self.system {
            Some(name) => systems.into_iter().find(|system| system.name() == name),
            None => systems.into_iter().next().filter(|_| alone),
        };
        let Some(chosen) = chosen else {
            return Err(Failure::Unusable(match self.system {
                Some(name) => format!("there is no system `{name}`; there are: {names}"),
                None => format!("one table at a time: choose one of {names} by `--system NAME`"),
            }));
        };
        let placed = self.storage.place(vec![chosen])?;
        placed.into_iter().next().ok_or_else(|| Failure::unusable("the system has no table"))
    }
}

/// A path with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A table to read or to fill.
pub(crate) struct Table {
    opened: Opened,
    schema: Arc<Schema>,
    /// Which table it is, for people.
    pub(crate) shown: String,
    /// The identity of the table. Another table, or the same one after it was made again, has another identity, where
    /// the service shows that.
    pub(crate) identity: String,
    /// About how many items it has, if the service says so.
    items_about: Option<u64>,
}

impl Table {
    /// An existing table.
    pub(crate) async fn to_read(told: &TableChoice<'_>, system: &System) -> Result<Table, Failure> {
        // Opening a store makes it; an export must not.
        if !told.storage.dynamodb && !told.data.is_dir() {
            return Err(Failure::Unusable(format!(
                "there is no data directory `{}`; name the one that is served, by `--data DIR`",
                told.data.display()
            )));
        }
        Table::open(told, system, Need::Read).await
    }

    /// A table that fits the document. A table on this machine is made.
    pub(crate) async fn to_fill(told: &TableChoice<'_>, system: &System) -> Result<Table, Failure> {
        Table::open(told, system, Need::Write).await
    }

    async fn open(told: &TableChoice<'_>, system: &System, need: Need) -> Result<Table, Failure> {
        let data = told.data;
        let schema = Arc::clone(system.table());
        let opened = told.storage.open(data).await?;
        let name = &schema.name;
        opened.backend.prepare(&schema, need).await.map_err(|error| match error {
            PrepareError::Store(Error::NoTable { name }) => Failure::Unusable(format!(
                "there is no table `{name}` in `{}`; has it been served from there?",
                data.display()
            )),
            error => {
                let error = StartError::Table(error);
                told.storage.refused(&error, told.documents, system.name(), name)
            }
        })?;
        let about = opened.backend.about(&schema).await;
        let (shown, identity) = match opened.local {
            Some(_) => {
                let shown = format!("table `{name}` in `{}`", data.display());
                let data = data.canonicalize().map_err(Failure::unusable)?;
                (shown, format!("{name} in {}", data.display()))
            }
            None => {
                let store = told.storage.remote.told();
                let identity = format!("{name} of {store} {}", about.identity);
                (format!("table `{name}` of {store}"), identity)
            }
        };
        Ok(Table { opened, schema, shown, identity, items_about: about.items })
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The next items after a key.
    pub(crate) async fn read(&self, after: Option<&Key>) -> Result<Scanned, Error> {
        self.scan(after, Scan::ITEMS_MAX).await
    }

    async fn scan(&self, after: Option<&Key>, items_max: usize) -> Result<Scanned, Error> {
        let scan = Scan {
            table: Arc::clone(&self.schema),
            partition_prefix: Text::default(),
            after: after.cloned(),
            items_max,
        };
        self.opened.backend.scan(scan, patience()).await
    }

    /// Whether the table is empty.
    pub(crate) async fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.scan(None, 1).await?.items.is_empty())
    }

    /// Whether an item is there.
    pub(crate) async fn has(&self, key: &Key) -> Result<bool, Error> {
        let (table, key) = (Arc::clone(&self.schema), key.clone());
        let get = Get { table, key, consistency: Consistency::Strong };
        let got: Got = self.opened.backend.ask(get, patience()).await?;
        Ok(got.item.is_some())
    }

    /// About how many items the table has.
    pub(crate) async fn count(&self) -> Result<Option<u64>, Error> {
        if self.opened.local.is_none() {
            return Ok(self.items_about.filter(|count| *count > 0));
        }
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.read(after.as_ref()).await?;
            count += wide(page.items.len());
            match page.resume {
                Some(resume) => after = Some(resume),
                None => return Ok(Some(count)),
            }
        }
    }
}

fn patience() -> Instant {
    Instant::now() + WAIT_TIME_MAX
}
