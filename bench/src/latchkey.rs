//! The embedded store, through its door.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use latchkey_embedded::{Options, Pending, Store};
use latchkey_table::{
    Action, Condition, Consistency, Direction, Get, Item, Leg, Put, Query, Returning, Schema,
    SortRange, Transact, Update, Wrote,
};

use crate::Result;
use crate::items::{Items, QUERY_ITEMS, list_name, list_range, single};
use crate::load::Side;

/// How many writes of the load are under way at once; fewer than may wait for the writer.
const LOAD_STEP: usize = 2000;

const INDEX: &str = "GSI1";

/// Whether the singles belong to an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexes {
    None,
    One,
}

/// An open store.
pub(crate) struct Latchkey {
    store: Store,
    table: Arc<Schema>,
    items: Items,
    indexes: Indexes,
    /// The version of each single, as of its last write.
    versions: Vec<AtomicI64>,
}

/// The file of a directory.
pub(crate) fn file(directory: &Path) -> PathBuf {
    directory.join("store.redb")
}

impl Latchkey {
    /// Opens a store. Conditions hold if it is new, or no one has written to it since it was filled.
    pub(crate) fn open(directory: &Path, items: Items, indexes: Indexes) -> Result<Latchkey> {
        let store = Store::open(directory, &Options::default())?;
        let table = match indexes {
            Indexes::None => Schema::new("Bench"),
            Indexes::One => Schema::new("Bench").with_index(INDEX),
        };
        let table = Arc::new(table);
        store.create_table(&table).wait()?;
        let versions = (0..items.singles).map(|_| AtomicI64::new(0)).collect();
        Ok(Latchkey { store, table, items, indexes, versions })
    }

    /// Fills a new store.
    pub(crate) fn load(&self) -> Result<()> {
        let mut waiting = Vec::with_capacity(LOAD_STEP);
        for (number, key) in (0..).zip(self.items.keys()) {
            if waiting.len() == LOAD_STEP {
                waiting
                    .drain(..)
                    .try_for_each(|pending: Pending<Wrote>| pending.wait().map(drop))?;
            }
            let mut item = self.items.item(&key, 0);
            if number < self.items.singles {
                self.add_to_index(&mut item, number);
            }
            waiting.push(self.put_item(item));
        }
        waiting.into_iter().try_for_each(|pending| pending.wait().map(drop))?;
        Ok(())
    }

    fn put_item(&self, item: Item) -> Pending<Wrote> {
        let put = Put { table: Arc::clone(&self.table), item, condition: None };
        self.store.put(put, Returning::Nothing)
    }

    fn add_to_index(&self, item: &mut Item, number: u64) {
        if self.indexes == Indexes::One {
            self.items.add_to_index(item, number);
        }
    }

    fn version(&self, number: u64) -> Result<&AtomicI64> {
        Ok(self.versions.get(usize::try_from(number)?).ok_or("no such single")?)
    }

    /// `version = .version + 1, status = …` if `.version` is as expected.
    fn change(&self, number: u64) -> Result<Update> {
        let version = self.version(number)?.load(Ordering::Relaxed);
        let status = if version % 2 == 0 { "OPEN" } else { "SHUT" };
        Ok(Update {
            table: Arc::clone(&self.table),
            key: single(number),
            actions: vec![Action::increment("version", 1i64), Action::set("status", status)],
            condition: Some(Condition::equals("version", version)),
        })
    }

    fn changed(&self, number: u64) -> Result<()> {
        self.version(number)?.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Side for Latchkey {
    fn items(&self) -> Items {
        self.items
    }

    fn get(&self, number: u64) -> Result<()> {
        let table = Arc::clone(&self.table);
        let get = Get { table, key: single(number), consistency: Consistency::Strong };
        let got = black_box(self.store.get(&get)?);
        if got.item.is_some() { Ok(()) } else { Err("an item is missing".into()) }
    }

    fn query(&self, pick: u64) -> Result<()> {
        let (index, partition, range, consistency) = match self.indexes {
            Indexes::None => {
                let list = list_name(pick % self.items.lists);
                (None, list, list_range(), Consistency::Strong)
            }
            Indexes::One => {
                let group = self.items.group(pick % self.items.groups());
                let range = SortRange::BeginsWith("ITEM#".into());
                (Some(INDEX.into()), group, range, Consistency::Eventual)
            }
        };
        let page = black_box(self.store.query(&Query {
            table: Arc::clone(&self.table),
            index,
            partition,
            range,
            filter: None,
            direction: Direction::Ascending,
            limit: Some(QUERY_ITEMS),
            resume: None,
            consistency,
        })?);
        let count = usize::try_from(QUERY_ITEMS)?;
        if page.items.len() == count { Ok(()) } else { Err("a list is short".into()) }
    }

    async fn put(&self, number: u64) -> Result<()> {
        let mut item = self.items.item(&single(number), 0);
        self.add_to_index(&mut item, number);
        self.put_item(item).await?;
        self.version(number)?.store(0, Ordering::Relaxed);
        Ok(())
    }

    async fn update(&self, number: u64) -> Result<()> {
        self.store.update(self.change(number)?, Returning::Nothing).await?;
        self.changed(number)
    }

    async fn transact(&self, one: u64, other: u64) -> Result<()> {
        let legs = vec![Leg::Update(self.change(one)?), Leg::Update(self.change(other)?)];
        self.store.transact(Transact { legs }).await?;
        self.changed(one)?;
        self.changed(other)
    }
}
