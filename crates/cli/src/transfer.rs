//! What export and import share.

pub(crate) mod lines;
pub(crate) mod mark;
pub(crate) mod meter;
pub(crate) mod pages;
pub(crate) mod part;
pub(crate) mod tables;
pub(crate) mod tally;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_runtime::{StartError, System};
use latchkey_table::{
    Consistency, Error, Get, Got, Item, Key, Need, PrepareError, Scan, Scanned, Schema, Text,
};

use self::tables::{Schemas, Which};
use crate::arguments::TableChoice;
use crate::document;
use crate::storage::Opened;
use crate::{Failure, wide};

/// How long a command waits for a service that throttles every request.
const WAIT_TIME_MAX: Duration = Duration::from_secs(5 * 60);

impl TableChoice {
    /// The system whose table is moved, on its table.
    pub(crate) fn system(&self, colour: bool) -> Result<System, Failure> {
        let systems = document::systems(&document::all(&self.documents)?, colour)?;
        let names = systems.iter().map(System::name).collect::<Vec<_>>().join(", ");
        let alone = systems.len() == 1;
        let chosen = match &self.system {
            Some(name) => systems.into_iter().find(|system| system.name() == name),
            None => systems.into_iter().next().filter(|_| alone),
        };
        let Some(chosen) = chosen else {
            return Err(Failure::Unusable(match &self.system {
                Some(name) => format!("there is no system `{name}`; there are: {names}"),
                None => format!("one table at a time: choose one of {names} by `--system NAME`"),
            }));
        };
        let placed = self.storage.place(vec![chosen])?;
        placed.into_iter().next().ok_or_else(|| Failure::unusable("the system has no table"))
    }

    /// Refuses a data directory that is not there: opening a store makes it, and reading it must not.
    fn refuse_missing(&self) -> Result<(), Failure> {
        if self.storage.dynamodb || self.data.is_dir() {
            return Ok(());
        }
        Err(Failure::Unusable(format!(
            "there is no data directory `{}`; name the one that is served, by `--data DIR`",
            self.data.display()
        )))
    }

    /// Opens the table to read it, and does something with it.
    pub(crate) fn read(
        &self,
        colour: bool,
        act: impl AsyncFnOnce(Table, System) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let system = self.system(colour)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(Failure::unusable)?.block_on(async {
            let table = Table::to_read(self, &system).await?;
            act(table, system).await
        })
    }
}

/// A path with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A table to read or to fill, with the one beside it.
pub(crate) struct Table {
    opened: Opened,
    schemas: Schemas,
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
    pub(crate) async fn to_read(told: &TableChoice, system: &System) -> Result<Table, Failure> {
        told.refuse_missing()?;
        Table::open(told, system, Need::Read).await
    }

    /// A table that fits the document. A table on this machine is made.
    pub(crate) async fn to_fill(told: &TableChoice, system: &System) -> Result<Table, Failure> {
        Table::open(told, system, Need::Write).await
    }

    async fn open(told: &TableChoice, system: &System, need: Need) -> Result<Table, Failure> {
        let data = &told.data;
        let schemas = Schemas::new(system);
        let opened = told.storage.open(data).await?;
        let (schema, name) = (schemas.main(), &schemas.main().name);
        opened.backend.prepare(&system.places(), need).await.map_err(|error| match error {
            PrepareError::Store(Error::NoTable { name }) => Failure::Unusable(format!(
                "there is no table `{name}` in `{}`; has it been served from there?",
                data.display()
            )),
            error => {
                let error = StartError::Table(error);
                told.storage.refused(&error, &told.documents, system.name(), name)
            }
        })?;
        let about = opened.backend.about(schema).await;
        let (shown, identity) = match opened.local {
            Some(_) => here(data, &schemas)?,
            None => {
                let own = schemas.own();
                let beside = own.map_or_else(String::new, |own| format!(" and `{}`", own.name));
                let store = told.storage.remote.told();
                let identity = format!("{name} of {store} {}", about.identity);
                (format!("table `{name}`{beside} of {store}"), identity)
            }
        };
        Ok(Table { opened, schemas, shown, identity, items_about: about.items })
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// One of the two tables, which is there.
    fn schema(&self, which: Which) -> Result<Arc<Schema>, Error> {
        let missing = || Error::Unavailable { reason: "there is no second table".to_owned() };
        self.schemas.get(which).cloned().ok_or_else(missing)
    }

    /// The next items after a key.
    pub(crate) async fn read(&self, which: Which, after: Option<&Key>) -> Result<Scanned, Error> {
        self.scan(which, after, Scan::ITEMS_MAX).await
    }

    async fn scan(
        &self,
        which: Which,
        after: Option<&Key>,
        items_max: usize,
    ) -> Result<Scanned, Error> {
        let scan = Scan {
            table: self.schema(which)?,
            partition_prefix: Text::default(),
            after: after.cloned(),
            items_max,
        };
        self.opened.backend.scan(scan, patience()).await
    }

    /// Whether the tables are empty.
    pub(crate) async fn is_empty(&self) -> Result<bool, Error> {
        for (which, _) in self.schemas.all() {
            if !self.scan(which, None, 1).await?.items.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an item is there.
    pub(crate) async fn has(&self, which: Which, key: &Key) -> Result<bool, Error> {
        Ok(self.get(which, key).await?.is_some())
    }

    /// The item of a key, if it is there.
    pub(crate) async fn get(&self, which: Which, key: &Key) -> Result<Option<Item>, Error> {
        let (table, key) = (self.schema(which)?, key.clone());
        let get = Get { table, key, consistency: Consistency::Strong };
        let got: Got = self.opened.backend.ask(get, patience()).await?;
        Ok(got.item)
    }

    /// About how many items the table has.
    pub(crate) async fn count(&self) -> Result<Option<u64>, Error> {
        if self.opened.local.is_none() {
            return Ok(self.items_about.filter(|count| *count > 0));
        }
        let mut count = 0;
        for (which, _) in self.schemas.all() {
            let mut after = None;
            loop {
                let page = self.read(which, after.as_ref()).await?;
                count += wide(page.items.len());
                match page.resume {
                    Some(resume) => after = Some(resume),
                    None => break,
                }
            }
        }
        Ok(Some(count))
    }
}

/// What a table in a data directory is called, for people and in marks.
fn here(data: &Path, schemas: &Schemas) -> Result<(String, String), Failure> {
    let name = &schemas.main().name;
    let beside = schemas.own().map_or_else(String::new, |own| format!(" and `{}`", own.name));
    let shown = format!("table `{name}`{beside} in `{}`", data.display());
    let data = data.canonicalize().map_err(Failure::unusable)?;
    Ok((shown, format!("{name} in {}", data.display())))
}

fn patience() -> Instant {
    Instant::now() + WAIT_TIME_MAX
}
