//! Takes what can be read out of a damaged store. Nothing in the store's directory is written.
//!
//! Every item has a checksum of its key and its values, so what is taken is what was once stored. Whether it is the last
//! that was stored under its key, only the whole file can tell; where it cannot, the list of what is lost says so. If
//! redb does not open the file, its pages are searched for items one by one.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use latchkey_table::{Item, Schema};

use crate::catalog::{Catalog, Entry, is_table};
use crate::directory::Directory;
use crate::engine::{EngineError, Walk};
use crate::error::OpenError;
use crate::group::meta_name;
use crate::inspect::{Inspected, check_pages, marked_lost, no_map, read_journals};
use crate::item_codec;
use crate::key_codec::read_item_key;
use crate::map::Head;
use crate::pages;
use crate::storage::Part;
use crate::store::Options;
use crate::verify::{Checked, Damage, Watching};
use crate::view::ReadSoFar;
use crate::writer::Seen;

/// After how many items progress is told.
const STEP: u64 = 256;

/// Something that was found, or not.
#[derive(Debug)]
pub enum Rescued<'a> {
    /// An item, as it was stored last.
    Item(&'a Arc<Schema>, Item),
    /// An item as it was stored once: it may have been changed or removed since.
    Uncertain(&'a Arc<Schema>, Item),
    /// Something that cannot be read.
    Lost(Damage),
}

/// Takes what can be read out of a store that no process has open. The items and damages of the answer are counted.
///
/// The error is why nothing could be tried.
pub fn salvage(
    path: &Path,
    options: &Options,
    watch: Watching<'_>,
    take: &mut dyn FnMut(Rescued<'_>),
) -> Result<Checked, OpenError> {
    let _directory = Directory::lock_to_look(path)?;
    let mut rescue = Rescue {
        watch,
        take,
        checked: Checked::default(),
        progress: ReadSoFar::default(),
        unnamed: BTreeMap::new(),
    };
    let marked = marked_lost(path);
    if let Some(damage) = no_map(path)? {
        rescue.journals_alone(path, damage);
        marked.into_iter().for_each(|damage| rescue.lost(damage));
        return Ok(rescue.checked);
    }
    let mut damages = Vec::new();
    marked.into_iter().for_each(|damage| rescue.lost(damage));
    check_pages(path, options, &mut |damage| damages.push(damage))?;
    if !damages.is_empty() {
        damages.push(Damage::of_store(
            "so items may be missing, or be as they were some time ago; it cannot be told how many",
        ));
    }
    let opened = Inspected::open(path, options, &mut |damage| damages.push(damage))?;
    damages.into_iter().for_each(|damage| rescue.lost(damage));
    match opened {
        Some(inspected) => {
            rescue.tables(&inspected.view.seen);
            inspected.close();
        }
        None => rescue.pages(path)?,
    }
    Ok(rescue.checked)
}

struct Rescue<'a> {
    watch: Watching<'a>,
    take: &'a mut dyn FnMut(Rescued<'_>),
    checked: Checked,
    progress: ReadSoFar,
    /// Tables that only their numbers are known of.
    unnamed: BTreeMap<u16, Arc<Schema>>,
}

