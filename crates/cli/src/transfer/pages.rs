//! The lines of a table, page by page: of a table that this process opens, or of the server that has it open.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use latchkey_runtime::System;
use latchkey_table::{Key, line};
use serde_json::Value;
use tokio::io::BufReader;
use tokio::net::UnixStream;

use super::meter::Meter;
use super::tables::{Schemas, Which};
use super::{Table, here};
use crate::arguments::TableChoice;
use crate::stream::{self, Kind, Piece, Task};
use crate::{Failure, control, wide};

/// The file of a store in its data directory.
const STORE: &str = "store.redb";

/// Some lines.
pub(crate) struct Page {
    pub(crate) text: String,
    /// How many they are.
    pub(crate) items: u64,
    /// The last key, if the table has more.
    pub(crate) resume: Option<Key>,
}

/// Where lines come from.
pub(crate) enum Pages {
    Table(Box<Table>),
    Server(Server),
}

/// A server, which sends the lines of one instant of its store.
pub(crate) struct Server {
    told: (String, String),
    schemas: Schemas,
    data: std::path::PathBuf,
    /// How many megabytes a second it reads at most.
    rate: u64,
    /// The pieces that it sends, once it was asked.
    incoming: Option<BufReader<UnixStream>>,
}

impl Pages {
    /// Finds the table, at the server that has its store open, which reads it at a rate, or by opening it.
    pub(crate) async fn open(
        told: &TableChoice,
        system: &System,
        rate: u64,
    ) -> Result<Pages, Failure> {
        told.refuse_missing()?;
        if !told.storage.dynamodb && control::is_there(&told.data) {
            let schemas = Schemas::new(system);
            let (told, data) = (here(&told.data, &schemas)?, told.data.clone());
            return Ok(Pages::Server(Server { told, schemas, data, rate, incoming: None }));
        }
        Ok(Pages::Table(Box::new(Table::to_read(told, system).await?)))
    }

    /// Which table it is, for people.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Pages::Table(table) => &table.shown,
            Pages::Server(server) => &server.told.0,
        }
    }

    /// What is exported, for marks: the system, its tables and the store. A store that was made again in the same
    /// directory is another one.
    pub(crate) fn identity(&self, told: &TableChoice, system: &System) -> Result<String, Failure> {
        let table = match self {
            Pages::Table(table) => &table.identity,
            Pages::Server(server) => &server.told.1,
        };
        let tables = self.schemas().all().map(|(_, schema)| format!("`{}`", schema.name));
        let tables = tables.collect::<Vec<_>>().join(" and ");
        let store = if told.storage.dynamodb { String::new() } else { made(&told.data)? };
        Ok(format!("{table}, system `{}`, tables {tables}{store}", system.name()))
    }

    pub(crate) fn schemas(&self) -> &Schemas {
        match self {
            Pages::Table(table) => table.schemas(),
            Pages::Server(server) => &server.schemas,
        }
    }

    /// About how many items there are. Counting reads the whole table, so it is done only for a progress bar, and not
    /// by a server.
    pub(crate) async fn count(&self) -> Result<Option<u64>, Failure> {
        match self {
            Pages::Table(table) if Meter::is_watched() => {
                table.count().await.map_err(Failure::unusable)
            }
            Pages::Table(_) | Pages::Server(_) => Ok(None),
        }
    }

    /// The next lines after a key.
    pub(crate) async fn next(
        &mut self,
        which: Which,
        after: Option<&Key>,
    ) -> Result<Page, Failure> {
        match self {
            Pages::Table(table) => {
                let page = table.read(which, after).await.map_err(Failure::unusable)?;
                let mut text = String::new();
                for item in &page.items {
                    line::write(item, &mut text);
                    text.push('\n');
                }
                Ok(Page { text, items: wide(page.items.len()), resume: page.resume })
            }
            Pages::Server(server) => server.next(which, after).await,
        }
    }
}

/// Which file the store of a data directory is, and when that was made, where the file system tells.
fn made(data: &Path) -> Result<String, Failure> {
    // If the file was removed while a server has it open, the socket tells which server that is.
    let found = fs::metadata(data.join(STORE)).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => fs::metadata(data.join(control::SOCKET)).map_err(|_| error),
        _ => Err(error),
    });
    let found = found.map_err(Failure::unusable)?;
    let since = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let since = since.map_or_else(String::new, |at| format!(", made at {}", at.as_nanos()));
    Ok(format!(", file {}:{}{since}", found.dev(), found.ino()))
}

impl Server {
    async fn next(&mut self, which: Which, after: Option<&Key>) -> Result<Page, Failure> {
        let incoming = match &mut self.incoming {
            Some(incoming) => incoming,
            none => {
                let tables = self.schemas.all().skip_while(|(one, _)| *one != which);
                let tables = tables.map(|(_, schema)| schema.name.to_string()).collect();
                let after = after.map(|key| (key.partition.to_string(), key.sort.to_string()));
                let task = Task::Export { tables, after, rate: self.rate };
                let asked = control::begin(&self.data, &task).await;
                let gone = || Err(Failure::unusable("the server stopped; run the command again"));
                none.insert(asked.unwrap_or_else(gone)?)
            }
        };
        let lines = stream::receive(incoming).await?;
        let told = stream::receive(incoming).await?;
        page(lines, &told).ok_or_else(|| Failure::unusable(control::STRANGE))
    }
}

/// The page that a server has sent: lines, and what it says of them.
fn page(lines: Piece, told: &Piece) -> Option<Page> {
    let (Kind::Data, Kind::Progress) = (lines.kind, told.kind) else { return None };
    let told = told.value().ok()?;
    let resume = match told.get("last")? {
        Value::Null => None,
        last => Some(Key::new(last.get(0)?.as_str()?, last.get(1)?.as_str()?)),
    };
    let items = told.get("items")?.as_u64()?;
    Some(Page { text: String::from_utf8(lines.payload).ok()?, items, resume })
}
