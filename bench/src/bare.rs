//! redb by itself: bytes by key and one writer that commits in groups. No conditions, no indexes, no
//! capacity.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use latchkey_embedded::Options;
use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};
use tokio::sync::{mpsc, oneshot};

use crate::Result;
use crate::items::{Items, QUERY_ITEMS, key_bytes, list_name, single, value_bytes};
use crate::load::Side;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("items");

/// How many writes may wait for the writer.
const QUEUE_MAX: usize = 4096;

/// How many items a commit of the load holds.
const LOAD_STEP: usize = 10_000;

/// An open file, and the writer on it.
pub(crate) struct Bare {
    database: Arc<Database>,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<Result<()>>>,
    items: Items,
    value: Vec<u8>,
}

struct Job {
    writes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether what was there is read first.
    reads: bool,
    reply: oneshot::Sender<()>,
}

/// The file of a directory.
pub(crate) fn file(directory: &Path) -> PathBuf {
    directory.join("bare.redb")
}

impl Bare {
    /// Makes a file and fills it.
    pub(crate) fn load(directory: &Path, items: Items) -> Result<()> {
        let database = builder().create(file(directory))?;
        let value = value_bytes(items);
        let mut keys = items.keys().peekable();
        while keys.peek().is_some() {
            let transaction = database.begin_write()?;
            let mut table = transaction.open_table(TABLE)?;
            for key in keys.by_ref().take(LOAD_STEP) {
                table.insert(key_bytes(&key.partition, &key.sort).as_slice(), value.as_slice())?;
            }
            drop(table);
            transaction.commit()?;
        }
        Ok(())
    }

    /// Opens a file that was filled.
    pub(crate) fn open(directory: &Path, items: Items, quick_repair: bool) -> Result<Bare> {
        let database = Arc::new(builder().open(file(directory))?);
        let (jobs, waiting) = mpsc::channel(QUEUE_MAX);
        let writer = {
            let database = Arc::clone(&database);
            thread::Builder::new()
                .name("bare-writer".to_owned())
                .spawn(move || write_groups(&database, waiting, quick_repair))?
        };
        let value = value_bytes(items);
        Ok(Bare { database, jobs: Some(jobs), writer: Some(writer), items, value })
    }

    fn pair(&self, number: u64) -> (Vec<u8>, Vec<u8>) {
        let key = single(number);
        (key_bytes(&key.partition, &key.sort), self.value.clone())
    }

    async fn write(&self, writes: Vec<(Vec<u8>, Vec<u8>)>, reads: bool) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or("the bare writer is closed")?;
        jobs.send(Job { writes, reads, reply }).await.map_err(|_| "the bare writer stopped")?;
        Ok(answer.await?)
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(Options::default().cache_bytes);
    builder
}

fn write_groups(
    database: &Database,
    mut waiting: mpsc::Receiver<Job>,
    quick_repair: bool,
) -> Result<()> {
    let mut jobs = Vec::with_capacity(QUEUE_MAX);
    while waiting.blocking_recv_many(&mut jobs, QUEUE_MAX) > 0 {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(quick_repair);
        let mut table = transaction.open_table(TABLE)?;
        for job in &jobs {
            for (key, value) in &job.writes {
                if job.reads {
                    black_box(table.get(key.as_slice())?.map(|old| old.value().to_vec()));
                }
                table.insert(key.as_slice(), value.as_slice())?;
            }
        }
        drop(table);
        transaction.commit()?;
        for job in jobs.drain(..) {
            // The client waits until it is answered.
            let _ = job.reply.send(());
        }
    }
    Ok(())
}

impl Side for Bare {
    fn items(&self) -> Items {
        self.items
    }

    fn get(&self, number: u64) -> Result<()> {
        let key = single(number);
        let key = key_bytes(&key.partition, &key.sort);
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = ReadableTable::get(&table, key.as_slice())?.ok_or("an item is missing")?;
        black_box(value.value().to_vec());
        Ok(())
    }

    fn query(&self, pick: u64) -> Result<()> {
        let list = list_name(pick % self.items.lists);
        let (mut start, mut end) = (key_bytes(&list, "ENTRY#"), key_bytes(&list, "ENTRY$"));
        // Without the end of the sort key, they bound all that begin so.
        start.pop();
        end.pop();
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let count = usize::try_from(QUERY_ITEMS)?;
        let mut found = Vec::with_capacity(count);
        for entry in table.range(start.as_slice()..end.as_slice())?.take(count) {
            let (key, value) = entry?;
            found.push((key.value().to_vec(), value.value().to_vec()));
        }
        if black_box(found).len() == count { Ok(()) } else { Err("a list is short".into()) }
    }

    async fn put(&self, number: u64) -> Result<()> {
        self.write(vec![self.pair(number)], false).await
    }

    async fn update(&self, number: u64) -> Result<()> {
        self.write(vec![self.pair(number)], true).await
    }

    async fn transact(&self, one: u64, other: u64) -> Result<()> {
        self.write(vec![self.pair(one), self.pair(other)], true).await
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(Ok(Err(error))) = self.writer.take().map(JoinHandle::join) {
            eprintln!("the bare writer failed: {error}");
        }
    }
}