impl Rescue<'_> {
    fn lost(&mut self, damage: Damage) {
        self.checked.damages += 1;
        (self.take)(Rescued::Lost(damage));
    }

    fn lost_of(&mut self, entry: &Entry, key: &[u8], what: impl Into<String>) {
        let shown = read_item_key(key).map(|key| entry.schema.key.shown(&key));
        let key = Some(shown.unwrap_or_else(|| key.escape_ascii().to_string()));
        let table = Some(entry.schema.name.clone());
        self.lost(Damage { table, index: None, key, what: what.into() });
    }

    /// Hands on an item, or tells that it is damaged.
    fn item(&mut self, entry: &Entry, key: &[u8], bytes: &[u8]) {
        match read(&entry.schema, key, bytes) {
            Some(item) => {
                self.checked.items += 1;
                self.checked.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                self.checked.unsealed += u64::from(!item_codec::is_sealed(bytes));
                (self.take)(Rescued::Item(&entry.schema, item));
            }
            None => self.lost_of(entry, key, "the item is damaged"),
        }
        self.step(bytes.len());
    }

    fn step(&mut self, bytes: usize) {
        self.progress.keys += 1;
        self.progress.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.progress.keys.is_multiple_of(STEP) && (self.watch)(self.progress).is_break() {
            self.checked.stopped = true;
        }
    }

    /// All tables of a store that could be opened.
    fn tables(&mut self, seen: &Seen) {
        match seen.snapshot.len() {
            Ok(len) => self.progress.keys_total = len,
            Err(error) => self.lost(Damage::of_store(format!(
                "it cannot be told how many items there were: {error}"
            ))),
        }
        for entry in seen.catalog.entries() {
            self.checked.tables += 1;
            self.table(seen, entry);
        }
        self.strays(seen);
    }

    fn table(&mut self, seen: &Seen, entry: &Entry) {
        let whole = entry.space.whole();
        let mut last = None;
        let Err(error) = self.walk(seen, entry, &whole, false, &mut last) else {
            return self.by_indexes(seen, entry, None);
        };
        let start = last.unwrap_or_else(|| whole.start.clone());
        self.lost_of(entry, &start, format!("items behind this key cannot be read: {error}"));
        let mut first = None;
        let rest = just_behind(&start)..whole.end;
        if self.walk(seen, entry, &rest, true, &mut first).is_err() {
            let gap = rest.start..first.unwrap_or(rest.end);
            let what = "items before this key cannot be read, unless an index leads to them";
            self.lost_of(entry, &gap.end, format!("{what}; it cannot be told how many"));
            self.by_indexes(seen, entry, Some(gap));
        }
    }

    fn walk(
        &mut self,
        seen: &Seen,
        entry: &Entry,
        range: &Range<Vec<u8>>,
        backwards: bool,
        last: &mut Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        seen.snapshot.walk(range, backwards, |key, bytes| {
            let in_order = last.as_deref().is_none_or(|last| (key > last) != backwards);
            if !in_order || key < range.start.as_slice() || key >= range.end.as_slice() {
                return Err(EngineError::new("the keys are not in their order".to_owned()));
            }
            *last = Some(key.to_vec());
            self.item(entry, key, bytes);
            Ok(if self.checked.stopped { Walk::Stop } else { Walk::On })
        })
    }

    /// Asks the indexes which items there are. Those in the gap are taken; of all, those that are not there are told.
    fn by_indexes(&mut self, seen: &Seen, entry: &Entry, gap: Option<Range<Vec<u8>>>) {
        let mut met = HashSet::new();
        let in_gap = |key: &[u8]| {
            gap.as_ref().is_some_and(|gap| gap.start.as_slice() <= key && key < gap.end.as_slice())
        };
        for (key, bytes) in seen.snapshot.changes() {
            if let Some(bytes) = bytes
                && in_gap(key)
                && met.insert(key.to_vec())
            {
                self.item(entry, key, bytes);
            }
        }
        for (_, space) in entry.indexes() {
            let mut one = |this: &mut Self, key: &[u8], bytes: &[u8]| {
                let checked = item_codec::check_entry(key, bytes).ok();
                let Some(item_key) = checked.and_then(|()| entry.space.item_of_entry(key)) else {
                    return;
                };
                let gets = in_gap(&item_key);
                if gets && !met.insert(item_key.clone()) {
                    return;
                }
                match seen.snapshot.get(&item_key, <[u8]>::to_vec) {
                    Ok(Some(bytes)) if gets => this.item(entry, &item_key, &bytes),
                    Ok(Some(_)) => {}
                    Ok(None) => {
                        this.lost_of(entry, &item_key, "an index has it, and it is not found")
                    }
                    Err(error) => {
                        this.lost_of(entry, &item_key, format!("it cannot be read: {error}"))
                    }
                }
            };
            for backwards in [false, true] {
                let walked = seen.snapshot.walk(&space.whole(), backwards, |key, bytes| {
                    one(self, key, bytes);
                    Ok(if self.checked.stopped { Walk::Stop } else { Walk::On })
                });
                if walked.is_ok() {
                    break;
                }
            }
        }
    }

    /// Tells of items whose table is not known.
    fn strays(&mut self, seen: &Seen) {
        let mut strays = 0u64;
        let known: Vec<u16> = seen
            .catalog
            .entries()
            .flat_map(|entry| entry.index_spaces.iter().chain([&entry.space]))
            .map(|space| space.0)
            .collect();
        let mut met = 0u64;
        let walked = seen.snapshot.walk(&crate::view::everything(), false, |key, _| {
            if meta_name(key).is_some() {
                return Ok(Walk::On);
            }
            let space = key.first_chunk().map(|space| u16::from_be_bytes(*space));
            met += 1;
            strays += u64::from(space.is_none_or(|space| !known.contains(&space)));
            Ok(Walk::On)
        });
        if strays > 0 {
            let what = format!("{strays} items or index entries are of a table that is not known");
            self.lost(Damage::of_store(what));
        }
        let total = self.progress.keys_total;
        if walked.is_ok() && met != total {
            let what = format!("{met} keys are found, and there should be {total}");
            self.lost(Damage::of_store(what));
        }
    }

    /// What the pages of a file hold that redb does not open.
    fn pages(&mut self, path: &Path) -> Result<(), OpenError> {
        let failed = |error| OpenError::Directory { path: path.to_owned(), error };
        self.lost(Damage::of_store(
            "so its pages were searched one by one: what was found may have been changed or removed since, and it \
             cannot be told what is missing",
        ));
        let file = path.join(Part::Map.file_name());
        let mut names: Vec<(String, Vec<u8>)> = Vec::new();
        pages::search(&file, &mut |key, bytes| {
            if let Ok(name) = std::str::from_utf8(key)
                && is_table(name)
            {
                names.push((name.to_owned(), bytes.to_vec()));
            }
        })
        .map_err(failed)?;
        let tables = names.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let catalog = Catalog::of(tables, &mut |_| {});
        self.checked.tables = catalog.entries().map(|_| 1).sum();
        // Of pages that were copied, each version of an item is taken once.
        let mut met = HashSet::new();
        pages::search(&file, &mut |key, bytes| self.uncertain(&catalog, key, bytes, &mut met))
            .map_err(failed)?;
        // Whatever is missing from the journals, too, cannot be told.
        let layer = read_journals(path, &Head::NONE, &mut |_| {});
        for (key, bytes) in layer.iter() {
            self.uncertain(&catalog, key, bytes.unwrap_or_default(), &mut met);
        }
        self.end_uncertain();
        Ok(())
    }

    /// What the journals hold of a store without its map.
    fn journals_alone(&mut self, path: &Path, damage: Damage) {
        self.lost(damage);
        self.lost(Damage::of_store(
            "so only what is in the journals was saved, of each item the last version there, which may have been \
             changed or removed since; all other items are lost, and it cannot be told how many",
        ));
        let mut told = Vec::new();
        let layer = read_journals(path, &Head::NONE, &mut |damage| told.push(damage));
        told.into_iter().for_each(|damage| self.lost(damage));
        let (catalog, mut met) = (Catalog::default(), HashSet::new());
        for (key, bytes) in layer.iter() {
            self.uncertain(&catalog, key, bytes.unwrap_or_default(), &mut met);
        }
        self.end_uncertain();
    }

    /// Tells what all that was found has in common.
    fn end_uncertain(&mut self) {
        let unnamed = std::mem::take(&mut self.unnamed);
        self.checked.tables += unnamed.values().map(|_| 1).sum::<u64>();
        for schema in unnamed.values() {
            let what = "neither the name of this table nor those of its key were found: its keys are written as texts \
                        `PK` and `SK`";
            self.lost(Damage { table: Some(schema.name.clone()), ..Damage::of_store(what) });
        }
        if self.checked.items == 0 {
            self.lost(Damage::of_store("no item was found; only a backup can help"));
        }
    }

    fn uncertain(&mut self, catalog: &Catalog, key: &[u8], bytes: &[u8], met: &mut HashSet<u64>) {
        if !item_codec::is_sealed(bytes) {
            return;
        }
        let Some(space) = key.first_chunk().map(|space| u16::from_be_bytes(*space)) else { return };
        let known = catalog.entries().find(|entry| entry.space.0 == space);
        let known = known.map(|entry| Arc::clone(&entry.schema));
        let is_known = known.is_some();
        let schema = known.or_else(|| self.unnamed.get(&space).cloned());
        // Whatever else has a right checksum is an item, too, unless it is of the catalog.
        let schema = schema.or_else(|| match meta_name(key) {
            Some(_) => None,
            None => unnamed(space, key).map(Arc::new),
        });
        let Some(schema) = schema else { return };
        let Some(item) = read(&schema, key, bytes) else { return };
        let mut hasher = DefaultHasher::new();
        (key, bytes).hash(&mut hasher);
        if met.insert(hasher.finish()) {
            self.checked.items += 1;
            (self.take)(Rescued::Uncertain(&schema, item));
            if !is_known {
                self.unnamed.insert(space, schema);
            }
            self.step(bytes.len());
        }
    }
}

fn just_behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// A table of which only its number is known. Only a table without a sort key has items with none.
fn unnamed(space: u16, key: &[u8]) -> Option<Schema> {
    let mut schema = Schema::new(format!("unnamed-{space}"));
    if read_item_key(key)?.sort.is_empty() {
        schema.key.sort = None;
    }
    Some(schema)
}

/// The item under a key, if it is one.
fn read(schema: &Schema, key_bytes: &[u8], bytes: &[u8]) -> Option<Item> {
    let key = read_item_key(key_bytes)?;
    item_codec::decode(key_bytes, bytes, &schema.key, key, None).ok()
}
