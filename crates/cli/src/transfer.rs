//! Moving whole tables: what export and import share.

pub(crate) mod lines;
pub(crate) mod mark;
pub(crate) mod meter;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use latchkey_dynamodb::{Mismatch, TableError};
use latchkey_embedded::Scan;
use latchkey_runtime::{Backend, PrepareError, System};
use latchkey_table::{Consistency, Error, Get, Invalid, Item, Key, Schema, Text};
use tokio::time::Instant;

use crate::Failure;
use crate::arguments::Storage;
use crate::document;

/// How long a service that takes nothing is waited for.
const WAIT_TIME_MAX: Duration = Duration::from_secs(5 * 60);

/// How many items of the store on this machine are read at once; their bytes are bounded by the store.
const PAGE_ITEMS: usize = 1000;

/// What a command was told of the table it moves.
pub(crate) struct Told<'a> {
    pub(crate) documents: &'a [PathBuf],
    /// The system, when there are several.
    pub(crate) system: Option<&'a str>,
    pub(crate) storage: &'a Storage,
    pub(crate) data: &'a Path,
}

impl Told<'_> {
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
        placed.into_iter().next().ok_or(Failure::Told)
    }

    fn refused(&self, error: TableError, system: &System) -> Failure {
        let (name, table) = (system.name(), &system.table().name);
        self.storage.refused(&PrepareError::Table(error), self.documents, name, table)
    }
}

/// A path with something behind its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A table to read or to fill.
pub(crate) struct Table {
    backend: Backend,
    schema: Arc<Schema>,
    /// Which table it is, for people.
    pub(crate) shown: String,
    /// Which table it is: another, or one that was made anew, is called otherwise where that can be known.
    pub(crate) identity: String,
    /// How many items it has, or so; where the service says it.
    items_about: Option<u64>,
}

/// A part of a table.
pub(crate) struct Page {
    pub(crate) items: Vec<Item>,
    /// Where to go on, unless the table ended.
    pub(crate) resume: Option<Key>,
}

impl Table {
    /// A table that is there.
    pub(crate) async fn to_read(told: &Told<'_>, system: &System) -> Result<Table, Failure> {
        // Opening makes a store where there is none; reading should not.
        if !told.storage.dynamodb && !told.data.is_dir() {
            return Err(Failure::Unusable(format!(
                "there is no data directory `{}`; name the one that is served, by `--data DIR`",
                told.data.display()
            )));
        }
        let table = Table::open(told, system).await?;
        match &table.backend {
            Backend::Embedded(store) => match table.page(None, 1).await {
                Err(Error::NoTable { name }) => Err(Failure::Unusable(format!(
                    "there is no table `{name}` in `{}`; has it been served from there?",
                    told.data.display()
                ))),
                // The document has other indexes than it had: as `serve` would, give the table these.
                Err(Error::Invalid { reason: Invalid::OtherSchema { .. }, .. }) => {
                    store.create_table(&table.schema).await.map_err(Failure::unusable)?;
                    Ok(table)
                }
                Err(error) => Err(Failure::unusable(error)),
                Ok(_) => Ok(table),
            },
            Backend::DynamoDb(service) => {
                let name = table.schema.name.to_string();
                let found = service.difference(&table.schema).await;
                let refused = |error| told.refused(error, system);
                let Some(mut differences) = found.map_err(refused)? else {
                    return Err(refused(TableError::Missing { table: name }));
                };
                // Items can be read whatever the indexes.
                differences.retain(|one| matches!(one, Mismatch::Key { .. }));
                if differences.is_empty() {
                    Ok(table)
                } else {
                    Err(refused(TableError::Differs { table: name, differences }))
                }
            }
        }
    }

    /// A table that is as the document needs it; on this machine, it is made so.
    pub(crate) async fn to_fill(told: &Told<'_>, system: &System) -> Result<Table, Failure> {
        let table = Table::open(told, system).await?;
        match &table.backend {
            Backend::Embedded(store) => {
                store.create_table(&table.schema).await.map_err(Failure::unusable)?;
            }
            Backend::DynamoDb(service) => {
                let examined = service.examine(&table.schema).await;
                examined.map_err(|error| told.refused(error, system))?;
            }
        }
        Ok(table)
    }

    async fn open(told: &Told<'_>, system: &System) -> Result<Table, Failure> {
        let data = told.data;
        let schema = Arc::clone(system.table());
        let backend = told.storage.open(data).await?;
        let name = &schema.name;
        let (shown, identity, items_about) = match &backend {
            Backend::Embedded(_) => {
                let shown = format!("table `{name}` in `{}`", data.display());
                let data = data.canonicalize().map_err(Failure::unusable)?;
                (shown, format!("{name} in {}", data.display()), None)
            }
            Backend::DynamoDb(service) => {
                let (store, about) = (told.storage.remote.told(), service.about(&schema).await);
                let identity = format!("{name} of {store} {}", about.identity);
                (format!("table `{name}` of {store}"), identity, about.items)
            }
        };
        Ok(Table { backend, schema, shown, identity, items_about })
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The part of the table behind a key.
    pub(crate) async fn read(&self, after: Option<&Key>) -> Result<Page, Error> {
        self.page(after, PAGE_ITEMS).await
    }

    async fn page(&self, after: Option<&Key>, items_max: usize) -> Result<Page, Error> {
        match &self.backend {
            Backend::Embedded(store) => {
                let scan = Scan {
                    table: Arc::clone(&self.schema),
                    partition_prefix: Text::default(),
                    after: after.cloned(),
                    items_max,
                };
                let scanned = store.scan(&scan)?;
                Ok(Page { items: scanned.items, resume: scanned.resume })
            }
            Backend::DynamoDb(service) => {
                // A full page is as much as one scan reads.
                let few = u16::try_from(items_max).ok().filter(|_| items_max < PAGE_ITEMS);
                let scanned = service.scan(&self.schema, after, few, patience()).await?;
                Ok(Page { items: scanned.items, resume: scanned.resume })
            }
        }
    }

    /// Whether the table has nothing in it.
    pub(crate) async fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.page(None, 1).await?.items.is_empty())
    }

    /// Whether an item is there.
    pub(crate) async fn has(&self, key: &Key) -> Result<bool, Error> {
        let (table, key) = (Arc::clone(&self.schema), key.clone());
        let get = Get { table, key, consistency: Consistency::Strong };
        let got = match &self.backend {
            Backend::Embedded(store) => store.get(&get)?,
            Backend::DynamoDb(service) => service.get(&get, patience()).await?,
        };
        Ok(got.item.is_some())
    }

    /// How many items there are, or so.
    pub(crate) async fn count(&self) -> Result<Option<u64>, Error> {
        if let Backend::DynamoDb(_) = &self.backend {
            return Ok(self.items_about.filter(|count| *count > 0));
        }
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.read(after.as_ref()).await?;
            count += u64::try_from(page.items.len()).unwrap_or(u64::MAX);
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
